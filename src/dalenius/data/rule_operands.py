"""What the parts of a rule's expression are worth: numbers, labels and constants, row by row.

A comparison with an empty cell is neither true nor false, so a rule that needs a missing value is never broken (a
three-valued logic, Kleene's).
"""

from __future__ import annotations

import ast
import datetime as dt
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.core.errors import DataError
from dalenius.data.encode import EPOCH, MICROSECOND, level_key
from dalenius.data.schema import Kind
from dalenius.data.vector import SPECIAL, AnyArray, BoolArray, Vector

ABSOLUTE, RELATIVE = 1e-6, 1e-9
"""Tolerances of == between numbers (Aghaddar et al. 2024, section 4.2)."""
DAY = 86_400_000_000
ORDER: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
MIRROR: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
}


@dataclass(frozen=True, eq=False)
class Truth:
    """Rows where a statement is surely true and rows where it is surely false; the rest is unknown."""

    true: BoolArray
    false: BoolArray

    @classmethod
    def of(cls, value: AnyArray, known: AnyArray, rows: int) -> Truth:
        """Truth of a computed answer, where it is known."""
        full = np.broadcast_to(value, (rows,)).astype(bool)
        sure = np.broadcast_to(known, (rows,))
        return cls(full & sure, ~full & sure)

    def __and__(self, other: Truth) -> Truth:
        return Truth(self.true & other.true, self.false | other.false)

    def __or__(self, other: Truth) -> Truth:
        return Truth(self.true | other.true, self.false & other.false)

    def __invert__(self) -> Truth:
        return Truth(self.false, self.true)


@dataclass(frozen=True, eq=False)
class Numbers:
    """A number per row (or one for all); ``moment`` marks microseconds since 1970."""

    data: AnyArray
    known: AnyArray
    moment: bool = False
    vector: Vector | None = None


@dataclass(frozen=True, eq=False)
class Labels:
    """A label per row: codes over a list."""

    codes: AnyArray
    labels: Sequence[Any]
    known: AnyArray
    ordered: bool
    vector: Vector
    cut: bool = False


@dataclass(frozen=True)
class Constant:
    """A value written in the rule."""

    value: Any


Operand = Numbers | Labels | Constant


def operand_of(vector: Vector) -> Numbers | Labels:
    """A column as an operand."""
    if vector.is_number:
        moment = vector.column.kind is Kind.DATETIME
        data = vector.data // 1000 if moment and vector.column.decimals == 9 else vector.data
        return Numbers(data, vector.present, moment, vector)
    return Labels(vector.data, vector.levels, vector.present, vector.column.kind is Kind.ORDERED, vector)


def as_numbers(value: Operand) -> Numbers:
    """An operand that must be a number; labels that are numbers count as such."""
    if isinstance(value, Numbers):
        return value
    if isinstance(value, Constant):
        if not is_number(value.value):
            raise DataError("a rule does arithmetic with text; use numbers")
        return Numbers(np.asarray(value.value), np.array(True))
    if value.labels and all(is_number(label) or isinstance(label, bool) for label in value.labels):
        return Numbers(np.array(value.labels, dtype=np.float64)[value.codes], value.known)
    raise DataError(
        f"column {value.vector.column.name!r} holds text; a rule can only add up or order numbers"
    )


def arithmetic(op: type[ast.operator], left: Operand, right: Operand) -> Numbers:
    """Add, subtract, multiply or divide row by row; two dates subtract to days."""
    a, b = as_numbers(left), as_numbers(right)
    known = a.known & b.known
    if a.moment and b.moment:
        if op is not ast.Sub:
            raise DataError("dates can only be subtracted from each other")
        return Numbers((a.data - b.data) / DAY, known)
    if a.moment or b.moment:
        if op not in (ast.Add, ast.Sub):
            raise DataError("to a date a number of days can be added or subtracted, nothing else")
        a, b = (Numbers(x.data if x.moment else x.data * DAY, x.known, True) for x in (a, b))
        return Numbers(a.data + b.data if op is ast.Add else a.data - b.data, known, True)
    if op in (ast.Div, ast.Mod, ast.FloorDiv):
        known = known & (b.data != 0)
        divisor = np.where(b.data == 0, 1, b.data)
        divide = {ast.Div: np.true_divide, ast.Mod: np.mod, ast.FloorDiv: np.floor_divide}[op]
        return Numbers(divide(a.data, divisor), known)
    simple = {ast.Add: np.add, ast.Sub: np.subtract, ast.Mult: np.multiply}
    return Numbers(simple[op](a.data, b.data), known)


def close(op: type[ast.cmpop], left: Any, right: Any) -> AnyArray:
    """Compare numbers; fractions that differ by rounding only are equal."""
    a, b = np.asarray(left), np.asarray(right)
    if a.dtype.kind != "f" and b.dtype.kind != "f":
        return np.asarray(ORDER[op](a, b))
    same = np.isclose(a, b, atol=ABSOLUTE, rtol=RELATIVE)
    if op is ast.Eq:
        return np.asarray(same)
    if op is ast.NotEq:
        return np.asarray(~same)
    strict = ORDER[op](a, b)
    return np.asarray(strict | same if op in (ast.LtE, ast.GtE) else strict & ~same)


def label_order(label: Labels, one: Any, value: Any, order: Callable[[Any, Any], Any]) -> bool:
    """Whether a label stands in an order to a constant."""
    if order in (operator.eq, operator.ne):
        return bool(order(level_key(one), level_key(value)))
    if label.ordered:
        keys = [level_key(level) for level in label.labels]
        if level_key(value) not in keys:
            raise DataError(
                f"column {label.vector.column.name!r} has no level {value!r}, so nothing is above or below it"
            )
        return bool(order(keys.index(level_key(one)), keys.index(level_key(value))))
    if is_number(one) and is_number(value):
        return bool(order(one, value))
    raise DataError(f"column {label.vector.column.name!r} has no order; make it ordered in the schema")


def not_applicable(vector: Vector) -> AnyArray:
    """Which not-applicable code a row holds, −1 for none."""
    first = SPECIAL + len(vector.column.missing)
    if vector.state is None:
        return np.full(len(vector), -1)
    return np.where(vector.state >= first, vector.state.astype(np.int64) - first, -1)


def is_number(value: Any) -> bool:
    """Whether a level or a constant is a number; yes and no are none."""
    return not isinstance(value, (bool, str)) and isinstance(value, (int, float, np.number))


def moment_of(text: str) -> int:
    """A date written in a rule, in microseconds since 1970."""
    try:
        moment = dt.datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        raise DataError(
            "a rule compares a date with text that is not a date; write it as '2024-12-31'"
        ) from None
    return (moment - EPOCH) // MICROSECOND


def calendar(part: str, value: Numbers) -> Numbers:
    """Year, month or day of dates."""
    if not value.moment:
        raise DataError(f"{part} needs a date column")
    moments = np.asarray(value.data, dtype="datetime64[us]")
    months = moments.astype("datetime64[M]")
    if part == "year":
        return Numbers(months.astype("datetime64[Y]").astype(np.int64) + 1970, value.known)
    if part == "month":
        return Numbers(months.astype(np.int64) % 12 + 1, value.known)
    return Numbers(
        (moments.astype("datetime64[D]") - months.astype("datetime64[D]")).astype(np.int64) + 1, value.known
    )
