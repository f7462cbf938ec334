"""`AreaTables`: tables of small areas, of the kind a census prints for every block.

One table crosses some keys (sex, age group) with a category (race) for everybody; of a group (Hispanic) only the number
by keys, the number by category, and the number by keys within one reference category are printed. Who of each
category is in the group is not printed, and is what arithmetic finds (Muralidhar and Ruggles 2024).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dalenius.core.errors import OptionError, TableError, no_column
from dalenius.data.table import Table
from dalenius.published.reading import texts

Ints = npt.NDArray[np.integer[Any]]
OTHER_ROWS = "(other rows)"


@dataclass(frozen=True, eq=False, repr=False)
class AreaTables:
    """The published tables of many areas at once.

    Attributes
    ----------
    areas, rows, categories
        Names of the areas, of the combinations of keys, and of the categories.
    total
        People by area, row and category (P12A–G).
    split
        People of the group by area and row (P12H).
    known
        People of the group in the reference category by area and row (P12A less P12I); -1 where nobody says.
    inside, outside
        People of the group, and not of it, by area and category (P8 less P9, and P9).
    """

    areas: tuple[str, ...]
    keys: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    categories: tuple[str, ...]
    reference: int
    total: Ints
    split: Ints
    known: Ints
    inside: Ints
    outside: Ints

    def __repr__(self) -> str:
        return f"AreaTables({len(self.areas):,} areas, {int(self.total.sum()):,} people)"

    @classmethod
    def from_microdata(
        cls, data: Any, area: str, keys: Sequence[str], category: str, split: str, member: str, reference: str
    ) -> AreaTables:
        """The tables an office would print of a file.

        Parameters
        ----------
        area, keys, category
            Columns: the area, what the full table crosses, and the category.
        split, member
            The column that is only published on margins, and its value for the group.
        reference
            The category for which the group is published by keys as well.

        Examples
        --------
        >>> people = {"block": ["A"] * 3, "sex": ["f", "f", "m"], "race": ["w", "b", "b"], "hisp": ["y", "n", "n"]}
        >>> AreaTables.from_microdata(people, "block", ["sex"], "race", "hisp", "y", "w")
        AreaTables(1 areas, 3 people)
        """
        table = Table.from_frame(data)
        missing = [name for name in (area, *keys, category, split) if name not in table]
        if missing:
            raise OptionError(no_column(missing, table.names))
        codes, labels = {}, {}
        for name in (area, *keys, category):
            labels[name], codes[name] = np.unique(np.array(texts(table, name)), return_inverse=True)
        if reference not in labels[category]:
            raise OptionError(f"column {category!r} has no value {reference!r}")
        shape = [len(labels[name]) for name in keys]
        row = (
            np.ravel_multi_index(tuple(codes[name] for name in keys), shape)
            if keys
            else np.zeros(table.rows, int)
        )
        in_group = np.array(texts(table, split)) == member
        counts = np.zeros((len(labels[area]), int(np.prod(shape)), len(labels[category])), np.int32)
        group = np.zeros_like(counts)
        np.add.at(counts, (codes[area], row, codes[category]), 1)
        np.add.at(group, (codes[area], row, codes[category]), in_group)
        names = [tuple(str(labels[k][c]) for k, c in zip(keys, np.unravel_index(r, shape), strict=True))
                 for r in range(counts.shape[1])]  # fmt: skip
        at = int(np.flatnonzero(labels[category] == reference)[0])
        return cls(
            tuple(map(str, labels[area])), tuple(keys), tuple(names), tuple(map(str, labels[category])), at, counts,
            group.sum(axis=2), group[:, :, at].copy(), group.sum(axis=1), (counts - group).sum(axis=1),
        )  # fmt: skip

    @classmethod
    def from_counts(
        cls,
        total: Any,
        split: Any,
        others_of_reference: Any,
        by_category: Any,
        others_by_category: Any,
        *,
        areas: Sequence[str],
        keys: Sequence[str],
        rows: Sequence[Sequence[str]],
        categories: Sequence[str],
        reference: str,
        partial: bool = False,
    ) -> AreaTables:
        """From printed tables: T, H, W, N and M of the paper, as arrays with the area first.

        ``partial`` says that only some rows of T, H and W are there; what the whole area has beyond them is known from
        N and M and becomes one more row.
        """
        t, h, w, n, m = (
            np.asarray(x, np.float64)
            for x in (total, split, others_of_reference, by_category, others_by_category)
        )
        at = list(categories).index(reference)
        faults = []
        for name, values in (("T", t), ("H", h), ("W", w), ("N", n), ("M", m)):
            wrong = (values < 0) | (values != np.rint(values))
            faults += [
                f"area {areas[b]!r}: table {name} has a negative or fractional count" for b in _areas(wrong)
            ]
        known = t[:, :, at] - w
        faults += [f"area {areas[b]!r}: W exceeds T in the reference category" for b in _areas(known < 0)]
        faults += [f"area {areas[b]!r}: M exceeds N" for b in _areas(n < m)]
        rest = n - t.sum(axis=1)
        short = rest < 0 if partial else rest != 0
        faults += [f"area {areas[b]!r}: N and the sum of T disagree" for b in _areas(short)]
        faults += [f"area {areas[b]!r}: H exceeds the people of T" for b in _areas(h > t.sum(axis=2))]
        if faults:
            raise TableError("area tables", faults[:20])
        names = [tuple(row) for row in rows]
        if partial:
            t = np.concatenate([t, rest[:, None, :]], axis=1)
            h = np.concatenate([h, ((n - m).sum(axis=1) - h.sum(axis=1))[:, None]], axis=1)
            known = np.concatenate([known, np.full((len(t), 1), -1.0)], axis=1)
            names.append((OTHER_ROWS,) * len(keys))
        whole = [x.astype(np.int32) for x in (t, h, known, n - m, m)]
        return cls(tuple(areas), tuple(keys), tuple(names), tuple(categories), at, *whole)


def _areas(wrong: Any) -> list[int]:
    return np.flatnonzero(wrong.reshape(len(wrong), -1).any(axis=1)).tolist()
