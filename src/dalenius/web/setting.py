"""Setting up a run: columns, intruders, methods and policy; what it will cost; the start."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import JSONResponse, RedirectResponse, Response

from dalenius.core.cost import duration
from dalenius.core.errors import DaleniusError
from dalenius.release import forecast, read_plan
from dalenius.release.forecast import BESIDES
from dalenius.web.choices import Choices
from dalenius.web.large import large_page
from dalenius.web.planning import as_chosen, corrected, first_choices, keep_choices, write_plan
from dalenius.web.previewing import preview
from dalenius.web.setup_view import setup_facts
from dalenius.web.several import tables_page
from dalenius.web.shell import Shell
from dalenius.web.workspace import Run


def routes(shell: Shell) -> APIRouter:
    """Addresses of the set-up page."""
    router = APIRouter()

    @router.get("/run/{name}/setup")
    def show(name: str) -> Response:
        run = shell.run(name)
        if run.large:
            return large_page(shell, run)
        return tables_page(shell, run) if run.several else setup_page(shell, run)

    @router.post("/run/{name}/start")
    async def begin(name: str, request: Request) -> Response:
        run = shell.run(name)
        chosen = await _chosen(run, request)
        try:
            read_plan(write_plan(run, chosen, trial=True))
        except DaleniusError as error:
            return setup_page(shell, run, chosen, str(error), 400)
        write_plan(run, chosen)
        run.start()
        return RedirectResponse(f"/run/{run.name}", 303)

    @router.post("/run/{name}/forecast")
    async def cost(name: str, request: Request) -> Response:
        run = shell.run(name)
        chosen = await _chosen(run, request)
        said = await run_in_threadpool(_cost, run, chosen)
        return JSONResponse({"said": said})

    @router.post("/run/{name}/preview")
    async def look(name: str, request: Request) -> Response:
        run = shell.run(name)
        chosen = await _chosen(run, request)
        return JSONResponse(await run_in_threadpool(_preview, run, chosen))

    @router.post("/run/{name}/tables")
    async def table(name: str, request: Request) -> Response:
        return await elsewhere(name, request, "tables")

    @router.post("/run/{name}/to-fits")
    async def fits(name: str, request: Request) -> Response:
        return await elsewhere(name, request, "fits")

    async def elsewhere(name: str, request: Request, where: str) -> Response:
        run = shell.run(name)
        chosen = await _chosen(run, request)
        try:
            corrected(run.schema, chosen)
        except DaleniusError as error:
            return setup_page(shell, run, chosen, str(error), 400)
        keep_choices(run, chosen)
        return RedirectResponse(f"/run/{run.name}/{where}", 303)

    @router.post("/run/{name}/again")
    def again(name: str) -> Response:
        other = shell.place.again(shell.run(name))
        return RedirectResponse(f"/run/{other.name}/setup", 303)

    return router


def _cost(run: Run, chosen: Choices) -> str:
    try:
        found = forecast(read_plan(write_plan(run, chosen, trial=True)))
    except DaleniusError as error:
        return f"This cannot be run yet: {error}"
    seconds = sum(f.total.seconds for f in found.values())
    return f"About {duration(seconds)} of computing, judged by small trials on this machine. {BESIDES}"


def _preview(run: Run, chosen: Choices) -> dict[str, Any]:
    try:
        return preview(as_chosen(run, chosen), chosen)
    except DaleniusError as error:
        return {"fault": str(error)}


async def _chosen(run: Run, request: Request) -> Choices:
    async with request.form(max_files=0, max_fields=20_000) as form:
        return Choices.from_form(form, run.schema.names)


def setup_page(
    shell: Shell, run: Run, chosen: Choices | None = None, fault: str = "", status: int = 200
) -> Any:
    """The set-up page with what was chosen before, or first guesses."""
    held = chosen or run.choices or first_choices(run)
    return shell.page(
        "setup", status, title=run.facts["title"], run=run, fault=fault, chosen=held, step=2,
        **setup_facts(run.table(), held),
    )  # fmt: skip
