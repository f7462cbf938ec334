"""`Query`: what an output asks of the data: which records, crossed by what, of which variable, as which statistic."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from dalenius.core.errors import DataError
from dalenius.core.errors import names as listed

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[Any]

MOST_CELLS = 5_000_000
SMALL = 2**14
ALL = "All"
"""Label of a dimension that is summed over, as in pandas."""


@dataclass(frozen=True, eq=False)
class Dimension:
    """One thing a table is crossed by: the code of each record (-1: none) and the labels of the codes.

    Attributes
    ----------
    order
        Whether the labels stand in an order that means something; None if they themselves must tell.
    """

    name: str
    codes: Codes
    labels: tuple[Any, ...]
    order: bool | None = None

    @property
    def ordered(self) -> bool:
        """Whether neighbours belong together: an order that was given, numbers, or bins of numbers."""
        if self.order is not None:
            return self.order
        return all(isinstance(v, int | float | np.number) or "–" in str(v) for v in self.labels)


@dataclass(frozen=True, eq=False)
class Query:
    """What an output asks of the data.

    Attributes
    ----------
    statistic
        Name of the statistic, as the register spells it.
    dimensions
        What it is crossed by; none for a figure about everybody.
    value, variable
        The numbers that are aggregated (NaN where missing), and the name of their column; None for counts.
    unit, ids
        Number of the unit of each record and the units' own names (hashed before anything is kept); None where every
        record is a unit of its own.
    margins
        Whether totals are shown too.
    structural
        Cells that cannot hold anybody, by label: tuples in the order of the dimensions.
    limits
        End values that everybody knows (0 and 100 of a percentage): they are nobody's.
    facts
        Further figures of the form: quantile, residual degrees of freedom and the like.

    Examples
    --------
    >>> sex = Dimension("sex", np.array([0, 1, 0]), ("f", "m"))
    >>> query = Query("count", (sex,), rows=3)
    >>> query.cells, query.frame()["sex"].to_list()
    (2, ['f', 'm'])
    """

    statistic: str
    dimensions: tuple[Dimension, ...] = ()
    rows: int = 0
    value: Floats | None = None
    variable: str | None = None
    unit: Codes | None = None
    ids: Any = field(default=None, repr=False)
    margins: bool = False
    structural: frozenset[tuple[str, ...]] = frozenset()
    limits: tuple[float, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    command: str = ""

    def __post_init__(self) -> None:
        twice = [n for n in dict.fromkeys(self.names) if self.names.count(n) > 1]
        if twice:
            raise DataError(f"column {listed(twice)} is named twice; cross a table by different columns")
        if self.cells > MOST_CELLS:
            wide = sorted(self.dimensions, key=lambda d: -len(d.labels))[:2]
            told = listed([d.name for d in wide])
            raise DataError(
                f"the table would have {self.cells:,} cells; group the categories of {told} first"
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of categories of each dimension."""
        return tuple(len(d.labels) for d in self.dimensions)

    @property
    def cells(self) -> int:
        """Number of inner cells."""
        return math.prod(self.shape)

    @property
    def names(self) -> list[str]:
        """Names of the dimensions."""
        return [d.name for d in self.dimensions]

    @cached_property
    def cell(self) -> Codes:
        """Inner cell of each record; -1 for records outside the table."""
        return self.collapsed(())

    def collapsed(self, over: Sequence[int]) -> Codes:
        """Cell of each record when some dimensions are summed over."""
        kept = [d for i, d in enumerate(self.dimensions) if i not in over]
        kind = np.int16 if self.cells < SMALL else np.int32  # half the memory for most tables
        place: Codes = np.zeros(self.rows, kind)
        for d in kept:
            place *= kind(len(d.labels))
            np.add(place, d.codes, out=place, casting="unsafe")
        for d in self.dimensions:
            if len(d.codes) and int(d.codes.min()) < 0:
                place[d.codes < 0] = -1
        return place

    @cached_property
    def parts(self) -> list[tuple[int, ...]]:
        """Sets of dimensions that are summed over, inner cells first; one margin a set."""
        if not self.margins or not self.dimensions:
            return [()]
        places = range(len(self.dimensions))
        return [over for k in range(len(self.dimensions) + 1) for over in combinations(places, k)]

    def size(self, over: Sequence[int]) -> int:
        """Number of cells when some dimensions are summed over."""
        return math.prod(n for i, n in enumerate(self.shape) if i not in over)

    def frame(self) -> pl.DataFrame:
        """Labels of all cells as text, inner cells first, then the margins."""
        if not self.dimensions:
            return pl.DataFrame({"cell": [ALL]})
        columns: dict[str, list[Any]] = {d.name: [] for d in self.dimensions}
        for over in self.parts:
            kept = [i for i in range(len(self.shape)) if i not in over]
            places = (
                np.unravel_index(np.arange(self.size(over)), [self.shape[i] for i in kept]) if kept else ()
            )
            for i, d in enumerate(self.dimensions):
                labels = np.array([str(v) for v in d.labels], object)
                own = [ALL] * self.size(over) if i in over else labels[places[kept.index(i)]].tolist()
                columns[d.name] += own
        return pl.DataFrame(columns, schema=dict.fromkeys(columns, pl.String))

    @cached_property
    def impossible(self) -> Bools:
        """Mask of inner cells that cannot hold anybody."""
        mask = np.zeros(self.cells, np.bool_)
        places = [{str(v): i for i, v in enumerate(d.labels)} for d in self.dimensions]
        for codes in self.structural:
            if len(codes) == len(places) and all(c in p for c, p in zip(codes, places, strict=True)):
                at = [p[c] for c, p in zip(codes, places, strict=True)]
                mask[int(np.ravel_multi_index(at, self.shape))] = True
        return mask

    def where(self, keep: Bools) -> Query:
        """The same question of some of the records."""
        return replace(
            self, rows=int(keep.sum()),
            dimensions=tuple(replace(d, codes=d.codes[keep]) for d in self.dimensions),
            value=None if self.value is None else self.value[keep],
            unit=None if self.unit is None else self.unit[keep],
            ids=self.ids if self.unit is not None or self.ids is None else np.asarray(self.ids)[keep],
        )  # fmt: skip
