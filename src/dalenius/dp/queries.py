"""Private statistics one by one: counts, histograms, tables, sums, means, quantiles.

Each is one query, paid out of a budget of its own (``epsilon``, ``delta``) and, where there is one, out of the data
set's ledger, before any noise is drawn. Columns are read by their declaration alone; a number without declared bounds
gets private ones, which a fifth of the budget pays for. All noise is OpenDP's, on whole numbers. Every result says how
far the noise moves it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import DataError, OptionError, names, no_column
from dalenius.core.result import WHOLE, Interval, Result, figure
from dalenius.counts.memory import count_codes
from dalenius.data.declared import declared_bounds
from dalenius.data.rare import DAY
from dalenius.data.schema import Column, Kind, Schema
from dalenius.data.table import Table
from dalenius.data.units import owner_column
from dalenius.data.vector import Categories, IntArray, Vector
from dalenius.dp.accuracy import LEVEL, gaussian_within, laplace_within
from dalenius.dp.budget import Accounting, Budget, Neighbours
from dalenius.dp.contributions import bound_units
from dalenius.dp.doubling import CELLS, RARE, clear_ends, doubling_counts
from dalenius.dp.ledger import open_ledger
from dalenius.dp.noise import FloatArray, add_gaussian, add_laplace, private_quantile

BOUNDS_SHARE = 0.2
"""Share of the budget that bounds cost where none are declared."""
STEPS, MOST_STEPS = 2**20, 2**31
"""Steps to the far bound of a number without declared decimals, and the most that others have: sums stay exact."""
MOST_CELLS = 2**20
MOST_CANDIDATES = 2000
_DRAWS = 20_000
"""Draws of noise laws (not of noise) from which the accuracy of a mean is read."""


@dataclass
class Query:
    """The rows, the budget, and how to pay for noise out of it."""

    table: Table
    budget: Budget
    what: str
    pays: Budget | None = None
    output: str = ""
    caution: str = ""

    @classmethod
    def of(
        cls, what: str, frame: Any, columns: Sequence[str], schema: Schema | None, epsilon: float, delta: float,
        neighbours: Neighbours, contribution: int | None, ledger: str | Budget | None, output: str,
        accounting: Accounting | None = None,
    ) -> Query:  # fmt: skip
        """Read the columns blind, and open the budget of one query."""
        table = Table.from_frame(frame, schema.blind() if schema is not None else None)
        absent = [name for name in columns if name not in table]
        if absent:
            raise DataError(no_column(absent, table.names))
        lacking = [name for name in columns if not _declared(table.schema[name])]
        if lacking:
            raise DataError(
                f"column {names(lacking, len(lacking))}: not declared, and what is read off the confidential data "
                "would leak; give a schema with 'domain: declared' for them (kind, codes, bounds of numbers, levels of "
                "categories)"
            )
        budget = Budget(epsilon, delta, neighbours, accounting, records=contribution or 1)
        kept, said = bound_units(table, contribution)
        if contribution is not None:
            budget.unit = owner_column(table.schema) or "record"
        pays = open_ledger(ledger) if isinstance(ledger, str) else ledger
        # what the budget says of units is not said twice
        caution = "" if contribution is not None or not said else said[0]
        return cls(kept, budget, what, pays, output or "shown", caution)

    @property
    def guarantee(self) -> str:
        """What is promised, and to whom, as sentences."""
        caution = f" {self.caution[0].upper()}{self.caution[1:]}." if self.caution else ""
        return f"{self.budget.guarantee}, {self.budget.protects}.{caution}"

    def pay(self) -> None:
        """Take the whole price out of the ledger: once, when nothing but noise is left to go wrong."""
        if self.pays is not None:
            self.pays.charge(self.budget, self.what, self.output)
            self.pays = None

    @property
    def whole(self) -> float:
        """The budget in its unit: ε, or ρ."""
        return self.budget.total

    def noisy(
        self, what: str, counts: IntArray, price: float, most: int, cells: int = 1
    ) -> tuple[IntArray, float]:
        """Whole numbers with noise for ``price``, of which one record moves ``cells`` by up to ``most`` each.

        Gives the noise's scale as well.
        """
        self.pay()
        records = self.budget.records
        if self.budget.accounting == "zcdp":
            scale = math.sqrt(cells / (2 * price)) * records * most
            self.budget.spend(what, rho=price, noise=f"discrete Gaussian, scale {scale:.4g}")
            return add_gaussian(counts, scale), scale
        scale = cells * records * most / price
        self.budget.spend(what, epsilon=price, noise=f"discrete Laplace, scale {scale:.4g}")
        return add_laplace(counts, scale), scale

    def within(self, scale: float, level: float = LEVEL) -> int:
        """How far the noise goes, in steps."""
        return (gaussian_within if self.budget.accounting == "zcdp" else laplace_within)(scale, level)

    def draws(self, scale: float, rng: np.random.Generator) -> FloatArray:
        """Draws of the noise's law, to read an accuracy from."""
        wide = self.budget.accounting == "zcdp"
        return rng.normal(0, scale, _DRAWS) if wide else rng.laplace(0, scale, _DRAWS)

    def result(
        self, name: str, value: float, sentence: str, within: float, table: pl.DataFrame | None = None
    ) -> Result:
        """The figure with its accuracy and what it cost."""
        said = f"{sentence} {self.guarantee}"
        spread = None if math.isnan(within) else Interval(value - within, value + within, LEVEL, KIND)
        return Result(
            name, value, said, interval=spread, values={"within": within}, table=table, counts=WHOLE
        )


