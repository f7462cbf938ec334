"""How like the original a released file is, bought with a budget: two figures with error bars that may be published."""

from __future__ import annotations

from collections.abc import Sequence
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
from dalenius.dp.noise import add_laplace, choose
from dalenius.dp.queries import KIND, categories_of

FINE = 1000
"""Noise is drawn in thousandths of a record."""


def paid_utility(
    original: Any, released: Any, *, epsilon: float, schema: Schema | None = None,
    neighbours: Neighbours = "add-remove", records: int = 1, unit: str = "record",
    ledger: str | Budget | None = None,
) -> list[Result]:  # fmt: skip
    """Share of the records that a released file has in the wrong cells, in its one-way and in its two-way tables.

    The distance of a table is half of the sum of absolute differences of its cells, the released counts as they are.
    One record changes it by at most one half, and so the mean over tables (twice that where a record is replaced): each
    figure costs half of the budget, whatever the number of columns.

    Parameters
    ----------
    original, released
        Frames or `Table`; the columns that both have and that are declared are compared.
    epsilon, neighbours, records, unit, ledger
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
    (own, other), rows = _coded([original, released], schema)
    budget = Budget(epsilon, neighbours=neighbours, records=records, unit=unit)
    if ledger is not None:
        (ledger if isinstance(ledger, Budget) else open_ledger(ledger)).charge(budget, "utility", "report")
    gaps = {word: _gaps(own, other, order) for order, word in ((1, "one-way"), (2, "two-way"))}
    return [_figure(f"{w}-distance", w, held, budget, max(rows[1], 1)) for w, held in gaps.items() if held]


def private_choice(
    original: Any, files: Sequence[Any], *, epsilon: float, schema: Schema | None = None,
    neighbours: Neighbours = "add-remove", records: int = 1, unit: str = "record",
    ledger: str | Budget | None = None,
) -> int:  # fmt: skip
    """Which of several released files is most like the original: a noisy maximum, paid out of the budget.

    The score is the one of `paid_utility` for two-way tables (one-way where there is one column), in records.

    Examples
    --------
    >>> from dalenius.data import Column, Kind
    >>> schema = Schema((Column("sex", Kind.CATEGORICAL, levels=("f", "m")), Column("ill", Kind.BOOLEAN))).declare()
    >>> data = {"sex": ["f", "m"] * 500, "ill": [True, False, False, False] * 250}
    >>> other = {"sex": ["f", "f"] * 500, "ill": [True, True] * 500}
    >>> private_choice(data, [other, data], epsilon=1.0, schema=schema)
    1
    """
    (own, *others), _ = _coded([original, *files], schema)
    budget = Budget(epsilon, neighbours=neighbours, records=records, unit=unit)
    if ledger is not None:
        pays = ledger if isinstance(ledger, Budget) else open_ledger(ledger)
        pays.charge(budget, f"choice among {len(files)} files", "release")
    budget.spend("choice", epsilon=epsilon, noise="noisy maximum")
    scores = [-float(np.mean(_gaps(own, other, min(2, len(own))))) for other in others]
    return choose(np.array(scores), 0.5 * budget.sensitivity, epsilon)


def _coded(frames: Sequence[Any], schema: Schema | None) -> tuple[list[dict[str, Categories]], list[int]]:
    """The declared columns of all files as categories, the original's first, and the numbers of rows."""
    tables = [Table.from_frame(f, schema.blind() if schema is not None else None) for f in frames]
    kept = [n for n in tables[1].names if all(n in t for t in tables) and _comparable(tables[0][n])]
    if not kept:
        raise DataError(
            f"no column is declared, of {names(tables[1].names)}; nothing can be compared blindly"
        )
    coded = [{n: categories_of(t[n], tables[0][n].column) for n in kept} for t in tables]
    return coded, [t.rows for t in tables]


def _comparable(vector: Vector) -> bool:
    column = vector.column
    known = declared_bounds(column) is not None if column.kind.is_number else column.levels is not None
    return column.domain == "declared" and known


def _gaps(own: dict[str, Categories], other: dict[str, Categories], order: int) -> list[float]:
    """Half of the absolute differences of each table of so many columns, in records."""
    crossed = [list(margin) for margin in combinations(own, order)]
    pairs = [[count_codes(m, [held[n] for n in m]).dense() for held in (own, other)] for m in crossed]
    return [0.5 * float(np.abs(first - second).sum()) for first, second in pairs]


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
