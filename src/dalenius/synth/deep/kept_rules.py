"""Rows that keep the rules of the schema, from a source that knows none: set what a rule fixes, draw others again."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dalenius.core.random import Seed, generator, sequence
from dalenius.data.rules import Rule, rules_for
from dalenius.data.table import Table
from dalenius.data.vector import BoolArray, Vector, states
from dalenius.synth.sequential.restrict import Restrictions

TRIES = 10
"""Draws of a row that breaks a rule, before another row stands in for it."""


def with_rules_kept(draw: Callable[[int, Seed], Table], rows: int, seed: Seed) -> Table:
    """Rows of a source; those that break a rule are drawn again, and where that does not help repeat others.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from dalenius.data.schema import Schema
    >>> schema = replace(Schema.infer({"a": list(range(30)), "b": list(range(30))}), rules=("a <= b",))
    >>> def draw(rows, seed):
    ...     rng = generator(seed)
    ...     return Table.from_frame({name: rng.integers(0, 30, rows) for name in "ab"}, schema)
    >>> drawn = with_rules_kept(draw, 200, 1)
    >>> bool((drawn["a"].data <= drawn["b"].data).all())
    True
    """
    table = draw(rows, seed)
    rules = [rule for rule in rules_for(table.schema, table.names) if rule.sentence.conclusion is not None]
    if not rules or not rows:
        return table
    table = _fixed(table, rules)
    bad = _broken(table, rules)
    for turn in range(TRIES):
        if not bad.any():
            return table
        again = _fixed(draw(int(bad.sum()), sequence(seed, "again", turn)), rules)
        table = _replaced(table, np.flatnonzero(bad), again)
        bad = _broken(table, rules)
    if bad.any() and not bad.all():
        stand_ins = generator(seed, "stand-in").choice(np.flatnonzero(~bad), int(bad.sum()))
        table = _replaced(table, np.flatnonzero(bad), table.take(stand_ins))
    return table


def _fixed(table: Table, rules: list[Rule]) -> Table:
    """What rules fix is set; twice, for what one rule sets may be what another asks for."""
    for _ in range(2):
        for name in table.names:
            limits = Restrictions.at(name, table.names, rules)
            if limits.fixed:
                table = table.with_vectors(limits.set_fixed(table[name], table))
    return table


def _broken(table: Table, rules: list[Rule]) -> BoolArray:
    broken = np.zeros(table.rows, bool)
    for rule in rules:
        broken |= rule.violations(table)
    return broken


def _replaced(table: Table, at: np.ndarray, rows: Table) -> Table:
    """The table with some of its rows exchanged."""
    made = []
    for name in table.names:
        data, state = table[name].data.copy(), states(table[name]).copy()
        data[at], state[at] = rows[name].data, states(rows[name])
        made.append(Vector(table[name].column, data, state).tidy())
    return table.with_vectors(*made)
