"""The first page: open a file or the example, find earlier runs again."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response

from dalenius.core.errors import DaleniusError
from dalenius.data import examples
from dalenius.web.intake import inspect
from dalenius.web.shell import MEGABYTE, Shell
from dalenius.web.workspace import ENDINGS, Run

EXAMPLE = (
    "region", "sex", "age", "marital", "education", "income", "health", "smoker", "diagnosis", "life_satisfaction",
)  # fmt: skip
STATES = {
    "new": "not run yet",
    "running": "running",
    "stopped": "stopped, can continue",
    "done": "done",
    "refused": "nothing met the policy",
    "failed": "failed",
}


def routes(shell: Shell) -> APIRouter:
    """Addresses of the first page."""
    router = APIRouter()

    @router.get("/")
    def start() -> Response:
        runs = [
            {"run": r, "state": r.state["state"], "words": STATES[r.state["state"]], "facts": r.facts}
            for r in shell.place.runs()
        ]
        return shell.page("start", title="Your runs", runs=runs, limit=shell.limit_mb, large=shell.large)

    @router.post("/example")
    def example() -> Response:
        with tempfile.TemporaryDirectory(dir=shell.place.folder) as folder:
            path = Path(folder) / "example.csv"
            examples.survey(1000, seed=1).select(EXAMPLE).write_csv(path)
            run = shell.place.open(path, "Example survey")
        return RedirectResponse(f"/run/{run.name}", 303)

    @router.post("/open")
    async def upload(request: Request) -> Response:
        async with request.form(max_files=1, max_fields=4) as form:
            run = await _received(shell, form.get("file"), str(form.get("sheet") or "").strip())
        return RedirectResponse(f"/run/{run.name}", 303)

    @router.post("/run/{name}/delete")
    def delete(name: str) -> Response:
        shell.run(name).delete()
        return RedirectResponse("/", 303)

    return router


async def _received(shell: Shell, sent: Any, sheet: str) -> Run:
    """A file that was sent, looked at before it is read, as a new run; its name is only ever shown."""
    if sent is None or isinstance(sent, str) or not sent.filename:
        raise DaleniusError("choose a file first")
    shown = Path(sent.filename.replace("\\", "/").replace("\x00", "")).name
    with tempfile.TemporaryDirectory(dir=shell.place.folder) as folder:
        ending = Path(shown).suffix.lower()
        path = Path(folder) / (f"data{ending}" if ending in ENDINGS else "data")
        with path.open("wb") as stream:
            while block := await sent.read(MEGABYTE):
                stream.write(block)
        inspect(path, shell.limit)
        try:
            return shell.place.open(path, shown, sheet)
        except DaleniusError as error:  # who sent it knows its name, not where it lies here
            place = re.escape(str(shell.place.folder)) + r".*?/data[.\w]*(?=:)"
            raise DaleniusError(re.sub(place, lambda found: shown, str(error))) from None
