"""`Comparison`: one new output beside the earlier ones: what follows from several of them together."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sp

from dalenius.core.errors import counted
from dalenius.outputs._kernels import joint
from dalenius.outputs.beside_rows import by_rows
from dalenius.outputs.contributions import Contributions, shared
from dalenius.outputs.differencing import (
    Found,
    atoms_of,
    finer,
    fresh_groups,
    kinds_of_some,
    moved_groups,
    pair_groups,
    small_groups,
    some_units,
    whole_columns,
)
from dalenius.outputs.disguise import (
    FORMS,
    MOST_PAIRS,
    RENAMED,
    forms_of_one,
    renamed,
    rounded_apart,
    strangers,
)
from dalenius.outputs.guarding import guards_fall
from dalenius.outputs.partition import Layer, Partition, fineness
from dalenius.outputs.policy import Policy
from dalenius.outputs.query import Bools, Floats, Ints
from dalenius.outputs.remainder import Left, alike, shape_of, telling
from dalenius.outputs.told import Beside, Told
from dalenius.tables import Dominance, PPercent

if TYPE_CHECKING:
    from dalenius.outputs.memory import Earlier, Memory
    from dalenius.outputs.output import Output

MOST_ATOMS = 20_000
"""Kinds of people that are looked at all together; finer outputs are left to the comparison one by one."""
MOST_CELLS = 20_000
"""Cells of outputs that are looked at all together."""
MOST_WORK = 300_000_000
"""Units times outputs that are tried for the look at all together."""
SOME_SHARED = 16
"""One in so many people has the same in two sums of one column at least."""
TAKEN_OUT = "a total that was taken out follows by subtraction"
COUNTED = re.compile("count|describe|size")
"""In the call of a mean or total that shows how many people it is of."""
PEOPLE = (
    "how many people are in a model or test follows from its p values: without fewer than {few} it is about those who "
    "were counted; take the same people in both"
)
MOST_KINDS = 200_000
"""Kinds of people, told apart by two outputs of units with several rows, up to which all combinations are looked at."""


class Comparison:
    """One new output beside the earlier ones."""

    def __init__(self, memory: Memory, out: Output, part: Partition, policy: Policy, flagged: Bools) -> None:
        self.memory, self.out, self.part, self.policy, self.flagged = memory, out, part, policy, flagged
        self.held: Contributions | None = memory.contributed(out, part)
        self.rows = memory.several(out)
        self.told, self.reason = memory.told(out), ""
        self.digest = Partition.digest(part.body)
        self.lines: list[str] = []
        self.doubts: list[str] = []
        self.form = out.form
        self.fine = fineness(out.merged or out.query)
        self.near: list[tuple[float, Earlier]] = []
        self.some: dict[str, Layer] = {}
        self.seen: dict[str, bool] = {}
        self.complete, self.together, self.groups = True, 0, False

    def extent(self, earlier: int) -> str:
        """How far was looked, where nothing was found."""
        told = f"Nothing found beside {counted(earlier, 'earlier output')}" if earlier else "Nothing found"
        if earlier > 1:
            told += f", {self.together} of them looked at all together"
        return f"{told}." if self.complete else f"{told}; not all combinations could be tried."

    def by_itself(self) -> None:
        """What its own margins tell of the cells that were taken out."""
        self._several([])

    def with_one(self, earlier: Earlier) -> None:
        """Compare with one earlier output, by one joint count."""
        if self._disguised(earlier):
            return
        linear = earlier.held is not None and self.held is not None
        if self.form or earlier.form:
            if linear:
                self._with_form(earlier)
            elif not (self.form and earlier.form):
                self._with_count(earlier)
            return
        if by_rows(self, earlier):
            return  # all at once, by `beside_rows`
        if earlier.digest in self.seen and not linear:
            self.lines += [self._line(earlier)] if self.seen[earlier.digest] else []
            return
        if earlier.digest == self.digest and not linear:
            return  # the same people in the same cells
        old = self.memory.read(earlier.digest)
        self.some[earlier.digest] = some_units(old.layers[0])
        simple = old.simple and self.part.simple
        if not simple or (self.part.cells + 1) * (old.cells + 1) > MOST_PAIRS:
            self.near.append((1.0, earlier))
            hit = earlier.digest != self.digest and self._sets(earlier, old)
            if linear and earlier.held:
                self._same_cells(earlier, old)
        else:
            table = self.joint(old)
            self.near.append((np.count_nonzero(table) / max(table.shape), earlier))
            hit = self._sets(earlier, old, table)
            self._remainders(earlier, table, old)
            if linear:
                self._changes(earlier, table, old)
            if renamed(self, earlier, table, old):
                self._doubt(earlier, RENAMED)
        self.seen[earlier.digest] = hit

    def _disguised(self, earlier: Earlier) -> bool:
        """Look for an earlier output in another dress; whether there is nothing else to compare."""
        if not earlier.digest:
            self._doubt(earlier, "its records cannot be told again; name the column of the unit")
            return True
        more = Told.read(earlier.more)
        if strangers(self, earlier, more):
            self._doubt(earlier, RENAMED)
        if not (self.told.rounded or more.rounded):
            return False
        if rounded_apart(self, earlier):
            few = self.policy.threshold
            words = f"it and rounded counts differ by fewer than {few} people: take the same in both"
            self._doubt(earlier, words)
        return True

    def _doubt(self, earlier: Earlier, words: str) -> None:
        self.doubts.append(f"with {earlier.told}: {words}")
        self.reason = self.reason or words

    def beside(self, earlier: Sequence[Earlier]) -> None:
        """What it tells beyond who is in its cells, beside all earlier ones."""
        if forms_of_one(self, earlier):
            self.doubts.append(FORMS)
            self.reason = self.reason or FORMS
        found = Beside(self.told, self.out, self.part, self.policy).look(earlier, self._same_outcome)
        self.lines += found.lines
        self.flagged[found.marked] = True
        for words, line in found.doubts:
            self.doubts.append(line)
            self.reason = self.reason or words

    def _with_form(self, earlier: Earlier) -> None:
        """Compare models and tests: one of the same form about few people more or less gives them away.

        With other columns in it, or beside a mean, it takes more than a subtraction: a person looks.
        """
        variable = self.out.query.variable
        both = self.form and earlier.form
        common = bool(words_of(variable) & words_of(earlier.variable)) or self._same_outcome(earlier)
        if not common and not both:
            if COUNTED.search(earlier.command if self.form else self.out.query.command):
                self._with_count(earlier)
            return
        old = self.memory.read(earlier.digest)
        known, self.lines = self.lines, []
        marked = self.flagged.copy()
        if common and earlier.digest != self.digest:
            self._sets(earlier, old)
        if both:
            self._same_cells(earlier, old)
        if both and variable == earlier.variable:
            known += self.lines
        else:
            self.doubts += self.lines
            self.flagged[:] = marked
        self.lines = known
        if both and common:
            self.near.append((1.0, earlier))

    def _with_count(self, earlier: Earlier) -> None:
        """Compare a model or test with a count: how many people it is about follows from its p values.

        People who lack a value of a column that it is about are left out of it for that, and nothing else follows.
        """
        from dalenius.outputs.wraps.registered import lacking  # noqa: PLC0415 (looks at columns of the data)

        if earlier.digest == self.digest:
            return
        known, self.lines = self.lines, []
        marked, old = self.flagged.copy(), self.memory.read(earlier.digest)
        if self._sets(earlier, old):
            own, others = inside(self.part), inside(old)
            few, more = (own, others) if self.form else (others, own)
            there = self.told if earlier.form else Told.read(earlier.more)
            left = np.flatnonzero(more & ~few)
            gone = lacking(
                self.out.desk, words_of(self.out.query.variable if self.form else earlier.variable)
            )
            added = {number for who in there.missing.values() for number in who}
            if not (set(left.tolist()) <= gone and set(np.flatnonzero(few & ~more).tolist()) <= added):
                self._doubt(earlier, PEOPLE.format(few=self.policy.threshold))
        self.lines, self.flagged[:] = known, marked

    def _same_outcome(self, earlier: Earlier) -> bool:
        """Whether most people have the same outcome in both, under whatever name."""
        mine = self.memory.outcome(self.out, self.part) if self.form else self.held
        name = earlier.outcome if earlier.form else earlier.held
        if mine is None or not name or mine.places is not None:
            return False
        before = self.memory.contributions(name)
        if before.places is not None:
            return False
        there, same = shared(mine, before, self.memory.units)
        return int(same.sum()) >= self.policy.threshold and 2 * int(same.sum()) >= int(there.sum())

    def _sets(self, earlier: Earlier, old: Partition, table: Ints | None = None) -> bool:
        """Compare the people behind two outputs, by one joint count if each is in one cell only."""
        if not (old.simple and self.part.simple) or (self.part.cells + 1) * (old.cells + 1) > MOST_PAIRS:
            return self._several([(earlier, old)])
        table = self.joint(old) if table is None else table
        groups, whole = pair_groups(table, self.policy.threshold)
        self.complete &= whole
        groups = [group for group in groups if not whole_columns(group, table)]
        if self.fine > 1:  # small parts of a cell that its own checks allow
            turned = [[(b, a) for a, b in group] for group in groups]
            groups = [g for g, back in zip(groups, turned, strict=True) if not whole_columns(back, table.T)]
        self._mark_places(groups, table)
        if groups:
            self.lines.append(self._line(earlier))
        return bool(groups)

    def _remainders(self, earlier: Earlier, table: Ints, old: Partition) -> None:
        """What the table of people in one of two outputs only tells of all of them, if they are a group with a name."""
        query = self.out.merged or self.out.query
        if self.fine > 1 or not query.dimensions:
            return
        own, others = self.part.layers[0].astype(np.int64), old.layers[0].astype(np.int64)
        shape = shape_of(earlier.labels, table.shape[1] - 1)
        rows, axes = telling(table, query.shape, self.policy)
        if rows and self._named(own, others, query.shape, axes, earlier):
            self._mark(rows)
        columns, axes = telling(table.T, shape, self.policy)
        if columns and self._named(others, own, shape, axes, earlier):
            for column in columns:
                self._mark(np.flatnonzero(table[:, column]).tolist())

    def _named(
        self, whole: Ints, part: Ints, shape: Sequence[int], axes: Sequence[int], earlier: Earlier
    ) -> bool:
        """Whether those who are in the whole only are a group that somebody would name, by data that are at hand."""
        from dalenius.outputs.wraps.groups import is_named  # noqa: PLC0415 (looks at columns of the data)

        inside = (whole > 0) & (whole <= math.prod(shape))
        places = np.unravel_index(np.where(inside, whole - 1, 0), tuple(shape))
        named = is_named(self.out.desk, inside & (part == 0), inside, [places[a] for a in axes])
        words = (
            "a whole group that is in one of the two only has one property altogether, or none of it has it"
        )
        if named:
            self.lines.append(f"with {earlier.told}: {words}")
        self.groups |= bool(named)
        return bool(named)

    def joint(self, old: Partition) -> Ints:
        """How many people are in each pair of cells; row and column 0 are people in none."""
        counts = np.zeros((self.part.cells + 1) * (old.cells + 1), np.int64)
        joint(self.part.layers[0], old.layers[0], old.cells + 1, counts)
        return counts.reshape(self.part.cells + 1, old.cells + 1)

    def _several(self, others: Sequence[tuple[Earlier, Partition]]) -> bool:
        """Compare with some earlier outputs all together."""
        parts = [self.part, *(old for _, old in others)]
        layers, start = [], 0
        for part in parts:
            layers += [(layer, start) for layer in part.layers]
            start += part.cells
        atoms, _ = atoms_of(layers, start)
        if len(atoms.counts) > MOST_KINDS:
            self.complete = False
            return any(tuple(self.nested_cells(earlier, old) for earlier, old in others))
        found: Found = small_groups(atoms, self.policy.threshold)
        self.complete &= found.complete
        own = sp.csc_matrix(atoms.matrix)[:, : self.part.cells]
        groups = fresh_groups(atoms, found.groups, slice(self.part.cells, None))
        if self.fine > 1:
            groups = fresh_groups(atoms, groups, slice(0, self.part.cells))
        for group in groups:
            self._mark((np.flatnonzero(own[np.flatnonzero(group)].sum(axis=0)) + 1).tolist())
        hit = bool(groups) or self._guards(others)
        if hit:
            words = self._words() if groups else TAKEN_OUT
            self.lines.append(f"with {_who([e for e, _ in others])}: {words}")
            if not self.flagged.any():
                self._mark((np.flatnonzero(self.part.counts) + 1).tolist())
        return hit

    def _guards(self, others: Sequence[tuple[Earlier, Partition]]) -> bool:
        """Whether a total that was taken out follows from all of these."""
        parts = [self.part, *(old for _, old in others)]
        if all(part.guarded is None for part in parts):
            return False
        kinds = [self.out.query.variable if self.held is not None else None]
        kinds += [earlier.variable if earlier.held is not None else None for earlier, _ in others]
        return guards_fall(parts, kinds)

    def nested_cells(self, earlier: Earlier, old: Partition) -> bool:
        """Of very many kinds of people only cells that lie within another are compared."""
        shared_by = (self.part.incidence().T @ old.incidence()).tocoo()
        own, others = self.part.counts[shared_by.row], old.counts[shared_by.col]
        more, less = own - shared_by.data, others - shared_by.data
        few = self.policy.threshold
        hit = ((less == 0) & (more > 0) & (more < few)) | ((more == 0) & (less > 0) & (less < few))
        self._mark((np.unique(shared_by.row[hit]) + 1).tolist())
        if hit.any():
            self.lines.append(self._line(earlier))
        return bool(hit.any())

    def all_together(self) -> None:
        """Compare with earlier outputs at once, the nearest first, as long as kinds of people are few enough."""
        if self.lines or self.doubts or self.told.rounded or len({e.digest for _, e in self.near}) < 2:
            return
        chosen: dict[str, tuple[Earlier, Partition]] = {}
        kinds, number = self.part.layers[0].astype(np.int64), self.part.cells + 1
        cells, work = self.part.cells, 0
        for _, each in sorted(self.near, key=lambda pair: pair[0]):
            if each.digest in chosen:
                continue
            few = self.some.get(each.digest)
            if few is not None and kinds_of_some(some_units(kinds), few) > MOST_ATOMS:
                continue  # seen without reading it again
            work += len(kinds)
            if work > MOST_WORK:
                break
            old = self.memory.read(each.digest)
            split, more = finer(kinds, number, old.layers[0], old.cells + 1)
            if more <= MOST_ATOMS and cells + old.cells <= MOST_CELLS:
                chosen[each.digest], kinds, number = (each, old), split, more
                cells += old.cells
        self.together = sum(e.digest in chosen for _, e in self.near)
        if len(chosen) > 1:
            self._several(list(chosen.values()))
        if self.form and any(e.variable != self.out.query.variable for e, _ in chosen.values()):
            self.doubts, self.lines = self.lines, []

    # Sums and means.

    def _changes(self, earlier: Earlier, table: Ints, old: Partition) -> None:
        """What follows by subtraction of two sums: values that changed, people who came and went, dominated rests."""
        assert self.held is not None
        assert earlier.held is not None
        units = self.memory.units
        before = self.memory.contributions(earlier.held)
        own, others = (layer.astype(np.int64) for layer in (self.part.layers[0], old.layers[0]))
        if self.held.places is not None or before.places is not None:
            self._same_cells(earlier, old)
            return
        there, same = shared(self.held, before, units)
        there &= (own > 0) & (others > 0)
        same &= there
        if not self._one_variable(earlier, int(same.sum()), int(there.sum())):
            return
        gone = there & ~same
        changed = np.bincount(own[gone] * table.shape[1] + others[gone], minlength=table.size)
        groups, whole = moved_groups(table, changed.reshape(table.shape), self.policy.threshold)
        self.complete &= whole
        self._mark_places(groups, table)
        if groups:
            self.lines.append(f"with {earlier.told}: {self._sum_words()}")
        self._dominated(earlier, table, (own, others), before.resized(units).amounts)
        if self._guards([(earlier, old)]):
            self.lines.append(f"with {earlier.told}: {TAKEN_OUT}")

    def one_column(self, earlier: Earlier) -> bool:
        """Whether an earlier sum is of the same column: of one name, and some people have the same, or most have.

        In samples drawn with replacement a third of the people stand equally often in two of them.
        """
        if self.held is None or earlier.held is None or self.held.places is not None:
            return False
        before = self.memory.contributions(earlier.held)
        if before.places is not None:
            return False
        there, same = (int(found.sum()) for found in shared(self.held, before, self.memory.units))
        return self._one_variable(earlier, same, there) and SOME_SHARED * same >= there

    def _one_variable(self, earlier: Earlier, same: int, common: int) -> bool:
        """Whether two sums are of one variable: by name, or because most people have the same in both."""
        named = self.out.query.variable is not None and self.out.query.variable == earlier.variable
        return named or (same >= self.policy.threshold and 2 * same >= common)

    def _same_cells(self, earlier: Earlier, old: Partition) -> None:
        """The same table of people with several rows: cell by cell, who contributes something else than before."""
        assert self.held is not None
        assert earlier.held is not None
        labels = self.memory.labels((self.out.merged or self.out.query).frame())
        before = self.memory.contributions(earlier.held)
        if labels != earlier.labels or self.part.cells != old.cells:
            return
        new, past = self.held.by_place(self.part), before.by_place(old)
        assert new.places is not None
        assert past.places is not None
        both, at, was = np.intersect1d(new.places, past.places, assume_unique=True, return_indices=True)
        same = new.hashes[at] == past.hashes[was]
        if not self._one_variable(earlier, int(same.sum()), len(both)):
            return
        cells = self.part.cells
        moved = np.bincount(np.setxor1d(new.places, past.places, assume_unique=True) % cells, minlength=cells)
        moved += np.bincount(both[~same] % cells, minlength=cells)
        hit = (moved > 0) & (moved < self.policy.threshold) & (np.bincount(both % cells, minlength=cells) > 0)
        if hit.any():
            self._mark((np.flatnonzero(hit) + 1).tolist())
            self.lines.append(f"with {earlier.told}: {self._sum_words()}")

    def _dominated(self, earlier: Earlier, table: Ints, codes: tuple[Ints, Ints], before: Floats) -> None:
        """Totals of what a cell has beyond an earlier one (or the other way round) must not be dominated either."""
        assert self.held is not None
        own, others = codes
        sums = self.held.resized(len(own)).amounts
        inside = [i for i in range(1, len(table)) if table[i, 0] and _nested(table, i) and table[i, 1:].any()]
        self._rest(earlier, own * (others == 0), sums, inside)
        outside = [
            j for j in range(1, table.shape[1]) if table[0, j] and _nested(table.T, j) and table[1:, j].any()
        ]
        self._rest(earlier, others * (own == 0), before, outside, table)

    def _rest(
        self, earlier: Earlier, codes: Ints, sums: Floats, cells: list[int], table: Ints | None = None
    ) -> None:
        for cell in cells:
            left = sums[codes == cell]
            parts = Left(left)
            limits = [(self.policy.nk_n, 100 * self.policy.nk_k)]
            rules = (Dominance(limits, strict=not self.policy.nk_inclusive), PPercent(100 * self.policy.p))
            enough = len(left) >= self.policy.threshold
            few = enough and any(bool(rule.hits(parts)[0]) for rule in rules)
            same = enough and alike(left, self.policy)
            if few or same:
                self._mark([cell] if table is None else np.flatnonzero(table[:, cell]).tolist())
            if few:
                words = "the total that is left by subtraction is dominated by a few units"
                self.lines.append(f"with {earlier.told}: {words}")
            if same:
                words = "all who are left by subtraction, or all but a few, have the same value"
                self.lines.append(f"with {earlier.told}: {words}")

    # How it is told.

    def _mark(self, rows: Sequence[int]) -> None:
        for row in rows:
            if row:
                self.flagged[(row - 1) // self.fine] = True

    def mark_cells(self, cells: Iterable[int]) -> None:
        """Mark cells by their places."""
        self.flagged[list(cells)] = True

    def _mark_places(self, groups: Sequence[Sequence[tuple[int, int]]], table: Ints) -> None:
        """Mark the cells of groups; people who are in the earlier output only, in the cells beside them."""
        for group in groups:
            for row, column in group:
                self._mark([row] if row else np.flatnonzero(table[:, column]).tolist())

    def _words(self) -> str:
        return f"a group of fewer than {self.policy.threshold} people follows by subtraction"

    def _sum_words(self) -> str:
        return f"what fewer than {self.policy.threshold} people contribute, or a change of it, follows by subtraction"

    def _line(self, earlier: Earlier) -> str:
        return f"with {earlier.told}: {self._words()}"


def inside(part: Partition) -> Bools:
    """Which units are in a cell of an output."""
    return np.logical_or.reduce([layer > 0 for layer in part.layers])


def words_of(variable: str | None) -> set[str]:
    """Columns that an output is about, by the names in its variable.

    Examples
    --------
    >>> sorted(words_of("np.log(pay) + C(sex)[T.m] + age + const"))
    ['age', 'pay', 'sex']
    """
    plain = re.sub(r"\[[^\]]*\]", "", variable or "")
    return set(re.findall(r"[^\W\d]\w*\b(?!\s*[(.])", plain)) - {"Intercept", "const"}


def _who(outputs: Sequence[Earlier]) -> str:
    """Earlier outputs in words; of very many the first ones."""
    told = [e.told for e in outputs[:6]]
    if len(outputs) > len(told):
        told.append(f"{len(outputs) - len(told)} more")
    return " and ".join(told) or "its own margins"


def _nested(table: Ints, row: int) -> bool:
    """Whether the columns that a row touches lie in it altogether."""
    touched = np.flatnonzero(table[row, 1:]) + 1
    return bool((table[:, touched].sum(axis=0) == table[row, touched]).all())
