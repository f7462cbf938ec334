"""Groups of people in words: what is said is the group, neither less nor more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dalenius.published import Margin, Published
from dalenius.published.arrays import Bools, Ints

MOST_VALUES = 4
MOST_PARTS = 8


@dataclass(frozen=True, eq=False)
class Wording:
    """Names groups of the cells where somebody may be."""

    published: Published
    cells: Ints
    listed: Sequence[tuple[Margin, int]] = ()

    def named(self, inside: Bools, cell: int = -1) -> str:
        """The values the people of a group have; where not everybody with them is meant, who is not.

        A group that is a cell of a table has its name: ``cell`` is its place among those that are ``listed``.

        Examples
        --------
        >>> from dalenius.published.cells import possible_cells
        >>> out = Published.from_tables({"t": {"a": list("xxyy"), "b": list("pqpq"), "n": [1, 2, 3, 4]}})
        >>> words = Wording(out, possible_cells(out))
        >>> words.named(np.array([True, True, False, False])), words.named(np.array([True, True, True, False]))
        ('a = x', 'everybody but (a = y, b = q)')
        """
        if cell >= 0:
            margin, key = self.listed[cell]
            return margin.worded(key) or "everybody"
        around = self._around(inside)
        rest = around & ~inside
        if not rest.any():
            return self._box(inside)
        if np.array_equal(self._around(rest), rest):
            return f"{self._box(inside)} but ({self._box(rest)})"
        parts = self._parts(inside)
        if len(parts) <= MOST_PARTS:
            return " and ".join(f"({self._box(part)})" for part in parts)
        return (
            f"some of {self._box(inside)} ({int(inside.sum())} of {int(around.sum())} combinations of values)"
        )

    def _around(self, inside: Bools) -> Bools:
        """All cells that have, in every column, a value that some cell of the group has."""
        codes = self.cells
        held = [np.isin(codes[:, j], np.unique(codes[inside, j])) for j in range(codes.shape[1])]
        return np.logical_and.reduce(held) if held else np.ones(len(codes), np.bool_)

    def _parts(self, inside: Bools) -> list[Bools]:
        """The group taken apart by the values of one column, and again by those of the next, until each is said."""
        if np.array_equal(self._around(inside), inside):
            return [inside]
        best: list[Bools] = [inside] * (MOST_PARTS + 1)
        fewest = len(inside) + 1
        for codes in self.cells.T:
            values = np.unique(codes[inside])
            if 1 < len(values) <= MOST_PARTS:
                pieces = [inside & (codes == value) for value in values]
                left = sum(int((self._around(piece) & ~piece).any()) for piece in pieces)
                if (left, len(pieces)) < (fewest, len(best)):
                    best, fewest = pieces, left
        if fewest > len(inside):
            return best
        return [part for piece in best for part in self._parts(piece)]

    def _box(self, inside: Bools) -> str:
        said = []
        for j, (name, values) in enumerate(self.published.domains.items()):
            there = np.unique(self.cells[inside, j])
            if len(there) < len(values):
                said.append(self._values(name, values, there))
        return ", ".join(said) or "everybody"

    def _values(self, name: str, values: tuple[str, ...], there: Ints) -> str:
        if len(there) <= MOST_VALUES:
            return f"{name} = {' or '.join(values[c] for c in there.tolist())}"
        for margin in self.published.margins:
            if name in margin.columns:
                place = margin.columns.index(name)
                kinds = np.unique(margin.maps[place][there])
                if len(kinds) == 1 and kinds[0] >= 0 and (margin.maps[place] == kinds[0]).sum() == len(there):
                    return f"{name} = {margin.groups[place][int(kinds[0])]}"
        others = [value for c, value in enumerate(values) if c not in set(there.tolist())]
        if len(others) <= MOST_VALUES:
            return f"{name} other than {' or '.join(others)}"
        shown = " or ".join(values[c] for c in there[:MOST_VALUES].tolist())
        return f"{name} = {shown} or {len(there) - MOST_VALUES} more"
