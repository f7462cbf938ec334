"""Contributors as intruders: what they can compute with their own values added to what is published."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from dalenius.core.errors import OptionError
from dalenius.published._modular import PRIME, product
from dalenius.published.nullspace import NullSpace
from dalenius.tables.model import Bools, Ints

MOST_VECTORS = 48

NOBODY = np.zeros(0, np.int64)


@dataclass(frozen=True, eq=False)
class Exposure:
    """What outsiders, single contributors and coalitions can compute exactly.

    Attributes
    ----------
    outsider
        Mask of the suppressed cells anybody can compute.
    by_contributor
        Contributor number → places of cells of others it can compute.
    sums
        (intruder, contributor) pairs, intruder 0 being anybody: the intruder can compute the sum of that contributor's
        own inner cells.
    combinations
        Pairs for which some combination (a difference, say) of that contributor's inner cells can be computed.
    by_coalition
        Number of the coalition (0 …) → places of cells of others it can compute.
    """

    outsider: Bools
    by_contributor: dict[int, Ints]
    sums: tuple[tuple[int, int], ...]
    combinations: tuple[tuple[int, int], ...]
    by_coalition: dict[int, Ints] = field(default_factory=dict)

    @property
    def insiders(self) -> list[Ints]:
        """The cells of others that each contributor or coalition can compute."""
        return [*self.by_contributor.values(), *self.by_coalition.values()]

    @property
    def table(self) -> pl.DataFrame:
        """One row per intruder and cell, with numbers instead of names: 0 anybody, -1 … the coalitions."""
        rows = [(0, int(cell)) for cell in np.flatnonzero(self.outsider)]
        rows += [(who, int(cell)) for who, cells in self.by_contributor.items() for cell in cells]
        rows += [(-1 - who, int(cell)) for who, cells in self.by_coalition.items() for cell in cells]
        return pl.DataFrame(rows, schema={"intruder": pl.Int64, "cell": pl.Int64}, orient="row")


def inner_cells_of(owners: Ints | None, coalitions: Sequence[Sequence[int]] = ()) -> dict[int, Ints]:
    """Intruder → inner cells it knows: contributors by number, coalitions as -1, -2, ….

    Examples
    --------
    >>> {who: rows.tolist() for who, rows in inner_cells_of(np.array([1, 0, 2, 1]), [(1, 2)]).items()}
    {1: [0, 3], 2: [2], -1: [0, 2, 3]}
    """
    if owners is None:
        return {}
    owned = np.flatnonzero(owners > 0)
    owned = owned[np.argsort(owners[owned], kind="stable")]
    people, first = np.unique(owners[owned], return_index=True)
    known = dict(zip(people.tolist(), np.split(owned, first[1:]), strict=True)) if len(people) else {}
    for number, members in enumerate(coalitions, 1):
        known[-number] = np.flatnonzero(np.isin(owners, list(members)))
    return known


def numbered(coalitions: Sequence[Sequence[str]], contributors: Sequence[str]) -> list[list[int]]:
    """Coalitions of names as numbers of contributors.

    Examples
    --------
    >>> numbered([("b", "a")], ("a", "b"))
    [[2, 1]]
    """
    number = {name: i for i, name in enumerate(contributors, 1)}
    lost = sum(name not in number for members in coalitions for name in members)
    if lost:
        raise OptionError(
            f"{lost} members of coalitions are not contributors of this table; check their codes"
        )
    return [[number[name] for name in members] for members in coalitions]


def exposure(
    matrix: Any,
    suppressed: Bools,
    owners: Ints | None = None,
    *,
    hidden: Bools | None = None,
    combinations: bool = True,
    coalitions: Sequence[Sequence[int]] = (),
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
    coalitions
        Contributors (by number) who pool what they know.

    Examples
    --------
    >>> x = sp.csc_matrix(np.array([[1, 1, 0], [1, 0, 1]]))  # total, first, second
    >>> found = exposure(x, np.array([False, True, True]), owners=np.array([1, 2]))
    >>> found.outsider.any(), found.by_contributor[1].tolist()
    (np.False_, [2])
    """
    matrix = sp.csc_matrix(matrix)
    out = np.zeros_like(suppressed) if hidden is None else hidden
    people = inner_cells_of(owners, coalitions)
    view = _View(matrix, np.flatnonzero(suppressed), np.flatnonzero(~suppressed & ~out), people)
    outsider = np.zeros_like(suppressed)
    outsider[view.places[~(view.changes != 0).any(axis=1)]] = True
    found: dict[int, Ints] = {}
    sums: list[tuple[int, int]] = []
    mixed: list[tuple[int, int]] = []
    for intruder, rows in ((0, NOBODY), *people.items()):
        left, vectors = view.of(rows)
        if intruder:
            fresh = ~(left != 0).any(axis=1) & ~outsider[view.places] & ~inside_only(view.cells, rows)
            if fresh.any():
                found[intruder] = view.places[fresh]
        if combinations and intruder >= 0:
            _combinations(intruder, people, vectors, sums, mixed)
    single = {who: cells for who, cells in found.items() if who > 0}
    pooled = {-1 - who: cells for who, cells in found.items() if who < 0}
    return Exposure(outsider, single, tuple(sums), tuple(mixed), pooled)


