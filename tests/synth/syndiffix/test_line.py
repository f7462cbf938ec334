"""The tree of one column grown from sorted rows is the tree that moving rows gives, node by node."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dalenius.synth.syndiffix._kernels.line import grow_line
from dalenius.synth.syndiffix._kernels.trees import Items, Rule, grow
from dalenius.synth.syndiffix.noise import make_noise
from dalenius.synth.syndiffix.options import Anonymity

NOISE = make_noise(b"secret", Anonymity())
CODES = {
    "spread": lambda rng, n: rng.integers(0, 1 << 62, n),
    "few values": lambda rng, n: rng.integers(0, 20, n) << 57,
    "close together": lambda rng, n: (1 << 60) + rng.integers(0, 50, n),
    "one value": lambda rng, n: np.full(n, 123_456_789),
}


@pytest.mark.parametrize("kind", CODES)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 300), depth=st.integers(0, 20), limit=st.integers(0, 30))
def test_same_nodes(kind, seed, n, depth, limit):
    rng = np.random.default_rng(seed)
    codes = CODES[kind](rng, n).astype(np.int64)
    rows = rng.integers(1, 4, n)
    counts = np.where(rng.random(n) < 0.1, 0, rows)  # rows outside the range have no units
    hashes = np.where(counts > 0, rng.integers(-(2**62), 2**62, n), 0)
    rule = Rule(4.0, 3.0, depth, limit, bool(seed % 2), False, False)
    items = Items(
        codes[:, None],
        codes[:, None],
        rows,
        counts,
        hashes,
        np.zeros((0, n), np.int32),
        np.zeros((0, 0), np.int64),
    )
    ints, wide, _ = grow(items, NOISE, rule, np.zeros((0, 4), np.int32), np.full(1, -1, np.int32))
    order = np.argsort(codes)
    line = grow_line(codes[order], rows[order], counts[order], hashes[order], NOISE, rule)
    np.testing.assert_array_equal(line[0], ints)
    np.testing.assert_array_equal(line[1], wide)
