"""`Space`: the records of all files of a pair as points with a mixed distance.

* ``gower``: mean over columns of |difference| / range for numbers and of 0 or 1 for categories (Gower 1971).
* ``heom``: the square root of the sum of their squares (Wilson and Martinez 1997).
* ``euclidean``: numbers as they are, categories 0 or 1, for agreement with papers that work so.
* ``equality``: share of the columns that differ, numbers too, however little.

An empty cell is as far from every value as a column can be, and equal to another empty cell. Columns can be weighted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from dalenius.core.errors import DataError, OptionError
from dalenius.core.kernels import threads_for
from dalenius.counts.pair import Pair
from dalenius.data.table import Table
from dalenius.data.vector import VALUE, AnyArray
from dalenius.risk.distance._kernels import neighbours as kernels
from dalenius.risk.distance.sketch import Sketch

Metric = Literal["gower", "heom", "euclidean", "equality"]
Progress = Callable[[int, int], None]
GAP = 10.0
"""Distance in code between ordinary values, which are cut to -4 … 5, and gaps, which are at 10, 20, …"""
CHUNK = 4096
TRIED = 200
"""Queries that are searched without a sketch, to see how fine it has to be."""


@dataclass(frozen=True, eq=False, repr=False)
class Points:
    """Records as numbers and codes."""

    num: AnyArray
    cat: AnyArray

    def __len__(self) -> int:
        return len(self.num)

    def take(self, rows: AnyArray) -> Points:
        """Return some of the records."""
        return Points(np.ascontiguousarray(self.num[rows]), np.ascontiguousarray(self.cat[rows]))

    def join(self, other: Points) -> Points:
        """Return these records and then the others."""
        return Points(np.concatenate([self.num, other.num]), np.concatenate([self.cat, other.cat]))


@dataclass(frozen=True, eq=False, repr=False)
class Space:
    """Points of the files of a pair, and how far apart they are.

    Examples
    --------
    >>> pair = Pair({"x": [0.0, 5.0, 10.0], "c": ["a", "b", "b"]}, {"x": [4.0, 10.0], "c": ["b", "a"]})
    >>> space = Space.of(pair)
    >>> space.nearest(space.protected, space.original).distance[:, 0].round(6).tolist()
    [0.05, 0.5]
    """

    columns: tuple[str, ...]
    original: Points
    protected: Points
    holdout: Points | None
    num_weights: AnyArray
    cat_weights: AnyArray
    cap: float
    euclid: bool

    @classmethod
    def of(
        cls,
        pair: Pair,
        columns: Sequence[str] | None = None,
        metric: Metric = "gower",
        weights: Mapping[str, float] | None = None,
    ) -> Space:
        """Place the records of a pair; default columns: all compared ones."""
        if metric not in get_args(Metric):
            raise OptionError(f"unknown metric {metric!r}; use one of {', '.join(get_args(Metric))}")
        used = list(columns) if columns is not None else pair.columns
        if not used:
            raise DataError("there is no column to measure distances on")
        weighted = {name: (weights or {}).get(name, 1.0) for name in used}
        numbers = [n for n in used if pair.original[n].is_number and metric != "equality"]
        others = sorted(
            (n for n in used if n not in set(numbers)), key=lambda n: -weighted[n] * _spread(pair, n)
        )
        scale = [_scale(pair.original, name) if metric != "euclidean" else (0.0, 0.5) for name in numbers]
        files = [pair.original, pair.protected, *([pair.holdout] if pair.holdout is not None else [])]
        if metric == "euclidean" and not all(
            np.isfinite(t[n].floats()).all() for t in files for n in numbers
        ):
            raise DataError(
                "raw distances need complete and finite numbers; use metric 'gower' or 'heom', which know gaps"
            )
        points = [
            Points(_numbers(t, numbers, scale, metric), _codes(pair, others, i)) for i, t in enumerate(files)
        ]
        summed = metric in ("gower", "equality")
        share = 1 / sum(weighted.values()) if summed else 1.0
        # squared weights for categories, because the kernel adds them as they are in the Euclidean metrics
        power = 1 if summed else 2
        return cls(
            (*numbers, *others),
            points[0],
            points[1],
            points[2] if len(points) > 2 else None,
            np.array([weighted[n] * share for n in numbers]),
            np.array([(weighted[n] * share) ** power for n in others]),
            np.inf if metric == "euclidean" else 1.0,
            not summed,
        )

    def nearest(
        self, queries: Points, among: Points, k: int = 1, *, leave_out_self: bool = False,
        progress: Progress | None = None,
    ) -> Neighbours:  # fmt: skip
        """Find the k nearest records of each query, exactly.

        Parameters
        ----------
        leave_out_self
            The queries are the records searched: a record is not its own neighbour.
        progress
            Called with (queries done, queries in all) after every few thousand.
        """
        if k < 1 or len(among) < k + leave_out_self:
            raise DataError(f"{k} neighbours cannot be found among {len(among)} records")
        return Index(self, among).search(queries, k, leave_out_self=leave_out_self, progress=progress)


@dataclass(frozen=True, eq=False, repr=False)
class Neighbours:
    """Distances and row numbers of the nearest records, nearest first."""

    distance: AnyArray
    row: AnyArray


class Index:
    """A tree over records that can be searched many times."""

    def __init__(self, space: Space, among: Points) -> None:
        self.space = space
        self.among = among
        self.tree = kernels.build(among.num, among.cat, space.num_weights, space.cat_weights, space.cap)
        order = self.tree[0]
        self.num = np.ascontiguousarray(among.num[order].T)
        self.cat = np.ascontiguousarray(among.cat[order].T)

    def search(
        self, queries: Points, k: int = 1, *, leave_out_self: bool = False, progress: Progress | None = None
    ) -> Neighbours:
        """Find the k nearest records; memory does not grow with the number of records searched."""
        total = len(queries)
        own = np.arange(total) if leave_out_self else np.full(total, -1)
        distance, row = np.empty((total, k)), np.empty((total, k), np.int64)
        sketch = self._sketch(queries, k, own)
        for start in range(0, total, CHUNK):
            some = slice(start, min(start + CHUNK, total))
            found = self._searched(Points(queries.num[some], queries.cat[some]), k, own[some], sketch)
            distance[some], row[some] = found.distance, found.row
            if progress is not None:
                progress(some.stop, total)
        return Neighbours(distance, row)

    def _searched(self, queries: Points, k: int, own: AnyArray, sketch: Sketch | None = None) -> Neighbours:
        space, num, cat = self.space, queries.num, queries.cat
        records = (num, cat, self.num, self.cat, space.num_weights, space.cat_weights, space.cap)
        with threads_for(len(queries) * len(self.among) * (num.shape[1] + cat.shape[1])):
            if sketch is None:
                which = kernels.search(*records, space.euclid, k, own, *self.tree)
            else:
                which = kernels.search_sketched(
                    *records, k, own, self.tree[0], *sketch.boxes, sketch.records, sketch.queries(cat, num),
                    sketch.cost, sketch.unit,
                )  # fmt: skip
            exact = kernels.distances(
                num, cat, self.among.num, self.among.cat, space.num_weights, space.cat_weights, space.cap,
                space.euclid, which,
            )  # fmt: skip
        order = np.argsort(exact, axis=1, kind="stable")
        return Neighbours(np.take_along_axis(exact, order, axis=1), np.take_along_axis(which, order, axis=1))

    def _sketch(self, queries: Points, k: int, own: AnyArray) -> Sketch | None:
        """Sketch the records as finely as is needed for these queries: some of them are searched without."""
        space, total = self.space, len(queries)
        weights = space.cat_weights, space.num_weights
        if space.euclid or total < 10 * TRIED or not any(w.any() for w in weights):
            return None
        tried = np.linspace(0, total - 1, TRIED).astype(np.int64)
        far = self._searched(queries.take(tried), k, own[tried]).distance[:, -1]
        order, first, _, child, *_ = self.tree
        starts = np.append(np.sort(first[child[:, 0] < 0]), len(order))
        records = self.among.cat[order], self.among.num[order]
        return Sketch.reaching(1.1 * float(far.max()), weights, GAP, records, starts)


def _spread(pair: Pair, name: str) -> float:
    """Chance that two records differ in a column: columns that tell most come first."""
    shares = np.bincount(pair.categories(name, grouped=False).original.codes) / pair.original.rows
    return float(1 - (shares**2).sum())


def _scale(table: Table, name: str) -> tuple[float, float]:
    """Half the smallest number and half the range, which itself may not fit in a number."""
    values = table[name].values.astype(np.float64) / 2
    values = values[np.isfinite(values)]
    if not len(values) or values.max() == values.min():
        return (float(values[0]) if len(values) else 0.0), 0.5
    return float(values.min()), float(values.max() - values.min())


def _numbers(
    table: Table, names: Sequence[str], scale: Sequence[tuple[float, float]], metric: Metric
) -> AnyArray:
    result = np.empty((table.rows, len(names)))
    for j, (name, (low, width)) in enumerate(zip(names, scale, strict=True)):
        vector = table[name]
        values = (vector.data.astype(np.float64) / 2 - low) / width
        if metric != "euclidean":
            values = np.nan_to_num(values, nan=GAP, posinf=5.0, neginf=-4.0)
            values = np.where(values == GAP, GAP, values.clip(-4.0, 5.0))
            if vector.state is not None:
                values = np.where(vector.state == VALUE, values, GAP * (1.0 + vector.state))
        result[:, j] = values
    return result


def _codes(pair: Pair, names: Sequence[str], which: int) -> AnyArray:
    rows = (pair.original, pair.protected, pair.holdout)[which]
    result = np.empty((rows.rows if rows is not None else 0, len(names)), np.int32)
    for j, name in enumerate(names):
        aligned = pair.categories(name, grouped=False)
        held: Any = (aligned.original, aligned.protected, aligned.holdout)[which]
        result[:, j] = held.codes
    return result
