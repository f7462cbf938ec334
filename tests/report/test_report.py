"""The report: complete, self-contained, and silent about small groups."""

from __future__ import annotations

import html
import json
import re
from copy import copy
from dataclasses import replace

import altair as alt
import numpy as np
import polars as pl
import pytest

from dalenius.core.errors import OptionError
from dalenius.core.result import Interval, Result
from dalenius.counts.pair import Pair
from dalenius.data import Schema, Table, examples
from dalenius.data.steps import DropColumn, Recode
from dalenius.evaluation import Comparison, compare, evaluate
from dalenius.evaluation.columns import column_bars
from dalenius.report import Provenance, render_report, verdict, write_report
from dalenius.report.charts import Charts
from dalenius.report.combinations import risky_combinations
from dalenius.report.overview import adds, overview
from dalenius.report.pairs import pair_cells
from dalenius.report.story import LIKELY, chances, likely_lines
from dalenius.report.words import comparison_story
from dalenius.synth import synthesize
from dalenius.tables import SmallCount, define, protect

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
    return json.loads(found.group(1))["charts"]


def test_every_chart_keeps_to_the_schema_of_vega_lite(comparison, monkeypatch):
    """Altair is told not to look while a page is written: it takes longer than the figures."""
    kept = {}
    monkeypatch.setattr(Charts, "to_json", lambda charts: kept.update(charts.specs) or "{}")
    render_report(comparison, Provenance.now(), title="Charts")
    assert len(kept) > 10
    for spec in kept.values():
        alt.Root.validate(spec)
    with pytest.raises(Exception, match="sideways"):
        alt.Root.validate({**spec, "autosize": "sideways"})


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
    pair = copy(comparison["bootstrap"].pair)
    pair.threshold = 50
    bars = column_bars(pair, "diagnosis")
    shares = bars.data.filter(pl.col("file") == "original")["share"] * pair.original.rows
    assert shares.min() >= 50
    assert bars.hidden > 0


def test_verdict_never_promises(comparison):
    text = " ".join(verdict(comparison)).lower()
    assert "without a holdout no file can be said to keep to a limit in each dimension of risk" in text
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


def test_reports_by_ending(comparison, tmp_path):
    for ending, begins in ((".html", "<!doctype html>"), (".md", "# T"), (".json", "{")):
        write_report(comparison, tmp_path / f"report{ending}", title="T")
        assert (tmp_path / f"report{ending}").read_text().startswith(begins)
    held = json.loads((tmp_path / "report.json").read_text())
    assert set(held["files"]) == {"bootstrap", "independent"}
    with pytest.raises(OptionError, match=r"\.html, \.md or \.json"):
        write_report(comparison, tmp_path / "report.docx")
    write_report(comparison["independent"], tmp_path / "one.md")
    assert "## What may it be used for?" in (tmp_path / "one.md").read_text()


def test_a_comparison_answers_the_four_questions(page, comparison):
    for head in (
        "What was compared?",
        "What could go wrong?",
        LIKELY,
        "What may it be used for?",
    ):
        assert f"<h2>{head}</h2>" in html.unescape(page)
    for name in comparison.evaluations:
        assert f"&#39;{name}&#39;: of 100 people in the data" in page


def test_protected_tables_are_shown_without_what_they_withhold(comparison):
    counts = {"region": ["north", "south", "west"], "n": [1, 7, 129]}
    table = protect(define(counts, by="region", freq="n"), SmallCount(3))
    inside = render_report(comparison, Provenance.now(), title="t", tables={"People by region": table})
    outside = render_report(
        comparison, Provenance.now(), title="t", tables={"People by region": table}, public=True
    )
    for text in (inside, outside):
        part = re.search(r'<section class="card" id="tables">.*?</section>', text, re.S).group(0)
        assert "People by region" in part
        assert "129" in part
        assert not re.search(r"\b7\b", re.sub(r"<[^>]+>", " ", part))
    assert "because a rule asks for it" in inside
    assert "rule" not in re.search(r'id="tables">.*?</section>', outside, re.S).group(0)
    assert 'aria-label="Details of' in inside
    assert 'aria-label="Details of' not in outside, "tables behind figures stay inside"


def test_notebook_shows_the_same_charts(comparison):
    evaluation = comparison["independent"]
    drawn = [r for r in evaluation.results.values() if r.chart is not None]
    assert len(drawn) >= 2
    assert evaluation._repr_html_().count("<svg") == len(drawn)


def test_risky_combinations_name_columns_and_no_values(comparison):
    found = risky_combinations(comparison["bootstrap"].pair)
    assert len(found) == 7
    assert found["found"].is_sorted(descending=True)
    assert set(" + ".join(found["combination"]).split(" + ")) == {"sex", "age", "region"}
    assert (found["found"] <= found["alone"] + 1e-9).all()


def test_tables_of_two_columns_leave_small_cells_out(comparison):
    pair = comparison["bootstrap"].pair
    cells = pair_cells(pair, "region", "diagnosis")
    assert (cells.data["original"] * pair.original.rows >= 10 - 1e-9).all()
    assert cells.hidden > 0


