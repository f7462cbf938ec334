"""`Made`: what came out of making protected tables, with what a reader must know about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dalenius.core.errors import OptionError
from dalenius.data.exit import leave
from dalenius.data.lens import Lens
from dalenius.data.table import Table

if TYPE_CHECKING:
    from dalenius.synth.base import Model


@dataclass(frozen=True)
class Made:
    """Protected tables of one original; iterating gives the tables.

    Attributes
    ----------
    tables
        The protected tables, one for each copy; whatever made them, they pass the exit.
    rows
        Rows of the original.
    model
        What was fitted (for the first copy, where each has a fit of its own); None where a method fits nothing.
    notes
        What a person should know, in plain sentences.
    ledger
        What the privacy budget was spent on; empty without one.
    proper, kept
        What combining rules must know: whether parameters were drawn anew for each copy, and which columns are the
        original's own.
    replicated
        Whether each copy was made from other replicate weights of a survey, which another combining rule goes with.
    lenses
        For each table what a mask did to its columns and rows; empty where nothing was masked.
    steps
        What each step of a recipe did, in plain sentences.
    recipe
        The steps as they were done, with the amounts that a target found; empty where nothing was masked.
    outline
        The same for people outside: which steps on which columns, without parameters and counts.
    fit_seconds, draw_seconds
        Wall-clock time of fitting and of drawing.

    Examples
    --------
    >>> from dalenius import Candidate
    >>> made = Candidate("independent").make({"sex": ["f", "m"] * 20}, copies=2)
    >>> [table.rows for table in made], made.rows
    ([40, 40], 40)
    """

    tables: tuple[Table, ...]
    rows: int
    model: Model | None = field(default=None, repr=False)
    notes: tuple[str, ...] = ()
    ledger: str = ""
    proper: bool = False
    kept: tuple[str, ...] = ()
    fit_seconds: float = 0.0
    draw_seconds: float = 0.0
    lenses: tuple[Lens, ...] = field(default=(), repr=False)
    steps: tuple[str, ...] = ()
    outline: tuple[str, ...] = ()
    recipe: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)
    replicated: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "tables", tuple(leave(table) for table in self.tables))

    def __len__(self) -> int:
        return len(self.tables)

    def __iter__(self) -> Iterator[Table]:
        return iter(self.tables)

    @property
    def table(self) -> Table:
        """The table, where one was made."""
        if len(self.tables) != 1:
            raise OptionError(f"{len(self.tables)} tables were made; take one of 'tables'")
        return self.tables[0]

    def lens(self, copy: int = 0) -> Lens | None:
        """What a mask did to the rows and columns of a copy; None where nothing was masked."""
        return self.lenses[copy] if self.lenses else None
