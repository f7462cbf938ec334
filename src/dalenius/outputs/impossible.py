"""Cells that cannot hold anybody, by the rules of the schema: an empty one tells nothing about anybody."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalenius.core.errors import DaleniusError
from dalenius.data import Schema, Table
from dalenius.data.rules import Rule, rules_for
from dalenius.outputs.query import Bools, Query

MOST_CELLS = 200_000


def with_rules(query: Query, schema: Schema | None) -> Query:
    """The question with the cells that rules of the schema exclude; rules about other columns are left out.

    Examples
    --------
    >>> from dalenius.outputs.query import Dimension
    >>> data = {"age": ["child", "adult"] * 2, "job": ["none", "none", "clerk", "clerk"]}
    >>> schema = replace(Schema.infer(data), rules=("age == 'child' -> job == 'none'",))
    >>> dims = tuple(Dimension(n, np.zeros(1, np.int8), tuple(dict.fromkeys(v))) for n, v in data.items())
    >>> sorted(with_rules(Query("count", dims, 1), schema).structural)
    [('child', 'clerk')]
    """
    if schema is None or not query.dimensions or query.cells > MOST_CELLS:
        return query
    rules = [rule for rule in rules_for(schema, query.names) if _by_cell(rule)]
    if not rules:
        return query
    broken = np.zeros(query.cells, np.bool_)
    for rule in rules:
        broken |= _broken(rule, query, schema)
    rows = query.frame()[: query.cells].filter(broken).rows()
    return replace(query, structural=query.structural | frozenset(rows))


def _by_cell(rule: Rule) -> bool:
    """Whether a rule can be read off one cell: not a comparison with other rows or other tables."""
    return rule.category != "dependence" and " over " not in rule.text and "." not in "".join(rule.columns)


def _broken(rule: Rule, query: Query, schema: Schema) -> Bools:
    """Cells that break a rule; none where the table has other categories (bands, say) than the schema."""
    places = np.unravel_index(np.arange(query.cells), query.shape)
    labels = {
        d.name: [d.labels[i] for i in places[k].tolist()]
        for k, d in enumerate(query.dimensions)
        if d.name in rule.columns
    }
    try:
        return np.asarray(rule.violations(Table.from_frame(labels, schema.select(list(labels)))))
    except DaleniusError:
        return np.zeros(query.cells, np.bool_)
