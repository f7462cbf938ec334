"""In how many columns records are equal to a query: 64 records at a time, a bit each.

The records of a block that have a value are bits of one row of words. Adding the rows of a query's values, bit by bit
into binary numbers that lie across several words (planes), counts the equal columns of all records of the block.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import prange

from dalenius.core.kernels import njit

WORDS = 64
BLOCK = 64 * WORDS
"""Records looked at together: their bits stay in the cache while one query after the other is counted."""


@njit(cache=True)
def _fill(bits: Any, there: Any, codes: Any, start: int, end: int, place: Any, first: Any) -> None:
    """Set the bits of a block's records at the values that are asked for, and say which occur."""
    for value in range(len(there)):
        if there[value]:
            bits[value] = 0
            there[value] = False
    for i in range(start, end):
        word, bit = (i - start) >> 6, np.uint64(1) << np.uint64((i - start) & 63)
        for j in range(codes.shape[1]):
            value = place[first[j] + codes[i, j]]
            if value >= 0:
                bits[value, word] |= bit
                there[value] = True


@njit(cache=True)
def _count(planes: Any, carry: Any, bits: Any, there: Any, query: Any) -> int:
    """Add up the bits of a query's values; how many planes are in use."""
    added, used = 0, 0
    for j in range(len(query)):
        value = query[j]
        if not there[value]:
            continue
        for w in range(WORDS):
            carry[w] = bits[value, w]
        for p in range(used):
            for w in range(WORDS):
                both = planes[p, w] & carry[w]
                planes[p, w] ^= carry[w]
                carry[w] = both
        added += 1
        if added >= 1 << used:
            for w in range(WORDS):
                planes[used, w] = carry[w]
            used += 1
    return used


@njit(cache=True)
def _at_least(found: Any, planes: Any, used: int, least: int) -> bool:
    """Mark the records that are counted so often or oftener; whether there are any."""
    if least >= 1 << used:
        return False
    for w in range(WORDS):
        found[w] = np.uint64(0)
    for p in range(
        used
    ):  # from the lowest digit up: whether the digits so far are more than those of least - 1
        if ((least - 1) >> p) & 1:
            for w in range(WORDS):
                found[w] &= planes[p, w]
        else:
            for w in range(WORDS):
                found[w] |= planes[p, w]
    some = np.uint64(0)
    for w in range(WORDS):
        some |= found[w]
    return some != np.uint64(0)


@njit(cache=True)
def _of_others(found: Any, start: int, owners: Any, own: int) -> bool:
    """Whether a marked record of a block belongs to somebody else."""
    for w in range(WORDS):
        word = found[w]
        while word:
            last = word & (~word + np.uint64(1))
            bit = 0
            while last >> np.uint64(bit) != np.uint64(1):
                bit += 1
            if owners[start + 64 * w + bit] != own:
                return True
            word ^= last
    return False


@njit(cache=True, parallel=True)
def most_equal(queries: Any, codes: Any, place: Any, first: Any, values: int, parts: int) -> Any:
    """In how many columns the record most like each query is equal to it.

    ``place`` is the number of a code among the values asked for (-1: nobody asks), from ``first`` on for each column;
    queries are such numbers.
    """
    n, rows, columns = len(queries), len(codes), codes.shape[1]
    best = np.zeros(n, np.int64)
    for part in prange(parts):
        bits, there = np.zeros((values, WORDS), np.uint64), np.zeros(values, np.bool_)
        planes, carry = np.empty((columns + 1, WORDS), np.uint64), np.empty(WORDS, np.uint64)
        for start in range(0, rows, BLOCK):
            _fill(bits, there, codes, start, min(start + BLOCK, rows), place, first)
            for q in range(part * n // parts, (part + 1) * n // parts):
                used = _count(planes, carry, bits, there, queries[q])
                while _at_least(carry, planes, used, best[q] + 1):
                    best[q] += 1
    return best


@njit(cache=True, parallel=True)
def others_equal(
    queries: Any,
    least: Any,
    own: Any,
    owners: Any,
    codes: Any,
    place: Any,
    first: Any,
    values: int,
    parts: int,
) -> Any:
    """Whether a record of another owner is equal to each query in at least so many columns."""
    n, rows, columns = len(queries), len(codes), codes.shape[1]
    met = least <= 0
    for part in prange(parts):
        bits, there = np.zeros((values, WORDS), np.uint64), np.zeros(values, np.bool_)
        planes, carry = np.empty((columns + 1, WORDS), np.uint64), np.empty(WORDS, np.uint64)
        for start in range(0, rows, BLOCK):
            _fill(bits, there, codes, start, min(start + BLOCK, rows), place, first)
            for q in range(part * n // parts, (part + 1) * n // parts):
                if met[q]:
                    continue
                used = _count(planes, carry, bits, there, queries[q])
                if _at_least(carry, planes, used, least[q]):
                    met[q] = _of_others(carry, start, owners, own[q])
    return met