KIND = "95 % of draws of the noise; the data as they are"


def count(
    frame: Any, *, epsilon: float, delta: float = 0.0, schema: Schema | None = None,
    neighbours: Neighbours = "add-remove", contribution: int | None = None, ledger: str | Budget | None = None,
    output: str = "",
) -> Result:  # fmt: skip
    """Number of records, noised.

    Parameters
    ----------
    frame, schema
        Confidential data, and the schema that declares their columns.
    epsilon, delta
        Budget of this query; δ above 0 makes the noise Gaussian.
    neighbours, contribution
        As for the synthesizers: who is protected.
    ledger, output
        The data set's ledger (a `Budget`, or its file), and what to call the output there.

    Examples
    --------
    >>> schema = Schema((Column("sex", Kind.CATEGORICAL, levels=("f", "m")),)).declare()
    >>> counted = count({"sex": ["f", "m"] * 500}, epsilon=1.0, schema=schema)
    >>> abs(counted.value - 1000) < 30, counted.values["within"]
    (True, 3.0)
    """
    query = Query.of(
        "number of records", frame, (), schema, epsilon, delta, neighbours, contribution, ledger, output
    )
    noisy, scale = query.noisy(query.what, np.array([query.table.rows]), query.whole, 1)
    value, within = float(noisy[0]), float(query.within(scale))
    return query.result("count", value, f"About {value:,.0f} records; {_sure(within)}.", within)


def table(
    frame: Any, columns: Sequence[str], *, epsilon: float, delta: float = 0.0, schema: Schema | None = None,
    neighbours: Neighbours = "add-remove", contribution: int | None = None, breaks: Sequence[float] | None = None,
    ledger: str | Budget | None = None, output: str = "",
) -> Result:  # fmt: skip
    """Counts of every combination of some columns, each noised; empty cells too.

    Parameters
    ----------
    columns
        Columns to cross: categories, or one number with ``breaks`` (or as many groups of equal width as its bounds
        make, 10).

    Examples
    --------
    >>> schema = Schema((Column("sex", Kind.CATEGORICAL, levels=("f", "m")), Column("ill", Kind.BOOLEAN))).declare()
    >>> data = {"sex": ["f", "m"] * 500, "ill": [True, False, False, False] * 250}
    >>> table(data, ["sex", "ill"], epsilon=1.0, schema=schema).table.columns
    ['sex', 'ill', 'count', 'within']
    """
    query = Query.of(
        " × ".join(columns), frame, columns, schema, epsilon, delta, neighbours, contribution, ledger, output
    )
    if not columns:
        raise OptionError("a table needs at least one column")
    listed = math.prod(
        len(query.table[name].levels) + 1 for name in columns if not query.table[name].is_number
    )
    if listed > MOST_CELLS:
        raise OptionError(f"the table has {listed:,} cells, more than {MOST_CELLS:,}; cross fewer columns")
    price = query.whole
    held = []
    for name in columns:
        vector = query.table[name]
        if vector.is_number:
            edges, price = _edges(query, vector, breaks, price)
            held.append(_grouped(vector, edges))
        else:
            held.append(_levels(vector))
    cells = math.prod(len(each.labels) for each in held)
    counts = count_codes(list(columns), held).dense()
    moved = 1 if query.budget.neighbours == "add-remove" else 2
    noisy, scale = query.noisy(query.what, counts, price, 1, moved)
    within = query.within(scale)
    grid = np.unravel_index(np.arange(cells), counts.shape)
    shown = {
        name: [str(each.labels[int(i)]) for i in place]
        for name, each, place in zip(columns, held, grid, strict=True)
    }
    made = pl.DataFrame({**shown, "count": noisy.reshape(-1), "within": np.full(cells, within)})
    said = f"{cells:,} cells; {_sure(within)} (each cell by itself)."
    return query.result("table", float("nan"), said, float("nan"), made)


