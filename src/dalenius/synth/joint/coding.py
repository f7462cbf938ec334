"""`Coding`: every column as a few categories before a joint model, and back to values after it.

Numbers are grouped first. Without differential privacy a group becomes a value again by drawing one of the
original values of that group; with it the originals are never touched again: a value is drawn uniformly within
the group's bounds, or from a declared list. (Raab 2022.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dalenius.core.errors import DataError, OptionError, names
from dalenius.core.option import real_number, whole_number
from dalenius.core.random import Seed, generator
from dalenius.data.declared import declared_bounds
from dalenius.data.exit import stays
from dalenius.data.grouping import Grouping, Method, breaks_of_counted
from dalenius.data.rare import without_rare_numbers
from dalenius.data.schema import Column, Kind, Level, Schema
from dalenius.data.table import Table
from dalenius.data.vector import MISSING, NAN, SPECIAL, VALUE, AnyArray, BoolArray, IntArray, Vector, compact
from dalenius.synth._store import stored
from dalenius.synth.counted import Counted

FloatArray = np.ndarray[Any, np.dtype[np.float64]]


@dataclass(frozen=True)
class Groups:
    """How numbers are grouped: breaks given per column, or found by a method; values declared per column.

    Examples
    --------
    >>> Groups(breaks={"age": [0, 18, 65, 100]}).groups
    5
    """

    groups: int = 5
    method: Method = "quantile"
    breaks: Mapping[str, Sequence[float]] | None = None
    values: Mapping[str, Sequence[float]] | None = None

    def __post_init__(self) -> None:
        whole_number("groups", self.groups, 2)
        for name, given in (self.breaks or {}).items():
            for value in given:
                real_number(f"a value in the breaks of column {name!r}", value)


@stored
@dataclass(frozen=True, eq=False, repr=False)
class ColumnCode:
    """One column as codes: levels or groups first, then the states that are no ordinary value.

    Attributes
    ----------
    column
        Its description, with levels.
    edges
        Breaks of the groups of a number column.
    states
        States (special code, missing, NaN) that have a code of their own, in order.
    pool, starts
        Values a group may become, sorted, and where each group begins among them; None draws within the edges.
    ends
        Where the places of each value of the pool end, for values that are listed once with their counts.
    """

    column: Column
    edges: FloatArray | None
    states: tuple[int, ...]
    pool: AnyArray | None = None
    starts: IntArray | None = None
    ends: IntArray | None = None

    @property
    def base(self) -> int:
        """Number of levels or groups."""
        return len(self.edges) - 1 if self.edges is not None else len(self.column.levels or ())

    @property
    def size(self) -> int:
        """Number of codes."""
        return self.base + len(self.states)

    def label(self, code: int) -> Any:
        """What a code stands for: a level, the bounds of a group, or the word of a state."""
        if code >= self.base:
            state = self.states[code - self.base]
            return {MISSING: "missing", NAN: "NaN"}.get(state) or self.column.special[state - SPECIAL]
        if self.edges is None:
            return (self.column.levels or ())[code]
        return float(self.edges[code]), float(self.edges[code + 1])

    def encode(self, vector: Vector) -> IntArray:
        """Codes of the rows."""
        codes = (
            vector.data
            if self.edges is None
            else np.searchsorted(self.edges[1:-1], vector.data, side="right")
        )
        if vector.state is None:
            return compact(codes, self.size)
        lookup = np.full(
            256, max(self.size - 1, 0), dtype=np.int64
        )  # NaN counts as missing where only that has a code
        for i, state in enumerate(self.states):
            lookup[state] = self.base + i
        return compact(np.where(vector.state == VALUE, codes, lookup[vector.state]), self.size)

    def decode(self, codes: IntArray, rng: np.random.Generator) -> Vector:
        """Rows again."""
        states = np.zeros(max(self.size, 1), np.uint8)
        states[self.base : self.size] = self.states
        state = states[codes]
        ordinary = state == VALUE
        if self.edges is None:
            data = compact(np.where(ordinary, codes, 0), self.base)
        else:
            data = np.zeros(
                len(codes), np.int64 if self.column.kind in (Kind.INTEGER, Kind.DATETIME) else np.float64
            )
            data[ordinary] = self._values(codes[ordinary].astype(np.int64), rng)
        return Vector(self.column, data, state).tidy()

    def _values(self, groups: IntArray, rng: np.random.Generator) -> AnyArray:
        if self.pool is not None and self.starts is not None:
            low, high = self.starts[groups], self.starts[groups + 1]
            inside = low + (rng.random(len(groups)) * (high - low)).astype(np.int64)
            if self.ends is not None:
                inside = np.searchsorted(self.ends, inside, side="right")
            if np.all(high > low):
                return self.pool[inside]
            if len(self.pool):
                known = self.pool[np.minimum(inside, len(self.pool) - 1)]
                return np.where(high > low, known, self._within(groups, rng))
        return self._within(groups, rng)

    def _within(self, groups: IntArray, rng: np.random.Generator) -> AnyArray:
        """Uniform between the bounds of a group; whole numbers stay whole."""
        edges = self.edges if self.edges is not None else np.zeros(2)
        low, high = edges[groups], edges[groups + 1]
        if self.column.kind in (Kind.INTEGER, Kind.DATETIME):
            first = np.ceil(low)
            # The last group holds its upper bound, the others do not.
            last = np.where(groups == len(edges) - 2, np.floor(high), np.ceil(high) - 1)
            span = np.maximum(last - first + 1, 1)
            return (first + np.floor(rng.random(len(groups)) * span)).astype(np.int64)
        drawn = low + rng.random(len(groups)) * (high - low)
        if self.column.decimals is None:
            return drawn
        return _rounded(drawn, self.column.decimals, low, high, closed=groups == len(edges) - 2)


@stored
@dataclass(frozen=True, eq=False, repr=False)
class Coding:
    """The codes of all columns.

    Examples
    --------
    >>> table = Table.from_frame({"sex": ["f", "m", None, "f"], "age": [31, 64, 12, 40]})
    >>> coding = Coding.from_data(table, Groups(groups=2))
    >>> coding.sizes
    (3, 2)
    >>> [codes.tolist() for codes in coding.encode(table)]
    [[0, 1, 2, 0], [0, 1, 0, 1]]
    """

    columns: tuple[ColumnCode, ...]

    @classmethod
    def from_data(cls, table: Table, groups: Groups, keep_values: bool = True) -> Coding:
        """Codes read off the data: levels and gaps that occur, breaks found by the grouping.

        Without values, nobody's own value is a break or an end: those are found among values that enough units share.
        """
        if not keep_values:
            table = table.with_vectors(*_shared_numbers(table))
        grouping = Grouping.fit(
            table, method=groups.method, groups=groups.groups, breaks=_known(table, groups.breaks)
        )
        _known(table, groups.values, "values")
        return cls(tuple(_from_data(table[name], grouping, groups, keep_values) for name in table.names))

    @classmethod
    def from_counted(cls, columns: Sequence[Counted], groups: Groups, keep_values: bool = True) -> Coding:
        """Codes read off distinct entries and their counts; the same as from the rows.

        Examples
        --------
        >>> ages = Table.from_frame({"age": [31, 64, 12, 40]})["age"]
        >>> Coding.from_counted([Counted(ages, np.ones(4, np.int64))], Groups(groups=2)).sizes
        (2,)
        """
        vectors = [each.vector for each in columns]
        alone = Table.from_vectors([vector.take(np.zeros(0, np.int64)) for vector in vectors], 0)
        given = _known(alone, groups.breaks)
        _known(alone, groups.values, "values")
        codes = {
            each.vector.column.name: breaks_of_counted(
                each.vector.values, each.present_times, groups.method, groups.groups
            )
            for each in columns
            if each.vector.is_number and each.vector.column.name not in given
        }
        grouping = Grouping({**codes, **Grouping.fit(breaks=given, columns=[]).breaks})
        return cls(
            tuple(
                _from_data(each.vector, grouping, groups, keep_values, each.present_times) for each in columns
            )
        )

    @classmethod
    def declared(cls, table: Table, groups: Groups) -> Coding:
        """Codes from public knowledge alone: declared levels, bounds, breaks; every column may be missing.

        Raises
        ------
        DataError
            When a column's levels or bounds were read off the data.
        """
        refuse_undeclared(table.schema, groups)
        _known(table, groups.breaks)
        _known(table, groups.values, "values")
        return cls(tuple(_from_schema(table[name].column, groups) for name in table.names))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of codes of each column."""
        return tuple(column.size for column in self.columns)

    @property
    def names(self) -> list[str]:
        """Names of the columns."""
        return [column.column.name for column in self.columns]

    def encode(self, table: Table) -> list[IntArray]:
        """Codes of a table's rows, column by column."""
        return [column.encode(table[column.column.name]) for column in self.columns]

    def decode(self, codes: Sequence[IntArray], seed: Seed) -> list[Vector]:
        """Columns again; numbers are drawn within their groups."""
        return [
            column.decode(held, generator(seed, "value", column.column.name))
            for column, held in zip(self.columns, codes, strict=True)
        ]


