"""`Rule`: what must hold in every row, written as one line of text in the schema.

::

    age < 16 -> marital == 'single'         an implication
    0 <= age <= 120                         a range
    net + tax == gross                      a sum (fractions may differ by rounding)
    birth_date <= death_date                dates in order
    status in ['a', 'b']                    membership
    smoker == 'no' -> is_not_applicable(cigarettes)
    district determines region              functional dependence
    household_id in households.household_id keys exist in a parent table
    age < 18 -> max(age) over household_id >= 18

A rule that needs a missing value is not broken. Column names that are no Python names stand in back quotes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from dalenius.core.errors import SchemaError
from dalenius.data.rule_operands import Truth
from dalenius.data.rule_syntax import Sentence, constant, read
from dalenius.data.rule_values import Evaluator
from dalenius.data.schema import Level, Schema
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, BoolArray

Category = Literal[
    "if-then", "summation", "equality", "inequality", "non-negative", "membership", "dependence"
]


@dataclass(frozen=True)
class Assignment:
    """A rule of the form "condition -> column has this value": rows to leave out of a model and to set afterwards.

    ``gap`` is "value" for an ordinary value or a special code, "missing" for an empty cell and "not applicable" for
    whichever not-applicable code the column has.
    """

    rule: Rule
    column: str
    value: Level | None
    gap: Literal["value", "missing", "not applicable"] = "value"

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns that the condition reads."""
        return self.rule.condition_columns

    def rows(self, table: Table) -> BoolArray:
        """Rows whose value the rule fixes; only the columns of the condition are looked at."""
        return self.rule.applies(table)


@dataclass(frozen=True)
class Rule:
    """One rule of a schema.

    Examples
    --------
    >>> rule = Rule.parse("age < 16 -> marital == 'single'")
    >>> table = Table.from_frame({"age": [12, 14, 40, None], "marital": ["single", "married", "married", "single"]})
    >>> rule.applies(table).tolist()
    [True, True, False, False]
    >>> rule.holds(table).tolist()
    [True, False, True, True]
    >>> assignment = rule.as_assignment()
    >>> assignment.column, assignment.value
    ('marital', 'single')
    >>> Rule.parse("agee < 16 -> marital > 'single'", table.schema)
    Traceback (most recent call last):
    ...
    dalenius.core.errors.SchemaError: rules: 2 faults: rule "agee < 16 -> marital > 'single'": no column 'agee'; ...
    """

    text: str
    sentence: Sentence

    @classmethod
    def parse(cls, text: str, schema: Schema | None = None) -> Rule:
        """Read one rule; with a schema its columns and values are checked, and every fault is named at once."""
        return parse_rules([text], schema)[0]

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Columns the rule reads, in order of appearance."""
        return tuple(dict.fromkeys((*self.condition_columns, *self.conclusion_columns)))

    @cached_property
    def condition_columns(self) -> tuple[str, ...]:
        """Columns that say whether the rule applies."""
        if self.sentence.condition is None:
            return self.sentence.determinants
        return self._names(self.sentence.condition)

    @cached_property
    def conclusion_columns(self) -> tuple[str, ...]:
        """Columns that the rule restricts."""
        if self.sentence.conclusion is None:
            return self.sentence.determined
        return self._names(self.sentence.conclusion)

    def _names(self, tree: ast.expr) -> tuple[str, ...]:
        skipped = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
        skipped |= {id(n.value) for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
        nodes = [n for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in skipped]
        nodes.sort(key=lambda n: (n.lineno, n.col_offset))
        return tuple(dict.fromkeys(self.sentence.column(n.id) for n in nodes))

    def can_read(self, names: Iterable[str]) -> bool:
        """Whether all columns of the rule are among these."""
        return set(self.columns) <= set(names)

    @cached_property
    def category(self) -> Category:
        """The kind of rule, in the five categories of Aghaddar et al. 2024, section 4.2, and two of ours.

        Examples
        --------
        >>> [Rule.parse(t).category for t in ("a + b == c", "a >= 0", "a == b", "a >= b", "a == 1 -> b > 0")]
        ['summation', 'non-negative', 'equality', 'inequality', 'if-then']
        """
        tree = self.sentence.conclusion
        if tree is None:
            return "dependence"
        if self.sentence.condition is not None:
            return "if-then"
        if not isinstance(tree, ast.Compare):
            return "membership"
        op, right = tree.ops[0], tree.comparators[0]
        if isinstance(op, (ast.In, ast.NotIn)):
            return "membership"
        if isinstance(op, ast.Eq):
            return "summation" if any(isinstance(n, ast.BinOp) for n in ast.walk(tree)) else "equality"
        zero = len(tree.ops) == 1 and constant(right) == 0 and isinstance(op, ast.GtE)
        return "non-negative" if zero else "inequality"

    def applies(self, table: Table, tables: Mapping[str, Table] | None = None) -> BoolArray:
        """Rows for which the condition is surely true (all rows when there is none)."""
        if self.sentence.condition is None:
            return np.ones(table.rows, dtype=bool)
        return Evaluator(self.sentence, table, tables).truth(self.sentence.condition).true

    def conclusion(self, table: Table, tables: Mapping[str, Table] | None = None) -> Truth:
        """Truth of the conclusion on every row, whether the rule applies or not."""
        if self.sentence.conclusion is None:
            return _dependence(table, self.sentence)
        return Evaluator(self.sentence, table, tables).truth(self.sentence.conclusion)

    def evaluated(self, table: Table, tables: Mapping[str, Table] | None = None) -> BoolArray:
        """Rows that can keep or break the rule: it applies, and nothing it needs is missing."""
        truth = self.conclusion(table, tables)
        return self.applies(table, tables) & (truth.true | truth.false)

    def violations(self, table: Table, tables: Mapping[str, Table] | None = None) -> BoolArray:
        """Rows that break the rule."""
        return self.applies(table, tables) & self.conclusion(table, tables).false

    def holds(self, table: Table, tables: Mapping[str, Table] | None = None) -> BoolArray:
        """Rows that do not break the rule."""
        return ~self.violations(table, tables)

    def as_assignment(self) -> Assignment | None:
        """The rule as "condition -> column has this value", or None when it says something else.

        Examples
        --------
        >>> Rule.parse("smoker == 'no' -> is_not_applicable(cigarettes)").as_assignment().gap
        'not applicable'
        >>> Rule.parse("age < 16 -> income >= 0").as_assignment() is None
        True
        """
        tree = self.sentence.conclusion
        if (
            isinstance(tree, ast.Call)
            and isinstance(tree.func, ast.Name)
            and isinstance(tree.args[0], ast.Name)
        ):
            column = self.sentence.column(tree.args[0].id)
            if tree.func.id == "is_missing":
                return self._assign(column, None, "missing")
            return (
                self._assign(column, None, "not applicable") if tree.func.id == "is_not_applicable" else None
            )
        if not isinstance(tree, ast.Compare) or len(tree.ops) != 1:
            return None
        left, right = tree.left, tree.comparators[0]
        if (
            isinstance(tree.ops[0], ast.In)
            and isinstance(right, (ast.List, ast.Tuple))
            and len(right.elts) == 1
        ):
            right = right.elts[0]
        elif not isinstance(tree.ops[0], ast.Eq):
            return None
        if isinstance(right, ast.Name):
            left, right = right, left
        value = constant(right)
        if not isinstance(left, ast.Name) or value is None:
            return None
        return self._assign(self.sentence.column(left.id), value, "value")

    def _assign(
        self, column: str, value: Level | None, gap: Literal["value", "missing", "not applicable"]
    ) -> Assignment | None:
        return None if column in self.condition_columns else Assignment(self, column, value, gap)


def parse_rules(texts: Iterable[str], schema: Schema | None = None, *, where: str = "rules") -> list[Rule]:
    """Read many rules; one error names every fault of every rule.

    Examples
    --------
    >>> [rule.columns for rule in parse_rules(["district determines region", "`net pay` <= gross"])]
    [('district', 'region'), ('net pay', 'gross')]
    >>> parse_rules(["__import__('os')", "age = 3"])
    Traceback (most recent call last):
    ...
    dalenius.core.errors.SchemaError: rules: 2 faults: rule "__import__('os')": no function '__import__'; ...
    """
    rules, faults = [], []
    for text in texts:
        sentence, wrong = read(text, schema)
        faults += wrong
        if sentence is not None:
            rules.append(Rule(text, sentence))
    if faults:
        raise SchemaError.from_faults(where, faults)
    return rules


def rules_for(schema: Schema, columns: Iterable[str] | None = None) -> list[Rule]:
    """The schema's own rules, checked against it; those on columns that are not at hand are left out.

    Examples
    --------
    >>> from dalenius.data.schema import Column, Kind
    >>> schema = Schema((Column("a", Kind.INTEGER), Column("b", Kind.INTEGER)), rules=("a <= b", "b <= c"))
    >>> [rule.text for rule in rules_for(schema)]
    ['a <= b']
    """
    at_hand = set(schema.names if columns is None else columns)
    wanted = [rule.text for rule in parse_rules(schema.rules) if rule.can_read(at_hand)]
    return parse_rules(wanted, schema)


def _dependence(table: Table, sentence: Sentence) -> Truth:
    """A row follows "a determines b" when its b is the commonest one among rows with the same a."""
    left, left_known = _joined(table, sentence.determinants)
    right, right_known = _joined(table, sentence.determined)
    known = left_known & right_known
    pairs, inverse, count = np.unique(
        np.stack([left[known], right[known]]), axis=1, return_inverse=True, return_counts=True
    )
    # Most common first within each group; ties go to the smaller code, so that row order does not matter.
    order = np.lexsort((pairs[1], -count, pairs[0]))
    first = np.ones(len(order), dtype=bool)
    first[1:] = pairs[0][order][1:] != pairs[0][order][:-1]
    chosen = np.zeros(len(order), dtype=bool)
    chosen[order[first]] = True
    good = np.zeros(table.rows, dtype=bool)
    good[known] = chosen[inverse.ravel()]
    return Truth(good, known & ~good)


def _joined(table: Table, names: Iterable[str]) -> tuple[AnyArray, BoolArray]:
    """Several columns as one code per row, and the rows where all of them have a value."""
    code = np.zeros(table.rows, dtype=np.int64)
    known = np.ones(table.rows, dtype=bool)
    for name in names:
        own = table[name].categories
        code = code * max(own.size, 1) + own.codes
        code = np.unique(code, return_inverse=True)[1].astype(np.int64)
        state = table[name].state
        missing = len(table[name].column.missing)
        if state is not None:  # a not-applicable code is an answer, a gap is none
            known &= (state == 0) | (state >= 3 + missing)
    return code, known
