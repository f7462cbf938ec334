"""The report: complete, self-contained, and silent about small groups."""

from __future__ import annotations

import json
import re

import polars as pl
import pytest

from dalenius.core.result import Interval, Result
from dalenius.data import Table, examples
from dalenius.evaluation import compare
from dalenius.report import Provenance, render_report, verdict, write_report
from dalenius.report.columns import column_bars
from dalenius.synth import synthesize

COLUMNS = ["region", "sex", "age", "marital", "income", "diagnosis", "health"]


@pytest.fixture(scope="module")
def comparison():
    schema = (
        examples.survey_schema()
        .select(COLUMNS)
        .with_roles(keys=["sex", "age", "region"], targets=["diagnosis"])
    )
    original = Table.from_frame(examples.survey(800, seed=5).select(COLUMNS), schema)
    files = {name: synthesize(original, name, seed=1) for name in ("bootstrap", "independent")}
    measures = ["disco", "replicated-uniques", "two-way-utility"]
    return compare(original, files, measures=measures)


@pytest.fixture(scope="module")
def page(comparison) -> str:
    return render_report(
        comparison, Provenance.now({"a.csv": "0123abcd"}, {"synthesis": 1}), title="A <b>title</b>"
    )


def specs_of(page: str) -> dict:
    found = re.search(r'<script type="application/json" id="specs">(.*?)</script>', page, re.S)
    return json.loads(found.group(1))


def test_page_is_self_contained(page):
    body = page.replace("http://www.w3.org", "")
    assert not re.search(r'(src|href)="(https?:)?//', body)
    assert "default-src 'none'" in page
    assert len(page) < 3_000_000


def test_page_has_every_part(page, comparison):
    for part in ("summary", "map", "setting", "file-1", "file-2", "data", "provenance"):
        assert f'id="{part}"' in page
    assert "A &lt;b&gt;title&lt;/b&gt;" in page
    assert "0123abcd" in page
    for evaluation in comparison.evaluations.values():
        for result in evaluation.results.values():
            assert result.info.title in page
    places = re.findall(r'class="chart" id="(chart\d+)"', page)
    assert sorted(places) == sorted(specs_of(page))


def test_rare_values_of_the_original_are_not_named(page, comparison):
    original = comparison["bootstrap"].pair.original
    counted = pl.Series(original.select(["diagnosis"]).to_frame()["diagnosis"]).value_counts()
    rare = counted.filter((pl.col("count") < 10) & pl.col("diagnosis").is_not_null())["diagnosis"].to_list()
    assert len(rare) > 5
    drawn = json.dumps(specs_of(page))
    text = page.split('id="data"')[0]
    assert not [code for code in rare if f'"{code}"' in drawn or f">{code}<" in text]


def test_counts_below_the_threshold_are_merged_or_left_out(comparison):
    pair = comparison["bootstrap"].pair
    bars = column_bars(pair, "diagnosis", threshold=50)
    shares = bars.data.filter(pl.col("file") == "original")["share"] * pair.original.rows
    assert shares.min() >= 50
    assert bars.hidden > 0


def test_verdict_never_promises(comparison):
    text = " ".join(verdict(comparison)).lower()
    assert "beaten" in text or "gives away least" in text
    for word in ("anonymous", "gdpr", "safe to release", "no risk"):
        assert word not in text


def test_untrusted_results_say_so(comparison):
    evaluation = comparison["bootstrap"]
    doubtful = Result(
        "disco", 1.0, "There is no holdout to compare with.", interval=Interval(0, 2), trusted=False
    )
    shown = type(evaluation)(
        "x",
        evaluation.pair,
        {
            "disco": doubtful.with_info(evaluation["disco"].info),
            "two-way-utility": evaluation["two-way-utility"],
        },
    )
    page = render_report(type(comparison)({"x": shown}), Provenance.now(), title="t")
    assert "not trusted" in page
    assert "must not be read as safe" in page


def test_one_candidate_without_keys(tmp_path):
    data = {"a": ["x", "y"] * 30, "<script>alert(1)</script>": [1.5, 2.5, 3.5] * 20}
    path = tmp_path / "deep" / "report.html"
    write_report(compare(data, {"</script>": data}, measures=["two-way-utility"]), path)
    page = path.read_text()
    assert "alert(1)</script>" not in page
    assert "none named" in page
    assert not list(path.parent.glob(".dalenius-*"))
