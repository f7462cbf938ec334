"""Groups of at least k similar rows, for microaggregation."""

from __future__ import annotations

from typing import Literal

import numpy as np

from dalenius.core.errors import DataError
from dalenius.core.random import Seed, sequence
from dalenius.data.vector import IntArray
from dalenius.mask._kernels import groups as kernels
from dalenius.mask.neighbours import Floats, Points

Way = Literal["mdav", "varying", "pca", "clusters", "sorted"]
GAIN = 0.2
"""How near a row must lie to join a group of varying size, in distances to its nearest other neighbour."""


def mdav(points: Points, k: int, weights: Floats | None = None) -> IntArray:
    """Maximum distance to average vector: groups of k rows from the outside inwards (Domingo-Ferrer and Torra 2005).

    The farthest row from the centre and its k - 1 nearest are a group, then the row farthest from that one and its
    nearest; from 3k - 1 rows on only the first; fewer than 2k are the last group. Ties go to the lowest row. The tree
    finds near and far rows among those left, so that the time grows little faster than the number of rows.

    Examples
    --------
    >>> from dalenius.mask.neighbours import spread
    >>> mdav(spread(np.array([1.0, 2, 3, 10, 11, 12, 20, 21, 22])[:, None], "raw"), 3).tolist()
    [1, 1, 1, 2, 2, 2, 0, 0, 0]
    """
    labels = np.full(len(points.values), -1, np.int64)
    levels = [int(points.values[:, j].max(initial=-1)) + 1 if c else 0 for j, c in enumerate(points.nominal)]
    offsets = np.concatenate([[0], np.cumsum(levels)]).astype(np.int64)
    if len(labels):
        kernels.mdav(points.tree(), k, _weights(weights, len(labels)), offsets, labels)
    return labels


def varying(points: Points, k: int, gain: float = GAIN) -> IntArray:
    """Groups of k to 2k - 1 rows that follow clusters in the data (Solanas and Martínez-Ballesté 2006).

    Rows left over at the end, fewer than k, go where the nearest row went.

    Examples
    --------
    >>> from dalenius.mask.neighbours import spread
    >>> varying(spread(np.array([1.0, 2, 3, 3.1, 20, 21, 22])[:, None], "raw"), 3, gain=0.9).tolist()
    [1, 1, 1, 1, 0, 0, 0]
    """
    rows = len(points.values)
    labels = np.full(rows, -1, np.int64)
    tree = points.tree()
    centre = points.values.mean(axis=0)
    far = np.abs(tree.points - centre) ** points.power
    kernels.varying(tree, k, gain, np.argsort(-far.sum(axis=1), kind="stable"), labels)
    rest = np.flatnonzero(labels < 0)
    if len(rest):
        grouped = np.flatnonzero(labels >= 0)
        labels[rest] = labels[grouped[points.some(grouped).nearest_to(points.values[rest])]]
    return labels


def cut(order: IntArray, k: int) -> IntArray:
    """Every k rows in an order are a group; the last one takes the remainder.

    Examples
    --------
    >>> cut(np.array([3, 1, 0, 2, 4]), 2).tolist()
    [1, 0, 1, 0, 1]
    """
    labels = np.empty(len(order), np.int64)
    labels[order] = np.minimum(np.arange(len(order)) // k, max(len(order) // k, 1) - 1)
    return labels


def along_component(values: Floats, k: int) -> IntArray:
    """Rows sorted along the first principal component and cut.

    Examples
    --------
    >>> along_component(np.array([[0.0, 0], [9, 9], [1, 1], [8, 8]]), 2).tolist()
    [0, 1, 0, 1]
    """
    centred = values - values.mean(axis=0)
    direction = np.linalg.svd(centred.T @ centred)[0][:, 0]
    direction = direction * (1.0 if direction[np.argmax(np.abs(direction))] > 0 else -1.0)
    return cut(np.argsort(centred @ direction, kind="stable"), k)


def in_clusters(values: Floats, k: int, seed: Seed, clusters: int | None = None) -> IntArray:
    """Clusters of rows (k-means) first, then each sorted along its own first component and cut.

    Examples
    --------
    >>> found = in_clusters(np.array([[0.0, 0], [9, 9], [1, 1], [8, 8]]), 2, 1, clusters=2)
    >>> bool(found[0] == found[2] and found[1] == found[3] and found[0] != found[1])
    True
    """
    from sklearn.cluster import KMeans  # noqa: PLC0415 (loading it takes a second)

    rows = len(values)
    count = max(1, min(int(np.sqrt(rows / (2 * k))), 50) if clusters is None else min(clusters, rows // k))
    state = int(sequence(seed, "clusters").generate_state(1)[0])
    fitted = KMeans(count, n_init=1, random_state=state).fit(values)
    member = np.asarray(fitted.labels_, np.int64)
    sizes = np.bincount(member, minlength=count)
    while (sizes[sizes > 0] < k).any():  # too small a cluster goes to the nearest one
        small = int(np.argmin(np.where(sizes > 0, sizes, rows + 1)))
        gaps = ((fitted.cluster_centers_ - fitted.cluster_centers_[small]) ** 2).sum(axis=1)
        gaps[(sizes == 0) | (np.arange(count) == small)] = np.inf
        member[member == small] = int(np.argmin(gaps))
        sizes = np.bincount(member, minlength=count)
    labels, base = np.empty(rows, np.int64), 0
    for cluster in np.flatnonzero(sizes):
        here = np.flatnonzero(member == cluster)
        labels[here] = base + along_component(values[here], k)
        base = int(labels[here].max()) + 1
    return labels


def best_of_one(values: Floats, k: int, weights: Floats | None = None) -> IntArray:
    """Groups of one column with the least squared loss of all (Hansen and Mukherjee 2003).

    Examples
    --------
    >>> best_of_one(np.array([1.0, 2, 2.5, 9, 9.5]), 2).tolist()
    [0, 0, 0, 1, 1]
    """
    order = np.argsort(values, kind="stable")
    labels = np.empty(len(values), np.int64)
    labels[order] = kernels.best_cuts(values[order], _weights(weights, len(values))[order], k)
    return labels


def grouped(points: Points, k: int, way: Way = "mdav", *, weights: Floats | None = None, gain: float = GAIN,
            seed: Seed = 0) -> IntArray:  # fmt: skip
    """Group of each row by one of the ways; every group has k rows or more.

    Examples
    --------
    >>> from dalenius.mask.neighbours import spread
    >>> np.bincount(grouped(spread(np.arange(10.0)[:, None]), 3)).tolist()
    [3, 3, 4]
    """
    if len(points.values) < k:
        raise DataError(f"{len(points.values)} rows cannot make a group of {k}; use a smaller k")
    if way == "mdav":
        return mdav(points, k, weights)
    if way == "varying":
        return varying(points, k, gain)
    if way == "pca":
        return along_component(points.values, k)
    if way == "clusters":
        return in_clusters(points.values, k, seed)
    return cut(np.argsort(points.values[:, 0], kind="stable"), k)


def _weights(weights: Floats | None, rows: int) -> Floats:
    return np.ones(rows) if weights is None else np.ascontiguousarray(weights, np.float64)