def _shared_numbers(table: Table) -> list[Vector]:
    """Columns of numbers without values that few units hold."""
    held = [table[name] for name in table.names if table[name].is_number]
    least, units = table.schema.min_units, table.units
    return [without_rare_numbers(vector, units, least, generator(0, vector.column.name)) for vector in held]


def _known(
    table: Table, given: Mapping[str, Sequence[float]] | None, what: str = "breaks"
) -> Mapping[str, Sequence[float]]:
    unknown = [name for name in given or {} if name not in table]
    if unknown:
        raise OptionError(f"{what} are given for {names(unknown)}, which is not a column of the data")
    wrong = [name for name in given or {} if not table[name].is_number]
    if wrong:
        raise OptionError(f"{what} are given for {names(wrong)}, which does not hold numbers")
    return given or {}


def _chosen(column: Column, groups: Groups) -> AnyArray | None:
    """Values declared for a column, as its data are held; None when there are none."""
    given = (groups.values or {}).get(column.name)
    if given is None:
        return None
    held = np.asarray(list(given))
    whole = column.kind in (Kind.INTEGER, Kind.DATETIME)
    fits = held.dtype.kind in "iuf" and held.size > 0 and bool(np.all(np.isfinite(held)))
    if not fits or (whole and np.any(held != np.round(held))):
        raise OptionError(
            f"values of column {column.name!r} must be finite {'whole ' if whole else ''}numbers, at least one"
        )
    return held.astype(np.int64 if whole else np.float64)