def histogram(frame: Any, column: str, *, epsilon: float, **options: Any) -> Result:
    """Counts of every level of one column, or of groups of a number; see `table` for the options.

    Examples
    --------
    >>> schema = Schema((Column("age", Kind.INTEGER, bounds=(0, 100)),)).declare()
    >>> made = histogram({"age": list(range(100))}, "age", epsilon=1.0, schema=schema, breaks=[0, 50, 100])
    >>> made.table["age"].to_list()
    ['0 to below 50', '50 to 100', 'missing']
    """
    return replace(table(frame, [column], epsilon=epsilon, **options), name="histogram")


def sum(
    frame: Any, column: str, *, epsilon: float, delta: float = 0.0, schema: Schema | None = None,
    neighbours: Neighbours = "add-remove", contribution: int | None = None, ledger: str | Budget | None = None,
    output: str = "",
) -> Result:  # fmt: skip
    """Sum of a number; values beyond its bounds count as the bound, missing ones not at all.

    Examples
    --------
    >>> schema = Schema((Column("age", Kind.INTEGER, bounds=(0, 100)),)).declare()
    >>> found = sum({"age": list(range(100)) * 10}, "age", epsilon=1.0, schema=schema)
    >>> abs(found.value - 49500) < 2000, found.values["within"]
    (True, 300.0)
    """
    query = Query.of(
        f"sum of {column}", frame, [column], schema, epsilon, delta, neighbours, contribution, ledger, output
    )
    low, high, price = _bounds(query, column, query.whole)
    held, step = _in_steps(query.table[column], low, high)
    ends = round(low / step), round(high / step)
    most = max(abs(ends[0]), abs(ends[1]))
    if query.budget.neighbours == "replace":
        most = max(most, ends[1] - ends[0])
    noisy, scale = query.noisy(query.what, np.array([held.sum()]), price, most)
    value, within = float(noisy[0]) * step, query.within(scale) * step
    return query.result("sum", value, f"The {query.what} is about {figure(value)}; {_sure(within)}.", within)


def mean(
    frame: Any, column: str, *, epsilon: float, delta: float = 0.0, schema: Schema | None = None,
    neighbours: Neighbours = "add-remove", contribution: int | None = None, ledger: str | Budget | None = None,
    output: str = "",
) -> Result:  # fmt: skip
    """Mean of a number: a noisy sum of distances from the middle of its bounds over a noisy count.

    Examples
    --------
    >>> schema = Schema((Column("age", Kind.INTEGER, bounds=(0, 100)),)).declare()
    >>> found = mean({"age": list(range(101)) * 10}, "age", epsilon=1.0, schema=schema)
    >>> abs(found.value - 50) < 3
    True
    """
    query = Query.of(
        f"mean of {column}", frame, [column], schema, epsilon, delta, neighbours, contribution, ledger, output
    )
    low, high, price = _bounds(query, column, query.whole)
    middle = math.floor((low + high) / 2) if _is_whole(query.table.schema[column]) else (low + high) / 2
    held, step = _in_steps(query.table[column], low, high, middle)
    most = max(round((high - middle) / step), round((middle - low) / step))
    moved = most if query.budget.neighbours == "add-remove" else 2 * most
    total, wide = query.noisy("its sum", np.array([held.sum()]), price / 2, max(moved, 1))
    known, slack = query.noisy("its count", np.array([len(held)]), price / 2, 1)
    size = max(float(known[0]), 1.0)
    share = float(np.clip(total[0] / size, -most, most))
    # The error is (z1 - share z2) / size for noises z1 of the sum and z2 of the count (Fieller 1954).
    rng = np.random.default_rng(0)
    off = np.abs(query.draws(wide, rng) - share * query.draws(slack, rng)) / size
    value, within = middle + share * step, float(np.quantile(off, LEVEL)) * step
    about, sure = _told(query.table.schema[column], value, within)
    return query.result("mean", value, f"The {query.what} is about {about}; {sure}.", within)


