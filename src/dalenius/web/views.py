"""What the pages show: columns and warnings before a run, the map and the candidates after it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from dalenius.core.maps import risk_utility_map
from dalenius.core.result import figure
from dalenius.data.schema import Kind, Role, Schema
from dalenius.data.table import Table
from dalenius.evaluation import Evaluation
from dalenius.release import Release, read_plan
from dalenius.release.outcome import conclude
from dalenius.release.pack import comparison_of
from dalenius.release.run import work_folder
from dalenius.release.template import roles, sensible_methods
from dalenius.report.columns import column_bars, column_chart, column_words
from dalenius.report.render import Charts
from dalenius.synth import SYNTHESIZERS
from dalenius.web.workspace import Run

ROLES = {
    "": "nothing special",
    "key": "an outsider may know it (key)",
    "target": "would hurt if learnt (target)",
    "identifier": "names a person (left out)",
    "weight": "survey weight",
    "household": "number of the household (left out)",
}
KINDS = ("categorical", "ordered", "integer", "continuous", "boolean", "text")


def setup(run: Run) -> dict[str, Any]:
    """Columns with guesses, warnings, and methods in plain words."""
    table = run.table()
    keys, targets = roles(table)
    columns = []
    for column in table.schema:
        held = [str(role) for role in column.roles if str(role) in ROLES]
        guess = "key" if column.name in keys else ("target" if column.name in targets else "")
        columns.append(
            {"name": column.name, "kind": column.kind.value, "role": held[0] if held else guess, "note": column.note,
             "values": int(table.shape.levels[table.names.index(column.name)])}
        )  # fmt: skip
    chosen = sensible_methods(table)
    methods = [
        {"name": name, "title": kind.info.title, "meaning": kind.info.meaning, "guarantee": kind.info.guarantee,
         "chosen": name in chosen[:3]}
        for name, kind in ((n, SYNTHESIZERS[n]) for n in SYNTHESIZERS)
        if not kind.info.copies_rows and len(table.names) <= (kind.info.max_columns or len(table.names))
    ]  # fmt: skip
    return {"rows": table.rows, "columns": columns, "methods": methods, "warnings": warnings(table)}


def warnings(table: Table) -> list[str]:
    """What a steward should look at before a run."""
    found = []
    if table.rows < 200:
        found.append(f"Only {table.rows} records: figures will be rough, and small data are hard to protect.")
    for name in table.names:
        vector = table[name]
        if vector.state is not None and float(np.mean(vector.state != 0)) > 0.5:
            found.append(f"More than half of '{name}' is empty or a special code.")
        if vector.column.kind is Kind.TEXT and not vector.column.has(Role.IDENTIFIER):
            found.append(f"'{name}' looks like free text: mark it as naming a person, or take it out.")
    return found


def corrected(schema: Schema, kinds: dict[str, str], chosen: dict[str, str]) -> Schema:
    """The schema with the kinds and roles a person set on the page."""
    columns = []
    for column in schema:
        role = chosen.get(column.name, "")
        kind = kinds.get(column.name, column.kind.value)
        kept = tuple(r for r in column.roles if str(r) not in ROLES)
        changed = replace(column, roles=(*kept, *((Role(role),) if role in set(Role) else ())))
        if kind in KINDS and kind != column.kind.value:
            changed = replace(
                changed, kind=Kind(kind), levels=None, bounds=None, decimals=None, note="set on the page"
            )
        columns.append(changed)
    return replace(schema, columns=tuple(columns))


def outcome(run: Run) -> Release:
    """The finished run."""
    plan = read_plan(run.plan)
    return conclude(plan, work_folder(plan))


def result(release: Release) -> dict[str, Any]:
    """The map and a row for each candidate."""
    charts = Charts()
    maps = []
    for n, risk in enumerate(release.risks[:3]):
        points = release.points(risk)
        drawn = risk_utility_map(points, *((620, 320) if n == 0 else (330, 220)))
        maps.append({"title": points["risk_title"][0], "chart": charts.add(drawn)})
    names = [
        n for n in release.plan.measured if n in release.judged[0].figures[release.plan.scenarios[0].name]
    ][:5]
    rows = []
    for judged in release.judged:
        results = judged.figures[release.plan.scenarios[0].name]
        cells = [figure(results[n].value, results[n].unit) if n in results else "–" for n in names]
        rows.append(
            {"name": judged.candidate.name, "cells": cells, "safe": judged.safe, "broken": judged.broken,
             "chosen": release.chosen is not None and release.chosen.candidate == judged.candidate}
        )  # fmt: skip
    return {"maps": maps, "names": names, "rows": rows, "why": release.why, "specs": charts.to_json()}


def drill(release: Release, numbers: list[int]) -> dict[str, Any]:
    """One candidate in detail, or several side by side: figures, columns, tables of pairs, risky combinations."""
    charts = Charts()
    comparison = comparison_of(release)
    chosen = [comparison[release.judged[n].candidate.name] for n in numbers]
    return {"sides": [_side(e, charts, len(chosen) == 1) for e in chosen], "specs": charts.to_json()}


def _side(evaluation: Evaluation, charts: Charts, alone: bool) -> dict[str, Any]:
    bars = [column_bars(evaluation.pair, name) for name in evaluation.pair.columns]
    figures = [
        {
            "title": r.info.title if r.info else r.name, "family": r.info.family if r.info else "",
            "sentence": r.sentence,
            "value": figure(r.value, r.unit), "yardsticks": [(k, figure(v, r.unit)) for k, v in r.yardsticks.items()],
            "chart": charts.add(r.chart()) if r.chart and alone else None, "trusted": r.trusted,
        }
        for r in evaluation.results.values()
    ]  # fmt: skip
    columns = [
        {"name": b.column, "chart": charts.add(column_chart(b, evaluation.name)), "words": column_words(b)}
        for b in bars
        if len(b.data)
    ]
    return {"name": evaluation.name, "figures": figures, "columns": columns}
