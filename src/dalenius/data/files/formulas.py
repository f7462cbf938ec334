"""Text that a spreadsheet would run: ``=HYPERLINK(…)`` in a cell is text to us and a formula to Excel.

A CSV file cannot say which of the two a cell is, so an apostrophe is put in front, which makes it text; it is taken off
when the file is read again. Excel files say that a cell is text and need no mark.
"""

from __future__ import annotations

import re

import polars as pl

MARK = "'"
START = r"'*[=+\-@\t\r]"
NUMBER = r"'*[+-][0-9.,]+(?:[eE][+-]?[0-9]+)?%?"
_RUNS = re.compile(rf"(?s){START}.+")
_NUMBER = re.compile(NUMBER)


def as_text(cell: str) -> str:
    """A text cell that no spreadsheet takes for a formula; numbers written as text are left alone.

    Examples
    --------
    >>> as_text("=HYPERLINK(1)"), as_text("-8"), as_text("-"), as_text("'=1+1")
    ("'=HYPERLINK(1)", '-8', '-', "''=1+1")
    """
    runs = _RUNS.fullmatch(cell) and not _NUMBER.fullmatch(cell)
    return MARK + cell if runs else cell


def as_texts(cells: pl.Series) -> pl.Series:
    """`as_text` for all cells of a column at once.

    Examples
    --------
    >>> as_texts(pl.Series(["=HYPERLINK(1)", "-8", "-", "'=1+1", "x", None])).to_list()
    ["'=HYPERLINK(1)", '-8', '-', "''=1+1", 'x', None]
    """
    runs = cells.str.contains(rf"(?s)^{START}.") & ~cells.str.contains(rf"^{NUMBER}$")
    if not runs.any():
        return cells
    return pl.select(pl.when(runs).then(MARK + cells).otherwise(cells)).to_series().alias(cells.name)


def as_meant(cells: pl.Series) -> pl.Series:
    """Text cells without the mark that `as_text` put in front.

    Examples
    --------
    >>> as_meant(pl.Series(["'=HYPERLINK(1)", "'-8", "'tis", "''=1+1", None])).to_list()
    ['=HYPERLINK(1)', "'-8", "'tis", "'=1+1", None]
    """
    marked = cells.str.contains(rf"(?s)^{MARK}{START}.") & ~cells.str.contains(rf"^{NUMBER}$")
    if not marked.any():
        return cells
    return pl.select(pl.when(marked).then(cells.str.slice(1)).otherwise(cells)).to_series().alias(cells.name)
