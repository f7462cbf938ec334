"""Passive columns: computed from other columns after these are drawn, never modelled (a body mass index)."""

from __future__ import annotations

import ast
from dataclasses import dataclass

import numpy as np

from dalenius.core.errors import OptionError
from dalenius.data.encode import level_key
from dalenius.data.rule_values import Constant, Evaluator, Labels, Numbers
from dalenius.data.rules import Rule
from dalenius.data.schema import Column, Schema
from dalenius.data.table import Table
from dalenius.data.vector import MISSING, Vector, compact


@dataclass(frozen=True)
class Derived:
    """A column and the expression it is computed by, in the language of the rules.

    Examples
    --------
    >>> from dalenius.data.schema import Kind
    >>> bmi = Derived.parse("bmi", "weight / (height / 100) / (height / 100)")
    >>> bmi.needs
    ('weight', 'height')
    >>> table = Table.from_frame({"weight": [80.5, 60.5], "height": [200, None]})
    >>> bmi.compute(Column("bmi", Kind.CONTINUOUS, decimals=1), table).floats().tolist()
    [20.1, nan]
    """

    name: str
    rule: Rule

    @classmethod
    def parse(cls, name: str, expression: str, schema: Schema | None = None) -> Derived:
        """Read the expression; its faults are named like those of a rule."""
        return cls(name, Rule.parse(f"`{name}` == {expression}", schema))

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns the expression reads."""
        return tuple(other for other in self.rule.columns if other != self.name)

    def compute(self, column: Column, table: Table) -> Vector:
        """The column on every row of a table; empty where an input is."""
        tree = self.rule.sentence.conclusion
        if not isinstance(tree, ast.Compare):
            raise OptionError(f"passive column {self.name!r}: the expression is not a value")
        worth = Evaluator(self.rule.sentence, table).operand(tree.comparators[0])
        if isinstance(worth, Labels) and not column.kind.is_number:
            return self._labels(column, worth)
        if isinstance(worth, Constant):
            worth = Numbers(np.array(worth.value), np.array(True))
        if not isinstance(worth, Numbers) or not column.kind.is_number:
            raise OptionError(
                f"passive column {self.name!r} is {column.kind}, but its expression is of another kind"
            )
        known = np.broadcast_to(worth.known, (table.rows,))
        number = np.where(known, np.broadcast_to(worth.data, (table.rows,)), 0.0).astype(np.float64)
        known = known & np.isfinite(number)
        number = np.where(known, number, 0.0)
        if column.decimals is not None:
            number = np.round(number, column.decimals)
        whole = column.kind.value in ("integer", "datetime")
        data = np.rint(number).astype(np.int64) if whole else number
        return Vector(column, data, np.where(known, 0, MISSING).astype(np.uint8)).tidy()

    def _labels(self, column: Column, worth: Labels) -> Vector:
        place = {level_key(level): i for i, level in enumerate(column.levels or ())}
        moved = np.array([place.get(level_key(label), -1) for label in worth.labels] or [-1])
        codes = moved[worth.codes]
        known = np.broadcast_to(worth.known, codes.shape) & (codes >= 0)
        data = compact(np.where(known, codes, 0), len(place))
        return Vector(column, data, np.where(known, 0, MISSING).astype(np.uint8)).tidy()
