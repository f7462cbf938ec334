"""What the page shows of private fits: the form and what is left to pay with, lines alone and beside the original's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dalenius.core.pictures import picture
from dalenius.core.result import figure
from dalenius.data.schema import Kind, Schema
from dalenius.data.units import owner_column
from dalenius.dp import open_ledger
from dalenius.dp.regression.design import bounds_of, parse
from dalenius.dp.regression.fit import TAILS, WEAK
from dalenius.dp.regression.lines import EXACT, PRIVATE, lines_chart
from dalenius.release.fit_release import FitRelease
from dalenius.web.fitting_form import FAMILIES, FitForm
from dalenius.web.planning import corrected
from dalenius.web.workspace import Run

MOST_LEVELS = 40
NOT_FITTED = (Kind.TEXT, Kind.DATETIME, Kind.POINT)


def run_schema(run: Run) -> Schema:
    """The schema of a run as corrected on the page."""
    return run.schema if run.choices is None else corrected(run.schema, run.choices)


def form_facts(run: Run, asked: FitForm, ledger: Path) -> dict[str, Any]:
    """Columns that can be fitted or fitted on, and the state of the ledger."""
    schema = run_schema(run)
    usable = [
        c for c in schema
        if c.kind not in NOT_FITTED and (c.kind.is_number or len(c.levels or ()) <= MOST_LEVELS)
    ]  # fmt: skip
    owner = owner_column(schema)
    return {
        "families": FAMILIES, "columns": [c.name for c in usable if c.name != owner], "owner": owner,
        "ledger": open_ledger(ledger) if ledger.is_file() else None,
        "example": "\n".join(_example(c.name, c.kind.is_number) for c in usable[:3]),
    }  # fmt: skip


def _example(name: str, number: bool) -> str:
    return f"{name}: 0 to 100" if number else f"{name}: first, second"


def view_facts(release: FitRelease, along: str, inside: bool) -> dict[str, Any]:
    """Pictures and coefficients of all fits; with those of the original only for the people inside."""
    response, predictors = parse(release.plan.formula)
    # a line over a number says more than two points
    usual = sorted(
        predictors, key=lambda name: bounds_of(Schema.from_yaml(release.plan.schema)[name]) is None
    )
    shown = along if along in predictors else usual[0]
    panels = {}
    for judged in (j for j in release.judged if j.made is not None):
        sets = [(PRIVATE, judged.lines)]
        panels[judged.candidate.name] = [*sets, (EXACT, release.exact(judged))] if inside else sets
    beside = ", beside those of the original" if inside else ""
    words = f"Lines of {response} along {shown} for each ε, with bands of 95 %{beside}."
    made = [j for j in release.judged if j.made is not None]
    rows = []
    for place, row in enumerate(made[0].table.to_dicts() if made else []):
        cells = [_cell(judged.table.row(place, named=True)) for judged in made]
        rows.append({"term": row["term"], "tau": row.get("tau"), "cells": cells})
    said = [str((j.made or {})["sentence"]) for j in made]
    tails = " ".join(words for words in (TAILS, WEAK) if any(words in sentence for sentence in said))
    fits = [
        {"name": j.candidate.name, "safe": j.safe, "chosen": j is release.chosen, "broken": j.broken,
         "width": j.results["fit-width"].told if "fit-width" in j.results else "–"}
        for j in release.judged
    ]  # fmt: skip
    return {
        "picture": picture(lines_chart(panels, shown, response), words) if panels else "", "words": words,
        "along": shown, "predictors": predictors, "rows": rows, "heads": [j.candidate.name for j in made], "fits": fits,
        "formula": release.plan.formula, "how": release.how, "tails": tails,
        "chosen": release.chosen.candidate.name if release.chosen else "",
    }  # fmt: skip


def _cell(row: dict[str, Any]) -> str:
    told = figure(row["estimate"])
    return f"{told} [{figure(row['low'])}, {figure(row['high'])}]" if "low" in row else told
