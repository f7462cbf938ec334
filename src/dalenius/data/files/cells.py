"""The cells of a text file by columns: codes over texts, or numbers where all cells of a column are plain ones.

Nothing is decided here that the text does not say: a number is taken as one only if it would be written as it stands,
so that codes such as 0110 stay text. What is less plain (an exponent, 17 digits, a sign between thousands) is left as
text.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa

from dalenius.data.files.dialect import Dialect
from dalenius.data.files.modes import DECIMAL, FEW, PLACES, SLOTS, TEXT, WHOLE
from dalenius.data.vector import AnyArray

SHORT = 1 << 20
"""Files up to so many bytes are read by Python itself."""
PEEK = 10_000
"""Rows from which it is guessed which columns are numbers."""
POWERS = np.array([float(10**k) for k in range(PLACES + 1)])


class NotRecords(Exception):
    """A line with too few or too many cells, or a quote that is never closed."""


@dataclass(frozen=True, eq=False)
class Texts:
    """A column of text: ``rows`` says which of the texts each row has; some texts may be there twice."""

    texts: pl.Series
    rows: AnyArray

    def with_gap(self) -> tuple[pl.Series, AnyArray | None]:
        """The texts, with an empty one at the end if a row has none, and the rows; None if each row has its own."""
        if len(self.texts) == len(self.rows):
            return self.texts, None
        gaps = int(len(self.rows) > 0 and self.rows.min() < 0)
        return self.texts.extend_constant(None, gaps), self.rows


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column of plain numbers, the most decimals of one, its empty rows, and the words that stand in them."""

    data: AnyArray
    gaps: npt.NDArray[np.uint8] | None
    places: int
    words: tuple[str, ...] = ()


@dataclass(frozen=True)
class Census:
    """How often signs that matter occur in a file."""

    nul: int
    feeds: int
    returns: int
    quotes: int
    marks: int

    @property
    def lines(self) -> int:
        """Lines at most."""
        return 1 + (self.feeds if self.feeds == self.returns else self.feeds + self.returns)


def census(body: memoryview, quote: str) -> Census:
    r"""Count the signs of a file.

    Examples
    --------
    >>> census(memoryview(b'"a",b\n1,2\n'), '"')
    Census(nul=0, feeds=2, returns=0, quotes=2, marks=0)
    """
    if len(body) <= SHORT:
        data = bytes(body)
        return Census(*(data.count(sign) for sign in (b"\0", b"\n", b"\r", quote.encode(), b"'")))
    counts = np.zeros(5, np.int64)
    _kernels().tally(np.frombuffer(body, np.uint8), _byte(quote), counts)
    return Census(*counts.tolist())


class Cells:
    """The cells of a file: some rows first, from which it is told how the columns are best read, then all."""

    def __init__(self, body: memoryview, dialect: Dialect, lines: int, width: int, empty: bool) -> None:
        self.body, self.dialect, self.lines, self.width, self.empty = body, dialect, lines, width, empty
        short = _short_cells(body, dialect, width, empty) if len(body) <= SHORT else None
        self.peek: Sequence[Texts | Numbers | int] = short or ()
        self.whole = short is not None
        if short is None:
            rows, self.peek = self._read([TEXT] * width, most=PEEK)
            self.whole = rows < PEEK

    def first(self) -> list[pl.Series]:
        """The texts of the first rows, column by column."""
        held = [column.with_gap() for column in self.peek if isinstance(column, Texts)]
        return [texts if rows is None else texts.gather(rows) for texts, rows in held]

    def columns(
        self, numbers: Sequence[bool], gap_words: Callable[[pl.Series], list[str]]
    ) -> Iterator[Texts | Numbers]:
        """All columns; those of plain numbers as such, where ``numbers`` allows it."""
        made: Sequence[Texts | Numbers | int] = self.peek
        if not self.whole:
            texts = pl.concat([column.texts for column in self.peek if isinstance(column, Texts)])
            words = gap_words(texts.unique())
            made = self._read([WHOLE if number else TEXT for number in numbers], words, PEEK)[1]
            made = self._read([_mode(column) for column in made], words)[1]
            if any(isinstance(column, int) for column in made):
                again = self._read([column if isinstance(column, int) else 0 for column in made], words)[1]
                made = [new if isinstance(old, int) else old for old, new in zip(made, again, strict=True)]
        for column in made:
            assert not isinstance(column, int)
            yield column

    def _read(
        self, modes: Sequence[int], words: Sequence[str] = (), most: int | None = None
    ) -> tuple[int, list[Texts | Numbers | int]]:
        return read_cells(
            self.body, self.dialect, modes, self.lines, words=words, empty=self.empty, most=most
        )


