"""`Coding`: a table as a network sees it. Each column is one entry of several, some of which have a place besides.

Entries of a category are its levels; of a number its modes, and each number that stands for something of its own (0,
"none", 99). Gaps and special codes are entries of their own, whatever the column.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dalenius.core.random import Seed, generator
from dalenius.data.schema import Column, Schema
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, BoolArray, IntArray, Vector, states
from dalenius.synth._store import stored
from dalenius.synth.deep.scales import Mixture, Scores
from dalenius.synth.sequential.finishing import Finish
from dalenius.synth.sequential.planning import SPIKE_SHARE

FEW = 20
"""Different numbers up to which each is an entry of its own."""
SEVERAL = 3
"""Rows that must share a number for others to be moved to it."""
LEVELS = 256
"""Levels that are told apart; rarer ones are one entry, and drawn as often as they occur."""

Floats = npt.NDArray[np.float32]


@stored
@dataclass(frozen=True, eq=False, repr=False)
class Part:
    """Entries of one column: its states that are no values, then single values, rare levels as one, and modes.

    Attributes
    ----------
    gaps
        States other than an ordinary value that occur.
    values
        Levels, or numbers that stand for something of their own, ascending.
    rare, times
        Levels that share an entry, and how often each occurs.
    scale, finish
        How other numbers are placed, and made fit to stand in the column again.
    """

    name: str
    dtype: str
    gaps: npt.NDArray[np.uint8]
    values: AnyArray
    rare: AnyArray
    times: IntArray
    scale: Mixture | Scores | None
    finish: Finish | None

    @classmethod
    def fit(cls, vector: Vector, scores: bool) -> Part:
        """Entries of a column; ``scores`` places numbers by normal scores, not by modes.

        Examples
        --------
        >>> table = Table.from_frame({"pay": [0, 0, 0, None, *range(100, 130)], "sex": ["f", "m"] * 17})
        >>> part = Part.fit(table["pay"], scores=True)
        >>> part.values.tolist(), part.gaps.tolist(), part.size, Part.fit(table["sex"], True).size
        ([], [1], 2, 2)
        """
        gaps = np.unique(states(vector)[~vector.present])
        distinct, times = np.unique(vector.values, return_counts=True)
        none, of = np.zeros(0, np.int64), (vector.column.name, vector.data.dtype.str, gaps)
        if not vector.is_number:
            order = np.argsort(-times, kind="stable")
            told = order if len(order) <= LEVELS else order[: LEVELS - 1]
            shared = np.sort(order[len(told) :])
            return cls(*of, distinct[np.sort(told)], distinct[shared], times[shared], None, None)
        own = ~np.isfinite(distinct) if distinct.dtype.kind == "f" else np.zeros(len(distinct), bool)
        own |= (times >= SPIKE_SHARE * max(times.sum(), 1)) | (len(distinct) <= FEW)
        rest = vector.values[~np.isin(vector.values, distinct[own])].astype(np.float64)
        if not len(rest):
            return cls(*of, distinct, none, none, None, None)
        finish = replace(Finish.fit(vector, "none", exact=False), places=_shared(rest))
        scale = Scores.fit(rest, heaped=len(finish.places) > 0) if scores else Mixture.fit(rest)
        return cls(*of, distinct[own], none, none, scale, finish)

    @property
    def size(self) -> int:
        """Number of entries, one at least."""
        return max(self.first_mode + (0 if self.scale is None else self.scale.size), 1)

    @property
    def first_mode(self) -> int:
        """Place of the first mode, where there is one."""
        return len(self.gaps) + len(self.values) + bool(len(self.rare))

    def coded(self, vector: Vector, rng: np.random.Generator) -> tuple[IntArray, Floats]:
        """Entry of each cell, and its place (0 where the entry has none)."""
        codes, places = np.zeros(len(vector), np.int64), np.zeros(len(vector), np.float32)
        state = states(vector)
        codes[~vector.present] = np.minimum(np.searchsorted(self.gaps, state[~vector.present]), self.size - 1)
        at = np.searchsorted(self.values, vector.data)
        known = vector.present & (at < len(self.values))
        known[known] = self.values[at[known]] == vector.data[known]
        codes[known] = len(self.gaps) + at[known]
        rest = np.flatnonzero(vector.present & ~known)
        if self.scale is not None and len(rest):
            modes, where = self.scale.placed(vector.data[rest].astype(np.float64), rng)
            codes[rest], places[rest] = self.first_mode + modes, where
        else:
            codes[rest] = self.size - 1
        return codes, places

    def drawn(self, codes: IntArray, places: Floats, column: Column, rng: np.random.Generator) -> Vector:
        """Cells of entries and places."""
        state, data = np.zeros(len(codes), np.uint8), np.zeros(len(codes), self.dtype)
        gap = codes < len(self.gaps)
        state[gap] = self.gaps[codes[gap]]
        place = codes - len(self.gaps)
        own = ~gap & (place < len(self.values))
        data[own] = self.values[place[own]]
        rest = np.flatnonzero(~gap & ~own)
        if self.scale is not None and self.finish is not None:
            numbers = self.scale.values(codes[rest] - self.first_mode, places[rest].astype(np.float64))
            data[rest] = self.finish.apply(numbers, None)
        elif len(self.rare):
            ends = np.cumsum(self.times)
            data[rest] = self.rare[np.searchsorted(ends, rng.random(len(rest)) * ends[-1], side="right")]
        return Vector(column, data, state).tidy()


def _shared(numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Numbers that others are moved to: those of several rows, where most rows have such a one; none elsewhere."""
    distinct, times = np.unique(numbers, return_counts=True)
    several = times >= SEVERAL
    return distinct[several if times[several].sum() >= 0.5 * len(numbers) else np.zeros(len(several), bool)]


