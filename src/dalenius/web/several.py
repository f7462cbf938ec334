"""Several tables on the page: open a folder, see whose rows belong to whose, correct it, choose ways, run."""

from __future__ import annotations

import re
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import RedirectResponse, Response
from starlette.datastructures import FormData

from dalenius.core.errors import DaleniusError
from dalenius.core.random import DEFAULT_SEED
from dalenius.data import examples
from dalenius.data.atomic import write_text
from dalenius.data.relations import Database, Link
from dalenius.data.relations_check import torn_links
from dalenius.data.relations_infer import KINDS
from dalenius.data.relations_picture import picture
from dalenius.data.schema import Kind
from dalenius.release import read_plan
from dalenius.release.plan import FILE_NAME, Scenario, database_policy
from dalenius.release.template import Draft
from dalenius.release.template_tables import ACROSS, WAYS, intruders, ways
from dalenius.web.intake import inspect
from dalenius.web.shell import MEGABYTE, Shell
from dalenius.web.workspace import DATABASE, ENDINGS, Run

MOST_TABLES = 30
ORPHANS = {
    "error": "are an error: stop and correct them",
    "drop": "are left out, with everything below them",
    "keep": "are kept, as rows without a family",
}
MEASURES = ("replicated-uniques", "disco", "two-way-utility", "propensity-tree", *ACROSS)


def routes(shell: Shell) -> APIRouter:
    """Addresses of runs with several tables."""
    router = APIRouter()

    @router.post("/open-folder")
    async def upload(request: Request) -> Response:
        async with request.form(max_files=MOST_TABLES, max_fields=4) as form:
            run = await _received(shell, form.getlist("files"))
        return RedirectResponse(f"/run/{run.name}", 303)

    @router.post("/example-folder")
    def example() -> Response:
        with tempfile.TemporaryDirectory(dir=shell.place.folder) as place:
            files = []
            for name, table in examples.visits(1000, seed=1).tables.items():
                files.append(Path(place) / f"{name}.csv")
                table.to_frame("polars").write_csv(files[-1])
            run = shell.place.open_folder(files, "Example clinic")
        return RedirectResponse(f"/run/{run.name}", 303)

    @router.post("/run/{name}/relations")
    async def correct(name: str, request: Request) -> Response:
        run = shell.run(name)
        async with request.form(max_files=0, max_fields=2_000) as form:
            try:
                corrected(run, form).to_yaml(run.folder / DATABASE)
            except DaleniusError as error:
                return tables_page(shell, run, str(error), 400)
        return RedirectResponse(f"/run/{run.name}", 303)

    @router.post("/run/{name}/start-tables")
    async def begin(name: str, request: Request) -> Response:
        run = shell.run(name)
        async with request.form(max_files=0, max_fields=2_000) as form:
            trial = run.folder / "trial-plan.yaml"
            try:
                write_text(trial, drafted(run, form).text())
                read_plan(trial)
            except DaleniusError as error:
                return tables_page(shell, run, str(error), 400)
        write_text(run.plan, trial.read_text(encoding="utf-8"))
        run.start()
        return RedirectResponse(f"/run/{run.name}", 303)

    return router


async def _received(shell: Shell, sent: list[Any]) -> Run:
    """Files that were sent, looked at before they are read; the name of a file is the name of its table."""
    held = [file for file in sent if not isinstance(file, str) and file.filename]
    if not held:
        raise DaleniusError("choose the files of the tables first, one file a table")
    with tempfile.TemporaryDirectory(dir=shell.place.folder) as place:
        files = []
        for file in held:
            shown = Path(file.filename.replace("\\", "/").replace("\x00", "")).name
            ending = Path(shown).suffix.lower()
            if ending not in ENDINGS:
                continue  # a folder holds notes too
            stem = re.sub(r"\s+", "_", Path(shown).stem)[:60]
            if not FILE_NAME.fullmatch(stem):
                raise DaleniusError(
                    "a file's name, which names its table, may have letters, digits, - and _ only"
                )
            path = Path(place) / f"{stem}{ending}"
            with path.open("wb") as stream:
                while block := await file.read(MEGABYTE):
                    stream.write(block)
            inspect(path, shell.limit)
            files.append(path)
        return shell.place.open_folder(files, _title(held))


def _title(held: list[Any]) -> str:
    parts = str(held[0].filename).replace("\\", "/").split("/")
    return parts[-2] if len(parts) > 1 else f"{len(held)} tables"


def tables_page(shell: Shell, run: Run, fault: str = "", status: int = 200) -> Response:
    """The set-up page of several tables."""
    base = run.base()
    return shell.page(
        "several", status, title=run.facts["title"], run=run, fault=fault, step=2, base=base, torn=torn_links(base),
        drawing=picture(base, torn=torn_links(base)), tables=_tables(base), links=_links(base), orphans=ORPHANS,
        parents=[name for name in base.tables if name in base.keys], ways=_ways(base), intruders=intruders(base),
        policy="\n".join(database_policy(base)), columns=[f"{n}.{c}" for n in base.tables for c in base[n].names],
    )  # fmt: skip


