"""Visit sequences: in which order columns are drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from dalenius.core.random import generator
from dalenius.data.rules import Rule
from dalenius.data.table import Table
from dalenius.synth.sequential.coding import Coder, Codes

GROUPS = 20
ROWS = 20_000


def by_cardinality(table: Table, names: Sequence[str]) -> list[str]:
    """Columns with few values first, so that many-level ones are predicted and seldom predict.

    Examples
    --------
    >>> by_cardinality(Table.from_frame({"a": [1, 2, 3], "b": ["x", "x", "y"]}), ["a", "b"])
    ['b', 'a']
    """
    size = {name: len(np.unique(Coder.fit(table[name]).codes(table[name]))) for name in names}
    return sorted(names, key=lambda name: size[name])


def by_dependence(table: Table, names: Sequence[str]) -> list[str]:
    """First the column that tells most about the others; then always the one that those visited tell most about.

    Dependence is mutual information of the columns in at most 20 groups each, on at most 20,000 rows.

    Examples
    --------
    >>> by_dependence(Table.from_frame({"a": [1, 1, 2, 2], "b": [1, 2, 1, 2], "c": [1, 1, 2, 2]}), ["b", "a", "c"])
    ['a', 'c', 'b']
    """
    if len(names) < 2 or table.rows == 0:
        return list(names)
    shared = _information(table, names)
    left = list(range(len(names)))
    first = int(np.argmax(shared.sum(axis=1)))
    order = [first]
    left.remove(first)
    while left:
        told = shared[np.ix_(left, order)].max(axis=1)
        best = left[int(np.argmax(told))]
        order.append(best)
        left.remove(best)
    return [names[i] for i in order]


def after_conditions(
    names: Sequence[str], rules: Sequence[Rule], passive: Mapping[str, Sequence[str]] | None = None
) -> list[str]:
    """The order, changed only as far as needed to draw what a rule's condition reads before what the rule sets.

    A ``passive`` column is computed from those it needs and cannot be drawn again: all of a rule that speaks of it
    comes after what it needs.

    Examples
    --------
    >>> from dalenius.data.rules import parse_rules
    >>> after_conditions(["hours", "age", "job"], parse_rules(["job == 'none' -> hours == 0"]))
    ['job', 'hours', 'age']
    >>> rules = parse_rules(["age == 2024 - born", "job == 'none' -> age > 60"])
    >>> after_conditions(["job", "born"], rules, {"age": ["born"]})
    ['born', 'job']
    """
    needs: dict[str, list[str]] = {}
    for rule in rules:
        assignment = rule.as_assignment()
        if assignment is not None and assignment.column in names:
            needs.setdefault(assignment.column, []).extend(n for n in assignment.needs if n in names)
    made_of = passive or {}
    for rule in rules:
        first = {n for name in rule.columns for n in _sources(name, made_of) if name in made_of}
        for name in set(rule.columns).intersection(names) - first:
            needs.setdefault(name, []).extend(first.intersection(names))
    order: list[str] = []
    visiting: set[str] = set()

    def place(name: str) -> None:
        if name in order or name in visiting:  # rules that go in a circle are left to the checks
            return
        visiting.add(name)
        for other in sorted(needs.get(name, []), key=names.index):
            place(other)
        order.append(name)

    for name in names:
        place(name)
    return order


def _sources(name: str, made_of: Mapping[str, Sequence[str]]) -> set[str]:
    """The drawn columns that a column is made of, itself where it is drawn."""
    if name not in made_of:
        return {name}
    return {source for other in made_of[name] for source in _sources(other, made_of)}


def _information(table: Table, names: Sequence[str]) -> npt.NDArray[np.float64]:
    rows = np.arange(table.rows)
    if table.rows > ROWS:
        rows = np.sort(generator(0, "dependence").choice(table.rows, ROWS, replace=False))
    coded = [_grouped(Coder.fit(table[name]).codes(table[name])[rows]) for name in names]
    shared = np.zeros((len(names), len(names)))
    for i, a in enumerate(coded):
        for j in range(i):
            joint = np.bincount(a * GROUPS + coded[j], minlength=GROUPS * GROUPS).reshape(
                GROUPS, GROUPS
            ) / len(rows)
            product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
            seen = joint > 0
            shared[i, j] = shared[j, i] = float(np.sum(joint[seen] * np.log(joint[seen] / product[seen])))
    return shared


def _grouped(codes: Codes) -> npt.NDArray[np.int64]:
    """At most 20 groups of neighbouring codes with about as many rows each."""
    levels, inverse, times = np.unique(codes, return_inverse=True, return_counts=True)
    if len(levels) <= GROUPS:
        return inverse.astype(np.int64)
    middle = (np.cumsum(times) - times / 2) / len(codes)
    return np.minimum((middle * GROUPS).astype(np.int64), GROUPS - 1)[inverse]
