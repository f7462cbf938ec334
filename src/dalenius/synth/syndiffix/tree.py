"""`Tree`: all cells of one combination of columns, as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dalenius.synth.syndiffix._kernels.refining import Arena
from dalenius.synth.syndiffix._kernels.trees import (
    CODE,
    DEPTH,
    FIRST,
    FLAGS,
    KIDS,
    LEVELS,
    LOW,
    ROWS,
    SINGULAR,
    STUB,
    UNITS,
)

LINKS = np.array([FIRST, KIDS, CODE, FLAGS])


@dataclass(frozen=True, eq=False, repr=False)
class Tree:
    """Nodes of one tree; node 0 is the root, siblings have consecutive numbers.

    Attributes
    ----------
    columns
        Positions of its columns, ascending.
    ints, wide
        Node tables (see ``trees/_kernels.py``).
    noisy
        Noisy row count of each node.
    seeds
        Seed of each node's cell.
    arena
        Buckets, once harvested.
    collapsed
        Whether equal rows were put together before it was grown.
    """

    columns: tuple[int, ...]
    ints: npt.NDArray[np.int32]
    wide: npt.NDArray[np.int64]
    noisy: npt.NDArray[np.float64]
    seeds: npt.NDArray[np.uint64]
    arena: Arena | None = None
    collapsed: bool = False

    def __len__(self) -> int:
        return len(self.ints)

    @property
    def depth(self) -> npt.NDArray[np.int32]:
        """Depth of each node."""
        return self.ints[:, DEPTH]

    @property
    def rows(self) -> npt.NDArray[np.int64]:
        """True row count of each node (confidential)."""
        return self.wide[:, ROWS]

    @property
    def units(self) -> npt.NDArray[np.int64]:
        """True number of distinct units of each node, first unit column (confidential)."""
        return self.wide[:, UNITS]

    @property
    def is_leaf(self) -> npt.NDArray[np.bool_]:
        """Nodes without children."""
        return self.ints[:, KIDS] == 0

    @property
    def is_low(self) -> npt.NDArray[np.bool_]:
        """Nodes that the low-count test suppresses."""
        return (self.ints[:, FLAGS] & LOW) > 0

    @property
    def is_stub(self) -> npt.NDArray[np.bool_]:
        """Nodes whose subnodes are all too small."""
        return (self.ints[:, FLAGS] & STUB) > 0

    @property
    def is_singular(self) -> npt.NDArray[np.bool_]:
        """Nodes with a single value in every dimension."""
        return (self.ints[:, FLAGS] & SINGULAR) > 0

    def side(
        self, dimension: int
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Cell number, smallest and largest code of each node in one dimension."""
        d = len(self.columns)
        end = self.wide.shape[1] - 3 * d
        return (
            self.wide[:, end + dimension],
            self.wide[:, end + d + dimension],
            self.wide[:, end + 2 * d + dimension],
        )

    @property
    def links(self) -> npt.NDArray[np.int32]:
        """First child, number of children, code and flags: what the trees above need."""
        return self.ints[:, LINKS]

    def node_set(self) -> set[tuple[int, ...]]:
        """Every node as (depth, cell per dimension, rows, leaf), for comparisons."""
        cells = [self.side(j)[0] for j in range(len(self.columns))]
        table = np.column_stack([self.depth, *cells, self.rows, self.is_leaf])
        return {tuple(row) for row in table.tolist()}


WHOLE = 1 << LEVELS