def _rounded(
    drawn: FloatArray, decimals: int, low: FloatArray, high: FloatArray, closed: BoolArray
) -> FloatArray:
    """Numbers rounded without leaving their group: 15.97 of a group that ends below 16 is 15.9, not 16.0."""
    near = np.round(drawn, decimals)
    scale, slack = 10.0**decimals, 1e-6  # bounds such as 0.3 are no exact multiples of 0.1
    first = np.ceil(low * scale - slack)
    last = np.where(closed, np.floor(high * scale + slack), np.ceil(high * scale - slack) - 1)
    inside = np.clip(near, np.round(first / scale, decimals), np.round(last / scale, decimals))
    return np.where(first <= last, inside, near)


def _from_data(
    vector: Vector, grouping: Grouping, groups: Groups, keep_values: bool, times: IntArray | None = None
) -> ColumnCode:
    states = [SPECIAL + j for j in range(len(vector.column.special))]
    if vector.state is not None:
        states = [s for s in states if np.any(vector.state == s)]
        states += [state for state in (MISSING, NAN) if np.any(vector.state == state)]
    else:
        states = []
    if not vector.is_number:
        return ColumnCode(vector.column, None, tuple(states))
    edges, name = grouping.breaks[vector.column.name], vector.column.name
    if states and not len(vector.values) and name not in {**(groups.breaks or {}), **(groups.values or {})}:
        edges = edges[:1]  # no group at all: a prior must not invent values where there is none
    chosen = _chosen(vector.column, groups)
    if chosen is not None:
        return ColumnCode(vector.column, edges, tuple(states), *_pool(chosen, edges))
    if not keep_values:
        return ColumnCode(vector.column, edges, tuple(states))
    if times is None:
        return ColumnCode(vector.column, edges, tuple(states), *_pool(vector.values, edges))
    order = np.argsort(vector.values, kind="stable")
    pool, ends = vector.values[order], np.cumsum(times[order])
    inner = np.append(0, ends)[np.searchsorted(pool, edges[1:-1], side="left")]
    starts = np.concatenate([[0], inner, ends[-1:] if len(ends) else [0]]).astype(np.int64)
    return ColumnCode(vector.column, edges, tuple(states), pool, starts, ends)


