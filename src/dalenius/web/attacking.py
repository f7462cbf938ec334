"""Published tables on the page: open a pack of them, attack it, read what follows, follow a recipe."""

from __future__ import annotations

import re
import secrets
import shutil
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, Response

from dalenius.core.errors import DaleniusError
from dalenius.data.atomic import PRIVATE_FILE, private_folder, write_text
from dalenius.release.attacking import ENDINGS, read_published
from dalenius.web.attacking_view import Asked, attacked
from dalenius.web.intake import inspect
from dalenius.web.shell import MEGABYTE, Shell

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,80}")
TAKEN = (*ENDINGS, ".yaml", ".yml")
MOST_FILES = 50
TITLE = ".title"


def routes(shell: Shell) -> APIRouter:
    """Addresses of attacks."""
    router = APIRouter()

    @router.get("/attack")
    def packs() -> Response:
        found = [_told(path) for path in _packs(shell)]
        return shell.page("attack", title="Attack published tables", packs=found, place=_place(shell))

    @router.post("/attack/open")
    async def upload(request: Request) -> Response:
        async with request.form(max_files=MOST_FILES, max_fields=4) as form:
            folder = await _received(shell, form.getlist("files"), str(form.get("title", ""))[:120])
        return RedirectResponse(f"/attack/{folder.name}", 303)

    @router.get("/attack/{name}")
    async def show(name: str, request: Request) -> Response:
        path = _pack(shell, name)
        others = [_told(other) for other in _packs(shell) if other != path]
        asked = Asked.of(request.query_params, [str(other["name"]) for other in others])
        fault, facts = "", {}
        try:
            earlier = tuple(_pack(shell, other) for other in asked.earlier)
            facts = await run_in_threadpool(attacked, path, earlier, asked)
        except DaleniusError as error:
            fault = str(error)
        return shell.page(
            "attacked", 400 if fault else 200, title=_told(path)["title"], pack=name, others=others, asked=asked,
            fault=fault, found=facts,
        )  # fmt: skip

    @router.post("/attack/{name}/delete")
    def delete(name: str) -> Response:
        shutil.rmtree(_pack(shell, name))
        return RedirectResponse("/attack", 303)

    return router


def _place(shell: Shell) -> Path:
    return shell.place.folder / "published"


def _packs(shell: Shell) -> list[Path]:
    place = _place(shell)
    if not place.is_dir():
        return []
    return sorted(p for p in place.iterdir() if NAME.fullmatch(p.name) and p.is_dir() and not p.is_symlink())


def _pack(shell: Shell, name: str) -> Path:
    """The pack an address names; only names of folders that are there are looked at."""
    found = [p for p in _packs(shell) if p.name == name]
    if not found:
        raise DaleniusError("there is no such pack of tables")
    return found[0]


def _told(path: Path) -> dict[str, Any]:
    title = path / TITLE
    inside = path / "public" if (path / "public").is_dir() else path
    return {
        "name": path.name,
        "title": title.read_text(encoding="utf-8") if title.is_file() else path.name,
        "files": sum(file.suffix in ENDINGS for file in inside.iterdir()),
    }


async def _received(shell: Shell, sent: list[Any], title: str) -> Path:
    """Tables that were sent, looked at before they are read; their names lose whatever is no plain sign."""
    files = [one for one in sent if not isinstance(one, str) and one.filename]
    if not files:
        raise DaleniusError("choose the tables first")
    folder = private_folder(_place(shell) / secrets.token_hex(6))
    try:
        for one in files:
            shown = Path(one.filename.replace("\\", "/").replace("\x00", "")).name
            plain = re.sub(r"[^A-Za-z0-9._-]+", "_", shown).lstrip(".") or "table"
            if Path(plain).suffix.lower() not in TAKEN:
                raise DaleniusError(f"tables come as {', '.join(TAKEN)} files")
            path = folder / plain
            with path.open("wb") as stream:
                while block := await one.read(MEGABYTE):
                    stream.write(block)
            path.chmod(PRIVATE_FILE)
            inspect(path, shell.limit)
        await run_in_threadpool(read_published, [folder])
        write_text(folder / TITLE, title.strip() or f"{len(files)} tables")
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder
