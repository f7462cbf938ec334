"""What a rule's expression is worth on a table, row by row, in a logic that knows "unknown".

A not-applicable code compares with a constant as the code it is (``income == -8``) and takes no part in arithmetic; a
missing code equals only itself.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from dalenius.core.errors import DataError
from dalenius.data.encode import level_key
from dalenius.data.rule_operands import (
    MIRROR,
    ORDER,
    Constant,
    Labels,
    Numbers,
    Operand,
    Truth,
    arithmetic,
    as_numbers,
    calendar,
    close,
    is_number,
    label_order,
    moment_of,
    not_applicable,
    operand_of,
)  # fmt: skip
from dalenius.data.rule_syntax import Sentence, constant
from dalenius.data.schema import Kind
from dalenius.data.table import Table
from dalenius.data.vector import SPECIAL, Vector


class Evaluator:
    """Works out one sentence on one table; ``tables`` are the others that the rule may look into."""

    def __init__(self, sentence: Sentence, table: Table, tables: Mapping[str, Table] | None = None) -> None:
        self.sentence = sentence
        self.table = table
        self.tables = dict(tables or {})
        self.rows = table.rows

    def truth(self, node: ast.expr) -> Truth:
        """Truth of a statement on every row."""
        if isinstance(node, ast.BoolOp):
            parts = [self.truth(value) for value in node.values]
            result = parts[0]
            for part in parts[1:]:
                result = result & part if isinstance(node.op, ast.And) else result | part
            return result
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return ~self.truth(node.operand)
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            result = self._compare(type(node.ops[0]), sides[0], sides[1])
            for op, left, right in zip(node.ops[1:], sides[1:-1], sides[2:], strict=True):
                result = result & self._compare(type(op), left, right)
            return result
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id.startswith("is_"):
            return self._gap(node.func.id, node.args[0])
        return self._yes(self.operand(node))

    def _gap(self, function: str, node: ast.expr) -> Truth:
        vector = self.table[self._name(node)]
        column = vector.column
        state = vector.state if vector.state is not None else np.zeros(self.rows, np.uint8)
        first = SPECIAL + len(column.missing)
        applicable = state < first
        hit = ~applicable if function == "is_not_applicable" else (state > 0) & applicable
        return Truth(hit, ~hit)

    def _yes(self, value: Operand) -> Truth:
        """A boolean column, or a constant, on its own."""
        if isinstance(value, Labels) and value.vector.column.kind is Kind.BOOLEAN:
            return self._label_against(value, True, operator.eq)
        if isinstance(value, Constant) and isinstance(value.value, bool):
            return Truth.of(np.array(value.value), np.array(True), self.rows)
        raise DataError("a rule must say something that is true or false, such as a comparison")

    def _name(self, node: ast.expr) -> str:
        if not isinstance(node, ast.Name):
            raise DataError("a rule's function needs a column here")
        return self.sentence.column(node.id)

    def operand(self, node: ast.expr) -> Operand:
        """Value of an expression on every row."""
        value = constant(node)
        if value is not None:
            return Constant(value)
        if isinstance(node, ast.Name):
            return operand_of(self.table[self._name(node)])
        if isinstance(node, ast.BinOp):
            return arithmetic(type(node.op), self.operand(node.left), self.operand(node.right))
        if isinstance(node, ast.UnaryOp):
            inner = self._number(node.operand)
            return Numbers(-inner.data if isinstance(node.op, ast.USub) else inner.data, inner.known)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return self._call(node.func.id, node.args)
        raise DataError(
            "a rule compares columns, values and sums of them; put parentheses around anything else"
        )

    def _number(self, node: ast.expr) -> Numbers:
        return as_numbers(self.operand(node))

    def _call(self, function: str, arguments: Sequence[ast.expr]) -> Operand:
        if function == "_over":
            word = arguments[0]
            kind = str(word.value) if isinstance(word, ast.Constant) else ""
            return self._over(kind, self._name(arguments[1]), self._name(arguments[2]))
        if function in ("year", "month", "day"):
            return calendar(function, self._number(arguments[0]))
        if function == "abs":
            inner = self._number(arguments[0])
            return Numbers(np.abs(inner.data), inner.known)
        if function in ("min", "max"):
            several = [self._number(argument) for argument in arguments]
            choose = np.minimum if function == "min" else np.maximum
            data, known = several[0].data, several[0].known
            for other in several[1:]:
                data, known = choose(data, other.data), known & other.known
            return Numbers(data, known, all(s.moment for s in several))
        return self._text(function, arguments)

    def _text(self, function: str, arguments: Sequence[ast.expr]) -> Operand:
        inner = self.operand(arguments[0])
        if not isinstance(inner, Labels):
            raise DataError(f"{function} needs a column of text or codes")
        words = [str(label) for label in inner.labels]
        if function == "length":
            return Numbers(np.array([len(w) for w in words] or [0])[inner.codes], inner.known)
        size = constant(arguments[1])
        if not isinstance(size, int) or size < 0:
            raise DataError("prefix needs a whole number of characters")
        return Labels(
            inner.codes, [word[:size] for word in words], inner.known, False, inner.vector, cut=True
        )

    def _over(self, aggregate: str, name: str, group: str) -> Numbers:
        """One figure per group of rows, given to each of its rows."""
        values = as_numbers(operand_of(self.table[name]))
        groups = self.table[group].categories
        codes, size = np.asarray(groups.codes, dtype=np.int64), max(groups.size, 1)
        known = np.broadcast_to(values.known, (self.rows,))
        data = values.data.astype(np.float64)
        count = np.bincount(codes[known], minlength=size)
        if aggregate in ("max", "min"):
            best = np.full(size, -np.inf if aggregate == "max" else np.inf)
            (np.maximum if aggregate == "max" else np.minimum).at(best, codes[known], data[known])
            result = np.where(count > 0, best, 0.0)
        elif aggregate == "count":
            return Numbers(count[codes], np.array(True))
        else:
            result = np.bincount(codes[known], weights=data[known], minlength=size)
            result = result / np.maximum(count, 1) if aggregate == "mean" else result
        return Numbers(result[codes], (count > 0)[codes] & self.table[group].present, values.moment)

    def _compare(self, op: type[ast.cmpop], left: ast.expr, right: ast.expr) -> Truth:
        if op in (ast.In, ast.NotIn):
            holds = self._member(left, right)
            return holds if op is ast.In else ~holds
        first, second = self.operand(left), self.operand(right)
        if isinstance(first, Constant) and not isinstance(second, Constant):
            first, second, op = second, first, MIRROR.get(op, op)
        if isinstance(second, Constant) and not isinstance(first, Constant):
            if isinstance(first, Labels):
                return self._label_against(first, second.value, ORDER[op])
            return self._number_against(first, second.value, op)
        if isinstance(first, Labels) and isinstance(second, Labels):
            return self._labels(first, second, op)
        one, other = as_numbers(first), as_numbers(second)
        answer = Truth.of(close(op, one.data, other.data), one.known & other.known, self.rows)
        return answer if op not in (ast.Eq, ast.NotEq) else self._same_code(first, second, op, answer)

    def _same_code(self, first: Operand, second: Operand, op: type[ast.cmpop], answer: Truth) -> Truth:
        """Two columns that hold the same not-applicable code are equal."""
        codes = [
            not_applicable(o.vector)
            for o in (first, second)
            if isinstance(o, Numbers) and o.vector is not None
        ]
        if len(codes) < 2:
            return answer
        both, equal = (codes[0] >= 0) & (codes[1] >= 0), codes[0] == codes[1]
        same, different = both & equal, both & ~equal
        if op is ast.NotEq:
            same, different = different, same
        return Truth(answer.true | same, answer.false | different)

    def _number_against(self, number: Numbers, value: Any, op: type[ast.cmpop]) -> Truth:
        target = moment_of(value) if number.moment and isinstance(value, str) else value
        vector = number.vector
        special = vector.column.special if vector is not None else ()
        if isinstance(target, str) and not any(level_key(code) == level_key(value) for code in special):
            raise DataError("a rule compares a number with text; write the number without quotes")
        answer = (
            Truth.of(np.array(False), np.array(False), self.rows) if isinstance(target, str)
            else Truth.of(close(op, number.data, target), number.known, self.rows)
        )  # fmt: skip
        return answer if vector is None else self._codes_against(answer, vector, value, ORDER[op])

    def _label_against(self, label: Labels, value: Any, order: Callable[[Any, Any], Any]) -> Truth:
        table = np.array([label_order(label, one, value, order) for one in label.labels] or [False])
        answer = Truth.of(table[label.codes], label.known, self.rows)
        if label.cut:
            return answer
        return self._codes_against(answer, label.vector, value, order)

    def _codes_against(
        self, answer: Truth, vector: Vector, value: Any, order: Callable[[Any, Any], Any]
    ) -> Truth:
        """Compare special codes with a constant: as the value they are, a missing code only with itself."""
        if vector.state is None:
            return answer
        true, false = answer.true.copy(), answer.false.copy()
        equality = order in (operator.eq, operator.ne)
        for j, code in enumerate(vector.column.special):
            rows = vector.state == SPECIAL + j
            same = level_key(code) == level_key(value)
            if equality and (same or j >= len(vector.column.missing)):
                hit = same if order is operator.eq else not same
            elif j >= len(vector.column.missing) and is_number(code) and is_number(value):
                hit = bool(order(code, value))
            else:
                continue
            (true if hit else false)[rows] = True
        return Truth(true, false)

    def _labels(self, first: Labels, second: Labels, op: type[ast.cmpop]) -> Truth:
        if op not in (ast.Eq, ast.NotEq) and not (first.ordered and second.ordered):
            raise DataError(
                "a rule compares two columns by order, but they have no order; make them ordered in the schema"
            )
        position: dict[Any, int] = {}
        moved = [
            np.array([position.setdefault(level_key(label), len(position)) for label in side.labels] or [0])[
                side.codes
            ]
            for side in (first, second)
        ]
        known = np.broadcast_to(first.known & second.known, (self.rows,))
        return Truth.of(ORDER[op](moved[0], moved[1]), known, self.rows)

    def _member(self, left: ast.expr, right: ast.expr) -> Truth:
        if isinstance(right, (ast.List, ast.Tuple)):
            if not right.elts:
                return Truth.of(np.array(False), np.array(True), self.rows)
            result = self._compare(ast.Eq, left, right.elts[0])
            for item in right.elts[1:]:
                result = result | self._compare(ast.Eq, left, item)
            return result
        if not isinstance(right, ast.Attribute) or not isinstance(right.value, ast.Name):
            raise DataError("after 'in' comes a list of values, or table.column")
        return self._parent(self._name(left), right.value.id, right.attr)

    def _parent(self, name: str, table: str, column: str) -> Truth:
        """Whether each key occurs in a column of another table (``self`` is the table itself)."""
        other = self.table if table == "self" else self.tables.get(table)
        if other is None:
            raise DataError(f"a rule looks into table {table!r}; pass it as tables={{{table!r}: ...}}")
        own, theirs = self.table[name], other[column]
        if own.is_number != theirs.is_number:
            raise DataError(f"column {name!r} and {table}.{column} hold different kinds of values")
        if own.is_number:
            return Truth.of(np.isin(own.data, theirs.values), own.present, self.rows)
        used = np.unique(theirs.values)
        there = {level_key(theirs.levels[i]) for i in used.tolist()}
        lookup = np.array([level_key(level) in there for level in own.levels] or [False])
        return Truth.of(lookup[own.data], own.present, self.rows)
