"""The report: one HTML file that opens without a network, for a board member first and a statistician after."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import jinja2
import polars as pl

from dalenius.core.maps import risk_utility_map
from dalenius.core.result import Result, figure
from dalenius.counts.pair import Pair
from dalenius.data.schema import Kind, Schema
from dalenius.evaluation import Comparison, Evaluation
from dalenius.report.charts import Charts, chart_library
from dalenius.report.columns import column_bars, column_chart, column_words, public_pair
from dalenius.report.glossary import glossary
from dalenius.report.overview import draw_points, map_words, overview, pareto
from dalenius.report.provenance import Provenance
from dalenius.report.story import LIKELY, Story
from dalenius.report.withheld import withheld_values
from dalenius.report.words import cautions, comparison_story, reading

TEMPLATES = Path(__file__).parent / "templates"
MOST_ROWS = 15


class ProtectedTable(Protocol):
    """A table whose small cells are withheld, such as `dalenius.tables.Suppression`."""

    @property
    def sentence(self) -> str:
        """One plain sentence about the outcome."""

    def chart(self) -> Any:
        """Picture of the table."""

    def cross_table(self) -> str:
        """The table as text, withheld cells marked and nothing said about why."""

    def _repr_html_(self) -> str: ...


def render_report(
    comparison: Comparison, provenance: Provenance, *, title: str, public: bool = False,
    story: Story | None = None, points: Mapping[str, pl.DataFrame] | None = None,
    tables: Mapping[str, ProtectedTable] | None = None, alone: bool = False,
) -> str:  # fmt: skip
    """HTML text of the report.

    A public report leaves out what the handbooks ask to withhold: detail tables, parameters, the command, hashes of the
    source, roles, special codes and notes of the schema. ``story`` holds the first page of a release; ``points`` what
    its maps draw, by risk measure; ``tables`` protected tables that go out with the file, by title.

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
    drawn = draw_points(comparison, points) if not public else {}
    main = next(iter(drawn.values()), None)
    context = {
        "title": title,
        "story": story or comparison_story(comparison),
        "chosen": story is not None,
        "likely": LIKELY,
        "public": public,
        "map": charts.add(risk_utility_map(main)) if main is not None else None,
        "map_words": map_words(main),
        "maps": [_small_map(charts, p) for p in list(drawn.values())[1:4]],
        "pareto": pareto(main),
        "overview": overview(comparison),
        "candidates": [_candidate(e, charts, public, alone) for e in comparison.evaluations.values()],
        "alone": alone,
        "tables": [_table(name, held, charts, public) for name, held in (tables or {}).items()],
        "pair": some.pair,
        "schema": _schema_rows(some.pair.schema, public),
        "rules": some.pair.schema.rules,
        "threshold": some.pair.threshold,
        "provenance": provenance,
        "glossary": glossary(public),
    }
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            context,
            style=(TEMPLATES / "report.css").read_text(encoding="utf-8"),
            script=(TEMPLATES / "report.js").read_text(encoding="utf-8"),
            vega=chart_library(),
            specs=charts.to_json(),
        )
    )


def _table(name: str, held: ProtectedTable, charts: Charts, public: bool) -> dict[str, Any]:
    """A protected table; which rule hit which cell, and which cell protects others, stays inside."""
    return {
        "name": name,
        "html": None if public else held._repr_html_(),
        "text": held.cross_table() if public else "",
        "sentence": "" if public else held.sentence,
        "chart": None if public else charts.add(held.chart()),
    }


def _candidate(evaluation: Evaluation, charts: Charts, public: bool, alone: bool = False) -> dict[str, Any]:
    shown = public_pair(evaluation.pair) if public else evaluation.pair
    drawn = [name for name in shown.columns if not alone and (not public or _may_be_drawn(shown, name))]
    hidden = withheld_values(shown, drawn) if drawn else {}
    bars = [column_bars(shown, name, hidden[name]) for name in drawn]
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
        "best": info.best if info else "",
        "reference": info.reference if info else "",
        "value": figure(result.value, result.unit),
        "interval": str(result.interval) if result.interval else "",
        "interval_kind": result.interval.words if result.interval else "",
        "yardsticks": [(name, figure(value, result.unit)) for name, value in result.yardsticks.items()],
        "sentence": result.sentence,
        "trusted": result.trusted,
        "reading": reading(result),
        "chart": charts.add(result.chart()) if result.chart and not public else None,
        "table": None if public else _rows(result),
    }


def _may_be_drawn(pair: Pair, name: str) -> bool:
    """Exact moments are left out of a public report: the breaks between groups of dates are somebody's dates."""
    return pair.original[name].column.kind is not Kind.DATETIME


def _rows(result: Result) -> dict[str, Any] | None:
    table = result.shown
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


def _small_map(charts: Charts, points: pl.DataFrame) -> dict[str, Any]:
    return {
        "title": points["risk_title"][0],
        "chart": charts.add(risk_utility_map(points, width=300, height=210)),
    }


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


def _environment() -> jinja2.Environment:
    loader = jinja2.FileSystemLoader(TEMPLATES)
    return jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
