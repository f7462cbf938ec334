"""The report: one HTML file that opens without a network, for a board member first and a statistician after."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import polars as pl
import vl_convert

from dalenius.core.maps import risk_utility_map
from dalenius.core.result import Result, figure, plain
from dalenius.core.style import configured
from dalenius.counts.pair import Pair
from dalenius.data.atomic import write_text
from dalenius.data.schema import Kind, Schema
from dalenius.evaluation import HEADLINES, Comparison, Evaluation
from dalenius.report.columns import column_bars, column_chart, column_words, public_pair
from dalenius.report.provenance import Provenance
from dalenius.report.story import Story
from dalenius.report.words import cautions, reading, verdict

TEMPLATES = Path(__file__).parent / "templates"
MOST_ROWS = 15
MOST_MEASURES = 3


def write_report(
    comparison: Comparison,
    path: str | Path,
    *,
    title: str = "Disclosure risk and utility report",
    inputs: Mapping[str, str] | None = None,
    seeds: Mapping[str, int] | None = None,
    threshold: int = 10,
) -> None:
    """Write the HTML report of a comparison.

    Parameters
    ----------
    inputs
        Hashes of the input files, by name.
    threshold
        Values that fewer original records have are not named in the report.

    Examples
    --------
    >>> import tempfile
    >>> from dalenius.evaluation import compare
    >>> data = {"sex": ["f", "m"] * 20, "age": list(range(40))}
    >>> path = Path(tempfile.mkdtemp()) / "report.html"
    >>> write_report(compare(data, {"copy": data}, keys=["age"], targets=["sex"]), path)
    >>> path.read_text()[:15]
    '<!doctype html>'
    """
    provenance = Provenance.now(inputs, seeds)
    write_text(path, render_report(comparison, provenance, title=title, threshold=threshold))


def render_report(
    comparison: Comparison, provenance: Provenance, *, title: str, threshold: int = 10, public: bool = False,
    story: Story | None = None, points: Mapping[str, pl.DataFrame] | None = None,
) -> str:  # fmt: skip
    """HTML text of the report.

    A public report leaves out what the handbooks ask to withhold: detail tables, parameters, the command, hashes of the
    source, roles, special codes and notes of the schema. ``story`` holds the first page of a release; ``points`` what
    its maps draw, by risk measure.

    Examples
    --------
    >>> from dalenius.evaluation import compare
    >>> data = {"sex": ["f", "m"] * 20}
    >>> page = render_report(compare(data, {"copy": data}), Provenance.now(), title="A copy")
    >>> "<h1>A copy</h1>" in page
    True
    """
    charts = Charts()
    some = next(iter(comparison.evaluations.values()))
    drawn = _points(comparison, points) if not public else {}
    candidates = [_candidate(e, charts, threshold, public) for e in comparison.evaluations.values()]
    main = next(iter(drawn.values()), None)
    context = {
        "title": title,
        "verdict": [] if story is not None else verdict(comparison),
        "story": story,
        "public": public,
        "map": charts.add(risk_utility_map(main)) if main is not None else None,
        "map_words": _map_words(main),
        "maps": [_small_map(charts, p) for p in list(drawn.values())[1:4]],
        "pareto": _pareto(main),
        "overview": _overview(comparison),
        "candidates": candidates,
        "pair": some.pair,
        "schema": _schema_rows(some.pair.schema, public),
        "rules": some.pair.schema.rules,
        "threshold": threshold,
        "provenance": provenance,
        "style": (TEMPLATES / "report.css").read_text(encoding="utf-8"),
        "script": (TEMPLATES / "report.js").read_text(encoding="utf-8"),
        "vega": _vega(),
        "specs": charts.to_json(),
    }
    return _environment().get_template("report.html.j2").render(context)


class Charts:
    """Charts of a page by name, as Vega-Lite specifications drawn when they come into view."""

    def __init__(self) -> None:
        self.specs: dict[str, Any] = {}

    def add(self, chart: Any) -> str:
        """Keep a chart and return the name its place on the page must carry."""
        name = f"chart{len(self.specs) + 1}"
        self.specs[name] = configured(chart).to_dict(validate=False)
        return name

    def to_json(self) -> str:
        """All specifications, safe inside a script element; five digits are more than an eye can see."""
        exact = json.dumps(plain(self.specs), default=str, allow_nan=False)
        rounded = json.loads(exact, parse_float=lambda digits: float(f"{float(digits):.5g}"))
        return json.dumps(rounded, separators=(",", ":")).replace("<", "\\u003c").replace("\u2028", "\\u2028")


def _candidate(evaluation: Evaluation, charts: Charts, threshold: int, public: bool) -> dict[str, Any]:
    shown = public_pair(evaluation.pair) if public else evaluation.pair
    bars = [
        column_bars(shown, name, threshold)
        for name in shown.columns
        if not public or _may_be_drawn(shown, name)
    ]
    return {
        "name": evaluation.name,
        "rows": evaluation.pair.protected.rows,
        "risk": [_figure(r, charts, public) for r in evaluation.family("risk")],
        "utility": [_figure(r, charts, public) for r in evaluation.family("utility")],
        "cautions": [] if public else cautions(evaluation),
        "columns": [
            {
                "name": b.column,
                "hidden": b.hidden,
                "words": column_words(b),
                "chart": charts.add(column_chart(b, evaluation.name)),
            }
            for b in bars
            if len(b.data)
        ],
    }


def _figure(result: Result, charts: Charts, public: bool) -> dict[str, Any]:
    info = result.info
    return {
        "title": info.title if info else result.name,
        "meaning": info.meaning if info else "",
        "better": info.better if info else "",
        "reference": info.reference if info else "",
        "value": figure(result.value, result.unit),
        "interval": str(result.interval) if result.interval else "",
        "interval_kind": _interval_kind(result),
        "yardsticks": [(name, figure(value, result.unit)) for name, value in result.yardsticks.items()],
        "sentence": result.sentence,
        "trusted": result.trusted,
        "reading": reading(result),
        "chart": charts.add(result.chart()) if result.chart and not public else None,
        "table": None if public else _rows(result.table),
    }


def _interval_kind(result: Result) -> str:
    spread = result.interval
    if spread is None or spread.kind == "confidence":
        return "95 % interval"
    return spread.kind


def _may_be_drawn(pair: Pair, name: str) -> bool:
    """Exact moments are left out of a public report: the breaks between groups of dates are somebody's dates."""
    return pair.original[name].column.kind is not Kind.DATETIME


