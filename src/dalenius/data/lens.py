"""`Lens`: what a mask did to each column, so that figures can be read through it.

An intruder who knows that somebody is 37 looks for "30-39" in a file of decades. A figure that compares 37 with "30-39"
finds nobody and reads as safe; seen through the lens, original and holdout are sent through the same maps first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from dalenius.core.errors import DataError, names
from dalenius.data.table import Table
from dalenius.data.vector import BoolArray, IntArray, emptied


class Map(Protocol):
    """A many-to-one change of columns that can be done to any file of the same columns."""

    def see(self, table: Table) -> Table:
        """The table with its columns changed; values that the map does not know stay as they are."""

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""


@dataclass(frozen=True, eq=False)
class Lens:
    """What happened to the columns and rows of a file.

    Attributes
    ----------
    maps
        Many-to-one changes, in the order they were done.
    perturbed
        Columns whose values were moved at random or averaged: no map says what became of a value.
    dropped
        Columns that are gone.
    gaps
        For each column with suppressed cells, which rows of the masked file have one.
    links
        For each row of the masked file the row of the original it is (None: the same rows). Never leaves the house.

    Examples
    --------
    >>> from dalenius.data.steps import Round
    >>> masked = Round("age", 10).apply(Table.from_frame({"age": [31, 38, 64]}))
    >>> masked.lens.see(Table.from_frame({"age": [33, 12]})).to_frame()
    {'age': [30, 10]}
    >>> print(masked.lens)
    age recoded
    """

    maps: tuple[Map, ...] = ()
    perturbed: frozenset[str] = frozenset()
    dropped: frozenset[str] = frozenset()
    gaps: Mapping[str, BoolArray] = field(default_factory=dict, repr=False)
    links: IntArray | None = field(default=None, repr=False)

    def __bool__(self) -> bool:
        return bool(self.maps or self.perturbed or self.dropped or self.gaps or self.links is not None)

    @property
    def mapped(self) -> list[str]:
        """Columns that a map changes."""
        return list(dict.fromkeys(name for each in self.maps for name in columns_of(each)))

    def see(self, table: Table, *, drop: bool = True) -> Table:
        """A file of the original's columns as the mask shows it: through the maps, without what was dropped."""
        for each in self.maps:
            table = each.see(table)
        return table.drop(self.dropped) if drop else table

    def see_own(self, table: Table, *, drop: bool = True) -> Table:
        """The original as the mask shows it: through the maps, with the cells empty that were suppressed in its rows.

        A gap is read as a value of its own: who looks for somebody is taken to know which cells were suppressed, so
        that only rows with the same gaps look alike.
        """
        seen = self.see(table, drop=drop)
        for name, gone in self.gaps.items():
            if name not in seen:
                continue
            rows = np.flatnonzero(gone) if self.links is None else self.links[gone]
            seen = seen.with_vectors(emptied(seen[name], rows))
        return seen

    def take(self, rows: IntArray | BoolArray, count: int) -> Lens:
        """The lens of some rows of the masked file, which has ``count`` of them."""
        links = np.arange(count) if self.links is None else self.links
        return replace(self, links=links[rows], gaps=_some({n: gone[rows] for n, gone in self.gaps.items()}))

    def then(self, later: Lens) -> Lens:
        """What both lenses did, one after the other."""
        gaps, links = self.gaps, self.links
        if later.links is not None:
            gaps = {name: gone[later.links] for name, gone in gaps.items()}
            links = later.links if links is None else links[later.links]
        both = {n: gaps[n] | later.gaps[n] if n in gaps and n in later.gaps else {**gaps, **later.gaps}[n]
                for n in (*gaps, *(n for n in later.gaps if n not in gaps))}  # fmt: skip
        return Lens(
            (*self.maps, *later.maps), self.perturbed | later.perturbed, self.dropped | later.dropped,
            {n: gone for n, gone in _some(both).items() if n not in later.dropped}, links,
        )  # fmt: skip

    def check(self, original: Table, rows: int) -> None:
        """Refuse a lens that is not that of an original and a masked file of so many rows."""
        faults = [f"it has {len(gone)} rows for column {name!r}, the masked file {rows}"
                  for name, gone in self.gaps.items() if len(gone) != rows]  # fmt: skip
        if self.links is None and (self.gaps or self.perturbed) and original.rows != rows:
            faults.append(f"it says row by row what happened; the files have {original.rows} and {rows} rows")
        if self.links is not None and len(self.links) != rows:
            faults.append(f"it links {len(self.links)} rows, the masked file has {rows}")
        elif (
            self.links is not None and rows and not 0 <= self.links.min() <= self.links.max() < original.rows
        ):
            faults.append(f"it links rows beyond the original's {original.rows}")
        if faults:
            raise DataError.from_faults("lens of another file", faults)

    def __str__(self) -> str:
        told = [
            f"{names(who, 99).replace(chr(39), '')} {what}"
            for who, what in (
                (self.mapped, "recoded"),
                (sorted(self.perturbed), "perturbed"),
                (sorted(self.gaps), "partly suppressed"),
                (sorted(self.dropped), "dropped"),
            )
            if who
        ]
        return "; ".join(told) or "nothing changed"


def columns_of(each: Map) -> Sequence[str]:
    """Columns that a map changes: its ``column``, or its ``columns``.

    Examples
    --------
    >>> from dalenius.data.steps import Round
    >>> columns_of(Round("age", 10))
    ('age',)
    """
    one = getattr(each, "column", None)
    many: Iterable[str] = getattr(each, "columns", ()) if one is None else (one,)
    return tuple(many)


def _some(gaps: Mapping[str, BoolArray]) -> dict[str, BoolArray]:
    return {name: gone for name, gone in gaps.items() if gone.any()}
