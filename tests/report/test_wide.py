"""A report of a thousand columns: small, drawn where it matters, searchable, and short on paper."""

from __future__ import annotations

import re
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dalenius.counts.pair import Pair
from dalenius.evaluation import compare
from dalenius.evaluation.histograms import bins_of, histogram_bars
from dalenius.report import write_report
from dalenius.report.provenance import Provenance
from dalenius.report.render import render_report
from dalenius.utility.charts import MOST_MAPPED, heat_map, worst_columns

COLUMNS = 1000


def people(seed: int, columns: int, rows: int = 300) -> dict[str, list[object]]:
    rng = np.random.default_rng(seed)
    made: dict[str, list[object]] = {}
    for i in range(columns):
        numbers = rng.normal(size=rows).round(3).tolist()
        made[f"question_{i:04d}"] = numbers if i % 2 else rng.choice(list("abcd"), rows).tolist()
    return made


@pytest.fixture(scope="module")
def wide(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("wide") / "report.html"
    first, second = people(1, COLUMNS), people(2, COLUMNS)
    write_report(compare(first, {"cart": second}, measures=["identical-matches", "one-way-utility"]), path)
    return path


@pytest.mark.slow
def test_it_is_small_and_names_every_column_once_in_its_list(wide):
    page = wide.read_text()
    assert len(page) < 5_000_000
    listed = re.search(r'<ul class="shapes".*?</ul>', page, re.S).group()
    assert len(re.findall(r"<li>question_\d{4} ", listed)) == COLUMNS
    assert 10 < len(re.findall(r'class="chart"', page)) < 100
    assert "question_0011 and 988 more" in page, "page one does not list a thousand names"


@pytest.mark.slow
def test_it_opens_at_once_fits_and_prints_on_six_pages(wide, browsing):
    with browsing("file:", width=1366, height=900) as seen:
        page = seen.page
        start = time.perf_counter()
        page.goto(wide.as_uri())
        opened = time.perf_counter() - start
        assert seen.fits()
        assert seen.overlaps() == []
        page.evaluate("document.querySelectorAll('#file-1 details').forEach(part => { part.open = true; })")
        page.evaluate("document.querySelectorAll('.chart').forEach(draw)")
        seen.drawn()
        assert seen.overlaps() == []
        assert seen.faults() == [], "the long list can be reached by the keyboard"
        page.locator("input.find").first.fill("0417")
        assert page.locator("ul.shapes li:visible").count() == 1
        assert seen.fits()
        page.evaluate("forPaper()")
        page.wait_for_function(
            "[...document.querySelectorAll('.chart')].filter(onPaper).every(c => c.dataset.drawn === 'yes')"
        )
        paper = page.pdf(format="A4", prefer_css_page_size=True)
        assert seen.faults() == []
        page.emulate_media(media="print")
        sizes = "part => parseFloat(getComputedStyle(document.querySelector(part)).fontSize)"
        assert page.evaluate(sizes, ".answer li") < 12, "paper has letters of its own"
        across = "getComputedStyle(document.querySelector('.file .grid.wide')).gridTemplateColumns.split(' ').length"
        assert page.evaluate(across) == 2, "pictures stand side by side on paper"
    assert seen.noise == []
    assert opened < 30  # three seconds on a machine of its own
    assert len(re.findall(rb"/Type\s*/Page[^s]", paper)) <= 6


def test_paper_has_the_last_word():
    page = render_report(compare({"a": [1, 2] * 9}, {"b": {"a": [1, 2] * 9}}), Provenance.now(), title="A")
    style = re.search(r"<style>(.*?)</style>", page, re.S).group(1)
    assert style.rstrip().endswith("} }"), "nothing stands behind the block"
    assert style.rindex("@media") == style.rindex("@media print")
    paper = style[style.rindex("@media print") :]
    assert ".answer li" in paper
    hidden = " ".join(re.findall(r"[^{}]*(?=\{ display: none; \})", paper))
    assert "details.more" in hidden
    assert ".crowd" not in hidden, "the legend of the pictures is there, so they are too"
    assert "#words" in hidden.split(":not(")[1], "a paper explains its words"
    assert ".words-used" not in hidden


LABELS = """<body><p>one</p><p style="margin-top: {up}px">two</p><svg width="300" height="200" font-size="12">
<text transform="translate(60 150) rotate(-{turn})">a long label</text>
<text transform="translate({right} 150) rotate(-{turn})">its neighbour</text></svg></body>"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("up", "turn", "right", "found"),
    [(0, 45, 80, 0), (-34, 45, 80, 1), (0, 45, 66, 1), (0, 90, 80, 0), (0, 0, 80, 1), (-34, 0, 80, 2)],
)
def test_texts_on_one_another_are_found_whichever_way_they_are_turned(browsing, up, turn, right, found):
    with browsing("file:") as seen:
        seen.page.set_content(LABELS.format(up=up, turn=turn, right=right))
        assert len(seen.overlaps()) == found


def test_a_map_shows_the_columns_of_the_worst_pairs():
    names = [f"c{i}" for i in range(100)]
    rows = [(a, b, 1.0 if b != "c99" else 50.0) for i, a in enumerate(names) for b in names[i + 1 :]]
    table = pl.DataFrame(rows, schema=["first", "second", "S_pMSE"], orient="row")
    kept = worst_columns(table, names, "S_pMSE")
    assert len(kept) == MOST_MAPPED
    assert "c99" in kept
    drawn = heat_map(table, names).to_dict()
    assert max(len(held) for held in drawn["datasets"].values()) == MOST_MAPPED * (MOST_MAPPED - 1) // 2


def test_histograms_show_tails_and_no_bin_of_few_records():
    rng = np.random.default_rng(1)
    income = np.concatenate([rng.lognormal(7, 1, 3000), [9e6]])
    pair = Pair({"income": income.tolist()}, {"income": rng.lognormal(7, 1, 3000).tolist()})
    bars = histogram_bars(pair, [bins_of(pair, "income")])["income"]
    own = bars.data.filter(pl.col("file") == "original")
    assert 10 < own.height <= 50
    assert (own["share"] * pair.original.rows).min() >= pair.threshold - 1e-9
    assert own["share"].sum() == pytest.approx(1.0)
    assert not any("9,000,000" in value for value in own["value"])
    ends = [float(v.replace(",", "")) for text in own["value"] for v in re.findall(r"[\d,.]+", text)]
    assert all(end == round(end, -1) for end in ends)
