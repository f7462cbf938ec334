"""The input of an elimination, checked: which cells are tried, protected, forced or hidden."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from dalenius.core.errors import DataError
from dalenius.tables.protected import Bools, Ints, first_of_kind, signatures


@dataclass
class Problem:
    """Checked input with equal columns merged: one column stands for all cells that are the same sum.

    Attributes
    ----------
    matrix
        Inner cells × cells.
    stands_for
        For every cell the first cell with the same column.
    order, primary, forced
        Distinct columns to try, to protect and to publish in any case.
    extra, known
        Further columns: to be protected; known to everybody.
    tried, was_primary
        The cells that were asked for, before merging.
    given_away
        Primary cells that are the same sum as a forced one.
    groups
        Number of the group a column belongs to (its members are suppressed together), 0 for none.
    """

    matrix: Any
    stands_for: Ints
    order: Ints
    primary: Ints
    forced: Ints
    extra: Any
    known: Any
    tried: Ints
    was_primary: Bools
    given_away: Ints
    groups: Ints
    notes: list[str] = field(default_factory=list)

    @classmethod
    def read(
        cls,
        matrix: Any,
        candidates: Any,
        primary: Any,
        forced: Any = (),
        hidden: Any = (),
        extra: Any = None,
        known: Any = None,
        groups: Any = None,
        further: Any = (),
    ) -> Problem:
        """Check the input and merge equal columns; ``further`` candidates are to be protected as well."""
        matrix = _integers(matrix)
        cells = matrix.shape[1]
        tried, primary, forced = _roles(cells, candidates, primary, forced, hidden)
        place = first_of_kind(signatures(matrix))
        group = _merged(_checked_groups(groups, cells), place)
        was_primary = np.zeros(cells, np.bool_)
        was_primary[primary] = True
        primary = _with_mates(np.concatenate([primary, np.asarray(further, np.int64)]), forced, group)
        empty = np.diff(matrix.indptr) == 0
        notes = []
        if empty[primary].any():
            notes.append(
                f"{int(empty[primary].sum())} primary cells have no inner cell and cannot be protected; "
                "extend the input with zeros if they are not structural."
            )
        heads = _unique(place[forced])
        guarded = np.setdiff1d(place[primary[~empty[primary]]], heads)
        order = _unique(place[tried])
        order = order[~np.isin(order, guarded) & ~np.isin(order, heads) & ~empty[order]]
        given_away = primary[np.isin(place[primary], heads) & ~empty[primary]]
        return cls(
            matrix, place, order, guarded, heads, _columns(extra, matrix, "extra"), _columns(known, matrix, "known"),
            tried, was_primary, given_away, group, notes,
        )  # fmt: skip

    @property
    def bundles(self) -> list[list[int]]:
        """Positions in ``order`` to be decided together: groups where their first member stands, others alone."""
        bundles: dict[int, list[int]] = {}
        for position, group in enumerate(self.groups[self.order].tolist()):
            bundles.setdefault(group if group else -1 - position, []).append(position)
        return list(bundles.values())


def _roles(cells: int, candidates: Any, primary: Any, forced: Any, hidden: Any) -> tuple[Ints, Ints, Ints]:
    """Cells to try, primary and forced ones; forced beats primary and hidden."""
    tried, primary, forced, hidden = (
        _places(what, name, cells)
        for what, name in (
            (candidates, "candidates"),
            (primary, "primary"),
            (forced, "forced"),
            (hidden, "hidden"),
        )
    )
    primary = np.setdiff1d(primary, forced)
    taken = np.concatenate([primary, forced, np.setdiff1d(hidden, forced)])
    tried = tried[~np.isin(tried, taken)]
    missing = np.setdiff1d(np.arange(cells), np.concatenate([tried, taken]))
    if len(missing):
        raise DataError(f"the candidate order misses {len(missing)} of {cells} cells; "
                        "every cell that is not primary, forced or hidden must be in it")  # fmt: skip
    return tried, primary, forced


def _columns(given: Any, matrix: Any, name: str) -> Any:
    """Further columns over the same inner cells."""
    columns = sp.csc_matrix((matrix.shape[0], 0), dtype=np.int64) if given is None else _integers(given)
    if columns.shape[0] != matrix.shape[0]:
        raise DataError(
            f"{name} columns have {columns.shape[0]} rows, the table has {matrix.shape[0]} inner cells"
        )
    return columns


def _checked_groups(groups: Any, cells: int) -> Ints:
    if groups is None:
        return np.zeros(cells, np.int64)
    array = np.asarray(groups, np.int64)
    if array.shape != (cells,) or (cells and array.min() < 0):
        raise DataError(f"groups needs one number of 0 or more for each of {cells} cells")
    return array


def _merged(groups: Ints, place: Ints) -> Ints:
    """Groups that share a sum become one; the group of a cell is that of the column that stands for it."""
    member = np.flatnonzero(groups)
    if not len(member):
        return groups
    cells = len(groups)
    nodes = cells + int(groups.max()) + 1
    links = sp.coo_matrix(
        (np.ones(len(member)), (place[member], cells + groups[member])), shape=(nodes, nodes)
    )
    component = connected_components(links, directed=False)[1]
    used = np.unique(component[place[member]])
    number = np.zeros(int(component.max()) + 1, np.int64)
    number[used] = np.arange(1, len(used) + 1)
    return np.asarray(number[component[place]], np.int64)


def _with_mates(primary: Ints, forced: Ints, groups: Ints) -> Ints:
    """Primary cells and, in the same groups, all that are not forced."""
    hit = np.unique(groups[primary])
    mates = np.flatnonzero(np.isin(groups, hit[hit > 0]))
    return np.concatenate([primary, np.setdiff1d(mates, np.concatenate([primary, forced]))])


def _integers(matrix: Any) -> Any:
    matrix = sp.csc_matrix(matrix)
    data = np.rint(matrix.data).astype(np.int64)
    if not np.array_equal(data, matrix.data):
        raise DataError("the matrix of inner cells and published cells must hold whole numbers")
    if len(data) and np.abs(data).max() > 2**30:
        raise DataError("the matrix of inner cells and published cells holds numbers above 2³⁰")
    matrix = sp.csc_matrix((data, matrix.indices, matrix.indptr), shape=matrix.shape)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    return matrix


def _places(given: Any, name: str, cells: int) -> Ints:
    array = np.asarray(given)
    if array.dtype == bool:
        if len(array) != cells:
            raise DataError(f"{name} has {len(array)} marks for {cells} cells")
        return np.flatnonzero(array).astype(np.int64)
    array = _unique(array.astype(np.int64).ravel())
    if len(array) and (array.min() < 0 or array.max() >= cells):
        raise DataError(f"{name} names cells outside 0 … {cells - 1}")
    return array


def _unique(array: Ints) -> Ints:
    """Distinct values in order of first appearance."""
    _, first = np.unique(array, return_index=True)
    return array[np.sort(first)]


def rows_of(problem: Problem, small_rows: Any, owners: Any) -> tuple[Bools, Ints]:
    """Checked marks of the inner cells: small ones, and the contributor of those that have just one."""
    count = problem.matrix.shape[0]
    small = np.zeros(count, np.bool_) if small_rows is None else np.asarray(small_rows, bool)
    who = np.zeros(count, np.int64) if owners is None else np.asarray(owners, np.int64)
    for name, array in (("small_rows", small), ("owners", who)):
        if array.shape != (count,):
            raise DataError(f"{name} has {array.size} entries for {count} inner cells")
    if len(who) and who.min() < 0:
        raise DataError("owners must be 0 (not a single contributor) or a positive contributor number")
    return small, who
