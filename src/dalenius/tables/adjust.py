"""Controlled tabular adjustment: every sensitive cell moves far enough, everything adds up, little else changes.

Dandekar and Cox (2002); Castro (2006). The inner cells are what is changed and all cells are their sums, so additivity
is exact by construction. A sensitive cell goes up or down by at least its protection level; which way is a yes-or-no
variable of the program.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from dalenius.core.option import at_least, one_of
from dalenius.tables.altered import Altered
from dalenius.tables.integer import solve
from dalenius.tables.model import Bools, Floats, TableModel
from dalenius.tables.part_rules import protections_of
from dalenius.tables.protected import first_of_kind, signatures
from dalenius.tables.protection import PrimaryRule
from dalenius.tables.rules import default_rules


def adjust(
    model: TableModel,
    *rules: PrimaryRule,
    weights: Literal["equal", "relative"] = "equal",
    least_percent: float = 10.0,
    time_limit: float = 60.0,
) -> Altered:
    """Change a table so that every sensitive cell is at least its protection level away from the truth.

    Parameters
    ----------
    model, rules
        The table and the rules that say which cells are sensitive, and by how much.
    weights
        What is made small: the sum of all changes, or of changes relative to the cells' size.
    least_percent
        Least change of a sensitive cell whose rule names no level, in percent of its value; at least 1 for counts.
    time_limit
        Seconds; after that the best solution found is taken, and its gap is told.

    Examples
    --------
    >>> from dalenius.tables import define, SmallCount
    >>> model = define({"a": ["x", "y", "z"], "n": [1, 7, 9]}, by="a", freq="n")
    >>> adjusted = adjust(model, SmallCount(3))
    >>> adjusted.proved, adjusted.objective, bool(adjusted.values[1] != 1)
    (True, 2.0, True)
    """
    one_of("weights", weights, ("equal", "relative"))
    at_least("least_percent", least_percent, 0)
    asked = protections_of(model, rules or default_rules(model)).values()
    marked = np.logical_or.reduce([each.mask for each in asked]) & (model.sizes > 0)
    levels = protection_levels(
        model, marked, np.maximum.reduce([each.upper for each in asked]), least_percent
    )
    place = first_of_kind(signatures(model.matrix))
    cells = np.flatnonzero((place == np.arange(len(place))) & (model.sizes > 0))
    change, objective, bound = _solved(model, cells, marked, levels, weights, time_limit)
    inner = np.round(inner_amounts(model) + change, model.decimals)
    values = np.round(np.asarray(model.matrix.T @ inner, np.float64), model.decimals) + 0.0
    return Altered(model, np.asarray(values, np.float64), "controlled adjustment", objective, bound)


def inner_amounts(model: TableModel) -> Floats:
    """What the inner cells hold: counts, or sums without the dust of adding up."""
    return model.counts.astype(np.float64) if model.values is None else np.round(model.values, model.decimals)


def protection_levels(model: TableModel, marked: Bools, upper: Floats, least_percent: float) -> Floats:
    """How far each sensitive cell must move, in whole units of what is published; 0 for the others."""
    unit = 10.0**-model.decimals
    least = np.maximum(np.maximum(upper, least_percent / 100.0 * np.abs(model.amount)), unit)
    return np.where(marked, np.ceil(least / unit - 1e-9) * unit, 0.0)


def _solved(
    model: TableModel, cells: Any, marked: Bools, levels: Floats, weights: str, time_limit: float
) -> tuple[Floats, float, float]:
    """The change of every inner cell. Variables: the changes, the sizes of the cells' changes, up (1) or down (0)."""
    truth = inner_amounts(model)
    sensitive = np.array([c for c in cells if marked[c]], np.int64)
    inner, shown, choices = len(truth), len(cells), len(sensitive)
    sums = sp.csr_matrix(model.matrix[:, cells].T, dtype=np.float64)
    own = sp.csr_matrix(model.matrix[:, sensitive].T, dtype=np.float64)
    counts = model.values is None
    slack = 0.0 if counts else 0.5 * 10.0**-model.decimals  # what rounding the inner cells may take back
    need = levels[sensitive] + slack * model.sizes[sensitive]
    reach = float(4.0 * need.sum() + need.max(initial=0.0)) + 1.0
    none = sp.csr_matrix((shown, choices))
    size = sp.identity(shown, format="csr")
    switch = sp.diags(need + reach, format="csr")
    matrix = sp.vstack([
        sp.hstack([sums, -size, none]),  # change ≤ its size
        sp.hstack([-sums, -size, none]),
        sp.hstack([own, sp.csr_matrix((choices, shown)), -switch]),  # up: change ≥ need; down: change ≥ −reach
        sp.hstack([own, sp.csr_matrix((choices, shown)), -switch]),  # down: change ≤ −need; up: change ≤ reach
    ]).tocsr()  # fmt: skip
    low = np.concatenate([np.full(2 * shown, -np.inf), np.full(choices, -reach), np.full(choices, -np.inf)])
    high = np.concatenate([np.zeros(2 * shown), np.full(choices, np.inf), -need])
    positive = bool((truth >= 0).all())
    least = np.concatenate([-truth if positive else np.full(inner, -reach), np.zeros(shown + choices)])
    least[inner + shown :] = np.where(
        positive & (model.amount[sensitive] < need), 1.0, 0.0
    )  # cannot go down so far
    most = np.concatenate([np.full(inner, reach), np.full(shown, np.inf), np.ones(choices)])
    price = np.ones(shown) if weights == "equal" else 1.0 / np.maximum(np.abs(model.amount[cells]), 1.0)
    cost = np.concatenate([np.zeros(inner), price, np.zeros(choices)])
    whole = np.concatenate([np.full(inner, counts), np.zeros(shown, np.bool_), np.ones(choices, np.bool_)])
    answer = solve(
        cost, matrix, low, high, whole=whole, least=least, most=most, time_limit=time_limit, what="adjustment"
    )
    change = answer.point[:inner]
    return (np.rint(change) if counts else change), answer.objective, answer.bound
