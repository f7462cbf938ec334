"""Loops of the exit: who holds each value, and which stretch of values enough units share."""

from __future__ import annotations

import numpy as np

from dalenius.core.kernels import njit


@njit(cache=True)
def holders(starts, units, count):
    """Different units that hold each distinct value; ``starts`` are its first places among the sorted rows."""
    held = np.zeros(len(starts) - 1, np.int64)
    seen = np.full(count, -1, np.int64)
    for j in range(len(starts) - 1):
        for row in range(starts[j], starts[j + 1]):
            if seen[units[row]] != j:
                seen[units[row]] = j
                held[j] += 1
    return held


@njit(cache=True)
def stretches(starts, rare, units, count, least):
    """First and last distinct value of the stretch that stands for each rare one; -1 where there is none.

    Neighbouring rare values are put together until ``least`` units hold them; too few of them between two common values
    stand for the stretch from one common value to the other.
    """
    size = len(rare)
    low = np.full(size, -1, np.int64)
    high = np.full(size, -1, np.int64)
    seen = np.full(count, -1, np.int64)
    mark = 0
    j = 0
    while j < size:
        if not rare[j]:
            j += 1
            continue
        end = j
        while end < size and rare[end]:
            end += 1
        begin, before, held = j, -1, 0
        for i in range(j, end):
            for row in range(starts[i], starts[i + 1]):
                if seen[units[row]] != mark:
                    seen[units[row]] = mark
                    held += 1
            if held >= least:
                low[begin : i + 1] = begin
                high[begin : i + 1] = i
                before, begin, held = begin, i + 1, 0
                mark += 1
        mark += 1
        if begin < end:
            if before >= 0:
                low[before:end] = before
                high[before:end] = end - 1
            else:
                low[j:end] = j - 1 if j > 0 else end
                high[j:end] = end if end < size else j - 1
        j = end
    _trim_ends(starts, units, seen, mark, low, high)
    low[low >= size] = -1
    return low, high


@njit(cache=True)
def _trim_ends(starts, units, seen, mark, low, high):
    """End the outermost stretches where a second unit is met: the outermost unit's own value does not show."""
    size = len(low)
    if size and high[size - 1] == size - 1:
        top = _second(starts, units, seen, mark, size - 1, low[size - 1], -1)
        i = size - 1
        while i >= 0 and high[i] == size - 1:
            high[i] = top
            i -= 1
    if size and low[0] == 0:
        bottom = _second(starts, units, seen, mark + 1, 0, high[0], 1)
        i = 0
        while i < size and low[i] == 0:
            low[i] = bottom
            i += 1


@njit(cache=True)
def _second(starts, units, seen, mark, begin, end, side):
    """Where, from the outermost value inwards, a second unit is met."""
    held = 0
    i = begin
    while i != end:
        for row in range(starts[i], starts[i + 1]):
            if seen[units[row]] != mark:
                seen[units[row]] = mark
                held += 1
        if held >= 2:
            return i
        i += side
    return end
