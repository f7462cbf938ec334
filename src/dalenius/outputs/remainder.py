"""What one output leaves of another: a table of the people who are in one only, which two tables give by subtraction.

Each of its cells may hold enough people, or nobody, and the whole still tell what everybody of a group has: it is
looked at as if it had been made as a table (empty and full cells, values that all or all but few share).
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence

import numpy as np

from dalenius.outputs.policy import Policy
from dalenius.outputs.query import ALL, Floats, Ints
from dalenius.tables._largest import largest_in_rows

EXACT = 64.0
"""Whole numbers up to here have sizes of their own in the memory, which keeps sizes to about 1 %."""


def left_over(table: Ints) -> Ints:
    """People of each row's cell who are in no column; -1 where the columns do not tell how many.

    Rows and columns are cells of two outputs, row and column 0 people in no cell. A row is known if the columns that
    touch it lie in it altogether.

    Examples
    --------
    >>> left_over(np.array([[0, 0, 0], [0, 40, 0], [17, 0, 60]])).tolist()
    [0, 17]
    """
    whole = table.sum(axis=0)
    apart = (table[1:, 1:] > 0) & (table[1:, 1:] != whole[None, 1:])
    return np.where(apart.any(axis=1), -1, table[1:, 0])


def telling(table: Ints, shape: Sequence[int], policy: Policy) -> tuple[list[int], list[int]]:
    """Rows of a joint table that tell what everybody, or nobody, of those left over has; and the dimensions it is of.

    Cells without anybody are none of the table; a line of cells that are left over as a whole, or not at all, tells no
    more than the output did alone.

    Examples
    --------
    >>> joint = np.array([[0, 0, 0], [0, 40, 0], [17, 0, 60]])
    >>> telling(joint, (2,), Policy()), telling(joint, (2,), Policy(zeros=False, full_cells=False))
    (([2], [0]), ([], []))
    >>> telling(np.array([[0, 0, 0], [0, 40, 0], [77, 0, 0]]), (2,), Policy())
    ([], [])
    """
    cells = math.prod(shape)
    if not shape or len(table) < cells + 1 or not table[1:, 1:].any():
        return [], []
    rest, held = left_over(table)[:cells].reshape(shape), table[1 : cells + 1].sum(axis=1).reshape(shape)
    hit, axes = np.zeros(shape, np.bool_), []
    for axis in range(len(shape)):
        there = (rest > 0).sum(axis=axis, keepdims=True)
        known = ~(rest < 0).any(axis=axis, keepdims=True) & ((held > 0).sum(axis=axis, keepdims=True) > 1)
        part = ((rest > 0) & (rest < held)).any(axis=axis, keepdims=True)
        full = (there == 1) & policy.full_cells
        if axis == len(shape) - 1 and policy.zeros:
            full = full | ((rest == 0) & (held > 0)).any(axis=axis, keepdims=True)
        told = known & part & full & (there > 0) & (rest > 0)
        hit |= told
        axes += [axis] if told.any() else []
    return (np.flatnonzero(hit.ravel()) + 1).tolist(), axes


def shape_of(labels: str, cells: int) -> tuple[int, ...]:
    """Shape of an earlier output by the labels of its cells; one line of cells where they are no full table.

    Examples
    --------
    >>> shape_of('[["a", "x"], ["a", "y"], ["b", "x"], ["b", "y"], ["a", "All"], ["b", "All"]]', 6)
    (2, 2)
    >>> shape_of('[["All"]]', 1)
    (1,)
    """
    inner = [row for row in json.loads(labels) if ALL not in row]
    shape = tuple(len(set(column)) for column in zip(*inner, strict=True))
    return shape if inner and math.prod(shape) == len(inner) else (cells,)


def alike(amounts: Floats, policy: Policy) -> bool:
    """Whether all of some people, or all but few, contribute the same (small numbers: others are known coarsely only).

    Examples
    --------
    >>> alike(np.ones(17), Policy()), alike(np.arange(17.0), Policy())
    (True, False)
    """
    if not policy.all_same or len(amounts) < 2 or amounts.max() >= EXACT:
        return False
    same = max(int((amounts == amounts.min()).sum()), int((amounts == amounts.max()).sum()))
    return len(amounts) - same < policy.threshold and 2 * same >= len(amounts)


class Left:
    """What a difference leaves, as the rules of tables see it."""

    def __init__(self, values: Floats) -> None:
        self.values, self.total, self.number = values, np.array([values.sum()]), np.array([len(values)])

    def largest_sum(self, count: int) -> Floats:
        """Sum of the largest of them."""
        return largest_in_rows(np.array([0, len(self.values)]), self.values, count).sum(axis=1)
