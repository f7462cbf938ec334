"""Questions with categories taken together: which to try, and what the merged table shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dalenius.outputs.judge import Judged
from dalenius.outputs.query import Dimension, Floats, Query


def shares(query: Query, counts: Floats, over: Sequence[int]) -> Floats:
    """Counts as shares that add up to 1 over some dimensions."""
    grid = counts.reshape(query.shape)
    return _ratio(grid, np.broadcast_to(grid.sum(axis=tuple(over), keepdims=True), grid.shape)).ravel()


def _ratio(above: Floats, below: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(below > 0, above / below, np.nan)


MERGED: Mapping[str, Callable[[Any], Floats]] = {
    "count": lambda e: e.figures["rows"], "size": lambda e: e.figures["rows"], "sum": lambda e: e.figures["sum"],
    "mean": lambda e: _ratio(e.figures["sum"], e.figures["rows"]),
    "min": lambda e: e.figures["low"], "max": lambda e: e.figures["high"],
}  # fmt: skip


def marks_left(judged: Judged) -> int:
    """Marks in the way of a pass."""
    return sum(int(f.flagged.sum()) for f in judged.findings if f.verdict == "fail")


def merges(query: Query, judged: Judged, axis: int) -> list[Query]:
    """Questions with two categories of one dimension taken together: those with most marks first."""
    d = query.dimensions[axis]
    if len(d.labels) < 2:
        return []
    size = len(judged.evidence.cells)
    marks = np.zeros(size, np.bool_)
    for each in judged.findings:
        if each.verdict == "fail" and len(each.flagged) == size:
            marks |= each.flagged
    grid = marks[: query.cells].reshape(query.shape)
    other = tuple(i for i in range(grid.ndim) if i != axis)
    bad = grid.sum(axis=other)
    held = judged.evidence.grid().sum(axis=other)
    first = int(np.lexsort((held, -bad))[0])
    if d.ordered:
        near = [i for i in (first - 1, first + 1) if 0 <= i < len(d.labels)]
    else:
        near = [int(i) for i in np.argsort(held, kind="stable") if i != first][:1]
    return [_together(query, axis, first, second) for second in near]


def _together(query: Query, axis: int, first: int, second: int) -> Query:
    d = query.dimensions[axis]
    a, b = sorted((first, second))
    places = np.arange(len(d.labels) + 1, dtype=np.int64)
    places[b] = a
    places[b + 1 :] -= 1
    places[-1] = -1
    labels = list(d.labels)
    labels[a] = _joined(labels[a], labels[b])
    del labels[b]
    dims = list(query.dimensions)
    dims[axis] = Dimension(d.name, places[d.codes].astype(np.int32), tuple(labels), d.ordered)
    return replace(query, dimensions=tuple(dims), structural=frozenset())


def _joined(first: Any, second: Any) -> str:
    one, two = str(first), str(second)
    if "–" in one and "–" in two:
        return f"{one.partition('–')[0]}–{two.rpartition('–')[2]}"
    return f"{one} + {two}"
