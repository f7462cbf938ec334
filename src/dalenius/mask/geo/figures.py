"""How well moved points are hidden, and what is left of their pattern (Cremer, Jehmlich and Lenz 2024)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import polars as pl
from scipy.spatial import ConvexHull, QhullError, cKDTree

from dalenius.core.errors import DataError, OptionError
from dalenius.core.intervals import wilson
from dalenius.core.later import stats
from dalenius.core.result import WHOLE, Result, figure
from dalenius.data.vector import IntArray
from dalenius.mask.geo.earth import Unit, apart, in_metres
from dalenius.mask.neighbours import Floats

CLOSE = 1 + 1e-12
CRITICAL = 3
"""An intruder may be in the data himself, so two are one too few."""
TOLERABLE = 10.0
"""Per cent of critical points that the authors call tolerable in files for science."""


def spatial_k(
    original: Floats, masked: Floats, cells: IntArray | None = None, unit: Unit = "metres"
) -> IntArray:
    """For each point how many masked points are as near to its true place as its own, among those in the same cell.

    Parameters
    ----------
    cells
        What an intruder knows beside the address, as codes.

    Examples
    --------
    >>> old = np.array([[0.0, 0], [10, 0], [0, 10], [20, 20], [5, 5]])
    >>> new = np.array([[3.0, 4], [10, 6], [0, 14], [20, 14], [5, -1]])
    >>> spatial_k(old, new).tolist(), spatial_k(old, new, np.array([0, 1, 0, 1, 0])).tolist()
    ([1, 2, 1, 1, 3], [1, 1, 1, 1, 2])
    """
    if original.shape != masked.shape or not np.isfinite(original).all() or not np.isfinite(masked).all():
        raise DataError(
            "points are missing, or the files have different rows; give every row a point in both"
        )
    old, new = in_metres(original, unit), in_metres(masked, unit)
    radius = np.linalg.norm(old - new, axis=1) * CLOSE + 1e-9
    found = np.ones(len(old), np.int64)
    groups = np.zeros(len(old), np.int64) if cells is None else cells
    order = np.argsort(groups, kind="stable")
    for part in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):  # cells, not rows
        if len(part) > 1:
            tree = cKDTree(new[part])
            found[part] = tree.query_ball_point(old[part], radius[part], return_length=True)
    return found


def address_k(original: Floats, masked: Floats, addresses: Floats, unit: Unit = "metres") -> IntArray:
    """For each masked point the addresses as near to it as the true one, and one more (as MaskMyPy counts).

    Examples
    --------
    >>> address_k(np.array([[0.0, 0]]), np.array([[5.0, 0]]), np.array([[6.0, 0], [50.0, 0]])).tolist()
    [2]
    """
    radius = apart(original, masked, unit) * CLOSE + 1e-9
    tree = cKDTree(in_metres(addresses, unit))
    return np.asarray(tree.query_ball_point(in_metres(masked, unit), radius, return_length=True)) + 1


def k_report(k: IntArray, critical: int = CRITICAL, tolerable: float = TOLERABLE) -> Result:
    """The share of points with fewer than ``critical`` that could be they, with quartiles and the nearest-point attack.

    Examples
    --------
    >>> k_report(np.array([1, 2, 3, 10])).value
    50.0
    """
    if not len(k):
        raise DataError("no points; there is nothing to count")
    below = int(np.count_nonzero(k < critical))
    share = 100 * below / len(k)
    quartiles = np.percentile(k, [25, 50, 75])
    values = {
        "mean": float(k.mean()), "median": float(quartiles[1]), "lower quartile": float(quartiles[0]),
        "upper quartile": float(quartiles[2]), "found at once in %": 100 * float(np.mean(k == 1)),
        "smallest": float(k.min()), "largest": float(k.max()), "tolerable": float(share <= tolerable),
    }  # fmt: skip
    return Result(
        "spatial-k",
        share,
        f"For {figure(share, '%')} of the points fewer than {critical} masked points are as near to the true place as "
        f"their own; on average {figure(values['mean'])} are. Up to {tolerable:g} % is called tolerable in files for "
        "science.",
        unit="%",
        values=values,
        interval=wilson(float(below), len(k), scale=100.0),
        counts=WHOLE,
    )


def smallest_rectangle(points: Floats) -> float:
    """Area of the smallest rectangle, turned as it may be, that holds all points.

    Examples
    --------
    >>> round(smallest_rectangle(np.array([[0.0, 1], [1, 0], [2, 1], [1, 2]])), 6)
    2.0
    """
    try:
        corners = points[ConvexHull(points).vertices]
    except (QhullError, ValueError):
        return 0.0
    edges = np.diff(np.vstack([corners, corners[:1]]), axis=0)
    angles = np.arctan2(edges[:, 1], edges[:, 0])
    turned = [corners @ np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]) for a in angles]
    return float(min(np.prod(np.ptp(each, axis=0)) for each in turned))


def average_nearest_neighbour(points: Floats, area: float | None = None) -> dict[str, float]:
    """Mean distance to the nearest other point beside that of points spread at random (Clark and Evans 1954).

    Points are metres; ``area`` is that of the smallest rectangle around them by default. A ratio below 1 is clustered.

    Examples
    --------
    >>> grid = np.array([[x, y] for x in range(4) for y in range(4)], float)
    >>> found = average_nearest_neighbour(grid, 9)
    >>> round(found["ratio"], 4), round(found["z"], 4)
    (2.6667, 12.7538)
    """
    n = len(points)
    size = smallest_rectangle(points) if area is None else float(area)
    if n < 2 or size <= 0:
        raise DataError("the nearest neighbour needs two points or more, and an area above 0")
    observed = float(cKDTree(points).query(points, 2)[0][:, 1].mean())
    expected = 0.5 * np.sqrt(size / n)
    z = (observed - expected) / (0.26136 / np.sqrt(n**2 / size))
    return {
        "observed": observed, "expected": float(expected), "ratio": float(observed / expected), "z": float(z),
        "p": float(2 * stats.norm.sf(abs(z))), "area": size,
    }  # fmt: skip


def zone_proportions(
    original: Floats,
    masked: Floats,
    outcome: Sequence[bool] | IntArray,
    zone_of: Callable[[Floats], IntArray],
) -> Result:
    """Share of cases in each zone before and after the move, where zones are told by the place.

    Examples
    --------
    >>> old, new = np.array([[0.0, 0], [9, 0], [9, 1]]), np.array([[1.0, 0], [8, 0], [2, 0]])
    >>> zone_proportions(old, new, [True, False, True], lambda p: (p[:, 0] > 5).astype(int)).value
    0.25
    """
    cases = np.asarray(outcome, float)
    zones = [np.asarray(zone_of(points)) for points in (original, masked)]
    names = np.union1d(*zones)
    rows = []
    for name in names.tolist():
        before, after = (cases[zone == name] for zone in zones)
        rows.append((name, *(float(x.mean()) if len(x) else float("nan") for x in (before, after))))
    frame = pl.DataFrame(rows, schema=["zone", "before", "after"], orient="row")
    frame = frame.with_columns(difference=pl.col("after") - pl.col("before"))
    both = frame.drop_nans()
    off = float(np.abs(both["difference"].to_numpy()).mean()) if len(both) else float("nan")
    kept = float(stats.spearmanr(both["before"], both["after"]).statistic) if len(both) > 2 else float("nan")
    return Result(
        "zone-proportions",
        off,
        f"Shares by zone are off by {figure(off)} on average; the order of zones is kept by {figure(kept)} (Spearman).",
        table=frame,
        values={"order kept": kept},
        counts=WHOLE,
    )


def repeated_release(original: Floats, releases: Sequence[Floats], unit: Unit = "metres") -> Result:
    """How far the mean of several masks of the same points is from the truth: what an intruder with all of them gains.

    Examples
    --------
    >>> from dalenius.mask.geo.donut import donut
    >>> old = np.zeros((500, 2))
    >>> many = [donut(old, 100, 200, seed=s) for s in range(25)]
    >>> bool(repeated_release(old, many).value < 40)
    True
    """
    if not releases:
        raise OptionError("no releases; give the masked points of each")
    one = float(np.sqrt(np.mean(apart(original, releases[0], unit) ** 2)))
    error = float(np.sqrt(np.mean(apart(original, np.mean(releases, axis=0), unit) ** 2)))
    return Result(
        "repeated-release",
        error,
        f"The mean of {len(releases)} releases is {figure(error)} m from the true points; one release is "
        f"{figure(one)} m away.",
        unit="m",
        yardsticks={"one release": one},
    )


def adaptive_radii(
    points: Floats, cells: IntArray | None = None, k: float = 5, ratio: float = 1.5, cap: float = 2000.0,
    floor: float = 0.0, unit: Unit = "metres", neighbours: int = 10,
) -> tuple[Floats, Floats]:  # fmt: skip
    """Radii for each point within which k others of its cell are expected, by the density around it.

    Density is that of the ``neighbours`` nearest points of the cell; radii are kept between ``floor`` and ``cap``.

    Examples
    --------
    >>> near, far = adaptive_radii(np.random.default_rng(1).random((2000, 2)) * 1000, k=5)
    >>> bool(20 < np.median(near) < 40), bool(np.allclose(far, 1.5 * near))
    (True, True)
    """
    place = in_metres(points, unit)
    near = np.full(len(points), cap)
    groups = np.zeros(len(points), np.int64) if cells is None else cells
    order = np.argsort(groups, kind="stable")
    for part in np.split(order, np.flatnonzero(np.diff(groups[order])) + 1):
        most = min(neighbours, len(part) - 1)
        if most >= 1:
            reach = cKDTree(place[part]).query(place[part], most + 1)[0][:, -1]
            near[part] = reach * np.sqrt(k / most)
    near = np.clip(near, floor, cap)
    return near, np.minimum(ratio * near, ratio * cap)
