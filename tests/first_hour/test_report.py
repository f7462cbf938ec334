"""What a board reads: no map of one point, methods and their budgets in words, colours that mean something."""

from __future__ import annotations

import json
import re

import numpy as np
import polars as pl
import pytest

import dalenius
from dalenius.data import examples
from dalenius.evaluation import compare, evaluate
from dalenius.release import read_plan, run_plan, write_pack
from dalenius.report import write_report
from dalenius.report.uses import readings
from dalenius.report.words import reading
from tests import LONG

COLUMNS = ["region", "sex", "age", "income", "smoker"]


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    return examples.survey(600, seed=1).select(COLUMNS)


def test_a_report_of_one_file_has_no_map_of_one_point(people, tmp_path):
    made = dalenius.synthesize(people, seed=1)
    some = ["two-way-utility", "replicated-uniques"]
    write_report(
        evaluate(people, made, keys=["sex", "age"], targets=["smoker"], measures=some), tmp_path / "one.html"
    )
    write_report(
        compare(people, {"a": made, "b": dalenius.synthesize(people, "independent", seed=1)}, measures=some,
                keys=["sex", "age"], targets=["smoker"]),
        tmp_path / "two.html",
    )  # fmt: skip
    one, two = ((tmp_path / f"{name}.html").read_text() for name in ("one", "two"))
    assert 'id="map"' not in one
    assert 'id="map"' in two


def test_single_columns_alone_are_not_called_good():
    rng = np.random.default_rng(1)
    job = rng.choice(["a", "b", "c", "d"], 2000)
    other = np.where(rng.random(2000) < 0.6, job, rng.choice(["a", "b", "c", "d"], 2000))
    rest = {f"answer{i}": rng.choice(["f", "m"], 2000) for i in range(7)}
    file = pl.DataFrame({"job": job, "trade": other, **rest})
    found = {
        method: evaluate(
            file, dalenius.synthesize(file, method, seed=1), measures=["two-way-utility"]
        ).results["two-way-utility"]
        for method in ("independent", "cart")
    }
    read = {method: reading(result) for method, result in found.items()}
    assert found["independent"].value < 10, "one pair that is lost hides in the mean"
    assert read["independent"] not in ("good", "very good")
    assert read["cart"] in ("good", "very good")


def test_a_cell_that_falls_from_131_to_76_is_not_called_good(tmp_path):
    """The other nineteen cells came out well, so the mean over them hides it."""
    counts = np.full(20, 120)
    counts[0] = 131
    fallen = counts + np.array([-55, *[5] * 11, *[0] * 8])
    close = counts + np.array([-5, *[5] + [0] * 18])
    file, worse, fine = (
        pl.DataFrame({"job": [f"j{i // 4}" for i in cells], "home": [f"h{i % 4}" for i in cells]})
        for cells in (np.repeat(np.arange(20), held) for held in (counts, fallen, close))
    )
    found = compare(file, {"worse": worse, "fine": fine}, measures=["two-way-utility"])
    results = {name: e.results["two-way-utility"] for name, e in found.evaluations.items()}
    assert results["worse"].value < 3, "by the mean alone it would be very good"
    assert {name: reading(result) for name, result in results.items()} == {"worse": "usable", "fine": "good"}
    assert results["worse"].table["reading"].to_list() == ["usable"]
    assert "good" not in {row.get("reading", "")[:4] for row in rows_of(results["worse"].chart().to_dict())}
    assert readings(results["worse"]) == ([], [], [])
    write_report(evaluate(file, worse, measures=["two-way-utility"]), tmp_path / "one.html")
    assert 'class="mark good"' not in (tmp_path / "one.html").read_text()


def rows_of(spec) -> list[dict[str, object]]:
    """All rows a chart draws."""
    return [row for rows in spec["datasets"].values() for row in rows]


def test_one_outlier_does_not_make_a_pair_bright_red():
    rng = np.random.default_rng(2)
    height = rng.normal(170, 9, 1500).round()
    weight = (height - 100 + rng.normal(0, 9, 1500)).round()
    far = weight.copy()
    far[0] = 450
    made = pl.DataFrame({"height": height, "weight": weight}).sample(1500, with_replacement=True, seed=1)
    result = evaluate(
        pl.DataFrame({"height": height, "weight": far}), made, measures=["pair-trends"]
    ).results["pair-trends"]
    off = 1 - result.value
    full = max(re_domain(result.chart().to_dict()))
    assert off < full / 2  # paler than half of the way to the full colour


def re_domain(spec) -> list[float]:
    """The numbers between which the colours of a chart run."""
    text = json.dumps(
        spec["encoding"]["color"] if "encoding" in spec else [s["encoding"] for s in spec["layer"]]
    )
    return [float(n) for n in re.search(r'"domain": \[([^\]]*)\]', text)[1].split(",")]


def test_a_release_says_what_each_method_does_and_spends(tmp_path):
    examples.survey(400, seed=2).select("sex", "region", "smoker").write_csv(tmp_path / "people.csv")
    (tmp_path / "plan.yaml").write_text(
        "input: people.csv\nscenarios: {a: {keys: [sex, region], targets: [smoker]}}\n"
        "candidates: {cart: {}, mst: {epsilon: 2.0, domain: from-data}}\n"
        "measures: [replicated-uniques, two-way-utility]\npolicy: [repU <= 100 %]\n"
    )
    pack = write_pack(run_plan(read_plan(tmp_path / "plan.yaml"), workers=1))
    page = re.sub(r"<[^>]+>", "", (pack / "internal" / "report.html").read_text())
    for words in ("The program learns which answers go together", "ε = 2"):
        assert words in page


@pytest.mark.slow
@pytest.mark.skipif(not LONG, reason="the demo makes a file by every method")
def test_the_demo_prints_on_twelve_pages_and_weighs_two_megabytes(newcomer, browsing):
    newcomer.types("demo", "-o", newcomer.folder / "demo")
    report = newcomer.folder / "demo" / "report.html"
    assert report.stat().st_size <= 2_000_000
    with browsing("file:", width=1366, height=900) as seen:
        seen.page.goto(report.as_uri())
        assert seen.page.locator("details.behind").count() > 5, "the tables behind the pairs are there"
        seen.page.evaluate("forPaper()")
        seen.page.wait_for_function(
            "[...document.querySelectorAll('.chart')].filter(onPaper).every(c => c.dataset.drawn === 'yes')"
        )
        paper = seen.page.pdf(format="A4", prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page[^s]", paper)) <= 12
