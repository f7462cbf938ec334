"""Noise on a table with far more cells than can be written down.

Every cell gets discrete Laplace noise, the empty ones too, and noisy counts below a threshold become 0. With a
trillion cells nobody draws a trillion noises; only the cells that reach the threshold are found, by their law:

- An empty cell reaches it with chance q = exp(-t/s) / (1 + exp(-1/s)), independently of the others. In any fixed
  order of the cells the gaps between those that do are geometric, so the gaps are drawn and nothing in between.
- What such a cell holds beyond the threshold is geometric too: the tail of the noise has no memory.
- Cells that are occupied get their noise one by one. Gaps run over all cells, and a hit on an occupied (or
  impossible) cell is dropped, so that the other cells do not depend on whether this one is occupied.

Gaps, values and noise are all OpenDP's draws, and the result has the law of the full noisy table (tests compare
them). The scale of the gaps is rounded to a double, which changes ε by less than 1e-15. (Spec
raab-dp-categorical, 2.1; the filter of Cormode, Procopiuc, Srivastava and Tran 2012.)
"""

from __future__ import annotations

import math

import numpy as np

from dalenius.core.errors import OptionError
from dalenius.data.vector import BoolArray, IntArray
from dalenius.dp.noise import add_laplace, draw_geometric

MOST_CELLS = 2**53
"""Positions of cells are exact up to here."""
MOST_HITS = 2**20
"""Empty cells that may be expected to reach the threshold."""
_NEVER = 1e-300
"""Rarer than any double can tell from nothing: only with a threshold hundreds of scales high."""


def noisy_cells(
    keys: IntArray, counts: IntArray, cells: int, scale: float, threshold: int
) -> tuple[IntArray, IntArray]:
    """Cells of a noisy table that reach a threshold, with their noisy counts.

    Parameters
    ----------
    keys, counts
        The occupied cells: their numbers, ascending, and their counts.
    cells
        Number of cells, occupied or not.
    scale
        Scale of the discrete Laplace noise.
    threshold
        Smallest noisy count that is kept, 1 or more.

    Examples
    --------
    >>> found, noisy = noisy_cells(np.array([7]), np.array([500]), 10**12, scale=0.5, threshold=40)
    >>> found.tolist()
    [7]
    """
    own = add_laplace(counts, scale)
    reached = hits(cells, reach(scale, threshold))
    reached = reached[~is_among(reached, keys)]
    values = threshold + draw_geometric(len(reached), scale)
    kept = own >= threshold
    places = np.concatenate([keys[kept], reached])
    order = np.argsort(places)
    return places[order], np.concatenate([own[kept], values])[order]


def find_threshold(cells: int, scale: float, most: float) -> int:
    """Smallest threshold at which all empty cells together are expected to hold at most ``most`` records.

    Examples
    --------
    >>> find_threshold(10**12, scale=1.0, most=25.0)
    28
    """
    threshold = 1
    beyond = 1 / math.expm1(1 / scale)  # what a cell that reaches the threshold holds on top of it
    while cells * reach(scale, threshold) * (threshold + beyond) > most:
        threshold += 1
    return threshold


def expectedhits(cells: int, scale: float, threshold: int) -> float:
    """How many empty cells are expected to reach a threshold.

    Examples
    --------
    >>> round(expectedhits(10**12, scale=1.0, threshold=28), 2)
    0.51
    """
    return cells * reach(scale, threshold)


def refuse_unlistable(cells: int, scale: float, threshold: int, columns: str) -> None:
    """Error when the cells cannot be numbered, or too many of them would reach the threshold."""
    if cells > MOST_CELLS:
        raise OptionError(
            f"the full table has {cells:,} cells, more than {MOST_CELLS:,}; drop columns (the largest: {columns}), "
            "or use loglinear, mst or aim"
        )
    if expectedhits(cells, scale, threshold) > MOST_HITS:
        enough = threshold
        while expectedhits(cells, scale, enough) > MOST_HITS:
            enough += 1
        raise OptionError(
            f"of {cells:,} cells too many would reach the threshold {threshold} by noise alone; give {enough} or more"
        )


def is_among(keys: IntArray, known: IntArray) -> BoolArray:
    """Which keys are among the known ones, which are ascending.

    Examples
    --------
    >>> is_among(np.array([1, 4]), np.array([0, 4, 9])).tolist()
    [False, True]
    """
    if not len(known):
        return np.zeros(len(keys), dtype=bool)
    return np.asarray(known[np.minimum(np.searchsorted(known, keys), len(known) - 1)] == keys)


def reach(scale: float, threshold: int) -> float:
    """Chance that discrete Laplace noise reaches a threshold of 1 or more.

    Examples
    --------
    >>> round(reach(1.0, 1), 3)
    0.269
    """
    return math.exp(-threshold / scale) / (1 + math.exp(-1 / scale))


def hits(cells: int, chance: float) -> IntArray:
    """Positions of the successes among so many independent trials, by the gaps between them.

    Examples
    --------
    >>> hits(5, 1 - 1e-15).tolist()
    [0, 1, 2, 3, 4]
    """
    if chance < _NEVER:
        return np.zeros(0, np.int64)
    scale = -1 / math.log1p(-chance)
    expected = cells * chance
    hit: list[IntArray] = []
    last = -1.0
    while last < cells:
        gaps = draw_geometric(math.ceil(expected + 5 * math.sqrt(expected) + 8), scale)
        # Whole numbers up to 2^53 are exact as floats; beyond the last cell nothing is kept, so no sum overflows.
        places = last + np.cumsum(gaps.astype(np.float64) + 1)
        hit.append(places[places < cells].astype(np.int64))
        last = float(places[-1])
    return np.concatenate(hit)
