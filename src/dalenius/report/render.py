"""The report: one HTML file that opens without a network, for a board member first and a statistician after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol

import jinja2
import polars as pl

from dalenius.core.maps import risk_utility_map
from dalenius.core.result import Result, figure
from dalenius.counts.pair import Pair
from dalenius.data.schema import Kind, Schema
from dalenius.evaluation import Comparison, Evaluation
from dalenius.evaluation.columns import column_chart, column_words, public_pair
from dalenius.evaluation.histograms import histogram_chart
from dalenius.evaluation.plotting import shown_bars
from dalenius.report.behind import FEW_TABLES, MOST_TABLES, as_script, tables_behind
from dalenius.report.charts import Charts, chart_library, chart_specs
from dalenius.report.glossary import explained, glossary
from dalenius.report.overview import draw_points, map_words, overview, pareto
from dalenius.report.places import places_picture
from dalenius.report.provenance import Provenance
from dalenius.report.story import LIKELY, Story
from dalenius.report.three import MOST_DRAWN, WORST_COLUMNS, column_shapes, exposed, worst_pairs
from dalenius.report.words import cautions, comparison_story, marked

TEMPLATES = Path(__file__).parent / "templates"
MOST_ROWS, FEW_ROWS = 15, 2
MANY_FILES = 4
"""From more files on, each has its three pictures and shorter tables: nobody reads twelve times everything."""


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
    tables: Mapping[str, ProtectedTable] | None = None, alone: bool = False, made: Mapping[str, str] | None = None,
) -> str:  # fmt: skip
    """HTML text of the report.

    A public report leaves out what the handbooks ask to withhold: detail tables, parameters, the command, hashes of the
    source, roles, special codes and notes of the schema. ``story`` holds the first page of a release; ``points`` what
    its maps draw, by risk measure; ``tables`` protected tables that go out with the file, by title; ``made`` a sentence
    on how each file was made.

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
    drawn = {risk: held for risk, held in drawn.items() if len(held) > 1}  # one point is no map
    main = next(iter(drawn.values()), None)
    context = {
        "title": title,
        "story": story or comparison_story(comparison),
        "chosen": story is not None,
        "likely": LIKELY,
        "public": public,
        "map": charts.add(partial(risk_utility_map, main)) if main is not None else None,
        "map_words": map_words(main),
        "maps": [_small_map(charts, p) for p in list(drawn.values())[1:4]],
        "pareto": pareto(main),
        "overview": overview(comparison),
        "candidates": [
            _candidate(e, charts, public, alone, made or {}, len(comparison.evaluations) > MANY_FILES, not i)
            for i, e in enumerate(comparison.evaluations.values())
        ],
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
            script=chart_specs() + (TEMPLATES / "report.js").read_text(encoding="utf-8"),
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
        "chart": None if public else charts.add(held.chart),
    }


def _candidate(
    evaluation: Evaluation, charts: Charts, public: bool, alone: bool, made: Mapping[str, str], many: bool,
    first_file: bool,
) -> dict[str, Any]:  # fmt: skip
    shown = public_pair(evaluation.pair) if public else evaluation.pair
    drawn = [name for name in shown.columns if not alone and (not public or _may_be_drawn(shown, name))]
    shapes = column_shapes(shown, drawn)
    most = WORST_COLUMNS if many else MOST_DRAWN
    pictures = _columns(shown, [s.column for s in shapes[:most]], evaluation.name, charts, public)
    first = [pictures[s.column] for s in shapes[:WORST_COLUMNS] if s.column in pictures]
    rest = [pictures[s.column] for s in shapes[WORST_COLUMNS:most] if s.column in pictures]
    behind = [] if public else tables_behind(evaluation, FEW_TABLES if many else MOST_TABLES)
    return {
        "name": evaluation.name,
        "first": not many or first_file,  # of many files the first says what its figures mean
        "made": made.get(evaluation.name, ""),
        "rows": evaluation.pair.protected.rows,
        "risk": [_figure(r, charts, public, many) for r in evaluation.family("risk")],
        "utility": [_figure(r, charts, public, many) for r in evaluation.family("utility")],
        "cautions": [] if public else cautions(evaluation),
        "worst": first,
        "columns": rest,
        "pairs": None if public else _picture(worst_pairs(evaluation), charts),
        "behind": behind,
        "behind_script": as_script(behind),
        "exposed": None if public else _picture(exposed(evaluation), charts),
        "places": None if alone else _picture(places_picture(shown, evaluation.name, public), charts),
        "shapes": [] if public else shapes,
        "undrawn": len(shapes) - len(first) - len(rest),
    }


def _picture(picture: dict[str, Any] | None, charts: Charts) -> dict[str, Any] | None:
    return None if picture is None else {"chart": charts.add(picture["chart"]), "words": picture["words"]}


def _columns(
    pair: Pair, names: Sequence[str], file: str, charts: Charts, public: bool
) -> dict[str, dict[str, Any]]:  # fmt: skip
    """A chart for each column: numbers as histograms (inside; outside in groups with round breaks), others as bars."""
    bars = shown_bars(pair, names, binned=not public)
    return {
        name: {
            "name": name,
            "hidden": held.hidden,
            "words": column_words(held),
            "chart": charts.add(
                partial(column_chart if held.form == "values" else histogram_chart, held, file)
            ),
        }
        for name in names
        if len((held := bars[name]).data)
    }


def _figure(result: Result, charts: Charts, public: bool, many: bool = False) -> dict[str, Any]:
    info = result.info
    return {
        "title": result.title,
        "meaning": info.meaning if info else "",
        "best": info.best if info else "",
        "reference": info.reference if info else "",
        "value": figure(result.value, result.unit),
        "interval": str(result.interval) if result.interval else "",
        "interval_kind": result.interval.words if result.interval else "",
        "yardsticks": [(name, figure(value, result.unit)) for name, value in result.yardsticks.items()],
        "adds": _adds(result),
        "sentence": result.sentence,
        "trusted": result.trusted,
        "mark": marked(result) or (None if result.yardsticks else {"word": "no yardstick", "why": ""}),
        "chart": charts.add(result.chart) if result.chart and not public else None,
        "table": None if public else _rows(result, FEW_ROWS if many else MOST_ROWS),
    }


def _adds(result: Result) -> str:
    """What the file adds to what strangers reach, with its range."""
    if result.added is None:
        return ""
    spread = f" {result.added_interval}" if result.added_interval else ""
    return f"the file adds {figure(result.added, result.added_unit)}{spread}"


def _may_be_drawn(pair: Pair, name: str) -> bool:
    """Exact moments are left out of a public report: the breaks between groups of dates are somebody's dates."""
    return pair.original[name].column.kind is not Kind.DATETIME


def _rows(result: Result, most: int) -> dict[str, Any] | None:
    table = result.shown
    if table is None or not len(table):
        return None
    shown = table.head(most)
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
        "chart": charts.add(partial(risk_utility_map, points, width=300, height=210)),
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


@cache
def _environment() -> jinja2.Environment:
    loader = jinja2.FileSystemLoader(TEMPLATES)
    made = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    made.filters["explained"] = explained
    return made
