"""Which record holds values of a person that nobody else in the data shares with him, found by lists of values.

Records are looked up by a query's values, the rarest first. Records that lack all values looked up so far can share
no more than what the other ones weigh, so that the lists of common values are hardly ever opened (the rule MaxScore of
text search: Turtle and Flood 1995).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from dalenius.core.kernels import njit

GLANCE = 4096
"""Records looked at before a person's own file is searched to the end: most have a fellow as near as that."""


@njit(cache=True)
def lists(codes: Any, sizes: Any) -> Any:
    """Rows by the value they have in each column, and where the list of each value begins."""
    rows, columns = codes.shape
    held = np.empty((columns, rows), np.int32)
    starts = np.zeros(sizes.sum() + 1, np.int64)
    first = 0
    for j in range(columns):
        for i in range(rows):
            starts[first + codes[i, j] + 1] += 1
        for v in range(sizes[j]):
            starts[first + v + 1] += starts[first + v]
        place = starts[first : first + sizes[j]].copy()
        for i in range(rows):
            held[j, place[codes[i, j]] - j * rows] = i
            place[codes[i, j]] += 1
        first += sizes[j]
    return held.reshape(columns * rows), starts


@njit(cache=True)
def _most_shared(
    query: Any, weight: Any, order: Any, offset: Any, codes: Any, held: Any, starts: Any, owners: Any, own: int,
    floor: float, most: int,
) -> Any:  # fmt: skip
    """What the best record shares with a query beyond a floor, and which it is (-1: none); most: records looked at."""
    best, which, left, seen = floor, -1, 0.0, 0
    for j in order:
        left += weight[j]
    for a in range(len(order)):
        if left <= best:
            break
        j = order[a]
        left -= weight[j]
        value = offset[j] + query[j]
        for at in range(starts[value], starts[value + 1]):
            row = held[at]
            if own >= 0 and owners[row] == own:
                continue
            seen += 1
            if seen > most:
                return best, which
            shared, rest = weight[j], left
            for b in range(a + 1, len(order)):
                if shared + rest <= best:
                    break
                c = order[b]
                rest -= weight[c]
                if codes[row, c] == query[c]:
                    shared += weight[c]
            if shared > best:
                best, which = shared, row
    return best, which


@njit(cache=True, parallel=True)
def copied_in_part(
    queries: Any, weights: Any, owners: Any, own: Any, margin: float, offset: Any,
    original: Any, held: Any, starts: Any, protected: Any, made: Any, begins: Any,
) -> Any:  # fmt: skip
    """The record that shares more with each query than any original of another owner, by a margin; -1: none does."""
    n, most = len(queries), (len(original) + len(protected)) * queries.shape[1]
    result = np.full(n, -1, np.int64)
    for place in prange(n):
        q = np.int64(place)
        order = np.argsort(-weights[q])
        floor, _ = _most_shared(
            queries[q], weights[q], order, offset, original, held, starts, owners, own[q], 0.0, GLANCE
        )
        shared, row = _most_shared(
            queries[q], weights[q], order, offset, protected, made, begins, owners, -1, floor + margin, most
        )
        if row < 0:
            continue
        _, fellow = _most_shared(
            queries[q], weights[q], order, offset, original, held, starts, owners, own[q],
            shared - margin - 1e-9, most,
        )  # fmt: skip
        if fellow < 0:
            result[q] = row
    return result


@njit(cache=True, parallel=True)
def own_rows(
    queries: Any, weights: Any, part: float, margin: float, offset: Any, original: Any, held: Any, starts: Any
) -> Any:
    """The original that shares this part of all that a query weighs, and a margin more than any other; -1: none."""
    n, all_rows = len(queries), np.arange(len(original))
    result = np.full(n, -1, np.int64)
    for place in prange(n):
        q = np.int64(place)
        order = np.argsort(-weights[q])
        shared, row = _most_shared(
            queries[q], weights[q], order, offset, original, held, starts, all_rows, -1,
            part * weights[q].sum(), len(original) * len(order),
        )  # fmt: skip
        if row < 0:
            continue
        _, other = _most_shared(
            queries[q], weights[q], order, offset, original, held, starts, all_rows, row,
            shared - margin - 1e-9, len(original) * len(order),
        )  # fmt: skip
        if other < 0:
            result[q] = row
    return result
