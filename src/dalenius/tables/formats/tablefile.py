"""`TableFile`: a published table as a file holds it, whatever the format."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from dalenius.core.errors import DataError
from dalenius.tables.disclosed import Disclosed
from dalenius.tables.hierarchy import Hierarchy
from dalenius.tables.model import Bools, Floats, beside

if TYPE_CHECKING:
    from dalenius.tables.suppression import Suppression

UNSAFE = "NOT SAFE: the audit of this table found protected cells at risk."
UNCHECKED = "NOT AUDITED: nobody has checked what this table gives away."
FLAGS = ("", "c", "u", "x", "w")
"""Published; suppressed; and in internal files primary (u), secondary (x) and never published (w)."""


@dataclass(frozen=True, eq=False)
class TableFile:
    """A table with suppressed cells, ready to be written or just read.

    Attributes
    ----------
    cells
        Codes, one row a cell.
    values
        What is published, NaN where nothing is.
    flags
        "" or "c" for every cell; internal files tell primary "u" from secondary "x".
    measure
        Name of the value column.
    decimals
        Places behind the point, as published.
    hierarchies
        Dimension → which code is part of which.
    notes
        Plain sentences that travel with the table.

    Examples
    --------
    >>> from dalenius.tables import define, protect, SmallCount
    >>> result = protect(define({"a": ["x", "y", "z"], "n": [1, 7, 9]}, by="a", freq="n"), SmallCount(3))
    >>> file = TableFile.of(result)
    >>> file.texts, file.flags
    (['17', None, None, '9'], ['', 'c', 'c', ''])
    """

    cells: pl.DataFrame
    values: Floats
    flags: list[str]
    measure: str
    decimals: int = 0
    hierarchies: Mapping[str, Hierarchy] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, result: Suppression, *, force: bool = False, internal: bool = False) -> TableFile:
        """What a suppression publishes; one that is not safe only with ``force``, and then marked."""
        checked = result.audit() if result.checked is None and not force else result.checked
        if not force and checked is not None and not checked.passed:
            raise DataError(
                f"the table is not safe and is not handed out: {checked} Ask for more suppression, fewer forced "
                "cells or a coarser table; force=True hands it out all the same, marked as unsafe"
            )
        warning = (
            () if checked is not None and checked.passed else (UNCHECKED if checked is None else UNSAFE,)
        )
        model, shown = result.model, ~result.hidden
        amount = np.where(result.suppressed, np.nan, model.published_amount)
        letters = {"primary": "u", "secondary": "x"} if internal else {"primary": "c", "secondary": "c"}
        flags = [letters.get(status, "") for status, ok in zip(result.status, shown, strict=True) if ok]
        return cls(
            model.cells.filter(pl.Series(shown)),
            amount[shown],
            flags,
            model.measure,
            model.decimals,
            {d.name: d.hierarchy for d in model.dimensions},
            (*warning, "Cells flagged c are confidential and not published."),
        )

    @property
    def suppressed(self) -> Bools:
        """Cells without a value because they are confidential."""
        return np.array([flag in ("c", "u", "x") for flag in self.flags], np.bool_)

    @property
    def texts(self) -> list[str | None]:
        """The values with their decimals, None where there is none."""
        return [None if np.isnan(v) else f"{v:.{self.decimals}f}" for v in self.values]

    @property
    def unsafe(self) -> bool:
        """Whether the table carries a warning."""
        return any(note in (UNSAFE, UNCHECKED) for note in self.notes)

    def frame(self, text: bool = False) -> pl.DataFrame:
        """One row a cell: codes, value (or its text) and flag; a table with a warning says so in every row."""
        whole = self.measure == "freq" and self.decimals == 0
        numbers = pl.Series(self.values).fill_nan(None)
        shown = (
            pl.Series(self.texts, dtype=pl.String) if text else numbers.cast(pl.Int64) if whole else numbers
        )
        frame = beside(self.cells, **{self.measure: shown}, flag=pl.Series(self.flags, dtype=pl.String))
        return beside(frame, audit=["NOT SAFE"] * len(frame)) if self.unsafe else frame

    def disclosed(self, total: str | Mapping[str, str] | None = None) -> Disclosed:
        """The table as the audit sees it; ``total`` as in `read_suppressed`."""
        from dalenius.tables.foreign import read_suppressed  # noqa: PLC0415 (reads files of this room)

        frame = self.cells.with_columns(pl.Series("value of the cell", self.values).fill_nan(None))
        return read_suppressed(
            frame, self.cells.columns, "value of the cell", hierarchies=self.hierarchies, total=total
        )

    def about(self) -> str:
        """What a table of columns cannot hold, as JSON: decimals, hierarchies, notes."""
        trees = {
            name: {code: list(above) for code, above in t.parents.items()}
            for name, t in self.hierarchies.items()
        }
        return json.dumps(
            {
                "measure": self.measure,
                "decimals": self.decimals,
                "hierarchies": trees,
                "notes": list(self.notes),
            }
        )

    @classmethod
    def from_frame(cls, frame: pl.DataFrame, about: str | None = None) -> TableFile:
        """The table in a frame, with what was told about it; without that from the columns alone."""
        known: dict[str, Any] = json.loads(about) if about else {}
        frame = frame.drop(
            [name for name in frame.columns if name.rstrip("_") == "audit" and _unsafe_column(frame, name)]
        )
        flag = next((n for n in reversed(frame.columns) if n.rstrip("_") == "flag"), None)
        if flag is None or frame.columns[0] == flag:
            raise DataError(
                "a table file has one row a cell, with a column of values and then one called 'flag'"
            )
        column = frame.columns[frame.columns.index(flag) - 1]
        given = frame[column]
        texts = given.cast(pl.String) if given.dtype != pl.String else given
        numbers = texts.str.strip_chars().replace("", None).cast(pl.Float64, strict=False)
        if numbers.null_count() > texts.str.strip_chars().replace("", None).null_count():
            raise DataError(f"column {column!r}: some values are not numbers")
        decimals = known.get("decimals", _decimals(texts) if given.dtype in (pl.String, pl.Float64) else 0)
        trees = {
            name: Hierarchy({c: tuple(up) for c, up in t.items()})
            for name, t in known.get("hierarchies", {}).items()
        }
        cells = frame.drop([column, flag]).with_columns(pl.all().cast(pl.String))
        return cls(
            cells,
            numbers.to_numpy().astype(np.float64),
            [f or "" for f in frame[flag].cast(pl.String).to_list()],
            known.get("measure") or column.rstrip("_"),
            int(decimals),
            trees,
            tuple(known.get("notes", ())),
        )


def _unsafe_column(frame: pl.DataFrame, name: str) -> bool:
    return frame[name].cast(pl.String).eq("NOT SAFE").all()


def _decimals(texts: pl.Series) -> int:
    """The most places behind the point among written numbers."""
    parts = [t.strip().partition(".")[2].rstrip() for t in texts.drop_nulls().to_list()]
    return max((len(p) for p in parts if p != "0"), default=0)
