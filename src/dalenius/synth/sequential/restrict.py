"""Restricting rules: values that a rule fixes are set, and draws that would break a rule are repeated.

A rule is handled at the column of its that is visited last. "age < 16 -> marital == 'single'" fixes rows of marital:
they are left out of the model and set afterwards. Any other rule ("age < 18 -> education < 'tertiary'") is checked on
what was drawn; rows that break it are drawn again, and what still breaks it takes the value of an original row that
agrees on the rule's other columns, and keeps the rule.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dalenius.core.errors import DataError
from dalenius.core.random import Seed, generator
from dalenius.data.encode import level_key
from dalenius.data.rules import Assignment, Rule
from dalenius.data.schema import Column
from dalenius.data.table import Table
from dalenius.data.vector import MISSING, SPECIAL, AnyArray, BoolArray, Vector
from dalenius.synth._store import stored
from dalenius.synth.sequential.coding import Coder
from dalenius.synth.sequential.design import Design


@dataclass(frozen=True)
class Restrictions:
    """The rules that are handled at one column: ``fixed`` ones set it, ``checked`` ones restrict it."""

    fixed: tuple[Assignment, ...] = ()
    checked: tuple[Rule, ...] = ()

    @classmethod
    def at(cls, column: str, before: Sequence[str], rules: Sequence[Rule]) -> Restrictions:
        """Rules whose last visited column is this one."""
        fixed, checked = [], []
        known = {*before, column}
        for rule in rules:
            if (
                column not in rule.columns
                or not set(rule.columns) <= known
                or rule.sentence.conclusion is None
            ):
                continue
            assignment = rule.as_assignment()
            if assignment is not None and assignment.column == column:
                fixed.append(assignment)
            else:
                checked.append(rule)
        return cls(tuple(fixed), tuple(checked))

    def fixed_rows(self, table: Table) -> BoolArray:
        """Rows whose value a rule fixes."""
        fixed = np.zeros(table.rows, bool)
        for assignment in self.fixed:
            fixed |= assignment.rows(table)
        return fixed

    def set_fixed(self, vector: Vector, table: Table) -> Vector:
        """The vector with the fixed rows set; where rules disagree the later one wins."""
        data = vector.data.copy()
        state = np.zeros(len(data), np.uint8) if vector.state is None else vector.state.copy()
        for assignment in self.fixed:
            rows = assignment.rows(table)
            data[rows], state[rows] = fixed_cell(assignment, vector.column, data.dtype)
        return Vector(vector.column, data, state).tidy()

    def broken(self, table: Table) -> BoolArray:
        """Rows that break a checked rule."""
        broken = np.zeros(table.rows, bool)
        for rule in self.checked:
            broken |= rule.violations(table)
        return broken

    @property
    def others(self) -> tuple[str, ...]:
        """Columns that the checked rules read."""
        return tuple(dict.fromkeys(name for rule in self.checked for name in rule.columns))


def fixed_cell(assignment: Assignment, column: Column, dtype: npt.DTypeLike) -> tuple[Any, int]:
    """Data and state that a rule puts into a cell."""
    if assignment.gap == "missing":
        return 0, MISSING
    special = list(column.special)
    if assignment.gap == "not applicable":
        if not column.not_applicable:
            raise DataError(
                f"column {column.name!r}: rule {assignment.rule.text!r} needs a not-applicable code"
            )
        return 0, SPECIAL + len(column.missing)
    if assignment.value is None:
        raise DataError(f"column {column.name!r}: rule {assignment.rule.text!r} sets no value")
    for j, code in enumerate(special):
        if code == assignment.value or level_key(code) == level_key(assignment.value):
            return 0, SPECIAL + j
    if column.kind.is_number:
        return np.asarray(assignment.value, np.float64).astype(dtype), 0
    keys = [level_key(level) for level in column.levels or ()]
    wanted = level_key(assignment.value)
    if wanted not in keys:
        raise DataError(
            f"column {column.name!r}: rule {assignment.rule.text!r} sets a value that is not a level"
        )
    return keys.index(wanted), 0


@stored
@dataclass(frozen=True, eq=False, repr=False)
class Rescue:
    """Original cells of a column by the other columns of its rules, for rows that cannot be drawn otherwise."""

    places: tuple[int, ...]
    keys: npt.NDArray[np.int64]
    cells: AnyArray
    states: npt.NDArray[np.uint8]

    @classmethod
    def fit(cls, vector: Vector, design: Design, places: Sequence[int]) -> Rescue:
        """Sort the original's cells by the combination of the columns at ``places``."""
        joint = design.group_codes(places)
        order = np.argsort(joint, kind="stable")
        state = np.zeros(len(vector), np.uint8) if vector.state is None else vector.state
        return cls(tuple(places), joint[order], vector.data[order], state[order])

    def cell_of(self, design: Design, rows: AnyArray, seed: Seed) -> tuple[AnyArray, AnyArray]:
        """A cell of an original row that agrees on the other columns, or of any row when none does."""
        joint = design.group_codes(self.places)[rows]
        low = np.searchsorted(self.keys, joint, side="left")
        high = np.searchsorted(self.keys, joint, side="right")
        none = low == high
        low[none], high[none] = 0, len(self.keys)
        at = low + (generator(seed, "rescue").random(len(rows)) * (high - low)).astype(np.int64)
        return self.cells[at], self.states[at]


def coders_fit(coders: Sequence[Coder]) -> bool:
    """Whether the combination of some columns still fits into 63 bits."""
    return float(np.sum(np.log2([max(c.size, 1) for c in coders]))) < 62
