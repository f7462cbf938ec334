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
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from dalenius.core.errors import columns_named
from dalenius.core.random import Seed, generator
from dalenius.data.encode import level_key
from dalenius.data.frames import Objects, Origin
from dalenius.data.rare import with_levels, without_rare_levels, without_rare_numbers
from dalenius.data.raw import scalar
from dalenius.data.rules import Rule, rules_for
from dalenius.data.schema import Column, Kind, Role, Schema
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, BoolArray, Vector, states

NEVER_RELEASED = (Role.IDENTIFIER, Role.ENTITY, Role.HOUSEHOLD, Role.GEOMETRY, Role.REPLICATE)
"""Roles that stay inside. Replicate weights tell which records share a sampling unit (Lu, Sitter 2008)."""
AGAIN = 5
"""Draws of the numbers of a row before another row stands in for it."""


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


def stays(column: Column) -> bool:
    """Whether a column never leaves: by its role, or as the number of a sampling unit that nobody set free.

    Such a number tells who lives in one district or home, as replicate weights do, and in a synthetic file it says
    nothing of the design; a district that is an answer too leaves with ``release: as-is``.

    Examples
    --------
    >>> unit = Column("district", Kind.CATEGORICAL, (Role.PSU,))
    >>> stays(unit), stays(replace(unit, release="as-is"))
    (True, False)
    """
    sampled = column.has(Role.PSU) and column.release != "as-is"
    return sampled or any(column.has(role) for role in NEVER_RELEASED)


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
    task = _Task(table, seed, budget, frozenset(as_is), numbers)
    done: dict[str, Vector] = {}
    for name in _parents_first(table.schema):
        done[name] = task.without_rare(name, done.get(table.schema[name].parent or ""))
    vectors = [done[name] for name in table.names]
    schema = replace(table.schema, title="")
    made = Table.from_vectors(vectors, table.rows, leaving(table.origin, done), schema)
    rows, units, least = table.rows, table.units, table.schema.min_units
    if budget:
        return Guarded(made, rows, ())
    if units.codes is not None:
        rows = like_the_next(np.bincount(units.codes), least)
    touched = [name for name in table.names if _differ(table[name], made[name])]
    return Guarded(task.with_rules_kept(made), rows, _notes(made, touched, least, rows < table.rows))


@dataclass(frozen=True, eq=False, repr=False)
class _Task:
    """One table on its way to a method."""

    table: Table
    seed: Seed
    budget: bool
    as_is: frozenset[str]
    numbers: bool

    @cached_property
    def rules(self) -> list[Rule]:
        return rules_for(self.table.schema, self.table.names)

    def open(self, column: Column) -> bool:
        """Whether a column's values are not the exit's business."""
        return stays(column) or column.release == "as-is" or column.name in self.as_is

    def without_rare(self, name: str, parent: Vector | None = None, turn: int = 0) -> Vector:
        """A column without what few units hold."""
        vector = replace(self.table[name], column=_bare(self.table[name].column))
        units, least = self.table.units, self.table.schema.min_units
        rng = generator(self.seed, "exit", name, turn)
        if self.open(vector.column) or (not vector.is_number and _is_public(vector.column)):
            return vector
        if vector.is_number:
            guarded = self.numbers and not self.budget
            return without_rare_numbers(vector, units, least, rng, tails=True) if guarded else vector
        within = None if parent is None else parent.categories.codes.astype(np.int64)
        return without_rare_levels(vector, units, least, rng, within, self._public(name), self.budget)

    def _public(self, name: str) -> frozenset[Any]:
        """Values of a column that the rules of the schema name: whoever wrote them made them public."""
        sentences = [rule.sentence for rule in self.rules if name in rule.columns]
        trees = [tree for each in sentences for tree in (each.condition, each.conclusion) if tree is not None]
        return frozenset(n.value for tree in trees for n in ast.walk(tree) if isinstance(n, ast.Constant))

    def with_rules_kept(self, made: Table) -> Table:
        """Rows that kept the rules keep them still: numbers are drawn again, then other rows stand in for them."""
        rules = self.rules
        before = [rule.violations(self.table) for rule in rules]
        broken = np.zeros(made.rows, bool)
        for turn in range(1, AGAIN + 1):
            now = [rule.violations(made) & ~old for rule, old in zip(rules, before, strict=True)]
            broken = np.any(now, axis=0) if now else broken
            if not broken.any():
                return made
            read = {n for rule, rows in zip(rules, now, strict=True) if rows.any() for n in rule.columns}
            fresh = [self.without_rare(n, turn=turn) for n in read if made[n].is_number]
            made = made.with_vectors(*(_patched(made[v.column.name], v, broken) for v in fresh))
        good = np.flatnonzero(~np.any([rule.violations(made) for rule in self.rules], axis=0))
        if not len(good):
            return made
        rows = np.arange(made.rows)
        rows[broken] = good[generator(self.seed, "exit").integers(0, len(good), np.count_nonzero(broken))]
        swapped = [made[n].take(rows) for n in made.names if not self.open(made.schema[n])]
        return made.with_vectors(*swapped)


