"""Cell keys: many small codes as one number, or a few numbers when one is too small.

A key is a number in mixed radix: each column is a digit, the first column the most significant. When a table
has 2**63 cells or more, its columns are cut into contiguous runs and a key is one 64-bit word per run.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dalenius.counts import _kernels
from dalenius.data.vector import AnyArray, IntArray

WORD = 2**63
"""Keys of one word are below this."""
BLOCK = 1 << 17
"""Rows handled at a time, so that keys in the making stay in the cache."""


def runs(sizes: Sequence[int]) -> list[tuple[int, int]]:
    """Cut columns into contiguous runs whose keys fit in one word each.

    Examples
    --------
    >>> runs([10, 20])
    [(0, 2)]
    >>> runs([2**40, 2**20, 2**10])
    [(0, 2), (2, 3)]
    """
    cuts, product = [0], 1
    for i, size in enumerate(sizes):
        if product * max(size, 1) >= WORD:
            cuts.append(i)
            product = 1
        product *= max(size, 1)
    return list(zip(cuts, [*cuts[1:], len(sizes)], strict=True))


def word_sizes(sizes: Sequence[int]) -> list[int]:
    """Count the values each word can take."""
    return [product(sizes[start:stop]) for start, stop in runs(sizes)]


def product(sizes: Sequence[int]) -> int:
    """Count the cells of a table, where a column without levels still takes one digit.

    Examples
    --------
    >>> product([3, 0, 2])
    6
    """
    result = 1
    for size in sizes:
        result *= max(size, 1)
    return result


def ravel(codes: Sequence[IntArray], sizes: Sequence[int], rows: int) -> IntArray:
    """Keys of rows: one word each, or several columns of words.

    Examples
    --------
    >>> ravel([np.array([0, 1]), np.array([2, 0])], [2, 3], 2).tolist()
    [2, 3]
    """
    spans = runs(sizes)
    words = np.zeros((len(spans), rows), dtype=np.int64)
    for word, (first, last) in zip(words, spans, strict=True):
        for begin in range(0, rows, BLOCK):
            fill(word[begin : begin + BLOCK], codes[first:last], sizes[first:last], begin)
    return words[0] if len(spans) == 1 else np.ascontiguousarray(words.T)


def fill(keys: IntArray, codes: Sequence[IntArray], sizes: Sequence[int], begin: int) -> None:
    """Keys of the rows from ``begin`` on, into ``keys``."""
    end = begin + len(keys)
    for i, (column, size) in enumerate(zip(codes, sizes, strict=True)):
        # a copy where need be: kernels are compiled for arrays that are contiguous and can be written to
        block = np.require(column[begin:end], requirements=("C", "W"))
        if i == 0:
            _kernels.start_keys(keys, block)
        else:
            _kernels.extend_keys(keys, block, size)


def unravel(keys: IntArray, sizes: Sequence[int], column: int) -> IntArray:
    """Codes of one column out of the keys.

    Examples
    --------
    >>> unravel(np.array([2, 3]), [2, 3], 1).tolist()
    [2, 0]
    """
    spans = runs(sizes)
    which = next(i for i, (first, last) in enumerate(spans) if first <= column < last)
    first, last = spans[which]
    word = keys if keys.ndim == 1 else keys[:, which]
    stride = product(sizes[column + 1 : last])
    above = word if stride == 1 else word // stride
    codes: IntArray = above if column == first else above % max(sizes[column], 1)
    return codes


def distinct(keys: IntArray, sizes: Sequence[int]) -> tuple[IntArray, IntArray]:
    """Sorted distinct keys, and for each key its position among them.

    Examples
    --------
    >>> values, ids = distinct(np.array([7, 2, 7]), [10])
    >>> values.tolist(), ids.tolist()
    ([2, 7], [1, 0, 1])
    """
    rows = len(keys)
    if keys.ndim == 1 and is_dense(product(sizes), rows):
        cells = np.zeros(product(sizes), dtype=np.int64)
        _kernels.tally(keys, cells)
        values = _kernels.occupied(cells)
        _kernels.rank_cells(cells)
        return values, cells[keys]
    words = [keys] if keys.ndim == 1 else [np.ascontiguousarray(keys[:, i]) for i in range(keys.shape[1])]
    ids, groups, order = np.zeros(rows, dtype=np.int64), 1, np.arange(rows, dtype=np.int64)
    new = np.zeros(rows, dtype=bool)
    new[:1] = True
    # Word by word the groups so far are refined; often a few words tell all rows apart.
    for word, size in zip(words, word_sizes(sizes), strict=True):
        if groups == rows:
            break
        order = _kernels.sort_step(word, np.arange(rows, dtype=np.int64), (size - 1).bit_length())
        order = _kernels.sort_step(ids, order, (groups - 1).bit_length())
        new[:] = False
        new[:1] = True
        _kernels.mark_new(ids, order, new)
        _kernels.mark_new(word, order, new)
        groups = _kernels.spread_ids(order, new, ids)
    return keys[order[new]], ids


def is_dense(cells: int, rows: int) -> bool:
    """Whether a full array of cells is cheaper than sorting the rows."""
    return cells <= max(4 * rows, 1 << 12)


def add_up(ids: IntArray, groups: int, weights: AnyArray) -> AnyArray:
    """Sum of the weights of each group: whole numbers stay whole."""
    sums = np.zeros(groups, dtype=np.float64 if weights.dtype.kind == "f" else np.int64)
    _kernels.add_by_id(ids, weights, sums)
    return sums
