"""How like the original a released file is, bought with a budget: two figures with error bars that may be published."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from dalenius.core.errors import DataError, names
from dalenius.core.result import Interval, Result, figure
from dalenius.counts.memory import count_codes
from dalenius.data.declared import declared_bounds
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.data.vector import Categories, Vector
from dalenius.dp.accuracy import LEVEL, laplace_within
from dalenius.dp.budget import Budget, Neighbours
from dalenius.dp.ledger import open_ledger
from dalenius.dp.noise import add_laplace
from dalenius.dp.queries import KIND, categories_of

FINE = 1000
"""Noise is drawn in thousandths of a record."""


def paid_utility(
    original: Any, released: Any, *, epsilon: float, schema: Schema | None = None,
    neighbours: Neighbours = "add-remove", records: int = 1, ledger: str | Budget | None = None,
) -> list[Result]:  # fmt: skip
    """Share of the records that a released file has in the wrong cells, in its one-way and in its two-way tables.

    The distance of a table is half of the sum of absolute differences of its cells, the released counts as they are.
    One record changes it by at most one half, and so the mean over tables (twice that where a record is replaced): each
    figure costs half of the budget, whatever the number of columns.

    Parameters
    ----------
    original, released
        Frames or `Table`; the columns that both have and that are declared are compared.
    epsilon, neighbours, records, ledger
        What it may cost, who is protected (``records`` of one unit at most), and out of which ledger.

    Examples
    --------
    >>> from dalenius.data import Column, Kind
    >>> schema = Schema((Column("sex", Kind.CATEGORICAL, levels=("f", "m")), Column("ill", Kind.BOOLEAN))).declare()
    >>> data = {"sex": ["f", "m"] * 500, "ill": [True, False, False, False] * 250}
    >>> one, two = paid_utility(data, data, epsilon=1.0, schema=schema)
    >>> one.value < 2, one.unit
    (True, '%')
    """
    tables = [
        Table.from_frame(f, schema.blind() if schema is not None else None) for f in (original, released)
    ]
    kept = [n for n in tables[1].names if n in tables[0] and _comparable(tables[0][n])]
    if not kept:
        raise DataError(
            f"no column is declared, of {names(tables[1].names)}; nothing can be compared blindly"
        )
    budget = Budget(epsilon, neighbours=neighbours, records=records)
    if ledger is not None:
        (ledger if isinstance(ledger, Budget) else open_ledger(ledger)).charge(budget, "utility", "report")
    coded = [{n: categories_of(t[n], tables[0][n].column) for n in kept} for t in tables]
    sides = [(c, max(t.rows, 1)) for c, t in zip(coded, tables, strict=True)]
    found = []
    for order, word in ((1, "one-way"), (2, "two-way")):
        crossed = list(combinations(kept, order))
        if crossed:
            found.append(
                _figure(f"{word}-distance", word, [_gap(sides, m) for m in crossed], budget, sides[1][1])
            )
    return found


def _comparable(vector: Vector) -> bool:
    column = vector.column
    known = declared_bounds(column) is not None if column.kind.is_number else column.levels is not None
    return column.domain == "declared" and known


def _gap(sides: list[tuple[dict[str, Categories], int]], margin: tuple[str, ...]) -> float:
    """Half of the absolute differences, in records."""
    first, second = (count_codes(list(margin), [held[n] for n in margin]).dense() for held, _ in sides)
    return 0.5 * float(np.abs(first - second).sum())


def _figure(name: str, word: str, gaps: list[float], budget: Budget, rows: int) -> Result:
    price = budget.epsilon / 2
    moved = 0.5 * budget.sensitivity
    scale = (FINE * moved + 1) / price  # rounding to thousandths may add one
    budget.spend(
        f"{word} utility", epsilon=price, noise=f"discrete Laplace, scale {scale / FINE:.4g} records"
    )
    noisy = int(add_laplace(np.array([round(FINE * float(np.mean(gaps)))]), scale)[0]) / FINE
    within = 100 * laplace_within(scale) / FINE / rows
    value = 100 * noisy / rows
    said = (
        f"On average over the {word} tables {figure(max(value, 0.0), '%')} of the records lie in another cell than in "
        f"the real data (within ±{figure(within)} points in {100 * LEVEL:g} % of draws; paid with ε = {price:g})."
    )
    spread = Interval(value - within, value + within, LEVEL, KIND)
    return Result(name, value, said, unit="%", interval=spread, values={"within": within})