def _pool(values: AnyArray, edges: FloatArray) -> tuple[AnyArray, IntArray]:
    pool = np.sort(values)
    inner = np.searchsorted(pool, edges[1:-1], side="left")
    return pool, np.concatenate([[0], inner, [len(pool)]]).astype(np.int64)


def refuse_undeclared(schema: Schema, groups: Groups) -> None:
    """Error that names every column whose kind, codes, levels or bounds nobody declared.

    Breaks give a number its bounds; that it is whole, its codes and its decimals must be declared all the same.

    Examples
    --------
    >>> refuse_undeclared(Schema.infer({"age": [3, 4, 5]}), Groups(breaks={"age": [0, 5, 10]}))
    Traceback (most recent call last):
    ...
    dalenius.core.errors.DataError: column 'age': not declared, and what is read off the confidential data ...
    """
    # Where nothing is declared the roles were guessed too, so the error must not leave out a column because of one.
    guessed = not any(c.domain == "declared" for c in schema)
    named = [c for c in schema if guessed or not stays(c)]
    lacking = [c.name for c in named if not _is_declared(c, groups)]
    if lacking:
        raise DataError(
            f"column {names(lacking, len(lacking))}: not declared, and what is read off the confidential data would "
            "leak; give a schema with 'domain: declared' for them (kind and codes, with levels, bounds or breaks), or "
            "accept the leak with the option domain=from-data"
        )


def _is_declared(column: Column, groups: Groups) -> bool:
    if column.domain != "declared" or column.kind is Kind.TEXT:
        return False
    if column.kind.is_number:
        return column.bounds is not None or column.name in (groups.breaks or {})
    return column.levels is not None or column.kind is Kind.BOOLEAN


def _from_schema(column: Column, groups: Groups) -> ColumnCode:
    column = replace(column, note="", levels=column.levels or _truths(column))
    states = (*(SPECIAL + j for j in range(len(column.special))), MISSING)
    if not column.kind.is_number:
        return ColumnCode(column, None, states)
    given = (groups.breaks or {}).get(column.name)
    if given is not None:
        edges = Grouping.fit(breaks={column.name: given}, columns=[]).breaks[column.name]
    elif (bounds := declared_bounds(column)) is not None:
        low, high = bounds
        edges = np.linspace(low, high if high > low else low + 1, groups.groups + 1)
    else:
        raise DataError(f"column {column.name!r}: declare bounds or give breaks")
    chosen = _chosen(column, groups)
    if chosen is None:
        return ColumnCode(column, edges, states)
    return ColumnCode(column, edges, states, *_pool(chosen, edges))


def _truths(column: Column) -> tuple[Level, ...] | None:
    return (False, True) if column.kind is Kind.BOOLEAN else None