def test_names_cannot_break_the_markdown(tmp_path):
    data = {"a|b\\": ["u", "v"] * 30, "![x](http://e)": ["p", "q", "q"] * 20, "c\r\nd\x1b": ["s", "t"] * 30}
    shuffled = {name: values[::-1] for name, values in data.items()}
    shuffled["a|b\\"] = ["u"] * 60
    write_report(compare(data, {"other": shuffled}, measures=["one-way-utility"]), tmp_path / "report.md")
    text = (tmp_path / "report.md").read_text()
    rows = [line for line in text.splitlines() if line.startswith("|") and "worst" in line]
    assert rows
    for row in rows:
        assert len(re.sub(r"\\.", "", row).split("|")) == 6, "four cells, whatever the names hold"
    assert "](http" not in text.replace("\\](", "")
    assert not re.search("[\r\x1b]", text)


def test_the_headline_is_what_the_file_adds_most_to():
    """All of something that strangers reach too is no news; a little that only people in the data meet is."""
    known = Result("disco", 100.0, "", unit="%", outside=100.0, values={"diagnosis": 100.0})
    met = Result("replicated-uniques", 14.5, "", unit="%", outside=2.2)
    told = chances([known, met], ["age"])
    assert [round(chance.added, 1) for chance in told] == [0.0, 12.3]
    assert "seem to be found" in likely_lines(told, 1.0)[0]


def test_the_bar_of_other_values_needs_enough_people():
    data = {"a": ["x"] * 3 + ["y"] * 2}
    assert column_bars(Pair(data, data), "a").data.is_empty()
    assert not column_bars(Pair(data, data, threshold=5), "a").data.is_empty()


def test_a_masked_file_is_called_one_and_held_against_the_real_detail():
    """Through the mask the tables are the same; the page says what the mask took away, and whose records these are."""
    survey = examples.survey(300, seed=1).select("age", "sex", "region", "diagnosis")
    made = Recode("age", width=20).apply(Table.from_frame(survey))
    found = evaluate(survey, made.table, lens=made.lens, keys=["age", "sex"], targets=["diagnosis"])
    told = comparison_story(Comparison({"m": found}))
    assert "masked records of real people" in told.released[0]
    assert "The mask: age recoded. The mask took away" in " ".join(told.released)
    assert found.results["two-way-utility"].value == 0
    assert found.results["detail-utility"].value > 0.1
    assert not any(line.startswith("Tables of two facts") and ": 0 on a scale" in line for line in told.uses)
    read_off = next(chance for chance in told.chances if chance.title == "Something true is read off")
    assert "With the real data, masked in the same way, in hand" in read_off.said
    assert "in the original masked in the same way it would be" in found.results["disco"].sentence


def test_a_dropped_column_is_not_praised():
    """Guessed with even chances the sex comes out as in the real data; but the file has none."""
    rng = np.random.default_rng(1)
    frame = {"sex": ["f", "m"] * 200, "job": rng.choice(["a", "b"], 400), "town": rng.choice(["x", "y"], 400)}
    made = DropColumn("sex").apply(Table.from_frame(frame))
    found = evaluate(frame, made.table, lens=made.lens)
    detail = found.results["detail-utility"]
    assert detail.value >= 20  # two tables of three are gone, 30 each
    assert (detail.values["good tables"], detail.values["gone tables"]) == (1, 2)
    both = Comparison({"m": found, "same": evaluate(frame, frame)})
    names = [title for title, *_ in overview(both)["head"]]
    assert [name for name in names if name.startswith("Two-way")] == [detail.info.title]
    marks = {name: cells[names.index(detail.info.title)][1]["word"] for name, cells in overview(both)["rows"]}
    assert marks == {"m": "bad", "same": "good"}
    uses = " ".join(comparison_story(Comparison({"m": found})).uses)
    assert "in groups: job and town." in uses
    assert "Not in the file any more: sex." in uses


@pytest.mark.parametrize(("value", "told"), [(24.0, "adds +4"), (17.0, "adds -3")])
def test_what_a_file_adds_has_the_sign_of_harm(value, told):
    assert adds(Result("disco", value, "", unit="%", outside=20.0)) == told
    assert adds(Result("disco", value, "", unit="%")) == ""


def test_a_public_report_draws_neither_figures_nor_protected_tables(comparison):
    """Charts hold what they are drawn from: distances of real people, and the cells that a table withholds."""

    def drawn(compared, public, **more) -> int:
        text = render_report(compared, Provenance.now(), title="t", public=public, **more)
        return len(set(re.findall(r'"(chart\d+)"\s*:', text)))

    bare = Comparison(
        {
            name: replace(e, results={n: replace(r, chart=None) for n, r in e.results.items()})
            for name, e in comparison.evaluations.items()
        }
    )
    table = protect(
        define({"region": ["north", "south"], "n": [1, 129]}, by="region", freq="n"), SmallCount(3)
    )
    assert drawn(comparison, True, tables={"People": table}) == drawn(bare, True)
    assert drawn(comparison, False) > drawn(bare, False)
    assert drawn(comparison, False, tables={"People": table}) > drawn(comparison, False)


def test_people_with_several_records_are_counted_once() -> None:
    visits = {
        "patient": [f"p{i % 20}" for i in range(60)],
        "ward": ["x", "y", "z"] * 20,
        "age": [*range(20, 80)],
    }
    schema = Schema.infer(visits).with_roles(entity="patient")
    story = comparison_story(compare(visits, {"file": {n: visits[n] for n in ("ward", "age")}}, schema))
    assert "data about 20 real people" in story.released[0]
    assert "A file of 60 records" in story.released[0]
