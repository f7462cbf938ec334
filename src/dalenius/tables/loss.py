"""What protection costs: cells lost, value lost, distance from the truth, side by side."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import polars as pl

from dalenius.core.errors import DataError
from dalenius.tables.altered import Altered
from dalenius.tables.model import Floats, TableModel
from dalenius.tables.suppression import Suppression


def information_loss(
    model: TableModel, methods: Mapping[str, Suppression | Altered | npt.ArrayLike]
) -> pl.DataFrame:
    """Compare protected versions of one table.

    Columns: cells without a value (number and %), share of the table's inner value that is not shown (%),
    mean and largest
    absolute change of shown cells, Hellinger distance between the shown inner cells and the true ones (0 =
    the same,
    1 = nothing in common; a suppressed cell counts as 0), and totals that no longer add up.

    Parameters
    ----------
    model
        The true table.
    methods
        Name → `Suppression`, `Altered`, or the protected values of all cells (NaN where suppressed).

    Examples
    --------
    >>> from dalenius.tables import define, protect, SmallCount
    >>> model = define({"a": ["x", "y", "z"], "n": [1, 7, 9]}, by="a", freq="n")
    >>> information_loss(model, {"suppression": protect(model, SmallCount(3))})["cells_lost"].to_list()
    [2]
    """
    rows = []
    for name, method in methods.items():
        if isinstance(method, Altered):
            shown = method.values
        elif isinstance(method, Suppression):
            shown = np.where(method.suppressed | method.hidden, np.nan, model.amount)
        else:
            shown = np.asarray(method, np.float64)
        if shown.shape != model.amount.shape:
            raise DataError(f"{name}: {shown.size} values were given for {len(model.amount)} cells")
        rows.append({"method": name, **_figures(model, shown)})
    return pl.DataFrame(rows)


def _figures(model: TableModel, shown: Floats) -> dict[str, float | int]:
    truth = model.amount
    lost = np.isnan(shown)
    inner = model.sizes == 1
    size = np.abs(truth)
    change = np.abs(shown - truth)[~lost]
    return {
        "cells_lost": int(lost.sum()),
        "cells_lost_percent": 100.0 * float(lost.mean()),
        "value_lost_percent": 100.0 * float(size[inner & lost].sum() / max(size[inner].sum(), 1e-300)),
        "mean_change": float(change.mean()) if len(change) else 0.0,
        "largest_change": float(change.max(initial=0.0)),
        "hellinger": _hellinger(size[inner], np.abs(np.nan_to_num(shown[inner]))),
        "not_additive": _not_additive(model, shown),
    }


def _hellinger(truth: Floats, shown: Floats) -> float:
    if not truth.sum() or not shown.sum():
        return 0.0 if truth.sum() == shown.sum() else 1.0
    overlap = np.sqrt(truth / truth.sum() * shown / shown.sum()).sum()
    return float(np.sqrt(max(0.0, 1.0 - overlap)))


def _not_additive(model: TableModel, shown: Floats) -> int:
    """Shown cells whose inner cells are all shown but add up to something else."""
    place = np.full(len(model.counts), -1)
    single = np.flatnonzero(model.sizes == 1)
    place[model.matrix.indices[model.matrix.indptr[single]]] = single
    known = (place >= 0) & ~np.isnan(shown[place])
    parts = np.where(known, shown[place], 0.0)
    complete = np.asarray(model.matrix.T @ (~known).astype(np.int64)) == 0
    check = complete & ~np.isnan(shown) & (model.sizes > 1)
    sums = np.asarray(model.matrix.T @ parts)
    return int((np.abs(sums - shown) > 1e-6 * np.maximum(1.0, np.abs(shown)))[check].sum())
