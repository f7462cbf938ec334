"""Loops of the counting engine; all release the interpreter lock, so that threads run them side by side."""

from __future__ import annotations

from typing import Any

import numpy as np

from dalenius.core.kernels import njit

DIGIT_BITS = 9
"""Digit of the radix sort: with more than 512 buckets the scattered writes miss the cache."""


@njit(cache=True, nogil=True)
def start_keys(keys: Any, codes: Any) -> None:
    """First digit of mixed-radix keys."""
    for i in range(keys.shape[0]):
        keys[i] = codes[i]


@njit(cache=True, nogil=True)
def extend_keys(keys: Any, codes: Any, size: int) -> None:
    """Append one digit to mixed-radix keys."""
    for i in range(keys.shape[0]):
        keys[i] = keys[i] * size + codes[i]


@njit(cache=True, nogil=True)
def tally(keys: Any, cells: Any) -> None:
    """Count keys into dense cells."""
    for i in range(keys.shape[0]):
        cells[keys[i]] += 1


@njit(cache=True, nogil=True)
def tally_pair(first: Any, second: Any, size: int, cells: Any) -> None:
    """Count rows by two columns of codes into dense cells, ``size`` in a row."""
    for i in range(first.shape[0]):
        cells[first[i] * size + second[i]] += 1


@njit(cache=True, nogil=True)
def tally_few(keys: Any, lanes: Any) -> None:
    """Count keys into four copies of very few cells, so that equal neighbours do not wait for each other."""
    whole = keys.shape[0] // 4 * 4
    for i in range(0, whole, 4):
        lanes[0, keys[i]] += 1
        lanes[1, keys[i + 1]] += 1
        lanes[2, keys[i + 2]] += 1
        lanes[3, keys[i + 3]] += 1
    for i in range(whole, keys.shape[0]):
        lanes[0, keys[i]] += 1


@njit(cache=True, nogil=True)
def tally_weights(keys: Any, weights: Any, rows: Any, sums: Any) -> None:
    """Count keys into dense cells, and add up their weights."""
    for i in range(keys.shape[0]):
        rows[keys[i]] += 1
        sums[keys[i]] += weights[i]


@njit(cache=True, nogil=True)
def occupied(cells: Any) -> Any:
    """Keys of the cells that are not zero."""
    found = 0
    for i in range(cells.shape[0]):
        found += cells[i] != 0
    keys = np.empty(found, np.int64)
    at = 0
    for i in range(cells.shape[0]):
        if cells[i] != 0:
            keys[at] = i
            at += 1
    return keys


@njit(cache=True, nogil=True)
def rank_cells(cells: Any) -> int:
    """Replace cells that are not zero by 0, 1, …, and say how many there are."""
    found = 0
    for i in range(cells.shape[0]):
        if cells[i] != 0:
            cells[i] = found
            found += 1
    return found


@njit(cache=True, nogil=True)
def sort_step(word: Any, order: Any, bits: int) -> Any:
    """Refine an order of rows by one word: stable radix sort, digit by digit from the least significant."""
    rows = order.shape[0]
    passes = (bits + DIGIT_BITS - 1) // DIGIT_BITS
    mask = (1 << DIGIT_BITS) - 1
    tallies = np.zeros((passes, mask + 1), np.int64)
    keys = np.empty(rows, np.int64)
    for i in range(rows):
        key = word[order[i]]
        keys[i] = key
        for p in range(passes):
            tallies[p, (key >> (p * DIGIT_BITS)) & mask] += 1
    spare_keys, spare_order = np.empty(rows, np.int64), np.empty(rows, np.int64)
    for p in range(passes):
        shift = p * DIGIT_BITS
        if rows == 0 or tallies[p, (keys[0] >> shift) & mask] == rows:
            continue  # all rows share this digit
        place = 0
        for bucket in range(mask + 1):
            held = tallies[p, bucket]
            tallies[p, bucket] = place
            place += held
        for i in range(rows):
            bucket = (keys[i] >> shift) & mask
            at = tallies[p, bucket]
            tallies[p, bucket] = at + 1
            spare_keys[at] = keys[i]
            spare_order[at] = order[i]
        keys, spare_keys = spare_keys, keys
        order, spare_order = spare_order, order
    return order


@njit(cache=True, nogil=True)
def mark_new(word: Any, order: Any, new: Any) -> None:
    """Mark sorted rows whose word differs from that of the row before."""
    for i in range(1, order.shape[0]):
        if word[order[i]] != word[order[i - 1]]:
            new[i] = True


@njit(cache=True, nogil=True)
def spread_ids(order: Any, new: Any, ids: Any) -> int:
    """Give each row the number of its group; returns the number of groups."""
    group = -1
    for i in range(order.shape[0]):
        group += new[i]
        ids[order[i]] = group
    return group + 1


@njit(cache=True, nogil=True)
def add_by_id(ids: Any, weights: Any, sums: Any) -> None:
    """Add weights into groups, in row order."""
    for i in range(ids.shape[0]):
        sums[ids[i]] += weights[i]


@njit(cache=True, nogil=True)
def run_lengths(ordered: Any) -> Any:
    """Distinct values of a sorted array and how often each occurs."""
    found = 0
    for i in range(ordered.shape[0]):
        found += i == 0 or ordered[i] != ordered[i - 1]
    values, times = np.empty(found, np.int64), np.empty(found, np.int64)
    at = -1
    for i in range(ordered.shape[0]):
        if i == 0 or ordered[i] != ordered[i - 1]:
            at += 1
            values[at] = ordered[i]
            times[at] = 0
        times[at] += 1
    return values, times


@njit(cache=True, nogil=True)
def draw_within(ends: Any, guide: Any, scale: float, known: Any, width: int, points: Any, drawn: Any) -> None:
    """The cell each point falls on, within the line of cells that its row knows; ``guide`` says where to look.

    ``guide[g]`` is the first cell that ends beyond ``g / scale``; with a scale that is a power of two the search from
    there finds what a search of all cells finds.
    """
    for i in range(known.shape[0]):
        first = known[i] * width
        begin = ends[first - 1] if first > 0 else 0.0
        point = begin + points[i] * (ends[first + width - 1] - begin)
        place = int(point * scale)
        low, high = guide[place], guide[place + 1]
        while low < high:
            middle = (low + high) // 2
            if ends[middle] <= point:
                low = middle + 1
            else:
                high = middle
        drawn[i] = min(max(low - first, 0), width - 1)  # rounding can step over the end of a line: stay in it
