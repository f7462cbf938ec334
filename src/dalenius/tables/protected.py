"""The columns that must stay uncomputable: primary cells, and sums that small or single contributors would unpick."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dalenius.tables.options import SingletonRules

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


def signatures(matrix: Any, seed: int = 20240925) -> npt.NDArray[np.uint64]:
    """Two 64-bit words per column; columns are equal if both words are (to a chance of 2⁻¹²⁸).

    Examples
    --------
    >>> s = signatures(sp.csc_matrix(np.array([[1, 1, 0], [0, 0, 1]])))
    >>> bool((s[0] == s[1]).all()), bool((s[0] == s[2]).all())
    (True, False)
    """
    matrix = sp.csc_matrix(matrix)
    words = (
        np.random.default_rng(seed).integers(1, 2**63, (matrix.shape[0], 2), dtype=np.uint64) * np.uint64(2)
        + 1
    )
    terms = words[matrix.indices] * matrix.data.astype(np.int64).astype(np.uint64)[:, None]
    running = np.vstack([np.zeros((1, 2), np.uint64), np.cumsum(terms, axis=0, dtype=np.uint64)])
    return np.asarray(running[matrix.indptr[1:]] - running[matrix.indptr[:-1]])


def first_of_kind(marks: npt.NDArray[np.uint64]) -> Ints:
    """For every column the place of the first column equal to it.

    Examples
    --------
    >>> first_of_kind(np.array([[5, 1], [3, 1], [5, 1]], np.uint64)).tolist()
    [0, 1, 0]
    """
    _, first, inverse = np.unique(marks, axis=0, return_index=True, return_inverse=True)
    return np.asarray(first[np.asarray(inverse).ravel()], np.int64)


def without_repeats(matrix: Any, known: Any | None = None) -> Any:
    """The distinct columns of ``matrix`` that are not already among ``known``."""
    if matrix.shape[1] == 0:
        return matrix
    both = matrix if known is None else sp.hstack([known, matrix]).tocsc()
    offset = both.shape[1] - matrix.shape[1]
    place = first_of_kind(signatures(both))
    keep = place[offset:] == np.arange(offset, both.shape[1])
    return matrix[:, keep]


def restrict(matrix: Any, rows: Bools) -> Any:
    """The matrix with the other rows emptied (not removed)."""
    part = sp.csc_matrix(matrix, copy=True)
    part.data = part.data * rows[part.indices]
    part.eliminate_zeros()
    return part


def small_sums(matrix: Any, small: Bools) -> Any:
    """For every cell the sum of its small inner cells, if it has at least two (R: subSum)."""
    part = restrict(matrix, small)
    part = part[:, np.asarray(np.diff(part.indptr) > 1)]
    return without_repeats(part)


@dataclass(frozen=True)
class Guarded:
    """Protected columns because of single contributors: cells of their own, and virtual sums."""

    cells: Any
    sums: Any


def contributor_columns(
    matrix: Any, primary: Ints, owners: Ints, rules: SingletonRules
) -> tuple[Ints, Guarded]:
    """Primary cells (more with ``primary="all"``) and columns of virtual cells (Langsrud 2024, section 5.1)."""
    matrix = sp.csc_matrix(matrix)
    sizes = np.diff(matrix.indptr)
    labelled = owners > 0
    if rules.primary == "all":
        single = (sizes == 1) & (np.asarray(restrict(matrix, labelled).getnnz(axis=0)) == 1)
        primary = np.concatenate([primary, np.setdiff1d(np.flatnonzero(single), primary)])
    cells = sp.csc_matrix((matrix.shape[0], 0), dtype=np.int64)
    if rules.primary != "off":
        missing = np.flatnonzero(labelled & ~_inner_rows(matrix, primary))
        ones = np.ones(len(missing), np.int64)
        cells = sp.csc_matrix(
            (ones, (missing, np.arange(len(missing)))), shape=(matrix.shape[0], len(missing))
        )
    sums = sp.csc_matrix((matrix.shape[0], 0), dtype=np.int64)
    if rules.virtual != "off":
        inner = _inner_rows(matrix, primary)
        if cells.shape[1]:
            inner[cells.indices] = True
        sums = _virtual_sums(matrix, primary, owners, inner, rules)
        sums = without_repeats(sums, sp.hstack([matrix[:, primary], cells]).tocsc())
    return primary, Guarded(cells, sums)


def _inner_rows(matrix: Any, primary: Ints) -> Bools:
    """Rows that are a primary cell of their own."""
    part = matrix[:, primary]
    alone = part[:, np.asarray(np.diff(part.indptr) == 1)]
    rows = np.zeros(matrix.shape[0], np.bool_)
    rows[alone.indices] = True
    return rows


def _virtual_sums(matrix: Any, primary: Ints, owners: Ints, inner: Bools, rules: SingletonRules) -> Any:
    open_cells = np.ones(matrix.shape[1], np.bool_)
    open_cells[primary] = False
    open_cells &= np.asarray((matrix < 0).getnnz(axis=0)) == 0
    part = restrict(matrix[:, open_cells], inner)
    has_single = np.asarray(restrict(part, owners > 0).getnnz(axis=0)) > 0
    sizes = np.diff(part.indptr)
    units = _units(part, owners) if rules.ids else sizes
    wanted = (units <= 2) & (sizes > 1) if rules.ids else sizes == 2
    if rules.virtual == "hierarchical":
        many = units > 2
        wanted[many] |= _single_after_subtotal(part[:, many], matrix[:, primary], owners, rules.ids)
    return without_repeats(part[:, wanted & has_single])


def _units(part: Any, owners: Ints) -> Ints:
    """Number of distinct units per column; a row without a single contributor is a unit of its own."""
    columns = np.repeat(np.arange(part.shape[1]), np.diff(part.indptr))
    unit = np.where(owners > 0, owners, owners.max(initial=0) + 1 + np.arange(len(owners)))[part.indices]
    pairs = np.unique(np.stack([columns, unit]), axis=1)
    return np.bincount(pairs[0], minlength=part.shape[1]).astype(np.int64)


def _single_after_subtotal(part: Any, primary: Any, owners: Ints, ids: bool) -> Bools:
    """Columns that one contributor alone completes once a primary subtotal is taken away (R: hierarchical search)."""
    result = np.zeros(part.shape[1], np.bool_)
    primary = sp.csc_matrix(primary)
    primary = primary[:, np.asarray(np.diff(primary.indptr) > 1)]
    if not primary.shape[1] or not part.shape[1]:
        return result
    most = int(np.bincount(owners[owners > 0]).max(initial=1)) if ids else 1
    common = sp.coo_matrix(primary.T @ part)
    child_size, column_size = np.diff(primary.indptr)[common.row], np.diff(part.indptr)[common.col]
    rest = column_size - child_size
    fits = (common.data == child_size) & (rest > 0) & (rest <= most)
    for child, column in zip(common.row[fits], common.col[fits], strict=True):
        inside = part.indices[part.indptr[column] : part.indptr[column + 1]]
        taken = primary.indices[primary.indptr[child] : primary.indptr[child + 1]]
        left = owners[np.setdiff1d(inside, taken)]
        result[column] |= bool(left.min() > 0 and (len(left) == 1 or (ids and left.min() == left.max())))
    return result
