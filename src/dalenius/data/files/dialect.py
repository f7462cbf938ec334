"""`Dialect`: how a CSV file is written, guessed from the file and open to inspection before use."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from dalenius.core.errors import FileError, OptionError, names
from dalenius.data.files.access import contents
from dalenius.data.files.encoding import MARKS, Encoding, detect_encoding
from dalenius.data.files.first_line import looks_like_value

SAMPLE = 1 << 18
SEPARATORS = (",", ";", "\t", "|")
_WORDS = {
    ",": "comma",
    ";": "semicolon",
    "\t": "tab",
    "|": "bar",
    " ": "space",
    ".": "point",
    "'": "apostrophe",
}
THOUSANDS = (".", ",", " ", "'", "\u00a0", "\u202f")
Mark = Literal[".", ","]


@dataclass(frozen=True)
class Dialect:
    """Separator, quote, decimal mark, encoding and line ending of a CSV file.

    Examples
    --------
    >>> print(Dialect(separator=";", decimal=","))
    semicolon-separated, decimal comma, UTF-8
    """

    separator: str = ","
    quote: str = '"'
    decimal: Mark = "."
    encoding: str = "utf-8"
    newline: Literal["\n", "\r\n", "\r"] = "\n"
    mark: bool = False
    """Whether the file starts with a byte-order mark."""
    ground: str = ""
    """Why this encoding: detected, declared or assumed."""
    thousands: str = ""
    """Sign between groups of three digits; empty where there is none."""
    grouped: tuple[str, ...] = ()
    """Columns whose numbers are written with that sign."""
    missing: str = ""
    """What stands in a cell without a value."""

    def __post_init__(self) -> None:
        if len(self.separator) != 1 or len(self.quote) != 1:
            raise OptionError("separator and quote are one character each")
        if self.decimal not in (".", ","):
            raise OptionError(f"the decimal mark is a point or a comma, not {self.decimal!r}")
        if self.decimal == self.separator:
            raise OptionError("the decimal mark and the separator must differ")
        if len(self.thousands) > 1 or self.thousands in (self.decimal, self.separator):
            raise OptionError(
                "the thousands sign is one character, neither the decimal mark nor the separator"
            )

    def __str__(self) -> str:
        parts = [f"{_WORDS.get(self.separator, repr(self.separator))}-separated"]
        parts += ["decimal comma"] if self.decimal == "," else []
        parts += (
            [f"{_WORDS.get(self.thousands, repr(self.thousands))} between thousands"]
            if self.thousands
            else []
        )
        parts += ["quoted with apostrophes"] if self.quote == "'" else []
        return ", ".join([*parts, self.ground or self.encoding.upper()])


def sniff_csv(
    path: str | Path, *, encoding: str | None = None, separator: str | None = None, decimal: str | None = None,
    thousands: str | None = None,
) -> Dialect:  # fmt: skip
    r"""Guess how a CSV file is written; what is given is taken as said.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "a.csv"
    >>> _ = file.write_bytes("name;height\nBjörk;1,63\n".encode("cp1252"))
    >>> print(sniff_csv(file))
    semicolon-separated, decimal comma, cp1252 assumed: not UTF-8 from line 2 on
    """
    path = Path(path)
    data = contents(path)
    guessed = declared_encoding(data, encoding) if encoding else detect_encoding(data, path)
    body = bytes(data[len(guessed.mark) : SAMPLE])
    text = body.decode(guessed.name, errors="ignore")
    whole = len(data) <= SAMPLE
    quote = _quote(text)
    if separator is not None and len(separator) != 1:
        raise OptionError("the separator is one character")
    separator = separator or _separator(text, quote, whole, path)
    mark, groups = _number_signs(sample_records(text, separator, quote, whole)[1:], separator, decimal)
    return Dialect(
        separator, quote, mark, guessed.name, _newline(text), bool(guessed.mark), guessed.ground,
        groups if thousands is None else thousands,
    )  # fmt: skip


def declared_encoding(data: bytes | memoryview, name: str) -> Encoding:
    """An encoding the caller named, with the mark the file may have for it."""
    try:
        plain = "".encode(name).decode(name) or name
    except LookupError:
        raise OptionError(f"encoding {name!r} is not known; try 'utf-8', 'cp1252' or 'latin-1'") from None
    start = bytes(data[:4])
    for mark, marked in MARKS:
        if start.startswith(mark) and marked.startswith(plain.lower().replace("_", "-").removesuffix("-sig")):
            return Encoding(marked, mark, f"{marked.upper()} as given")
    return Encoding(plain, ground=f"{plain} as given")


def sample_records(text: str, separator: str, quote: str, whole: bool) -> list[list[str]]:
    """Records of a sample; the last one is left out when the sample may have cut it."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, quotechar=quote)
    records: list[list[str]] = []
    try:
        records += (record for record in reader if record)
    except csv.Error:
        return records  # an over-long field or a NUL: the full read reports it with its line
    return records if whole or len(records) < 2 else records[:-1]


