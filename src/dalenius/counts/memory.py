"""Counting rows that are in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numba
import numpy as np

from dalenius.core.errors import DataError, OptionError, no_column
from dalenius.counts import _kernels
from dalenius.counts.counts import Counts
from dalenius.counts.keys import BLOCK, add_up, distinct, fill, is_dense, product, ravel
from dalenius.data.vector import AnyArray, Categories, IntArray

FEW_CELLS = 64
"""Up to here a row often falls into the same cell as the row before."""
WORTH_THREADS = 1 << 17
"""Rows times tables below this are counted before a second thread has woken up."""


def count_codes(
    columns: Sequence[str], categories: Sequence[Categories], weights: AnyArray | None = None
) -> Counts:
    """Contingency table of columns that are already codes.

    Examples
    --------
    >>> sex = Categories(np.array([0, 1, 0]), ("f", "m"))
    >>> count_codes(["sex"], [sex]).counts.tolist()
    [2, 1]
    """
    rows = _rows(columns, categories)
    return _count(columns, categories, check_weights(weights, rows))


def _count(columns: Sequence[str], categories: Sequence[Categories], weights: AnyArray | None) -> Counts:
    rows = _rows(columns, categories)
    codes = [each.codes for each in categories]
    sizes = [each.size for each in categories]
    keys, counts = tally(codes, sizes, rows, weights)
    return Counts(tuple(columns), tuple(each.labels for each in categories), keys, counts)


def count_codes_many(
    categories: Mapping[str, Categories], tables: Sequence[tuple[str, ...]], weights: AnyArray | None = None
) -> dict[tuple[str, ...], Counts]:
    """Count many contingency tables of the same rows; see `count_codes`.

    Each table is counted by one thread, so the result does not depend on how many there are.

    Examples
    --------
    >>> sex = Categories(np.array([0, 1, 0]), ("f", "m"))
    >>> adult = Categories(np.array([1, 1, 0]), (False, True))
    >>> tables = count_codes_many({"sex": sex, "adult": adult}, [("sex",), ("sex", "adult")])
    >>> tables["sex", "adult"].dense().tolist()
    [[1, 1], [0, 1]]
    """
    absent = [name for table in tables for name in table if name not in categories]
    if absent:
        raise DataError(no_column(absent, list(categories)))
    if not tables:
        return {}
    rows = len(next(iter(categories.values())).codes)
    checked = check_weights(weights, rows)

    def one(table: tuple[str, ...]) -> Counts:
        return _count(table, [categories[name] for name in table], checked)

    threads = min(thread_count(), len(tables)) if rows * len(tables) >= WORTH_THREADS else 1
    if threads == 1:
        return {table: one(table) for table in tables}
    # The longest first, so that no thread is left with a long one at the end.
    order = sorted(tables, key=lambda table: -product([categories[name].size for name in table]))
    with ThreadPoolExecutor(threads) as pool:
        done = dict(zip(order, pool.map(one, order), strict=True))
    return {table: done[table] for table in tables}


def thread_count() -> int:
    """Threads to use: as many as Numba may, so that NUMBA_NUM_THREADS and `set_num_threads` hold here too.

    Examples
    --------
    >>> thread_count() >= 1
    True
    """
    return int(numba.get_num_threads())


def row_groups(categories: Sequence[Categories]) -> tuple[IntArray, int]:
    """Give each row the number of its combination of categories, in sorted order, and say how many there are.

    Examples
    --------
    >>> sex = Categories(np.array([1, 0, 1]), ("f", "m"))
    >>> ids, groups = row_groups([sex])
    >>> ids.tolist(), groups
    ([1, 0, 1], 2)
    """
    rows = _rows([f"column {i}" for i in range(len(categories))], categories)
    sizes = [each.size for each in categories]
    values, ids = distinct(ravel([each.codes for each in categories], sizes, rows), sizes)
    return ids, len(values)


def tally(
    codes: Sequence[IntArray], sizes: Sequence[int], rows: int, weights: AnyArray | None
) -> tuple[IntArray, AnyArray]:
    """Keys of the cells that occur and their counts (or sums of weights)."""
    space = product(sizes)
    if is_dense(space, rows):
        return _tally_dense(codes, sizes, rows, space, weights)
    keys = ravel(codes, sizes, rows)
    if weights is None and keys.ndim == 1:
        keys.sort()
        counted: tuple[IntArray, AnyArray] = _kernels.run_lengths(keys)
        return counted
    values, ids = distinct(keys, sizes)
    ones = np.ones(rows, dtype=np.int64) if weights is None else weights
    return values, add_up(ids, len(values), ones)


def _tally_dense(
    codes: Sequence[IntArray], sizes: Sequence[int], rows: int, space: int, weights: AnyArray | None
) -> tuple[IntArray, AnyArray]:
    # Half the width is half the cache: 32 bits whenever they can hold every key and every count.
    width: type[np.integer[Any]] = np.uint32 if max(space, rows) < 2**32 else np.int64
    lanes = np.zeros((4 if weights is None and space <= FEW_CELLS else 1, space), dtype=width)
    whole = weights is None or weights.dtype.kind != "f"
    sums = np.zeros(0 if weights is None else space, dtype=np.int64 if whole else np.float64)
    buffer = np.zeros(min(BLOCK, rows), dtype=width)
    for begin in range(0, rows, BLOCK):
        keys = buffer[: rows - begin]
        fill(keys, codes, sizes, begin)
        if weights is not None:
            _kernels.tally_weights(keys, weights[begin : begin + len(keys)], lanes[0], sums)
        elif len(lanes) > 1:
            _kernels.tally_few(keys, lanes)
        else:
            _kernels.tally(keys, lanes[0])
    cells = lanes[0] if len(lanes) == 1 else lanes.sum(axis=0)
    occupied = _kernels.occupied(cells)
    return occupied, cells[occupied].astype(np.int64) if weights is None else sums[occupied]


def check_weights(weights: AnyArray | None, rows: int, name: str = "weights") -> AnyArray | None:
    """Weights as floats, one per row; `DataError` when one is missing, negative or not finite."""
    if weights is None:
        return None
    floats = np.ascontiguousarray(weights, dtype=np.float64)
    if floats.shape != (rows,):
        raise DataError(f"{name}: {floats.size} weights for {rows} rows; give one weight per row")
    refuse_bad_weights(int(np.count_nonzero(~(np.isfinite(floats) & (floats >= 0)))), name)
    return floats


def refuse_bad_weights(bad: int, name: str) -> None:
    """`DataError` when some weights cannot be used."""
    if bad:
        raise DataError(
            f"column {name!r}: {bad} rows have a missing, negative or infinite weight; "
            "give every row a weight of 0 or more"
        )


def _rows(columns: Sequence[str], categories: Sequence[Categories]) -> int:
    if not columns:
        raise OptionError("no columns to count; name at least one")
    twice = {name for name in columns if list(columns).count(name) > 1}
    if twice:
        raise OptionError(f"column {sorted(twice)[0]!r} is asked for twice; name each column once")
    rows = len(categories[0].codes)
    for name, each in zip(columns, categories, strict=True):
        if len(each.codes) != rows:
            raise DataError(f"column {name!r} has {len(each.codes)} rows where {rows} are expected")
    return rows
