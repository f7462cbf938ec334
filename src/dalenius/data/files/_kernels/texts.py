"""Texts in the cells of a text file: which of them are the same."""

from __future__ import annotations

import numpy as np

from dalenius.core.kernels import njit
from dalenius.data.files._kernels.words import byte_at, piece, put_eight

MIX = np.uint64(0x9E3779B97F4A7C15)
FORM, CODE = np.uint64(48), np.uint64((1 << 48) - 1)
"""Above these bits of a slot stands how a text is quoted, below them its code."""


@njit(forceinline=True)
def slot_of(body, start, size, low, high, slots):
    """Where in a table of so many slots (a power of two) a text is looked for first; its first 16 bytes are known."""
    sign = (low ^ (high * MIX) ^ np.uint64(size)) * MIX
    for i in range(start + 16, start + size):
        sign = (sign ^ np.uint64(byte_at(body, i))) * MIX
    sign ^= sign >> np.uint64(32)
    return np.int64((sign * MIX) >> np.uint64(32)) & (slots - 1)


@njit(forceinline=True)
def first_bytes(body, start, size):
    """The first 16 bytes of a text as two whole numbers; what is beyond its end is 0."""
    low, high = piece(body, start, size), np.uint64(0)
    if size > 8:
        high = piece(body, start + 8, size - 8)
    return low, high


@njit()
def widen(body, slots, table, starts, sizes, forms, texts):
    """Put every text of a column into its place in a table of more slots: small tables stay near the processor."""
    table[:slots, 0] = 0
    for code in range(texts):
        start, size = starts[code], np.int64(sizes[code])
        low, high = first_bytes(body, start, size)
        slot = slot_of(body, start, size, low, high, slots)
        while table[slot, 0] != 0:
            slot = (slot + 1) & (slots - 1)
        table[slot, 0] = np.uint64(code + 1) | (np.uint64(forms[code]) << FORM)
        table[slot, 1], table[slot, 2] = low, high


@njit(forceinline=True)
def same_rest(body, start, size, other, sizes, code):
    """Whether two texts are the same of which 16 bytes are; no byte of a text is 0, so shorter ones always are."""
    if size < 16:
        return True
    same, i = sizes[code] == size, 16
    while same and i < size:
        same = byte_at(body, start + i) == byte_at(body, other + i)
        i += 1
    return same


@njit()
def text_cells(body, begin, finish, form, empty, codes, table, starts, sizes, forms, found):
    """Codes of the texts of a column in some rows; -1 for an empty cell without quotes, if that is a gap.

    A text has the code of the same text before it, else the next, and its place is noted. A slot of ``table`` holds
    code and form of a text and 16 bytes of it; only longer texts are compared in the file. ``found`` has the number of
    texts and of slots in use; when half of the most slots are taken, every further text counts as a new one.
    """
    texts, slots = found[0], found[1]
    for j in range(len(begin)):
        start, size, shape = begin[j], finish[j] - begin[j], form[j]
        if size == 0 and shape == 0 and empty:
            codes[j] = -1
            continue
        shape = max(shape - 1, 0)
        if 2 * texts >= slots and slots < len(table):
            slots = min(4 * slots, len(table))
            widen(body, slots, table, starts, sizes, forms, texts)
        code = texts
        if 2 * texts < slots:
            low, high = first_bytes(body, start, size)
            slot = slot_of(body, start, size, low, high, slots)
            while table[slot, 0] != 0:
                held = table[slot, 0]
                if table[slot, 1] == low and table[slot, 2] == high and np.int64(held >> FORM) == shape:
                    known = np.int64(held & CODE) - 1
                    if same_rest(body, start, size, starts[known], sizes, known):
                        code = known
                        break
                slot = (slot + 1) & (slots - 1)
            if code == texts:
                table[slot, 0] = np.uint64(code + 1) | (np.uint64(shape) << FORM)
                table[slot, 1], table[slot, 2] = low, high
        if code == texts:
            starts[code], sizes[code], forms[code] = start, size, shape
            texts += 1
        codes[j] = code
    found[0], found[1] = texts, slots


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
    """Copy pieces of a file behind one another, to where ``ends`` says; ``out`` has eight bytes more than they need."""
    for j in range(len(starts)):
        start, at, stop = starts[j], ends[j], ends[j] + sizes[j]
        while at < stop:  # what is too much is written over by the next
            put_eight(out, at, piece(body, start, stop - at))
            start, at = start + 8, at + 8
