"""The one family of errors.

Every message says what is wrong, where (file, column, how many rows) and what to do about it. A message never quotes a
confidential value: column names, row numbers and counts are enough to find the fault.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Self


class DaleniusError(Exception):
    """Base of every error raised on purpose; the command line turns it into one line and exit code 2.

    Examples
    --------
    >>> raise DaleniusError("column 'age': all values are missing; drop the column")
    Traceback (most recent call last):
    ...
    dalenius.core.errors.DaleniusError: column 'age': all values are missing; drop the column
    """

    def __init__(self, message: str, faults: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.faults = tuple(faults) or (message,)

    @classmethod
    def from_faults(cls, where: str, faults: Sequence[str]) -> Self:
        """Join all faults of one place into one error.

        Examples
        --------
        >>> str(SchemaError.from_faults("schema.yaml", ["column 'a': unknown kind 'x'", "column 'b': two names"]))
        "schema.yaml: 2 faults: column 'a': unknown kind 'x'; column 'b': two names"
        """
        count = f"{len(faults)} faults: " if len(faults) > 1 else ""
        return cls(f"{where}: {count}{'; '.join(faults)}", faults)


class FileError(DaleniusError):
    """A file cannot be read or written."""


class DataError(DaleniusError):
    """The data do not fit the request (missing column, no rows, wrong kind)."""


class OptionError(DaleniusError):
    """An option is unknown or out of its range."""


class MissingExtraError(DaleniusError):
    """An optional dependency is needed; the message names the extra to install.

    Examples
    --------
    >>> raise MissingExtraError("pyreadstat", "files", "read SPSS files")
    Traceback (most recent call last):
    ...
    dalenius.core.errors.MissingExtraError: to read SPSS files, install pyreadstat: pip install 'dalenius[files]'
    """

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"to {purpose}, install {package}: pip install 'dalenius[{extra}]'")


class SchemaError(DaleniusError):
    """A schema or plan is wrong, or data do not follow it; ``faults`` lists every fault found."""


class TableError(DaleniusError):
    """A hierarchy, a table or its microdata are wrong; ``faults`` lists every fault found, ``remedy`` is no fault.

    Examples
    --------
    >>> str(TableError("region.hrc", ["line 3: code 'A' appears twice", "line 9: empty code"]))
    "region.hrc: 2 faults: line 3: code 'A' appears twice; line 9: empty code"
    """

    def __init__(self, where: str, faults: Sequence[str], remedy: str = "") -> None:
        count = f"{len(faults)} faults: " if len(faults) > 1 else ""
        super().__init__(f"{where}: {count}{'; '.join([*faults, *([remedy] if remedy else [])])}")
        self.faults = tuple(faults)


def counted(count: int, noun: str) -> str:
    """How many of something, in the singular where there is one.

    Examples
    --------
    >>> counted(1, "row"), counted(2000, "column")
    ('1 row', '2,000 columns')
    """
    return f"{count:,} {noun if count == 1 else noun + 's'}"


def names(items: Sequence[object], limit: int = 5) -> str:
    """Quote a few names for a message, and say how many more there are.

    Examples
    --------
    >>> names(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    shown = ", ".join(repr(str(item)) for item in items[:limit])
    return shown if len(items) <= limit else f"{shown} and {len(items) - limit} more"


MOST_NAMED = 20
"""Columns that a line names; of more the first few, and how many there are."""


def columns_named(items: Sequence[object]) -> str:
    """Columns a line is about, all of them where that can be read.

    Examples
    --------
    >>> columns_named(["sex"]), columns_named(["sex", "age"])
    ("column 'sex'", "columns 'sex', 'age'")
    >>> columns_named([f"v{i}" for i in range(1000)])
    "1,000 columns ('v0', 'v1', 'v2' and 997 more)"
    """
    if len(items) > MOST_NAMED:
        return f"{len(items):,} columns ({names(items, 3)})"
    return f"column{'s' * (len(items) > 1)} {names(items, len(items))}"


def no_column(wanted: Sequence[str], there: Sequence[str]) -> str:
    """Say which columns are not there, what might have been meant, and what there is.

    Examples
    --------
    >>> no_column(["regoin"], ["sex", "region"])
    "no column 'regoin'; did you mean 'region'? There are 'sex', 'region'"
    >>> no_column(["nose"], ["sex", "region"])
    "no column 'nose'; there are 'sex', 'region'"
    """
    close = [
        match for name in wanted for match in difflib.get_close_matches(str(name), list(map(str, there)), n=1)
    ]
    meant = f"did you mean {names(close)}? There" if close else "there"
    return f"no column {names(wanted)}; {meant} are {names(there, 20)}"
