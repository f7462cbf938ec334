"""What the comparison shows, candidates side by side: figures, risky combinations, columns, and tables of two."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import polars as pl

from dalenius.core.result import Result, figure
from dalenius.evaluation import Evaluation
from dalenius.evaluation.columns import column_bars, column_chart, column_words
from dalenius.evaluation.policy import described
from dalenius.release import Judged, Release
from dalenius.release.pack import comparison_of
from dalenius.report.charts import Charts
from dalenius.report.combinations import risky_combinations
from dalenius.report.pairs import cells_chart, pair_cells
from dalenius.web.result_view import scenario_name

MOST_COMBINATIONS = 15
MOST_PAIRS = 12


def compare_facts(release: Release, numbers: Sequence[int], scenario: int = 0) -> dict[str, Any]:
    """Chosen candidates side by side, for one intruder."""
    charts = Charts()
    where = scenario_name(release, scenario)
    judged = [release.judged[n] for n in numbers]
    sides = _sides(release, judged, where)
    names = [side.name for side in sides]
    return {
        "names": names,
        "figures": _figures(release, judged, where),
        "combinations": _combinations(sides),
        "targets": _targets(judged, where),
        "columns": _columns(sides, names, charts),
        "pairs": _pairs(judged, where, sides[0].pair.columns),
        "charts": _own_charts(sides[0], charts) if len(sides) == 1 else [],
        "scenarios": list(release.plan.scenarios),
        "scenario": where,
        "keys": sides[0].pair.keys,
        "specs": charts.to_json(),
    }


def _sides(release: Release, judged: Sequence[Judged], where: str) -> list[Evaluation]:
    comparison = comparison_of(release, [j.candidate.name for j in judged], where)
    return [comparison[j.candidate.name] for j in judged]


def _figures(release: Release, judged: Sequence[Judged], where: str) -> list[dict[str, Any]]:
    """One row a figure: what it means, the yardsticks, and each candidate's value."""
    rows = []
    for name in release.plan.measured:
        results = [j.runs[0][where].get(name) for j in judged]
        some = next((r for r in results if r is not None), None)
        if some is None:
            continue
        info = described(name)
        rows.append(
            {
                "title": info.title,
                "meaning": info.meaning,
                "family": info.family,
                "best": info.best,
                "yardsticks": [
                    (k, figure(v, some.unit)) for k, v in some.yardsticks.items() if k != "holdout"
                ],
                "guessed": [_guessed(r) for r in results],
                "values": [figure(r.value, r.unit) if r else "–" for r in results],
                "trusted": [r.trusted if r else True for r in results],
                "sentences": [r.sentence if r else "" for r in results],
            }
        )
    return rows


def _guessed(result: Result | None) -> str:
    """The same figure for people kept out; it belongs to the file, because each file has its own."""
    held = result.yardsticks.get("holdout") if result is not None else None
    return "" if held is None or result is None else figure(held, result.unit)


def _combinations(sides: Sequence[Evaluation]) -> dict[str, Any]:
    """Combinations of the keys, riskiest first: alone in the original, and still found in each file."""
    tables = [risky_combinations(side.pair) for side in sides]
    joined = tables[0].rename({"found": "found0"})
    for n, table in enumerate(tables[1:], start=1):
        joined = joined.join(
            table.select("combination", pl.col("found").alias(f"found{n}")), on="combination"
        )
    found = [f"found{n}" for n in range(len(tables))]
    ordered = joined.with_columns(worst=pl.max_horizontal(found)).sort(
        "worst", "alone", "columns", descending=[True, True, False], maintain_order=True
    )
    ordered = ordered.filter(pl.col("alone") > 0)
    rows = [
        {
            "combination": row["combination"],
            "alone": row["alone"],
            "found": [row[name] for name in found],
        }
        for row in ordered.head(MOST_COMBINATIONS).iter_rows(named=True)
    ]
    return {"rows": rows, "more": len(ordered) - len(rows), "harmless": len(joined) - len(ordered)}


def _targets(judged: Sequence[Judged], where: str) -> list[dict[str, Any]]:
    """What could be read off, by target: in the original and in each file."""
    results = [j.runs[0][where].get("disco") for j in judged]
    tables = [r.shown for r in results if r is not None and r.shown is not None]
    if len(tables) < len(judged) or any("DiSCO" not in t.columns for t in tables):
        return []
    rows = []
    for line in tables[0].iter_rows(named=True):
        values = [dict(zip(t["target"], t["DiSCO"], strict=True)).get(line["target"]) for t in tables]
        rows.append({"target": line["target"], "original": line["Dorig"], "found": values})
    return rows


def _columns(sides: Sequence[Evaluation], names: Sequence[str], charts: Charts) -> list[dict[str, Any]]:
    found = []
    for column in sides[0].pair.columns:
        bars = [column_bars(side.pair, column) for side in sides]
        if not len(bars[0].data):
            continue
        words = "; ".join(f"{n}: {column_words(b)}" for n, b in zip(names, bars, strict=True))
        drawn = partial(column_chart, bars, names, width=200)
        found.append({"name": column, "chart": charts.add(drawn), "words": words})
    return found


def _pairs(judged: Sequence[Judged], where: str, columns: Sequence[str]) -> list[dict[str, Any]]:
    """Tables of two columns, the one furthest from the original first."""
    results = [j.runs[0][where].get("two-way-utility") for j in judged]
    tables = [r.shown for r in results if r is not None and r.shown is not None]
    if len(tables) < len(judged):
        return []
    held = [
        {frozenset((a, b)): v for a, b, v in t.select("first", "second", "S_pMSE").iter_rows()}
        for t in tables
    ]
    rows = []
    for first, second in tables[0].select("first", "second").iter_rows():
        values = [side.get(frozenset((first, second)), 0.0) for side in held]
        at = (columns.index(first), columns.index(second)) if {first, second} <= set(columns) else None
        rows.append({"first": first, "second": second, "values": values, "at": at})
    rows.sort(key=lambda row: -max(row["values"]))
    return [{**r, "values": [figure(v) for v in r["values"]]} for r in rows[:MOST_PAIRS]]


def _own_charts(side: Evaluation, charts: Charts) -> list[dict[str, Any]]:
    """The charts that come with the figures of a single file."""
    return [
        {"title": r.title, "words": r.sentence, "chart": charts.add(r.chart)}
        for r in side.results.values()
        if r.chart is not None
    ]


def pair_facts(release: Release, numbers: Sequence[int], first: int, second: int) -> dict[str, Any]:
    """The table of two columns in the original and in each candidate."""
    charts = Charts()
    sides = _sides(release, [release.judged[n] for n in numbers], release.plan.scenarios[0].name)
    columns = sides[0].pair.columns
    a, b = (n if 0 <= n < len(columns) else 0 for n in (first, second))
    if a == b:
        b = (a + 1) % len(columns)
    cells = [pair_cells(side.pair, columns[a], columns[b]) for side in sides]
    shares = pl.concat([c.data.select("original", "protected") for c in cells])
    highest = max([0.01, *(float(v) for row in shares.iter_rows() for v in row)])
    shown = [{"name": "original", "chart": charts.add(partial(cells_chart, cells[0], "original", highest))}]
    shown += [
        {"name": side.name, "chart": charts.add(partial(cells_chart, held, "protected", highest))}
        for side, held in zip(sides, cells, strict=True)
    ]
    return {
        "columns": columns,
        "a": a,
        "b": b,
        "shown": shown,
        "hidden": cells[0].hidden,
        "specs": charts.to_json(),
    }
