"""The input of an elimination, checked: which cells are tried, protected, forced or hidden."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from dalenius.core.errors import DataError
from dalenius.tables.protected import Bools, Ints, first_of_kind, signatures


@dataclass
class Problem:
    """Checked input with equal columns merged: one column stands for all cells that are the same sum."""

    matrix: Any
    stands_for: Ints
    order: Ints
    primary: Ints
    forced: Ints
    extra: Any
    tried: Ints
    was_primary: Bools
    notes: list[str] = field(default_factory=list)

    @classmethod
    def read(
        cls, matrix: Any, candidates: Any, primary: Any, forced: Any, hidden: Any, extra: Any
    ) -> Problem:
        """Check the input and merge equal columns."""
        matrix = _integers(matrix)
        cells = matrix.shape[1]
        chosen = [
            _places(what, name, cells)
            for what, name in (
                (candidates, "candidates"),
                (primary, "primary"),
                (forced, "forced"),
                (hidden, "hidden"),
            )
        ]
        tried, primary, forced, hidden = chosen
        primary = np.setdiff1d(primary, forced)
        tried = tried[
            ~np.isin(tried, np.setdiff1d(hidden, forced)) & ~np.isin(tried, primary) & ~np.isin(tried, forced)
        ]
        missing = np.setdiff1d(np.arange(cells), np.concatenate([tried, primary, forced, hidden]))
        if len(missing):
            raise DataError(f"the candidate order misses {len(missing)} of {cells} cells; "
                            "every cell that is not primary, forced or hidden must be in it")  # fmt: skip
        place = first_of_kind(signatures(matrix))
        notes = []
        empty = np.diff(matrix.indptr) == 0
        if empty[primary].any():
            notes.append(
                f"{int(empty[primary].sum())} primary cells have no inner cell and cannot be protected; "
                "extend the input with zeros if they are not structural"
            )
        extra = sp.csc_matrix((matrix.shape[0], 0), dtype=np.int64) if extra is None else _integers(extra)
        if extra.shape[0] != matrix.shape[0]:
            raise DataError(
                f"extra columns have {extra.shape[0]} rows, the table has {matrix.shape[0]} inner cells"
            )
        was_primary = np.zeros(cells, np.bool_)
        was_primary[primary] = True
        heads = _unique(place[forced])
        guarded = np.setdiff1d(place[primary[~empty[primary]]], heads)
        order = _unique(place[tried])
        order = order[~np.isin(order, guarded) & ~np.isin(order, heads) & ~empty[order]]
        problem = cls(matrix, place, order, guarded, heads, extra, tried, was_primary, notes)
        problem.given_away = primary[np.isin(place[primary], heads) & ~empty[primary]]
        return problem

    given_away: Ints = field(default_factory=lambda: np.zeros(0, np.int64))


def _integers(matrix: Any) -> Any:
    matrix = sp.csc_matrix(matrix)
    data = np.rint(matrix.data).astype(np.int64)
    if not np.array_equal(data, matrix.data):
        raise DataError("the matrix of inner cells and published cells must hold whole numbers")
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
