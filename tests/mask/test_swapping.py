"""Rank swapping keeps columns; targeted swapping moves every household at risk and leaves margins above alone."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius.core.errors import DataError
from dalenius.data import examples
from dalenius.data.table import Table
from dalenius.mask.household_swap import SwapHouseholds
from dalenius.mask.rank_swap import RankSwap

LEVELS = ("region", "district", "municipality")
KEYS = ("sex", "marital", "education")


@pytest.fixture(scope="module")
def population() -> Table:
    return Table.from_frame(examples.population(20_000, 1), examples.population_schema())


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 300), st.floats(0.01, 1.0), st.booleans())
def test_values_stay_in_the_column_and_near(seed: int, rows: int, share: float, ties: bool) -> None:
    values = np.random.default_rng(seed).normal(size=rows) * 10
    table = Table.from_frame({"pay": np.round(values) + 0.5 if ties else values})
    made = RankSwap(("pay",), share=share).apply(table, seed).table["pay"].data
    assert np.array_equal(np.sort(made), np.sort(table["pay"].data))
    if not ties:
        rank = np.argsort(np.argsort(values))
        place = dict(zip(values, rank, strict=True))
        far = np.abs(np.array([place[value] for value in made]) - rank)
        assert far.max() <= max(1, int(share * rows))
        assert (far > 0).sum() >= rows - 1 - rows % 2


def test_ends_and_strata() -> None:
    table = Table.from_frame({"pay": np.arange(100.0) + 0.5, "s": ["a", "b"] * 50})
    made = RankSwap(("pay",), share=0.1, top=0.05, bottom=0.05).apply(table, 1).table["pay"].data
    assert np.sum(made == 97.5) == 5
    assert np.sum(made == 2.5) == 5
    within = RankSwap(("pay",), share=0.2, strata=("s",)).apply(table, 1).table["pay"].data
    assert sorted(within[::2].tolist()) == table["pay"].data[::2].tolist()


def margin(table: Table, names: list[str]) -> dict:
    frame = pl.DataFrame({n: table[n].categories.codes.astype(int) for n in names})
    return {row[:-1]: row[-1] for row in frame.group_by(names).len().rows()}


def test_every_household_at_risk_is_swapped(population: Table) -> None:
    made = SwapHouseholds(LEVELS, KEYS, k=3, similar=("sex",), carry=("longitude", "latitude")).apply(
        population, 1
    )
    assert made.figures["households at risk"] > 100
    assert made.figures["households at risk left"] == 0
    homes = population["household_id"].data
    moved = np.any([population[n].data != made.table[n].data for n in LEVELS], axis=0)
    first, at = np.unique(homes, return_index=True)
    assert (moved == moved[at][np.searchsorted(first, homes)]).all()  # whole households move
    assert int(moved[at].sum()) == made.figures["households swapped"]
    for name in ("region", "district", "municipality"):  # at risk at any level: moved at that level or above
        level = LEVELS[: LEVELS.index(name) + 1]
        cells = pl.DataFrame({n: population[n].categories.codes.astype(int) for n in (*level, *KEYS)})
        rare = (cells.select(pl.len().over(cells.columns)).to_series() < 3).to_numpy()
        assert moved[rare].all()


def test_margins_above_the_level_are_unchanged(population: Table) -> None:
    keys = [*KEYS, "age"]
    made = SwapHouseholds(("region", "district"), KEYS, k=3).apply(population, 1)
    assert margin(made.table, keys) == margin(population, keys)
    lower = SwapHouseholds(LEVELS[:2], KEYS, k=2)
    only = SwapHouseholds(("region", "municipality"), ("sex",), k=2, rate=0.1).apply(population, 1)
    assert (
        only.figures["swaps at region"] == 0
    )  # nobody is rare by sex in a region, so regions keep everybody
    assert margin(only.table, ["region", *keys]) == margin(population, ["region", *keys])
    assert only.figures["households swapped"] >= 0.1 * only.figures["households"] - 1
    assert lower.apply(population, 2).figures["households at risk left"] == 0


def test_partners_are_alike(population: Table) -> None:
    made = SwapHouseholds(("region", "municipality"), ("sex",), k=2, rate=0.05, similar=("sex",)).apply(
        population, 3
    )
    both = ["municipality", "sex"]
    changed = made.figures["households swapped"]
    assert changed > 100
    same = margin(made.table, both), margin(population, both)
    off = sum(abs(same[0].get(cell, 0) - same[1].get(cell, 0)) for cell in {*same[0], *same[1]})
    assert off <= 0.02 * population.rows  # only those that found nobody alike


def test_same_seed_same_bytes_and_faults(population: Table) -> None:
    step = SwapHouseholds(LEVELS, KEYS, k=3)
    one, two, three = (
        step.apply(population, seed).table["municipality"].data.tobytes() for seed in (1, 1, 2)
    )
    assert one == two != three
    split = Table.from_frame({"home": [1, 1, 2], "town": ["a", "b", "a"], "sex": ["f", "f", "m"]})
    with pytest.raises(DataError, match="1 rows are in another area"):
        SwapHouseholds(("town",), ("sex",), household="home").apply(split)
    with pytest.raises(DataError, match="no keys"):
        SwapHouseholds(("town",)).apply(split)


def test_it_is_told_where_no_household_of_the_size_is_left() -> None:
    """One family of five and couples everywhere: it is protected, and two areas change by three people."""
    homes = [0] * 5 + [i for i in range(1, 40) for _ in range(2)]
    areas = ["a" if home < 20 else "b" for home in homes]
    ages = ["old" if home == 0 else "young" for home in homes]
    table = Table.from_frame({"home": homes, "area": areas, "age": ages})
    made = SwapHouseholds(("area",), ("age",), k=6, household="home").apply(table, 1)
    assert made.figures["households at risk left"] == 0
    assert made.figures["households swapped with another size"] == 2
    assert made.figures["people counted in another area"] == 3
    assert "3 people are counted in another area" in made.notes[0]
    couples = table.take(np.arange(5, table.rows))
    even = SwapHouseholds(("area",), ("age",), k=60, household="home").apply(couples, 1)
    assert even.figures["people counted in another area"] == 0
    assert "every area has as many people as before" in even.notes[0]
