"""Secondary suppression by Gaussian elimination (Langsrud, PSD 2024).

Cells are tried in order of usefulness. A cell is published unless that would make a protected column computable; then it
is suppressed too. The protected columns are the primary cells and the sums that small counts or single contributors
would unpick; see `protected.py` for those and `elimination.py` for the arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dalenius.core.errors import DataError, OptionError
from dalenius.tables.elimination import BigEliminator, Columns, Eliminator, GrowthError
from dalenius.tables.options import SingletonRules, SmallMethod, check_small
from dalenius.tables.protected import (
    Bools,
    Ints,
    contributor_columns,
    first_of_kind,
    restrict,
    signatures,
    small_sums,
)

Progress = Callable[[int, int], None]

SMALL, CONTRIBUTOR, COMBINATION = -1, -2, -3
"""Causes that are a rule rather than a cell."""


@dataclass(frozen=True)
class GaussResult:
    """What the elimination decided.

    Attributes
    ----------
    secondary
        Suppressed cells, in the order in which they were tried.
    cause
        For each of them the primary cell it protects, or one of SMALL, CONTRIBUTOR, COMBINATION.
    unsafe
        Primary cells that the forced cells give away.
    notes
        Plain sentences for the reader (cells that cannot be protected, a method that was changed).
    published
        Number of cells that carried information of their own (pivots).
    """

    secondary: Ints
    cause: Ints
    unsafe: Ints
    notes: tuple[str, ...] = ()
    published: int = 0


@dataclass
class _Pass:
    """One elimination: its columns and whose each row is."""

    columns: Columns
    owner: Ints

    def publish(self, j: int, row: int) -> None:
        try:
            self.columns.publish(j, row)
        except GrowthError:
            assert isinstance(self.columns, Eliminator)
            self.columns = BigEliminator.from_compiled(self.columns)
            self.columns.publish(j, row)


def gauss_suppress(
    matrix: Any,
    candidates: npt.ArrayLike,
    primary: npt.ArrayLike,
    *,
    forced: npt.ArrayLike = (),
    hidden: npt.ArrayLike = (),
    small_rows: npt.ArrayLike | None = None,
    small: SmallMethod | str = "none",
    used_marking: str = "pivot",
    owners: npt.ArrayLike | None = None,
    singleton: SingletonRules | None = None,
    extra: Any | None = None,
    progress: Progress | None = None,
) -> GaussResult:
    """Choose the cells to suppress besides the primary ones.

    Parameters
    ----------
    matrix
        Inner cells × published cells, integers (sparse or dense); ``published = matrix.T @ inner``.
    candidates
        Every cell that is neither primary nor hidden, most useful first.
    primary, forced, hidden
        Places of cells: to be protected; always published; not published and not in need of protection.
    small_rows, small, used_marking
        Inner cells whose counts cannot protect each other, the method for them, and whether rows count as used as soon
        as a cell passed the test ("early", as R does) or only when it is published ("pivot").
    owners, singleton
        Contributor number of inner cells with exactly one contributor (0 = several or none), and the rules for them.
    extra
        Further columns (inner cells × anything) that must stay uncomputable.

    Examples
    --------
    The smallest table: two cells and their total, the first is too small.

    >>> x = np.array([[1, 1, 0], [1, 0, 1]])  # total, first, second
    >>> gauss_suppress(x, candidates=[0, 1, 2], primary=[1]).secondary.tolist()
    [2]
    """
    problem = _Problem.read(matrix, candidates, primary, forced, hidden, extra)
    if len(problem.primary) == 0 and problem.extra.shape[1] == 0:
        return GaussResult(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))
    if used_marking not in ("pivot", "early"):
        raise OptionError(f"used_marking must be 'pivot' or 'early', not {used_marking!r}")
    run = _Run(problem, *_rows_of(problem, small_rows, owners), check_small(small), used_marking == "early",
               singleton or SingletonRules.none())  # fmt: skip
    return run.go(progress)


@dataclass
class _Problem:
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
    def read(cls, matrix: Any, candidates: Any, primary: Any, forced: Any, hidden: Any, extra: Any) -> _Problem:
        matrix = _integers(matrix)
        cells = matrix.shape[1]
        chosen = [_places(what, name, cells) for what, name in
                  ((candidates, "candidates"), (primary, "primary"), (forced, "forced"), (hidden, "hidden"))]  # fmt: skip
        tried, primary, forced, hidden = chosen
        primary = np.setdiff1d(primary, forced)
        tried = tried[~np.isin(tried, np.setdiff1d(hidden, forced)) & ~np.isin(tried, primary) & ~np.isin(tried, forced)]
        missing = np.setdiff1d(np.arange(cells), np.concatenate([tried, primary, forced, hidden]))
        if len(missing):
            raise DataError(f"the candidate order misses {len(missing)} of {cells} cells; every cell that is not primary, "
                            "forced or hidden must be in it")  # fmt: skip
        place = first_of_kind(signatures(matrix))
        notes = []
        empty = np.diff(matrix.indptr) == 0
        if empty[primary].any():
            notes.append(
                f"{int(empty[primary].sum())} primary cells have no inner cell and cannot be protected; extend the input "
                "with zeros if they are not structural"
            )
        extra = sp.csc_matrix((matrix.shape[0], 0), dtype=np.int64) if extra is None else _integers(extra)
        if extra.shape[0] != matrix.shape[0]:
            raise DataError(f"extra columns have {extra.shape[0]} rows, the table has {matrix.shape[0]} inner cells")
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


def _rows_of(problem: _Problem, small_rows: Any, owners: Any) -> tuple[Bools, Ints]:
    count = problem.matrix.shape[0]
    small = np.zeros(count, np.bool_) if small_rows is None else np.asarray(small_rows, bool)
    who = np.zeros(count, np.int64) if owners is None else np.asarray(owners, np.int64)
    for name, array in (("small_rows", small), ("owners", who)):
        if array.shape != (count,):
            raise DataError(f"{name} has {array.size} entries for {count} inner cells")
    if len(who) and who.min() < 0:
        raise DataError("owners must be 0 (not a single contributor) or a positive contributor number")
    return small, who


class _Run:
    """One call of `gauss_suppress`."""

    def __init__(
        self, problem: _Problem, small: Bools, owners: Ints, method: SmallMethod, early: bool, rules: SingletonRules
    ) -> None:
        self.problem, self.rules, self.early = problem, rules, early
        self.notes = list(problem.notes)
        self.method = method if small.any() else "none"
        small = small if self.method != "none" else np.zeros_like(small)
        owners = owners if rules.active else np.zeros_like(owners)
        if not rules.ids:
            owners = np.where(owners > 0, np.cumsum(owners > 0), 0)
        self.method = self._settle(small)
        if self.method == "virtual":
            self.sums, small = small_sums(problem.matrix, small), np.zeros_like(small)
        elif self.method.startswith("virtual"):
            self.sums = small_sums(problem.matrix, small)
        else:
            self.sums = problem.matrix[:, :0]
        self._columns(small, owners)

    def _settle(self, small: Bools) -> SmallMethod:
        """Methods other than anysum_notprimary need every published small inner cell to be primary (spec 2.5)."""
        method = self.method
        if method in ("none", "anysum_notprimary"):
            return method
        matrix = self.problem.matrix
        single = np.flatnonzero(np.diff(matrix.indptr) == 1)
        published = single[small[matrix.indices[matrix.indptr[single]]]]
        published = published[self.problem.stands_for[published] == published]
        if np.isin(published, self.problem.primary).all():
            return "virtual_anysum" if method == "anysum" and len(self.problem.forced) else method
        if method != "anysum":
            raise OptionError(f"method {method!r} needs every published small cell to be primary; use 'anysum_notprimary'")
        self.notes.append("method changed to 'anysum_notprimary', because some small cells are not primary")
        return "anysum_notprimary"

    def _columns(self, small: Bools, owners: Ints) -> None:
        problem = self.problem
        if self.rules.active and owners.any():
            primary, guarded = contributor_columns(problem.matrix, problem.primary, owners, self.rules)
            own, virtual = guarded.cells, guarded.sums
            self.order = problem.order[~np.isin(problem.order, primary)]
        else:
            primary, self.order = problem.primary, problem.order
            own = virtual = problem.matrix[:, :0]
        self.made_primary = np.setdiff1d(primary, problem.primary)
        if self.method in ("anysum", "subspace") and not len(problem.forced):
            # Primary cells made of small inner cells only are covered by the rule for such columns.
            primary = primary[np.diff(restrict(problem.matrix[:, primary], ~small).indptr) > 0]
        self.cells = primary
        parts = [problem.matrix[:, primary], own, problem.extra, self.sums, virtual]
        protected = sp.hstack(parts).tocsc()
        strict = self.method in ("subspace_strict", "virtual_subspace")
        if strict:
            protected = restrict(protected, ~small)
        front = np.concatenate([problem.forced, self.order])
        matrix = sp.hstack([problem.matrix[:, front], protected]).tocsc()
        self.front, self.first = front, len(front)
        width = matrix.shape[1] + len(front)
        rank = _row_rank(small, owners)
        count = int((~small & (owners == 0)).sum())
        self.small_start = int((~small).sum()) if small.any() else matrix.shape[0]
        limit = self.small_start if strict else None
        ranks = [rank]
        if self.rules.parallel and self.rules.within and owners.any():
            ranks.append(_reversed_rank(rank, count, self.small_start))
        self.passes = [
            _Pass(Eliminator(_permuted(matrix, r), self.first, count, limit, len(front)), _moved(owners, r)) for r in ranks
        ]
        self.guarded = np.zeros(width, np.bool_)
        if self.rules.within and owners.any():
            self.guarded[self.first : self.first + len(primary) + own.shape[1]] = True
        self.holder = np.zeros(width, np.int64)
        self.holder[: matrix.shape[1]] = _holders(matrix, owners)
        self.used = np.zeros(matrix.shape[0], np.bool_)

    def go(self, progress: Progress | None) -> GaussResult:
        unsafe = self._publish_forced()
        suppressed: list[int] = []
        cause: list[int] = []
        pivots = 0
        total = len(self.order)
        for place in range(len(self.problem.forced), self.first):
            if progress is not None and place % 256 == 0:
                progress(place, total)
            done = place - len(self.problem.forced)
            if not len(self.passes[0].columns.column(place)[0]):
                continue
            why = self._judge(place)
            if why is None:
                pivots += 1
                continue
            suppressed.append(int(self.order[done]))
            cause.append(why)
        if progress is not None:
            progress(total, total)
        return self._result(np.array(suppressed, np.int64), np.array(cause, np.int64), unsafe, pivots)

    def _publish_forced(self) -> Ints:
        columns = self.passes[0].columns
        for place in range(len(self.problem.forced)):
            for each in self.passes:
                if len(each.columns.column(place)[0]):
                    each.publish(place, each.columns.pivot(place))
        columns = self.passes[0].columns
        gone = [i for i in range(len(self.cells)) if not len(columns.column(self.first + i)[0])]
        hit = self.cells[gone] if len(self.problem.forced) else self.cells[:0]
        members = np.flatnonzero(self.problem.was_primary & np.isin(self.problem.stands_for, hit))
        unsafe = np.union1d(members, self.problem.given_away)
        if len(unsafe):
            self.notes.append(f"{len(unsafe)} primary cells can be computed from the cells that must be published")
        return unsafe

    def _judge(self, j: int) -> int | None:
        """Publish column ``j`` (None) or say why not; the column is out of use afterwards."""
        columns = self.passes[0].columns
        rows, values = columns.column(j)
        early = False
        if rows[0] >= self.small_start:
            verdict = self._small(j, rows, values)
            if verdict == "published":
                return None
            if verdict == "suppressed":
                return self._drop(j, SMALL)
            early = True
            if self.early:
                self.used[rows] = True
        pivots = [each.columns.pivot(j) for each in self.passes]
        blocker = columns.blocker(j, pivots[0])
        if blocker >= 0:
            return self._drop(j, self._cell(blocker))
        for each in self.passes:
            why = self._contributor(each, j)
            if why is not None:
                for other in self.passes:
                    other.columns.protect(j)
                return self._drop(j, why)
        if early:
            self.used[rows] = True
        for each, row in zip(self.passes, pivots, strict=True):
            each.publish(j, row)
        return None

    def _small(self, j: int, rows: Ints, values: Any) -> str:
        """The rule for a column of small inner cells only: "suppressed", "published" or "open"."""
        if "subspace" in self.method:
            return "suppressed"
        mixed = bool((values > 0).any() and (values < 0).any())
        if mixed and not self.used[rows].any():
            return "open"
        if self.method != "anysum_notprimary" or self.passes[0].columns.covered(j) >= 0:
            return "suppressed"
        for each in self.passes:
            each.columns.remove(each.columns.column(j)[0])
        return "published"

    def _contributor(self, each: _Pass, j: int) -> int | None:
        """Rules 4 and 5 of spec 2.6."""
        if not self.rules.within and not self.rules.combinations:
            return None
        rows, _ = each.columns.column(j)
        who = each.owner[rows]
        top = each.columns.pivot(j)
        closed = bool((who > 0).all())
        if self.rules.within:
            tries: Sequence[int] = rows.tolist() if closed and self.rules.row_check == "any" else [top]
            for row in tries:
                found = each.columns.reveals(j, row, each.owner, self.guarded, self.holder)
                if found >= 0:
                    return CONTRIBUTOR
        if closed and len(np.unique(who)) <= self.rules.combinations:
            return COMBINATION
        return None

    def _drop(self, j: int, why: int) -> int:
        for each in self.passes:
            each.columns.drop(j)
        return why

    def _cell(self, blocker: int) -> int:
        place = blocker - self.first
        return int(self.cells[place]) if place < len(self.cells) else CONTRIBUTOR if self.rules.active else SMALL

    def _result(self, heads: Ints, cause: Ints, unsafe: Ints, pivots: int) -> GaussResult:
        """Every cell equal to a suppressed one is suppressed too."""
        problem = self.problem
        why = dict(zip(heads.tolist(), cause.tolist(), strict=True))
        why |= {int(cell): CONTRIBUTOR for cell in self.made_primary}
        why |= {int(cell): int(cell) for cell in problem.primary}
        place = problem.stands_for[problem.tried]
        hit = np.array([int(head) in why for head in place], np.bool_) if len(place) else np.zeros(0, np.bool_)
        secondary = problem.tried[hit]
        causes = np.array([why[int(head)] for head in place[hit]], np.int64)
        return GaussResult(secondary, causes, unsafe, tuple(self.notes), pivots)


def _row_rank(small: Bools, owners: Ints) -> Ints:
    """New place of every row: free rows, then contributors (few rows first, then by number), then small rows."""
    rows_of = np.bincount(owners, minlength=1)[owners]
    rows_of[owners == 0] = 0
    order = np.lexsort((np.arange(len(small)), owners, rows_of, small))
    rank = np.empty(len(small), np.int64)
    rank[order] = np.arange(len(small))
    return rank


def _reversed_rank(rank: Ints, free: int, small_start: int) -> Ints:
    """The same with the contributors' rows in reverse order."""
    flip = (rank >= free) & (rank < small_start)
    return np.where(flip, free + small_start - 1 - rank, rank)


def _permuted(matrix: Any, rank: Ints) -> Any:
    coo = sp.coo_matrix(matrix)
    return sp.csc_matrix((coo.data, (rank[coo.row], coo.col)), shape=matrix.shape)


def _moved(owners: Ints, rank: Ints) -> Ints:
    moved = np.zeros_like(owners)
    moved[rank] = owners
    return moved


def _holders(matrix: Any, owners: Ints) -> Ints:
    """The contributor who owns all rows of a column, or 0."""
    low, high = np.zeros(matrix.shape[1], np.int64), np.zeros(matrix.shape[1], np.int64)
    filled = np.flatnonzero(np.diff(matrix.indptr))
    if len(filled):
        entries = owners[matrix.indices]
        low[filled] = np.minimum.reduceat(entries, matrix.indptr[filled])
        high[filled] = np.maximum.reduceat(entries, matrix.indptr[filled])
    return np.where(low == high, low, 0)
