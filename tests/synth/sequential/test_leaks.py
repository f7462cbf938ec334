"""What must not come out: unique values, repeated uniques, sensitive values of pure leaves."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from dalenius.core.errors import DataError, OptionError
from dalenius.counts.pair import Pair
from dalenius.data import Column, Kind, Schema, Table
from dalenius.data.examples import survey, survey_schema
from dalenius.risk.attribution import disco
from dalenius.synth.sdc import labelled, protect, replicated_uniques
from dalenius.synth.sequential import CartSynthesizer
from dalenius.synth.sequential.planning import make_plan


@pytest.mark.parametrize("smoothing", ["auto", "density", "spline"])
@pytest.mark.parametrize("decimals", [2, 15])
def test_unique_floats_of_the_original_come_out_by_chance_at_most(smoothing, decimals):
    rng = np.random.default_rng(1)
    frame = {"g": rng.choice(["a", "b"], 2000), "x": np.round(rng.lognormal(6, 1, 2000), decimals)}
    frame["x"][:400] = 100.0  # a heap: everybody's value, left alone
    out = np.array(
        CartSynthesizer(smoothing=smoothing)
        .fit(Table.from_frame(frame), seed=1)
        .sample(6000, seed=2)
        .to_frame()["x"]
    )
    values, times = np.unique(frame["x"], return_counts=True)
    # with two decimals most places between small values are taken: there chance hits some
    assert np.isin(out, values[times == 1]).mean() <= (0.02 if decimals == 2 else 0)
    assert np.mean(out == 100.0) == pytest.approx(0.2, abs=0.03)
    assert out.min() >= values.min()
    assert out.max() <= 3 * values.max(), "a long tail goes on, but not far"
    assert decimals > 2 or np.array_equal(np.round(out, decimals), out)
    assert np.quantile(out, [0.25, 0.5, 0.75]) == pytest.approx(
        np.quantile(frame["x"], [0.25, 0.5, 0.75]), rel=0.25
    )


def test_observed_values_come_out_only_where_the_schema_says_so():
    rng = np.random.default_rng(2)
    x = rng.normal(size=500)
    frame = {"x": x, "y": x + 1}
    schema = Schema((Column("x", Kind.CONTINUOUS, release="as-is"), Column("y", Kind.CONTINUOUS)))
    out = (
        CartSynthesizer(smoothing="none")
        .fit(Table.from_frame(frame, schema), seed=1, prepare=False)
        .sample(seed=2)
        .to_frame()
    )
    assert np.isin(out["x"], x).all()
    assert not np.isin(out["y"], x + 1).any()


def test_replicated_uniques_are_removed_on_all_columns_or_on_keys():
    table = Table.from_frame(survey(2000, seed=1), survey_schema()).select(
        ["region", "sex", "age", "marital", "education"]
    )
    drawn = CartSynthesizer().fit(table, seed=1).sample(seed=2)
    for keys in (None, ["region", "sex", "age", "marital"]):
        found = replicated_uniques(table, drawn, keys)
        assert found.any()
        done = protect(drawn, table, uniques=True, keys=keys)
        assert done.removed == found.sum()
        assert done.table.rows == drawn.rows - done.removed
        assert not replicated_uniques(table, drawn.take(~found), keys)[: done.table.rows].all()


def test_a_leaf_diversity_limit_lowers_disco_on_the_survey():
    table = Table.from_frame(survey(4000, seed=1), survey_schema())
    keys = ["region", "sex", "age", "marital", "education"]
    small = table.select([*keys, "diagnosis"])
    values = {}
    for diversity in (1, 3):
        found = []
        for seed in range(3):
            options = CartSynthesizer(evidence=0, tuning={"diagnosis": {"diversity": diversity}})
            drawn = options.fit(small, seed=seed).sample(seed=seed)
            found.append(disco(Pair(small, drawn, keys=keys, targets=["diagnosis"])).value)
        values[diversity] = np.mean(found)
    assert values[3] < values[1]


def test_every_leaf_has_as_many_values_as_asked_for():
    rng = np.random.default_rng(3)
    frame = {"a": rng.integers(0, 30, 3000), "b": rng.integers(0, 30, 3000)}
    frame["illness"] = np.where(frame["a"] > 25, "rare", rng.choice(["x", "y", "z"], 3000))
    frame["debt"] = np.where(frame["b"] > 25, 0, rng.integers(0, 100, 3000))
    model = CartSynthesizer(diversity=2, evidence=0).fit(Table.from_frame(frame), seed=1)
    for name in ("illness", "debt"):
        fitted = model.columns[name].value
        tree = fitted.tree
        for first, last, feature in zip(tree.first, tree.last, tree.feature, strict=True):
            if feature < 0:
                assert len(np.unique(fitted.donors[first:last])) >= 2


def test_coding_recoding_smoothing_and_label():
    real = {
        "age": [20, 91, 35, 64],
        "pay": [1.25, 7.5, 3.75, 9.25],
        "job": ["judge", "clerk", "clerk", "nurse"],
    }
    done = protect(
        real, real, bottom={"age": 25}, top={"age": 90}, smooth=["pay"], recode={"job": {"judge": "other",
        "nurse": "other"}}, label="SYNTHETIC DATA", seed=1,
    )  # fmt: skip
    out = pl.DataFrame(done.table.to_frame())
    assert out.columns == ["label", "age", "pay", "job"]
    assert out["age"].to_list() == [25, 90, 35, 64]
    assert out["job"].to_list() == ["other", "clerk", "clerk", "other"]
    assert not set(out["pay"]) & set(real["pay"])
    assert done.changed == {"pay": 4, "age": 2, "job": 2}
    with pytest.raises(DataError, match="nose"):
        protect(real, top={"nose": 3})
    with pytest.raises(OptionError, match="original"):
        protect(real, uniques=True)
    with pytest.raises(OptionError, match="already"):
        labelled(done.table)


def test_a_free_text_first_does_not_lead_to_the_person():
    """Texts that occur once are no predictor: a tree would split on them until each leaf is a person."""
    people = survey(600, seed=4).select("region", "sex", "age", "marital", "income")
    words = pl.Series("remark", [f"told {i * 7919 % 997} of {i}" for i in range(600)])
    frame = people.with_columns(words).select("remark", *people.columns)
    schema = Schema.infer(frame).replace_columns(Column("remark", Kind.TEXT))
    table = Table.from_frame(frame, schema)
    plan = make_plan(CartSynthesizer(), table)
    assert plan.visit[0] == "remark"
    assert {0 in recipe.use for recipe in plan.recipes.values()} == {False}
    asked = make_plan(CartSynthesizer(predictors={"sex": ["remark"]}), table)
    assert asked.recipes["sex"].use == (0,), "who names it gets it"