def _short_cells(body: memoryview, dialect: Dialect, width: int, empty: bool) -> list[Texts] | None:
    """The columns of a short file, read without compiled code, which takes longer to load; None for odd quotes."""
    try:
        text = bytes(body).decode("utf-8")
        lines = io.StringIO(text, newline="")
        cells = csv.reader(lines, delimiter=dialect.separator, quotechar=dialect.quote, strict=True)
        records = [record or [""] for record in cells if record or width == 1]
    except (UnicodeDecodeError, csv.Error):
        return None
    if 2 * dialect.quote in text or any(len(record) != width for record in records):
        return None
    columns = zip(*records, strict=True) if records else [()] * width
    held = (pl.Series(column, dtype=pl.String) for column in columns)
    made = (texts.set(texts == "", None) if empty else texts for texts in held)
    return [Texts(texts, np.arange(len(texts))) for texts in made]


def _mode(column: Texts | Numbers | int) -> int:
    """How a column is read whose first rows are these; one without a number there may be anything."""
    if isinstance(column, int):
        return column
    if isinstance(column, Texts) or (column.gaps is not None and column.gaps.all()):
        return TEXT
    return WHOLE


def read_cells(
    body: memoryview, dialect: Dialect, modes: Sequence[int], lines: int, *, words: Sequence[str] = (),
    empty: bool = True, most: int | None = None,
) -> tuple[int, list[Texts | Numbers | int]]:  # fmt: skip
    r"""The rows, and every column in the mode asked for; ``WHOLE`` or ``TEXT`` by itself where that mode does not fit.

    Parameters
    ----------
    body
        The file after its line of names.
    modes
        ``TEXT``, ``WHOLE``, ``DECIMAL``, or 0 for a column that is not wanted.
    lines
        Lines at most, for which room is made.
    words
        What stands for a gap among numbers.
    empty
        Whether an empty cell is a gap.
    most
        Rows that are read.

    Examples
    --------
    >>> from dalenius.data.files.dialect import Dialect
    >>> rows, (a, b) = read_cells(memoryview(b"1,x\n,y\n3,x\n"), Dialect(), (WHOLE, TEXT), 4)
    >>> rows, a.data.tolist(), b.texts.to_list(), b.rows.tolist()
    (3, [1, 0, 3], ['x', 'y'], [0, 1, 0])
    """
    most = lines if most is None else min(most, lines)
    kinds = np.array(modes, np.int64)
    room = _Room(kinds, most, len(words))
    held = [word.encode() for word in words]
    signs = (dialect.separator, dialect.quote, dialect.decimal)
    rows, fault = _kernels().cells(
        np.frombuffer(body, np.uint8),
        np.array([*map(_byte, signs), empty, most], np.int64),
        kinds,
        room.order,
        np.frombuffer(b"".join(held) or b" ", np.uint8),
        np.cumsum([len(word) for word in held], dtype=np.int64),
        POWERS,
        *(room.codes, room.tables, room.starts, room.sizes, room.forms, room.found),
        *(room.bits, room.gaps, room.used, room.decimals, room.wrong, room.lacking),
    )
    if fault >= 0:
        raise NotRecords
    return rows, [room.column(c, rows, body, dialect, words) for c in range(len(modes))]


