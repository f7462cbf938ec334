"""Numbers that few units have come out no more often than the places beside them that nobody has."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.data import Column, Kind, Schema, Table
from dalenius.data.exit import guard
from dalenius.data.rare import without_rare_numbers
from dalenius.data.schema import Role

RNG = np.random.default_rng(5)
COLUMNS = {
    "every third place": np.arange(0, 900, 3),
    "half the places": RNG.integers(0, 1000, 400),
    "most places": RNG.integers(0, 3000, 2000),
    "a crowd in the middle": np.round(RNG.normal(500, 120, 600)).astype(int),
    "heaps": np.concatenate([np.repeat(np.arange(0, 1000, 100), 20), RNG.integers(0, 1000, 300)]),
    "a long tail": np.round(np.exp(RNG.normal(6, 0.5, 500))).astype(int),
}


def drawn(values, seeds):
    """How often each place from the smallest to the largest value comes out."""
    table, low = Table.from_frame({"x": values.tolist()}), values.min()
    seen = np.zeros(values.max() - low + 1)
    for seed in range(seeds):
        made = without_rare_numbers(table["x"], table.units, 3, np.random.default_rng(seed))
        np.add.at(seen, np.asarray(made.values) - low, 1)
    return seen


@pytest.mark.parametrize("name", COLUMNS)
def test_nobodys_place_is_as_likely_as_somebodys(name):
    values = COLUMNS[name]
    held, times = np.unique(values - values.min(), return_counts=True)
    seen = drawn(values, 60)
    free = np.setdiff1d(np.arange(len(seen)), held)
    rare = held[times < 3]
    rare = rare[(rare > free[0]) & (rare < free[-1])]
    beside = np.searchsorted(free, rare)
    around = (seen[free[beside - 1]] + seen[free[beside]]) / 2
    error = 4 * np.sqrt(seen[rare].sum() + around.sum() / 2)
    assert seen[rare].sum() <= around.sum() + error
    assert seen[free].sum() > 0.1 * seen.sum() * len(free) / len(seen), "nor is the file turned inside out"


def test_sparse_numbers_are_nobodys():
    values = RNG.choice(100_000, 300, replace=False)
    assert drawn(values, 5)[values - values.min()].sum() == 0


def test_the_outermost_persons_value_shows_nowhere():
    for values in COLUMNS.values():
        seen = drawn(values, 20)
        alone = [at for at, end in ((0, values.min()), (-1, values.max())) if (values == end).sum() < 3]
        assert all(seen[at] == 0 for at in alone)


@pytest.mark.parametrize(
    "values", [[1, 2, 3], [5, 5, 9], [1, 1, 2, 2, 9], [0.5, 0.7, 0.9, 4.0], [7, 7, 7, 8], [3]]
)
def test_small_columns_stay_within_their_values(values):
    table = Table.from_frame({"x": values}, Schema((Column("x", Kind.CONTINUOUS),)))
    for seed in range(20):
        made = without_rare_numbers(table["x"], table.units, 3, np.random.default_rng(seed)).values
        assert all(min(values) <= v <= max(values) for v in made.tolist())


def leaving(values, seed=0, **given):
    """What leaves of a column of amounts."""
    column = Column("x", Kind.CONTINUOUS, **given)
    return np.asarray(guard(Table.from_frame({"x": values}, Schema((column,))), seed=seed).table["x"].values)


def test_a_long_tail_keeps_its_mean():
    """The outermost values, which stay, were worth 0.14 standard errors of the mean."""
    moved = []
    for seed in range(60):
        values = np.random.default_rng(seed).lognormal(0, 1, 700)
        made = leaving(values, seed)
        moved.append((made.mean() - values.mean()) / values.std() * np.sqrt(len(values)))
    assert abs(np.mean(moved)) < 0.1


@pytest.mark.parametrize("side", [1, -1])
def test_the_last_people_of_a_long_tail_count_only_as_being_beyond(side):
    values = np.sort(np.random.default_rng(3).lognormal(0, 1, 701))
    other = values.copy()
    other[-2:] *= 40
    made = leaving(side * values, 1)
    assert (made == leaving(side * other, 1)).all()
    assert (side * made).max() > values[-3]


@pytest.mark.parametrize("name", ["uniform", "normal", "ages"])
def test_columns_without_a_long_tail_end_before_their_last_value(name):
    rng = np.random.default_rng(4)
    for seed in range(10):
        values = {
            "uniform": rng.random(900),
            "normal": rng.normal(size=900),
            "ages": 18 + 80 * rng.beta(1, 1.5, 900),
        }[name]
        made = leaving(values, seed)
        assert values.min() < made.min()
        assert made.max() < values.max()


def test_amounts_stay_above_nothing_shares_below_one_and_all_within_declared_bounds():
    values = np.random.default_rng(5).lognormal(0, 1, 900)
    ends = {"domain": "declared", "bounds": (0, float(np.sort(values)[-3]))}
    for seed in range(10):
        assert leaving(values, seed, **ends).max() <= ends["bounds"][1]
        assert leaving(values / np.sort(values)[-3], seed).max() <= 1
        assert leaving(10 - values[values < 10], seed).min() >= 0
        assert leaving(1 / values, seed).min() > 0


def test_weights_get_no_longer():
    weights = np.random.default_rng(6).lognormal(0, 1, 900)
    made = [leaving(weights, seed, roles=(Role.WEIGHT,)) for seed in range(5)]
    assert max(one.max() for one in made) < weights.max()
