"""Units of protection: who owns which rows, and the hashes that noise is made of."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dalenius.data.decode import entries
from dalenius.data.vector import VALUE, Vector
from dalenius.synth.syndiffix._kernels.counting import hash_numbers
from dalenius.synth.syndiffix.noise import derive


@dataclass(frozen=True, eq=False, repr=False)
class Units:
    """The units of the rows (or of groups of equal rows).

    With one row per unit, ``counts`` and ``hashes`` are the number of units of each item and their combined hash and
    ``codes`` is empty. Otherwise ``codes`` numbers the unit of each row, one line per unit column, -1 where there is
    none, and ``code_hashes`` are the units' hashes.
    """

    counts: npt.NDArray[np.int64]
    hashes: npt.NDArray[np.int64]
    codes: npt.NDArray[np.int32]
    code_hashes: npt.NDArray[np.int64]

    @classmethod
    def of_rows(cls, rows: int, salt: bytes) -> Units:
        """Each row is a unit, known by its number.

        Examples
        --------
        >>> Units.of_rows(3, b"secret").counts.tolist()
        [1, 1, 1]
        """
        return cls.single(np.ones(rows, np.int64), row_hashes(salt, 0, rows))

    @classmethod
    def single(cls, counts: npt.NDArray[np.int64], hashes: npt.NDArray[np.int64]) -> Units:
        """Units with one row each, given by counts and combined hashes."""
        return cls(counts, hashes, np.zeros((0, len(counts)), np.int32), np.zeros((0, 0), np.int64))

    @classmethod
    def of_columns(cls, vectors: Sequence[Vector], salt: bytes) -> Units:
        """Units named by one or several columns; a missing name means a row without a unit."""
        coded = [unit_codes(vector) for vector in vectors]
        key = unit_key(salt)
        hashed = [np.array([unit_hash(text, key) for text in texts], np.int64) for _, texts in coded]
        rows = len(coded[0][0])
        if len(coded) == 1 and len(hashed[0]) == rows and np.all(coded[0][0] >= 0):
            return cls.single(np.ones(rows, np.int64), hashed[0][coded[0][0]])
        table = np.zeros((len(hashed), max(1, *(len(h) for h in hashed))), np.int64)
        for line, hashes in zip(table, hashed, strict=True):
            line[: len(hashes)] = hashes
        codes = np.array([codes for codes, _ in coded], np.int32)
        return cls(np.ones(rows, np.int64), np.zeros(rows, np.int64), codes, table)

    @property
    def is_single(self) -> bool:
        """Whether every unit has one row."""
        return len(self.codes) == 0

    def take(self, rows: npt.NDArray[np.int64]) -> Units:
        """The units of some rows."""
        return Units(
            self.counts[rows], self.hashes[rows], np.ascontiguousarray(self.codes[:, rows]), self.code_hashes
        )


def row_hashes(salt: bytes, first: int, count: int) -> npt.NDArray[np.int64]:
    """Hashes of rows that are units of their own, by their numbers.

    Examples
    --------
    >>> bool(row_hashes(b"secret", 0, 3)[2] == row_hashes(b"secret", 2, 1)[0])
    True
    """
    key = np.frombuffer(derive(salt, "rows", 16), "<u8").astype(np.uint64)
    return np.asarray(hash_numbers(key, first, count))


def unit_codes(vector: Vector) -> tuple[npt.NDArray[np.int32], list[str]]:
    """Number of each row's unit (-1: none), and the units' names as text."""
    if vector.is_number:
        distinct, inverse = np.unique(vector.values, return_inverse=True)
        codes = np.full(len(vector), -1, np.int32)
        codes[vector.present] = inverse
        return codes, [str(value) for value in distinct.tolist()]
    values, places = entries(vector)
    if vector.state is not None:
        places = np.where(vector.state == VALUE, places, -1)
    used, inverse = np.unique(places, return_inverse=True)
    codes = inverse.astype(np.int32) - (1 if len(used) and used[0] < 0 else 0)
    return codes, [str(values[i]) for i in used.tolist() if i >= 0]


def unit_hash(text: str, key: str) -> int:
    """Keyed 64-bit hash of a unit's name, made so that a database can compute the same (`gridded`).

    Examples
    --------
    >>> unit_hash("anna", unit_key(b"secret")) == unit_hash("anna", unit_key(b"other"))
    False
    """
    digest = hashlib.md5((key + text).encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[8:], "little", signed=True)


def unit_key(salt: bytes) -> str:
    """Key that is put in front of a unit's name before hashing."""
    return derive(salt, "units", 16).hex() + ":"
