"""Rules across tables kept by construction where the order of making allows, otherwise repaired.

A total of children is not drawn but computed from them. A child that breaks a comparison with its parent takes the
parent's value, and how often that was needed is told (Slokom et al. 2024 blank or redraw such values).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dalenius.data.relations import Database, Link
from dalenius.data.relations_rules import Order, Total, joining, parse_crossing
from dalenius.data.schema import Column, Kind
from dalenius.data.table import Table
from dalenius.data.vector import IntArray, Vector, emptied

if TYPE_CHECKING:
    from dalenius.synth.relational.method import Parts


def totals(base: Database) -> Database:
    """The database without columns that its rules define as totals of children; every rule is read.

    Examples
    --------
    >>> base = Database.of({"a": {"id": [1], "n": [2.0]}, "b": {"a_id": [1, 1]}}, rules=["count(b) == a.n"])
    >>> totals(base)["a"].names
    ['id']
    """
    rules = [rule for rule in parse_crossing(base.rules, base.links) if isinstance(rule, Total)]
    tables = dict(base.tables)
    for rule in rules:
        tables[rule.parent] = tables[rule.parent].drop([rule.result])
    return base.with_tables(tables) if rules else base


def computed(
    tables: Mapping[str, Table], places: Mapping[Link, IntArray], rules: Sequence[str]
) -> dict[str, Table]:
    """Tables with the columns that rules define as totals of children."""
    made = dict(tables)
    for rule in parse_crossing(rules, list(places)):
        if isinstance(rule, Total):
            values = rule.values(made, places)
            whole = rule.how == "count" or _whole(made, rule)
            gone = np.isnan(values)
            kind = Kind.INTEGER if whole else Kind.CONTINUOUS
            decimals = None if whole or rule.column is None else made[rule.child].schema[rule.column].decimals
            data = np.where(gone, 0, values)
            data = (
                data.astype(np.int64) if whole else np.round(data, decimals if decimals is not None else 12)
            )
            vector = Vector(Column(rule.result, kind, decimals=decimals), data)
            made[rule.parent] = made[rule.parent].with_vectors(emptied(vector, gone))
    return made


def _whole(tables: Mapping[str, Table], rule: Total) -> bool:
    return rule.how != "mean" and tables[rule.child].schema[rule.column or ""].kind is Kind.INTEGER


def repaired(parts: Parts, rules: Sequence[str]) -> Parts:
    """Rows that break a comparison with their parent take its value; how many is told."""
    tables, told = dict(parts.tables), list(parts.notes)
    for rule in parse_crossing(rules, list(parts.places)):
        if isinstance(rule, Order):
            where = parts.places[joining(parts.places, rule.child, rule.parent)]
            own, above = tables[rule.child][rule.column], tables[rule.parent][rule.other]
            beside = above.take(np.maximum(where, 0)) if len(above) else above
            if not len(own) or not len(above):
                continue
            wrong = rule.broken(own, beside) & (where >= 0)
            if wrong.any():
                data = np.where(wrong, beside.data.astype(own.data.dtype), own.data)
                tables[rule.child] = tables[rule.child].with_vectors(replace(own, data=data))
                share = 100 * float(wrong.mean())
                told.append(f"rule {rule.child}.{rule.column} {rule.sign} {rule.parent}.{rule.other}: repaired in "
                            f"{share:.1f} % of the rows")  # fmt: skip
    return replace(parts, tables=tables, notes=tuple(told))