def _separator(text: str, quote: str, whole: bool, path: Path) -> str:
    """The separator that cuts most records into as many fields as the first line has, more than one.

    A decimal comma cuts the records of a file with semicolons alike too, but not the names of its columns.
    """
    best, winner = (False, 0.0, 0), "\t" if path.suffix.lower() in (".tsv", ".tab") else ","
    for candidate in SEPARATORS:
        records = sample_records(text, candidate, quote, whole)
        widths = Counter(len(record) for record in records)
        wide = {width: times for width, times in widths.items() if width > 1}
        if not wide:
            continue
        width, times = max(wide.items(), key=lambda item: (item[1], item[0]))
        score = (len(records[0]) == width, round(times / sum(widths.values()), 2), width)
        if score > best:
            best, winner = score, candidate
    return winner


def _quote(text: str) -> str:
    """Apostrophes quote only when fields both begin and end with them and double quotes do not."""
    fields = r"(?:^|[,;\t|])({0}[^{0}\r\n]*{0})(?=[,;\t|\r\n]|$)"
    double = len(re.findall(fields.format('"'), text, re.M))
    single = len(re.findall(fields.format("'"), text, re.M))
    return "'" if single > 0 and double == 0 else '"'


def _number_signs(records: list[list[str]], separator: str, decimal: str | None) -> tuple[Any, str]:
    """The decimal mark, and the sign between thousands where numbers have both ("3.535,34")."""
    cells = Counter(chain.from_iterable(records))
    marks: list[str] = [decimal] if decimal else [mark for mark in (".", ",") if mark != separator]
    marked = {mark: {cell: n for cell, n in cells.items() if mark in cell} for mark in marks}
    plain = {mark: _how_often(marked[mark], rf"[+-]?\d+{re.escape(mark)}\d+") for mark in marks}
    both = {
        (mark, sign): _how_often(
            {cell: n for cell, n in marked[mark].items() if sign in cell},
            rf"[+-]?\d{{1,3}}({re.escape(sign)}\d{{3}})+{re.escape(mark)}\d+",
        )
        for mark in marks
        for sign in THOUSANDS
        if sign not in (mark, separator)
    }
    signs = max(both, key=lambda pair: both[pair]) if both else (marks[0], "")
    sign = signs[1] if both.get(signs) else ""
    told = {mark: plain[mark] + sum(n for (m, _), n in both.items() if m == mark) for mark in marks}
    best = max(marks, key=lambda mark: told[mark])
    return best, sign if sign and signs[0] == best else ""


def _how_often(cells: Mapping[str, int], pattern: str) -> int:
    form = re.compile(pattern)
    return sum(times for cell, times in cells.items() if form.fullmatch(cell))


def _newline(text: str) -> Literal["\n", "\r\n", "\r"]:
    first = re.search(r"\r\n|\n|\r", text)
    ending = first.group() if first else "\n"
    return "\r\n" if ending == "\r\n" else "\r" if ending == "\r" else "\n"


def header_of(text: str, dialect: Dialect, path: Path) -> tuple[list[str], int]:
    """Column names from the first record and the number of characters it takes; `FileError` when unusable."""
    stream = io.StringIO(text, newline="")
    reader = csv.reader(iter(stream.readline, ""), delimiter=dialect.separator, quotechar=dialect.quote)
    header: list[str] = []
    while not header:
        try:
            header = next(reader)
        except (StopIteration, csv.Error):
            raise FileError(f"{path}: the file is empty; it needs a first line with column names") from None
    empty = [str(i) for i, name in enumerate(header, 1) if not name.strip()]
    twice = [name for name, times in Counter(header).items() if times > 1 and name.strip()]
    faults = [f"{nameless(empty)} in the first line"] if empty else []
    faults += [f"column name {_shown(twice, header)} appears more than once"] if twice else []
    if faults:
        raise FileError(f"{path}: {'; '.join(faults)}; give each column a name of its own in the first line")
    return header, stream.tell()


def nameless(places: list[str]) -> str:
    """Which columns have no name.

    Examples
    --------
    >>> nameless(["2"]), nameless(["2", "3"])
    ('column 2 has no name', 'columns 2, 3 have no name')
    """
    shown = ", ".join(places[:5]) + (" …" if len(places) > 5 else "")
    return f"columns {shown} have no name" if len(places) > 1 else f"column {shown} has no name"


def _shown(twice: list[str], header: list[str]) -> str:
    """Names for an error; those that look like values by their places, for the first line may be a record."""
    if not any(map(looks_like_value, twice)):
        return names(twice)
    places = [str(i) for i, name in enumerate(header, 1) if name in twice]
    return f"of column {', '.join(places[:5])}"
