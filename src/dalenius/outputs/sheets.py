"""Tables in files, read as a person reads them: under titles, above notes, on every sheet, with merged labels."""

from __future__ import annotations

import csv
import html.parser
import io
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from dalenius.data.files import excel_sheets
from dalenius.data.files.access import contents
from dalenius.data.files.dialect import sniff_csv
from dalenius.data.files.excel import excel_cells
from dalenius.outputs.query import Floats
from dalenius.published.entry import count_columns

ENDINGS = (".csv", ".tsv", ".xlsx", ".html", ".htm")
ACROSS = "(column)"
"""What the names of columns are a category of."""
FIGURE = re.compile(
    r"[<>≤≥]?\s*(?P<number>[-+]?\d{1,3}(?:[,'\u00a0\u202f\u2009 ]\d{3})+|[-+]?\d*[.,]?\d+(?:e[-+]?\d+)?)\s*%?"
    r"(?:\s*[(\[][-+\d.,;/ %–]*[)\]])?[*†‡a-e]{0,3}",
    re.IGNORECASE,
)
"""A number as offices print it: with thousands, a share in brackets, a note."""
MARK = re.compile(
    r"|[-–—.*•/:†‡_?]+|[<≤]\s*\d+|\(?[a-z]{1,2}\)?\*?|n\.?/?a\.?|nan|null|none|suppressed|masked|missing",
    re.I,
)
"""What stands where a figure was taken out."""

PARTS = {
    "pivotCache": "the records of a pivot table", "externalLinks": "copies of cells of other workbooks",
    "embeddings": "embedded files", "charts/": "charts", "media/": "pictures", "omments": "comments",
    "vbaProject": "macros",
}  # fmt: skip
TAGS = {
    "script": "a script",
    "svg": "a drawing",
    "img": "a picture",
    "iframe": "another page",
    "object": "an object",
}
POINTS = re.compile(r"-?\d{1,3}(\.\d{3})+(?!\d)")
"""A number with points between thousands."""

Grid = list[list[str]]


@dataclass(eq=False)
class Sheet:
    """One table of a file.

    Attributes
    ----------
    name
        The file, and which of its tables it is where there are several.
    texts
        Labels of the rows, by column.
    names, numbers
        The columns that may be counts, and what is printed in them; NaN where nothing is.
    others
        Whether there are other figures.
    remarks
        What a person should look at: cells that are neither figures nor marks, a first line that may be figures.
    """

    name: str
    texts: dict[str, list[str]]
    names: list[str]
    numbers: Floats
    others: bool
    remarks: list[str]

    def cells(self) -> tuple[dict[str, list[str]], Floats]:
        """The table with one row a cell: labels by column, and what is printed."""
        columns = {name: [label for label in held for _ in self.names] for name, held in self.texts.items()}
        if len(self.names) > 1:
            columns[ACROSS] = self.names * len(self.numbers)
        return columns, self.numbers.ravel()


def sheets_of(path: Path, name: str) -> list[Sheet]:
    r"""The tables of a file that hold figures.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "t.csv"
    >>> _ = file.write_text("People by region,,\nregion,f,m\nN,30 (88 %),4\nS,25,x\n")
    >>> sheets_of(file, "t.csv")[0].cells()[1].tolist()
    [30.0, 4.0, 25.0, nan]
    """
    found = [
        (f"{name}, {called}" if called else name, sheet)
        for called, grid in _grids(path)
        for block in blocks(grid)
        if (sheet := sheet_of(block)) is not None
    ]
    several = len({called for called, _ in found}) < len(found)
    for number, (called, sheet) in enumerate(found, 1):
        sheet.name = f"{called}, table {number}" if several else called
    return [sheet for _, sheet in found]


def data_behind(path: Path) -> str:
    """What a file holds besides its tables that may be data: the records of a pivot table, a script, a drawing."""
    if path.suffix.lower() == ".xlsx":
        with zipfile.ZipFile(path) as book:
            names = book.namelist()
        return ", ".join(words for part, words in PARTS.items() if any(part in name for name in names))
    if path.suffix.lower() in (".html", ".htm"):
        text = path.read_text(encoding="utf-8", errors="replace").lower()
        return ", ".join(words for tag, words in TAGS.items() if f"<{tag}" in text)
    return ""