def quantile(
    frame: Any, column: str, share: float = 0.5, *, epsilon: float, schema: Schema | None = None,
    neighbours: Neighbours = "add-remove", contribution: int | None = None, ledger: str | Budget | None = None,
    output: str = "",
) -> Result:  # fmt: skip
    """Quantile of a number, chosen among values between its bounds by OpenDP's private quantile (Smith 2011).

    Examples
    --------
    >>> schema = Schema((Column("age", Kind.INTEGER, bounds=(0, 100)),)).declare()
    >>> abs(quantile({"age": list(range(101)) * 10}, "age", epsilon=1.0, schema=schema).value - 50) < 10
    True
    """
    if not 0 <= share <= 1:
        raise OptionError(f"a quantile is a share from 0 to 1, got {share}")
    query = Query.of(
        f"quantile {share:g} of {column}", frame, [column], schema, epsilon, 0.0, neighbours, contribution, ledger,
        output,
    )  # fmt: skip
    low, high, price = _bounds(query, column, query.whole)
    whole = _is_whole(query.table.schema[column])
    places = np.linspace(low, high, int(min(high - low + 1 if whole else MOST_CANDIDATES, MOST_CANDIDATES)))
    candidates = np.unique(np.round(places) if whole else places)
    values = np.clip(query.table[column].values.astype(np.float64), low, high)
    query.pay()
    query.budget.spend(query.what, epsilon=price, noise="noisy maximum")
    moved = query.budget.records * (1 if query.budget.neighbours == "add-remove" else 2)
    value, ranks = private_quantile(values, candidates, share, moved, price, LEVEL)
    about, _ = _told(query.table.schema[column], value)
    said = (
        f"The {query.what} is about {about}; its rank is within ±{ranks:,.0f} records of the right one in at "
        f"least {100 * LEVEL:g} % of draws, up to the distance between candidates."
    )
    made = query.result("quantile", value, said, float("nan"))
    return replace(made, values={"rank within": ranks})


def _sure(within: float) -> str:
    return f"within ±{figure(float(within))} of the truth in {100 * LEVEL:g} % of draws"


def _told(column: Column, value: float, within: float = 0.0) -> tuple[str, str]:
    """A value and its accuracy in words; moments are days."""
    if column.kind is not Kind.DATETIME:
        return figure(value), _sure(within)
    day = DAY * (1000 if column.decimals == 9 else 1)
    said = str(np.datetime64(round(value / day), "D"))
    return said, f"within ±{figure(within / day)} days of the truth in {100 * LEVEL:g} % of draws"


def _is_whole(column: Column) -> bool:
    return column.kind in (Kind.INTEGER, Kind.DATETIME)


def _declared(column: Column) -> bool:
    listed = column.kind.is_number or column.kind is Kind.BOOLEAN or column.levels is not None
    return column.domain == "declared" and listed and column.kind is not Kind.TEXT


def categories_of(vector: Vector, column: Column) -> Categories:
    """A declared column as categories: its levels, or ten groups of equal width between its bounds.

    Examples
    --------
    >>> column = Column("age", Kind.INTEGER, bounds=(0, 100), domain="declared")
    >>> categories_of(Table.from_frame({"age": [5, 95]}, Schema((column,)))["age"], column).codes.tolist()
    [0, 9]
    """
    if not vector.is_number:
        return _levels(vector)
    low, high = declared_bounds(column) or (0.0, 1.0)
    return _grouped(vector, np.linspace(low, max(high, low + 1e-9), 11))


