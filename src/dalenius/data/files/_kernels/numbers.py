"""Numbers in the cells of a text file."""

from __future__ import annotations

import numpy as np

from dalenius.core.kernels import njit
from dalenius.data.files._kernels.words import (
    EACH,
    MINUS,
    ZERO,
    bits_below,
    byte_at,
    eight_bytes,
    piece,
    zero_bytes,
)

EXACT = 2**53
"""Whole numbers up to this are doubles."""
ZEROS = np.uint64(0x3030303030303030)


@njit(forceinline=True)
def digits(body, start, size):
    """The whole number that 0 to 16 digits from a place on make; -1 where something else is among them."""
    value = np.uint64(0)
    while size > 0:
        some = size - 8 if size > 8 else size
        word = piece(body, start, some)
        if some < 8:  # zeros in front
            word = (word << np.uint64(64 - 8 * some)) | (ZEROS >> np.uint64(8 * some))
        high = np.uint64(0xF0F0F0F0F0F0F0F0)
        if (word & high) | (((word + np.uint64(0x0606060606060606)) & high) >> np.uint64(4)) != np.uint64(
            0x3333333333333333
        ):
            return np.int64(-1)
        word = ((word & np.uint64(0x0F0F0F0F0F0F0F0F)) * np.uint64(2561)) >> np.uint64(8)
        word = ((word & np.uint64(0x00FF00FF00FF00FF)) * np.uint64(6553601)) >> np.uint64(16)
        word = ((word & np.uint64(0x0000FFFF0000FFFF)) * np.uint64(42949672960001)) >> np.uint64(32)
        value = value * np.uint64(100_000_000) + word
        start += some
        size -= some
    return np.int64(value)


@njit(forceinline=True)
def whole_number(body, start, end):
    """The whole number between two places, and whether it is written plainly: no plus, no zeros in front."""
    minus = byte_at(body, start) == MINUS
    at = start + minus
    size = end - at
    if size < 1 or size > 16 or (byte_at(body, at) == ZERO and (size > 1 or minus)):
        return 0, False
    value = digits(body, at, size)
    return (-value if minus else value), value >= 0


@njit(forceinline=True)
def mark_from(body, at, end, point):
    """Where the decimal mark is between two places; the end if there is none."""
    marks = EACH * np.uint64(point)
    while at + 8 <= len(body) and at < end:
        found = zero_bytes(eight_bytes(body, at) ^ marks)
        if found:
            return min(at + np.int64(bits_below(found) >> np.uint64(3)), end)
        at += 8
    while at < end and byte_at(body, at) != point:
        at += 1
    return min(at, end)


@njit(forceinline=True)
def decimal_number(body, start, end, point, powers):
    """The number between two places, its decimals, and whether it is written plainly and few digits make it exact.

    A whole number below 2^53 and a power of ten up to 10^22 are doubles, so that their quotient is the double nearest
    to what is written (Clinger 1990).
    """
    minus = byte_at(body, start) == MINUS
    at = start + minus
    mark = mark_from(body, at, end, point)
    before, places = mark - at, max(end - mark - 1, 0)
    if before + places < 1 or before + places > 16 or (before > 1 and byte_at(body, at) == ZERO):
        return 0.0, 0, False
    front, tail = digits(body, at, before), digits(body, mark + 1, places)
    value = front * np.int64(powers[places]) + tail
    if front < 0 or tail < 0 or value >= EXACT:
        return 0.0, 0, False
    number = value / powers[places]
    return (-number if minus else number), places, True


@njit()
def gap_of(body, start, end, words, ends):
    """Which word for a gap stands between two places; -1 for none. Words stand one after the other in ``words``."""
    begin = 0
    for k in range(len(ends)):
        if ends[k] - begin == end - start:
            same = True
            for i in range(end - start):
                if words[begin + i] != body[start + i]:
                    same = False
                    break
            if same:
                return k
        begin = ends[k]
    return -1


@njit()
def gap_at(body, start, end, empty, words, ends, used):
    """Whether a cell is a gap: empty, or a word that stands for one, which is noted."""
    if end == start:
        return empty != 0
    which = gap_of(body, start, end, words, ends)
    if which >= 0:
        used[which] = True
    return which >= 0


@njit()
def whole_cells(body, begin, finish, empty, point, powers, words, ends, out, gaps, used, lacking):
    """Whole numbers of a column in some rows; gives 1 where one has decimals, 2 where a cell is no plain number."""
    wrong = 0
    for j in range(len(begin)):
        start, end = begin[j], finish[j]
        value, good = whole_number(body, start, end) if end > start else (0, False)
        out[j] = value
        if not good:
            real = end > start and decimal_number(body, start, end, point, powers)[2]
            if real:
                wrong = 1
            elif gap_at(body, start, end, empty, words, ends, used):
                gaps[j], out[j], lacking[0] = 1, 0, True
            else:
                return 2
    return wrong


@njit()
def decimal_cells(body, begin, finish, empty, point, powers, words, ends, out, gaps, used, lacking, most):
    """Numbers of a column in some rows; gives 2 where a cell is no plain number, and the most decimals so far."""
    for j in range(len(begin)):
        start, end = begin[j], finish[j]
        value, places, good = (
            decimal_number(body, start, end, point, powers) if end > start else (0.0, 0, False)
        )
        out[j] = value
        most = max(most, places)
        if not good:
            if not gap_at(body, start, end, empty, words, ends, used):
                return 2, most
            gaps[j], out[j], lacking[0] = 1, 0.0, True
    return 0, most
