"""A length of time between two dates (a stay, an age) is dropped before synthesis and counted again afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from dalenius.data.schema import Column, Kind
from dalenius.data.steps.reversible import Drop, KindWord, number_column
from dalenius.data.steps.step import step
from dalenius.data.table import Table
from dalenius.data.vector import MISSING, AnyArray, Vector

LengthUnit = Literal["years", "weeks", "days", "hours", "minutes", "seconds"]
SECOND = 1_000_000
MICROSECONDS = {"weeks": 604_800 * SECOND, "days": 86_400 * SECOND, "hours": 3_600 * SECOND,
                "minutes": 60 * SECOND, "seconds": SECOND}  # fmt: skip


def lengths(start: AnyArray, end: AnyArray, unit: str) -> AnyArray:
    """Time between moments (microseconds since 1970) in a unit; years are completed ones, as an age is counted.

    Examples
    --------
    >>> day = np.array(["2020-02-29", "2020-03-01"], "datetime64[us]").astype(np.int64)
    >>> lengths(day[:1], day[1:], "days"), lengths(day[:1], day[1:] + 365 * 86_400 * SECOND, "years")
    (array([1.]), array([1.]))
    """
    if unit != "years":
        return (end - start) / MICROSECONDS[unit]
    (first, into), (last, within) = (_year_and_rest(moment) for moment in (start, end))
    return (last - first - (within < into)).astype(np.float64)


def _year_and_rest(moment: AnyArray) -> tuple[AnyArray, AnyArray]:
    """The calendar year, and a number that grows within it: month, day and time of day."""
    at = np.asarray(moment, dtype="datetime64[us]")
    year, month, day = (at.astype(f"datetime64[{part}]") for part in "YMD")
    months = month.astype(np.int64) % 12
    days = (day - month.astype("datetime64[D]")).astype(np.int64)
    return year.astype(np.int64), (months * 31 + days) * MICROSECONDS["days"] + (at - day).astype(np.int64)


@step
@dataclass(frozen=True)
class DropLength(Drop):
    """A column that is the time between two dates is dropped and counted again.

    ``more`` is added (a stay that counts both the first and the last day has 1); ``completed`` cuts off what is begun.

    Examples
    --------
    >>> from datetime import date
    >>> stay = Table.from_frame({"came": [date(2020, 1, 1)], "left": [date(2020, 1, 5)], "days": [4]})
    >>> made = DropLength("days", "came", "left", "days", "integer")
    >>> made.undo(made.apply(stay).table).to_frame()["days"]
    [4]
    """

    do: ClassVar[str] = "drop-length"
    start: str
    end: str
    unit: LengthUnit
    kind: KindWord
    decimals: int | None = None
    more: int = 0
    completed: bool = False

    @property
    def needs(self) -> tuple[str, ...]:
        """The two dates."""
        return (self.start, self.end)

    @property
    def words(self) -> str:
        """The length in words."""
        first = f"{self.more} + " if self.more else ""
        return f"{first}{'completed ' if self.completed else ''}{self.unit} from {self.start} to {self.end}"

    def count(self, start: AnyArray, end: AnyArray) -> AnyArray:
        """The column's values for dates, before its own rounding."""
        apart = lengths(start, end, self.unit)
        return (np.floor(apart) if self.completed else apart) + self.more

    def undo(self, table: Table) -> Table:
        """Count it; empty where a date is."""
        start, end = (number_column(table, name, self.do) for name in self.needs)
        known = start.present & end.present
        data = np.where(known, self.count(start.data, end.data), 0.0)
        if Kind(self.kind) is Kind.INTEGER:
            data = np.rint(data).astype(np.int64)
        elif self.decimals is not None:
            data = np.round(data, self.decimals)
        column = Column(self.column, Kind(self.kind), decimals=self.decimals)
        return table.with_vectors(Vector(column, data, np.where(known, 0, MISSING).astype(np.uint8)).tidy())
