"""Distances between two tables of counts on the scale of counts, as surveys are judged (Thees et al. 2024).

MAE and RMSE are in persons, MAPE in per cent of the true count, the Aitchison distance in ratios: it treats the counts
as a composition and asks how far their logarithms, each table centred on its own mean, are apart (Aitchison 1986).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from dalenius.core.errors import DataError, OptionError
from dalenius.counts.memory import row_groups
from dalenius.counts.pair import Pair
from dalenius.data.schema import Role
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, Categories

Zero = Literal["add", "replace", "drop"]
DISTANCES = ("MAE", "RMSE", "MAPE", "Aitchison", "zero cells")
"""Names of the distances, and how many cells have a count in one file only."""


def count_distances(
    truth: AnyArray, found: AnyArray, *, zero: Zero = "add", pseudo: float = 0.5
) -> dict[str, float]:
    """MAE, RMSE, MAPE and Aitchison distance between two vectors of counts.

    Parameters
    ----------
    truth, found
        Counts cell by cell, on one scale.
    zero
        What the Aitchison distance does with empty cells, whose logarithm does not exist: "add" a pseudo-count to all
        cells, "replace" empty ones by it and shrink the others by what was given away, or "drop" cells that are empty
        in either table. A few empty cells decide the distance, so their number is always given.

    Examples
    --------
    >>> found = count_distances(np.array([10, 20, 30, 40]), np.array([15, 15, 35, 35]), zero="drop")
    >>> found["MAE"], found["RMSE"], round(found["MAPE"], 7), round(found["Aitchison"], 10)
    (5.0, 5.0, 26.0416667, 0.5328857221)
    """
    if zero not in get_args(Zero):
        raise OptionError(
            f"unknown treatment of empty cells {zero!r}; use one of {', '.join(get_args(Zero))}"
        )
    t, y = np.asarray(truth, np.float64), np.asarray(found, np.float64)
    if t.shape != y.shape:
        raise DataError(f"{t.size} counts cannot be compared with {y.size}; give both cell by cell")
    keep = t + y > 0
    t, y = t[keep], y[keep]
    if len(t) == 0:
        return dict.fromkeys(DISTANCES, 0.0)
    apart, there = np.abs(y - t), t > 0
    return {
        "MAE": float(apart.mean()),
        "RMSE": float(np.sqrt(np.mean(apart**2))),
        "MAPE": 100 * float(np.mean(apart[there] / t[there])) if there.any() else float("nan"),
        "Aitchison": _aitchison(t, y, zero, pseudo),
        "zero cells": float(np.sum((t == 0) | (y == 0))),
    }


def _aitchison(t: AnyArray, y: AnyArray, zero: Zero, pseudo: float) -> float:
    if zero == "drop":
        both = (t > 0) & (y > 0)
        t, y = t[both], y[both]
    elif zero == "add":
        t, y = t + pseudo, y + pseudo
    else:
        t, y = _replaced(t, pseudo), _replaced(y, pseudo)
    if len(t) == 0:
        return float("nan")
    a, b = np.log(t), np.log(y)
    return float(np.sqrt(np.sum((a - a.mean() - b + b.mean()) ** 2)))


def _replaced(counts: AnyArray, pseudo: float) -> AnyArray:
    """Empty cells get the pseudo-count, the others give it in proportion (Martín-Fernández et al. 2003)."""
    empty = counts == 0
    given = pseudo * float(empty.sum()) / max(float(counts.sum()), 1.0)
    return np.where(empty, pseudo, counts * (1 - given))


def weighted_distances(
    pair: Pair, columns: Sequence[str], weight: str | None = None, *, zero: Zero = "add", pseudo: float = 0.5
) -> dict[str, float]:
    """Distances of one table, each file's rows counted with its own weights (numbers in the pair's groups).

    Parameters
    ----------
    weight
        Column of weights; default: the one with that role, or every row once. Both files need it: in a synthetic
        population it is 1.

    Examples
    --------
    >>> data = {"area": ["n", "n", "s"], "w": [100.5, 100.5, 50.5]}
    >>> people = {"area": ["n"] * 200 + ["s"] * 52, "w": [1.0] * 252}
    >>> weighted_distances(Pair(data, people), ["area"], "w")["MAE"]
    1.25
    """
    roles = [name for name in pair.schema.by_role(Role.WEIGHT) if name in pair.original]
    name = weight or (roles[0] if roles else None)
    if name is not None and name not in pair.original:
        raise DataError(f"column {name!r} is not in both files; give a population weights of 1")
    aligned = [pair.categories(column) for column in columns]
    stacked = [
        Categories(np.concatenate([a.original.codes, a.protected.codes]), a.original.labels) for a in aligned
    ]
    groups, size = row_groups(stacked)
    n = pair.original.rows
    counts = [
        np.bincount(rows, row_weights(table, name), minlength=size)
        for rows, table in ((groups[:n], pair.original), (groups[n:], pair.protected))
    ]
    return count_distances(*counts, zero=zero, pseudo=pseudo)


def row_weights(table: Table, name: str | None) -> AnyArray:
    """Weight of each row, or 1; an error where one is missing or negative.

    Examples
    --------
    >>> row_weights(Table.from_frame({"w": [1.5, 2.5]}), "w").tolist()
    [1.5, 2.5]
    """
    if name is None:
        return np.ones(table.rows)
    weights = table[name].amounts()
    if not np.all(np.isfinite(weights)) or np.any(weights < 0):
        raise DataError(f"column {name!r} has weights that are missing or negative; correct them first")
    return weights
