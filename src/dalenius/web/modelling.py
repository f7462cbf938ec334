"""Models on the page: open a model and its training file, read the verdict, compare candidates, round explanations."""

from __future__ import annotations

import json
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
from dalenius.release.place import MANIFEST
from dalenius.web.intake import inspect
from dalenius.web.modelling_view import MODELS, Case, candidates, explained, verdict
from dalenius.web.shell import MEGABYTE, Shell, download
from dalenius.web.taking import zipped

NAME = re.compile(r"[0-9a-f]{12}")
TABLES = (".csv", ".tsv", ".txt", ".parquet", ".xlsx", ".sav", ".dta")
FACTS = "case.json"


def routes(shell: Shell) -> APIRouter:
    """Addresses of models."""
    router = APIRouter()

    @router.get("/models")
    def cases() -> Response:
        return shell.page("models", title="Let a model out", cases=[_told(path) for path in _cases(shell)])

    @router.post("/models/open")
    async def upload(request: Request) -> Response:
        async with request.form(max_files=3, max_fields=4) as form:
            folder = await _received(shell, form)
        return RedirectResponse(f"/models/{folder.name}", 303)

    @router.get("/models/{name}")
    async def show(name: str) -> Response:
        held = _case(shell, name)
        return await _page(shell, held, "model", verdict)

    @router.get("/models/{name}/explain")
    async def explain(name: str, request: Request) -> Response:
        held, asked = _case(shell, name), dict(request.query_params)
        return await _page(shell, held, "explained", explained, asked)

    @router.get("/models/{name}/compare")
    async def compare(name: str, request: Request) -> Response:
        held, asked = _case(shell, name), dict(request.query_params)
        return await _page(shell, held, "candidates", candidates, asked)

    @router.get("/models/{name}/{part}.zip")
    def pack(name: str, part: str) -> Response:
        made = _case(shell, name).pack
        if part not in ("public", "internal") or not (made / MANIFEST).is_file():
            raise DaleniusError("there is no pack yet; compare candidates first")
        kept = (made / part).rglob("*") if part == "public" else [*made.glob("*"), *(made / part).rglob("*")]
        return download(zipped(made, kept), "application/zip", f"model-{part}.zip")

    @router.post("/models/{name}/delete")
    def delete(name: str) -> Response:
        shutil.rmtree(_case(shell, name).folder)
        return RedirectResponse("/models", 303)

    return router


async def _page(shell: Shell, held: Case, page: str, look: Any, *asked: Any) -> Response:
    """A page of what was found, or of what stands in the way."""
    fault, found = "", {}
    try:
        found = await run_in_threadpool(look, held, *asked)
    except DaleniusError as error:
        fault = str(error)
    return shell.page(
        page, 400 if fault else 200, title=held.title, case=held, fault=fault, found=found,
        asked=asked[0] if asked else {},
    )  # fmt: skip


def _place(shell: Shell) -> Path:
    return shell.place.folder / "models"


def _cases(shell: Shell) -> list[Path]:
    place = _place(shell)
    if not place.is_dir():
        return []
    return sorted(p for p in place.iterdir() if NAME.fullmatch(p.name) and (p / FACTS).is_file())


def _case(shell: Shell, name: str) -> Case:
    """The case an address names; only names of folders that are there are looked at."""
    found = [p for p in _cases(shell) if p.name == name]
    if not found:
        raise DaleniusError("there is no such model")
    return Case(found[0], json.loads((found[0] / FACTS).read_text(encoding="utf-8")))


def _told(path: Path) -> dict[str, Any]:
    return {"name": path.name, **json.loads((path / FACTS).read_text(encoding="utf-8"))}


async def _received(shell: Shell, form: Any) -> Path:
    """Files that were sent, kept under names of ours; nothing of a model is opened here."""
    folder = private_folder(_place(shell) / secrets.token_hex(6))
    try:
        facts: dict[str, Any] = {"title": str(form.get("title", "")).strip()[:120] or "A model"}
        facts["predicts"] = str(form.get("predicts", "")).strip()[:200]
        if not facts["predicts"]:
            raise DaleniusError("name the column that the model predicts")
        for entry, allowed in (("model", MODELS), ("train", TABLES), ("holdout", TABLES)):
            sent = form.get(entry)
            if sent is None or isinstance(sent, str) or not sent.filename:
                if entry == "holdout":
                    continue
                raise DaleniusError("choose the model and the file it was fitted on")
            ending = Path(sent.filename.replace("\\", "/").replace("\x00", "")).suffix.lower()
            if ending not in allowed:
                raise DaleniusError(
                    f"the {entry} file comes as {', '.join(allowed)}; a pickle can run any program, so none is opened"
                )
            path = folder / f"{entry}{ending}"
            with path.open("wb") as stream:
                while block := await sent.read(MEGABYTE):
                    stream.write(block)
            path.chmod(PRIVATE_FILE)
            if entry != "model":
                inspect(path, shell.limit)
            facts[entry] = path.name
        write_text(folder / FACTS, json.dumps(facts))
        await run_in_threadpool(Case(folder, facts).open)  # what does not fit is told now, and not kept
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder
