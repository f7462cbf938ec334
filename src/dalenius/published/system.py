"""`System`: possible cells and the sums over them that are published, as one sparse system of whole numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from dalenius.core.errors import TableError
from dalenius.published._kernels import propagate
from dalenius.published.arrays import Bools, Ints
from dalenius.published.cells import MOST_CELLS, possible_cells
from dalenius.published.figures import Published
from dalenius.published.margin import NO_LIMIT


@dataclass(frozen=True, eq=False, repr=False)
class System:
    """Sums of cells and between what they lie.

    Attributes
    ----------
    cells
        Codes of the possible cells.
    rows
        Sums × cells, zeros and ones.
    low, high
        What is known of every sum.
    origin
        Margin and place in it of every sum.
    """

    published: Published
    cells: Ints
    rows: sp.csr_matrix
    low: Ints
    high: Ints
    origin: Ints

    @classmethod
    def of(cls, published: Published, most: int = MOST_CELLS) -> System:
        """Set up the system; figures that contradict each other openly are named.

        Examples
        --------
        >>> out = Published.from_tables({"a": {"sex": ["f", "m", "Total"], "n": [3, 4, 8]}})
        >>> System.of(out).bounds()
        Traceback (most recent call last):
        ...
        dalenius.core.errors.TableError: published tables: a [total] disagrees with the other tables
        """
        cells = possible_cells(published, most)
        parts, low, high, origin = [], [], [], []
        for number, margin in enumerate(published.margins):
            place = margin.places(cells, published.columns)
            informed = (margin.low > 0) | (margin.high < NO_LIMIT)
            used = np.flatnonzero(informed)
            row_of = np.full(len(margin.keys), -1, np.int64)
            row_of[used] = np.arange(len(used))
            row = np.where(place >= 0, row_of[np.maximum(place, 0)], -1) if len(margin.keys) else place
            inside = np.flatnonzero(row >= 0)
            ones = np.ones(len(inside), np.int64)
            parts.append(sp.csr_matrix((ones, (row[inside], inside)), shape=(len(used), len(cells))))
            low.append(margin.low[used])
            high.append(margin.high[used])
            origin.append(np.column_stack([np.full(len(used), number), used]))
        rows = sp.csr_matrix(sp.vstack(parts)) if parts else sp.csr_matrix((0, len(cells)), dtype=np.int64)
        return cls(
            published,
            cells,
            rows,
            _joined(low),
            _joined(high),
            np.concatenate([np.zeros((0, 2), np.int64), *origin]),
        )

    def bounds(self) -> tuple[Ints, Ints]:
        """Bounds of every cell that follow from one sum at a time, over and over; contradictions are named."""
        columns = self.rows.tocsc()
        low, high, wrong = propagate(
            self.rows.indptr.astype(np.int64), self.rows.indices.astype(np.int64), columns.indptr.astype(np.int64),
            columns.indices.astype(np.int64), self.low, self.high, self.rows.shape[1], NO_LIMIT,
        )  # fmt: skip
        if wrong >= 0:
            raise TableError("published tables", [f"{self.named(wrong)} disagrees with the other tables"])
        return low, high

    def named(self, row: int) -> str:
        """A published sum in words."""
        number, place = self.origin[row]
        return self.published.margins[number].named(int(place))

    def keeps(self, counts: Ints) -> Bools:
        """Which sums a table of cells meets."""
        sums = np.asarray(self.rows @ counts)
        return np.asarray((sums >= self.low) & (sums <= self.high))


def _joined(parts: list[Ints]) -> Ints:
    return np.concatenate([np.zeros(0, np.int64), *parts])
