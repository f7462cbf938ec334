"""Random columns of codes, and the slow way to count them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from dalenius.counts import Counts
from dalenius.data.vector import Categories, compact


def make(seed: int, rows: int, sizes: Sequence[int], used: int = 1 << 40) -> list[Categories]:
    """Random columns; ``used`` limits how many levels occur, so that rows repeat in wide tables."""
    rng = np.random.default_rng(seed)
    return [
        Categories(compact(rng.integers(0, max(min(size, used), 1), rows), size), list(range(size)))
        for size in sizes
    ]


@st.composite
def columns(draw: st.DrawFn, wide: bool = False) -> list[Categories]:
    """Few columns of few levels, or tables far beyond 2**63 cells."""
    size = st.sampled_from([1, 2, 50, 300, 70_000]) if wide else st.integers(1, 7)
    sizes = draw(st.lists(size, min_size=12 if wide else 1, max_size=24 if wide else 5))
    rows = draw(st.integers(0, 60))
    return make(draw(st.integers(0, 2**32)), rows, sizes, used=draw(st.integers(1, 4)))


def names(categories: Sequence[Categories]) -> list[str]:
    return [f"c{i}" for i in range(len(categories))]


def brute(
    categories: Sequence[Categories], weights: Sequence[float] | None = None
) -> dict[tuple[int, ...], float]:
    found: Counter[tuple[int, ...]] = Counter()
    rows = zip(*(each.codes.tolist() for each in categories), strict=True)
    for i, row in enumerate(rows):
        found[row] += 1 if weights is None else weights[i]  # type: ignore[assignment]
    return dict(found)


def as_dict(table: Counts) -> dict[tuple[int, ...], float]:
    return {tuple(cell): n for cell, n in zip(table.cells.tolist(), table.counts.tolist(), strict=True)}
