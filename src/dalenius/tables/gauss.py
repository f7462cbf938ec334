"""Secondary suppression by Gaussian elimination (Langsrud 2024).

Cells are tried in order of usefulness. A cell is published unless that would make a protected column computable; then
it is suppressed too. The protected columns are the primary cells and the sums that small counts or single
contributors would unpick; see `protected.py` for those and `elimination.py` for the arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from dalenius.core.errors import OptionError
from dalenius.core.option import one_of
from dalenius.tables.elimination import BigEliminator, Columns, Eliminator, GrowthError
from dalenius.tables.options import SingletonRules, SmallMethod, check_small
from dalenius.tables.problem import Problem, rows_of
from dalenius.tables.protected import (
    Bools,
    Ints,
    contributor_columns,
    restrict,
    small_sums,
)
from dalenius.tables.rows import holders, moved, permuted, reversed_rank, row_rank
from dalenius.tables.small import PUBLISHES_ZEROS, SmallSums, families

Progress = Callable[[int, int], None]

SMALL, CONTRIBUTOR, COMBINATION, VIRTUAL, ELSEWHERE = -1, -2, -3, -4, -5
"""Causes that are a rule rather than a cell."""

PUBLISH, REMOVE = -10, -11
"""Verdicts on a cell that may be published: by elimination, or by deleting rows then known to be zero."""


@dataclass(frozen=True)
class GaussResult:
    """What the elimination decided.

    Attributes
    ----------
    secondary
        Suppressed cells, in the order in which they were tried.
    cause
        For each of them the primary cell it protects, or one of SMALL, CONTRIBUTOR, COMBINATION, VIRTUAL.
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
    known: Any | None = None,
    groups: npt.ArrayLike | None = None,
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
        Inner cells whose counts cannot protect each other, the method for them, and whether rows count as used as
        soon as a cell passed the test ("early", as R does) or only when it is published ("pivot").
    owners, singleton
        Contributor number of inner cells with exactly one contributor (0 = several or none), and the rules for them.
    extra, known
        Further columns (inner cells × anything): that must stay uncomputable; that everybody knows already.
    groups
        For every cell the number of its group, 0 for none: the cells of a group are suppressed together, and one that
        goes because of another stays protected.

    Examples
    --------
    The smallest table: two cells and their total, the first is too small.

    >>> x = np.array([[1, 1, 0], [1, 0, 1]])  # total, first, second
    >>> gauss_suppress(x, candidates=[0, 1, 2], primary=[1]).secondary.tolist()
    [2]
    """
    method = check_small(small)
    one_of("used_marking", used_marking, ("pivot", "early"))
    slipped = np.zeros(0, np.int64)
    while True:
        problem = Problem.read(matrix, candidates, primary, forced, hidden, extra, known, groups, slipped)
        if len(problem.primary) == 0 and problem.extra.shape[1] == 0:
            return GaussResult(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64))
        run = Run(problem, *rows_of(problem, small_rows, owners), method, used_marking == "early",
                  singleton or SingletonRules.none())  # fmt: skip
        result = run.go(progress)
        fresh = np.setdiff1d(run.slipped, slipped)
        if not len(fresh):
            return result
        # A member of a refused group was computable already: begin anew with it among the protected cells.
        slipped = np.union1d(slipped, fresh)


class Run:
    """One elimination under way: `go` runs it to the end, linked tables step several of them together."""

    def __init__(
        self,
        problem: Problem,
        small: Bools,
        owners: Ints,
        method: SmallMethod,
        early: bool,
        rules: SingletonRules,
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
        self.slipped: list[int] = []
        self.suppressed: list[int] = []
        self.cause: list[int] = []
        self.pivots = 0
        self._columns(small, owners)

    def _settle(self, small: Bools) -> SmallMethod:
        """Most methods need every published small inner cell to be primary (Langsrud 2024, section 4)."""
        method = self.method
        if method == "none" or method in PUBLISHES_ZEROS:
            return method
        matrix = self.problem.matrix
        single = np.flatnonzero(np.diff(matrix.indptr) == 1)
        published = single[small[matrix.indices[matrix.indptr[single]]]]
        published = published[self.problem.stands_for[published] == published]
        if np.isin(published, self.problem.primary).all():
            return "virtual_anysum" if method == "anysum" and len(self.problem.forced) else method
        if method != "anysum":
            raise OptionError(
                f"method {method!r} needs every published small cell to be primary; use 'anysum_notprimary'"
            )
        self.notes.append("method changed to 'anysum_notprimary', because some small cells are not primary.")
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
        given = problem.known.shape[1] + len(problem.forced)
        if self.method in ("anysum", "subspace") and not given:
            # Primary cells made of small inner cells only are covered by the rule for such columns.
            primary = primary[np.diff(restrict(problem.matrix[:, primary], ~small).indptr) > 0]
        self.cells = primary
        parts = [problem.matrix[:, primary], own, problem.extra, self.sums, virtual]
        protected = sp.hstack(parts).tocsc()
        strict = self.method in ("subspace_strict", "virtual_subspace")
        if strict:
            protected = restrict(protected, ~small)
        shown = np.concatenate([problem.forced, self.order])
        matrix = sp.hstack([problem.known, problem.matrix[:, shown], protected]).tocsc()
        front = np.concatenate([np.full(problem.known.shape[1], -1), shown])
        self.front, self.first, self.given = front, len(front), given
        width = matrix.shape[1] + len(front)
        rank = row_rank(small, owners)
        count = int((~small & (owners == 0)).sum())
        self.small_start = int((~small).sum()) if small.any() else matrix.shape[0]
        limit = self.small_start if strict else None
        # Small rows are pivots only when nothing else is left, and nothing but `remove` asks for several at a time.
        listed = matrix.shape[0] if self.method in PUBLISHES_ZEROS else self.small_start
        ranks = [rank]
        if self.rules.parallel and self.rules.within and owners.any():
            ranks.append(reversed_rank(rank, count, self.small_start))
        self.passes = [
            _Pass(
                Eliminator(permuted(matrix, r), self.first, count, limit, len(front), listed),
                moved(owners, r),
            )
            for r in ranks
        ]
        self.guarded = np.zeros(width, np.bool_)
        if self.rules.within and owners.any():
            self.guarded[self.first : self.first + len(primary) + own.shape[1]] = True
        self.holder = np.zeros(width, np.int64)
        self.holder[: matrix.shape[1]] = holders(matrix, owners)
        self.small = self._small_sums(permuted(matrix[:, : self.first + len(primary)], rank), np.sort(small))
        self.told: dict[int, Ints] = {}

    def _small_sums(self, cells: Any, small: Bools) -> SmallSums:
        """The rule for sums of small counts; ``cells`` are the candidates and the primary cells."""
        family, every_row = families(cells, small) if self.method == "anysum0" else ({}, False)
        used = np.zeros(len(small), np.bool_)
        return SmallSums(self.method, self.early, self.small_start, used, family, every_row, self.first)

    def go(self, progress: Progress | None) -> GaussResult:
        """Try every candidate in order."""
        unsafe = self.publish_given()
        bundles = self._bundles()
        for done, bundle in enumerate(bundles):
            if progress is not None and done % 256 == 0:
                progress(done, len(bundles))
            self._decide(bundle)
        if progress is not None:
            progress(len(bundles), len(bundles))
        return self.result(unsafe)

    def _bundles(self) -> list[list[int]]:
        """Columns to be decided together, in the order of trying; nearly always one by one."""
        if not self.problem.groups.any():
            return [[place] for place in range(self.given, self.first)]
        at = {int(cell): place for place, cell in enumerate(self.front.tolist()) if place >= self.given}
        cells = self.problem.order.tolist()
        bundles = [[at[cells[i]] for i in bundle if cells[i] in at] for bundle in self.problem.bundles]
        return [bundle for bundle in bundles if bundle]

    def _decide(self, bundle: Sequence[int]) -> None:
        """Publish the columns of a bundle, or suppress them all."""
        columns = self.passes[0].columns
        verdicts = {j: self.verdict(j) for j in bundle if not self.is_empty(j)}
        if all(verdict in (PUBLISH, REMOVE) for verdict in verdicts.values()):
            before = {j: _copy(columns.column(j)) for j in verdicts} if len(verdicts) > 1 else {}
            for j, verdict in verdicts.items():
                # One that was published just now may have changed this one; asking twice would count as used twice.
                now = self.passes[0].columns.column(j)
                changed = j in before and not all(map(np.array_equal, now, before[j]))
                again = self.verdict(j) if changed and len(now[0]) else verdict
                if again not in (PUBLISH, REMOVE):
                    self.slipped += self.front[list(bundle)].tolist()
                self._settle_one(j, again)
            return
        self.slipped += [int(self.front[j]) for j in bundle if j not in verdicts]
        for j in bundle:
            verdict = verdicts.get(j, ELSEWHERE)
            self._settle_one(j, ELSEWHERE if verdict in (PUBLISH, REMOVE) else verdict)

    def _settle_one(self, j: int, verdict: int) -> None:
        if verdict in (PUBLISH, REMOVE):
            if not self.is_empty(j):
                self.publish(j, verdict)
                self.pivots += 1
            return
        self.refuse(j, keep=verdict in (CONTRIBUTOR, COMBINATION, ELSEWHERE))
        self.suppressed.append(int(self.front[j]))
        self.cause.append(verdict)

    def publish_given(self) -> Ints:
        """Publish what is known and the forced cells without asking; returns the primary cells that gives away."""
        for place in range(self.given):
            for each in self.passes:
                if len(each.columns.column(place)[0]):
                    each.publish(place, each.columns.pivot(place))
        columns = self.passes[0].columns
        gone = [i for i in range(len(self.cells)) if not len(columns.column(self.first + i)[0])]
        hit = self.cells[gone] if self.given else self.cells[:0]
        members = np.flatnonzero(self.problem.was_primary & np.isin(self.problem.stands_for, hit))
        unsafe = np.union1d(members, self.problem.given_away)
        if len(unsafe):
            self.notes.append(
                f"{len(unsafe)} primary cells can be computed from the cells that must be published."
            )
        return unsafe

    def is_empty(self, place: int) -> bool:
        """Whether the cell is already a combination of published ones."""
        return self.passes[0].columns.is_empty(place)

    def verdict(self, j: int) -> int:
        """PUBLISH, REMOVE, or the cause why column ``j`` must not be published."""
        columns = self.passes[0].columns
        refused = self.small.refuses(columns, j)
        if isinstance(refused, np.ndarray):
            self.told[j] = refused
            return REMOVE
        if refused:
            return SMALL
        blocker = columns.blocker(j, columns.pivot(j))
        if blocker >= 0:
            return self._cell(blocker)
        for each in self.passes:
            why = self._contributor(each, j)
            if why is not None:
                return why
        return PUBLISH

    def publish(self, j: int, verdict: int) -> None:
        """Use column ``j``, or delete rows everywhere if its zero sum tells everybody that they are zero."""
        if verdict == REMOVE:
            for each in self.passes:
                each.columns.remove(self.told[j])
            return
        self.small.publish(self.passes[0].columns.column(j)[0])
        for each in self.passes:
            each.publish(j, each.columns.pivot(j))

    def refuse(self, j: int, keep: bool) -> None:
        """Take column ``j`` out of use; with ``keep`` it must stay uncomputable from now on."""
        for each in self.passes:
            if keep:
                each.columns.protect(j)
            if not self.small.keeps(j):
                each.columns.drop(j)

    def _contributor(self, each: _Pass, j: int) -> int | None:
        """Where one contributor's value undoes another's suppression (Langsrud 2024, section 5)."""
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

    def _cell(self, blocker: int) -> int:
        place = blocker - self.first
        return int(self.cells[place]) if place < len(self.cells) else VIRTUAL

    def result(self, unsafe: Ints) -> GaussResult:
        """Every cell equal to a suppressed one is suppressed too."""
        problem = self.problem
        why = dict(zip(self.suppressed, self.cause, strict=True))
        why |= {int(cell): CONTRIBUTOR for cell in self.made_primary}
        why |= dict.fromkeys(problem.primary.tolist(), ELSEWHERE)
        asked = np.flatnonzero(problem.was_primary)[::-1]
        why |= dict(zip(problem.stands_for[asked].tolist(), asked.tolist(), strict=True))
        place = problem.stands_for[problem.tried]
        hit = np.array([int(head) in why for head in place], np.bool_)
        secondary = problem.tried[hit]
        causes = np.array([why[int(head)] for head in place[hit]], np.int64)
        return GaussResult(secondary, causes, unsafe, tuple(self.notes), self.pivots)


def _copy(column: tuple[Ints, Any]) -> tuple[Ints, Any]:
    return column[0].copy(), column[1].copy()
