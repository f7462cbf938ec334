"""Rounding, cell keys, small-count noise, information loss and the pictures."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.core.errors import DataError, OptionError
from dalenius.tables import (
    PTable,
    SmallCount,
    aggregate_runs,
    controlled_round,
    define,
    information_loss,
    inner_cell_keys,
    perturb,
    protect,
    record_keys,
    recoverable_cells,
    round_table,
    small_count_noise,
    stochastic_round,
)
from dalenius.tables.page import table_page


def model(seed=1, rows=6, columns=5, mean=4.0):
    rng = np.random.default_rng(seed)
    counts = rng.poisson(mean, rows * columns)
    frame = {
        "r": [f"r{i // columns}" for i in range(rows * columns)],
        "c": [f"c{i % columns}" for i in range(rows * columns)],
    }
    return define({**frame, "n": counts.tolist()}, ["r", "c"], freq="n")


def test_stochastic_rounding_by_hand():
    found = stochastic_round([1, 1, 2, 2, 2, 1], 3, uniforms=[0.2, 0.5, 0.7, 0.1, 0.9, 0.65])
    assert found.counts.tolist() == [3, 0, 0, 3, 0, 0]
    assert stochastic_round([0, 3, 4, 17], 3, seed=1).counts.tolist() == [0, 3, 4, 17]


@pytest.mark.parametrize("k", [3, 5, 10])
def test_stochastic_rounding_moments(k):
    for z in range(1, k):
        draws = stochastic_round(np.full(40_000, z), k, seed=k * 100 + z).counts
        assert set(draws.tolist()) <= {0, k}
        assert abs(draws.mean() - z) < 5 * np.sqrt(z * (k - z) / 40_000)
        assert abs(draws.var() - z * (k - z)) < 0.05 * k * k
    assert stochastic_round([1, 2], 3, seed=1).sd_total == 2.0


def test_bad_counts():
    for bad in ([-1, 2], [1.5], [float("nan")]):
        with pytest.raises(DataError):
            stochastic_round(bad, 3)
    with pytest.raises(OptionError):
        stochastic_round([1], 1)


def test_rounded_tables_agree_and_add_up():
    table = model()
    first = round_table(table, 3, key=b"k", run_id="r17")
    assert first.counts.tolist() == round_table(table, 3, key=b"k", run_id="r17").counts.tolist()
    assert information_loss(table, {"x": first.counts})["not_additive"][0] == 0
    alone = round_table(table, 3, margins="round", key=b"k")
    narrow = define({"r": table.inner["r"].to_list(), "n": table.counts.tolist()}, by="r", freq="n")
    shared = round_table(narrow, 3, margins="round", key=b"k")
    for code in narrow.cells["r"]:
        here, there = table.find(r=code), narrow.find(r=code)
        assert alone.counts[here].tolist() == shared.counts[there].tolist()
    with pytest.raises(OptionError, match="undo"):
        round_table(table, 3, margins="exact")


def test_exact_margins_give_cells_back():
    """At a mean of 8 almost all treated cells can be recovered, at 2 almost none (Brenzel et al. 2024)."""
    shares = {}
    for mean in (8, 2):
        counts = np.random.default_rng(5).poisson(mean, (40, 20, 6))
        treated = (counts > 0) & (counts < 3)
        found = np.array([recoverable_cells(t) for t in treated])
        shares[mean] = found.sum() / treated.sum()
    assert shares[8] > 0.95
    assert shares[2] < 0.02


def test_runs_are_rounded_before_they_are_averaged():
    rng = np.random.default_rng(3)
    runs = [rng.poisson([0.5, 1, 2, 9]) for _ in range(1000)]
    found = aggregate_runs(runs, 3, seed=2)
    z = (found["mean"].to_numpy() - np.mean(runs, axis=0)) / np.maximum(found["rounding_se"].to_numpy(), 1e-9)
    assert (np.abs(z[:3]) < 4.5).all()
    with pytest.raises(DataError, match="30"):
        aggregate_runs(runs[:5])


@pytest.mark.parametrize("base", [3, 5])
def test_controlled_rounding_adds_up_and_stays_near(base):
    table = model(mean=6.0)
    rounded = controlled_round(table, base).values
    assert (rounded % base == 0).all()
    assert (np.abs(rounded - table.amount) < base).all()
    assert information_loss(table, {"x": rounded})["not_additive"][0] == 0


@pytest.mark.parametrize(("largest", "variance", "hole"), [(3, 2.0, 0), (5, 3.0, 0), (5, 3.0, 2)])
def test_perturbation_tables(largest, variance, hole):
    table = PTable.make(largest, variance, hole)
    np.testing.assert_allclose(table.probabilities.sum(axis=1), 1.0)
    np.testing.assert_allclose(table.means, 0.0, atol=1e-5)
    assert abs(table.variances[-1] - variance) < 1e-4
    assert table.values_of(0) == [0]
    for count in range(1, 8):
        assert not set(table.values_of(count)) & set(range(1, hole + 1))
        assert min(table.values_of(count)) >= 0


def test_cell_keys_are_the_same_in_every_table():
    rng = np.random.default_rng(1)
    people = {"sex": rng.choice(["f", "m"], 500).tolist(), "job": rng.choice(list("abc"), 500).tolist()}
    keys, rule = record_keys(500, key=b"secret"), PTable.make(4, 2.0)

    def run(by):
        table = define(people, by=by)
        place = {row: i for i, row in enumerate(table.inner.iter_rows())}
        inner = np.array([place[row] for row in zip(*(people[name] for name in table.names), strict=True)])
        return table, perturb(table, rule, inner_cell_keys(table, inner, keys))

    wide, wide_counts = run(["sex", "job"])
    narrow, narrow_counts = run(["sex"])
    for code in ("f", "m"):
        assert wide_counts[wide.find(sex=code)] == narrow_counts[narrow.find(sex=code)]
    assert (np.abs(wide_counts - wide.frequency) <= 4).all()
    assert (wide_counts != wide.frequency).any()


def test_small_count_noise_leaves_large_counts():
    table = model(mean=5.0)
    noisy = small_count_noise(table, 5, key=b"k")
    large = table.frequency > 5
    assert (noisy[large] == table.frequency[large]).all()
    assert (noisy >= 0).all()
    narrow = define({"r": table.inner["r"].to_list(), "n": table.counts.tolist()}, by="r", freq="n")
    again = small_count_noise(narrow, 500, key=b"k")
    wide = small_count_noise(table, 500, key=b"k")
    for code in narrow.cells["r"]:
        assert again[narrow.find(r=code)].tolist() == wide[table.find(r=code)].tolist()


def test_information_loss_side_by_side():
    table = model(mean=5.0)
    found = information_loss(
        table,
        {
            "nothing": table.amount,
            "suppression": protect(table, SmallCount(3)),
            "rounding": round_table(table, 3, seed=1).counts,
        },
    )
    assert found["cells_lost"].to_list()[0] == 0
    assert found["hellinger"].to_list()[0] < 1e-7
    assert found["cells_lost"].to_list()[1] > 0
    assert found["mean_change"].to_list()[2] > 0


def test_text_html_and_chart_show_no_suppressed_value():
    data = {"r": ["a", "a", "b", "b"], "c": ["x", "y", "x", "y"], "n": [1, 777, 555, 333]}
    result = protect(define(data, ["r", "c"], freq="n"), SmallCount(3))
    page = result._repr_html_()
    chart = str(result.chart().to_dict())
    for text in (result.cross_table(), page, chart, table_page(result, result.audit())):
        assert "1,110" in text or "1666" in text or "888" in text
        for value in ("777", "555", "333"):
            assert value not in text
    assert result.result.unit == "%"
    assert "suppressed" in result.result.sentence