class _View:
    """Random changes of the inner cells that no published cell shows, as outsiders and insiders see them."""

    def __init__(self, matrix: Any, places: Ints, known: Ints, people: Mapping[int, Ints]) -> None:
        self.cells, self.places, self.known = matrix[:, places], places, matrix[:, known]
        widest = max((len(rows) for rows in people.values()), default=0)
        fitting = [len(rows) for rows in people.values() if len(rows) <= MOST_VECTORS // 2]
        self.spare = max(fitting, default=0) + 2
        self.space = NullSpace(self.known, vectors=min(MOST_VECTORS, widest + self.spare))
        self.changes = self.space.seen(self.cells)

    def of(self, rows: Ints) -> tuple[Ints, Ints]:
        """The changes of the suppressed cells, and of the inner cells, that leave some inner cells as they are."""
        if not len(rows):
            return self.changes, self.space.vectors
        if len(rows) < self.space.vectors.shape[1] - 1:
            keep = NullSpace.unchanging(self.space.vectors[rows])
            return product(self.changes, keep), product(self.space.vectors, keep)
        ones = sp.csc_matrix(
            (np.ones(len(rows), np.int64), (rows, np.arange(len(rows)))),
            shape=(self.cells.shape[0], len(rows)),
        )
        inside = NullSpace(sp.hstack([self.known, ones]), vectors=self.spare)
        return inside.seen(self.cells), inside.vectors


def inside_only(cells: Any, rows: Ints) -> Bools:
    """Cells that consist of these inner cells only.

    Examples
    --------
    >>> inside_only(sp.csc_matrix(np.array([[1, 1, 0], [1, 0, 1]])), np.array([0])).tolist()
    [False, True, False]
    """
    mine, sizes = np.zeros(cells.shape[0]), np.diff(cells.indptr)
    mine[rows] = 1.0
    return (np.asarray((cells != 0).T @ mine) == sizes) & (sizes > 0)


def _combinations(
    intruder: int,
    people: Mapping[int, Ints],
    vectors: Ints,
    sums: list[tuple[int, int]],
    mixed: list[tuple[int, int]],
) -> None:
    for other, rows in people.items():
        if other < 0 or other == intruder or len(rows) < 2 or len(rows) > vectors.shape[1]:
            continue
        part = vectors[rows]
        if not (part.sum(axis=0) % PRIME).any():
            sums.append((intruder, other))
        if NullSpace.unchanging(np.ascontiguousarray(part.T)).shape[1] > 0:
            mixed.append((intruder, other))
