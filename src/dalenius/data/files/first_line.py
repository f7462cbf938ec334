"""Whether the first line of a file holds names of columns, or is already somebody's record.

Names of columns leave with every file, codebook and report. Read as names, the first record of a file without a line of
names would leave too, cell by cell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl

from dalenius.core.errors import FileError

LOOKED_AT = 10_000
"""Rows that are compared with the first line."""
MOSTLY = 0.9
"""Share of a column's cells that must look like its name."""
YEARS = range(1900, 2101)
NUMBER = r"^[+-]?(\d+([.,]\d+)*|[.,]\d+)([eE][+-]?\d+)?$"
DATE = r"^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})([ T]\d{1,2}:\d{2}.*)?$"
MAIL = r"^[^@\s]+@[^@\s]+\.[A-Za-z]{2,}$"


def looks_like_value(name: str) -> bool:
    """Whether a name reads as a number, a date or an e-mail address, and must not be quoted in an error.

    Examples
    --------
    >>> looks_like_value("0.455"), looks_like_value("31.12.1980"), looks_like_value("bmi_2019")
    (True, True, False)
    """
    return any(re.match(form, name.strip()) for form in (NUMBER, DATE, MAIL))


def refuse_record(header: Sequence[str], columns: Mapping[str, pl.Series], path: str | Path) -> None:
    """Raise `FileError` where the first line looks like a record: its cells look like those under them.

    Parameters
    ----------
    header
        The cells of the first line.
    columns
        The cells below, as text, by the name above them.
    path
        The file, for the error. No cell is quoted.

    Examples
    --------
    >>> patients = {"6": pl.Series(["1", "8"]), "0.627": pl.Series(["0.351", "0.672"])}
    >>> refuse_record(["6", "0.627"], patients, "pima.csv")
    Traceback (most recent call last):
    ...
    dalenius.core.errors.FileError: pima.csv: the first line looks like a record, not like names of columns (columns 1,
    2); put a line of names above it, because names leave with every file
    >>> refuse_record(["2019", "2020"], {"2019": pl.Series(["5"]), "2020": pl.Series(["6"])}, "years.csv")
    """
    cells = {name: columns[name].head(LOOKED_AT).drop_nulls() for name in header}
    alike = _numbers(header, cells) or _same_form(header, cells) or _same_value(header, cells)
    if alike:
        places = ", ".join(str(header.index(name) + 1) for name in alike[:5])
        more = " …" if len(alike) > 5 else ""
        raise FileError(
            f"{path}: the first line looks like a record, not like names of columns (columns {places}{more}); "
            "put a line of names above it, because names leave with every file"
        )


def _numbers(header: Sequence[str], cells: Mapping[str, pl.Series]) -> list[str]:
    """Numbers over numbers, unless they are years or count the columns (0, 1, 2 … or 1, 2, 3 …)."""
    numeric = [name for name in header if _over_its_like(name, cells[name], NUMBER)]
    if all(name.strip().isdecimal() for name in numeric):
        counted = [int(name) for name in numeric]
        if all(number in YEARS for number in counted):
            return []
        if any(counted == list(range(start, start + len(counted))) for start in (0, 1)):
            return []
    return numeric


def _same_form(header: Sequence[str], cells: Mapping[str, pl.Series]) -> list[str]:
    """Dates over dates, addresses over addresses."""
    return [name for name in header if any(_over_its_like(name, cells[name], form) for form in (DATE, MAIL))]


def _over_its_like(name: str, cells: pl.Series, form: str) -> bool:
    if not re.match(form, name.strip()) or not len(cells):
        return False
    return int(cells.str.strip_chars().str.contains(form).sum()) >= MOSTLY * len(cells)


def _same_value(header: Sequence[str], cells: Mapping[str, pl.Series]) -> list[str]:
    """Words that are answers in their own columns, where at least half of the columns, and two, have one."""
    repeated = [name for name in header if len(cells[name]) and bool((cells[name] == name).any())]
    return repeated if len(repeated) >= max(2, len(header) / 2) else []
