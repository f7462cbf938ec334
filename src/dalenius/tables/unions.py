"""Unions: sums of suppressed cells that follow from published ones and break a rule themselves.

A published total less its published parts is the sum of the suppressed ones. If that sum has two contributors, one
reads the other's value from it, though no cell was published that may not be. Rules on contributors are about any sum,
so they are asked about these sums too (singletons and their like: Langsrud 2024, section 5, which stops at sums of
single contributors).

Looked at in every table: each published cell less all that is known inside it, and each published cell less its
published parts along each dimension, down to any level. Where a block of suppressed cells is not too large, linear
programs look at every combination of published cells with a result that takes no inner cell away (`union_programs`),
and at those that take away inner cells of one contributor only, who knows them (`union_insiders`). Integer programs
look for combinations behind which few contributors stand (`union_few`), and for those that a coalition unpicks, where a
rule reckons with one (`union_coalitions`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from dalenius.published.nullspace import NullSpace
from dalenius.tables.contributions import levels, single_owners
from dalenius.tables.hierarchy import Hierarchy
from dalenius.tables.model import Bools, Ints, TableModel
from dalenius.tables.protected import restrict, without_repeats
from dalenius.tables.protection import PrimaryRule
from dalenius.tables.rules import Except
from dalenius.tables.union_coalitions import coalition_sums
from dalenius.tables.union_few import few_sums
from dalenius.tables.union_insiders import insider_sums
from dalenius.tables.union_programs import searched


@dataclass(frozen=True, eq=False)
class Unions:
    """Sums that follow from published cells and break a rule.

    Attributes
    ----------
    sums
        Inner cells × sums.
    complete
        Whether every combination of published cells was looked at, or (in a large table) those of single lines only.
        What a search leaves open (programs that ran out, blocks that are too large) makes it False.
    """

    sums: Any
    complete: bool = True

    @classmethod
    def none(cls, rows: int) -> Unions:
        """Nothing found."""
        return cls(sp.csc_matrix((rows, 0), dtype=np.int64))

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.sums.shape[1])

    def cells(self, matrix: Any, suppressed: Bools) -> Ints:
        """Suppressed cells that lie wholly inside one of the sums."""
        inside = (sp.csc_matrix(matrix) != 0).astype(np.int64).T @ (self.sums != 0).astype(np.int64)
        sizes = np.diff(sp.csc_matrix(matrix).indptr)
        whole = (
            np.asarray(sp.csr_matrix(inside).max(axis=1).todense()).ravel() == sizes
            if self.count
            else sizes < 0
        )
        return np.flatnonzero(whole & (sizes > 0) & suppressed).astype(np.int64)


def failing_unions(
    model: TableModel, suppressed: Bools, hidden: Bools, rules: Sequence[PrimaryRule]
) -> Unions:
    """Find sums of suppressed cells that follow from the published ones and break one of the rules.

    Only rules about contributors to sums are asked; a published cell that breaks one of them (because it was forced,
    or excepted) is taken to be harmless.

    Examples
    --------
    >>> from dalenius.tables import define, protect
    >>> rows = [(area, firm, 50) for area in "xy" for firm in "AB"] + [("z", firm, 70) for firm in "CDEFG"]
    >>> area, firm, value = zip(*rows)
    >>> model = define({"area": area, "firm": firm, "v": value}, by="area", value="v", contributor="firm")
    >>> bare = protect(model, unions=False)
    >>> failing_unions(model, bare.suppressed, bare.hidden, bare.rules).count  # Total − z is what A and B have
    1
    """
    asked = [rule for rule in map(_over_sums, rules) if rule is not None]
    rows = len(model.counts)
    if model.records is None or not asked or not suppressed.any():
        return Unions.none(rows)
    published = np.flatnonzero(~suppressed & ~hidden)
    known = sp.csc_matrix(model.matrix[:, published])
    space = NullSpace(known, vectors=2)
    excused = published[_breaks(model, known, asked)]
    free = (space.vectors != 0).any(axis=1)
    free[np.unique(sp.csc_matrix(model.matrix)[:, excused].indices)] = False
    seen = _distinct(restrict(known, free))
    if not seen.shape[1]:
        return Unions.none(rows)
    lines = restrict(line_sums(model, suppressed, hidden), free)
    found = _failing(model, _distinct(sp.hstack([seen, lines])), asked, space)
    if found.shape[1]:
        return Unions(found)
    views = [level.records for level in levels(model)]
    more, complete = searched(views, seen, asked)
    found = _failing(model, more, asked, space)
    if found.shape[1]:
        return Unions(found, complete)
    for search in (few_sums, coalition_sums):
        more, tried = search(views, seen, asked)
        found = _distinct(more[:, np.flatnonzero(space.computable(more))])
        kept = found[:, np.flatnonzero(_counted(model, found, asked))]
        complete &= tried and kept.shape[1] == found.shape[1]
        if kept.shape[1]:
            return Unions(kept, complete)
    inside, tried = insider_sums(model.records.by_holding(), single_owners(model), seen, asked)
    return Unions(inside[:, np.flatnonzero(space.computable(inside))], complete and tried)


def _over_sums(rule: PrimaryRule) -> PrimaryRule | None:
    """The rule, if it can be asked about any sum of inner cells; what it is excepted from is published."""
    inside = rule.rule if isinstance(rule, Except) else rule
    return inside if getattr(inside, "over_sums", False) else None


def _distinct(sums: Any) -> Any:
    sums = sp.csc_matrix(sums)
    return without_repeats(sums[:, np.flatnonzero(np.diff(sums.indptr) > 0)])


def _failing(model: TableModel, sums: Any, rules: Sequence[PrimaryRule], space: NullSpace) -> Any:
    """Those that break a rule, follow from what is published and take no inner cell away."""
    sums = sp.csc_matrix(sums, dtype=np.int64)
    if not sums.shape[1]:
        return sums
    sums = sums[:, np.flatnonzero(~_negative(sums))]
    sums = sums[:, np.flatnonzero(_breaks(model, sums, rules))]
    return sums[:, np.flatnonzero(space.computable(sums))] if sums.shape[1] else sums


def _counted(model: TableModel, sums: Any, rules: Sequence[PrimaryRule]) -> Bools:
    """Which combinations of few contributors are so by the count of sampled units too, where that is the rule's count.

    The search takes the fewest units a contributor stands for; in a sum these may be more.
    """
    sampled = model.records is not None and model.records.weight is not None
    if not sampled or not any(getattr(rule, "weighting", "") == "tau-argus" for rule in rules):
        return np.ones(sums.shape[1], np.bool_)
    return _negative(sums) | _breaks(model, sums, rules)


def _negative(sums: Any) -> Bools:
    """Which sums take an inner cell away."""
    negative = np.zeros(sums.shape[1], np.bool_)
    negative[np.repeat(np.arange(sums.shape[1]), np.diff(sums.indptr))[sums.data < 0]] = True
    return negative


def _breaks(model: TableModel, sums: Any, rules: Sequence[PrimaryRule]) -> Bools:
    """Which sums of inner cells would be primary if they were cells."""
    count = sums.shape[1]
    if not count:
        return np.zeros(0, np.bool_)
    cells = pl.DataFrame({name: ["sum"] * count for name in model.names})
    those = replace(model, matrix=sp.csc_matrix(sums), cells=cells, tables={})
    return np.logical_or.reduce([rule.protects(those).mask for rule in rules])


def line_sums(model: TableModel, suppressed: Bools, hidden: Bools) -> Any:
    """For every published cell with suppressed parts along a dimension: the cell less its published parts.

    Parts of any level are taken away, the largest first; only the nearest published cell above a suppressed one counts,
    because larger ones contain it.

    Examples
    --------
    >>> from dalenius.tables import define
    >>> model = define({"a": ["x", "y", "z"], "n": [1, 7, 9]}, by="a", freq="n")
    >>> none = np.zeros(4, bool)
    >>> line_sums(model, np.array([False, True, True, False]), none).toarray().ravel().tolist()
    [1, 1, 0]
    """
    closed = suppressed | hidden
    rows = list(model.cells.select(model.names).iter_rows())
    at = {row: i for i, row in enumerate(rows)}
    columns: list[Any] = []
    for axis, dimension in enumerate(model.dimensions):
        tree, wholes = dimension.hierarchy, set()
        for place in np.flatnonzero(suppressed).tolist():
            wholes |= _above(rows[place], axis, tree.parents, at, closed)
        for whole in sorted(wholes):
            parts = _parts(rows[whole], axis, tree, at, closed)
            columns.append((whole, parts))
    return _less(model.matrix, columns)


def _above(
    row: tuple[str, ...], axis: int, parents: Any, at: dict[tuple[str, ...], int], closed: Bools
) -> set[int]:
    """The nearest published cells above a cell along one dimension."""
    found: set[int] = set()
    waiting = list(parents[row[axis]])
    while waiting:
        code = waiting.pop()
        place = at.get((*row[:axis], code, *row[axis + 1 :]))
        if place is not None and not closed[place]:
            found.add(place)
        else:
            waiting += parents[code]
    return found


def _parts(
    row: tuple[str, ...], axis: int, tree: Hierarchy, at: dict[tuple[str, ...], int], closed: Bools
) -> list[int]:
    """Published cells below a cell along one dimension that share nothing, the largest first."""
    inside = tree.parts[row[axis]]
    below = [code for code, leaves in tree.parts.items() if leaves < inside]
    found: list[int] = []
    taken: set[str] = set()
    for code in sorted(below, key=lambda code: -len(tree.parts[code])):
        place = at.get((*row[:axis], code, *row[axis + 1 :]))
        if place is not None and not closed[place] and not taken & tree.parts[code]:
            found.append(place)
            taken |= tree.parts[code]
    return found


def _less(matrix: Any, columns: list[tuple[int, list[int]]]) -> Any:
    """Cells less some others, as sums of inner cells."""
    cells = [place for whole, parts in columns for place in (whole, *parts)]
    sign = [value for _, parts in columns for value in (1, *([-1] * len(parts)))]
    owner = [i for i, (_, parts) in enumerate(columns) for _ in range(1 + len(parts))]
    pick = sp.csc_matrix((np.array(sign, np.int64), (cells, owner)), shape=(matrix.shape[1], len(columns)))
    sums = sp.csc_matrix(sp.csc_matrix(matrix, dtype=np.int64) @ pick)
    sums.eliminate_zeros()
    return sums