def _rows(table: pl.DataFrame | None) -> dict[str, Any] | None:
    if table is None or not len(table):
        return None
    shown = table.head(MOST_ROWS)
    cells = [[_cell(value) for value in row] for row in shown.iter_rows()]
    numeric = [dtype.is_numeric() for dtype in shown.dtypes]
    return {"head": shown.columns, "cells": cells, "numeric": numeric, "more": len(table) - len(shown)}


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    return figure(value) if isinstance(value, float) else str(value)


def _overview(comparison: Comparison) -> dict[str, Any]:
    """The first table of the report: candidates by a few measures of each family, the best known first."""
    infos = {n: e.results[n].info for e in comparison.evaluations.values() for n in e.results}
    known = sorted(infos, key=lambda n: HEADLINES.index(n) if n in HEADLINES else len(HEADLINES))
    families = [[n for n in known if (info := infos[n]) and info.family == f] for f in ("risk", "utility")]
    names = [n for family in families for n in family[:MOST_MEASURES]]
    head = [(i.title, i.family, i.better) if i else (n, "", "") for n, i in ((n, infos[n]) for n in names)]
    rows = []
    for candidate, evaluation in comparison.evaluations.items():
        cells = []
        for name in names:
            r = evaluation.results.get(name)
            cells.append((figure(r.value, r.unit), reading(r), r.trusted) if r else ("–", "", True))
        rows.append((candidate, cells))
    return {"head": head, "rows": rows}


def _points(comparison: Comparison, points: Mapping[str, pl.DataFrame] | None) -> Mapping[str, pl.DataFrame]:
    """What the maps draw, by risk measure: the first is large, the others in per cent are small multiples."""
    some = next(iter(comparison.evaluations.values()))
    if points is not None:
        return points
    if not some.family("risk") or not some.family("utility"):
        return {}
    first, *others = some.family("risk")
    names = [first.name, *(r.name for r in others if r.unit == "%")]
    return {name: comparison.points(risk=name) for name in names}


def _small_map(charts: Charts, points: pl.DataFrame) -> dict[str, Any]:
    return {
        "title": points["risk_title"][0],
        "chart": charts.add(risk_utility_map(points, width=300, height=210)),
    }


def _map_words(points: pl.DataFrame | None) -> str:
    """The map in words, for those who cannot see it."""
    if points is None:
        return ""
    rows = points.select("candidate", "risk", "utility").iter_rows()
    return "; ".join(f"{name}: risk {figure(r)}, utility figure {figure(u)}" for name, r, u in rows)


def _pareto(points: pl.DataFrame | None) -> dict[str, Any] | None:
    """Candidates from safest on, and who beats each in risk and utility at once."""
    if points is None or len(points) < 2:
        return None
    sign = 1 if points["utility_better"][0] == "lower" else -1
    ordered = points.sort("risk", "utility").to_dicts()
    rows = []
    for mine in ordered:
        better = [
            p["candidate"]
            for p in ordered
            if p["risk"] <= mine["risk"]
            and sign * p["utility"] <= sign * mine["utility"]
            and (p["risk"], p["utility"]) != (mine["risk"], mine["utility"])
        ]
        rows.append(
            {
                "name": mine["candidate"],
                "risk": figure(mine["risk"], "%"),
                "utility": figure(mine["utility"]),
                "by": ", ".join(better),
            }
        )
    return {"risk": points["risk_title"][0], "utility": points["utility_title"][0], "rows": rows}


def _schema_rows(schema: Schema, public: bool) -> list[dict[str, str]]:
    return [
        {
            "name": column.name,
            "kind": column.kind.value,
            "roles": ", ".join(column.roles),
            "special": ", ".join(map(str, column.special)),
            "domain": column.domain if column.levels or column.bounds else "",
            "label": column.label or ("" if public else column.note),
        }
        for column in schema
    ]


@cache
def _vega() -> str:
    return str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")).replace(
        "</script", "<\\/script"
    )


def _environment() -> jinja2.Environment:
    loader = jinja2.FileSystemLoader(TEMPLATES)
    return jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
