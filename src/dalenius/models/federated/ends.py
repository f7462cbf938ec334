"""Ends of columns that nobody declared, found privately by all holders together.

Every holder counts its own numbers in doubling intervals, adds noise and sends the noisy counts: its message keeps its
people's promise by itself, whatever the others do. The sums of the messages show where numbers are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dalenius.core.errors import DataError, names
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.data.units import owner_column
from dalenius.dp.budget import Budget
from dalenius.dp.contributions import bound_units
from dalenius.dp.doubling import CELLS, RARE, clear_ends, doubling_counts, sum_within
from dalenius.dp.ledger import open_ledger
from dalenius.dp.noise import add_laplace


def open_ends(schema: Schema) -> list[str]:
    """Numbers that are declared without bounds: what holders have to find ends for."""
    return [c.name for c in schema if c.kind.is_number and c.domain == "declared" and c.bounds is None]


def ends_message(
    data: Any, columns: Sequence[str], *, epsilon: float, contribution: int | None = None,
    ledger: str | Budget | None = None,
) -> dict[str, Any]:  # fmt: skip
    """What a holder sends so that ends can be found: noisy counts of doubling intervals, for one ε in all.

    Parameters
    ----------
    columns
        Numbers whose ends nobody declared (`open_ends`); they share ε equally.
    contribution
        Most records of one unit, where a column says whose record it is.
    ledger
        The holder's ledger, which pays before any noise is drawn.

    Examples
    --------
    >>> messages = [ends_message({"age": np.arange(20, 80)}, ["age"], epsilon=5.0) for _ in range(3)]
    >>> ends_of(messages, ["age"])
    {'age': (16.0, 128.0)}
    """
    table = data if isinstance(data, Table) else Table.from_frame(data)
    lacking = [name for name in columns if name not in table or not table[name].is_number]
    if lacking or not columns:
        raise DataError(
            f"column {names(lacking)}: not a number of this file; holders need the same columns"
            if lacking
            else "every number has declared bounds, so there are no ends to find; leave this step out"
        )
    kept, _ = bound_units(table, contribution)
    unit = (owner_column(table.schema) or "record") if contribution is not None else "record"
    budget = Budget(epsilon, records=contribution or 1, unit=unit)
    pays = open_ledger(ledger) if isinstance(ledger, str) else ledger
    if pays is not None:
        pays.charge(budget, f"ends of {', '.join(columns)}", "message to holders")
    scale = len(columns) * budget.sensitivity / epsilon
    counts = {}
    for name in columns:
        vector = kept[name]
        seen = doubling_counts(vector.values.astype(np.float64))
        counts[name] = [int(n) for n in add_laplace(seen, scale)]
    return {"epsilon": epsilon, "scale": scale, "counts": counts}


def ends_of(messages: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Ends of each column from the messages of all holders; an error where the noise hides everything."""
    try:
        sums = {n: np.sum([np.asarray(m["counts"][n], np.int64) for m in messages], axis=0) for n in columns}
        scale = max(float(m["scale"]) for m in messages)
        whole = all(held.shape == (CELLS,) for held in sums.values()) and scale > 0
    except (KeyError, TypeError, ValueError, OverflowError):
        whole = False
    if not whole:
        raise DataError("a message about ends cannot be read; ask its sender to make it again")
    within = sum_within(scale, len(messages), 1 - RARE / CELLS)
    found = {name: clear_ends(held, within) for name, held in sums.items()}
    hidden = [name for name, ends in found.items() if ends is None]
    if hidden:
        raise DataError(
            f"column {names(hidden)}: too little ε to find ends; declare bounds, or send with more"
        )
    return {name: ends for name, ends in found.items() if ends is not None}
