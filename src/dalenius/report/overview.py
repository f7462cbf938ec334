"""The tables and maps at the top of a report: candidates by a few figures, and who beats whom."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from dalenius.core.result import Result, figure
from dalenius.evaluation import Comparison
from dalenius.evaluation.comparing import first_told
from dalenius.report.uses import tables_of
from dalenius.report.words import marked

MOST_MEASURES = 3


def overview(comparison: Comparison) -> dict[str, Any]:
    """The first table of the report: candidates by a few measures of each family, the best known first."""
    infos = {n: e.results[n].info for e in comparison.evaluations.values() for n in e.results}
    detail = (
        "detail-utility" in infos
    )  # two-way tables as the mask shows them look perfect whatever it took away
    known = sorted((n for n in infos if not detail or n != "two-way-utility"), key=first_told)
    families = [[n for n in known if (info := infos[n]) and info.family == f] for f in ("risk", "utility")]
    names = [n for family in families for n in family[:MOST_MEASURES]]
    head = [(i.title, i.family, i.better) if i else (n, "", "") for n, i in ((n, infos[n]) for n in names)]
    rows = []
    for candidate, evaluation in comparison.evaluations.items():
        cells = []
        for name in names:
            r = tables_of(evaluation.results) if name == "detail-utility" else evaluation.results.get(name)
            cells.append(
                (figure(r.value, r.unit), marked(r), r.trusted, adds(r)) if r else ("–", None, True, "")
            )
        rows.append((candidate, cells))
    return {"head": head, "rows": rows}


def adds(result: Result) -> str:
    """What the file adds to what strangers reach; empty where nobody outside the data was looked at."""
    return "" if result.added is None else f"adds {float(f'{result.added:.2g}'):+g}"


def draw_points(
    comparison: Comparison, points: Mapping[str, pl.DataFrame] | None
) -> Mapping[str, pl.DataFrame]:
    """What the maps draw, by risk measure: the first is large, the others in per cent are small multiples."""
    some = next(iter(comparison.evaluations.values()))
    if points is not None:
        return points
    if not some.family("risk") or not some.family("utility"):
        return {}
    others = [
        r.name
        for r in some.family("risk")
        if r.unit == "%" and all(r.name in e.results for e in comparison.evaluations.values())
    ]
    others.sort(key=first_told)
    main = comparison.points()  # by the headline figure
    drawn = {name: comparison.points(risk=name) for name in others}
    return {"": main} | {name: p for name, p in drawn.items() if p["risk_title"][0] != main["risk_title"][0]}


def map_words(points: pl.DataFrame | None) -> str:
    """The map in words, for those who cannot see it."""
    if points is None:
        return ""
    rows = points.select("candidate", "risk", "utility").iter_rows()
    return "; ".join(f"{name}: risk {figure(r)}, utility figure {figure(u)}" for name, r, u in rows)


def pareto(points: pl.DataFrame | None) -> dict[str, Any] | None:
    """Candidates from safest on, and who beats each in risk and utility at once."""
    if points is None or len(points) < 2:
        return None
    sign = 1 if points["utility_better"][0] == "lower" else -1
    ordered = points.sort("risk", "utility").to_dicts()
    rows = []
    for mine in ordered:
        ahead = [p for p in ordered if sign * p["utility"] < sign * mine["utility"]]
        better = [p["candidate"] for p in ahead if p["risk"] < mine["risk"]]
        level = [p["candidate"] for p in ahead if p["risk"] == mine["risk"]]  # a tie is no defeat
        rows.append(
            {
                "name": mine["candidate"],
                "risk": figure(mine["risk"], mine.get("risk_unit", "%")),
                "utility": figure(mine["utility"]),
                "by": ", ".join(better),
                "level": ", ".join(level),
            }
        )
    return {"risk": points["risk_title"][0], "utility": points["utility_title"][0], "rows": rows}
