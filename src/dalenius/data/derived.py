"""Derived columns: computed from other columns, never modelled (a body mass index, a total).

A rule "total == a + b" makes its left side superfluous: drop it before synthesis and compute it afterwards, and the
rule can no longer be broken (Aghaddar et al. 2024, section 4.2).
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dalenius.core.errors import OptionError, SchemaError
from dalenius.data.encode import level_key
from dalenius.data.rule_operands import Constant, Labels, Numbers
from dalenius.data.rule_values import Evaluator
from dalenius.data.rules import Rule, rules_for
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
        own = isinstance(tree.left, ast.Name) and self.rule.sentence.column(tree.left.id) == self.name
        worth = Evaluator(self.rule.sentence, table).operand(tree.comparators[0] if own else tree.left)
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
        if column.levels is None:  # not said which there are: those that come out
            column = replace(column, levels=tuple(dict.fromkeys(worth.labels)))
        place = {level_key(level): i for i, level in enumerate(column.levels or ())}
        moved = np.array([place.get(level_key(label), -1) for label in worth.labels] or [-1])
        codes = moved[worth.codes]
        known = np.broadcast_to(worth.known, codes.shape) & (codes >= 0)
        data = compact(np.where(known, codes, 0), len(place))
        return Vector(column, data, np.where(known, 0, MISSING).astype(np.uint8)).tidy()


@dataclass(frozen=True)
class Derivation:
    """Everything in a table that follows from other columns by its rules, in the order it can be computed.

    Examples
    --------
    >>> table = Table.from_frame({"a": [10, 4, 8], "b": [5, -1, 2], "total": [15, 3, 11]})
    >>> derivation = Derivation.of(table, ["total == a + b"])
    >>> derivation.drop(table).names
    ['a', 'b']
    >>> derivation.restore(derivation.drop(table)).to_frame()["total"]
    [15, 3, 10]
    """

    steps: tuple[Derived, ...]
    columns: tuple[Column, ...]
    order: tuple[str, ...]

    @classmethod
    def of(cls, table: Table, rules: Sequence[Rule | str] | None = None) -> Derivation:
        """Find what the rules (default: the schema's) define; raises when they contradict each other.

        A rule defines a column when it says, without a condition, that the column equals other columns, a sum or
        another expression of them. With a column alone on both sides the left one is derived.
        """
        given = rules_for(table.schema, table.names) if rules is None else rules
        parsed = [Rule.parse(rule, table.schema) if isinstance(rule, str) else rule for rule in given]
        defined: dict[str, Derived] = {}
        for rule in parsed:
            name = _defined(rule)
            if name is None or not rule.can_read(table.names):
                continue
            if name in defined:
                raise SchemaError(
                    f"column {name!r} is defined twice: {defined[name].rule.text!r} and {rule.text!r}; "
                    "take one of the two out of the rules"
                )
            defined[name] = Derived(name, rule)
        steps = _in_order(defined)
        return cls(steps, tuple(table[step.name].column for step in steps), tuple(table.names))

    @property
    def names(self) -> list[str]:
        """The derived columns."""
        return [step.name for step in self.steps]

    def drop(self, table: Table) -> Table:
        """The table without what can be computed: what a synthesizer should see."""
        return table.drop(self.names)

    def restore(self, table: Table) -> Table:
        """The table with every derived column computed, in the order of the table the rules were read for."""
        for step, column in zip(self.steps, self.columns, strict=True):
            table = table.with_vectors(step.compute(column, table))
        known = [name for name in self.order if name in table]
        return table.select([*known, *(name for name in table.names if name not in known)])


def _defined(rule: Rule) -> str | None:
    """The column that an unconditional equation gives, if one of its sides is a column alone."""
    tree = rule.sentence.conclusion
    if rule.sentence.condition is not None or not isinstance(tree, ast.Compare) or len(tree.ops) != 1:
        return None
    if not isinstance(tree.ops[0], ast.Eq):
        return None
    sides = (tree.left, tree.comparators[0])
    for side, other in (sides, sides[::-1]):
        names = {rule.sentence.column(n.id) for n in ast.walk(other) if isinstance(n, ast.Name)}
        if isinstance(side, ast.Name) and names - {rule.sentence.column(side.id)} == names and names:
            return rule.sentence.column(side.id)
    return None


def _in_order(defined: dict[str, Derived]) -> tuple[Derived, ...]:
    """Definitions so that each comes after those it reads; a circle is an error that names its rules."""
    steps: list[Derived] = []
    waiting = dict(defined)
    while waiting:
        ready = [name for name, step in waiting.items() if not set(step.needs) & set(waiting)]
        if not ready:
            texts = ", ".join(repr(step.rule.text) for step in waiting.values())
            raise SchemaError(f"rules define columns by each other: {texts}; take one of them out")
        steps += [waiting.pop(name) for name in ready]
    return tuple(steps)
