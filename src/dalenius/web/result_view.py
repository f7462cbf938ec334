"""What the result page shows: the verdict, the map, and a row for each file."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from dalenius.core.maps import risk_utility_map
from dalenius.core.result import Result, figure
from dalenius.data.relations_check import torn_links
from dalenius.evaluation.policy import described
from dalenius.release import Judged, Release, read_plan
from dalenius.release.outcome import conclude
from dalenius.release.pack import tables_drawn, told
from dalenius.release.run import work_folder
from dalenius.release.several import whole_base
from dalenius.report.charts import Charts
from dalenius.report.overview import adds
from dalenius.report.story import LIKELY
from dalenius.web.workspace import Run

MOST_MAPS = 3
MOST_FIGURES = 5
"""Figures in the row of a file, beside the one that the choice is made by."""
PROPOSED = "What would be released?"
"""Nothing has left the machine when the page is read."""


def outcome(run: Run) -> Release:
    """The finished run."""
    plan = read_plan(run.plan)
    return conclude(plan, work_folder(plan))


def scenario_name(release: Release, number: int) -> str:
    """Name of a scenario by number; the first for numbers that are none."""
    listed = release.plan.scenarios
    return listed[number].name if 0 <= number < len(listed) else listed[0].name


def result_facts(release: Release, number: int = 0) -> dict[str, Any]:
    """The verdict, maps and rows for one intruder."""
    charts = Charts()
    where = scenario_name(release, number)
    maps = []
    for n, risk in enumerate([None, *release.risks][:MOST_MAPS]):
        points = release.points(risk, where)
        if len(points):
            drawn = partial(risk_utility_map, points, *((540, 340) if n == 0 else (260, 190)))
            maps.append({"title": points["risk_title"][0], "chart": charts.add(drawn)})
    there = release.judged[0].figures[where]
    first = [n for n in release.plan.measured if n in there and n != release.plan.choose][:MOST_FIGURES]
    names = [*first, *([release.plan.choose] if release.plan.choose in there else [])]
    return {
        "maps": maps,
        "heads": [(described(n).title, described(n).better, described(n).family) for n in names],
        "rows": [_row(release, judged, where, names) for judged in release.judged],
        "why": release.why,
        "refused": release.refusals,
        "likely": LIKELY,
        "chosen": release.chosen.candidate.name if release.chosen else None,
        "story": replace(told(release), released_question=PROPOSED) if release.chosen else None,
        "drawing": tables_drawn(release) if release.plan.several else "",
        "torn": torn_links(whole_base(release.plan)) if release.plan.several else {},
        "scenarios": list(release.plan.scenarios),
        "scenario": where,
        "specs": charts.to_json(),
    }


def _row(release: Release, judged: Judged, where: str, names: list[str]) -> dict[str, Any]:
    results = judged.figures[where]
    return {
        "name": judged.candidate.name,
        "cells": [_cell(results.get(n)) for n in names],
        "safe": judged.safe,
        "findings": judged.findings,
        "chosen": release.chosen is not None and release.chosen.candidate == judged.candidate,
    }


def _cell(result: Result | None) -> tuple[str, str]:
    """A figure, and what the file adds to what strangers reach."""
    if result is None:
        return "–", ""
    return figure(result.value, result.unit), adds(result)
