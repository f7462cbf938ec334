"""Private fits on the page: pay for several, see their lines, choose one by what is released, take it away."""

from __future__ import annotations

import json
import re
import secrets
import shutil
from pathlib import Path

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse, Response

from dalenius.core.errors import DaleniusError
from dalenius.data.atomic import private_folder, write_text
from dalenius.data.units import owner_column
from dalenius.dp import Budget, open_ledger
from dalenius.release.fit_pack import write_fit_pack
from dalenius.release.fit_plan import FitPlan, read_fit_plan
from dalenius.release.fit_release import (
    check_fits,
    choose_fit,
    has_looked,
    note_look,
    read_fits,
    run_fit_plan,
)
from dalenius.release.place import MANIFEST
from dalenius.web.fitting_form import FitForm
from dalenius.web.fitting_view import form_facts, run_schema, view_facts
from dalenius.web.ledgers import ledger_of, put_beside
from dalenius.web.shell import Shell, download
from dalenius.web.taking import zipped
from dalenius.web.workspace import Run

NAME = re.compile(r"[0-9a-f]{12}")


def routes(shell: Shell) -> APIRouter:
    """Addresses of private fits."""
    router = APIRouter()

    @router.get("/run/{name}/fits")
    def form(name: str) -> Response:
        run = _small(shell, name)
        return _form(shell, run, FitForm.of(run_schema(run)))

    @router.post("/run/{name}/fits")
    async def make(name: str, request: Request) -> Response:
        run = _small(shell, name)
        async with request.form(max_files=0, max_fields=100) as sent:
            asked = FitForm.from_form(sent)
        try:
            folder = await run_in_threadpool(_made, shell, run, asked)
        except DaleniusError as error:
            return _form(shell, run, asked, str(error))
        return RedirectResponse(f"/run/{run.name}/fits/{folder.name}", 303)

    @router.get("/run/{name}/fits/{fit}")
    async def show(name: str, fit: str, request: Request) -> Response:
        return await _view(shell, name, fit, request, inside=False)

    @router.get("/run/{name}/fits/{fit}/inside")
    async def inside(name: str, fit: str, request: Request) -> Response:
        if not has_looked(_plan(_small(shell, name), fit)):
            raise DaleniusError(
                "the original's lines are shown after a button is pressed, so that it can be noted"
            )
        return await _view(shell, name, fit, request, inside=True)

    @router.post("/run/{name}/fits/{fit}/look")
    def look(name: str, fit: str) -> Response:
        note_look(_plan(_small(shell, name), fit))
        return RedirectResponse(f"/run/{name}/fits/{fit}/inside", 303)

    @router.post("/run/{name}/fits/{fit}/choose")
    async def choose(name: str, fit: str, request: Request) -> Response:
        plan = _plan(_small(shell, name), fit)
        async with request.form(max_files=0, max_fields=3) as sent:
            wanted = str(sent.get("candidate", ""))
        await run_in_threadpool(lambda: write_fit_pack(choose_fit(plan, wanted)))
        return RedirectResponse(f"/run/{name}/fits/{fit}#chosen", 303)

    @router.get("/run/{name}/fits/{fit}/{part}.zip")
    def pack(name: str, fit: str, part: str) -> Response:
        made = _plan(_small(shell, name), fit).output
        if part not in ("public", "internal") or not (made / MANIFEST).is_file():
            raise DaleniusError("there is no pack yet; choose a fit first")
        kept = (made / part).rglob("*") if part == "public" else [*made.glob("*"), *(made / part).rglob("*")]
        return download(zipped(made, kept), "application/zip", f"fit-{part}.zip")

    return router


def _small(shell: Shell, name: str) -> Run:
    run = shell.run(name)
    if run.several or run.large:
        raise DaleniusError("a private fit on the page is of one file that is held in memory")
    return run


def fits_of(run: Run) -> list[Path]:
    """Folders of the fits of a run, oldest first."""
    place = run.folder / "fits"
    held = (
        [p for p in place.iterdir() if NAME.fullmatch(p.name) and (p / "plan.yaml").is_file()]
        if place.is_dir()
        else []
    )
    return sorted(held, key=lambda p: p.stat().st_mtime)


def _plan(run: Run, fit: str) -> FitPlan:
    """The plan an address names; only folders that are there are looked at."""
    found = [p for p in fits_of(run) if p.name == fit]
    if not found:
        raise DaleniusError("there is no such fit")
    return read_fit_plan(found[0] / "plan.yaml")


def _form(shell: Shell, run: Run, asked: FitForm, fault: str = "") -> Response:
    facts = form_facts(run, asked, ledger_of(shell.place, run))
    earlier = [
        (path.name, json.loads((path / "plan.yaml").read_text(encoding="utf-8"))) for path in fits_of(run)
    ]
    return shell.page(
        "fits", 400 if fault else 200, title=run.facts["title"], run=run, fault=fault, asked=asked,
        earlier=[{"name": name, "formula": plan["formula"], "title": plan["title"]} for name, plan in earlier], **facts,
    )  # fmt: skip


async def _view(shell: Shell, name: str, fit: str, request: Request, *, inside: bool) -> Response:
    run = _small(shell, name)
    plan = _plan(run, fit)
    facts = await run_in_threadpool(
        view_facts, read_fits(plan), request.query_params.get("along", ""), inside
    )
    return shell.page(
        "fit", title=plan.title, run=run, fit=fit, inside=inside, looked=has_looked(plan),
        packed=(plan.output / MANIFEST).is_file(), ledger=open_ledger(plan.pays) if plan.pays else None, **facts,
    )  # fmt: skip


def _made(shell: Shell, run: Run, asked: FitForm) -> Path:
    """Check everything, begin a ledger where there is none, pay and fit; what is refused leaves nothing behind."""
    body, pays = asked.plan(), ledger_of(shell.place, run)
    declared = asked.schema(run_schema(run))
    begun, unit = pays.is_file(), owner_column(declared) if asked.most is not None else None
    if not begun and asked.total is None:
        raise DaleniusError(
            "say what everything that is ever released about these data may cost together (ε)"
        )
    folder = private_folder(private_folder(run.folder / "fits") / secrets.token_hex(6))
    try:
        declared.to_yaml(folder / "schema.yaml")
        facts = {
            "title": asked.title[:120] or f"{run.facts['title']}: {asked.formula}"[:120],
            "input": f"../../{run.data.name}", "schema": "schema.yaml", "formula": asked.formula, **body,
        }  # fmt: skip
        held = open_ledger(pays) if begun else Budget(asked.total or 0.0, unit=unit or "record")
        facts |= {"neighbours": held.neighbours}
        facts |= {"contribution": asked.most} if asked.most is not None else {}
        # JSON is YAML, and nothing a person typed is read as anything but a text or a number
        write_text(folder / "plan.yaml", json.dumps(facts, indent=1))
        check_fits(read_fit_plan(folder / "plan.yaml"), held)
        if not begun:
            open_ledger(pays, asked.total, unit=unit)
        put_beside(run, pays)
        write_text(folder / "plan.yaml", json.dumps({**facts, "ledger": str(pays)}, indent=1))
        run_fit_plan(read_fit_plan(folder / "plan.yaml"))
    except BaseException:
        if not any(folder.glob(".release-fits/*/*.json")):  # what was paid for is kept
            shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder
