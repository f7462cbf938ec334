"""`Grouping`: numbers cut into a few ordered groups, so that they can be counted like categories.

Breaks come from the original alone (or are given), never from the protected file: otherwise a bad synthetic file would
move its own yardstick. Special codes and empty cells are groups of their own.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from dalenius.core.errors import DataError, OptionError
from dalenius.data._jenks import natural_breaks
from dalenius.data.encode import EPOCH, MICROSECOND
from dalenius.data.schema import Column, Kind
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, Categories, IntArray, Vector

FloatArray = npt.NDArray[np.float64]
Method = Literal["quantile", "equal-width", "jenks"]
LISTED = 1_000_000
"""Values that stand for all where breaks are sought by a method that looks at each."""


@dataclass(frozen=True, eq=False)
class Grouping:
    """Break points per column: b0 < b1 < … < bk make the groups [b0, b1), …, [bk-1, bk].

    Values outside b0 … bk fall into the outer groups.

    Examples
    --------
    >>> table = Table.from_frame({"age": list(range(100))})
    >>> grouping = Grouping.fit(table, groups=4)
    >>> grouping.categories(table["age"]).labels
    ['below 24.75', '24.75 to below 49.5', '49.5 to below 74.25', '74.25 or more']
    """

    breaks: Mapping[str, FloatArray] = field(default_factory=dict)

    @classmethod
    def fit(
        cls,
        *tables: Table,
        method: Method = "quantile",
        groups: int | Mapping[str, int] = 5,
        columns: Iterable[str] | None = None,
        breaks: Mapping[str, Sequence[float]] | None = None,
    ) -> Grouping:
        """Find breaks for the number columns of the first table.

        Values of all tables given are pooled (give the original alone unless you must agree with synthpop, which pools
        original and synthetic). ``breaks`` given for a column are used as they are.
        """
        if method not in get_args(Method):
            raise OptionError(f"unknown grouping {method!r}; use one of {', '.join(get_args(Method))}")
        given = {name: _given(name, values) for name, values in (breaks or {}).items()}
        wanted = (
            list(columns) if columns is not None else [n for n in tables[0].names if tables[0][n].is_number]
        )
        edges: dict[str, FloatArray] = {}
        for name in wanted:
            if not tables[0][name].is_number:
                raise DataError(
                    f"column {name!r} is {tables[0][name].column.kind}; only numbers can be grouped"
                )
            count = groups if isinstance(groups, int) else groups.get(name, 5)
            if count < 2:
                raise OptionError(f"column {name!r}: {count} groups say nothing; use 2 or more")
            values = np.concatenate([table[name].values.astype(np.float64) for table in tables])
            edges[name] = _breaks(values[np.isfinite(values)], method, count)
        return cls({**edges, **given})

    def __contains__(self, name: object) -> bool:
        return name in self.breaks

    def categories(self, vector: Vector) -> Categories:
        """Rows of a number column as groups, special codes and gaps as groups of their own."""
        edges = self.breaks[vector.column.name]
        codes = np.searchsorted(edges[1:-1], vector.data, side="right")
        return vector.with_gaps(codes, _labels(edges, vector.column))


def _given(name: str, values: Sequence[float]) -> FloatArray:
    edges = np.unique(np.asarray(values, dtype=np.float64))
    if len(edges) < 2 or not np.all(np.isfinite(edges)):
        raise OptionError(f"column {name!r}: breaks need at least two different finite numbers")
    return edges


def _scaled(edges: FloatArray, factor: float) -> FloatArray:
    """Edges times a huge factor, the outermost no farther than numbers go."""
    limit = np.finfo(np.float64).max / factor
    inside = np.unique(np.clip(edges, -limit, limit))
    return (inside if len(inside) > 1 else np.sort([inside[0] / 2, inside[0]])) * factor


def _breaks(values: FloatArray, method: Method, groups: int) -> FloatArray:
    if len(values) == 0:
        return np.array([0.0, 1.0])
    largest = float(np.abs(values).max())
    if largest > 1e100:  # differences and squares of such numbers overflow
        return _scaled(_breaks(values / largest, method, groups), largest)
    if method == "quantile":
        edges = np.unique(np.quantile(values, np.linspace(0, 1, groups + 1)))
        # Heaped values can leave too few quantile groups: synthpop then cuts by width (Raab 2024), so do we.
        if len(edges) >= 4 or groups < 3:
            return _at_least_two(edges)
    elif method == "jenks":
        return _at_least_two(natural_breaks(values, groups))
    return _at_least_two(np.unique(np.linspace(values.min(), values.max(), groups + 1)))


def breaks_of_counted(values: AnyArray, times: IntArray, method: Method, groups: int) -> FloatArray:
    """Breaks of numbers that are listed with their counts: those of the rows.

    Examples
    --------
    >>> breaks_of_counted(np.array([3, 1, 2]), np.array([2, 1, 1]), "quantile", 2).tolist()
    [1.0, 2.5, 3.0]
    """
    floats = np.asarray(values, dtype=np.float64)
    good = np.isfinite(floats) & (times > 0)
    order = np.argsort(floats[good], kind="stable")
    held, ends = floats[good][order], np.cumsum(times[good][order])
    if method == "quantile" and len(held) and np.abs(held).max() <= 1e100:
        at = np.linspace(0, 1, groups + 1) * (ends[-1] - 1)
        low = np.floor(at).astype(np.int64)
        first = held[np.searchsorted(ends, low, side="right")]
        last = held[np.searchsorted(ends, np.minimum(low + 1, ends[-1] - 1), side="right")]
        part = at - low
        # as NumPy interpolates, to the last bit
        between = np.where(part < 0.5, first + (last - first) * part, last - (last - first) * (1 - part))
        edges = np.unique(between)
        if len(edges) >= 4 or groups < 3:
            return _at_least_two(edges)
        return _at_least_two(np.unique(np.linspace(held[0], held[-1], groups + 1)))
    # enough of each value for methods that look at all rows, few enough to be quick
    share = min(1.0, LISTED / max(int(ends[-1]) if len(ends) else 1, 1))
    repeated = np.maximum((np.diff(ends, prepend=0) * share).astype(np.int64), 1)
    return _breaks(np.repeat(held, repeated), method, groups)


def _at_least_two(edges: FloatArray) -> FloatArray:
    return edges if len(edges) > 1 else np.array([edges[0], np.nextafter(edges[0], np.inf)])


def _labels(edges: FloatArray, column: Column) -> list[str]:
    """Names of the groups; the outer ones are open, because the exact extremes are somebody's value."""
    if len(edges) == 2:
        return ["any value"]
    inner = [_shown(edge, column) for edge in edges[1:-1]]
    middle = [f"{low} to below {high}" for low, high in pairwise(inner)]
    return [f"below {inner[0]}", *middle, f"{inner[-1]} or more"]


def _shown(edge: float, column: Column) -> str:
    if column.kind is not Kind.DATETIME:
        return f"{edge:.6g}"
    scale = 1000 if column.decimals == 9 else 1
    moment = EPOCH + dt.timedelta(0) + int(edge // scale) * MICROSECOND
    return (
        moment.date().isoformat()
        if moment.time() == dt.time(0)
        else moment.isoformat(sep=" ", timespec="minutes")
    )