class _Room:
    """Arrays that are filled while a file is read: one set for columns of text, one for columns of numbers."""

    def __init__(self, kinds: npt.NDArray[np.int64], most: int, words: int) -> None:
        is_text, is_number = kinds == TEXT, kinds >= WHOLE
        self.kinds = kinds
        self.order = np.where(is_text, np.cumsum(is_text) - 1, np.cumsum(is_number) - 1)
        texts, numbers = int(is_text.sum()), int(is_number.sum())
        slots = min(SLOTS, 1 << int(2 * most).bit_length())
        # Memory that is never written to is never taken: most texts have few different values.
        self.codes = np.empty((texts, most), np.int32)
        self.tables = np.zeros((texts, slots, 3), np.uint64)
        self.starts = np.empty((texts, most), np.int64)
        self.sizes = np.empty((texts, most), np.int32)
        self.forms = np.empty((texts, most), np.int8)
        self.found = np.zeros((texts, 2), np.int64)
        self.found[:, 1] = min(FEW, slots)
        self.bits = np.empty((numbers, most), np.int64)
        self.gaps = np.zeros((numbers, most), np.uint8)
        self.used = np.zeros((numbers, words), np.bool_)
        self.decimals, self.wrong = np.zeros(numbers, np.int64), np.zeros(numbers, np.int64)
        self.lacking = np.zeros(numbers, np.bool_)

    def column(
        self, number: int, rows: int, body: memoryview, dialect: Dialect, words: Sequence[str]
    ) -> Texts | Numbers | int:
        """One column as it was read; the mode it needs instead where it could not be."""
        mode, k = int(self.kinds[number]), int(self.order[number])
        if not mode:
            return 0
        if mode == TEXT:
            n = int(self.found[k, 0])
            texts = _series(body, self.starts[k, :n], self.sizes[k, :n], self.forms[k, :n], dialect.quote)
            return Texts(texts, self.codes[k, :rows])
        if self.wrong[k]:
            return DECIMAL if self.wrong[k] == 1 else TEXT
        data, gaps = self.bits[k, :rows], self.gaps[k, :rows]
        met = tuple(word for word, there in zip(words, self.used[k], strict=True) if there)
        return Numbers(
            data if mode == WHOLE else data.view(np.float64),
            gaps if self.lacking[k] else None,
            int(self.decimals[k]),
            met,
        )


def _series(body: memoryview, starts: AnyArray, sizes: AnyArray, forms: AnyArray, quote: str) -> pl.Series:
    """The texts at some places of a file, with what quotes mean in them."""
    ends = np.empty(len(starts) + 1, np.int64)
    _kernels().ends_of(sizes, ends)
    out = np.empty(int(ends[-1]) + 8, np.uint8)
    _kernels().gather(np.frombuffer(body, np.uint8), starts, sizes, ends, out)
    array = pa.LargeStringArray.from_buffers(len(starts), pa.py_buffer(ends), pa.py_buffer(out))
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:  # no UTF-8
        raise NotRecords from None
    texts = pl.Series(pl.from_arrow(array), dtype=pl.String)
    if not forms.any():
        return texts
    doubled = pl.Series(forms == 1)
    texts = pl.select(
        pl.when(doubled).then(texts.str.replace_all(2 * quote, quote, literal=True)).otherwise(texts)
    ).to_series()
    odd = np.flatnonzero(forms == 2)
    if not len(odd):
        return texts
    fields = texts.gather(odd).to_list()
    read = [next(csv.reader([field], delimiter="\0", quotechar=quote))[0] for field in fields]
    return texts.scatter(odd, pl.Series(read))


def _kernels() -> Any:
    """Compiled loops, loaded for long files only."""
    from dalenius.data.files import _kernels as kernels  # noqa: PLC0415 (Numba takes long to load)

    return kernels


def _byte(sign: str) -> int:
    """The byte of a sign; a sign of several never occurs."""
    code = sign.encode()
    return code[0] if len(code) == 1 else 256