@stored
@dataclass(frozen=True, eq=False, repr=False)
class Coding:
    """All columns of a table, side by side."""

    parts: list[Part]

    @classmethod
    def fit(cls, table: Table, scores: bool = False) -> Coding:
        """Entries and scales of every column."""
        return cls([Part.fit(table[name], scores) for name in table.names])

    @property
    def sizes(self) -> list[int]:
        """Entries of each column."""
        return [part.size for part in self.parts]

    @property
    def starts(self) -> IntArray:
        """Place of each column's first entry among all."""
        return np.concatenate([[0], np.cumsum(self.sizes)])[:-1].astype(np.int64)

    @property
    def placed(self) -> list[int]:
        """Columns that have places."""
        return [i for i, part in enumerate(self.parts) if part.scale is not None]

    def carries(self) -> BoolArray:
        """For each entry and each column with places: whether the entry has one there."""
        marks = np.zeros((sum(self.sizes), len(self.placed)), bool)
        for place, i in enumerate(self.placed):
            first = self.starts[i]
            marks[first + self.parts[i].first_mode : first + self.parts[i].size, place] = True
        return marks

    def coded(self, table: Table, seed: Seed) -> tuple[IntArray, Floats]:
        """Entries (a column each) and places (a column each that has them) of every row."""
        pairs = [part.coded(table[part.name], generator(seed, "code", part.name)) for part in self.parts]
        codes = np.column_stack([codes for codes, _ in pairs]).reshape(table.rows, len(self.parts))
        held = [pairs[i][1] for i in self.placed]
        return codes, np.column_stack(held) if held else np.zeros((table.rows, 0), np.float32)

    def drawn(self, codes: IntArray, places: Floats, schema: Schema, seed: Seed) -> list[Vector]:
        """Columns of entries and places."""
        where = {i: places[:, at] for at, i in enumerate(self.placed)}
        empty = np.zeros(len(codes), np.float32)
        return [
            part.drawn(
                codes[:, i], where.get(i, empty), schema[part.name], generator(seed, "cell", part.name)
            )
            for i, part in enumerate(self.parts)
        ]
