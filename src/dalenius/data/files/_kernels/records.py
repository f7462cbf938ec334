"""Records of a text file: where the cells of some rows are, then what stands in them, column by column."""

from __future__ import annotations

import numpy as np

from dalenius.core.kernels import njit
from dalenius.data.files._kernels.numbers import decimal_cells, whole_cells
from dalenius.data.files._kernels.texts import text_cells
from dalenius.data.files._kernels.words import (
    APOSTROPHE,
    NEWLINE,
    RETURN,
    WIDE,
    bits_below,
    bits_set,
    byte_at,
    equal_to,
)
from dalenius.data.files.modes import DECIMAL, TEXT, WHOLE

TOGETHER = 1 << 13
"""Cells whose places are held at a time: they and their text stay near the processor."""


@njit(cache=True, nogil=True)
def tally(body, quote, counts):
    """How often a byte is 0, a line feed, a return, a quote or an apostrophe; ``counts`` has five places."""
    signs = np.array([0, NEWLINE, RETURN, quote, APOSTROPHE], np.int64)
    at, stop = 0, len(body)
    while at + WIDE <= stop:
        for k in range(5):
            counts[k] += np.int64(bits_set(equal_to(body, at, signs[k], signs[k], signs[k], signs[k])))
        at += WIDE
    for place in range(at, stop):
        for k in range(5):
            counts[k] += body[place] == signs[k]


@njit(forceinline=True)
def signs_from(body, at, separator, quote):
    """A bit for each of 64 bytes that may end or open a cell; the end of the file is one too."""
    if at + WIDE <= len(body):
        return equal_to(body, at, separator, quote, NEWLINE, RETURN)
    found = np.uint64(0)
    for place in range(at, len(body)):
        byte = byte_at(body, place)
        if byte in (separator, quote, NEWLINE, RETURN):
            found |= np.uint64(1) << np.uint64(place - at)
    return found | (np.uint64(1) << np.uint64(len(body) - at))


@njit()
def after_quotes(body, start, quote, separator):
    """Where a cell that opens with a quote at ``start`` ends, where its text ends, and how its quotes are to be read.

    0: as they stand; 1: two quotes for one; 2: text after the closing quote; -1: never closed.
    """
    at, stop, form = start + 1, len(body), 0
    while True:
        while at < stop and body[at] != quote:
            at += 1
        if at >= stop:
            return stop, stop, -1
        if at + 1 < stop and body[at + 1] == quote:
            form = 1
            at += 2
            continue
        break
    end = at + 1
    while end < stop and body[end] != separator and body[end] != NEWLINE and body[end] != RETURN:
        end += 1
    return (end, at, form) if end == at + 1 else (end, end, 2)


@njit()
def locate(body, at, separator, quote, width, most, begin, finish, form):
    """Where the cells of the next rows begin and end; those of a column stand together, in room for ``most`` rows.

    ``form`` is 0 for a cell without quotes, else one more than `after_quotes` says. Gives the rows, where the next one
    begins, and the place of a record with too few or too many cells (-1: there is none).
    """
    row, c, i, start, line, stop = 0, 0, 0, at, at, len(body)
    base, found = at, signs_from(body, at, separator, quote)
    while row < most:
        while not found:
            base += WIDE
            found = signs_from(body, base, separator, quote)
        here = base + np.int64(bits_below(found))
        found &= found - np.uint64(1)
        sign = byte_at(body, here) if here < stop else NEWLINE
        end, shape = here, 0
        if sign == quote and here < stop:
            if here > start:
                continue  # inside a cell: part of its text
            here, end, shape = after_quotes(body, here, quote, separator)
            if shape < 0:
                return row, start, line
            start += shape < 2
            shape += 1
            base, found = here, signs_from(body, here, separator, quote)
            found &= found - np.uint64(1)
            sign = byte_at(body, here) if here < stop else NEWLINE
        if sign != separator and c == 0 and shape == 0 and here == start:  # an empty line
            if here >= stop:
                break
            if width > 1:
                start, line = here + 1, here + 1
                continue
        begin[i], finish[i], form[i] = start, end, shape
        i += most
        c += 1
        start = here + 1
        if (sign != separator) != (c == width):
            return row, start, line
        if sign != separator:
            row, c = row + 1, 0
            i = row
            if sign == RETURN and start < stop and byte_at(body, start) == NEWLINE:
                start += 1
                base, found = start, signs_from(body, start, separator, quote)
            line = start
            if here >= stop:
                break
    return row, min(start, stop), -1


@njit(cache=True, nogil=True)
def cells(
    body, signs, modes, places, words, ends, powers,
    codes, tables, starts, sizes, forms, found, numbers, gaps, used, decimals, wrong, lacking,
):  # fmt: skip
    """Read every record of a file; gives the rows, and the place of a record that is none (-1: there is none).

    Parameters
    ----------
    body
        The bytes after the line of names.
    signs
        Separator, quote, decimal mark, whether an empty cell is a gap, most rows to be read.
    modes, places
        What is done with each column, and which of the arrays of its sort it has.
    words, ends
        Words for gaps among numbers.
    codes, tables, starts, sizes, forms, found
        By columns of text: the code of each row (-1 for a gap), the table of codes, where each text is, how it is
        quoted; how many texts there are, and slots in use.
    numbers, gaps, used, decimals, wrong, lacking
        By columns of numbers: their bits, gaps, words that were met, most decimals, rows that are none (1 where a
        whole number has decimals, 2 where it is no plain number), and whether there is a gap.
    """
    separator, quote, point, empty, most = signs[0], signs[1], signs[2], signs[3], signs[4]
    reals = numbers.view(np.float64)
    at, row, width = 0, 0, len(modes)
    together = max(TOGETHER // width, 8)
    begin, finish = np.empty(together * width, np.int64), np.empty(together * width, np.int64)
    form = np.empty(together * width, np.int8)
    while at < len(body) and row < most:
        some = min(together, most - row)
        rows, at, fault = locate(body, at, separator, quote, width, some, begin, finish, form)
        if fault >= 0:
            return row, fault
        for c in range(width):
            mode, k, first = modes[c], places[c], c * some
            last = first + rows
            if mode == TEXT:
                text_cells(
                    body, begin[first:last], finish[first:last], form[first:last], empty,
                    codes[k, row:], tables[k], starts[k], sizes[k], forms[k], found[k],
                )  # fmt: skip
            elif mode == WHOLE and wrong[k] < 2:
                fault = whole_cells(
                    body, begin[first:last], finish[first:last], empty, point, powers, words, ends,
                    numbers[k, row:], gaps[k, row:], used[k], lacking[k:],
                )  # fmt: skip
                wrong[k] = max(wrong[k], fault)
            elif mode == DECIMAL and wrong[k] < 2:
                wrong[k], decimals[k] = decimal_cells(
                    body, begin[first:last], finish[first:last], empty, point, powers, words, ends,
                    reals[k, row:], gaps[k, row:], used[k], lacking[k:], decimals[k],
                )  # fmt: skip
        row += rows
    return row, -1
