"""The anonymiser's counts: suppression, flattening for several rows per unit, row limits."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from dalenius.data import Table
from dalenius.synth.syndiffix._kernels.counting import Flat, count_units
from dalenius.synth.syndiffix._kernels.noise import is_low
from dalenius.synth.syndiffix._kernels.trees import END, SUB
from dalenius.synth.syndiffix.casting import Casting
from dalenius.synth.syndiffix.forest import Forest, Settings
from dalenius.synth.syndiffix.noise import make_noise
from dalenius.synth.syndiffix.options import Anonymity, Growth
from dalenius.synth.syndiffix.units import Units

OFF = Anonymity.off()


def counted(*columns: list[int]) -> float:
    """Row count of one node, noise off; each list names the unit of every row (-1: none)."""
    units = np.array(columns, np.int32)
    ints = np.zeros((1, SUB + 1), np.int32)
    ints[0, END] = units.shape[1]
    hashes = np.tile(np.arange(1, units.max() + 2) * 7919, (len(units), 1))
    perm, rows = np.arange(units.shape[1], dtype=np.int32), np.ones(units.shape[1], np.int64)
    noise = make_noise(b"flat", OFF)
    return float(
        count_units(noise, Flat(2, 2, 2, 2), ints, perm, rows, units, hashes, np.zeros(1, np.uint64))[0]
    )


def test_rows_of_one_unit_column_as_they_come_in():
    seen = [1, 2]
    assert counted(seen) == 1, "two units have no count, which shows as 1"
    seen += [3, 4]
    assert counted(seen) == 4
    seen += [4, 4]
    assert counted(seen) == 4, "more rows of one unit do not show"
    seen += [2, 3]
    assert counted(seen) == 6
    seen += [-1, -1, -1]
    assert counted(seen) == 7, "rows without a unit count as far as they exceed what was cut"


def test_two_unit_columns():
    ten, twenty = [*range(10), *[-1] * 10], list(range(20))
    assert counted(ten, twenty) == 20
    one_busy = [*range(20), *[20] * 10]
    other_busy = [*range(10), *[10] * 20]
    assert counted(one_busy, other_busy) == 11, "the column that is cut most decides"
    assert counted(twenty, [0] * 20) == 1, "a single unit has no count"


def test_few_are_always_low_and_many_never():
    noise = make_noise(b"low", Anonymity())
    assert all(is_low(noise, 3.0, 1, seed) and is_low(noise, 3.0, 2, seed) for seed in range(500))
    assert not any(is_low(noise, 3.0, 100, seed) for seed in range(500))


def test_repeated_or_missing_units_do_not_change_the_number_of_units():
    frame = pl.DataFrame({"who": [1, 2, 3, 3, 3, None, None], "x": [5] * 7})
    table = Table.from_frame(frame)
    units = Units.of_columns([table["who"]], b"s")
    axis, codes = Casting().cast(table["x"])
    tree = Forest([axis], [codes], units, Settings(b"s", OFF, threads=1)).tree((0,))
    assert (tree.units[0], tree.rows[0]) == (3, 7)


@pytest.mark.parametrize(
    ("rows", "fraction", "low", "high"),
    [
        (100, 1, 95, 105),
        (200, 2, 95, 105),
        (100, 10_000, 0, 0),
        (10_000, 10_000, 1, 1),
        (10**6, 10_000, 95, 105),
    ],
)
def test_row_limit(rows, fraction, low, high):
    table = Table.from_frame({"x": [1, 2, 3]})
    axis, codes = Casting().cast(table["x"])
    found = set()
    for salt in (b"1", b"2", b"3", b"4"):
        settings = Settings(salt, growth=Growth(row_fraction=fraction), threads=1)
        forest = Forest([axis], [codes], Units.of_rows(3, salt), settings)
        forest.total = rows
        found.add(forest.rule((0,)).row_limit)
    assert all(low <= limit <= high for limit in found)
    assert len(found) > 1 or low == high


def test_noise_of_a_count_has_mean_0_and_sd_1_41():
    frame = {"x": [1] * 40 + [2] * 60}
    table = Table.from_frame(frame)
    errors = []
    for salt in range(600):
        key = str(salt).encode()
        axis, codes = Casting().cast(table["x"])
        tree = Forest([axis], [codes], Units.of_rows(100, key), Settings(key, threads=1)).tree((0,))
        errors.append(tree.noisy[0] - 100)
    # Rounding to whole numbers adds 1/12 to the variance.
    assert np.mean(errors) == pytest.approx(0, abs=4 * 1.45 / np.sqrt(600))
    assert np.std(errors) == pytest.approx(np.sqrt(2 + 1 / 12), rel=0.12)
