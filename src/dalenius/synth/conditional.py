"""Rows that meet a condition, drawn from a model: `given` conditions, and rows `like` others with their gaps filled.

Drawing and throwing away what does not meet the condition gives exactly the conditional distribution (von Neumann
1951). A model that draws one column after the other throws rows away as soon as a column says so, and draws the
columns after it only for rows that stay. Where a condition is so rare that too few rows stay, rows that meet it are
used more than once; how many different ones there are is the effective number of draws, and is told.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from dalenius.core.errors import DataError, OptionError, names, no_column
from dalenius.core.random import Seed, generator, sequence
from dalenius.data.encode import EPOCH, MICROSECOND, level_key
from dalenius.data.exit import leave
from dalenius.data.rules import Rule
from dalenius.data.schema import Column, Kind, Schema
from dalenius.data.table import Table
from dalenius.data.vector import MISSING, SPECIAL, BoolArray, Vector, states

if TYPE_CHECKING:
    from dalenius.synth.base import Model

Given: TypeAlias = Mapping[str, Any] | str | Sequence[Mapping[str, Any] | str]
"""Values, ranges ``(low, high)`` or lists of values by column; rules as text; or several of these."""
MOST_DRAWS = 2_000_000
"""Rows that are drawn before rows are used twice."""
BATCH = 20_000
MARGIN = 1.2


@dataclass(frozen=True)
class Condition:
    """What rows must meet: the columns it reads, and which rows of a table meet it."""

    columns: tuple[str, ...]
    met: Callable[[Table], BoolArray]


@dataclass(frozen=True)
class Conditioned:
    """Rows that meet a condition.

    Attributes
    ----------
    table
        The rows.
    drawn
        Rows that were drawn for it, those thrown away included.
    effective
        Different rows among those that meet the condition: as many as asked for where drawing was exact.
    how
        Whether rows meet a condition ("given") or complete others ("like").
    """

    table: Table
    drawn: int
    effective: int
    how: Literal["given", "like"] = "given"

    def __str__(self) -> str:
        share = f"{self.drawn:,} rows drawn for {self.table.rows:,}"
        if self.how == "like" and self.effective < self.table.rows:
            rest = self.table.rows - self.effective
            return f"{share}; in {rest:,} no try agreed with every given cell, and the nearest was taken"
        if self.effective >= self.table.rows:
            return f"{share}; every one is an exact draw"
        return (
            f"{share}; only {self.effective:,} met the condition, so rows were used more than once: effective number "
            f"of draws {self.effective:,}"
        )


def read_conditions(given: Given, schema: Schema) -> list[Condition]:
    """Conditions from values, ranges and lists by column, or from rules.

    Examples
    --------
    >>> people = Table.from_frame({"sex": ["f", "m", "f"], "age": [30, 64, 71]})
    >>> [c.met(people).tolist() for c in read_conditions({"sex": "f", "age": (60, 75)}, people.schema)]
    [[True, False, True], [False, True, True]]
    >>> read_conditions("age > 65", people.schema)[0].met(people).tolist()
    [False, False, True]
    """
    if isinstance(given, str):
        rule = Rule.parse(given, schema)
        return [Condition(rule.columns, _true(rule))]
    if not isinstance(given, Mapping):
        return [condition for part in given for condition in read_conditions(part, schema)]
    unknown = [name for name in given if name not in schema]
    if unknown:
        raise OptionError(f"given: {no_column(unknown, schema.names)}")
    lost = [name for name, wanted in given.items() if not _possible(schema[name], wanted)]
    if lost:
        raise OptionError(
            f"given: column {names(lost)} never has the value asked for; give one of its levels"
        )
    return [Condition((name,), _of_column(name, wanted)) for name, wanted in given.items()]


def parse_given(texts: Sequence[str], schema: Schema) -> list[Mapping[str, Any] | str]:
    """Conditions as the command line has them: ``sex=f``, ``age=60:75``, or rules such as ``age > 65``.

    A column named several times takes any of its values.

    Examples
    --------
    >>> people = Schema.infer({"sex": ["f", "m"] * 9, "age": list(range(18))})
    >>> parse_given(["sex=f", "age=5:9", "sex=m"], people)
    [{'sex': ['f', 'm'], 'age': (5.0, 9.0)}]
    """
    values: dict[str, Any] = {}
    rules = []
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or value.startswith("=") or name[-1:] in "<>!" or name not in schema:
            rules.append(text)
            continue
        read = _typed(schema[name], value)
        if name in values and not isinstance(read, tuple) and not isinstance(values[name], tuple):
            read = [*(values[name] if isinstance(values[name], list) else [values[name]]), read]
        values[name] = read
    return [*([values] if values else []), *rules]


def _typed(column: Column, text: str) -> Any:
    """A value as the column holds it; two of them with a colon are a range."""
    ordered = column.kind.is_number or column.kind is Kind.ORDERED
    if ordered and text.count(":") == 1:
        low, high = (None if part == "" else _typed(column, part) for part in text.split(":"))
        return low, high
    held = {str(level): level for level in (*(column.levels or ()), *column.special)}
    if text in held or not column.kind.is_number or column.kind is Kind.DATETIME:
        return held.get(text, text)
    try:
        return float(text)
    except ValueError:
        raise OptionError(f"given: column {column.name!r} takes a number, or a range such as 60:75") from None


def _possible(column: Column, wanted: Any) -> bool:
    """Whether a category can have the value; a range is looked at when rows are there."""
    if column.kind.is_number or column.levels is None or isinstance(wanted, tuple):
        return True
    known = {level_key(level) for level in (*column.levels, *column.special)}
    values = wanted if isinstance(wanted, (list, set, frozenset)) else [wanted]
    return any(value is None or level_key(value) in known for value in values)


def _true(rule: Rule) -> Callable[[Table], BoolArray]:
    def met(table: Table) -> BoolArray:
        return np.asarray(rule.applies(table) & rule.conclusion(table).true)

    return met


def _of_column(name: str, wanted: Any) -> Callable[[Table], BoolArray]:
    def met(table: Table) -> BoolArray:
        vector = table[name]
        if isinstance(wanted, tuple):
            return _between(vector, wanted)
        values = list(wanted) if isinstance(wanted, (list, set, frozenset)) else [wanted]
        equal = np.zeros(len(vector), bool)
        for value in values:
            equal |= _equal(vector, value)
        return equal

    return met


def _equal(vector: Vector, value: Any) -> BoolArray:
    column = vector.column
    if value is None:
        return states(vector) == MISSING
    for j, code in enumerate(column.special):
        if level_key(code) == level_key(value):
            return states(vector) == SPECIAL + j
    if vector.is_number:
        return vector.present & (vector.data == _number(column, value))
    keys = [level_key(level) for level in vector.levels]
    if level_key(value) not in keys:
        return np.zeros(len(vector), bool)
    return vector.present & (vector.data == keys.index(level_key(value)))


def _between(vector: Vector, wanted: tuple[Any, ...]) -> BoolArray:
    column = vector.column
    if len(wanted) != 2 or not (vector.is_number or column.kind is Kind.ORDERED):
        raise OptionError(
            f"given: column {column.name!r} takes a range (low, high) only if it has an order; give a list of values"
        )
    low, high = wanted
    if vector.is_number:
        bounds = [None if end is None else _number(column, end) for end in (low, high)]
        data = vector.data
    else:
        keys = [level_key(level) for level in vector.levels]
        bounds = [None if end is None else _place(keys, end, column) for end in (low, high)]
        data = vector.data.astype(np.int64)
    met = vector.present.copy()
    met &= True if bounds[0] is None else data >= bounds[0]
    met &= True if bounds[1] is None else data <= bounds[1]
    return met


def _place(keys: list[Any], value: Any, column: Column) -> int:
    if level_key(value) not in keys:
        raise OptionError(
            f"given: column {column.name!r} has no level that a range could end at; give one it has"
        )
    return keys.index(level_key(value))


def _number(column: Column, value: Any) -> float:
    if column.kind is not Kind.DATETIME:
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
            raise OptionError(
                f"given: column {column.name!r} is {column.kind}; give a number, or (low, high)"
            )
        return float(value)
    if isinstance(value, str):
        try:
            value = dt.datetime.fromisoformat(value)
        except ValueError:
            raise OptionError(f"given: column {column.name!r} takes dates such as 2020-12-31") from None
    moment = value if isinstance(value, dt.datetime) else dt.datetime(value.year, value.month, value.day)
    return float((moment - EPOCH) // MICROSECOND) * (1000 if column.decimals == 9 else 1)


def draw_given(model: Model, given: Given, rows: int, seed: Seed) -> Conditioned:
    """Rows of a model that meet conditions.

    Examples
    --------
    >>> from dalenius.synth import make_synthesizer
    >>> people = {"sex": ["f", "m"] * 40, "age": list(range(50, 70)) * 4}
    >>> drawn = draw_given(make_synthesizer("cart").fit(people, seed=1), {"sex": "f", "age": (60, 75)}, 50, 1)
    >>> drawn.table.rows, set(drawn.table.to_frame()["sex"]), drawn.effective
    (50, {'f'}, 50)
    """
    released = released_schema(model)
    conditions = read_conditions(given, released)
    early = [c for c in conditions if not model.preparation.changed.intersection(c.columns)]
    accepted: list[Table] = []
    have = drawn = turn = 0
    size = min(max(2 * rows, 1000), BATCH)
    while have < rows and drawn < MOST_DRAWS:
        made = model.preparation.restore(model.draw_block(size, sequence(seed, "given", turn), early))
        kept = made.take(_meeting(made, conditions))
        accepted.append(kept)
        have, drawn, turn = have + kept.rows, drawn + size, turn + 1
        rate = max(have, 0.5) / drawn
        size = int(min(max(1000, MARGIN * (rows - have) / rate), 10 * BATCH, max(MOST_DRAWS - drawn, 1000)))
    if rows and not have:
        raise DataError(f"none of {drawn:,} rows drawn meets the condition; ask for something less rare")
    pool = _stacked(accepted)
    if have >= rows:
        chosen = np.arange(rows)
    else:  # every row at least once, the rest at random
        chosen = np.concatenate([np.arange(have), generator(seed, "again").integers(0, have, rows - have)])
    return Conditioned(leave(pool.take(chosen)), drawn, min(have, rows))


def _meeting(table: Table, conditions: Sequence[Condition]) -> BoolArray:
    met = np.ones(table.rows, bool)
    for condition in conditions:
        met &= condition.met(table)
    return met


def _stacked(tables: Sequence[Table]) -> Table:
    """Tables of one model below each other."""
    first = tables[0]
    if len(tables) == 1:
        return first
    vectors = []
    for name in first.names:
        parts = [with_levels(table[name], first[name].column) for table in tables]
        state = np.concatenate([states(part) for part in parts])
        data = np.concatenate([part.data for part in parts])
        vectors.append(Vector(first[name].column, data, state).tidy())
    return Table.from_vectors(vectors, sum(t.rows for t in tables), first.origin, first.schema)


def with_levels(vector: Vector, column: Column) -> Vector:
    """The same cells over the levels of another description of the column."""
    if vector.is_number or vector.column.levels == column.levels:
        return vector
    place = {level_key(level): i for i, level in enumerate(column.levels or ())}
    moved = np.array([place.get(level_key(level), 0) for level in vector.levels] or [0])
    if len(place) < len(vector.levels):  # a level the other does not know is added at its end
        new = [level for level in vector.levels if level_key(level) not in place]
        column = replace(column, levels=(*(column.levels or ()), *new))
        place |= {level_key(level): len(place) + i for i, level in enumerate(new)}
        moved = np.array([place[level_key(level)] for level in vector.levels])
    return replace(vector, column=column, data=moved[vector.data])


def released_schema(model: Model) -> Schema:
    """Columns of the rows a model gives out, those made afterwards included."""
    after = {column.name: column for column in model.preparation.columns}
    own = [after.pop(column.name, column) for column in model.schema]
    return Schema((*(replace(c, parent=None, partner=None) for c in own), *after.values()))
