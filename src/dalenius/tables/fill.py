"""Filled-in values: numbers for suppressed cells that fit the published ones, from what is published alone.

Since nothing but the published cells goes in, the numbers tell nothing that the table with gaps did not tell. They help
users who need a complete table; they are not the truth, and they say so (compare R's GaussSuppressDec).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from dalenius.core.errors import DataError
from dalenius.core.random import generator
from dalenius.published.program import Program
from dalenius.published.region import Region
from dalenius.tables.altered import Altered
from dalenius.tables.disclosed import Disclosed
from dalenius.tables.integer import solve
from dalenius.tables.model import Floats
from dalenius.tables.suppression import Suppression

CORNERS = 24


def fill_in(result: Suppression, *, time_limit: float = 60.0) -> Altered:
    """Numbers for all cells that add up exactly and equal the published ones where there are any.

    Counts get whole numbers, sums the decimals of the data; both near the middle of what fits.

    Examples
    --------
    >>> from dalenius.tables import define, protect, SmallCount
    >>> data = {"a": list("xxyy"), "b": list("pqpq"), "n": [1, 7, 9, 5]}
    >>> result = protect(define(data, by=["a", "b"], freq="n"), SmallCount(3))
    >>> filled = fill_in(result)
    >>> filled.not_additive, bool((filled.values == result.model.amount)[~result.suppressed].all())
    (0, True)
    """
    if result.checked is not None and not result.checked.passed:
        raise DataError("the table is not safe: filled-in values would give its protected cells away")
    model = result.model
    table = Disclosed.of(result)
    unit = 10.0**-model.decimals
    known = np.flatnonzero(table.published)
    sums = np.rint(model.published_amount[known] / unit)
    positive = bool((np.where(table.published, table.amounts, 0.0) >= 0).all())
    region = Region.of(model.matrix[:, known], sums, nonnegative=positive)
    inner = np.where(np.isnan(region.value), 0.0, region.value)
    objective = bound = 0.0
    if len(region.free):
        inner[region.free], objective, bound = _free(region, positive, time_limit)
    inner = np.rint(inner)
    values = np.asarray(model.matrix.T @ inner, np.float64)
    if not np.array_equal(values[known], sums):
        raise DataError("no whole numbers were found that fit the published cells; take a smaller table")
    shown = np.where(result.hidden, np.nan, np.round(values * unit, model.decimals))
    return Altered(
        model,
        shown,
        "filled in",
        objective,
        bound,
        ("Numbers in suppressed cells are made up from the published ones.",),
    )


def _free(region: Region, positive: bool, time_limit: float) -> tuple[Floats, float, float]:
    """Whole numbers near the middle of some corners of what fits."""
    equations = sp.csr_matrix(region.equations, dtype=np.float64)
    count = len(region.free)
    middle = _middle(equations, region.sums, count, positive)
    matrix = sp.vstack([
        sp.hstack([equations, sp.csr_matrix((equations.shape[0], count))]),
        sp.hstack([sp.identity(count), -sp.identity(count)]),
        sp.hstack([-sp.identity(count), -sp.identity(count)]),
    ]).tocsr()  # fmt: skip
    low = np.concatenate([region.sums, np.full(2 * count, -np.inf)])
    high = np.concatenate([region.sums, middle, -middle])
    answer = solve(
        np.concatenate([np.zeros(count), np.ones(count)]), matrix, low, high,
        whole=np.concatenate([np.ones(count, np.bool_), np.zeros(count, np.bool_)]),
        least=np.concatenate([np.zeros(count) if positive else np.full(count, -np.inf), np.zeros(count)]),
        most=np.full(2 * count, np.inf), time_limit=time_limit, what="filling in",
    )  # fmt: skip
    return answer.point[:count], answer.objective, answer.bound


def _middle(equations: sp.csr_matrix, sums: Floats, count: int, positive: bool) -> Floats:
    """The mean of some corners, found with fixed random goals; without bounds the shortest solution."""
    if not positive:
        return np.asarray(sp.linalg.lsqr(equations, sums)[0])
    program = Program(equations, sums, nonnegative=True)
    rng = generator(1, "filled-in values")
    points = []
    for _ in range(CORNERS):
        goal = rng.standard_normal(count)
        for sense in (-1, 1):
            _, point = program.extreme(np.arange(count), goal, sense)
            if point is not None:
                points.append(point)
    return np.mean(points, axis=0) if points else np.asarray(sp.linalg.lsqr(equations, sums)[0])
