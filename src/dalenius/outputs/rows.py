"""People with several rows: what each has in every cell, added up over many people at once.

Cells overlap in such people, so that who is in them does not add up; rows and sums do. What a person has in a cell is
a number times a secret factor of this person, modulo a prime: that adds up like the number itself. Kept are sums of
these over a few thousand groups of people, the same groups for every output (a linear sketch, as in Cormode and
Muthukrishnan 2005). A combination of cells that comes to nothing for all but few people comes to nothing in all groups
but theirs; one that is about many is so in many groups. So groups tell what people would, at a
size that does not grow with the data. Up to so many people as there are groups, each person is a group.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from dalenius.outputs.hashing import Words, masked, part_of, siphash
from dalenius.outputs.query import Bools, Floats, Ints, Query
from dalenius.published._modular import PRIME

FINEST, DECIMAL, MOST_DECIMAL = 2.0**40, 1e4, 1e9
"""Numbers are whole multiples of one part in this many; those below a billion with up to four decimals, of these."""
GROUPS, FEWEST, PLACES = 4096, 128, 1 << 19
"""Most and fewest groups of people, and how many places (groups × cells) there are at most between these."""
SPREAD = 2_654_435_761
"""Multiplies a person's number before the second grouping (Knuth 6.4): who shared a group does not again."""
NONCE = 16


@dataclass(frozen=True, eq=False, repr=False)
class Rows:
    """What groups of people have in the cells of an output.

    Attributes
    ----------
    groups, checks
        Groups × cells by two groupings, the second with a quarter of the groups: many people may share few groups once,
        but hardly twice. It is empty where each person is a group.
    several
        Whether anybody has several rows.
    """

    groups: Ints
    checks: Ints
    several: bool

    @property
    def cells(self) -> int:
        """Number of cells."""
        return self.groups.shape[1]

    @classmethod
    def of(cls, query: Query, hidden: Bools, numbers: Ints, words: Words, key: bytes) -> Rows:
        """Rows, or sums of the query's column, of the units with these numbers."""
        value = np.ones(query.rows) if query.value is None else query.value
        own = siphash(words, part_of(key, "rows")) % np.uint64(PRIME - 1) + np.uint64(1)
        factor, several, start, finest = own.astype(np.int64), False, 0, _finest(value)
        unit, cell, amount = [], [], []
        for over in query.parts:
            if over and not hidden[: query.cells].any():
                break  # margins of cells that are all shown add nothing
            codes = query.collapsed(over).astype(np.int64)
            there = ~np.isnan(value) & (codes >= 0)
            if not over:
                several = bool((np.bincount(numbers[there], minlength=1) > 1).any())
            there[there] = ~hidden[codes[there] + start]
            unit.append(numbers[there])
            cell.append(codes[there] + start)
            whole = np.mod(np.rint(value[there] * finest), PRIME).astype(np.int64)
            amount.append(whole * factor[numbers[there]] % PRIME)
            start += query.size(over)
        who, what, had = (np.concatenate(x) for x in (unit, cell, amount))
        size = groups_of(start)
        groups = _added(who % size, what, had, (min(len(words), size), start))
        again = max(size // 4, FEWEST)
        checks = _added(
            (who * np.int64(SPREAD) >> 16) % again, what, had, (again * (len(words) > FEWEST), start)
        )
        return cls(groups, checks, several)

    def folded(self, size: int) -> Rows:
        """The same by fewer groups: so many, and a quarter of them."""
        groups, checks = _folded(self.groups, size), _folded(self.checks, max(size // 4, FEWEST))
        return Rows(groups, checks, self.several)

    @cached_property
    def body(self) -> bytes:
        """As bytes."""
        sizes = (len(self.groups), len(self.checks), self.cells, int(self.several))
        head = b"".join(n.to_bytes(8, "little") for n in sizes)
        return head + b"".join(x.astype(np.uint32).tobytes() for x in (self.groups, self.checks))

    @cached_property
    def name(self) -> str:
        """How it is called in the memory; equal ones are stored once, and the name says if people have several rows."""
        digest = hashlib.blake2b(self.body, digest_size=16).hexdigest()
        return f"{'several' if self.several else 'one'} {digest}"

    def stored(self, key: bytes) -> bytes:
        """As bytes under the key."""
        squeezed = bytes(pa.compress(self.body, codec="zstd", asbytes=True))
        nonce = secrets.token_bytes(NONCE)
        return nonce + len(self.body).to_bytes(8, "little") + masked(squeezed, key, nonce.hex())

    @classmethod
    def read(cls, data: bytes, key: bytes) -> Rows:
        """Read back what `stored` wrote."""
        nonce, size = data[:NONCE], int.from_bytes(data[NONCE : NONCE + 8], "little")
        body = pa.decompress(masked(data[NONCE + 8 :], key, nonce.hex()), size, codec="zstd", asbytes=True)
        groups, checks, cells, several = (int.from_bytes(body[8 * i : 8 * i + 8], "little") for i in range(4))
        held = np.frombuffer(body, np.uint32, offset=32).astype(np.int64).reshape(groups + checks, cells)
        return cls(held[:groups], held[groups:], bool(several))


def _finest(value: Floats) -> float:
    """Into how many parts numbers are divided to be whole: decimals exactly, so that sums of them hold to the last."""
    there = value[~np.isnan(value)]
    if len(there) and np.abs(there).max() < MOST_DECIMAL:
        parts = there * DECIMAL
        if (np.abs(parts - np.rint(parts)) < 1e-3).all():
            return DECIMAL
    return FINEST


def groups_of(cells: int) -> int:
    """How many groups an output with so many cells has: a power of two.

    Examples
    --------
    >>> groups_of(6), groups_of(240), groups_of(10_000)
    (4096, 2048, 128)
    """
    return min(max(1 << ((PLACES // max(cells, 1) | 1).bit_length() - 1), FEWEST), GROUPS)


def side_by_side(parts: Sequence[Rows]) -> tuple[Ints, Ints]:
    """Groups × cells of several outputs, by both groupings, in as many groups as the widest has.

    Where an output is of a time when each person was a group, groups alone are looked at.
    """
    size = min(groups_of(p.cells) for p in parts)
    parts = [p.folded(size) for p in parts]
    tall = max(len(p.groups) for p in parts)
    groups = np.hstack([taller(p.groups, tall) for p in parts])
    checks = [p.checks for p in parts]
    if not all(len(c) for c in checks):
        return groups, np.zeros((0, groups.shape[1]), np.int64)
    return groups, np.hstack(checks)


def taller(groups: Ints, rows: int) -> Ints:
    """Groups with further ones that have nothing."""
    return groups if len(groups) == rows else np.pad(groups, ((0, rows - len(groups)), (0, 0)))


def _folded(groups: Ints, size: int) -> Ints:
    if len(groups) <= size:
        return groups
    full = np.pad(groups, ((0, -len(groups) % size), (0, 0)))
    return full.reshape(-1, size, groups.shape[1]).sum(axis=0) % PRIME


def _added(who: Ints, what: Ints, had: Ints, shape: tuple[int, int]) -> Ints:
    """Sums by group and cell; exact, since each is below 2³¹ and there are fewer than 2²¹ in a place."""
    if not shape[0]:
        return np.zeros(shape, np.int64)
    sums = np.bincount(who * shape[1] + what, had, shape[0] * shape[1])
    return (sums.astype(np.int64) % PRIME).reshape(shape)
