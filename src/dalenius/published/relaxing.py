"""Figures that contradict each other: which they are, and the smallest change that makes them agree."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp

from dalenius.core.errors import TableError
from dalenius.published.arrays import Ints
from dalenius.published.doubts import overlapping_bands
from dalenius.published.margin import NO_LIMIT
from dalenius.published.system import System

MOST_NAMED = 10


def smallest_changes(system: System) -> Ints:
    """How much each published sum must change, in all as little as possible, for some whole table to fit."""
    count, cells = system.rows.shape
    eye = sp.identity(count)
    matrix = sp.hstack([system.rows, eye, -eye])
    goal = np.concatenate([np.zeros(cells), np.ones(2 * count)])
    answer = milp(
        goal, integrality=np.ones(len(goal)), bounds=Bounds(0, float(NO_LIMIT)),
        constraints=LinearConstraint(matrix, system.low, system.high), options={"node_limit": 2000},
    )  # fmt: skip
    if answer.x is None:
        raise TableError("published tables", ["they contradict each other; check areas and totals"])
    found = np.rint(answer.x).astype(np.int64)
    return np.asarray(found[cells + count :] - found[cells : cells + count])


def named_conflicts(system: System) -> TableError:
    """The sums that must change for the figures to agree, in words and without their values, and what may help."""
    wrong = np.flatnonzero(smallest_changes(system))
    said = [f"{system.named(int(row))} disagrees with the other tables" for row in wrong[:MOST_NAMED]]
    more = [f"and {len(wrong) - MOST_NAMED} more"] if len(wrong) > MOST_NAMED else []
    overlaps = overlapping_bands(system.published)  # taken for different people, true figures cannot agree
    rounded = "if counts were rounded or moved on purpose, say so (kind and base of the table)"
    return TableError(
        "published tables",
        said or ["no whole-number table fits them"],
        "; ".join([*more, *(overlaps or [rounded])]),
    )


def relaxed(system: System) -> tuple[System, pl.DataFrame]:
    """The system with the smallest changes that make it agree, and these changes."""
    change = smallest_changes(system)
    low = np.where(change < 0, system.low + change, system.low)
    high = np.where(change > 0, system.high + change, system.high)
    rows = np.flatnonzero(change)
    shown = pl.DataFrame(
        {"sum": [system.named(int(r)) for r in rows], "slack": change[rows]},
        schema={"sum": pl.String, "slack": pl.Int64},
    )
    return replace(system, low=np.maximum(low, 0), high=high), shown
