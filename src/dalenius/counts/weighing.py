"""Weighted contingency tables: shares of the population, and how much less than so many rows they tell.

A table of n weighted rows scatters like one of n / D unweighted rows, where D is the mean design effect of its cells
(Rao, Scott 1981). Statistics that are 1 for a correct model are divided by it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.counts import _weighing_kernels as _kernels
from dalenius.counts.counts import Counts
from dalenius.counts.keys import BLOCK, add_up, distinct, fill, is_dense, product, ravel
from dalenius.counts.memory import WORTH_THREADS, thread_count
from dalenius.data.design import Design
from dalenius.data.replicates import Floats
from dalenius.data.units import Units
from dalenius.data.vector import AnyArray, Categories, IntArray


@dataclass(frozen=True, eq=False)
class Weighed:
    """One table of one file.

    Attributes
    ----------
    counts
        Weights of each cell, scaled to sum to the number of rows (or counts, where rows count alike).
    effect
        Mean design effect of the cells' shares, rows taken as independent of each other; 1 without weights.
    """

    counts: Counts
    effect: float = 1.0


def weigh_many(
    categories: Mapping[str, Categories], tables: Sequence[tuple[str, ...]], design: Design
) -> dict[tuple[str, ...], Weighed]:
    """Weighted tables of the same rows.

    Examples
    --------
    >>> sex = Categories(np.array([0, 1, 0]), ("f", "m"))
    >>> found = weigh_many({"sex": sex}, [("sex",)], Design(np.array([1.0, 4.0, 1.0])))["sex",]
    >>> found.counts.counts.tolist(), found.effect
    ([1.0, 2.0], 1.0)
    """
    weights = np.ascontiguousarray(design.scaled)

    def one(table: tuple[str, ...]) -> Weighed:
        parts = [categories[name] for name in table]
        sizes = [part.size for part in parts]
        keys, sums, squares = _added([part.codes for part in parts], sizes, weights)
        counts = Counts(table, tuple(part.labels for part in parts), keys, sums)
        return Weighed(counts, mean_effect(sums, squares, len(weights)))

    threads = min(thread_count(), len(tables)) if len(weights) * len(tables) >= WORTH_THREADS else 1
    if threads <= 1:
        return {table: one(table) for table in tables}
    with ThreadPoolExecutor(threads) as pool:
        return dict(zip(tables, pool.map(one, tables), strict=True))


def mean_effect(sums: AnyArray, squares: AnyArray, rows: int) -> float:
    """Mean design effect of the shares of a table's cells: Σ V_i / p_i over what it is for equal weights.

    The mean eigenvalue of Rao and Scott 1981, section 2, whose test divides by it; V_i are the variances of weighted
    shares p_i of independent rows.

    Examples
    --------
    >>> mean_effect(np.array([30.0, 70.0]), np.array([30.0, 70.0]), 100)
    1.0
    """
    there = sums > 0
    cells, total = int(np.count_nonzero(there)), float(sums.sum())
    if cells < 2 or total <= 0:
        return 1.0
    inside = float(np.sum(squares[there] * (total / sums[there])))
    return rows * (inside - float(squares.sum())) / (total**2 * (cells - 1))


def clustered_effect(columns: Sequence[Categories], design: Design) -> float:
    """Mean design effect of a table's shares under the whole design: strata, units, margins and replicates too.

    Examples
    --------
    >>> sex = Categories(np.array([0, 0, 1, 1]), ("f", "m"))
    >>> round(clustered_effect([sex], Design(np.ones(4), psu=np.array([0, 0, 1, 1]))), 3)
    3.0
    """
    sizes = [part.size for part in columns]
    _, ids = distinct(ravel([part.codes for part in columns], sizes, design.rows), sizes)
    cells = int(ids.max(initial=-1)) + 1
    if cells < 2:
        return 1.0
    weights = design.scaled
    share = np.bincount(ids, weights, minlength=cells) / design.rows
    there = share > 0
    variances = _cell_variances(ids, cells, share, design)
    # of equal weights and no units this is 1, since a row less than there are is left when the mean is known
    rows = design.rows - 1
    return float(np.sum(variances[there] / share[there])) * rows / max(int(np.count_nonzero(there)) - 1, 1)


FEW_UNITS = 30
"""With fewer units than these nothing can be said of how alike the rows of one are."""


def unit_effect(columns: Sequence[Categories], units: Units, design: Design | None = None) -> float:
    """How many times more a table's shares scatter because people with several rows were drawn, not rows; at least 1.

    1 where everybody has one row, where there are too few people to tell, and where the survey's own design tells of
    units drawn together.

    Examples
    --------
    >>> sex = Categories(np.repeat([0, 1], 120), ("f", "m"))
    >>> round(unit_effect([sex], Units(np.arange(240) // 4, 60)), 2)
    4.05
    """
    known = design is not None and (design.psu is not None or design.replicates is not None)
    if units.codes is None or units.count < FEW_UNITS or units.most_rows < 2 or known:
        return 1.0
    weights = np.ones(len(units.codes)) if design is None else design.weights
    alone = clustered_effect(columns, Design(weights))
    return max(clustered_effect(columns, Design(weights, psu=units.codes)) / alone, 1.0) if alone > 0 else 1.0


def _cell_variances(ids: IntArray, cells: int, share: Floats, design: Design) -> Floats:
    """Variance of each cell's share: by replicates where units are not known, by linearisation otherwise."""
    if design.replicates is not None and design.psu is None:
        return np.diag(
            design.spread(lambda w: np.bincount(ids, w, minlength=cells) / max(float(w.sum()), 1e-300))
        )
    stages, weights = design.stages, design.scaled / design.rows
    units, strata = len(stages.home), len(stages.sizes)
    # Σ_j g_h (T_ij − p_i U_j)² less the strata's means, with T_ij the weight of unit j in cell i and U_j all of it,
    # written out so that only the cells that a unit has are held.
    pairs, at = np.unique(ids.astype(np.int64) * units + stages.unit, return_inverse=True)
    t, u = np.bincount(at, weights), np.bincount(stages.unit, weights, minlength=units)
    cell, unit = pairs // units, pairs % units
    blocks, at = np.unique(cell * strata + stages.home[unit], return_inverse=True)
    s, whole = np.bincount(at, t), np.bincount(stages.home, u, minlength=strata)
    own, home = blocks // strata, blocks % strata
    sizes = stages.sizes.astype(np.float64)
    g = np.where(sizes > 1, sizes / np.maximum(sizes - 1, 1), 1.0)
    if design.fraction is not None:
        drawn = np.zeros(strata)
        drawn[stages.home[stages.unit]] = design.fraction
        g = g * (1 - drawn)
    per, g = np.where(sizes > 1, g / sizes, 0.0), g[stages.home]

    def add(i: IntArray, values: Floats) -> Floats:
        return np.asarray(np.bincount(i, values, minlength=cells), np.float64)

    squares = add(cell, g[unit] * t**2) - add(own, per[home] * s**2)
    products = add(cell, g[unit] * t * u[unit]) - add(own, per[home] * s * whole[home])
    last = float(np.sum(g * u**2) - np.sum(per * whole**2))
    return np.maximum(squares - 2 * share * products + share**2 * last, 0.0)


def _added(
    codes: Sequence[IntArray], sizes: Sequence[int], weights: Floats
) -> tuple[IntArray, Floats, Floats]:
    """Keys of the cells that have weight, their weights and squared weights."""
    rows, space = len(weights), product(sizes)
    if not is_dense(space, rows):
        values, ids = distinct(ravel(codes, sizes, rows), sizes)
        return values, add_up(ids, len(values), weights), add_up(ids, len(values), weights**2)
    width: type[np.integer[Any]] = np.uint32 if space < 2**32 else np.int64
    sums = np.zeros((space, 2))
    buffer = np.zeros(min(BLOCK, rows), dtype=width)
    for begin in range(0, rows, BLOCK):
        keys = buffer[: rows - begin]
        fill(keys, codes, sizes, begin)
        _kernels.add_weights(keys, weights[begin : begin + len(keys)], sums)
    cells = np.flatnonzero(sums[:, 0]).astype(np.int64)
    return cells, sums[cells, 0], sums[cells, 1]
