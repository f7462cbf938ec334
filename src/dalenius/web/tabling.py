"""A protected table of the file of a run: choose what to cross, see the audit, take the table away."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from fastapi import APIRouter, Request
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import Response
from markupsafe import Markup

from dalenius.core.errors import DaleniusError
from dalenius.data import Role
from dalenius.data.vector import MISSING_LABEL, NAN_LABEL, Vector
from dalenius.tables import Suppression, define, parse_rule, protect, write_table_file
from dalenius.tables.page import STYLE, table_parts
from dalenius.tables.whose import contributor_columns
from dalenius.web.planning import as_chosen
from dalenius.web.shell import Shell, download
from dalenius.web.workspace import Run

MOST_CODES = 400
MISSING = "(missing)"
MOST_DIMENSIONS = 3
FILES = {"csv": "text/csv", "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
         "json": "application/json"}  # fmt: skip
RULES = {"": "the usual for this kind of table", "freq:3": "counts up to 3, and zeros",
         "freq0:3": "counts up to 3, zeros open",
         "freq:10": "counts up to 10, and zeros", "contributors:2": "sums of one or two", "p:10": "sums: p % rule, 10",
         "nk:1,80,2,90": "sums: dominance (1, 80) and (2, 90)"}  # fmt: skip


def routes(shell: Shell) -> APIRouter:
    """Addresses of tables."""
    router = APIRouter()

    @router.get("/run/{name}/tables")
    async def show(name: str, request: Request) -> Response:
        run = shell.run(name)
        asked = _asked(run, request)
        fault, parts, safe = "", "", False
        if asked["by"]:
            try:
                result = await run_in_threadpool(_protected, run, asked)
                parts, safe = table_parts(result), result.is_safe
            except DaleniusError as error:
                fault = str(error)
        facts = {"style": Markup(STYLE), "parts": Markup(parts), "safe": safe, "query": request.url.query}
        return shell.page(
            "tables", 400 if fault else 200, title=run.facts["title"], run=run, fault=fault, asked=asked,
            codes=_columns(run, numbers=False), numbers=_columns(run, numbers=True), whose=_whose(run), rules=RULES,
            **facts,
        )  # fmt: skip

    @router.get("/run/{name}/table.{ending}")
    async def take(name: str, ending: str, request: Request) -> Response:
        run = shell.run(name)
        if ending not in FILES:
            raise DaleniusError("tables can be taken as CSV, Excel or JSON-stat")
        result = await run_in_threadpool(_protected, run, _asked(run, request))
        with tempfile.TemporaryDirectory(dir=shell.place.folder) as folder:
            path = write_table_file(result, Path(folder) / f"table.{ending}")
            return download(path.read_bytes(), FILES[ending], f"table.{ending}")

    return router


def _columns(run: Run, numbers: bool) -> list[str]:
    """Columns that can be crossed, or added up."""
    table = as_chosen(run)
    if numbers:
        return [name for name in table.names if table[name].is_number]
    return [name for name in table.names if 1 < len(table[name].categories.labels) <= MOST_CODES]


def _whose(run: Run) -> list[str]:
    """Columns that may say whose record it is, the likely ones first; identifiers too, which nobody crosses."""
    table = as_chosen(run)
    likely = contributor_columns(table, ())
    named = [name for name in table.names if Role.IDENTIFIER in table[name].column.roles]
    coded = [
        name for name in table.names if not table[name].is_number and len(table[name].categories.labels) > 1
    ]
    return list(dict.fromkeys([*likely, *named, *coded]))


def _asked(run: Run, request: Request) -> dict[str, Any]:
    """What the address asks for; names that are no columns are left out."""
    names, given = set(run.schema.names), request.query_params
    column = {
        word: given.get(word, "") if given.get(word, "") in names else "" for word in ("value", "contributor")
    }
    rule = given.get("rule", "")
    by = [name for name in dict.fromkeys(given.getlist("by")) if name in names]
    return {"by": by[:MOST_DIMENSIONS], "rule": rule if rule in RULES else "", **column}


def _codes(vector: Vector) -> list[str]:
    """The codes of a column as a table shows them."""
    gaps = (MISSING_LABEL, NAN_LABEL)
    return [MISSING if label in gaps else str(label) for label in vector.categories.labels]


def _protected(run: Run, asked: dict[str, Any]) -> Suppression:
    if not asked["by"]:
        raise DaleniusError("mark at least one column to cross")
    table, held = as_chosen(run), run.choices
    codes = {name: _codes(table[name]) for name in asked["by"] if not table[name].is_number}
    trees = held.structure.hierarchies(codes) if held is not None else {}
    model = define(
        table, asked["by"], value=asked["value"] or None, contributor=asked["contributor"] or None,
        missing=MISSING, hierarchies=trees,
    )  # fmt: skip
    return protect(model, *([parse_rule(asked["rule"])] if asked["rule"] else []))
