"""A run on its way: where it is, stop, continue; the page of a run depends on its state."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import JSONResponse, RedirectResponse, Response

from dalenius.core.errors import DaleniusError
from dalenius.core.kernels import COMPILING
from dalenius.release import read_plan
from dalenius.release.run import stages
from dalenius.web.large import show_large
from dalenius.web.result_view import outcome, result_facts
from dalenius.web.setting import setup_page
from dalenius.web.several import tables_page
from dalenius.web.shell import Shell
from dalenius.web.workspace import Run

WORDS = {"waiting": "waiting", "making": "being made", "measuring": "being measured", "done": "done"}


def routes(shell: Shell) -> APIRouter:
    """Addresses of a run."""
    router = APIRouter()

    @router.get("/run/{name}")
    def show(name: str, s: int = 0) -> Response:
        run = shell.run(name)
        if run.large:
            return show_large(shell, run)
        state = run.state
        facts = {"title": run.facts["title"], "run": run, "state": state}
        if state["state"] in ("done", "refused"):
            return shell.page("result", **facts, step=4, **result_facts(outcome(run), s))
        if state["state"] in ("running", "stopped", "failed") and run.plan.is_file():
            return shell.page("progress", **facts, step=3, jobs=_jobs(run, state), note=_note(run))
        return tables_page(shell, run) if run.several else setup_page(shell, run)

    @router.get("/run/{name}/state")
    def state(name: str) -> Response:
        run = shell.run(name)
        found = run.state
        shown = {k: v for k, v in found.items() if k != "pid"}
        if run.large:
            return JSONResponse({**shown, "note": _note(run)})
        return JSONResponse({**shown, "jobs": _jobs(run, found), "note": _note(run)})

    @router.post("/run/{name}/cancel")
    def cancel(name: str) -> Response:
        run = shell.run(name)
        run.cancel()
        return RedirectResponse(f"/run/{run.name}", 303)

    @router.post("/run/{name}/continue")
    def go_on(name: str) -> Response:
        run = shell.run(name)
        if not run.plan.is_file():
            raise DaleniusError("this run has no plan yet; set it up first")
        run.start()
        return RedirectResponse(f"/run/{run.name}", 303)

    return router


def _note(run: Run) -> str:
    """Why the first run on a machine takes longer, when it does: the run said so in its log."""
    try:
        log = (run.folder / "log.txt").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    return f"This is the first run here: {COMPILING}." if COMPILING in log else ""


def _jobs(run: Run, state: dict[str, Any]) -> list[dict[str, Any]]:
    """Each file of the run and how far it is; nothing is being made while the run stands still."""
    try:
        found = stages(read_plan(run.plan))
    except DaleniusError:
        return []
    jobs = []
    for name, reached in found.items():
        for number, stage in enumerate(reached):
            now = stage if state["state"] == "running" or stage == "done" else "waiting"
            shown = name if len(reached) == 1 else f"{name}, {number + 1} of {len(reached)}"
            jobs.append({"name": shown, "stage": now, "words": WORDS[now]})
    return jobs
