"""`Predicate`: a description of people, such as 25 <= age <= 28 and sex in {f}."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np

from dalenius.core.errors import DataError
from dalenius.data.table import Table
from dalenius.data.vector import BoolArray

T = TypeVar("T")


@dataclass(frozen=True)
class Between:
    """A number between two ends; each end can be open. An empty cell never fits.

    Examples
    --------
    >>> Between("age", 25, 28).describe(), Between("age", high=28, open_high=True).describe()
    ('25 <= age <= 28', 'age < 28')
    """

    column: str
    low: float = -np.inf
    high: float = np.inf
    open_low: bool = False
    open_high: bool = False

    def mask(self, table: Table) -> BoolArray:
        """Say which rows fit."""
        if not table[self.column].is_number:
            raise DataError(
                f"column {self.column!r} is {table[self.column].column.kind}; an interval needs numbers"
            )
        x = table[self.column].floats()
        above = x > self.low if self.open_low else x >= self.low
        below = x < self.high if self.open_high else x <= self.high
        fits: BoolArray = above & below
        return fits

    def describe(self) -> str:
        """Say it in words."""
        first = f"{self.low:g} {'<' if self.open_low else '<='} " if np.isfinite(self.low) else ""
        last = f" {'<' if self.open_high else '<='} {self.high:g}" if np.isfinite(self.high) else ""
        return f"{first}{self.column}{last}"

    def excludes(self, other: Condition) -> bool:
        """Say whether no value can fit both."""
        if not isinstance(other, Between) or other.column != self.column:
            return False
        first, last = (self, other) if self.low <= other.low else (other, self)
        if first.high == last.low:
            return first.open_high or last.open_low
        return first.high < last.low


@dataclass(frozen=True)
class OneOf:
    """A category among some values, or (``negated``) any other, an empty cell included.

    Examples
    --------
    >>> OneOf("sex", frozenset({"f"})).describe(), OneOf("sex", frozenset({"f"}), negated=True).describe()
    ('sex in {f}', 'sex not in {f}')
    """

    column: str
    values: frozenset[object]
    negated: bool = False

    def mask(self, table: Table) -> BoolArray:
        """Say which rows fit."""
        found = table[self.column].categories
        wanted = np.array([label in self.values for label in found.labels] or [False])
        return np.asarray(wanted[found.codes] != self.negated)

    def describe(self) -> str:
        """Say it in words."""
        listed = ", ".join(sorted(map(str, self.values)))
        return f"{self.column} {'not in' if self.negated else 'in'} {{{listed}}}"

    def excludes(self, other: Condition) -> bool:
        """Say whether no value can fit both."""
        if not isinstance(other, OneOf) or other.column != self.column:
            return False
        if self.negated and other.negated:
            return False
        if self.negated or other.negated:
            inner, outer = (other, self) if self.negated else (self, other)
            return inner.values <= outer.values
        return not self.values & other.values


@dataclass(frozen=True)
class Where:
    """Whatever a function of the table says; nothing can be told about it without data.

    Examples
    --------
    >>> first = Where(lambda table: np.arange(table.rows) == 0, "the first row")
    >>> Predicate.of(first).count(Table.from_frame({"x": [1, 2]}))
    1
    """

    function: Callable[[Table], BoolArray]
    text: str

    def mask(self, table: Table) -> BoolArray:
        """Say which rows fit."""
        return np.asarray(self.function(table), dtype=bool)

    def describe(self) -> str:
        """Say it in words."""
        return self.text

    def excludes(self, other: Condition) -> bool:
        """Say whether no value can fit both: it cannot be told."""
        return False


Condition: TypeAlias = Between | OneOf | Where


@dataclass(frozen=True)
class Predicate:
    """People who fit every condition and none of the predicates that are left out.

    Examples
    --------
    >>> table = Table.from_frame({"age": [25, 30, 27], "sex": ["f", "f", "m"]})
    >>> young = Predicate.of(Between("age", 25, 28))
    >>> women = Predicate.of(OneOf("sex", frozenset({"f"})))
    >>> young.count(table), (young & women).count(table), young.minus(women).count(table)
    (2, 1, 1)
    >>> (young & women).describe()
    '25 <= age <= 28 and sex in {f}'
    """

    conditions: tuple[Condition, ...] = ()
    left_out: tuple[Predicate, ...] = ()

    @classmethod
    def of(cls, *conditions: Condition) -> Predicate:
        """Describe people by conditions."""
        return cls(conditions)

    def mask(self, table: Table) -> BoolArray:
        """Say which rows fit."""
        fits = np.ones(table.rows, bool)
        for condition in self.conditions:
            fits &= condition.mask(table)
        for other in self.left_out:
            fits &= ~other.mask(table)
        return fits

    def count(self, table: Table) -> int:
        """Count the rows that fit."""
        return int(np.count_nonzero(self.mask(table)))

    def isolates(self, table: Table) -> bool:
        """Say whether exactly one row fits."""
        return self.count(table) == 1

    def __and__(self, other: Predicate) -> Predicate:
        return Predicate(_once(self.conditions + other.conditions), _once(self.left_out + other.left_out))

    def minus(self, other: Predicate) -> Predicate:
        """Leave out whoever fits another predicate."""
        return Predicate(self.conditions, _once((*self.left_out, other)))

    def is_disjoint(self, other: Predicate) -> bool:
        """Say whether nobody can fit both; false also when that cannot be told without data."""
        if other in self.left_out or self in other.left_out:
            return True
        return any(a.excludes(b) for a in self.conditions for b in other.conditions)

    def describe(self) -> str:
        """Say it in words."""
        parts = [c.describe() for c in self.conditions] or ["anybody"]
        return " and ".join(parts + [f"not ({p.describe()})" for p in self.left_out])


def _once(items: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys(items))
