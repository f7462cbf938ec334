"""How far one file would have to be moved to become the other: the Wasserstein distance of whole records.

Optimal transport between the records of two files of equal size: each record is assigned to one of the other file so
that the sum of costs is least (Miletic and Sariyar 2024, from whom scaling and cost are taken). Numbers are scaled by
the range of the original; categories are one-hot, so that two different ones are 2 apart in squared cost; a gap or a
special code is a category of its own. The distance falls as files grow, so that only equal sizes can be compared: what
as many people outside the data, and the original drawn again, are away stands beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from scipy.optimize import linear_sum_assignment

from dalenius.core.option import one_of
from dalenius.core.random import Seed, generator
from dalenius.core.result import Result, figure
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray

Cost = Literal["sqeuclidean", "euclidean"]
MOST = 1000
"""Records that are assigned: the work grows with their cube."""
COPYING = 0.8
"""Of the floor of people outside the data: what is nearer than that is not better, it repeats the original."""


def coded(pair: Pair, table: Table, columns: Sequence[str]) -> tuple[AnyArray, AnyArray]:
    """Records as scaled numbers and as codes: one column of codes for each category, and for each number with gaps.

    Examples
    --------
    >>> pair = Pair({"x": [0, 5, 10, None], "c": ["a", "b", "a", "b"]}, {"x": [1], "c": ["a"]})
    >>> numbers, codes = coded(pair, pair.original, ["x", "c"])
    >>> numbers[:, 0].tolist(), codes.T.tolist()
    ([0.0, 0.5, 1.0, 0.5], [[0, 0, 0, 1], [0, 1, 0, 1]])
    """
    numbers, codes = [], []
    for name in columns:
        if pair.original[name].is_number:
            own = pair.original[name].floats()
            own = own[np.isfinite(own)]
            low, span = (float(own.min()), float(np.ptp(own))) if len(own) else (0.0, 0.0)
            middle = float(own.mean()) if len(own) else 0.0
            values = table[name].floats()
            there = np.isfinite(values)
            numbers.append((np.where(there, values, middle) - low) / span if span else np.zeros(len(values)))
            state = table[name].state
            codes.append((~there).astype(np.int64) if state is None else state.astype(np.int64))
        else:
            level = {label: i for i, label in enumerate(pair.categories(name, grouped=False).original.labels)}
            found = table[name].categories
            lookup = np.array([level[label] for label in found.labels], np.int64)
            codes.append(lookup[found.codes])
    rows = table.rows
    return (
        np.stack(numbers, axis=1) if numbers else np.zeros((rows, 0)),
        np.stack(codes, axis=1) if codes else np.zeros((rows, 0), np.int64),
    )


def transport(
    first: tuple[AnyArray, AnyArray], second: tuple[AnyArray, AnyArray], cost: Cost = "sqeuclidean"
) -> float:
    """Least mean cost of turning records into as many others; both as `coded` gives them.

    Examples
    --------
    >>> some, others = (np.array([v]).T for v in ([0, 0.5, 1], [0.1, 0.5, 0.7]))
    >>> none = np.zeros((3, 0))
    >>> [round(transport((some, none), (others, none), cost), 7) for cost in ("sqeuclidean", "euclidean")]
    [0.0333333, 0.1333333]
    """
    one_of("cost", cost, ("sqeuclidean", "euclidean"))
    costs = np.zeros((len(first[0]), len(second[0])))
    for x, y in zip(first[0].T, second[0].T, strict=True):
        costs += (x[:, None] - y[None, :]) ** 2
    for x, y in zip(first[1].T, second[1].T, strict=True):
        costs += 2.0 * (x[:, None] != y[None, :])
    if cost == "euclidean":
        np.sqrt(costs, out=costs)
    rows, columns = linear_sum_assignment(costs)
    return float(costs[rows, columns].mean())


def transport_figures(
    pair: Pair,
    columns: Sequence[str] | None = None,
    *,
    cost: Cost = "sqeuclidean",
    most: int = MOST,
    repeats: int = 3,
    seed: Seed = 0,
) -> dict[str, AnyArray]:
    """Distances of the protected file, the original drawn again, and the holdout from the original, at equal sizes.

    Of files that are larger than ``most`` rows, or larger than the other, so many rows are drawn, ``repeats`` times.

    Examples
    --------
    >>> data = {"x": [0.0, 0.5, 1.0]}
    >>> {what: float(found.mean()) for what, found in transport_figures(Pair(data, data)).items()}["protected"]
    0.0
    """
    used = list(columns) if columns is not None else pair.columns
    files = {"original": pair.original, "protected": pair.protected}
    if pair.holdout is not None:
        files["holdout"] = pair.holdout
    size = min(most, *(table.rows for table in files.values()))
    held = {what: coded(pair, table, used) for what, table in files.items()}
    found: dict[str, list[float]] = {}
    for turn in range(1 if all(table.rows == size for table in files.values()) else repeats):
        drawn = {what: _some(points, size, seed, what, turn) for what, points in held.items()}
        rng = generator(seed, "drawn again", turn)
        again = rng.integers(0, len(held["original"][0]), size)
        drawn["original drawn again"] = (held["original"][0][again], held["original"][1][again])
        first = drawn.pop("original")
        for what, second in drawn.items():
            found.setdefault(what, []).append(transport(first, second, cost))
    return {what: np.array(values) for what, values in found.items()}


def _some(
    points: tuple[AnyArray, AnyArray], size: int, seed: Seed, what: str, turn: int
) -> tuple[AnyArray, AnyArray]:
    if len(points[0]) == size:
        return points
    rows = np.sort(generator(seed, what, turn).permutation(len(points[0]))[:size])
    return points[0][rows], points[1][rows]


@measure(
    name="joint-wasserstein",
    title="Transport of whole records (Wasserstein)",
    family="utility",
    meaning="How far records must be moved on average to turn the original into the protected file, columns scaled to "
    "1: 0 is a copy; good is what as many people outside the data would give, not less.",
    better="lower",
    bounds=(0, float("inf")),
    reference="Miletic and Sariyar 2024; Kantorovich 1942",
    default=False,
    sees_dependence=False,
    random=True,
)
def joint_wasserstein(
    pair: Pair,
    columns: Sequence[str] | None = None,
    cost: Cost = "sqeuclidean",
    most: int = MOST,
    repeats: int = 3,
    seed: Seed = 0,
) -> Result:
    """Optimal transport between the joint distributions, beside its floors at the same number of records.

    It hardly sees lost dependence on small files, so that it must not rank methods by itself.

    Examples
    --------
    >>> data = {"x": [0.0, 0.5, 1.0]}
    >>> round(joint_wasserstein(Pair(data, {"x": [0.1, 0.5, 0.7]})).value, 7)
    0.0333333
    """
    found = transport_figures(pair, columns, cost=cost, most=most, repeats=repeats, seed=seed)
    value = float(found["protected"].mean())
    floors = {what: float(values.mean()) for what, values in found.items() if what != "protected"}
    size = min(most, pair.original.rows, pair.protected.rows)
    text = f"Records must be moved by {figure(value)} on average to turn one file into the other"
    if "holdout" in floors:
        text += f"; as many people outside the data are {figure(floors['holdout'])} away"
    text += "."
    if value < COPYING * floors.get("holdout", 0.0):
        text += " Nearer than people outside the data means that the file repeats the original, not that it is better."
    return Result(
        name="joint-wasserstein",
        value=value,
        sentence=text,
        yardsticks=floors,
        values={"records": float(size), "spread": float(found["protected"].std())},
    )
