"""`Smooth`: a column of smooth numbers as normal scores and back; which columns are smooth, and which are heaped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from dalenius.data.schema import Kind
from dalenius.data.vector import AnyArray, BoolArray, Vector
from dalenius.synth._store import stored
from dalenius.synth.sequential.planning import SPIKE_SHARE

FEWEST = 100
"""Numbers below which a column is left to the trees: a stream learnt from fewer says little."""
COMMON, HEAPED = 20, 0.25
"""A column is heaped where its so many commonest numbers (spikes aside) hold at least this share of its rows."""

Floats = npt.NDArray[np.float64]


@stored
@dataclass(frozen=True, eq=False, repr=False)
class Smooth:
    """A column whose numbers are drawn by the flow.

    Attributes
    ----------
    spikes
        Numbers that stand for something of their own, such as 0; trees draw them.
    values
        All other numbers, in order.
    """

    name: str
    spikes: AnyArray
    values: AnyArray

    @classmethod
    def of(cls, vector: Vector) -> Smooth:
        """Spikes and sorted numbers of a column.

        Examples
        --------
        >>> from dalenius.data.table import Table
        >>> pay = [0] * 50 + list(range(1000, 1150))
        >>> Smooth.of(Table.from_frame({"pay": pay})["pay"]).spikes.tolist()
        [0]
        """
        distinct, times = np.unique(vector.values, return_counts=True)
        spikes = (
            distinct[times >= SPIKE_SHARE * max(len(vector.values), 1)] if len(distinct) > 2 else distinct[:0]
        )
        return cls(vector.column.name, spikes, np.sort(vector.data[ordinary(vector, spikes)]))

    @property
    def heaped(self) -> bool:
        """Whether few numbers hold many rows, so that a stream would wash out what people say."""
        times = np.sort(np.unique(self.values, return_counts=True)[1])
        return bool(times[-COMMON:].sum() >= HEAPED * len(self.values))

    def scores(self, vector: Vector, rng: np.random.Generator) -> tuple[Floats, BoolArray]:
        """Normal scores of the numbers, ties in any order, and where there are any; noise stands elsewhere."""
        here = ordinary(vector, self.spikes)
        numbers = vector.data[here]
        order = np.lexsort((rng.random(len(numbers)), numbers))
        scores = np.empty(len(numbers))
        scores[order] = ndtri((np.arange(len(numbers)) + 0.5) / max(len(numbers), 1))
        every = rng.standard_normal(len(vector))
        every[here] = scores
        return every, here

    def numbers(self, scores: Floats) -> AnyArray:
        """The numbers at these scores: numbers of the column that was learnt from."""
        return self.values[
            np.clip((ndtr(scores) * len(self.values)).astype(np.int64), 0, len(self.values) - 1)
        ]


def ordinary(vector: Vector, spikes: AnyArray) -> BoolArray:
    """Cells that hold a finite number which is no spike."""
    here = vector.present & ~np.isin(vector.data, spikes)
    return here & np.isfinite(vector.data) if vector.data.dtype.kind == "f" else here


def can_flow(vector: Vector) -> bool:
    """Whether a column holds numbers that stand by themselves: no moments, no half of a point, nothing nested."""
    column = vector.column
    plain = (
        column.kind in (Kind.CONTINUOUS, Kind.INTEGER) and column.parent is None and column.partner is None
    )
    return plain and len(vector.values) >= FEWEST
