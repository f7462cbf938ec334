"""Keyed hashes of units and of what each contributes, many at once, by SipHash-2-4 (Aumasson and Bernstein 2012).

Numbers are hashed in arrays; texts one by one. A person who is 17 in one file, "17" in another and 17.0 in a third (a
column with gaps) is the same person.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dalenius.tables.keys import keyed_words

Words = npt.NDArray[np.uint64]

BLOCK = 1 << 18
"""Numbers hashed at a time: the state of a block stays in the processor's cache."""
START = (0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573)


def siphash(numbers: Any, key: bytes) -> Words:
    """SipHash-2-4 of 64-bit words, each a message of eight bytes.

    Examples
    --------
    >>> message = np.frombuffer(bytes(range(8)), "<u8")
    >>> hex(int(siphash(message, bytes(range(16)))[0]))
    '0x93f5f5799a932462'
    """
    words = np.ascontiguousarray(numbers).view(np.uint64).ravel()
    out = np.empty(len(words), np.uint64)
    for start in range(0, len(words), BLOCK):
        out[start : start + BLOCK] = _block(words[start : start + BLOCK], key)
    return out


def _block(words: Words, key: bytes) -> Words:
    halves = [int.from_bytes(key[8 * i : 8 * i + 8], "little") for i in range(2)]
    state = [np.full(len(words), START[i] ^ halves[i % 2], np.uint64) for i in range(4)]
    for message in (words, np.uint64(8 << 56)):  # the message, then its length
        state[3] ^= message
        _rounds(state, 2)
        state[0] ^= message
    state[2] ^= np.uint64(0xFF)
    _rounds(state, 4)
    return np.asarray(state[0] ^ state[1] ^ state[2] ^ state[3])


def _rounds(state: list[Words], number: int) -> None:
    v0, v1, v2, v3 = state
    for _ in range(number):
        v0 += v1
        _turn(v1, 13)
        v1 ^= v0
        _turn(v0, 32)
        v2 += v3
        _turn(v3, 16)
        v3 ^= v2
        v0 += v3
        _turn(v3, 21)
        v3 ^= v0
        v2 += v1
        _turn(v1, 17)
        v1 ^= v2
        _turn(v2, 32)


def _turn(words: Words, bits: int) -> None:
    left = words << np.uint64(bits)
    words >>= np.uint64(64 - bits)
    words |= left


def unit_words(ids: Sequence[Any], key: bytes) -> Words:
    """Keyed hashes of units' names.

    Examples
    --------
    >>> key = bytes(32)
    >>> one = unit_words([17], key)[0]
    >>> [bool(unit_words(ids, key)[0] == one) for ids in (["17"], [17.0], range(17, 18), ["x"])]
    [True, True, True, False]
    """
    held = np.arange(ids.start, ids.stop) if isinstance(ids, range) else np.asarray(ids)
    if held.dtype.kind in "iu":
        return siphash(held.astype(np.int64), part_of(key, "units"))
    if held.dtype.kind == "f" and bool((held == np.rint(held)).all()) and bool((np.abs(held) < 2**53).all()):
        return siphash(held.astype(np.int64), part_of(key, "units"))
    texts = [_plain(x) for x in held.tolist()]
    found = keyed_words(texts, key)
    whole = [i for i, text in enumerate(texts) if text.lstrip("-").isdecimal() and text == _canonical(text)]
    if whole:
        found[whole] = siphash(np.array([int(texts[i]) for i in whole], np.int64), part_of(key, "units"))
    return found


def _plain(value: Any) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _canonical(text: str) -> str:
    """The text of a number as Python writes it; something else for numbers that do not fit 64 bits."""
    return str(int(text)) if len(text) < 19 else ""


def value_words(units: Words, values: Any, key: bytes) -> npt.NDArray[np.uint32]:
    """Keyed hashes of what each unit contributes; never 0, which stands for nobody.

    The unit's own hash goes in, so that equal values of two people look different.

    Examples
    --------
    >>> who = np.array([1, 2], np.uint64)
    >>> a, b = value_words(who, [5.0, 5.0], bytes(32))
    >>> bool(a != b), bool(a == value_words(who, [5.0, 6.0], bytes(32))[0])
    (True, True)
    """
    amounts = np.asarray(values, np.float64) + 0.0  # -0.0 is 0
    words = siphash(amounts, part_of(key, "values"))
    words ^= units
    mixed = siphash(words, part_of(key, "both")).astype(np.uint32)
    return np.maximum(mixed, np.uint32(1))


def part_of(key: bytes, what: str) -> bytes:
    """A key of its own for each use."""
    return hashlib.blake2b(what.encode(), key=key[:32], digest_size=16).digest()


def masked(data: bytes, key: bytes, name: str) -> bytes:
    """The bytes under a stream that only the key can make again (SHAKE-256); done twice they are back.

    Examples
    --------
    >>> masked(masked(b"abc", bytes(32), "x"), bytes(32), "x"), masked(b"abc", bytes(32), "x") == b"abc"
    (b'abc', False)
    """
    stream = hashlib.shake_256(key + name.encode()).digest(len(data))
    return (np.frombuffer(data, np.uint8) ^ np.frombuffer(stream, np.uint8)).tobytes()
