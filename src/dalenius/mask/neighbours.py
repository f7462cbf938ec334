"""Rows as points with a distance between them, and the tree that finds near and far ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from dalenius.data.vector import BoolArray, IntArray
from dalenius.mask._kernels.tree import Tree, nearest_points, plant

Floats = npt.NDArray[np.float64]
Distance = Literal["standard", "raw", "robust", "gower"]


@dataclass(frozen=True, eq=False, repr=False)
class Points:
    """Rows as points: numbers scaled, codes for nominal columns, and whether differences are squared.

    Examples
    --------
    >>> spread(np.array([[1.0], [3.0]]), "raw").values.tolist()
    [[1.0], [3.0]]
    """

    values: Floats
    nominal: BoolArray
    power: int

    def some(self, rows: IntArray | BoolArray) -> Points:
        """Some of the rows."""
        return Points(np.ascontiguousarray(self.values[rows]), self.nominal, self.power)

    def tree(self) -> Tree:
        """The tree over all rows; equal rows are one point of it."""
        rows = np.lexsort(self.values.T[::-1])
        sorted_values = self.values[rows]
        new = np.ones(len(rows), bool)
        new[1:] = (sorted_values[1:] != sorted_values[:-1]).any(axis=1)
        starts = np.append(np.flatnonzero(new), len(rows))
        return plant(np.ascontiguousarray(sorted_values[new]), self.nominal, self.power, rows, starts)

    def nearest_to(self, places: Floats) -> IntArray:
        """For each place the nearest row, the first one of several.

        Examples
        --------
        >>> spread(np.array([[1.0], [3.0]]), "raw").nearest_to(np.array([[2.9], [2.0]])).tolist()
        [1, 0]
        """
        found = np.zeros(len(places), np.int64)
        if len(places):
            nearest_points(self.tree(), np.ascontiguousarray(places), found)
        return found


def spread(
    values: Floats,
    distance: Distance = "standard",
    nominal: BoolArray | None = None,
    complete: BoolArray | None = None,
) -> Points:
    """Points whose distances are meant: in standard deviations, as they are, robust, or by Gower.

    Parameters
    ----------
    distance
        "standard" divides by the standard deviation. "robust" turns and scales by a covariance of the denser half of
        the rows (minimum covariance determinant), so that distances are those of Mahalanobis and outliers do not set
        the scale. "gower" divides by the range and adds up absolute differences; a nominal column adds 1 where it
        differs.
    complete
        Rows that say how wide the columns are; all by default.

    Examples
    --------
    >>> spread(np.array([[0.0, 1.0], [10.0, 2.0]]), "gower", np.array([False, True])).values.tolist()
    [[0.0, 1.0], [1.0, 2.0]]
    """
    codes = np.zeros(values.shape[1], bool) if nominal is None else nominal
    known = values if complete is None else values[complete]
    if distance == "robust":
        return Points(_whitened(values, known), codes, 2)
    if distance == "raw" or not len(known):
        return Points(values.copy(), codes, 2)
    middle = np.where(codes, 0.0, known.min(axis=0) if distance == "gower" else known.mean(axis=0))
    if distance == "gower":
        width = known.max(axis=0) - known.min(axis=0)
    else:
        width = known.std(axis=0, ddof=1) if len(known) > 1 else np.ones(values.shape[1])
    width = np.where(codes | (width <= 0), 1.0, width)
    return Points((values - middle) / width, codes, 1 if distance == "gower" else 2)


def _whitened(values: Floats, known: Floats) -> Floats:
    """Coordinates in which the robust covariance is that of a ball; directions without spread are left out."""
    from sklearn.covariance import MinCovDet  # noqa: PLC0415 (loading it takes a second)

    middle = np.median(known, axis=0)
    width = known.std(axis=0)
    scaled = (known - middle) / np.where(width > 0, width, 1.0)
    fitted = MinCovDet(random_state=0).fit(scaled)
    sizes, turns = np.linalg.eigh(fitted.covariance_)
    wide = sizes > 1e-10 * max(float(sizes.max()), 1e-300)
    moved = (values - middle) / np.where(width > 0, width, 1.0) - fitted.location_
    turned: Floats = np.ascontiguousarray(moved @ turns[:, wide] / np.sqrt(sizes[wide]))
    return turned
