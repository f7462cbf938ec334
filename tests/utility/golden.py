"""Reading the golden files of synthpop: one place that knows their conventions."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from dalenius.counts.pair import Pair
from dalenius.data.grouping import Grouping
from dalenius.data.schema import Column, Kind, Schema
from dalenius.data.table import Table

GOLDEN = Path(__file__).parents[1] / "golden"
DATA = GOLDEN / "utility-tables" / "data"
KINDS = {
    "factor": Kind.CATEGORICAL,
    "ordered": Kind.ORDERED,
    "integer": Kind.INTEGER,
    "numeric": Kind.CONTINUOUS,
}


def cases(folder: str, file: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((GOLDEN / folder / file).read_text())["cases"]
    return found


@cache
def frame(name: str) -> pl.DataFrame:
    return pl.read_csv(DATA / name, infer_schema_length=None, quote_char='"')


def table(name: str, schema_name: str, columns: list[str], special: dict[str, Any]) -> Table:
    described = json.loads((DATA / schema_name).read_text())
    made = []
    for column in columns:
        kind = KINDS[described[column]["kind"]]
        levels = tuple(described[column]["levels"]) if "levels" in described[column] else None
        codes = special.get(column, ())
        codes = tuple(codes) if isinstance(codes, list) else (codes,) if codes != () else ()
        made.append(Column(column, kind, levels=levels, not_applicable=codes))
    chosen = frame(name).select(columns)
    text = [c.name for c in made if not c.kind.is_number]
    return Table.from_frame(chosen.with_columns(pl.col(text).cast(pl.String)), Schema(tuple(made)))


def pairs(case: dict[str, Any]) -> list[Pair]:
    """The case's original with each of its syntheses, numbers grouped as synthpop does: all files pooled."""
    options = case["options"] or {}
    case.setdefault("vars", frame(case["synthetic"][0]).columns)
    special = options.get("cont.na", {})
    original = table(case["original"], case["schema"], case["vars"], special)
    made = [table(name, case["schema"], case["vars"], special) for name in case["synthetic"]]
    grouping = Grouping.fit(original, *made, groups=options.get("ngroups", 5) or 5)
    return [Pair(original, synthetic, grouping=grouping) for synthetic in made]
