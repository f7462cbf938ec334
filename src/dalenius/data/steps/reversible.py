"""Steps that are done to a file before synthesis and undone on the synthetic file (Latner et al. 2024).

They take out what follows from other columns, declare codes, read texts as numbers, and bring everything back.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, ClassVar, Literal

import numpy as np

from dalenius.core.errors import DataError
from dalenius.core.option import Option
from dalenius.data.derived import Derived
from dalenius.data.encode import level_key
from dalenius.data.rules import Rule
from dalenius.data.schema import Column, Kind, Level
from dalenius.data.steps.step import ColumnStep, step
from dalenius.data.table import Table
from dalenius.data.vector import MISSING, SPECIAL, Vector, compact, states

KindWord = Literal["categorical", "ordered", "integer", "continuous", "boolean", "datetime", "text", "point"]


@dataclass(frozen=True)
class Drop(ColumnStep):
    """A column is dropped; where it is not there, nothing is to be done."""

    def faults(self, table: Table) -> list[str]:
        """None: a file without the column is what the step makes."""
        return []

    def _change(self, table: Table) -> Table:
        return table.drop([self.column])


@step
@dataclass(frozen=True)
class DeclareCodes(ColumnStep):
    """Numbers that stand for "no answer" become codes; they are kept apart and come back as they went in."""

    do: ClassVar[str] = "declare-codes"
    codes: tuple[Level, ...]

    def _change(self, table: Table) -> Table:
        """Read the column anew with its codes."""
        old = table.schema[self.column]
        codes = tuple(dict.fromkeys([*old.not_applicable, *self.codes]))
        return _redescribed(table, replace(old, not_applicable=codes, bounds=None))


@step
@dataclass(frozen=True)
class ReadAsNumber(ColumnStep):
    """A column of texts that are numbers becomes a number."""

    do: ClassVar[str] = "read-as-number"

    def _change(self, table: Table) -> Table:
        """Whole numbers where all are whole."""
        vector = table[self.column]
        if vector.is_number:
            return table
        words = [str(level).strip() for level in vector.levels]
        numbers = np.array([_number(word) for word in words] or [np.nan])
        data = numbers[vector.data]
        known = vector.present & np.isfinite(data)
        whole = bool(np.all(data[known] == np.round(data[known])))
        column = Column(self.column, Kind.INTEGER if whole else Kind.CONTINUOUS, roles=vector.column.roles)
        filled = np.where(known, data, 0.0)
        made = Vector(
            column,
            np.rint(filled).astype(np.int64) if whole else filled,
            np.where(known, 0, MISSING).astype(np.uint8),
        )
        return table.with_vectors(made.tidy())


@step
@dataclass(frozen=True)
class DropDerived(Drop):
    """A column that a formula gives is dropped and computed again."""

    do: ClassVar[str] = "drop-derived"
    rule: str
    kind: KindWord
    decimals: int | None = None

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns the formula reads."""
        return Derived(self.column, Rule.parse(self.rule)).needs

    def undo(self, table: Table) -> Table:
        """Compute it; empty where an input is empty."""
        column = Column(self.column, Kind(self.kind), decimals=self.decimals)
        return table.with_vectors(Derived(self.column, Rule.parse(self.rule)).compute(column, table))


@step
@dataclass(frozen=True)
class DropGrouping(Drop):
    """A column that cuts a number into intervals is dropped and cut again."""

    do: ClassVar[str] = "drop-grouping"
    source: str
    cuts: tuple[float, ...]
    levels: tuple[Level, ...]
    kind: KindWord = "categorical"

    def conflicts(self) -> list[str]:
        """One level more than cuts."""
        fits = len(self.levels) == len(self.cuts) + 1
        return [] if fits else [f"levels: {len(self.cuts)} cuts make {len(self.cuts) + 1} groups"]

    @property
    def needs(self) -> tuple[str, ...]:
        """The number it is cut from."""
        return (self.source,)

    def undo(self, table: Table) -> Table:
        """Cut the number; empty where it is empty."""
        source = number_column(table, self.source, self.do)
        codes = np.searchsorted(np.array(self.cuts), source.data, side="right")
        column = Column(self.column, Kind(self.kind), levels=self.levels)
        state = np.where(source.present, 0, MISSING).astype(np.uint8)
        data = compact(np.where(source.present, codes, 0), len(self.levels))
        return table.with_vectors(Vector(column, data, state).tidy())


@step
@dataclass(frozen=True)
class DropSettled(Drop):
    """A column that another one settles (county by town) is dropped and read off it again."""

    do: ClassVar[str] = "drop-settled"
    source: str
    levels: Annotated[tuple[Level, ...], Option(secret=True)] = field(repr=False)
    becomes: Annotated[tuple[Level, ...], Option(secret=True)] = field(repr=False)
    kind: KindWord = "categorical"

    def conflicts(self) -> list[str]:
        """What each level becomes."""
        return (
            [] if len(self.levels) == len(self.becomes) else ["becomes: say what each of the levels becomes"]
        )

    @property
    def needs(self) -> tuple[str, ...]:
        """The column it is read off."""
        return (self.source,)

    def undo(self, table: Table) -> Table:
        """Read it off; empty where the source is empty or has a level that is not listed."""
        source = table[self.source]
        levels = tuple(dict.fromkeys(self.becomes))
        place = {level_key(a): levels.index(b) for a, b in zip(self.levels, self.becomes, strict=True)}
        of = np.array([place.get(level_key(level), -1) for level in source.levels] or [-1])
        codes = of[source.data]
        known = source.present & (codes >= 0)
        column = Column(self.column, Kind(self.kind), levels=levels)
        data = compact(np.where(known, codes, 0), len(levels))
        return table.with_vectors(Vector(column, data, np.where(known, 0, MISSING).astype(np.uint8)).tidy())


