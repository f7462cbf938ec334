"""Single contributors as intruders: what each of them can compute with its own values added to what is published."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from dalenius.tables._modular import product
from dalenius.tables.model import Bools, Ints
from dalenius.tables.nullspace import NullSpace

MOST_VECTORS = 48


@dataclass(frozen=True, eq=False)
class Exposure:
    """What outsiders and single contributors can compute exactly.

    Attributes
    ----------
    outsider
        Mask of the suppressed cells anybody can compute.
    by_contributor
        Contributor number → places of cells of others it can compute.
    sums
        (intruder, contributor) pairs, intruder 0 being anybody: the intruder can compute the sum of that
        contributor's
        own inner cells.
    combinations
        Pairs for which some combination (a difference, say) of that contributor's inner cells can be
        computed.
    """

    outsider: Bools
    by_contributor: dict[int, Ints]
    sums: tuple[tuple[int, int], ...]
    combinations: tuple[tuple[int, int], ...]

    @property
    def table(self) -> pl.DataFrame:
        """One row per intruder and cell, with numbers instead of names."""
        rows = [(0, int(cell)) for cell in np.flatnonzero(self.outsider)]
        rows += [(who, int(cell)) for who, cells in self.by_contributor.items() for cell in cells]
        return pl.DataFrame(rows, schema={"intruder": pl.Int64, "cell": pl.Int64}, orient="row")


def exposure(
    matrix: Any,
    suppressed: Bools,
    owners: Ints | None = None,
    *,
    hidden: Bools | None = None,
    combinations: bool = True,
) -> Exposure:
    """Find what can be computed from the published cells, by anybody and by each single contributor.

    Parameters
    ----------
    matrix
        Inner cells × cells.
    suppressed
        Mask of the suppressed cells.
    owners
        Contributor number of inner cells with one contributor, 0 otherwise.
    hidden
        Cells that are neither published nor of interest.
    combinations
        Also look for sums and combinations of another contributor's inner cells.

    Examples
    --------
    >>> x = sp.csc_matrix(np.array([[1, 1, 0], [1, 0, 1]]))  # total, first, second
    >>> found = exposure(x, np.array([False, True, True]), owners=np.array([1, 2]))
    >>> found.outsider.any(), found.by_contributor[1].tolist()
    (np.False_, [2])
    """
    matrix = sp.csc_matrix(matrix)
    who = np.zeros(matrix.shape[0], np.int64) if owners is None else np.asarray(owners, np.int64)
    out = np.zeros_like(suppressed) if hidden is None else hidden
    known = matrix[:, np.flatnonzero(~suppressed & ~out)]
    rows_of = {int(c): np.flatnonzero(who == c) for c in np.unique(who[who > 0])}
    widest = max((len(rows) for rows in rows_of.values()), default=0)
    extra = max((len(rows) for rows in rows_of.values() if len(rows) <= MOST_VECTORS // 2), default=0)
    space = NullSpace(known, vectors=min(MOST_VECTORS, widest + extra + 2))
    places = np.flatnonzero(suppressed)
    changes = space.seen(matrix[:, places])
    outsider = np.zeros_like(suppressed)
    outsider[places[~(changes != 0).any(axis=1)]] = True
    by_contributor: dict[int, Ints] = {}
    sums: list[tuple[int, int]] = []
    mixed: list[tuple[int, int]] = []
    own_only = _only_rows_of(matrix[:, places], who)
    everyone = [(0, np.zeros(0, np.int64)), *rows_of.items()]
    for intruder, rows in everyone:
        if len(rows) >= space.vectors.shape[1] - 1:
            ones = sp.csc_matrix(
                (np.ones(len(rows), np.int64), (rows, np.arange(len(rows)))),
                shape=(matrix.shape[0], len(rows)),
            )
            inside = NullSpace(sp.hstack([known, ones]), vectors=extra + 2)
            left, vectors = inside.seen(matrix[:, places]), inside.vectors
        elif len(rows):
            keep = NullSpace.unchanging(space.vectors[rows])
            left, vectors = product(changes, keep), product(space.vectors, keep)
        else:
            left, vectors = changes, space.vectors
        if intruder:
            fresh = ~(left != 0).any(axis=1) & ~outsider[places] & (own_only != intruder)
            if fresh.any():
                by_contributor[intruder] = places[fresh]
        if combinations:
            _combinations(intruder, rows_of, vectors, sums, mixed)
    return Exposure(outsider, by_contributor, tuple(sums), tuple(mixed))


def _combinations(
    intruder: int,
    rows_of: dict[int, Ints],
    vectors: Ints,
    sums: list[tuple[int, int]],
    mixed: list[tuple[int, int]],
) -> None:
    for other, rows in rows_of.items():
        if other == intruder or len(rows) < 2 or len(rows) > vectors.shape[1]:
            continue
        part = vectors[rows]
        if not (part.sum(axis=0) % (2**31 - 1)).any():
            sums.append((intruder, other))
        if NullSpace.unchanging(np.ascontiguousarray(part.T)).shape[1] > 0:
            mixed.append((intruder, other))


def _only_rows_of(cells: Any, who: Ints) -> Ints:
    """The contributor who owns every inner cell of a cell, or 0."""
    cells = sp.csc_matrix(cells)
    result = np.zeros(cells.shape[1], np.int64)
    filled = np.flatnonzero(np.diff(cells.indptr))
    if len(filled):
        entries = who[cells.indices]
        low = np.minimum.reduceat(entries, cells.indptr[filled])
        high = np.maximum.reduceat(entries, cells.indptr[filled])
        result[filled] = np.where(low == high, low, 0)
    return result
