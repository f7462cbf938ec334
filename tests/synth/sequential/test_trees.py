"""The tree engine: cells counted in a table or row by row give the same cuts; what a split must earn."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.data import Table
from dalenius.synth.sequential import CartSynthesizer
from dalenius.synth.sequential._kernels.splits import scratch, split_class
from dalenius.synth.sequential._kernels.trees import Response
from dalenius.synth.sequential.design import Design
from dalenius.synth.sequential.fitted import Job, Target, Tuning
from dalenius.synth.sequential.trees import chance_gains


@pytest.mark.slow
@pytest.mark.parametrize("unordered", [False, True])
def test_counted_in_a_table_or_row_by_row_the_cut_is_the_same(unordered):
    rng = np.random.default_rng(1)
    code = rng.integers(0, 12, 900).astype(np.uint8)
    y = ((code + rng.integers(0, 3, 900)) % 5).astype(np.uint8)
    whole = np.bincount(y, minlength=5).astype(float)
    s = scratch(12, 900, Response(np.zeros(0, np.float32), y, 5, np.zeros(0)), True)
    found = []
    for size in (12, 10_000):  # so many codes that a table would not pay: row by row
        found.append(
            split_class(
                code, size, y, np.zeros(0), unordered, 5, whole, np.arange(5), 5, 1, whole @ whole / 900, s
            )
        )
        assert not s.table.any()
    assert found[0] == found[1]
    score, cut, used = found[0]
    assert (cut > 0, used) == (True, 12)
    # The same score by hand, from the rows on both sides.
    left = np.isin(code, s.touched[:cut])
    by_hand = sum(np.sum(np.bincount(y[side]) ** 2.0) / side.sum() for side in (left, ~left))
    assert score == pytest.approx(by_hand)


def gains(values, classes):
    rows = np.arange(len(values))
    return chance_gains(
        Job(Target(np.asarray(values), classes), Design([], len(values)), (), rows, Tuning(), 0)
    )


def test_what_a_split_must_earn_grows_with_rare_levels():
    common = np.arange(10_000) % 4
    rare = np.where(np.arange(10_000) < 60, 4 + np.arange(10_000) % 3, common)
    assert gains(common, 4) == pytest.approx(1.0)  # a quarter of a chance gain for each level
    assert gains(rare, 7) > 4.5  # and a row for each of three levels that 20 people hold
    many = np.arange(3000) % 300  # only rare levels: half a level's rows at most
    assert gains(many, 300) == pytest.approx(5.0, rel=0.01)


def test_a_column_of_many_small_levels_is_still_told_apart():
    rng = np.random.default_rng(3)
    place = rng.integers(0, 200, 6000)
    frame = {"half": [f"h{p // 20}" for p in place], "place": [f"p{p}" for p in place]}
    out = CartSynthesizer().fit(Table.from_frame(frame), seed=1).sample(seed=2).to_frame()
    right = [int(h[1:]) == int(p[1:]) // 20 for h, p in zip(out["half"], out["place"], strict=True)]
    assert np.mean(right) > 0.95
