"""`TableModel`: the published cells, the inner cells they are sums of, and the data behind them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from dalenius.core.errors import DataError, names
from dalenius.tables.dimensions import Dimension

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


MOST_PLACES = 9


def beside(cells: pl.DataFrame, **columns: Any) -> pl.DataFrame:
    """Cells with further columns; one that is called like a dimension gets an underscore instead of its place.

    Examples
    --------
    >>> beside(pl.DataFrame({"status": ["single"]}), status=["primary"]).row(0, named=True)
    {'status': 'single', 'status_': 'primary'}
    """
    found = []
    for name, values in columns.items():
        free = name
        while free in cells.columns:
            free += "_"
        found.append(pl.Series(values).alias(free))
    return cells.with_columns(found)


@dataclass(frozen=True, eq=False, repr=False)
class Records:
    """The microdata behind a magnitude table, one entry per record.

    Attributes
    ----------
    inner
        Inner cell of the record.
    value
        What the record contributes.
    contributor
        Whose record it is (0 …); None when every record is its own contributor.
    weight
        Sampling weight, or None.
    labels
        Names of the contributors; confidential.
    holding
        The group of contributors it belongs to (0 …), or None.
    request
        1 where the contributor asked for protection (2 for the second kind of request), or None.
    """

    inner: Ints
    value: Floats
    contributor: Ints | None = None
    weight: Floats | None = None
    labels: tuple[str, ...] = ()
    holding: Ints | None = None
    request: Ints | None = None

    def of(self, keep: Bools, inner: Ints) -> Records:
        """Some of the records, in other inner cells."""
        parts = {name: None if (column := getattr(self, name)) is None else column[keep]
                 for name in ("contributor", "weight", "holding", "request")}  # fmt: skip
        return Records(inner, self.value[keep], labels=self.labels, **parts)

    def by_holding(self) -> Records:
        """The same records with the holding as the contributor."""
        return self if self.holding is None else replace(self, contributor=self.holding, labels=())

    def sums(self, cells: int, weighted: bool = True) -> Floats:
        """Sum of the values in every inner cell."""
        value = self.value * self.weight if weighted and self.weight is not None else self.value
        return np.asarray(np.bincount(self.inner, value, cells), np.float64)


@dataclass(frozen=True, eq=False)
class TableModel:
    """One table, or several linked ones, ready to be protected; made by `define`.

    Attributes
    ----------
    dimensions
        Names and hierarchies of the dimensions.
    cells
        Codes of the published cells, one row a cell.
    inner
        Codes of the inner cells.
    matrix
        Inner cells × published cells, sparse; a published cell is the sum of its inner cells.
    counts
        Frequency of every inner cell.
    values
        Sum of the value column in every inner cell, for a magnitude table.
    records
        Microdata of a magnitude table.
    tables
        For linked tables: name → mask of the cells it publishes.
    perhaps
        For sums without a column of contributors: columns that look like one.

    Examples
    --------
    >>> from dalenius.tables import define
    >>> model = define({"sex": ["f", "m", "f"], "job": ["a", "a", "b"]}, by=["sex", "job"])
    >>> model
    TableModel(9 cells of 4 inner cells: sex × job)
    >>> model.frequency.tolist()
    [3, 2, 1, 2, 1, 1, 1, 1, 0]
    """

    dimensions: tuple[Dimension, ...]
    cells: pl.DataFrame
    inner: pl.DataFrame
    matrix: Any
    counts: Ints
    values: Floats | None = None
    records: Records | None = None
    tables: Mapping[str, Bools] = field(default_factory=dict)
    perhaps: tuple[str, ...] = ()

    def __repr__(self) -> str:
        by = " × ".join(d.name for d in self.dimensions)
        return f"TableModel({len(self.cells):,} cells of {len(self.inner):,} inner cells: {by})"

    @property
    def names(self) -> list[str]:
        """Names of the dimensions."""
        return [d.name for d in self.dimensions]

    @property
    def is_magnitude(self) -> bool:
        """Whether the table shows sums of a value rather than counts."""
        return self.values is not None

    @property
    def measure(self) -> str:
        """Name of the column of values in what is handed out."""
        return "value" if self.is_magnitude else "freq"

    @cached_property
    def frequency(self) -> Ints:
        """Count of every published cell."""
        return np.asarray(self.matrix.T @ self.counts).astype(np.int64)

    @cached_property
    def amount(self) -> Floats:
        """What the table shows: the value of every published cell, or its count."""
        shown = self.counts if self.values is None else self.values
        return np.asarray(self.matrix.T @ shown, np.float64)

    @cached_property
    def decimals(self) -> int:
        """Places behind the point of the values in the data; sums are published with as many."""
        if self.records is None:
            return 0
        values = np.unique(self.records.value)
        return next(
            (places for places in range(MOST_PLACES) if (np.round(values, places) == values).all()),
            MOST_PLACES,
        )

    @cached_property
    def published_amount(self) -> Floats:
        """`amount` without the dust of adding up: 251.4, not 251.39999999999998."""
        return np.round(self.amount, self.decimals) + 0.0

    @cached_property
    def unweighted(self) -> Floats:
        """Like `amount`, without sampling weights."""
        if self.records is None or self.records.weight is None:
            return self.amount
        return np.asarray(self.matrix.T @ self.records.sums(len(self.counts), weighted=False), np.float64)

    @cached_property
    def sizes(self) -> Ints:
        """Number of inner cells of every published cell."""
        return np.diff(self.matrix.indptr).astype(np.int64)

    def find(self, **codes: str) -> Ints:
        """Places of the cells with these codes; dimensions not named are at their total.

        Examples
        --------
        >>> from dalenius.tables import define
        >>> model = define({"sex": ["f", "m", "f"], "job": ["a", "a", "b"]}, by=["sex", "job"])
        >>> model.frequency[model.find(sex="f")].tolist()
        [2]
        """
        unknown = [name for name in codes if name not in self.names]
        if unknown:
            raise DataError(f"no dimension {names(unknown)}; there are {names(self.names)}")
        wanted = {d.name: codes.get(d.name, d.hierarchy.total) for d in self.dimensions}
        hit = np.ones(len(self.cells), np.bool_)
        for name, code in wanted.items():
            hit &= (self.cells[name] == code).to_numpy()
        return np.flatnonzero(hit).astype(np.int64)

    def places(self, frame: Any) -> Ints:
        """Places of the cells listed in a frame with the dimension columns; a cell that is not there is an error."""
        given = pl.DataFrame(frame)
        missing = [name for name in self.names if name not in given.columns]
        if missing:
            raise DataError(
                f"the list of cells has no column {names(missing)}; it needs a code for {names(self.names)}"
            )
        at = {row: place for place, row in enumerate(self.cells.select(self.names).iter_rows())}
        found = [at.get(tuple(map(str, row))) for row in given.select(self.names).iter_rows()]
        lost = found.count(None)
        if lost:
            raise DataError(f"{lost} of {len(found)} listed cells are not in the table; check the codes")
        return np.array(found, np.int64)

    def restrict(self, keep: Bools) -> TableModel:
        """The same data with fewer published cells.

        Examples
        --------
        >>> from dalenius.tables import define
        >>> model = define({"sex": ["f", "m", "f"], "job": ["a", "a", "b"]}, by=["sex", "job"])
        >>> model.restrict(model.frequency > 1)
        TableModel(3 cells of 4 inner cells: sex × job)
        """
        matrix = self.matrix[:, np.flatnonzero(keep)]
        tables = {name: mask[keep] for name, mask in self.tables.items()}
        return replace(self, cells=self.cells.filter(pl.Series(keep)), matrix=matrix, tables=tables)
