"""Joining drawn clusters: stitches and patches on small tables."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.synth.syndiffix.stitching import Drawn, join, patch

UNIT = 1 << 40


def drawn(**columns):
    """Columns a, b, c … become numbers 0, 1, 2 …"""
    codes = {ord(name) - ord("a"): np.asarray(values, np.int64) for name, values in columns.items()}
    return Drawn(codes, {i: np.full(len(held), -1, np.int64) for i, held in codes.items()})


def test_shared_stitch_is_a_sorted_zip_with_alternating_values():
    rng = np.random.default_rng(0)
    left_order, right_order = rng.permutation(10), rng.permutation(10)
    left = drawn(a=left_order * UNIT, b=left_order + 100)
    right = drawn(a=right_order * UNIT + 1, c=right_order + 200)
    made = join(left, right, [0], True, rng)
    assert made.rows == 10
    order = np.argsort(made.codes[0], kind="stable")
    assert made.codes[1][order].tolist() == list(range(100, 110))
    assert made.codes[2][order].tolist() == list(range(200, 210))
    assert np.array_equal(np.sort(made.codes[0]) // UNIT, np.arange(10))
    assert sorted((made.codes[0] % UNIT).tolist()) == [0] * 5 + [1] * 5, "half of the values from each side"


@pytest.mark.parametrize(("shared", "rows"), [(True, 11), (False, 10)])
def test_rows_of_a_stitch(shared, rows):
    left, right = drawn(a=np.arange(10) * UNIT), drawn(a=np.arange(12) * UNIT, b=np.arange(12))
    made = join(left, right, [0], shared, np.random.default_rng(1))
    assert made.rows == rows
    if not shared:
        assert np.array_equal(np.sort(made.codes[0]), left.codes[0])


@pytest.mark.parametrize("size", [12, 5])
def test_patch_keeps_the_left_table(size):
    left = drawn(a=np.arange(10), b=np.arange(10) * 3)
    made = patch(left, drawn(c=np.arange(size) + 50), np.random.default_rng(2))
    assert made.rows == 10
    assert np.array_equal(made.codes[0], left.codes[0])
    assert np.array_equal(made.codes[1], left.codes[1])
    assert set(made.codes[2].tolist()) <= set(range(50, 50 + size))
    assert len(set(made.codes[2].tolist())) == min(size, 10), "repeats only where there are too few"


def test_stitching_bisects():
    """Two columns that agree cell by cell are joined cell by cell, not by one global sort."""
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 2, 400), rng.integers(0, 2, 400)
    side = {"a": a * (1 << 60), "b": b * (1 << 60)}
    other = rng.permutation(400)
    right = {name: values[other] for name, values in side.items()}
    made = join(drawn(**side), drawn(**right, c=(a * 2 + b)[other]), [0, 1], False, rng)
    assert np.array_equal(made.codes[2], 2 * (made.codes[0] > 0) + (made.codes[1] > 0))
