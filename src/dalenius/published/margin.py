"""`Margin`: one published table of counts, cell by cell, with what is known of each cell and of whom it speaks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from dalenius.core.errors import OptionError
from dalenius.published.arrays import Bools, Floats, Ints

Kind = Literal["exact", "rounded", "nearest", "cellkey", "noisy"]
NO_LIMIT = 2**40
"""Stands for "nothing is known above": larger than any population, small enough to be added up."""


@dataclass(frozen=True, eq=False)
class Margin:
    """One table of counts as it is out in the world.

    Attributes
    ----------
    columns
        What it crosses.
    groups
        Names of its categories, column by column; a category may stand for several values.
    maps
        For each column, the category of every value of the column; -1 for values the table does not speak of.
    keys
        The cells that are listed: their categories as digits of one number, sorted.
    low, high
        What is known of each listed cell: equal for an exact count, 0 and `NO_LIMIT` for a suppressed one.
    value, scale
        What was printed (NaN where suppressed), and the scale of the noise in it (0 for none).
    complete
        Whether cells that are not listed are empty; otherwise nothing is known of them.
    source, date, where
        Where it comes from, when, and of whom it speaks.
    """

    name: str
    columns: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]
    maps: tuple[Ints, ...]
    keys: Ints
    low: Ints
    high: Ints
    value: Floats
    scale: Floats
    complete: bool = False
    source: str = ""
    date: str = ""
    where: str = ""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of categories of every column."""
        return tuple(len(names) for names in self.groups)

    def places(self, codes: Ints, columns: Sequence[str]) -> Ints:
        """The cell of the table each combination of values falls in: its place in ``keys``.

        -1 where the table does not speak of it, -2 where the cell is not listed.
        """
        inside, key = self.keyed(codes, columns)
        if not len(self.keys):
            return np.where(inside, -2, -1)
        at = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
        return np.where(inside, np.where(self.keys[at] == key, at, -2), -1)

    def keyed(self, codes: Ints, columns: Sequence[str]) -> tuple[Bools, Ints]:
        """Whether the table speaks of each combination of values, and the number of its cell."""
        if not self.columns:
            return np.ones(len(codes), np.bool_), np.zeros(len(codes), np.int64)
        held = np.column_stack(
            [m[codes[:, columns.index(c)]] for c, m in zip(self.columns, self.maps, strict=True)]
        )
        inside: Bools = np.asarray((held >= 0).all(axis=1))
        key = np.ravel_multi_index(tuple(np.where(inside[:, None], held, 0).T), self.shape)
        return inside, np.asarray(key, np.int64)

    def labels(self, places: Ints) -> list[tuple[str, ...]]:
        """The categories of some listed cells, in words."""
        if not self.columns:
            return [() for _ in places]
        codes = np.column_stack(np.unravel_index(self.keys[places], self.shape))
        return [tuple(self.groups[j][c] for j, c in enumerate(row)) for row in codes.tolist()]

    def named(self, place: int) -> str:
        """One cell in words, for a recipe or an error; never its value.

        Examples
        --------
        >>> from dalenius.published import Published
        >>> out = Published.from_tables({"sex": {"sex": ["f", "m"], "n": [3, 4]}})
        >>> out.margins[0].named(1)
        'sex [sex = m]'
        """
        return f"{self.name} [{self.worded(int(self.keys[place])) or 'total'}]"

    def worded(self, key: int) -> str:
        """The categories of a cell, listed or not, in words; nothing for a total."""
        codes = np.unravel_index(key, self.shape) if self.columns else ()
        said = zip(self.columns, self.groups, codes, strict=True)
        return ", ".join(f"{column} = {names[int(code)]}" for column, names, code in said)


def reach_of(kind: Kind, base: int) -> int:
    """How far a count may lie from what was printed."""
    return {"rounded": base - 1, "nearest": base // 2, "cellkey": base}.get(kind, 0)


def known_range(value: Floats, kind: Kind, base: int, scale: float) -> tuple[Ints, Ints]:
    """Between which whole numbers the true counts lie, given what was printed and how it was treated.

    A count rounded to a base, up or down, lies less than the base away from what was printed; one rounded to the
    nearest multiple at most half of it, one moved by a cell key up to its base; a count with noise may be anything.

    Examples
    --------
    >>> low, high = known_range(np.array([3.0, 9.0]), "rounded", 3, 0.0)
    >>> low.tolist(), high.tolist()
    ([1, 7], [5, 11])
    """
    if base < 1:
        raise OptionError("the base of rounding must be a whole number of at least 1")
    open_ended = np.isnan(value) | (kind == "noisy")
    printed = np.nan_to_num(value)
    reach = reach_of(kind, base)
    low = np.where(open_ended, 0, np.maximum(np.rint(printed) - reach, 0)).astype(np.int64)
    high = np.where(open_ended, NO_LIMIT, np.rint(printed) + reach).astype(np.int64)
    return low, high