def _tables(base: Database) -> list[dict[str, Any]]:
    dated = (Kind.DATETIME, Kind.INTEGER, Kind.CONTINUOUS)
    return [
        {
            "name": name, "rows": table.rows, "columns": table.names, "key": base.keys.get(name, ""),
            "order": base.order.get(name, ""),
            "orders": [c.name for c in table.schema if c.kind in dated and c.name not in base.key_columns(name)],
        }
        for name, table in base.tables.items()
    ]  # fmt: skip


def _links(base: Database) -> list[dict[str, str]]:
    """Columns that may hold keys of another table, with the table that they are thought to belong to."""
    held = {(link.child, link.child_key): link for link in base.links}
    rows = []
    for name, table in base.tables.items():
        for column in table.schema:
            link = held.get((name, column.name))
            called = column.kind in KINDS and column.name.lower().endswith(("id", "nr", "key"))
            if link is not None or (called and column.name != base.keys.get(name)):
                parent, note, kind = (link.parent, link.note, str(link.cardinality)) if link else ("", "", "")
                rows.append({"child": f"{name}.{column.name}", "parent": parent, "note": note, "kind": kind})
    return rows


def _ways(base: Database) -> list[dict[str, Any]]:
    there = ways(base)
    words = {
        "close": "Family by family, close to the data",
        "smooth": "Family by family, smoothed",
        "syndiffix": "Family by family, topmost table by SynDiffix",
        "joined": "All tables as one, smoothed",
        "families": "A family as one row, by SynDiffix",
    }
    return [
        {"name": name, "words": words[name], "there": name in there, "on": name != "families"}
        for name in WAYS
    ]


def corrected(run: Run, form: FormData) -> Database:
    """The tables with keys, links and orders as a person set them on the page; every fault is told at once."""
    base = run.base()
    keys = {n: str(form[f"key-{n}"]) for n in base.tables if form.get(f"key-{n}")}
    order = {n: str(form[f"order-{n}"]) for n in base.tables if form.get(f"order-{n}")}
    wanted = {row["child"]: str(form.get(f"parent-{row['child']}", row["parent"])) for row in _links(base)}
    if form.get("more-child") and form.get("more-parent"):
        wanted[str(form["more-child"])] = str(form["more-parent"])
    before = {(link.child, link.child_key, link.parent): link for link in base.links}
    links = []
    for text, parent in wanted.items():
        child = next(
            (n for n in sorted(base.tables, key=len, reverse=True) if text.startswith(f"{n}.")), None
        )
        if not parent or child is None:
            continue
        if parent not in keys:
            raise DaleniusError(f"link {text}: table {parent!r} has no key; say which column names its rows")
        column = text[len(child) + 1 :]
        same = before.get((child, column, parent))
        fresh = Link(parent, keys[parent], child, column, note="set on the page")
        links.append(replace(same, parent_key=keys[parent], cardinality=None) if same else fresh)
    orphans = str(form.get("orphans") or "keep")
    changed = Database(base.tables, keys, tuple(links), order, (), orphans, base.endings)  # type: ignore[arg-type]
    if [(k.child, k.parent) for k in links] == [(k.child, k.parent) for k in base.links]:
        changed = replace(
            changed, rules=base.rules
        )  # rules speak of links that are no longer there otherwise
    changed.checked()
    return changed


def _listed(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def drafted(run: Run, form: FormData) -> Draft:
    """The plan of a run, from what was chosen."""
    base = run.base()
    names = form.getlist("way")
    chosen = {str(n): dict(WAYS[str(n)]) for n in names if str(n) in WAYS}
    if not chosen:
        raise DaleniusError("choose at least one way to make the tables")
    scenarios = []
    for number, guessed in enumerate(intruders(base)):
        keys, targets = (
            tuple(
                part.strip()
                for part in str(form.get(f"{word}-{number}", ",".join(usual))).split(",")
                if part.strip()
            )
            for word, usual in (("keys", guessed.keys), ("targets", guessed.targets))
        )
        scenarios.append(Scenario(guessed.name, keys, targets, guessed.about))
    lines = [line.strip() for line in str(form.get("policy") or "").splitlines() if line.strip()]
    return Draft(
        data=Path(run.data.name), schema=Path(DATABASE), scenarios=scenarios, candidates=chosen, measures=MEASURES,
        policy=lines or database_policy(base), title=str(run.facts["title"]), replicates=1, seed=DEFAULT_SEED,
    )  # fmt: skip
