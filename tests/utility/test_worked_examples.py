"""Worked examples of Francis 2024, and what the conditional, predictive and gap measures must say."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

import dalenius
from dalenius.counts.pair import Pair
from dalenius.data.schema import Column, Kind, Schema
from dalenius.utility import (
    conditional_distributions,
    conditional_table,
    diagnostic_table,
    gap_table,
    gaps_alike,
    improvement_factor,
    k_marginal,
    learning_table,
    model_prediction,
    prediction_table,
    slope_agreement,
    univariate_errors,
)
from dalenius.utility.analyses import roc_points
from dalenius.utility.analyses.agreement import model_table
from dalenius.utility.distributions import ks_distance
from dalenius.utility.propensity import tree_propensity


class TestNist:
    def test_count_errors(self) -> None:
        pair = Pair({"a": ["x"] * 10 + ["y"] * 1000}, {"a": ["x"] * 13 + ["y"] * 1013 + ["z"] * 5})
        assert univariate_errors(pair)["composite"].to_list() == pytest.approx([3, 1.3, 5])

    def test_counts_inside_another_column(self) -> None:
        original = {"sector": ["a", "a", "b", "N"], "code": ["1", "2", "1", "9"]}
        protected = {"sector": ["a", "b", "b", "N"], "code": ["1", "1", "7", "9"]}
        schema = Schema(
            (Column("sector", Kind.CATEGORICAL, not_applicable=("N",)), Column("code", Kind.CATEGORICAL))
        )
        found = univariate_errors(
            Pair(original, protected, schema=schema), ["code"], rescale=2.0, within={"code": "sector"}
        )
        assert found["value"].to_list() == ["a / 1", "a / 2", "b / 1"]
        assert found["protected"].to_list() == [2.0, 0.0, 2.0]

    def test_improvement_factor_at_the_edges(self) -> None:
        assert improvement_factor(0.1, 0.0) == np.inf
        assert improvement_factor(0.0, 0.1) == -np.inf
        assert improvement_factor(900, 950, perfect=1000) == 2.0

    def test_tree_of_depth_six_equals_scikit_learn(self) -> None:
        rng = np.random.default_rng(4)
        files = [
            {"a": rng.integers(0, 40, n) + shift, "b": rng.integers(0, 9, n), "c": rng.normal(shift, 2, n)}
            for n, shift in ((600, 0), (400, 1))
        ]
        schema = Schema((Column("a", Kind.INTEGER), Column("b", Kind.INTEGER), Column("c", Kind.CONTINUOUS)))
        x = np.vstack([np.column_stack([file[name] for name in "abc"]) for file in files])
        t = np.repeat([0, 1], [600, 400])
        p = DecisionTreeClassifier(max_depth=6, random_state=0).fit(x, t).predict_proba(x)[:, 1]
        found = tree_propensity(Pair(*files, schema=schema), depth=6)
        assert found.figures.pMSE == pytest.approx(np.mean((p - 0.4) ** 2), rel=1e-9)
        assert np.isnan(found.S_pMSE)

    def test_perfect_separation(self) -> None:
        pair = Pair({"a": ["x"] * 50}, {"a": ["y"] * 50})
        assert tree_propensity(pair, depth=6).figures.pMSE == 0.25

    def test_matches_and_groups(self) -> None:
        data = {
            "area": ["n", "n", "s", "s"] * 5,
            "a": ["0", "1", "0", "1"] * 5,
            "b": ["0", "1", "1", "1"] * 5,
        }
        worse = {**data, "b": ["0", "1", "0", "0"] * 5}
        result = k_marginal(Pair(data, worse), by="area", equivalent=True)
        assert result.table is not None
        assert result.table["group"].to_list() == ["s", "n"]
        assert result.values["lowest group"] == 0  # in the south nothing is as it was
        assert "sampling equivalent, %" in result.values


def people(seed: int, link: float, n: int = 800) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 80, n)
    ill = rng.random(n) < 1 / (1 + np.exp(-link * (age - 50) / 10))
    pay = np.round(1000 + link * 20 * age + rng.normal(0, 300, n), 1)
    area = rng.choice(["n", "s"], n)
    return pl.DataFrame({"area": area, "age": age, "ill": np.where(ill, "yes", "no"), "pay": pay})


class TestConditional:
    def test_only_the_moved_group_is_named(self) -> None:
        base = people(1, 1.0)
        moved = base.with_columns(
            pay=pl.when(pl.col("area") == "s").then(pl.col("pay") + 900).otherwise("pay")
        )
        table = conditional_table(Pair(base, moved), ["pay"], ["area"])
        rows = {row["group"]: row for row in table.to_dicts()}
        assert rows["n"]["KS"] == 0
        assert rows["s"]["protected"] - rows["s"]["original"] == pytest.approx(900)
        assert rows["s"]["KS"] > 0.6

    def test_a_fresh_sample_meets_its_yardstick(self) -> None:
        values = [conditional_distributions(Pair(people(s, 1.0), people(s + 100, 1.0))) for s in range(6)]
        ratio = np.mean([r.value / r.yardsticks["a fresh sample at most"] for r in values])
        assert 0.9 < ratio < 1.1


class TestPrediction:
    def test_roc_area_is_scikit_learns(self) -> None:
        rng = np.random.default_rng(2)
        truth, scores = rng.random(300) < 0.4, np.round(rng.random(300), 2)
        false, true = roc_points(scores, truth)
        area = np.sum(np.diff(false) * (true[1:] + true[:-1]) / 2)
        assert area == pytest.approx(roc_auc_score(truth, scores), abs=0.01)  # sixty points of the curve

    def test_a_file_with_the_link_reversed_loses_everything(self) -> None:
        models = ["ill ~ age", "pay ~ age"]
        base, holdout = people(1, 1.0), people(9, 1.0)
        good = Pair(base, people(2, 1.0), holdout)
        bad = Pair(base, people(3, -1.0), holdout)
        assert model_prediction(good, models).value < 0.05
        found = prediction_table(bad, models)
        losses = found.drop_nulls("loss")
        assert losses["figure"].to_list() == ["ROC area", "R²"]
        assert losses["loss"].min() > 0.5  # type: ignore[operator]
        assert model_prediction(bad, models).values["mean ROC area, original"] > 0.7

    def test_a_model_that_cannot_be_fitted_is_told(self) -> None:
        found = prediction_table(Pair(people(1, 1.0), people(2, 1.0)), ["pay ~ height"])
        assert "height" in found["problem"][0]
        overlap = model_table(Pair(people(1, 1.0), people(2, 1.0)), {"pay ~ height": "gaussian"})
        assert "height" in overlap["problem"][0]

    def test_who_bears_the_loss(self) -> None:
        base = people(1, 1.0)
        other = people(2, 0.0)
        mixed = pl.concat([base.filter(area="n"), other.filter(area="s")])
        table = learning_table(Pair(base, mixed, people(9, 1.0)), ["pay"], learners=["tree"], subgroup="area")
        rows = {row["group"]: row["penalty"] for row in table.to_dicts()}
        assert rows["s"] > rows["n"] + 0.2


class TestGaps:
    def test_places_and_kinds(self) -> None:
        schema = Schema((Column("a", Kind.INTEGER, not_applicable=(-8,)), Column("b", Kind.INTEGER)))
        original = {"a": [1, -8, None, 4] * 20, "b": [1, 2, None, 4] * 20}
        moved = {"a": [1, -8, None, 4] * 20, "b": [None, 2, 3, 4] * 20}
        pair = Pair(original, moved, schema=schema)
        shares = {(r["column"], r["gap"]): r["protected"] for r in gap_table(pair).to_dicts()}
        assert shares == {("a", "empty"): 0.25, ("a", "code -8"): 0.25, ("b", "empty"): 0.25}
        assert gaps_alike(pair).value == pytest.approx(0.5)
        assert gaps_alike(Pair(original, original, schema=schema)).value == 0


def test_slopes_choose_the_pair_that_goes_together() -> None:
    pair = Pair(people(1, 1.0), people(2, 0.0))
    result = slope_agreement(pair)
    assert "'age'" in result.sentence
    assert result.value > 0.5
    assert result.table is not None
    assert len(result.table) == 3  # everybody and two levels


def test_small_groups_are_not_named_by_the_k_marginal_score():
    """The lowest group has two people: neither the sentence nor the figures, table and chart may tell of it."""
    area = ["north"] * 40 + ["south"] * 40 + ["islet"] * 2
    original = {"area": area, "a": ["x", "y"] * 41, "b": ["u", "v"] * 41}
    protected = {**original, "a": ["x", "y"] * 40 + ["y", "x"]}
    told = dalenius.evaluate(
        original, protected, measures=["k-marginal"], options={"k-marginal": {"by": "area"}}
    )
    result = told["k-marginal"]
    assert "Lowest is" in result.sentence
    assert result.values["lowest group"] > 990
    for text in (result.sentence, str(result.table), str(result.shown), str(result.chart().to_dict())):
        assert "islet" not in text


def test_gaps_where_the_original_has_none_are_not_valid():
    full, gappy = {"a": ["x", "y", "x", "y"]}, {"a": ["x", "y", None, None]}
    told = [diagnostic_table(Pair(*files)).row(0)[2] for files in ((full, gappy), (gappy, gappy))]
    assert told == [0.5, 1.0]


def test_conditionals_are_medians_and_distances_inside_groups():
    rng = np.random.default_rng(5)
    files = []
    for rows in (400, 300):
        holes = [None if v < 0.1 else round(10 * v) / 4 for v in rng.random(rows).tolist()]
        files.append(
            pl.DataFrame({"x": holes, "g": rng.choice(list("abcd"), rows, p=[0.5, 0.3, 0.18, 0.02])})
        )
    found = {row["group"]: row for row in conditional_table(Pair(*files), ["x"], ["g"]).iter_rows(named=True)}
    parts = {g: [f.filter(pl.col("g") == g)["x"].drop_nulls().to_numpy() for f in files] for g in "abcd"}
    assert set(found) == {g for g, pair in parts.items() if min(map(len, pair)) >= 10} >= {"a", "b", "c"}
    for group, row in found.items():
        first, second = parts[group]
        assert (row["rows"], row["original"], row["protected"]) == (
            len(first),
            np.median(first),
            np.median(second),
        )
        assert row["KS"] == ks_distance(first, second)
