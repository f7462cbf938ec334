"""Rules across tables: a column of a parent that its children give, or a column of a child beside one of its parent.

``sum(items.price) == orders.total``, ``count(items) == orders.lines``, ``visits.date >= patients.born``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.core.errors import SchemaError
from dalenius.data.relations import Database, Link
from dalenius.data.table import Table
from dalenius.data.vector import BoolArray, IntArray, Vector

TOTAL = re.compile(r"\s*(sum|max|min|mean|count)\((\w+)(?:\.(\w+))?\)\s*==\s*(\w+)\.(\w+)\s*")
ORDER = re.compile(r"\s*(\w+)\.(\w+)\s*(>=|<=|==)\s*(\w+)\.(\w+)\s*")


@dataclass(frozen=True)
class Total:
    """A column of a parent that its children give.

    Examples
    --------
    >>> Total.parse("sum(items.price) == orders.total").parent
    'orders'
    """

    how: str
    child: str
    column: str | None
    parent: str
    result: str

    @classmethod
    def parse(cls, text: str) -> Total | None:
        """The total that a rule defines; None if it is no such rule."""
        parts = TOTAL.fullmatch(text)
        if not parts or (parts[3] is None) != (parts[1] == "count"):
            return None
        return cls(parts[1], parts[2], parts[3], parts[4], parts[5])

    def values(self, tables: Mapping[str, Table], places: Mapping[Link, IntArray]) -> np.ndarray[Any, Any]:
        """The total for each parent."""
        link = joining(places, self.child, self.parent)
        where, rows = places[link], tables[self.parent].rows
        known = where >= 0
        if self.how == "count":
            return np.bincount(where[known], minlength=rows).astype(np.float64)
        own = tables[self.child][self.column or ""].floats()
        known &= ~np.isnan(own)
        times = np.bincount(where[known], minlength=rows)
        if self.how in ("sum", "mean"):
            sums = np.bincount(where[known], own[known], minlength=rows)
            return sums if self.how == "sum" else np.where(times > 0, sums / np.maximum(times, 1), np.nan)
        result = np.full(rows, -np.inf if self.how == "max" else np.inf)
        (np.maximum if self.how == "max" else np.minimum).at(result, where[known], own[known])
        return np.where(times > 0, result, np.nan)


@dataclass(frozen=True)
class Order:
    """A column of a child that is never below, above, or other than one of its parent.

    Examples
    --------
    >>> Order.parse("patients.born <= visits.date", {"visits": {"patients"}}).sign
    '>='
    """

    child: str
    column: str
    sign: str
    parent: str
    other: str

    @classmethod
    def parse(cls, text: str, above: Mapping[str, set[str]]) -> Order | None:
        """The comparison, the child first; None if it is no such rule."""
        parts = ORDER.fullmatch(text)
        if not parts:
            return None
        first, a, sign, second, b = parts.groups()
        if second in above.get(first, set()):
            return cls(first, a, sign, second, b)
        if first in above.get(second, set()):
            return cls(second, b, {">=": "<=", "<=": ">=", "==": "=="}[sign], first, a)
        return None

    def broken(self, own: Vector, other: Vector) -> BoolArray:
        """Rows whose values are both known and break the rule."""
        a, b = own.floats(), other.floats()
        with np.errstate(invalid="ignore"):
            wrong = {">=": a < b, "<=": a > b, "==": a != b}[self.sign]
        return wrong & own.present & other.present


def parse_crossing(rules: Sequence[str], links: Sequence[Link]) -> list[Total | Order]:
    """Rules across tables; those that cannot be read are told at once.

    Examples
    --------
    >>> parse_crossing(["sum(a.x) = b.y"], [])
    Traceback (most recent call last):
    ...
    dalenius.core.errors.SchemaError: rules across tables: 'sum(a.x) = b.y' is neither a total of children nor a ...
    """
    above: dict[str, set[str]] = {}
    for link in links:
        above.setdefault(link.child, set()).add(link.parent)
    read = {rule: Total.parse(rule) or Order.parse(rule, above) for rule in rules}
    wrong = [
        f"{rule!r} is neither a total of children nor a comparison of a child with its parent; write for example "
        "sum(items.price) == orders.total or visits.date >= patients.born"
        for rule, crossing in read.items() if crossing is None
    ]  # fmt: skip
    if wrong:
        raise SchemaError.from_faults("rules across tables", wrong)
    return [crossing for crossing in read.values() if crossing is not None]


def joining(places: Mapping[Link, IntArray], child: str, parent: str) -> Link:
    """The link of a child to a parent."""
    return next(link for link in places if link.child == child and link.parent == parent)


def broken_share(base: Database, rule: Total | Order) -> float:
    """Share of rows (of parents, for a total) that break a rule across tables; NaN where none can.

    Examples
    --------
    >>> base = Database.of({"a": {"id": [1], "n": [2]}, "b": {"a_id": [1]}})
    >>> broken_share(base, Total.parse("count(b) == a.n"))
    1.0
    """
    places = {link: base.places(link) for link in base.links}
    if isinstance(rule, Total):
        stated = base[rule.parent][rule.result].floats()
        totals = rule.values(base.tables, places)
        known = ~np.isnan(stated) & ~np.isnan(totals)
        slack = 1e-6 + 1e-9 * np.abs(totals)
        return float(np.mean(np.abs(stated - totals)[known] > slack[known])) if known.any() else float("nan")
    where = places[joining(places, rule.child, rule.parent)]
    own = base[rule.child][rule.column].take(where >= 0)
    other = base[rule.parent][rule.other].take(where[where >= 0])
    both = own.present & other.present
    return float(rule.broken(own, other)[both].mean()) if both.any() else float("nan")
