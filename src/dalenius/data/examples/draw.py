"""Weighted draws, and the few helpers shared by the example data sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from dalenius.core.errors import OptionError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

NOT_APPLICABLE = -8
"""The one code for "this question does not apply" in every column that has it ('-8' in text columns)."""


def check_size(n: int) -> None:
    """Refuse a number of rows that is negative.

    Examples
    --------
    >>> check_size(10)
    """
    if n < 0:
        raise OptionError(f"n, the number of rows, must be zero or more, got {n}")


def sigmoid(x: ArrayLike) -> Floats:
    """Return the logistic function of `x`.

    Examples
    --------
    >>> float(sigmoid(0.0))
    0.5
    """
    result: Floats = 1.0 / (1.0 + np.exp(-np.asarray(x, dtype=np.float64)))
    return result


def happens(rng: np.random.Generator, chance: Floats) -> Bools:
    """Toss one coin per row, each with its own chance.

    Examples
    --------
    >>> happens(np.random.default_rng(0), np.array([0.0, 1.0])).tolist()
    [False, True]
    """
    result: Bools = rng.random(chance.shape[0]) < chance
    return result


@dataclass(frozen=True)
class Lottery:
    """Weighted draws of an item, with weights that depend on a group.

    The cumulative weights of all groups lie end to end in one sorted array (group g covers g to g + 1),
    so that one binary search draws for all rows of all groups at once.

    Examples
    --------
    >>> lottery = Lottery.of([[1.0, 0.0], [0.0, 1.0]])
    >>> lottery.draw(np.random.default_rng(0), np.array([0, 1, 1])).tolist()
    [0, 1, 1]
    """

    edges: Floats
    last: Ints
    width: int

    @classmethod
    def of(cls, weights: ArrayLike) -> Lottery:
        """Prepare a table of weights with one row per group and one column per item."""
        table = np.atleast_2d(np.asarray(weights, dtype=np.float64))
        groups, width = table.shape
        share = np.cumsum(table, axis=1)
        share /= share[:, -1:]
        # Rounding in g + u may reach the next group: such a draw goes to the last item that has a weight.
        last = width - 1 - np.argmax(table[:, ::-1] > 0, axis=1)
        return cls((share + np.arange(groups)[:, None]).ravel(), last.astype(np.int64), width)

    def draw(self, rng: np.random.Generator, group: Ints) -> Ints:
        """Return one item index per row, `group` being the group of each row."""
        place = np.searchsorted(self.edges, group + rng.random(group.shape[0]), side="right")
        items: Ints = np.minimum(place - group * self.width, self.last[group])
        return items

    def draw_many(self, rng: np.random.Generator, size: int) -> Ints:
        """Return `size` item indices from the first group."""
        return self.draw(rng, np.zeros(size, dtype=np.int64))


def labels(levels: Sequence[str], codes: Ints, *, ordered: bool = False) -> pl.Series:
    """Return the labels of integer codes: an Enum where the order matters, plain text otherwise.

    Examples
    --------
    >>> labels(("no", "yes"), np.array([1, 0])).to_list()
    ['yes', 'no']
    """
    dtype: pl.DataType = pl.Enum(levels) if ordered else pl.String()
    return pl.Series(levels, dtype=dtype).gather(pl.Series(codes))
