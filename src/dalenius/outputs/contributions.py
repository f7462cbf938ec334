"""`Contributions`: what each unit adds to the cells of a sum or mean, as keyed hashes and coarse sizes.

Two sums over the same people differ by what was corrected in between. To see that, the memory must know again whether a
unit still contributes the same, and to see who dominates what a difference leaves, how much it was: a hash of 32 bits
of unit and value, and the size of the value to about 1 %. Both are kept under a stream of the project's key. Whoever
has the folder with its key can guess values: the folder is as confidential as the data.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from dalenius.outputs.hashing import Words, masked, value_words
from dalenius.outputs.partition import Partition, fineness
from dalenius.outputs.query import Bools, Floats, Ints, Query

Hashes = npt.NDArray[np.uint32]
Sizes = npt.NDArray[np.uint16]

STEPS, MIDDLE = 64, 32_768
"""A size is kept as its logarithm in steps of 1.1 %."""
NONCE = 16


@dataclass(frozen=True, eq=False, repr=False)
class Contributions:
    """What units contribute, by place: the unit's number, or (unit, cell) where units are in several cells.

    Attributes
    ----------
    places
        Unit × cells + cell, in order; None where every unit is in one cell at most, and the place is its number.
    hashes, sizes
        Keyed hash of unit and contribution (0: nobody), and the size of the contribution.

    Examples
    --------
    >>> held = Contributions(None, np.array([7, 0, 9], np.uint32), sizes_of(np.array([100.0, 0, 0])))
    >>> again = Contributions.read(held.stored(bytes(32)), bytes(32))
    >>> again.hashes.tolist(), again.amounts.round(-1).tolist()
    ([7, 0, 9], [100.0, 0.0, 0.0])
    """

    places: Ints | None
    hashes: Hashes
    sizes: Sizes

    @property
    def amounts(self) -> Floats:
        """Sizes of the contributions, to about 1 %."""
        exact = np.exp2((self.sizes.astype(np.float64) - MIDDLE) / STEPS)
        return np.where(self.sizes > 0, exact, 0.0)

    @classmethod
    def of(
        cls, query: Query, part: Partition, hidden: Bools, numbers: Ints, words: Words, key: bytes
    ) -> Contributions:
        """What each unit adds to the shown cells of a query; ``words`` are the hashes of all units."""
        assert query.value is not None
        value = query.value
        if part.simple:
            there = ~np.isnan(value) & (part.layers[0][numbers] > 0)
            sums = summed(numbers[there], value[there], len(words))
            inside = np.flatnonzero(part.layers[0])
            hashes, sizes = np.zeros(len(words), np.uint32), np.zeros(len(words), np.uint16)
            hashes[inside] = value_words(words[inside], sums[inside], key)
            sizes[inside] = sizes_of(sums[inside])
            return cls(None, hashes, sizes)
        start, keys, amounts = 0, [], []
        for over in query.parts:
            codes = query.collapsed(over).astype(np.int64)
            there = ~np.isnan(value) & (codes >= 0)
            there[there] = ~hidden[codes[there] + start]
            keys.append(numbers[there] * np.int64(part.cells) + (codes[there] + start) * fineness(query))
            amounts.append(value[there])
            start += query.size(over)
        places, at = np.unique(np.concatenate(keys), return_inverse=True)
        sums = summed(at.ravel(), np.concatenate(amounts), len(places))
        return cls(places, value_words(words[places // part.cells], sums, key), sizes_of(sums))

    def by_place(self, part: Partition) -> Contributions:
        """The same by (unit, cell)."""
        if self.places is not None:
            return self
        layer = part.layers[0]
        who = np.flatnonzero(layer[: len(self.hashes)])
        places = who * np.int64(part.cells) + layer[who].astype(np.int64) - 1
        return Contributions(places, self.hashes[who], self.sizes[who])

    def resized(self, units: int) -> Contributions:
        """The same over more units."""
        more = units - len(self.hashes)
        if self.places is not None or more <= 0:
            return self
        return replace(self, hashes=np.pad(self.hashes, (0, more)), sizes=np.pad(self.sizes, (0, more)))

    def joined(self, other: Contributions) -> Contributions | None:
        """Both in one, if they never differ about a unit; else None."""
        if self.places is not None or other.places is not None:
            return None
        units = max(len(self.hashes), len(other.hashes))
        one, two = self.resized(units), other.resized(units)
        both = (one.hashes > 0) & (two.hashes > 0)
        if not both.any() or not np.array_equal(one.hashes[both], two.hashes[both]):
            return None
        if not (two.hashes[~both] > 0).any():
            return self
        fresh = two.hashes > 0
        return replace(
            one,
            hashes=np.where(fresh, two.hashes, one.hashes),
            sizes=np.where(fresh, two.sizes, one.sizes),
        )

    def stored(self, key: bytes) -> bytes:
        """As bytes under the key."""
        places = b"" if self.places is None else self.places.astype(np.int64).tobytes()
        body = b"".join([
            len(places).to_bytes(8, "little"), len(self.hashes).to_bytes(8, "little"), places,
            self.hashes.tobytes(), self.sizes.tobytes(),
        ])  # fmt: skip
        squeezed = bytes(pa.compress(body, codec="zstd", asbytes=True))
        nonce = secrets.token_bytes(NONCE)
        return nonce + len(body).to_bytes(8, "little") + masked(squeezed, key, nonce.hex())

    @classmethod
    def read(cls, data: bytes, key: bytes) -> Contributions:
        """Read back what `stored` wrote."""
        nonce, size = data[:NONCE], int.from_bytes(data[NONCE : NONCE + 8], "little")
        body = pa.decompress(masked(data[NONCE + 8 :], key, nonce.hex()), size, codec="zstd", asbytes=True)
        first, number = (int.from_bytes(body[8 * i : 8 * i + 8], "little") for i in range(2))
        places = np.frombuffer(body, np.int64, first // 8, 16) if first else None
        hashes = np.frombuffer(body, np.uint32, number, 16 + first)
        return cls(places, hashes, np.frombuffer(body, np.uint16, number, 16 + first + 4 * number))


def summed(keys: Ints, values: Floats, size: int) -> Floats:
    """Sums by key that do not depend on the order of the rows, to the last digit.

    Examples
    --------
    >>> keys, values = np.array([0, 0, 0, 1]), np.array([0.1, 0.2, 0.3, 5.0])
    >>> bool((summed(keys, values, 2) == summed(keys[::-1], values[::-1], 2)).all())
    True
    """
    several = np.flatnonzero((np.bincount(keys, minlength=size) > 1)[keys])
    if len(several):
        own = several[np.lexsort((values[several], keys[several]))]
        rest = np.ones(len(keys), np.bool_)
        rest[several] = False
        keys, values = np.concatenate([keys[rest], keys[own]]), np.concatenate([values[rest], values[own]])
    return np.asarray(np.bincount(keys, values, size), np.float64)


def sizes_of(values: Floats) -> Sizes:
    """Coarse sizes of numbers.

    Examples
    --------
    >>> sizes_of(np.array([0.0, 1.0, -2.0])).tolist()
    [0, 32768, 32832]
    """
    with np.errstate(divide="ignore"):
        steps = np.rint(STEPS * np.log2(np.abs(values))) + MIDDLE
    return np.where(values == 0, 0, np.clip(steps, 1, 65_535)).astype(np.uint16)


def shared(new: Contributions, old: Contributions, units: int) -> tuple[Bools, Bools]:
    """Units that are in both, and those of them that contribute the same (both by unit's number)."""
    one, two = new.resized(units).hashes, old.resized(units).hashes
    both = (one > 0) & (two > 0)
    return both, both & (one == two)
