"""The exit: the one place through which every protected frame and model leaves.

It stands on both sides of a method. `guard` takes out of the confidential table what no method may learn, so that
neither a draw nor a saved model can hold it; `leave` looks at every drawn table once more. Between them they own the
row index, the categories of a frame's type, identifiers and unit columns, values that fewer than `Schema.min_units`
units hold (texts, categories, moments, numbers), the precision of numbers, and the number of rows where units own
unequally many.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalenius.core.errors import names as listed
from dalenius.core.random import Seed, generator
from dalenius.data.encode import level_key
from dalenius.data.frames import Origin
from dalenius.data.rare import without_rare_levels, without_rare_numbers
from dalenius.data.raw import scalar
from dalenius.data.rules import parse_rules
from dalenius.data.schema import Column, Kind, Role, Schema
from dalenius.data.table import Table
from dalenius.data.units import Units, units_of
from dalenius.data.vector import IntArray, Vector

NEVER_RELEASED = (Role.IDENTIFIER, Role.ENTITY, Role.HOUSEHOLD)


@dataclass(frozen=True, eq=False)
class Guarded:
    """A table that methods may learn from.

    Attributes
    ----------
    rows
        How many rows may be drawn: those there are, the largest owners counted like the next ones.
    notes
        What was kept in, in plain sentences without counts.
    """

    table: Table
    rows: int
    notes: Sequence[str]


def guard(
    table: Table,
    *,
    seed: Seed = None,
    budget: bool = False,
    as_is: Collection[str] = (),
    numbers: bool = True,
) -> Guarded:
    r"""Take out of a table what no method may learn.

    Parameters
    ----------
    budget
        Whether a privacy budget protects the records. Then numbers are left to the method, which gives no value out,
        and rare levels become empty cells: no record's cell may depend on other records.
    as_is
        Columns whose values may leave whoever holds them, besides those of the schema (``release: as-is``).
    numbers
        Whether rare numbers and moments are taken out too.

    Examples
    --------
    >>> data = {"town": ["Aa"] * 5 + ["Bo"] * 4 + ["Cy"], "note": ["well"] * 7 + ["knows Ann", "has a twin", "moved"]}
    >>> schema = Schema.infer(data).replace_columns(Column("note", Kind.TEXT))
    >>> guarded = guard(Table.from_frame(data, schema), seed=1)
    >>> guarded.table["town"].levels, guarded.table["note"].levels
    (('Aa', 'Bo'), ('well',))
    >>> print(*guarded.notes, sep="\n")
    column 'town': categories that fewer than 3 units have became others
    column 'note': texts that fewer than 3 units have are made up after their pattern, or left empty
    """
    units, schema = units_of(table), table.schema
    least = schema.min_units
    public = _named_in_rules(schema)
    done: dict[str, Vector] = {}
    changed: list[str] = []
    for name in _parents_first(schema):
        vector = replace(table[name], column=_bare(table[name].column))
        column = vector.column
        if name in as_is or column.release == "as-is" or any(column.has(role) for role in NEVER_RELEASED):
            done[name] = vector
            continue
        rng = generator(seed, "exit", name)
        if vector.is_number:
            done[name] = without_rare_numbers(vector, units, least, rng) if numbers and not budget else vector
            continue
        if _is_public(column):
            done[name] = vector
            continue
        within = _groups(done.get(column.parent or ""))
        keep = public.get(name, frozenset())
        done[name] = without_rare_levels(vector, units, least, rng, within, keep, hidden=budget)
        if len(done[name].levels) < len(vector.levels):
            changed.append(name)
    vectors = [done[name] for name in table.names]
    made = Table.from_vectors(vectors, table.rows, leaving(table.origin, done), schema)
    rows = table.rows if budget else like_the_next(units, least)
    return Guarded(made, rows, _notes(made, changed, least, budget, rows < table.rows))


def leave(table: Table) -> Table:
    """A drawn table on its way out: no identifier, no unit column, no index, no category but those of the model.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"sex": pd.Categorical(["f", "m"], ["f", "m", "x"])}, index=["ann", "bob"])
    >>> table = guard(Table.from_frame(frame, Schema((Column("sex", Kind.CATEGORICAL, levels=("f", "m")),)))).table
    >>> leave(table).to_frame().index.tolist(), leave(table).to_frame()["sex"].cat.categories.tolist()
    ([0, 1], [])
    """
    kept = releasable(table)
    return replace(kept, origin=leaving(kept.origin, kept.vectors))


def releasable(table: Table) -> Table:
    """The table without identifiers and unit columns.

    Examples
    --------
    >>> schema = Schema.infer({"name": ["x"], "age": [3]}).with_roles(identifier="name")
    >>> releasable(Table.from_frame({"name": ["x"], "age": [3]}, schema)).names
    ['age']
    """
    dropped = [c.name for c in table.schema if any(c.has(role) for role in NEVER_RELEASED)]
    return table.drop(dropped) if dropped else table


def leaving(origin: Origin, vectors: Mapping[str, Vector]) -> Origin:
    """Where a table came from, without its index and without categories that the vectors do not have.

    Examples
    --------
    >>> import polars as pl
    >>> table = Table.from_frame(pl.DataFrame({"a": pl.Series(["x"], dtype=pl.Enum(["x", "y"]))}))
    >>> vector = replace(table["a"], column=replace(table["a"].column, levels=("x",)))
    >>> leaving(table.origin, {"a": vector}).dtypes["a"].categories.to_list()
    ['x']
    """
    dtypes = {name: _trimmed(origin.dtypes[name], vectors[name]) for name in origin.dtypes if name in vectors}
    return replace(origin, index=None, dtypes={**origin.dtypes, **dtypes})


def like_the_next(units: Units, least: int) -> int:
    """Rows there would be if the largest owners had as many as the ``least``-th largest.

    Examples
    --------
    >>> like_the_next(Units(np.repeat(np.arange(5), [90, 3, 2, 2, 1]), 5), 3)
    9
    """
    rows = len(units.owners_of_rows)
    if units.codes is None or not rows:
        return rows
    owned = np.sort(np.bincount(units.codes))[::-1]
    return int(np.minimum(owned, owned[min(least, len(owned)) - 1]).sum())


def _bare(column: Column) -> Column:
    """A column without what inference read off the data: extremes, and remarks on its values."""
    if column.domain == "declared":
        return replace(column, note="")
    return replace(column, note="", bounds=None)


def _is_public(column: Column) -> bool:
    """Whether all levels are public knowledge."""
    return column.kind is Kind.BOOLEAN or (column.domain == "declared" and column.kind is not Kind.TEXT)


def _parents_first(schema: Schema) -> list[str]:
    """Columns in an order in which each follows the column it is nested in."""
    order: list[str] = []

    def add(name: str, path: tuple[str, ...] = ()) -> None:
        parent = schema[name].parent
        if parent is not None and parent not in (*order, *path):
            add(parent, (*path, name))
        if name not in order:
            order.append(name)

    for name in schema.names:
        add(name)
    return order


def _groups(parent: Vector | None) -> IntArray | None:
    return None if parent is None else parent.categories.codes.astype(np.int64)


def _named_in_rules(schema: Schema) -> dict[str, frozenset[Any]]:
    """Values that the rules of the schema name, by column: whoever wrote the rules made them public."""
    named: dict[str, set[Any]] = {}
    for rule in parse_rules(schema.rules):
        trees = [tree for tree in (rule.sentence.condition, rule.sentence.conclusion) if tree is not None]
        values = {node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)}
        for name in rule.columns:
            named.setdefault(name, set()).update(values)
    return {name: frozenset(values) for name, values in named.items()}


def _trimmed(dtype: Any, vector: Vector) -> Any:
    """A frame's own type of categories with those of the vector alone, in the frame's order."""
    categories = getattr(dtype, "categories", None)
    if categories is None or not hasattr(categories, "__len__"):
        return dtype
    known = {level_key(value) for value in (*vector.levels, *vector.column.special)}
    kept = np.array([level_key(scalar(value)) in known for value in categories], bool)
    if kept.all():
        return dtype
    if type(dtype).__module__.startswith("polars"):
        return type(dtype)([value for value, good in zip(categories, kept, strict=True) if good])
    return type(dtype)(categories[kept], ordered=dtype.ordered)


def _notes(table: Table, changed: Sequence[str], least: int, budget: bool, fewer: bool) -> list[str]:
    """What the exit did; under a budget a sentence that depends on the data would be a leak of its own."""
    if budget:
        return []
    told = []
    for text in (False, True):
        chosen = [n for n in changed if (table.schema[n].kind is Kind.TEXT) is text]
        became = "are made up after their pattern, or left empty" if text else "became others"
        what = "texts" if text else "categories"
        if chosen:
            told.append(f"column {listed(chosen)}: {what} that fewer than {least} units have {became}")
    if fewer:
        told.append("number of rows: the largest units count as if they had as many rows as the next ones")
    return told