def _patched(old: Vector, new: Vector, rows: BoolArray) -> Vector:
    """A column with some rows of another draw of it."""
    state = np.where(rows, states(new), states(old))
    return Vector(old.column, np.where(rows, new.data, old.data), state).tidy()


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
    schema = replace(kept.schema, title="")  # what the original was called is not what this file is
    return replace(kept, schema=schema, origin=replace(leaving(kept.origin, kept.vectors), left=True))


def releasable(table: Table) -> Table:
    """The table without identifiers, unit columns and numbers of sampling units.

    Examples
    --------
    >>> schema = Schema.infer({"name": ["x"], "age": [3]}).with_roles(identifier="name")
    >>> releasable(Table.from_frame({"name": ["x"], "age": [3]}, schema)).names
    ['age']
    """
    dropped = [c.name for c in table.schema if stays(c)]
    return table.drop(dropped) if dropped else table


def occurring(table: Table) -> Table:
    """The table with the categories that somebody in it has; others stay where the schema declares them.

    For whatever gives rows out that it was given (masks): nothing else took these categories away.

    Examples
    --------
    >>> import polars as pl
    >>> table = Table.from_frame(pl.DataFrame({"a": pl.Series(["x"], dtype=pl.Enum(["x", "y"]))}))
    >>> occurring(table)["a"].levels
    ('x',)
    """
    vectors = [_used(table[name]) for name in table.names]
    return Table.from_vectors(vectors, table.rows, table.origin, table.schema)


def _used(vector: Vector) -> Vector:
    column = vector.column
    if vector.is_number or column.kind is Kind.BOOLEAN or _is_public(column) or column.release == "as-is":
        return vector
    used = np.unique(vector.values)
    if len(used) == len(vector.levels):
        return vector
    return with_levels(column, vector.levels, used, vector.data.astype(np.int64), states(vector))


def leaving(origin: Origin, vectors: Mapping[str, Vector]) -> Origin:
    """Where a table came from, without its index, and without categories and decimals that the vectors do not have.

    Examples
    --------
    >>> import polars as pl
    >>> table = Table.from_frame(pl.DataFrame({"a": pl.Series(["x"], dtype=pl.Enum(["x", "y"]))}))
    >>> vector = replace(table["a"], column=replace(table["a"].column, levels=("x",)))
    >>> leaving(table.origin, {"a": vector}).dtypes["a"].categories.to_list()
    ['x']
    """
    dtypes = {name: _trimmed(origin.dtypes[name], vectors[name]) for name in origin.dtypes if name in vectors}
    objects = {
        name: _coarser(held, vectors[name]) for name, held in origin.objects.items() if name in vectors
    }
    columns = origin.columns
    if columns is not None:  # the columns are named, their index is not
        columns = columns.set_names([None] * columns.nlevels)
    # Nothing is kept of a column that stays behind: the type of an identifier may list every person.
    return replace(origin, index=None, columns=columns, dtypes=dtypes, objects=objects)


def _coarser(held: Objects, vector: Vector) -> Objects:
    """How Python objects are given back: exact decimal numbers with as many places as the vector has."""
    places = vector.column.decimals
    if held.kind is None or places is None or not pa.types.is_decimal(held.kind) or places >= held.kind.scale:
        return held
    return replace(held, kind=pa.decimal128(held.kind.precision, places))


def like_the_next(owned: AnyArray, least: int) -> int:
    """Rows there would be if owners of more than twice the rows of the ``least``-th largest had as many as that one.

    Examples
    --------
    >>> like_the_next(np.array([90, 3, 2, 2, 1]), 3)
    10
    """
    if not len(owned):
        return 0
    usual = np.sort(owned)[-min(least, len(owned))]
    return int(np.where(owned > 2 * usual, usual, owned).sum())


def _bare(column: Column) -> Column:
    """A column without what inference read off the data: extremes, and remarks on its values."""
    if column.domain == "declared":
        return replace(column, note="")
    return replace(column, note="", bounds=None)


def _is_public(column: Column) -> bool:
    """Whether all levels are public knowledge."""
    return column.domain == "declared" and column.kind is not Kind.TEXT


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


def _differ(old: Vector, new: Vector) -> bool:
    """Whether values of a column were changed."""
    if old.is_number:
        return not np.array_equal(old.values, new.values)
    return set(map(level_key, old.levels)) != set(map(level_key, new.levels))


def _notes(table: Table, touched: Sequence[str], least: int, flattened: bool) -> list[str]:
    """What the exit did, column by column, without counts."""
    told = []
    for became in dict.fromkeys(_BECAME.values()):
        hit = [n for n in touched if _BECAME.get(table.schema[n].kind, _BECAME[Kind.CATEGORICAL]) == became]
        if hit:
            told.append(f"{columns_named(hit)}: {became.format(least)}")
    if flattened:
        told.append("number of rows: the largest units count as if they had as many rows as the next ones")
    return told


_ANEW = "that fewer than {} units have are drawn anew among their neighbours"
_BECAME = {
    Kind.CATEGORICAL: "categories that fewer than {} units have became others",
    Kind.TEXT: "texts that fewer than {} units have are made up after their pattern, or left empty",
    Kind.INTEGER: f"numbers {_ANEW}",
    Kind.CONTINUOUS: f"numbers {_ANEW}",
    Kind.POINT: f"numbers {_ANEW}",
    Kind.DATETIME: f"dates and times {_ANEW}",
}
"""What becomes of rare values, by kind of column."""
