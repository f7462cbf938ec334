"""People with several rows: what each has in every cell, and combinations of cells that are about few of them.

Cells overlap in such people, so that who is in them does not add up; rows and sums do. What a person has in a cell is
kept as its number times a secret factor of this person, modulo a prime: that adds up like the number itself, and tells
nothing without the key. A combination of cells of several outputs that comes to nothing for all but few people is what
these few have. It is looked for by people drawn at random: what comes to nothing for them is a null space, usually a
very small one, and what it does to all others is then counted.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from dalenius.core.random import generator
from dalenius.outputs.differencing import reduced_form
from dalenius.outputs.hashing import Words, masked, part_of, siphash
from dalenius.outputs.query import Bools, Ints, Query
from dalenius.published._modular import PRIME, kernel

if TYPE_CHECKING:
    from dalenius.outputs.comparison import Comparison
    from dalenius.outputs.memory import Earlier
    from dalenius.outputs.partition import Partition

FINEST = 2.0**40
"""Numbers are whole multiples of one part in this many."""
MOST_CELLS = 240
"""Cells of all outputs that are combined."""
MOST_TRIES, MISSED, ROUNDS = 12, 1e-3, 20
"""Draws of people; the chance, as far as they go, to draw one of the few each time; and how often a draw grows."""
MANY = 20
"""So many times the threshold of people are more than several small groups at once."""
NONCE = 16


@dataclass(frozen=True, eq=False, repr=False)
class Rows:
    """What people have in the cells of an output: one entry a person and cell.

    Attributes
    ----------
    unit, cell, words
        Number of the person, cell, and what the person has there times the person's factor.
    cells
        Number of cells.
    """

    unit: Ints
    cell: Ints
    words: Ints
    cells: int

    @classmethod
    def of(cls, query: Query, hidden: Bools, numbers: Ints, words: Words, key: bytes) -> Rows | None:
        """Rows, or sums of the query's column; None where nobody has several rows."""
        value = np.ones(query.rows) if query.value is None else query.value
        unit, cell, amount, start = [], [], [], 0
        for over in query.parts:
            if over and not hidden[: query.cells].any():
                break  # margins of cells that are all shown add nothing
            codes = query.collapsed(over).astype(np.int64)
            there = ~np.isnan(value) & (codes >= 0)
            if not over and not (np.bincount(numbers[there]) > 1).any():
                return None
            there[there] = ~hidden[codes[there] + start]
            unit.append(numbers[there])
            cell.append(codes[there] + start)
            amount.append(value[there])
            start += query.size(over)
        places = np.concatenate(unit) * np.int64(start) + np.concatenate(cell)
        every, at = np.unique(places, return_inverse=True)
        whole = np.mod(np.rint(np.concatenate(amount) * FINEST), PRIME)  # exact, as are sums of so many
        sums = np.bincount(at.ravel(), whole, len(every)).astype(np.int64) % PRIME
        own = siphash(words, part_of(key, "rows")) % np.uint64(PRIME - 1) + np.uint64(1)
        found = sums * own[every // start].astype(np.int64) % PRIME
        return cls(every // start, every % start, found, start)

    def stored(self, key: bytes) -> bytes:
        """As bytes under the key."""
        body = b"".join(x.astype(np.int64).tobytes() for x in (self.unit, self.cell, self.words))
        squeezed = bytes(pa.compress(body, codec="zstd", asbytes=True))
        nonce, sizes = secrets.token_bytes(NONCE), (len(body), self.cells)
        head = b"".join(n.to_bytes(8, "little") for n in sizes)
        return nonce + head + masked(squeezed, key, nonce.hex())

    @classmethod
    def read(cls, data: bytes, key: bytes) -> Rows:
        """Read back what `stored` wrote."""
        nonce, head, rest = data[:NONCE], data[NONCE : NONCE + 16], data[NONCE + 16 :]
        size, cells = (int.from_bytes(head[8 * i : 8 * i + 8], "little") for i in range(2))
        body = pa.decompress(masked(rest, key, nonce.hex()), size, codec="zstd", asbytes=True)
        unit, cell, words = np.frombuffer(body, np.int64).reshape(3, -1)
        return cls(unit, cell, words, cells)


def beside_rows(looked: Comparison, earlier: Sequence[Earlier]) -> None:
    """Compare an output about people with several rows with each earlier one, and with the newest all together."""
    own = looked.memory.several(looked.out)
    known = [each for each in earlier if each.rows] if own is not None and not looked.told.rounded else []
    if own is None or not known:
        return
    chosen: list[tuple[Earlier, Rows]] = []
    width = own.cells
    for each in reversed(known):
        old = looked.memory.rows_held(str(each.rows))
        if own.cells + old.cells > MOST_CELLS:
            looked.complete = False
            _apart(looked, [each], [_total(own), _total(old)], whole=True)
            continue
        _apart(looked, [each], [own, old])
        if width + old.cells <= MOST_CELLS:
            chosen.append((each, old))
            width += old.cells
    if len(chosen) > 1 and not looked.lines:
        _apart(looked, [e for e, _ in chosen], [own, *(old for _, old in chosen)])


def by_rows(looked: Comparison, earlier: Earlier, old: Partition) -> bool:
    """Whether two outputs are compared by rows: who is in their cells is nothing that they show."""
    several = earlier.rows is not None and looked.memory.several(looked.out) is not None
    return several and looked.part.cells + old.cells <= MOST_CELLS


def _apart(looked: Comparison, others: Sequence[Earlier], parts: Sequence[Rows], whole: bool = False) -> None:
    matrix, few = side_by_side(parts), looked.policy.threshold
    found = about_few(matrix, few)
    if found:  # what earlier outputs tell is not the new one's doing
        before = [people for people, _ in about_few(matrix[:, parts[0].cells :], few)]
        found = [(p, c) for p, c in found if not any(np.array_equal(p, b) for b in before)]
    if not found:
        return
    told = " and ".join(e.told for e in others[:6])
    looked.lines.append(
        f"with {told}: what fewer than {few} people have in their rows follows by subtraction"
    )
    for _, columns in found:
        if not whole:
            looked.mark_cells(np.flatnonzero(columns[: parts[0].cells]).tolist())
        elif not looked.flagged.any():
            looked.mark_cells(range(len(looked.flagged)))


def _total(rows: Rows) -> Rows:
    """Everything in one cell."""
    every, at = np.unique(rows.unit, return_inverse=True)
    sums = np.bincount(at.ravel(), rows.words, len(every)).astype(np.int64) % PRIME
    return Rows(every, np.zeros(len(every), np.int64), sums, 1)


def side_by_side(parts: Sequence[Rows]) -> Any:
    """People × cells of several outputs (sparse)."""
    start = np.cumsum([0, *(p.cells for p in parts)])
    unit = np.concatenate([p.unit for p in parts])
    cell = np.concatenate([p.cell + s for p, s in zip(parts, start, strict=False)])
    _, who = np.unique(unit, return_inverse=True)
    words = np.concatenate([p.words for p in parts])
    return sp.csr_matrix((words, (who.ravel(), cell)), shape=(int(who.max(initial=-1)) + 1, int(start[-1])))


def about_few(matrix: Any, few: int) -> list[tuple[Ints, Bools]]:
    """Combinations of columns that come to nothing in all rows but fewer than ``few``: these rows, and the columns.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> kind = rng.integers(1, 90, (200, 2))
    >>> total = kind.sum(axis=1, keepdims=True) * (np.arange(200) != 7)[:, None]
    >>> [(who.tolist(), which.tolist()) for who, which in about_few(sp.csr_matrix(np.hstack([kind, total])), 10)]
    [([7], [True, True, True])]
    """
    matrix = sp.csr_matrix(matrix)
    people, cells = matrix.shape
    if people <= few or not cells:
        return []
    drawn = min(cells / people, 0.9)
    spared = (1.0 - drawn) ** max(few // 2, 1)
    tries = min(MOST_TRIES, max(2, math.ceil(math.log(MISSED) / math.log(max(1.0 - spared, 1e-9)))))
    for turn in range(tries):
        found = _by_some(matrix, few, generator(turn, "people that combinations are tried on"))
        if found:
            return found
    return []


def _by_some(matrix: Any, few: int, rng: np.random.Generator) -> list[tuple[Ints, Bools]]:
    """The same by one draw of people, which grows as long as combinations are about many."""
    people, cells = matrix.shape
    rows = rng.permutation(people)[: cells + 1]
    for _ in range(ROUNDS):
        free = np.asarray(kernel(np.ascontiguousarray(matrix[rows].toarray(), np.int64)))
        if not free.shape[1]:
            return []
        moved = _product(matrix, free)
        touched = np.flatnonzero((moved != 0).any(axis=1))
        if not len(touched):
            return []
        if len(touched) < MANY * few:
            return _smallest(moved[touched], free, touched, few)
        rows = np.concatenate([rows, rng.choice(touched, min(free.shape[1], len(touched)), replace=False)])
    return []


def _smallest(moved: Ints, free: Ints, touched: Ints, few: int) -> list[tuple[Ints, Bools]]:
    """Combinations in reduced form that are about few."""
    found = []
    for row in reduced_form(np.hstack([moved.T, free.T])):
        who = np.flatnonzero(row[: len(touched)])
        if 0 < len(who) < few:
            found.append((touched[who], row[len(touched) :] != 0))
    return found


def _product(matrix: Any, free: Ints) -> Ints:
    """Product modulo the prime, by halves that do not run over."""
    low, high = matrix.copy(), matrix.copy()
    low.data, high.data = matrix.data & 0xFFFF, matrix.data >> 16
    return np.asarray((((high @ free) % PRIME << 16) + low @ free) % PRIME)
