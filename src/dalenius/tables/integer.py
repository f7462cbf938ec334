"""Mixed integer programs by HiGHS: the answer, and what no answer can go below."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp

from dalenius.core.errors import DataError
from dalenius.tables.model import Bools, Floats


@dataclass(frozen=True, eq=False)
class Answer:
    """A point, its objective and a bound on the best one."""

    point: Floats
    objective: float
    bound: float


def solve(
    cost: Floats,
    matrix: Any,
    low: Floats,
    high: Floats,
    *,
    whole: Bools,
    least: Floats,
    most: Floats,
    time_limit: float,
    what: str,
) -> Answer:
    """Make ``cost · x`` small with ``low ≤ matrix x ≤ high``; an error if nothing fits, or nothing was found in time.

    Examples
    --------
    >>> answer = solve(np.array([1.0]), np.array([[2.0]]), np.array([3.0]), np.array([np.inf]), whole=np.array([True]),
    ...                least=np.zeros(1), most=np.full(1, 9.0), time_limit=5, what="x")
    >>> answer.point.tolist(), answer.objective == answer.bound
    ([2.0], True)
    """
    answer = milp(
        cost, integrality=whole.astype(np.int64), bounds=Bounds(least, most),
        constraints=LinearConstraint(matrix, low, high), options={"time_limit": time_limit, "mip_rel_gap": 0.0},
    )  # fmt: skip
    if answer.x is None:
        why = "nothing fits all conditions; ask for less"
        if answer.status != 2:
            why = "no solution in time; raise time_limit or take a smaller table"
        raise DataError(f"{what}: {why}")
    bound = getattr(answer, "mip_dual_bound", None)
    return Answer(np.asarray(answer.x), float(answer.fun), float(answer.fun if bound is None else bound))
