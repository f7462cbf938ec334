"""Candidates side by side: replicates, intervals, ranks, failures, references."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import dalenius
from dalenius.core.errors import DataError, OptionError
from dalenius.core.replicates import mean_result
from dalenius.core.result import Result
from dalenius.data import Table, examples
from dalenius.evaluation import ablation, benchmark, compare, evaluate
from dalenius.evaluation.benchmarking import EVEN, Benchmark, evenly
from dalenius.preparation import Recipe, check

COLUMNS = ["sex", "age", "region", "education", "income", "smoker"]


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    return examples.survey(600, seed=4).select(COLUMNS)


def resampled(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    return frame[np.random.default_rng(seed).integers(0, frame.height, frame.height).tolist()]


def shuffled(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return frame.select(pl.col(name).gather(rng.permutation(frame.height)) for name in frame.columns)


def test_replicates_are_means_with_intervals(people: pl.DataFrame) -> None:
    files = [resampled(people, seed) for seed in range(4)]
    measures = ["two-way-utility", "column-shapes"]
    found = compare(people, {"again": files, "one": files[0]}, measures=measures)
    single = [evaluate(people, file, measures=measures)["two-way-utility"].value for file in files]
    mean = found["again"]["two-way-utility"]
    assert mean.value == pytest.approx(np.mean(single))
    half = 3.182446 * np.std(single, ddof=1) / 2  # Student with three degrees of freedom
    assert mean.interval is not None
    assert (mean.interval.low, mean.interval.high) == pytest.approx(
        (mean.value - half, mean.value + half), rel=1e-6
    )
    assert found["one"]["two-way-utility"].interval is None
    rows = found.intervals.filter(pl.col("measure") == "two-way-utility")
    assert rows["files"].to_list() == [4, 1]
    assert len(found.replicates["again"]) == 4


def test_intervals_stay_within_the_range_of_the_measure(people: pl.DataFrame) -> None:
    found = compare(people, {"a": [people, shuffled(people, 1)]}, measures=["k-marginal", "coverage"])
    for result in found["a"].results.values():
        assert result.info is not None
        assert result.interval is not None
        low, high = result.info.bounds
        assert low <= result.interval.low <= result.interval.high <= high


def test_ranks_follow_the_better_way(people: pl.DataFrame) -> None:
    candidates = {"copy": people, "again": resampled(people, 1), "shuffled": shuffled(people, 2)}
    found = compare(people, candidates, measures=["two-way-utility", "k-marginal", "pca"])
    for name in ("two-way-utility", "k-marginal", "pca"):
        assert found.ranking[name].to_list() == [1, 2, 3]
    assert found.agreement["rank correlation"].to_list() == pytest.approx([1, 1, 1])


def test_range_over_replicates() -> None:
    runs = [Result("x", v, "As it is.", yardsticks={"null": v}, values={"w": v}) for v in (1.0, 2.0, 6.0)]
    found = mean_result(runs, "range")
    assert (found.value, found.interval.low, found.interval.high) == (3.0, 1.0, 6.0)  # type: ignore[union-attr]
    assert found.yardsticks == {"null": 3.0}
    assert found.values == {"w": 3.0}


def test_options_of_measures(people: pl.DataFrame) -> None:
    found = evaluate(people, people, measures=["pca"], options={"k-marginal": {"by": "region"}})
    assert list(found.results) == ["pca", "k-marginal"]
    assert "lowest group" in found["k-marginal"].values
    with pytest.raises(OptionError, match="pca: no option 'nothing'; there are: columns, components"):
        evaluate(people, people, options={"pca": {"nothing": 1}})
    with pytest.raises(DataError, match="'empty' has no file"):
        compare(people, {"empty": []})


def test_benchmark(people: pl.DataFrame) -> None:
    methods = {"independent": {}, "wide": {"method": "saturated", "adjust": "nothing such"}}
    with pytest.raises(OptionError, match="adjust"):
        benchmark(people, methods, measures=["two-way-utility"])
    found = benchmark(
        people,
        ["independent", "bootstrap"],
        replicates=2,
        holdout_share=0.3,
        measures=["two-way-utility"],
        seed=1,
    )
    scores = dict(found.comparison.table.iter_rows())
    assert scores["rows drawn again"] < scores["independent"] < scores["values drawn evenly"]
    assert found.comparison["independent"].pair.holdout.rows == 180
    assert found.table["fit seconds"].null_count() == 2  # the references cost nothing
    again = benchmark(
        people,
        ["independent"],
        replicates=2,
        holdout_share=0.3,
        measures=["two-way-utility"],
        references=False,
        seed=1,
    )
    assert again.comparison.table["two-way-utility"][0] == scores["independent"]


def test_a_method_must_beat_values_drawn_evenly(people: pl.DataFrame) -> None:
    chosen = ["one-way-utility", "two-way-utility"]
    assert benchmark(people, ["independent"], replicates=1, measures=chosen, seed=1).of_no_use == {}
    files = {"one row": people[[0] * people.height], EVEN: evenly(Table.from_frame(people), seed=1)}
    found = Benchmark(compare(people, files, measures=chosen), pl.DataFrame({"candidate": [], "file": []}))
    assert found.of_no_use == {"one row": chosen}
    assert found.to_dict()["no better than values drawn evenly"] == found.of_no_use
    bare = benchmark(people, ["independent"], replicates=1, measures=chosen, references=False, seed=1)
    assert bare.of_no_use == {}  # nothing to compare with


def test_a_method_that_fails_is_a_row(people: pl.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    from dalenius.synth.bootstrap import Bootstrap

    def refuse(self: object, table: Table, seed: object = None) -> None:
        raise DataError("it will not")

    monkeypatch.setattr(Bootstrap, "learn", refuse)
    found = benchmark(people, ["independent", "bootstrap"], replicates=1, references=False, measures=["pca"])
    assert found.failed == {"bootstrap": "it will not"}
    assert list(found.comparison.evaluations) == ["independent"]
    with pytest.raises(DataError, match="no method made a file: bootstrap: it will not"):
        benchmark(people, ["bootstrap"], replicates=1, references=False, measures=["pca"])


def test_cleaning_helps_a_method_that_smooths() -> None:
    rng = np.random.default_rng(3)
    age = rng.integers(16, 90, 700)
    data = {
        "age": age.tolist(),
        "group": np.array(["young", "middle", "old"])[np.searchsorted([30, 60], age, side="right")].tolist(),
        "sex": rng.choice(["f", "m"], 700).tolist(),
    }
    table = Table.from_frame(data)
    recipe = Recipe.of(check(table), table)
    found = ablation(table, recipe, "independent", replicates=2, measures=["two-way-utility"])
    scores = dict(found.comparison.table.iter_rows())
    assert scores["cleaned"] < 3 < scores["raw"]
    assert scores["codes declared"] == pytest.approx(scores["raw"], rel=0.2)


def test_exported() -> None:
    assert dalenius.compare is compare


def test_replicates_of_a_benchmark_are_different_files(people: pl.DataFrame) -> None:
    found = benchmark(
        people, ["independent"], replicates=2, measures=["column-shapes"], references=False, seed=1
    )
    first, second = (run["column-shapes"].value for run in found.comparison.replicates["independent"])
    assert first != second
    interval = found.comparison["independent"]["column-shapes"].interval
    assert interval.high > interval.low
