"""Recoding: steps that send values to coarser ones, many to one, the same for every row.

Global recoding, top and bottom coding, rounding and coarser dates (Hundepool et al. 2012, section 3.2). Each is a map
that can be done to any file of the same columns, so that an intruder's knowledge can be sent through it (`Lens`).
"""

from __future__ import annotations

import datetime as dt
import math
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from dalenius.core.errors import DataError, OptionError
from dalenius.core.option import Option, real_number
from dalenius.core.random import Seed
from dalenius.core.registry import MethodInfo
from dalenius.data.conformity import float_bound
from dalenius.data.encode import level_key
from dalenius.data.schema import Column, Kind, Level
from dalenius.data.steps.step import ColumnStep, Masked, step
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, Vector, compact

Bound = float | str | dt.date
"""A limit: a number, or a date (ISO text too)."""

LABEL = "SYNTHETIC DATA"
Way = Literal["nearest", "down", "up"]
Part = Literal["day", "week", "month", "quarter", "year", "decade"]


@dataclass(frozen=True)
class Recoding(ColumnStep):
    """A step that sends each value of a column to a coarser one."""

    reversible: ClassVar[bool] = False

    @abstractmethod
    def map(self, vector: Vector) -> Vector:
        """The column recoded; values it does not know stay as they are."""

    def see(self, table: Table) -> Table:
        """Any file of the same columns with this one recoded."""
        return table.with_vectors(self.map(table[self.column])) if self.column in table else table

    def _change(self, table: Table) -> Table:
        return self.see(table)

    def _apply(self, table: Table, seed: Seed) -> Masked:
        return Masked.of(table, self._change(table), maps=(self,))

    def _needs_numbers(self, table: Table) -> list[str]:
        if self.column not in table or table[self.column].is_number:
            return []
        return [f"column {self.column!r} is {table[self.column].column.kind}; {self.do!r} needs numbers"]

    def _needs_finite(self, table: Table) -> list[str]:
        if np.isfinite(table[self.column].data).all():
            return []
        return [f"column {self.column!r} holds infinite numbers; declare them missing, or limit them first"]


@step
@dataclass(frozen=True)
class Recode(Recoding):
    """Categories merged or renamed by ``groups``; numbers cut at ``cuts``, or into steps of ``width``.

    Examples
    --------
    >>> table = Table.from_frame({"age": [31, 38, 64], "job": ["judge", "clerk", "judge"]})
    >>> Recode("age", width=10).apply(table).table.to_frame()["age"]
    ['30-39', '30-39', '60-69']
    >>> Recode("job", groups={"judge": "law"}).apply(table).table.to_frame()["job"]
    ['law', 'clerk', 'law']
    """

    info: ClassVar[MethodInfo | None] = MethodInfo(
        name="recode",
        title="Global recoding",
        meaning="Sends each value of a column to a coarser one, the same for every row.",
        plain="Says 30-39 instead of 37, or groups rare answers, for everybody alike.",
        guarantee="none",
        reference="Hundepool et al. 2012",
        example_options={"column": "age", "width": 10},
    )
    groups: Annotated[
        Mapping[str, str], Option(title="Groups", meaning="which category becomes which", secret=True)
    ] = field(default_factory=dict, hash=False, repr=False)
    cuts: Annotated[
        tuple[float, ...], Option(title="Cuts", meaning="numbers from each of these on are one group")
    ] = ()
    labels: Annotated[
        tuple[str, ...], Option(title="Labels", meaning="names of the groups between the cuts")
    ] = ()
    width: Annotated[
        float | None,
        Option(
            above=0,
            title="Width",
            meaning="numbers are put into groups so wide: the wider, the safer",
            knob=True,
        ),
    ] = None
    start: Annotated[float, Option(title="Start", meaning="where one of the groups begins")] = 0

    def conflicts(self) -> list[str]:
        """Exactly one way to recode; cuts that rise; as many labels as groups."""
        ways = [name for name in ("groups", "cuts", "width") if getattr(self, name)]
        wrong = [] if len(ways) == 1 else [f"{self.column}: give one of groups, cuts and width"]
        if list(self.cuts) != sorted(set(self.cuts)):
            wrong.append("cuts must rise")
        if self.labels and len(self.labels) != len(self.cuts) + 1:
            wrong.append(f"{len(self.cuts)} cuts make {len(self.cuts) + 1} groups; give as many labels")
        return wrong

    def faults(self, table: Table) -> list[str]:
        """Numbers for cuts and width, categories for groups, and no group of a code that is not there."""
        wrong = super().faults(table)
        if wrong or self.column not in table:
            return wrong
        if not self.groups:
            return self._needs_numbers(table) or self._needs_finite(table)
        vector = table[self.column]
        if vector.is_number:
            return [f"column {self.column!r} holds numbers; use cuts or width"]
        known = {str(level) for level in vector.levels}
        unknown = sum(old not in known for old in self.groups)
        return (
            [f"groups: {unknown} of the {len(self.groups)} codes are not levels of {self.column!r}"]
            if unknown
            else []
        )

    def map(self, vector: Vector) -> Vector:
        """Groups of categories, or intervals of numbers."""
        if self.groups:
            return vector if vector.is_number else regrouped(vector, self.groups)
        return cut(vector, self._bins, self._label) if vector.is_number else vector

    def _bins(self, data: AnyArray) -> AnyArray:
        if self.width is None:
            return np.searchsorted(np.array(self.cuts), data, side="right")
        return np.floor((data - self.start) / self.width)

    def _label(self, place: float, whole: bool) -> str:
        if self.width is not None:
            low = self.start + place * self.width
            return interval(low, low + self.width, whole)
        i = int(place)
        if self.labels:
            return self.labels[i]
        if i == 0:
            return f"below {self.cuts[0]:g}"
        return (
            f"{self.cuts[-1]:g} or more"
            if i == len(self.cuts)
            else interval(self.cuts[i - 1], self.cuts[i], whole)
        )


@step
@dataclass(frozen=True)
class Collapse(Recoding):
    """Every cell of a column becomes one value: what is left is that the column was there.

    Examples
    --------
    >>> Collapse("job").apply(Table.from_frame({"job": ["judge", None]})).table.to_frame()
    {'job': ['*', '*']}
    """

    do: ClassVar[str] = "collapse"
    into: str = "*"

    def map(self, vector: Vector) -> Vector:
        """One value, also for gaps."""
        column = replace(
            vector.column, kind=Kind.CATEGORICAL, levels=(self.into,), bounds=None, missing=(), not_applicable=(),
            decimals=None, format=None, parent=None, partner=None, domain="from-data", outside=None, note="",
            value_labels={},
        )  # fmt: skip
        return Vector(column, np.zeros(len(vector), np.uint8))


@step
@dataclass(frozen=True)
class Round(Recoding):
    """Numbers as multiples of ``base``.

    Examples
    --------
    >>> Round("pay", 100).apply(Table.from_frame({"pay": [120, 180, 250]})).table.to_frame()
    {'pay': [100, 200, 300]}
    """

    info: ClassVar[MethodInfo | None] = MethodInfo(
        name="round",
        title="Rounding",
        meaning="Numbers become multiples of a base.",
        plain="Says 2,300 instead of 2,317, for everybody alike.",
        guarantee="none",
        reference="Hundepool et al. 2012",
        example_options={"column": "income", "base": 500},
    )
    base: Annotated[
        float,
        Option(
            above=0, title="Base", meaning="numbers become multiples of it: the larger, the safer", knob=True
        ),
    ] = 10
    way: Annotated[Way, Option(title="Way", meaning="to the nearest multiple, or always down or up")] = (
        "nearest"
    )

    def faults(self, table: Table) -> list[str]:
        """It needs numbers; whole ones need a whole base."""
        wrong = super().faults(table) or self._needs_numbers(table) or self._needs_finite(table)
        if wrong or self.column not in table:
            return wrong
        kind = table[self.column].column.kind
        if kind is Kind.DATETIME:
            return [f"column {self.column!r} holds dates; use 'coarsen-date'"]
        whole = kind is Kind.INTEGER and self.base != int(self.base)
        return [f"column {self.column!r} holds whole numbers; use a whole base"] if whole else []

    def map(self, vector: Vector) -> Vector:
        """Multiples of the base; halves go up."""
        if not vector.is_number or not vector.present.any():
            return vector
        base = int(self.base) if vector.data.dtype.kind == "i" else self.base
        half = base // 2 if vector.data.dtype.kind == "i" else base / 2
        add = {"nearest": half, "down": 0, "up": base - 1 if vector.data.dtype.kind == "i" else 0}[self.way]
        times = np.ceil(vector.data / base) if self.way == "up" and add == 0 else (vector.data + add) // base
        places = max(0, math.ceil(-math.log10(base)) + 6) if vector.data.dtype.kind == "f" else 0
        data = np.round(times * base, places) if vector.data.dtype.kind == "f" else times * base
        made = np.where(vector.present, data, vector.data).astype(vector.data.dtype)
        return replace(vector, column=replace(vector.column, bounds=None), data=made)


@step
@dataclass(frozen=True)
class TopCode(Recoding):
    """Values beyond a limit are set to it.

    Examples
    --------
    >>> TopCode("age", high=90).apply(Table.from_frame({"age": [3, 40, 99]})).table.to_frame()
    {'age': [3, 40, 90]}
    """

    info: ClassVar[MethodInfo | None] = MethodInfo(
        name="limit-values",
        title="Top and bottom coding",
        meaning="Values beyond a limit are set to it.",
        plain="Everybody over 90 is said to be 90.",
        guarantee="none",
        reference="Hundepool et al. 2012",
        example_options={"column": "age", "high": 80},
    )
    low: Annotated[
        float | str | None,
        Option(title="Bottom", meaning="smallest value left, or earliest date (2001-12-31)", secret=True),
    ] = field(default=None, repr=False)
    high: Annotated[
        float | str | None,
        Option(
            title="Top", meaning="largest value left, or latest date (2001-12-31)", secret=True, knob=True
        ),
    ] = field(default=None, repr=False)

    def faults(self, table: Table) -> list[str]:
        """It needs numbers or dates, and limits of the same kind."""
        wrong = super().faults(table)
        if wrong or self.column not in table:
            return wrong
        vector = table[self.column]
        if vector.column.kind is not Kind.DATETIME:
            wrong = self._needs_numbers(table)
        limits = [] if wrong else [limit_fault(vector, limit) for limit in (self.low, self.high)]
        return wrong + [fault for fault in limits if fault]

    def map(self, vector: Vector) -> Vector:
        """Clip what is an ordinary value."""
        return coded(vector, self.low, self.high) if vector.is_number else vector


@step
@dataclass(frozen=True)
class MergeLevels(Recoding):
    """Levels that few rows have become one."""

    do: ClassVar[str] = "merge-levels"
    levels: Annotated[tuple[Level, ...], Option(secret=True)] = field(default=(), repr=False)
    into: str = "other"

    def faults(self, table: Table) -> list[str]:
        """It needs categories."""
        wrong = super().faults(table)
        if wrong or not table[self.column].is_number:
            return wrong
        return [f"column {self.column!r} is {table[self.column].column.kind}; it has no levels to merge"]

    def map(self, vector: Vector) -> Vector:
        """Give all of them one level."""
        return (
            vector
            if vector.is_number
            else regrouped(vector, {str(level): self.into for level in self.levels})
        )


@step
@dataclass(frozen=True)
class CoarsenDate(Recoding):
    """Moments as the beginning of their day, week, month, quarter, year or decade.

    Examples
    --------
    >>> import datetime as dt
    >>> table = Table.from_frame({"born": [dt.date(1987, 5, 17), dt.date(1990, 1, 2)]})
    >>> CoarsenDate("born", "year").apply(table).table.to_frame()["born"]
    [datetime.date(1987, 1, 1), datetime.date(1990, 1, 1)]
    """

    info: ClassVar[MethodInfo | None] = MethodInfo(
        name="coarsen-date",
        title="Coarser dates",
        meaning="Moments become the beginning of their day, week, month, quarter, year or decade.",
        plain="Says the year instead of the day, for everybody alike.",
        guarantee="none",
        reference="Hundepool et al. 2012",
        kinds=("datetime",),
    )
    to: Annotated[
        Part, Option(title="Precision", meaning="what is left of a date: the coarser, the safer", knob=True)
    ] = "year"

    def faults(self, table: Table) -> list[str]:
        """It needs moments."""
        wrong = super().faults(table)
        if wrong or self.column not in table or table[self.column].column.kind is Kind.DATETIME:
            return wrong
        return [f"column {self.column!r} is {table[self.column].column.kind}; dates are needed"]

    def map(self, vector: Vector) -> Vector:
        """The beginning of the part of time that a moment lies in."""
        if vector.column.kind is not Kind.DATETIME:
            return vector
        unit = "ns" if vector.column.decimals == 9 else "us"
        moments = vector.data.astype(f"datetime64[{unit}]")
        data = begin(moments, self.to).astype(f"datetime64[{unit}]").astype(np.int64)
        made = np.where(vector.present, data, vector.data)
        return replace(vector, column=replace(vector.column, bounds=None), data=made)


def begin(moments: AnyArray, part: Part) -> AnyArray:
    """The beginning of the part of time that each moment lies in; weeks begin on Monday.

    Examples
    --------
    >>> begin(np.array(["2024-05-16"], "datetime64[us]"), "quarter").astype("datetime64[D]").tolist()
    [datetime.date(2024, 4, 1)]
    """
    if part == "week":
        days = moments.astype("datetime64[D]").astype(np.int64)
        return ((days + 3) // 7 * 7 - 3).astype("datetime64[D]")
    if part in ("quarter", "decade"):
        unit, size = ("M", 3) if part == "quarter" else ("Y", 10)
        # both count from the first day of 1970, which begins a quarter and a decade
        return (moments.astype(f"datetime64[{unit}]").astype(np.int64) // size * size).astype(
            f"datetime64[{unit}]"
        )
    return moments.astype(f"datetime64[{ {'day': 'D', 'month': 'M', 'year': 'Y'}[part] }]")


def cut(vector: Vector, bins: Callable[[AnyArray], AnyArray], label: Callable[[float, bool], str]) -> Vector:
    """Numbers as an ordered column of groups; special codes and gaps stay.

    Examples
    --------
    >>> age = Table.from_frame({"age": [31, 38, 64]})["age"]
    >>> cut(age, lambda x: x // 50, lambda i, whole: "young" if i == 0 else "old").levels
    ('young', 'old')
    """
    whole = vector.column.kind is Kind.INTEGER
    placed = np.where(vector.present, bins(vector.data), 0)
    used, inverse = np.unique(placed[vector.present], return_inverse=True)
    # neighbouring groups may share a label, and a code that is special must stay one
    texts = [label(float(place), whole) for place in used]
    levels = tuple(dict.fromkeys(texts))
    place = {text: i for i, text in enumerate(levels)}
    data = np.zeros(len(vector), np.int64)
    data[vector.present] = np.array([place[text] for text in texts] or [0])[inverse]
    column = replace(
        vector.column, kind=Kind.ORDERED, levels=levels, bounds=None, decimals=None, format=None, partner=None,
        domain="from-data", outside=None, note="",
    )  # fmt: skip
    return Vector(column, compact(data, max(len(levels), 1)), vector.state)


def interval(low: float, high: float, whole: bool) -> str:
    """The name of a group of numbers from ``low`` to below ``high``.

    Examples
    --------
    >>> interval(30, 40, True), interval(0.5, 1, False), interval(-10, 0, True), interval(3, 4, True)
    ('30-39', '0.5 to below 1', '-10 to -1', '3')
    """
    if not whole:
        return f"{low:.12g} to below {high:.12g}"
    first, last = math.ceil(low), math.ceil(high) - 1
    if first >= last:
        return str(first)
    return f"{first}-{last}" if first >= 0 else f"{first} to {last}"


def coded(vector: Vector, low: Bound | None, high: Bound | None) -> Vector:
    """Bottom- and top-coded numbers or dates; special codes and gaps stay.

    Examples
    --------
    >>> coded(Table.from_frame({"age": [3, 40, 99]})["age"], 16, 90).data.tolist()
    [16, 40, 90]
    >>> import datetime as dt
    >>> born = Table.from_frame({"born": [dt.date(1914, 8, 1), dt.date(1990, 5, 3)]})["born"]
    >>> moved = coded(born, "1930-01-01", None)
    >>> moved.data[1] == born.data[1], moved.data[0] > born.data[0]
    (np.True_, np.True_)
    """
    if not vector.is_number:
        raise DataError(
            f"column {vector.column.name!r} is {vector.column.kind}; only numbers and dates can be top-coded"
        )
    low, high = _limit(vector, low, math.ceil), _limit(vector, high, math.floor)
    if low is not None and high is not None and low > high:
        raise OptionError(f"column {vector.column.name!r}: no value lies between bottom {low} and top {high}")
    capped = np.clip(vector.data, low, high).astype(vector.data.dtype)
    return replace(vector, data=np.where(vector.present, capped, vector.data))


def _limit(vector: Vector, limit: Bound | None, inwards: Callable[[float], int]) -> float | None:
    """A bound as the column can hold it: for whole numbers the next whole one inside, for dates their count."""
    if limit is None:
        return None
    fault = limit_fault(vector, limit)
    if fault:
        raise OptionError(fault)
    if vector.column.kind is Kind.DATETIME:
        return float_bound(str(limit), vector.column)
    number = float(limit)  # type: ignore[arg-type]
    return number if vector.data.dtype.kind == "f" else inwards(number)


def limit_fault(vector: Vector, limit: Bound | None) -> str:
    """What is wrong with a limit of a column: numbers have numbers, dates have dates; nothing if it is fine."""
    what = f"limit of column {vector.column.name!r}"
    if vector.column.kind is Kind.DATETIME and limit is not None:
        try:
            float_bound(str(limit), vector.column)
        except (ValueError, TypeError, OverflowError):
            return f"{what}: write a date as 2001-12-31"
        return ""
    if limit is None:
        return ""
    try:
        real_number(what, limit)
    except OptionError as error:
        return str(error)
    return ""


def recoded(vector: Vector, pairs: Mapping[Level, Level]) -> Vector:
    """Categories with some levels renamed or merged; a level that is not there is an error.

    Examples
    --------
    >>> out = recoded(Table.from_frame({"job": ["judge", "clerk", "judge"]})["job"], {"judge": "other"})
    >>> out.levels, out.data.tolist()
    (('clerk', 'other'), [1, 0, 1])
    """
    if vector.is_number:
        raise DataError(f"column {vector.column.name!r} holds numbers; recode is for categories")
    wanted = {level_key(old): new for old, new in pairs.items()}
    known = {level_key(level) for level in vector.levels}
    absent = [old for old in pairs if level_key(old) not in known]
    if absent:
        raise OptionError(
            f"recode: {len(absent)} of the values for {vector.column.name!r} are not levels of it"
        )
    return _moved(vector, [wanted.get(level_key(level), level) for level in vector.levels])


def regrouped(vector: Vector, groups: Mapping[str, str]) -> Vector:
    """Categories with some levels renamed or merged, by their text; what is not listed stays.

    Examples
    --------
    >>> regrouped(Table.from_frame({"job": ["judge", "clerk"]})["job"], {"judge": "law", "bailiff": "law"}).levels
    ('clerk', 'law')
    """
    return _moved(vector, [groups.get(str(level), level) for level in vector.levels])


def _moved(vector: Vector, new: list[Level]) -> Vector:
    """A column whose i-th level becomes the i-th of a list; a level named like another one is that one."""
    place: dict[Any, int] = {}
    levels: list[Level] = []
    moved = np.zeros(max(len(new), 1), np.int64)
    for i, level in enumerate(new):
        if level_key(level) not in place:
            place[level_key(level)] = len(levels)
            levels.append(level)
        moved[i] = place[level_key(level)]
    kind = Kind.CATEGORICAL if vector.column.kind is Kind.BOOLEAN else vector.column.kind
    column = replace(vector.column, kind=kind, levels=tuple(levels), value_labels={}, outside=None)
    return replace(vector, column=column, data=compact(moved[vector.data], max(len(levels), 1)))


def labelled(table: Table, text: str = LABEL, name: str = "label") -> Table:
    """The table with a first column that says what it is.

    Examples
    --------
    >>> labelled(Table.from_frame({"a": [1, 2]})).to_frame()
    {'label': ['SYNTHETIC DATA', 'SYNTHETIC DATA'], 'a': [1, 2]}
    """
    if name in table:
        raise OptionError(f"there is already a column {name!r}")
    column = Column(name, Kind.CATEGORICAL, levels=(text,), label="made by a computer, not collected")
    mark = Vector(column, np.zeros(table.rows, np.uint8))
    return Table.from_vectors([mark, *table.vectors.values()], table.rows, table.origin)