def _levels(vector: Vector) -> Categories:
    """Codes of a category column, with a place for every special code and for missing whether it occurs or not."""
    labels = [*vector.levels, *vector.column.special, "missing"]
    codes = vector.data.astype(np.int64)
    if vector.state is not None:
        gaps = np.where(
            vector.state >= 3, len(vector.levels) + vector.state.astype(np.int64) - 3, len(labels) - 1
        )
        codes = np.where(vector.state == 0, codes, gaps)
    return Categories(codes, labels)


def _edges(
    query: Query, vector: Vector, breaks: Sequence[float] | None, price: float
) -> tuple[FloatArray, float]:
    if breaks is not None:
        edges = np.unique(np.asarray(list(breaks), np.float64))
        if len(edges) < 2 or not np.all(np.isfinite(edges)):
            raise OptionError("breaks need at least two different finite numbers")
        low, high = declared_bounds(vector.column) or (
            -np.inf,
            np.inf,
        )  # whoever is outside is counted as such
        return np.unique([min(low, edges[0]), *edges, max(high, edges[-1])]), price
    low, high, price = _bounds(query, vector.column.name, price)
    return np.linspace(low, high, 11), price


def _grouped(vector: Vector, edges: FloatArray) -> Categories:
    labels = [f"{a:g} to below {b:g}" for a, b in pairwise(edges[:-1])] + [f"{edges[-2]:g} to {edges[-1]:g}"]
    labels = [label.removeprefix("-inf to ").replace(" to inf", " and more") for label in labels]
    labels += [str(code) for code in vector.column.special] + ["missing"]
    codes = np.searchsorted(edges[1:-1], vector.data, side="right").astype(np.int64)
    if vector.state is not None:
        base = len(edges) - 1
        gaps = np.where(vector.state >= 3, base + vector.state.astype(np.int64) - 3, len(labels) - 1)
        codes = np.where(vector.state == 0, codes, gaps)
    return Categories(codes, labels)


def _bounds(query: Query, name: str, price: float) -> tuple[float, float, float]:
    """Declared bounds, or private ones that a share of the price pays for; what is left of it."""
    column = query.table.schema[name]
    if not column.kind.is_number:
        raise DataError(f"column {name!r} is {column.kind}; a number is needed here")
    known = declared_bounds(column)
    if known is not None:
        return known[0], max(known[1], known[0] + 1e-9), price
    low, high = _private_bounds(query, query.table[name], BOUNDS_SHARE * price)
    return low, high, (1 - BOUNDS_SHARE) * price


def _private_bounds(query: Query, vector: Vector, price: float) -> tuple[float, float]:
    """Outermost of the doubling intervals ±[2^k, 2^(k+1)) whose noisy count stands out of the noise."""
    moved = 1 if query.budget.neighbours == "add-remove" else 2
    counts = doubling_counts(vector.values.astype(np.float64))
    noisy, scale = query.noisy(f"bounds of {vector.column.name}", counts, price, 1, moved)
    # Together the empty intervals stand out in one of a hundred draws.
    ends = clear_ends(noisy, query.within(scale, 1 - RARE / CELLS))
    if ends is None:
        raise DataError(f"column {vector.column.name!r}: too little budget to find its bounds; declare them")
    return ends


def _in_steps(vector: Vector, low: float, high: float, origin: float = 0.0) -> tuple[IntArray, float]:
    """Present values as whole numbers of steps from an origin: those of their declaration, or fewer and coarser ones.

    So few that no sum of them leaves 64 bits: a sum that wraps around is wrong, and bounded by nothing.
    """
    column, reach = vector.column, max(abs(low - origin), abs(high - origin))
    step = 1.0 if _is_whole(column) else 10.0**-column.decimals if column.decimals is not None else 0.0
    if reach > MOST_STEPS * step:
        step = reach / STEPS
    inside = np.clip(vector.values.astype(np.float64), low, high)
    return np.round((inside - origin) / step).astype(np.int64), step
