"""Loops of reading a text file: where its cells are, which of them are numbers, which are the same text.

Eight bytes are looked at in one step, as a whole number of 64 bits whose lowest byte is the first (Lamport 1975).
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from dalenius.core.kernels import njit
from dalenius.data.files.modes import SKIP, TEXT, WHOLE

NEWLINE, RETURN, MINUS, ZERO, APOSTROPHE = 10, 13, 45, 48, 39
EXACT = 2**53
"""Whole numbers up to this are doubles."""
EACH = np.uint64(0x0101010101010101)
HIGH = np.uint64(0x8080808080808080)
ZEROS = np.uint64(0x3030303030303030)
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
MIX = np.uint64(0x9E3779B97F4A7C15)


@intrinsic
def eight_bytes(typing, data, at):
    """Eight bytes of an array from a place on, as one whole number; the caller sees to it that they are there."""

    def code(context, builder, signature, args):
        array = context.make_array(signature.args[0])(context, builder, args[0])
        first = cgutils.gep(builder, array.data, args[1])
        return builder.load(builder.bitcast(first, ir.IntType(64).as_pointer()), align=1)

    return types.uint64(data, types.int64), code


@intrinsic
def bits_below(typing, word):
    """Bits below the lowest one that is set."""

    def code(context, builder, signature, args):
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), code


@njit(forceinline=True)
def zero_bytes(word):
    """The high bit of every byte that is zero; bytes above the lowest of them may be marked wrongly."""
    return (word - EACH) & ~word & HIGH


@njit(cache=True, nogil=True)
def tally(body, quote, counts):
    """How often a byte is 0, a line feed, a return, a quote or an apostrophe; ``counts`` has five places."""
    nul, feeds, returns, quotes, marks = 0, 0, 0, 0, 0
    for byte in body:
        nul += byte == 0
        feeds += byte == NEWLINE
        returns += byte == RETURN
        quotes += byte == quote
        marks += byte == APOSTROPHE
    counts[0], counts[1], counts[2], counts[3], counts[4] = nul, feeds, returns, quotes, marks


@njit(forceinline=True)
def cell_end(body, at, separator):
    """Where the cell that holds a place ends: at a separator, at the end of the line, or of the file."""
    stop = len(body)
    comma = EACH * np.uint64(separator)
    while at + 8 <= stop:
        word = eight_bytes(body, at)
        found = zero_bytes(word ^ comma) | zero_bytes(word ^ (EACH * np.uint64(NEWLINE)))
        found |= zero_bytes(word ^ (EACH * np.uint64(RETURN)))
        if found:
            return at + np.int64(bits_below(found) >> np.uint64(3))
        at += 8
    while at < stop and body[at] != separator and body[at] != NEWLINE and body[at] != RETURN:
        at += 1
    return at


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
    end = cell_end(body, at + 1, separator)
    return (end, at, form) if end == at + 1 else (end, end, 2)


@njit(forceinline=True)
def piece(body, start, size):
    """Up to eight bytes from a place on; those beyond ``size`` are 0."""
    if start + 8 <= len(body):
        word = eight_bytes(body, start)
        return word if size >= 8 else word & ~(ALL << np.uint64(8 * size))
    word = np.uint64(0)
    for i in range(min(size, 8)):
        word |= np.uint64(body[start + i]) << np.uint64(8 * i)
    return word


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
    at = start + (body[start] == MINUS)
    size = end - at
    if size < 1 or size > 16 or (body[at] == ZERO and (size > 1 or at > start)):
        return 0, False
    value = digits(body, at, size)
    return (-value if at > start else value), value >= 0


@njit(forceinline=True)
def decimal_number(body, start, end, point, powers):
    """The number between two places, its decimals, and whether it is written plainly and few digits make it exact.

    A whole number below 2^53 and a power of ten up to 10^22 are doubles, so that their quotient is the double nearest
    to what is written (Clinger 1990).
    """
    at = start + (body[start] == MINUS)
    mark = at
    while mark < end and body[mark] != point:
        mark += 1
    before, places = mark - at, max(end - mark - 1, 0)
    if before + places < 1 or before + places > 16 or (before > 1 and body[at] == ZERO):
        return 0.0, 0, False
    front, tail = digits(body, at, before), digits(body, mark + 1, places)
    value = front * np.int64(powers[places]) + tail
    if front < 0 or tail < 0 or value >= EXACT:
        return 0.0, 0, False
    number = value / powers[places]
    return (-number if at > start else number), places, True


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


@njit(forceinline=True)
def slot_of(body, start, size, low, high, slots):
    """Where in a table of so many slots (a power of two) a text is looked for first; its first 16 bytes are known."""
    sign = (low ^ (high * MIX) ^ np.uint64(size)) * MIX
    for i in range(start + 16, start + size):
        sign = (sign ^ np.uint64(body[i])) * MIX
    sign ^= sign >> np.uint64(32)
    return np.int64((sign * MIX) >> np.uint64(32)) & (slots - 1)


@njit()
def widen(body, k, tables, starts, sizes, found):
    """Four times as many slots for a column, and every text in its new place: small tables stay near the processor."""
    slots = min(4 * found[k, 1], tables.shape[1])
    tables[k, :slots, 0] = 0
    for code in range(found[k, 0]):
        start, size = starts[k, code], sizes[k, code]
        low, high = piece(body, start, size), np.uint64(0)
        if size > 8:
            high = piece(body, start + 8, size - 8)
        slot = slot_of(body, start, size, low, high, slots)
        while tables[k, slot, 0] != 0:
            slot = (slot + 1) & (slots - 1)
        tables[k, slot, 0], tables[k, slot, 1], tables[k, slot, 2] = np.uint64(code + 1), low, high
    found[k, 1] = slots


@njit(forceinline=True)
def text_code(body, start, end, form, k, tables, starts, sizes, forms, found):
    """The code of a text of the k-th column: that of the same text before it, else the next, which is noted.

    A slot of ``tables`` holds a code and 16 bytes of its text; only longer texts are compared in the file.
    """
    size, new = end - start, found[k, 0]
    if 2 * new >= found[k, 1] and found[k, 1] < tables.shape[1]:
        widen(body, k, tables, starts, sizes, found)
    slots = found[k, 1]
    if 2 * new < slots:
        low, high = piece(body, start, size), np.uint64(0)
        if size > 8:
            high = piece(body, start + 8, size - 8)
        slot = slot_of(body, start, size, low, high, slots)
        while tables[k, slot, 0] != 0:
            if tables[k, slot, 1] == low and tables[k, slot, 2] == high:
                code = np.int64(tables[k, slot, 0]) - 1
                same, back = sizes[k, code] == size and forms[k, code] == form, starts[k, code] - start
                for i in range(start + 16, end if same else start):
                    if body[i] != body[i + back]:
                        same = False
                        break
                if same:
                    return code
            slot = (slot + 1) & (slots - 1)
        tables[k, slot, 0], tables[k, slot, 1], tables[k, slot, 2] = np.uint64(new + 1), low, high
    starts[k, new], sizes[k, new], forms[k, new] = start, size, form
    found[k, 0] = new + 1
    return new


@njit(cache=True, nogil=True)
def cells(
    body, signs, modes, places, words, ends, powers,
    codes, tables, starts, sizes, forms, found, numbers, gaps, used, decimals, wrong,
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
    numbers, gaps, used, decimals, wrong
        By columns of numbers: their bits, gaps, words that were met, most decimals, and rows that are none: 1 where a
        whole number has decimals, 2 where it is no plain number.
    """
    separator, quote, point, empty, most = signs[0], signs[1], signs[2], signs[3], signs[4]
    reals = numbers.view(np.float64)
    at, stop, row, width = 0, len(body), 0, len(modes)
    while at < stop and row < most:
        if width > 1 and (body[at] == NEWLINE or body[at] == RETURN):  # an empty line
            at += 1
            continue
        line = at
        for c in range(width):
            mode, k, start, form = modes[c], places[c], at, 0
            quoted = at < stop and body[at] == quote
            if quoted:
                at, end, form = after_quotes(body, at, quote, separator)
                start += form < 2
                if form < 0:
                    return row, line
            else:
                at = cell_end(body, at, separator)
                end = at
            last = at >= stop or body[at] != separator
            if last != (c == width - 1):
                return row, line
            at += not last
            if mode == TEXT:
                if end == start and not quoted and empty:
                    codes[k, row] = -1
                else:
                    codes[k, row] = text_code(body, start, end, form, k, tables, starts, sizes, forms, found)
            elif mode != SKIP and wrong[k] < 2:
                good = False
                if end > start and mode == WHOLE:
                    value, good = whole_number(body, start, end)
                    numbers[k, row] = value
                if end > start and not good:
                    real, tail, good = decimal_number(body, start, end, point, powers)
                    if good and mode == WHOLE:
                        wrong[k] = 1
                    elif good:
                        reals[k, row] = real
                        decimals[k] = max(decimals[k], tail)
                if not good:
                    which = gap_of(body, start, end, words, ends) if end > start else -1
                    if which >= 0:
                        used[k, which] = True
                    elif end > start or not empty:
                        wrong[k] = 2
                    gaps[k, row] = 1
                    numbers[k, row] = 0
        row += 1
        if at < stop and body[at] == RETURN:
            at += 1
            at += at < stop and body[at] == NEWLINE
        elif at < stop:
            at += 1
    return row, -1


@njit(cache=True, nogil=True)
def ends_of(sizes, ends):
    """Where pieces of some sizes begin when they stand behind one another, and where the last ends."""
    at = 0
    for j in range(len(sizes)):
        ends[j] = at
        at += sizes[j]
    ends[len(sizes)] = at


@njit(cache=True, nogil=True)
def gather(body, starts, sizes, ends, out):
    """Copy pieces of a file behind one another, to where ``ends`` says."""
    for j in range(len(starts)):
        start, at = starts[j], ends[j]
        for i in range(sizes[j]):
            out[at + i] = body[start + i]