def _grids(path: Path) -> list[tuple[str, Grid]]:
    """The cells of each sheet of a file as texts."""
    ending = path.suffix.lower()
    if ending == ".xlsx":
        sheets = excel_sheets(path)
        return [(s if len(sheets) > 1 else "", _clean(excel_cells(path, s))) for s in sheets]
    if ending in (".html", ".htm"):
        parser = _Rows()
        parser.feed(path.read_text(encoding="utf-8", errors="replace"))
        return [("", _clean(table)) for table in parser.tables]
    dialect = sniff_csv(path)
    text = bytes(contents(path)).decode(dialect.encoding, errors="replace").lstrip("\ufeff")
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=dialect.separator, quotechar=dialect.quote)
    return [("", _clean(list(rows)))]


def _clean(rows: Sequence[Sequence[str | None]]) -> Grid:
    width = max((len(row) for row in rows), default=0)
    return [[(cell or "").strip() for cell in row] + [""] * (width - len(row)) for row in rows]


def blocks(grid: Grid) -> list[Grid]:
    """Tables of a grid, each with its own first line: titles, notes and empty lines are taken away.

    A heading between rows is added to their labels. A part without a first line of its own, below an empty line,
    belongs to the table above it.

    Examples
    --------
    >>> blocks([["t", ""], ["", ""], ["a", "n"], ["x", "3"], ["", ""], ["y", "4"], ["note", ""]])
    [[['a', 'n'], ['x', '3'], ['y', '4']]]
    """
    found: list[Grid] = []
    apart, heading = True, ""
    for row in grid:
        filled = sum(map(bool, row))
        if filled < min(2, len(row)):
            apart, heading = apart or not filled, row[0] or heading
            continue
        goes_on = bool(found) and bool(row[0]) and any(number_of(cell) is not None for cell in row[1:])
        if apart and not goes_on:
            found.append([])
            heading = ""
        apart = False
        found[-1].append([" ".join(w for w in (heading, row[0]) if w), *row[1:]])
    return [_trimmed(block) for block in found if len(block) > 1]


def _trimmed(block: Grid) -> Grid:
    used = [j for j in range(len(block[0])) if any(row[j] for row in block)]
    return [[row[j] for j in used] for row in block]


def sheet_of(block: Grid) -> Sheet | None:
    """A table with named columns: which of them are labels, and which may be counts."""
    head, body = _headed(block)
    columns = {name: [row[j] for row in body] for j, name in enumerate(head)}
    numbers = {name: _numbers(held) for name, held in columns.items()}
    counted = count_columns(head)
    figures = [
        n for j, n in enumerate(head) if any(x is not None for x in numbers[n]) and (j or n in counted)
    ]
    texts = [n for n in head if n not in figures]
    figures, texts = _coded(columns, numbers, figures, texts, counted)
    if not figures:
        return None
    whole = [n for n in figures if all(x is None or (x >= 0 and x == round(x)) for x in numbers[n])]
    # beside means and shares only what is called a count
    counts = whole if len(whole) == len(figures) else count_columns(whole)
    shown = np.array([[np.nan if x is None else x for x in numbers[n]] for n in counts], np.float64)
    labels = {n: _filled(columns[n], n != texts[-1]) for n in texts}
    rows = {"row": [str(i) for i in range(len(body))]}
    remarks = _remarks(block[0], {n: columns[n] for n in figures})
    return Sheet(
        "", labels or rows, counts, shown.T.reshape(len(body), -1), len(counts) < len(figures), remarks
    )


def _numbers(cells: Sequence[str]) -> list[float | None]:
    """A column as numbers; points before three digits are thousands where other numbers have none."""
    found = [number_of(cell) for cell in cells]
    pointed = [cell for cell, x in zip(cells, found, strict=True) if x is not None and "." in cell]
    if 0 < len(pointed) < sum(x is not None for x in found) and all(map(POINTS.match, pointed)):
        return [number_of(cell.replace(".", "")) for cell in cells]
    return found


def _remarks(first: Sequence[str], figures: dict[str, list[str]]) -> list[str]:
    """What a person should look at in a table."""
    said = []
    strange = sum(number_of(c) is None and not MARK.fullmatch(c) for held in figures.values() for c in held)
    if strange:
        words = "cell among the figures is neither a figure nor a mark"
        said.append(
            f"1 {words}"
            if strange == 1
            else f"{strange} {words.replace('cell', 'cells').replace('is', 'are')}"
        )
    if _may_be_figures(first):
        said.append("its first line may hold figures, not names")
    return said


def _may_be_figures(first: Sequence[str]) -> bool:
    """Whether the first line is no names: years and codes go on by equal steps, figures do not."""
    named = [x for cell in first[1:] if (x := number_of(cell)) is not None]
    steps = {after - before for before, after in pairwise(named)}
    names = (
        len(steps) < 2
        and steps <= {1.0, 5.0, 10.0}
        and (len(named) > 1 or all(1900 < x < 2100 for x in named))
    )
    return bool(named) and (number_of(first[0]) is not None or not names)


