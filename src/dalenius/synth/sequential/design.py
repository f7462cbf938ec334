"""`Design`: the columns visited so far, as tree codes and as a model matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dalenius.data.vector import AnyArray, IntArray, Vector
from dalenius.synth._store import stored
from dalenius.synth.sequential.coding import Coder, Codes

Floats = npt.NDArray[np.float64]
CHUNK = 100_000
MAX_DUMMIES = 100
"""Levels of one category that a regression tells apart; rarer ones join the reference level."""


class Design:
    """Rows of the columns in visit order; columns are filled in one after the other while sampling."""

    def __init__(self, coders: Sequence[Coder], rows: int) -> None:
        self.coders = list(coders)
        self.rows = rows
        self.codes: Codes = np.zeros((len(coders), rows), np.uint16)
        self.vectors: dict[int, Vector] = {}
        self.sizes: IntArray = np.array([c.size for c in coders], np.int64)
        self.unordered: AnyArray = np.array([c.unordered for c in coders], bool)

    def fill(self, place: int, vector: Vector) -> None:
        """Set the column at one place of the visit sequence."""
        self.vectors[place] = vector
        for start in range(0, len(vector), CHUNK):  # some at a time: codes are made in wider types
            part = slice(start, start + CHUNK)
            state = None if vector.state is None else vector.state[part]
            self.codes[place, part] = self.coders[place].codes(
                Vector(vector.column, vector.data[part], state)
            )

    def keep(self, rows: IntArray) -> None:
        """Go on with some rows only."""
        self.rows = len(rows)
        self.codes = np.ascontiguousarray(self.codes[:, rows])
        self.vectors = {place: vector.take(rows) for place, vector in self.vectors.items()}

    def group_codes(self, places: Sequence[int]) -> npt.NDArray[np.int64]:
        """One number per row for the combination of some columns."""
        joint = np.zeros(self.rows, np.int64)
        for place in places:
            joint = joint * int(self.sizes[place]) + self.codes[place]
        return joint


def deviation(values: AnyArray) -> float:
    """Standard deviation, also of numbers whose squares are too large for a double.

    Examples
    --------
    >>> deviation(np.array([0.0, 2e300])) == 1e300
    True
    """
    largest = float(np.abs(values.astype(np.float64)).max(initial=0.0))
    return float((values / largest).std() * largest) if largest > 1e100 else float(values.std())


@stored
@dataclass(frozen=True, eq=False, repr=False)
class Terms:
    """How predictors enter a regression: numbers centred and scaled, categories as indicators.

    A number with gaps enters as 0 (its mean) where it has none, beside one indicator for each kind of gap.
    """

    places: tuple[int, ...]
    centre: Floats
    scale: Floats
    levels: tuple[tuple[int, ...], ...]

    @classmethod
    def fit(cls, design: Design, places: Sequence[int], rows: IntArray) -> Terms:
        """Choose the terms from the rows of the original that a model is fitted on."""
        centre, scale = np.zeros(len(places)), np.ones(len(places))
        levels: list[tuple[int, ...]] = []
        for i, place in enumerate(places):
            coder = design.coders[place]
            times = np.bincount(design.codes[place, rows], minlength=coder.size)
            if coder.edges is None:
                often = [int(c) for c in np.argsort(-times, kind="stable")[: MAX_DUMMIES + 1] if times[c] > 0]
                levels.append(tuple(sorted(often[1:])))
                continue
            vector = design.vectors[place].take(rows)
            known = vector.values.astype(np.float64)
            known = known[np.isfinite(known)]
            if len(known):
                centre[i], scale[i] = known.mean(), deviation(known) or 1.0
            gaps = [c for c in range(coder.gaps) if times[c] > 0]
            levels.append(tuple(gaps if len(known) else gaps[1:]))
        return cls(tuple(places), centre, scale, tuple(levels))

    def matrix(self, design: Design, rows: IntArray) -> Floats:
        """Model matrix with an intercept in front."""
        blocks: list[Floats] = [np.ones((len(rows), 1))]
        for i, place in enumerate(self.places):
            codes = design.codes[place, rows]
            if design.coders[place].edges is not None:
                number = (design.vectors[place].data[rows] - self.centre[i]) / self.scale[i]
                state = design.vectors[place].state
                if state is not None:
                    number[state[rows] > 0] = 0.0
                blocks.append(np.nan_to_num(number, posinf=10.0, neginf=-10.0)[:, None])
            if self.levels[i]:
                blocks.append((codes[:, None] == np.array(self.levels[i], np.uint16)).astype(np.float64))
        return np.hstack(blocks)
