"""Services on graphs and trees learnt together, on the page: open files, compare offers, take the chosen one away."""

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
from dalenius.release.learnt_plan import LearntPlan, read_learnt_plan
from dalenius.release.learnt_release import look_at_files
from dalenius.release.place import MANIFEST
from dalenius.web.intake import inspect
from dalenius.web.learning_view import graph_plan, learnt, tree_plan
from dalenius.web.modelling import TABLES
from dalenius.web.shell import MEGABYTE, Shell, download
from dalenius.web.taking import zipped

NAME = re.compile(r"[0-9a-f]{12}")
SCHEMAS = (".yaml", ".yml")
MOST_HOLDERS = 20


def routes(shell: Shell) -> APIRouter:
    """Addresses of services on graphs and of trees learnt together."""
    router = APIRouter()

    @router.get("/learnt")
    def start() -> Response:
        held = [(path.name, read_learnt_plan(path / "plan.yaml")) for path in _places(shell)]
        rows = [
            {"name": name, "title": plan.title, "graph": plan.kind == "graph-service"} for name, plan in held
        ]
        return shell.page("learning", title="Graphs and holders", rows=rows)

    @router.post("/learnt/graph")
    async def graph(request: Request) -> Response:
        async with request.form(max_files=4, max_fields=20) as form:
            folder = await _opened(shell, form, _graph_files, graph_plan)
        return RedirectResponse(f"/learnt/{folder.name}", 303)

    @router.post("/learnt/holders")
    async def holders(request: Request) -> Response:
        async with request.form(max_files=MOST_HOLDERS + 1, max_fields=20) as form:
            folder = await _opened(shell, form, _holder_files, tree_plan)
        return RedirectResponse(f"/learnt/{folder.name}", 303)

    @router.get("/learnt/{name}")
    async def show(name: str) -> Response:
        plan, fault, found = _plan(shell, name), "", {}
        try:
            found = await run_in_threadpool(learnt, plan)
        except DaleniusError as error:
            fault = str(error)
        return shell.page(
            "learnt", 400 if fault else 200, title=plan.title, case=name, fault=fault, found=found
        )

    @router.get("/learnt/{name}/{part}.zip")
    def pack(name: str, part: str) -> Response:
        made = _plan(shell, name).output
        if part not in ("public", "internal") or not (made / MANIFEST).is_file():
            raise DaleniusError("there is no pack: no candidate keeps every limit")
        kept = (made / part).rglob("*") if part == "public" else [*made.glob("*"), *(made / part).rglob("*")]
        return download(zipped(made, kept), "application/zip", f"learnt-{part}.zip")

    @router.post("/learnt/{name}/delete")
    def delete(name: str) -> Response:
        path = _plan(shell, name).path
        assert path is not None
        shutil.rmtree(path.parent)
        return RedirectResponse("/learnt", 303)

    return router


def _places(shell: Shell) -> list[Path]:
    place = shell.place.folder / "learnt"
    if not place.is_dir():
        return []
    return sorted(p for p in place.iterdir() if NAME.fullmatch(p.name) and (p / "plan.yaml").is_file())


def _plan(shell: Shell, name: str) -> LearntPlan:
    """The plan an address names; only names of folders that are there are looked at."""
    found = [p for p in _places(shell) if p.name == name]
    if not found:
        raise DaleniusError("there is no such graph or tree")
    return read_learnt_plan(found[0] / "plan.yaml")


async def _opened(shell: Shell, form: Any, receive: Any, planned: Any) -> Path:
    """Files and a plan in a folder of their own; what does not fit is told now, and not kept."""
    folder = private_folder(private_folder(shell.place.folder / "learnt") / secrets.token_hex(6))
    try:
        files = await receive(shell, form, folder)
        # JSON is YAML, and nothing a person typed is read as anything but a text or a number
        write_text(folder / "plan.yaml", json.dumps({**planned(form), **files}, indent=1))
        await run_in_threadpool(lambda: look_at_files(read_learnt_plan(folder / "plan.yaml")))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder


async def _graph_files(shell: Shell, form: Any, folder: Path) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for entry in ("links", "people", "fitted_links", "fitted_people"):
        path = await _received(shell, form.get(entry), folder / entry, TABLES)
        if path is not None:
            made[entry] = path.name
    if not {"links", "people"} <= set(made) or ("fitted_links" in made) != ("fitted_people" in made):
        raise DaleniusError(
            "choose the links and the people; of another graph that it is fitted on, both too"
        )
    return made


async def _holder_files(shell: Shell, form: Any, folder: Path) -> dict[str, Any]:
    sent = [s for s in form.getlist("holders") if not isinstance(s, str) and s.filename]
    held = [await _received(shell, s, folder / f"holder-{i + 1}", TABLES) for i, s in enumerate(sent)]
    schema = await _received(shell, form.get("schema"), folder / "schema", SCHEMAS)
    if not held or schema is None:
        raise DaleniusError("choose the file of each holder, and the schema that all agreed on")
    return {"holders": [path.name for path in held if path is not None], "schema": schema.name}


async def _received(shell: Shell, sent: Any, stem: Path, allowed: tuple[str, ...]) -> Path | None:
    """A file that was sent, kept under a name of ours; None where none was."""
    if sent is None or isinstance(sent, str) or not sent.filename:
        return None
    ending = Path(sent.filename.replace("\\", "/").replace("\x00", "")).suffix.lower()
    if ending not in allowed:
        raise DaleniusError(f"this file comes as {', '.join(allowed)}")
    path = stem.with_name(f"{stem.name}{ending}")
    with path.open("wb") as stream:
        while block := await sent.read(MEGABYTE):
            stream.write(block)
    path.chmod(PRIVATE_FILE)
    if allowed is TABLES:
        inspect(path, shell.limit)
    return path
