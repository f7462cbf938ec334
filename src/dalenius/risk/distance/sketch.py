"""`Sketch`: records in 8 bits a column, from which lower bounds of distances are read 32 records at a time.

Distances are sums over columns, measured here in whole units. A number is the step of a unit or more on which it
stands: two numbers are at least as many units apart as there are steps between theirs. A category is its last 8 bits:
where they differ, so do the categories. A gap stands a step above the largest value, which is never too far from
anything.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dalenius.data.vector import AnyArray, IntArray

FINEST = 126
"""Steps of the heaviest column at most, so that a gap has room above them."""
REACH = 250
"""Units within which distances can be told apart; what is farther than 255 is 255."""


@dataclass(frozen=True, eq=False)
class Sketch:
    """Records by column, runs of them in boxes, and how queries are sketched alike; categories come first."""

    unit: float
    worth: tuple[IntArray, IntArray]
    gap: float
    records: AnyArray
    boxes: tuple[IntArray, AnyArray, AnyArray]

    @classmethod
    def reaching(
        cls, distance: float, weights: tuple[AnyArray, AnyArray], gap: float, records: tuple[AnyArray, AnyArray],
        starts: IntArray,
    ) -> Sketch:  # fmt: skip
        """The finest sketch that tells distances up to this one apart.

        Parameters
        ----------
        weights, records
            Of categories, then of numbers between 0 and 1; numbers of ``gap`` or more are gaps.
        starts
            Where the boxes begin, and the end of the last one.

        Examples
        --------
        >>> records = np.array([[3], [3], [4]]), np.array([[0.0], [0.5], [1.0]])
        >>> sketch = Sketch.reaching(1.0, (np.array([0.5]), np.array([0.5])), 10.0, records, np.array([0, 2, 3]))
        >>> sketch.unit, sketch.records.tolist(), sketch.boxes[2].tolist()
        (0.004, [[3, 3, 4], [0, 62, 125]], [[3, 4], [62, 125]])
        """
        unit = max(distance / REACH, *(w.max(initial=0.0) / FINEST for w in weights))
        # a quotient that is whole but for rounding counts as whole: the search allows for so little
        cat_worth, num_worth = (np.floor(w / unit * (1 + 1e-12)).astype(np.int64) for w in weights)
        held = np.ascontiguousarray(sketched(*records, cat_worth, num_worth, gap).T)
        low, high = (f.reduceat(held, starts[:-1], axis=1) for f in (np.minimum, np.maximum))
        return cls(float(unit), (cat_worth, num_worth), gap, held, (starts, low, high))

    def queries(self, cat: AnyArray, num: AnyArray) -> AnyArray:
        """Other records, sketched alike, row by row."""
        return sketched(cat, num, *self.worth, self.gap)

    @property
    def cost(self) -> AnyArray:
        """Units added where categories differ; 0 for numbers."""
        return np.concatenate([self.worth[0], np.zeros_like(self.worth[1])]).astype(np.uint8)


def sketched(cat: AnyArray, num: AnyArray, cat_worth: IntArray, num_worth: IntArray, gap: float) -> AnyArray:
    """Records in 8 bits a column; ``worth`` is what a column adds at most, in units."""
    steps = np.floor(np.clip(num, 0.0, 1.0) * num_worth)
    steps = np.where(num >= gap, num_worth + 1, steps)
    codes = np.where(cat_worth > 0, cat & 0xFF, 0)
    return np.concatenate([codes.astype(np.uint8), steps.astype(np.uint8)], axis=1)
