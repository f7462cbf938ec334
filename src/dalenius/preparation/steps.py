"""Steps of a cleaning recipe: each can be done to a file before synthesis and undone on the synthetic file.

Steps are plain data (a recipe is a JSON file that a person reads and edits), so each is a dataclass of texts, numbers
and lists (Latner et al. 2024).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import asdict, dataclass, field, replace
from typing import Any, ClassVar, get_args, get_origin, get_type_hints

import numpy as np

from dalenius.core.errors import DataError
from dalenius.data.derived import Derived
from dalenius.data.rules import Rule
from dalenius.data.schema import Column, Kind, Level
from dalenius.data.table import Table
from dalenius.data.vector import MISSING, Vector, compact


@dataclass(frozen=True)
class Step(ABC):
    """One step; ``do`` is its name in the recipe, ``reversible`` whether undoing brings everything back."""

    do: ClassVar[str] = ""
    reversible: ClassVar[bool] = True
    column: str

    @abstractmethod
    def apply(self, table: Table) -> Table:
        """The table before synthesis."""

    def undo(self, table: Table) -> Table:
        """The synthetic table as the original was."""
        return table

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"do": self.do, **asdict(self)}


@dataclass(frozen=True)
class DeclareCodes(Step):
    """Numbers that stand for "no answer" become codes; they are kept apart and come back as they went in."""

    do: ClassVar[str] = "declare-codes"
    codes: tuple[Level, ...]

    def apply(self, table: Table) -> Table:
        """Read the column anew with its codes."""
        old = table.schema[self.column]
        codes = tuple(dict.fromkeys([*old.not_applicable, *self.codes]))
        return _redescribed(table, replace(old, not_applicable=codes, bounds=None))


@dataclass(frozen=True)
class ReadAsNumber(Step):
    """A column of texts that are numbers becomes a number."""

    do: ClassVar[str] = "read-as-number"

    def apply(self, table: Table) -> Table:
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


@dataclass(frozen=True)
class DropDerived(Step):
    """A column that a formula gives is dropped and computed again."""

    do: ClassVar[str] = "drop-derived"
    rule: str
    kind: str
    decimals: int | None = None

    @property
    def needs(self) -> tuple[str, ...]:
        """Columns the formula reads."""
        return Derived(self.column, Rule.parse(self.rule)).needs

    def apply(self, table: Table) -> Table:
        """Drop it."""
        return table.drop([self.column])

    def undo(self, table: Table) -> Table:
        """Compute it; empty where an input is empty."""
        column = Column(self.column, Kind(self.kind), decimals=self.decimals)
        return table.with_vectors(Derived(self.column, Rule.parse(self.rule)).compute(column, table))


@dataclass(frozen=True)
class DropGrouping(Step):
    """A column that cuts a number into intervals is dropped and cut again."""

    do: ClassVar[str] = "drop-grouping"
    source: str
    cuts: tuple[float, ...]
    levels: tuple[Level, ...]
    kind: str = "categorical"

    @property
    def needs(self) -> tuple[str, ...]:
        """The number it is cut from."""
        return (self.source,)

    def apply(self, table: Table) -> Table:
        """Drop it."""
        return table.drop([self.column])

    def undo(self, table: Table) -> Table:
        """Cut the number; empty where it is empty."""
        source = _number_column(table, self.source, self.do)
        codes = np.searchsorted(np.array(self.cuts), source.data, side="right")
        column = Column(self.column, Kind(self.kind), levels=self.levels)
        state = np.where(source.present, 0, MISSING).astype(np.uint8)
        data = compact(np.where(source.present, codes, 0), len(self.levels))
        return table.with_vectors(Vector(column, data, state).tidy())


@dataclass(frozen=True)
class DropConstant(Step):
    """A column with one value is dropped and filled again."""

    do: ClassVar[str] = "drop-constant"
    value: Level
    kind: str

    def apply(self, table: Table) -> Table:
        """Drop it."""
        return table.drop([self.column])

    def undo(self, table: Table) -> Table:
        """The same value in every row."""
        kind = Kind(self.kind)
        if kind.is_number:
            data = np.full(table.rows, self.value, np.float64 if kind is Kind.CONTINUOUS else np.int64)
            return table.with_vectors(Vector(Column(self.column, kind), data))
        column = Column(self.column, kind, levels=(self.value,))
        return table.with_vectors(Vector(column, np.zeros(table.rows, np.uint8)))


@dataclass(frozen=True)
class DropColumn(Step):
    """A column that must not or cannot be synthesized is dropped for good."""

    do: ClassVar[str] = "drop-column"
    reversible: ClassVar[bool] = False

    def apply(self, table: Table) -> Table:
        """Drop it."""
        return table.drop([self.column])


@dataclass(frozen=True)
class MoveLast(Step):
    """A column with many levels goes last, where it predicts nothing."""

    do: ClassVar[str] = "move-last"

    def apply(self, table: Table) -> Table:
        """All other columns first."""
        return table.select([*(name for name in table.names if name != self.column), self.column])


@dataclass(frozen=True)
class MergeLevels(Step):
    """Levels that few rows have become one."""

    do: ClassVar[str] = "merge-levels"
    reversible: ClassVar[bool] = False
    levels: tuple[Level, ...] = field(repr=False)
    into: str = "other"

    def apply(self, table: Table) -> Table:
        """Give all of them one level."""
        vector = table[self.column]
        if vector.is_number:
            raise DataError(
                f"recipe: column {self.column!r} is {vector.column.kind}; it has no levels to merge"
            )
        gone = {str(level) for level in self.levels}
        kept = [level for level in vector.levels if str(level) not in gone]
        kept += [] if self.into in kept else [self.into]
        place = {level: i for i, level in enumerate(kept)}
        moved = np.array([place.get(level, place[self.into]) for level in vector.levels] or [0])
        column = replace(vector.column, levels=tuple(kept))
        return table.with_vectors(replace(vector, column=column, data=compact(moved[vector.data], len(kept))))


@dataclass(frozen=True)
class TopCode(Step):
    """Values beyond a limit are set to it."""

    do: ClassVar[str] = "limit-values"
    reversible: ClassVar[bool] = False
    low: float | None = field(default=None, repr=False)
    high: float | None = field(default=None, repr=False)

    def apply(self, table: Table) -> Table:
        """Clip what is an ordinary value."""
        vector = _number_column(table, self.column, self.do)
        data = np.where(vector.present, np.clip(vector.data, self.low, self.high), vector.data)
        return table.with_vectors(replace(vector, data=data.astype(vector.data.dtype)))


STEPS: dict[str, type[Step]] = {
    step.do: step
    for step in (
        DeclareCodes, ReadAsNumber, DropDerived, DropGrouping, DropConstant, DropColumn, MoveLast, MergeLevels, TopCode,
    )
}  # fmt: skip


def step_from(data: dict[str, Any]) -> Step:
    """Read a step back; an unknown one is an error that lists those there are.

    Examples
    --------
    >>> step_from({"do": "move-last", "column": "job"})
    MoveLast(column='job')
    """
    facts: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in data.items()
    }
    kind = STEPS.get(str(facts.pop("do", "")))
    if kind is None:
        raise DataError(f"recipe: no step {data.get('do')!r}; there are {', '.join(STEPS)}")
    try:
        step = kind(**facts)
    except TypeError:
        raise DataError(f"recipe: step {kind.do!r} lacks an entry or has one too many") from None
    hints = get_type_hints(kind)
    wrong = [name for name in facts if not _fits(getattr(step, name), hints[name], name)]
    if isinstance(step, DropGrouping) and len(step.levels) != len(step.cuts) + 1:
        wrong.append("levels")
    if wrong:
        raise DataError(f"recipe: entry {wrong[0]!r} of step {kind.do!r} is not what it should be")
    return step


def _fits(value: Any, hint: Any, name: str) -> bool:
    """Whether an entry of a step is of its kind; recipes are edited by hand."""
    if name == "kind":
        return value in list(Kind)
    if get_origin(hint) is tuple:
        number = get_args(hint)[0] is float
        return isinstance(value, tuple) and all(_is_number(x) or not number for x in value)
    if hint == float | None:
        return value is None or _is_number(value)
    return isinstance(value, hint) and not (hint == Level and value is None)


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _number_column(table: Table, name: str, step: str) -> Vector:
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
