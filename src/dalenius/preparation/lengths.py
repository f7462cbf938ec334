"""Numbers that are the time between two dates: a length of stay, an age at a visit."""

from __future__ import annotations

from dataclasses import asdict
from itertools import permutations, product
from typing import get_args

import numpy as np

from dalenius.data.schema import Kind, Role
from dalenius.data.steps.lengths import DropLength, LengthUnit
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray
from dalenius.preparation.derived import FORMULA_SHARE, MIN_ROWS
from dalenius.preparation.finding import Finding

DATES, NUMBERS = 12, 40
"""Date columns, and number columns, that are looked at, at most."""
FEW = 200
"""Rows on which everything is tried before one way is checked on all."""


def date_lengths(table: Table) -> list[Finding]:
    """Number columns that count the time between two date columns."""
    dates = [n for n, v in table.vectors.items() if v.column.kind is Kind.DATETIME][:DATES]
    numbers = [
        n
        for n, v in table.vectors.items()
        if v.column.kind in (Kind.INTEGER, Kind.CONTINUOUS) and not v.column.has(Role.IDENTIFIER)
    ][:NUMBERS]
    if len(dates) < 2:
        return []
    ways = [_length(table, name, dates) for name in numbers]
    return [way for way in ways if way is not None]


def _length(table: Table, name: str, dates: list[str]) -> Finding | None:
    own = table[name]
    for start, end in permutations(dates, 2):
        both = np.flatnonzero(own.present & table[start].present & table[end].present)
        some = both[:: max(1, len(both) // FEW)]
        if len(both) < MIN_ROWS or len(np.unique(own.data[some])) < 3:
            continue
        for unit, more, whole in product(get_args(LengthUnit), (0, 1), (False, True)):
            column = own.column
            step = DropLength(name, start, end, unit, str(column.kind), column.decimals, more, whole)  # type: ignore[arg-type]
            if (
                _share(table, step, some) >= FORMULA_SHARE
                and (share := _share(table, step, both)) >= FORMULA_SHARE
            ):
                return _told(step, share, len(both))
    return None


def _share(table: Table, step: DropLength, rows: AnyArray) -> float:
    """Share of rows in which the column is what the step would count, to the column's last digit."""
    own, start, end = (table[name].data[rows] for name in (step.column, *step.needs))
    whole = Kind(step.kind) is Kind.INTEGER
    places = 0 if whole else step.decimals
    near = 1e-6 * np.abs(own) if places is None else 0.5 * 10.0**-places * (1 + 1e-6)
    return float(np.mean(np.abs(own - step.count(start, end)) <= near))


def _told(step: DropLength, share: float, rows: int) -> Finding:
    text = f"{step.column} = {step.words} in {100 * share:.2f} % of {rows:,} rows"
    todo = f"drop {step.column!r} before synthesis and count it afterwards"
    remedy = {"do": step.do, **asdict(step)}
    return Finding("derived-length", (step.column, *step.needs), "warning", text, rows, share, todo, remedy)
