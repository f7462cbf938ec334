"""Recipes: which published cells to add and subtract to get the count of a group that was never printed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp

from dalenius.published.arrays import Ints

LARGEST = 4
"""No cell is used more often than this in a recipe."""


@dataclass(frozen=True)
class Recipe:
    """Cells to add and to subtract; with their counts they give the count of the group.

    Examples
    --------
    >>> found = Recipe("aged 80 and over", ("all",), ("aged 0 to 79",), 2, {"all": 99, "aged 0 to 79": 97})
    >>> print(found)
    aged 80 and over = + all − aged 0 to 79 = 2
    >>> found.steps
    [('+', 'all', 99, 99), ('−', 'aged 0 to 79', 97, 2)]
    """

    group: str
    add: tuple[str, ...]
    subtract: tuple[str, ...]
    value: int
    counts: Mapping[str, int] = field(default_factory=dict)
    """The printed count of every cell that is used."""

    @property
    def steps(self) -> list[tuple[str, str, int, int]]:
        """What to do, one cell after the other: its sign, the cell, its count, and what one has then."""
        signed = [*(("+", cell) for cell in self.add), *(("−", cell) for cell in self.subtract)]
        made, total = [], 0
        for sign, cell in signed:
            total += self.counts[cell] if sign == "+" else -self.counts[cell]
            made.append((sign, cell, self.counts[cell], total))
        return made

    def __str__(self) -> str:
        signs = [*(f"+ {cell}" for cell in self.add), *(f"− {cell}" for cell in self.subtract)]
        return f"{self.group} = {' '.join(signs)} = {self.value}"


def fewest_cells(rows: Any, target: Ints) -> Ints | None:
    """How often to add (or subtract) each published sum to get a group, with as few cells as possible.

    ``rows`` are sums × cells, ``target`` is 1 for the cells of the group. None where no such recipe with small whole
    numbers exists.

    Examples
    --------
    >>> fewest_cells(sp.csr_matrix([[1, 1, 1], [1, 1, 0]]), np.array([0, 0, 1])).tolist()
    [1, -1]
    """
    matrix = sp.csr_matrix(rows).astype(np.float64)
    count = matrix.shape[0]
    both = sp.hstack([matrix.T, -matrix.T])
    answer = milp(
        np.ones(2 * count), integrality=np.ones(2 * count), bounds=Bounds(0, LARGEST),
        constraints=LinearConstraint(both, target, target), options={"node_limit": 2000},
    )  # fmt: skip
    if answer.x is None:
        return None
    used = np.rint(answer.x).astype(np.int64)
    times = used[:count] - used[count:]
    whole = np.asarray(sp.csr_matrix(rows).astype(np.int64).T @ times)
    return times if np.array_equal(whole, target) else None
