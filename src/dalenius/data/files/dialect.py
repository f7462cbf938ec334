"""`Dialect`: how a CSV file is written, guessed from the file and open to inspection before use."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from dalenius.core.errors import FileError, OptionError, names
from dalenius.data.files.access import contents
from dalenius.data.files.encoding import MARKS, Encoding, detect_encoding

SAMPLE = 1 << 18
SEPARATORS = (",", ";", "\t", "|")
_WORDS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "bar", " ": "space"}
_COMMA_DECIMAL = re.compile(r"[+-]?\d+,\d+")
_POINT_DECIMAL = re.compile(r"[+-]?\d+\.\d+")


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
    decimal: Literal[".", ","] = "."
    encoding: str = "utf-8"
    newline: Literal["\n", "\r\n", "\r"] = "\n"
    mark: bool = False
    """Whether the file starts with a byte-order mark."""
    ground: str = ""
    """Why this encoding: detected, declared or assumed."""

    def __post_init__(self) -> None:
        if len(self.separator) != 1 or len(self.quote) != 1:
            raise OptionError("separator and quote are one character each")
        if self.decimal == self.separator:
            raise OptionError("the decimal mark and the separator must differ")

    def __str__(self) -> str:
        parts = [f"{_WORDS.get(self.separator, repr(self.separator))}-separated"]
        parts += ["decimal comma"] if self.decimal == "," else []
        parts += ["quoted with apostrophes"] if self.quote == "'" else []
        return ", ".join([*parts, self.ground or self.encoding.upper()])


def sniff_csv(path: str | Path, *, encoding: str | None = None, separator: str | None = None) -> Dialect:
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
    found = declared_encoding(data, encoding) if encoding else detect_encoding(data, path)
    body = bytes(data[len(found.mark) : SAMPLE])
    text = body.decode(found.name, errors="ignore")
    whole = len(data) <= SAMPLE
    quote = _quote(text)
    if separator is not None and len(separator) != 1:
        raise OptionError("the separator is one character")
    separator = separator or _separator(text, quote, whole, path)
    records = sample_records(text, separator, quote, whole)
    return Dialect(
        separator,
        quote,
        _decimal(records[1:], separator),
        found.name,
        _newline(text),
        bool(found.mark),
        found.ground,
    )


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
    """The separator that cuts most records into the same number of fields, more than one."""
    best, winner = (0.0, 0), "\t" if path.suffix.lower() in (".tsv", ".tab") else ","
    for candidate in SEPARATORS:
        widths = Counter(len(record) for record in sample_records(text, candidate, quote, whole))
        wide = {width: times for width, times in widths.items() if width > 1}
        if not wide:
            continue
        width, times = max(wide.items(), key=lambda item: (item[1], item[0]))
        score = (round(times / sum(widths.values()), 2), width)
        if score > best:
            best, winner = score, candidate
    return winner


def _quote(text: str) -> str:
    """Apostrophes quote only when fields both begin and end with them and double quotes do not."""
    fields = r"(?:^|[,;\t|])({0}[^{0}\r\n]*{0})(?=[,;\t|\r\n]|$)"
    double = len(re.findall(fields.format('"'), text, re.M))
    single = len(re.findall(fields.format("'"), text, re.M))
    return "'" if single > 0 and double == 0 else '"'


def _decimal(records: list[list[str]], separator: str) -> Literal[".", ","]:
    if separator == ",":
        return "."
    cells = [cell for record in records for cell in record]
    commas = sum(1 for cell in cells if _COMMA_DECIMAL.fullmatch(cell))
    points = sum(1 for cell in cells if _POINT_DECIMAL.fullmatch(cell))
    return "," if commas > points else "."


def _newline(text: str) -> Literal["\n", "\r\n", "\r"]:
    first = re.search(r"\r\n|\n|\r", text)
    found = first.group() if first else "\n"
    return "\r\n" if found == "\r\n" else "\r" if found == "\r" else "\n"


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
    faults = [f"column {', '.join(empty[:5])} has no name in the first line"] if empty else []
    faults += [f"column name {names(twice)} appears more than once"] if twice else []
    if faults:
        raise FileError(f"{path}: {'; '.join(faults)}; give each column a name of its own in the first line")
    return header, stream.tell()
