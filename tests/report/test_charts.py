"""What of a chart reaches the page."""

from __future__ import annotations

import altair as alt
import polars as pl

from dalenius.report.charts import Charts


def test_a_page_holds_only_the_fields_a_chart_draws():
    rows = pl.DataFrame({"a.b": ["x"], "line\nbreak": [1], "seen": [2], "unseen": ["secret"]})
    chart = (
        alt.Chart(rows)
        .transform_filter("datum.seen > 1")
        .mark_bar()
        .encode(x=alt.X("a\\.b:N"), y=alt.Y("line\nbreak", type="quantitative"))
    )
    charts = Charts()
    name = charts.add(chart)
    (data,) = charts.specs[name]["datasets"].values()
    assert data == [{"a.b": "x", "line\nbreak": 1, "seen": 2}]
