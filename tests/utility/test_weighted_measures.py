"""Every measure that says it weighs: a weight of 3 is three rows, and equal weights are none."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from dalenius import Pair, Schema, Table
from dalenius.counts.measure import MEASURES, UNWEIGHTED
from dalenius.counts.weighing import clustered_effect
from dalenius.data.design import Design
from dalenius.data.grouping import Grouping
from dalenius.utility import k_marginal, one_way_utility
from dalenius.utility.tables import fresh_sample

WEIGHING = [each.info.name for each in MEASURES.values() if each.info.weighs]


@cache
def files() -> tuple[Table, Table, np.ndarray]:
    rng = np.random.default_rng(5)
    n = 300
    x = rng.normal(50, 10, n)
    data = {
        "a": rng.choice(["u", "v", "w"], n), "b": np.where(x + rng.normal(0, 5, n) > 50, "high", "low"),
        "x": np.round(x, 1), "y": np.round(2 * x + rng.normal(0, 8, n)),
        "z": np.where(rng.random(n) < 0.2, None, rng.integers(0, 9, n)), "weight": rng.integers(1, 4, n).astype(float),
    }  # fmt: skip
    table = Table.from_frame(data, Schema.infer(data).with_roles(weight="weight", keys=["a"], targets=["b"]))
    other = table.take(rng.integers(0, n, 250)).drop(["weight"])
    return table, other, data["weight"].astype(int)


def test_which_measures_weigh():
    assert set(WEIGHING) >= {
        "two-way-utility", "one-way-utility", "three-way-utility", "column-shapes", "coverage", "k-marginal",
        "pair-trends", "associations", "missingness", "statistic-similarity", "model-agreement",
    }  # fmt: skip


@pytest.mark.parametrize("name", [n for n in WEIGHING if n != "model-agreement"])
def test_a_weight_of_three_is_three_rows(name):
    table, other, times = files()
    repeated = table.take(np.repeat(np.arange(table.rows), times)).drop(["weight"])
    grouping = Grouping.fit(table)
    weighted = MEASURES[name](Pair(table, other, grouping=grouping)).value
    longer = MEASURES[name](Pair(repeated, other, grouping=grouping)).value
    plain = MEASURES[name](Pair(table.drop(["weight"]), other, grouping=grouping)).value
    if (
        name.endswith("-way-utility") or name == "subgroups"
    ):  # the size of the original is in the formula: scaled to its own rows here
        assert abs(weighted - plain) > 1e-6
        assert weighted == pytest.approx(longer, rel=0.25)
        return
    assert weighted == pytest.approx(longer, rel=1e-9)
    if name != "coverage":
        assert abs(weighted - plain) > 1e-6


@pytest.mark.parametrize("name", WEIGHING)
def test_equal_weights_change_nothing(name):
    table, other, _ = files()
    alike = table.to_frame("dict") | {"weight": [2.5] * table.rows}
    equal = Table.from_frame(
        alike, Schema.infer(alike).with_roles(weight="weight", keys=["a"], targets=["b"])
    )
    grouping = Grouping.fit(table)
    weighted = MEASURES[name](Pair(equal, other, grouping=grouping)).value
    plain = MEASURES[name](Pair(table.drop(["weight"]), other, grouping=grouping)).value
    close = {"rel": 0.02} if name == "model-agreement" else {"rel": 1e-9}  # its errors are robust ones then
    assert weighted == pytest.approx(plain, **close)


def test_a_measure_that_does_not_weigh_says_so():
    table, other, _ = files()
    assert UNWEIGHTED in MEASURES["propensity-logit"](Pair(table, other)).sentence
    assert UNWEIGHTED not in MEASURES["propensity-logit"](Pair(table.drop(["weight"]), other)).sentence
    assert UNWEIGHTED not in MEASURES["column-shapes"](Pair(table, other)).sentence


def test_groups_are_weighted_but_counted_in_rows():
    table, other, _ = files()
    found = k_marginal(Pair(table, other), by="a").table
    assert found["original rows"].sum() == table.rows


@pytest.mark.parametrize("psu", [False, True])
@pytest.mark.parametrize("strata", [False, True])
def test_design_effects_are_those_of_the_variances(psu, strata):
    """Mean of V_i / p_i over cells, each variance by linearisation of the cell's indicator."""
    table, _, times = files()
    rng = np.random.default_rng(2)
    h, u = rng.integers(0, 3, table.rows), rng.integers(0, 12, table.rows)
    design = Design(times.astype(float), h if strata else None, u if psu else None)
    column = table["a"].categories
    share, covariance = design.mean((column.codes[:, None] == np.arange(3)).astype(float))
    by_hand = float(np.sum(np.diag(covariance) / share)) * (table.rows - 1) / 2
    assert clustered_effect([column], design) == pytest.approx(by_hand, rel=1e-9)


def test_weighted_tables_have_the_effect_of_independent_rows():
    table, other, times = files()
    found = Pair(table, other).weigh_many([["a"]])["a",].original.effect
    assert found == pytest.approx(
        clustered_effect([table["a"].categories], Design(times.astype(float))), rel=1e-9
    )
    assert abs(found - 1) > 0.05


def test_replicates_tell_the_effect_where_units_are_not_known():
    table, _, times = files()
    design = Design(times.astype(float)).replicated("bootstrap", 400, seed=1)
    exact = clustered_effect([table["a"].categories], Design(times.astype(float)))
    assert clustered_effect([table["a"].categories], design) == pytest.approx(exact, rel=0.2)


def test_a_clustered_original_raises_the_yardstick():
    rng = np.random.default_rng(4)
    unit = np.repeat(np.arange(30), 10)
    data = {"a": np.where(rng.random(30)[unit] < 0.5, "x", "y"), "unit": unit, "w": np.ones(300)}
    base = Schema.infer(data)
    other = {"a": rng.choice(["x", "y"], 300)}
    alike = Pair(Table.from_frame(data, base.with_roles(weight="w")), other)
    grouped = Pair(Table.from_frame(data, base.with_roles(weight="w", psu="unit")), other)
    assert "unit" not in grouped.columns
    assert fresh_sample(alike, 1, ["a"]) == pytest.approx(2, abs=0.02)
    assert 9 < fresh_sample(grouped, 1, ["a"]) < 13  # everybody in a unit says the same: ten rows count once


def test_rows_without_a_weight_count_nothing():
    data = {"a": ["x", "y", "y"], "w": [1.0, None, 3.0]}
    table = Table.from_frame(data, Schema.infer(data).with_roles(weight="w"))
    pair = Pair(table, {"a": ["x", "y", "y", "y"]})
    assert pair.weigh_many([["a"]])["a",].original.counts.counts.tolist() == [0.75, 2.25]
    assert one_way_utility(pair).value == pytest.approx(0, abs=1e-12)


def test_heavy_weights_do_not_buy_a_verdict():
    """Weights that lie on a few rows make a table useless; its S_pMSE must not shrink by the effect they have."""
    table, _, _ = files()
    rng = np.random.default_rng(9)
    junk = table.take(rng.integers(0, table.rows, 300)).to_frame("dict")
    junk["weight"] = [1e4, 1e4, 1e4] + [1.0] * 297
    pair = Pair(table, junk, grouping=Grouping.fit(table))
    found = pair.weigh_many([["a"]])["a",]
    assert found.protected.effect > 20
    assert found.effect() == pytest.approx(2 * found.original.effect)
    assert one_way_utility(pair).value > 30