@step
@dataclass(frozen=True)
class KeepOrder(ColumnStep):
    """A number or moment that never lies before another is kept as the distance to it, in steps of ``unit``."""

    do: ClassVar[str] = "keep-order"
    after: str
    unit: float
    kind: KindWord
    decimals: int | None = None

    @property
    def needs(self) -> tuple[str, ...]:
        """The column it follows."""
        return (self.after,)

    def _change(self, table: Table) -> Table:
        """The distance; empty where the other column is."""
        own, other = (number_column(table, name, self.do) for name in (self.column, self.after))
        known = own.present & other.present
        apart = np.where(known, np.maximum(own.data - other.data, 0), 0)
        whole = Kind(self.kind) is not Kind.CONTINUOUS
        data = apart // np.int64(self.unit) if whole else np.round(apart, 12)
        state = np.where(known, 0, np.where(own.present, MISSING, states(own))).astype(np.uint8)
        kind = Kind.INTEGER if whole else Kind.CONTINUOUS
        column = replace(own.column, kind=kind, bounds=None, format=None, decimals=self.decimals, note="")
        return table.with_vectors(Vector(column, data, state).tidy())

    def undo(self, table: Table) -> Table:
        """The other column and the distance."""
        own, other = (number_column(table, name, self.do) for name in (self.column, self.after))
        known = own.present & other.present
        far = np.where(known, np.maximum(own.data, 0), 0)
        whole = Kind(self.kind) is not Kind.CONTINUOUS
        far = far.astype(np.int64) * np.int64(self.unit) if whole else far
        data = np.where(known, other.data + far, 0)
        if not whole and self.decimals is not None:
            data = np.round(data, self.decimals)
        state = np.where(known, 0, np.where(own.present, MISSING, states(own))).astype(np.uint8)
        column = replace(own.column, kind=Kind(self.kind), decimals=None if whole else self.decimals)
        return table.with_vectors(Vector(column, data, state).tidy())


@step
@dataclass(frozen=True)
class KeepGap(ColumnStep):
    """A question that is not asked of some (cigarettes a day of those who do not smoke) is empty for them.

    ``code`` is the special code they have, or None for an empty cell; ``only`` says that nobody else has it.
    """

    do: ClassVar[str] = "keep-gap"
    where: str
    levels: tuple[Level, ...]
    code: Level | None = None
    only: bool = False

    @property
    def needs(self) -> tuple[str, ...]:
        """The column that says who is asked."""
        return (self.where,)

    def _change(self, table: Table) -> Table:
        """Nothing: the synthesizer sees the gaps as they are."""
        return table

    def undo(self, table: Table) -> Table:
        """Gaps for them; others who have one take the answer of another synthetic row, in turn."""
        own, source = table[self.column], table[self.where]
        special = [level_key(code) for code in own.column.special]
        gap = MISSING if self.code is None else SPECIAL + special.index(level_key(self.code))
        wanted = {level_key(level) for level in self.levels}
        picks = np.array([level_key(level) in wanted for level in source.levels] or [False])
        unasked = source.present & picks[source.data]
        state = states(own)
        rows = np.arange(table.rows)
        wrong = np.flatnonzero(~unasked & source.present & (state == gap)) if self.only else rows[:0]
        donors = np.flatnonzero(~unasked & source.present & (state != gap))
        if len(wrong) and len(donors):
            rows[wrong] = np.resize(donors, len(wrong))
        data = np.where(unasked, 0, own.data[rows]).astype(own.data.dtype)
        return table.with_vectors(
            Vector(own.column, data, np.where(unasked, gap, state[rows]).astype(np.uint8)).tidy()
        )


@step
@dataclass(frozen=True)
class DropConstant(Drop):
    """A column with one value is dropped and filled again."""

    do: ClassVar[str] = "drop-constant"
    value: Level
    kind: KindWord

    def undo(self, table: Table) -> Table:
        """The same value in every row."""
        kind = Kind(self.kind)
        if kind.is_number:
            data = np.full(table.rows, self.value, np.float64 if kind is Kind.CONTINUOUS else np.int64)
            return table.with_vectors(Vector(Column(self.column, kind), data))
        column = Column(self.column, kind, levels=(self.value,))
        return table.with_vectors(Vector(column, np.zeros(table.rows, np.uint8)))


@step
@dataclass(frozen=True)
class DropColumn(Drop):
    """A column that must not or cannot be synthesized is dropped for good."""

    do: ClassVar[str] = "drop-column"
    reversible: ClassVar[bool] = False


@step
@dataclass(frozen=True)
class MoveLast(ColumnStep):
    """A column with many levels goes last, where it predicts nothing."""

    do: ClassVar[str] = "move-last"

    def _change(self, table: Table) -> Table:
        """All other columns first."""
        return table.select([*(name for name in table.names if name != self.column), self.column])


def number_column(table: Table, name: str, step: str) -> Vector:
    """The column a step needs as numbers; an error names it where it holds none."""
    vector = table[name]
    if not vector.is_number:
        raise DataError(f"recipe: column {name!r} is {vector.column.kind}; step {step!r} needs numbers")
    return vector


def _redescribed(table: Table, column: Column) -> Table:
    columns = tuple(column if c.name == column.name else c for c in table.schema.columns)
    return table.with_schema(replace(table.schema, columns=columns))


def _number(word: str) -> float:
    try:
        return float(word)
    except ValueError:
        return float("nan")