def _headed(block: Grid) -> tuple[list[str], Grid]:
    """Names of the columns, from several lines where the first one has gaps or says things twice, and the rest."""
    head, depth = block[0], 1
    while depth < len(block) - 1 and len({c for c in head[1:] if c}) < len(head) - 1:
        if any(number_of(cell) is not None for cell in block[depth]):
            break
        above = _filled(head, True)
        head = [" ".join(p for p in (a, b) if p) for a, b in zip(above, block[depth], strict=True)]
        depth += 1
    taken: list[str] = []
    for j, cell in enumerate(head):
        name = cell or f"column {j + 1}"
        taken.append(name if name not in taken else f"{name} {j + 1}")
    return taken, block[depth:]


def _filled(labels: Sequence[str], down: bool) -> list[str]:
    """Labels of which the same one is not written again."""
    held: list[str] = []
    for label in labels:
        held.append(label if label or not down or not held else held[-1])
    return held


def _coded(
    columns: dict[str, list[str]], numbers: dict[str, list[float | None]], figures: list[str], texts: list[str],
    counted: Sequence[str],
) -> tuple[list[str], list[str]]:  # fmt: skip
    """Columns of codes are labels: those without which rows have the same labels. A number of the row is none."""
    index = columns[texts[0]] if len(texts) > 1 or (texts and len(figures) > 1) else []
    steps = [float(i) for i in range(len(index))]
    if (
        index
        and texts[0].startswith("column ")
        and [number_of(c) for c in index] in (steps, [s + 1 for s in steps])
    ):
        texts = texts[1:]
    for name in list(figures[:-1]):
        rows = list(zip(*(columns[n] for n in texts), strict=True)) if texts else []
        if texts and len(set(rows)) == len(rows):
            break
        shown = [x for x in numbers[name] if x is not None]
        if name not in counted and len(shown) == len(numbers[name]) > len(set(shown)):
            figures, texts = (
                [f for f in figures if f != name],
                [n for n in columns if n in texts or n == name],
            )
    return figures, texts


def number_of(cell: str) -> float | None:
    """A cell as a number, however offices write it; None where it is none.

    Examples
    --------
    >>> [number_of(c) for c in ("3*", "1,204", "3,5", "30 (20 %)", "1 204", "<10", "x", "4 persons", "2.5e-3")]
    [3.0, 1204.0, 3.5, 30.0, 1204.0, None, None, None, 0.0025]
    """
    found = FIGURE.fullmatch(cell.strip())
    if found is None or cell.strip()[0] in "<>≤≥":
        return None
    plain = found["number"]
    grouped = re.fullmatch(r"[-+]?\d{1,3}([,'\u00a0\u202f\u2009 ]\d{3})+", plain)
    return float(re.sub(r"[,'\u00a0\u202f\u2009 ]", "", plain) if grouped else plain.replace(",", "."))


class _Rows(html.parser.HTMLParser):
    """Cells of the tables of a page; one that spans several columns or rows stands in each of them."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[Grid] = []
        self.inside = False
        self.spans: dict[int, tuple[int, str]] = {}
        self.span = (1, 1)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables.append([])
            self.spans = {}
        elif tag == "tr" and self.tables:
            self.tables[-1].append([])
            self._held()
        elif tag in ("td", "th") and self.tables and self.tables[-1]:
            self.tables[-1][-1].append("")
            given = dict(attrs)
            self.span = _whole(given.get("colspan")), _whole(given.get("rowspan"))
            self.inside = True
        elif tag == "br" and self.inside:
            self.handle_data(" ")

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("td", "th") or not self.inside:
            return
        self.inside = False
        row = self.tables[-1][-1]
        row[-1] = " ".join(row[-1].split())
        across, down = self.span
        row += [row[-1]] * (across - 1)
        for place in range(len(row) - across, len(row)):
            if down > 1:
                self.spans[place] = (down - 1, row[-1])
        self._held()

    def _held(self) -> None:
        """Cells of lines above that reach down to here."""
        row = self.tables[-1][-1]
        while len(row) in self.spans:
            left, text = self.spans.pop(len(row))
            if left > 1:
                self.spans[len(row)] = (left - 1, text)
            row.append(text)

    def handle_data(self, data: str) -> None:
        if self.inside and self.tables and self.tables[-1] and self.tables[-1][-1]:
            self.tables[-1][-1][-1] += data


def _whole(text: str | None) -> int:
    return min(int(text), 1000) if text and text.isdigit() and int(text) else 1
