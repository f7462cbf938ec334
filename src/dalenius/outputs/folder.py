"""Files without a desk: tables in a folder looked at by their own figures only. Weaker, and it says so.

Without the data nobody can count people behind a mean or see who dominates; small counts, sums that give a missing cell
away and differences between tables of the same layout can be seen.
"""

from __future__ import annotations

import html.parser
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from dalenius.core.errors import DaleniusError, FileError, counted
from dalenius.data import read
from dalenius.outputs.checks import ORDER, Verdict, file_type
from dalenius.outputs.policy import Policy
from dalenius.outputs.query import Floats
from dalenius.published.entry import count_columns
from dalenius.published.nullspace import computable_cells
from dalenius.published.totals import totals_of

TABLES = (".csv", ".tsv", ".xlsx", ".html", ".htm")
MOST_INNER = 20_000
"""Cells of a table that is searched for missing ones that follow."""
WEAKER = "Checked without the data: people behind the figures were not counted. A pass here is a review."


@dataclass
class FileFinding:
    """What was seen in one file.

    Attributes
    ----------
    status
        "fail" where something was seen, "review" otherwise: without the data nothing passes.
    """

    file: str
    status: Verdict = "review"
    seen: list[str] = field(default_factory=list)

    def fault(self, text: str) -> None:
        """Write down something that should not leave."""
        self.status = ORDER[2]
        self.seen.append(text)


@dataclass(eq=False)
class _Sheet:
    """One table of a file: labels of its rows, the columns that may be counts, and whether there are other figures."""

    file: str
    labels: list[str]
    names: list[str]
    numbers: Floats
    texts: dict[str, list[str]]
    others: bool

    def cells(self) -> tuple[dict[str, list[str]], Floats]:
        """The table with one row a cell: labels by column, and what is printed."""
        columns = {name: [label for label in held for _ in self.names] for name, held in self.texts.items()}
        if len(self.names) > 1:
            columns["(column)"] = self.names * len(self.labels)
        return columns, self.numbers.ravel()


def check_folder(folder: str | Path, policy: Policy | None = None) -> list[FileFinding]:
    r"""Look at every file of a folder.

    Examples
    --------
    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp())
    >>> _ = (place / "t.csv").write_text("region,f,m\nN,30,4\nS,25,28\n")
    >>> [(f.file, f.status, f.seen) for f in check_folder(place)]
    [('t.csv', 'fail', ['1 count below 10'])]
    """
    place, limits = Path(folder), policy or Policy()
    if not place.exists():
        raise FileError(f"{place}: there is no such folder or file")
    files = sorted(p for p in place.rglob("*") if p.is_file()) if place.is_dir() else [place]
    found, sheets = [], []
    for path in files:
        name = str(path.relative_to(place)) if place.is_dir() else path.name
        finding = FileFinding(name)
        found.append(finding)
        blocked = file_type(path.name, limits)
        if blocked:
            finding.fault(blocked)
        elif path.suffix.lower() in TABLES:
            sheets += [(finding, sheet) for sheet in _read(path, name, finding)]
        else:
            finding.seen.append("not a table; a person looks at it")
    for finding, sheet in sheets:
        _alone(finding, sheet, limits)
    for (first, one), (second, two) in combinations(sheets, 2):
        _between(first, one, second, two, limits)
    return found


def _alone(finding: FileFinding, sheet: _Sheet, policy: Policy) -> None:
    if sheet.others:
        finding.seen.append("figures that are no counts; how many people stand behind them is not known")
    if not sheet.names:
        return
    columns, counts = sheet.cells()
    totals = totals_of(columns, counts)
    inner = counts[~np.logical_or.reduce([np.isin(labels, totals.labels) for labels in columns.values()])]
    few = int(((inner > 0) & (inner < policy.threshold)).sum())
    if few:
        finding.fault(f"{few} {'count' if few == 1 else 'counts'} below {policy.threshold}")
    if policy.zeros and bool((inner == 0).any()):
        finding.fault("empty cells: nobody of the row is there")
    follow = following(columns, counts, totals.labels)
    if follow:
        finding.fault(
            f"{counted(follow, 'missing cell')} {'follows' if follow == 1 else 'follow'} from what is shown"
        )


def following(columns: Mapping[str, Sequence[str]], counts: Floats, totals: Sequence[str]) -> int:
    """How many missing cells of a table follow from the others, through whatever rows and columns.

    Examples
    --------
    >>> columns = {"g": ["a", "b", "All"] * 3, "c": ["x"] * 3 + ["y"] * 3 + ["All"] * 3}
    >>> gaps = np.array([np.nan, np.nan, 40, np.nan, 25, 60, 45, 55, 100])
    >>> following(columns, gaps, ["All"])  # b by its column, then a by its rows
    3
    """
    gaps = np.isnan(counts)
    codes = [np.unique(np.asarray(labels), return_inverse=True) for labels in columns.values()]
    summed = [np.isin(levels, totals) for levels, _ in codes]
    place = [code.ravel() for _, code in codes]
    if not gaps.any() or not any(mask[code].any() for mask, code in zip(summed, place, strict=True)):
        return 0
    whole = [np.flatnonzero(~mask) for mask in summed]
    if math.prod(map(len, whole)) > MOST_INNER:
        return 0
    inner = np.stack(np.meshgrid(*whole, indexing="ij")).reshape(len(place), -1)
    covers = np.ones((inner.shape[1], len(counts)), np.bool_)
    for own, mask, code in zip(inner, summed, place, strict=True):
        covers &= mask[code][None, :] | (own[:, None] == code[None, :])
    matrix = sp.csc_matrix(covers.astype(np.int64))
    return int((computable_cells(matrix, ~gaps) & gaps & covers.any(axis=0)).sum())


def _between(first: FileFinding, one: _Sheet, second: FileFinding, two: _Sheet, policy: Policy) -> None:
    """Differences of two tables of counts with the same labels."""
    if not one.names or one.names != two.names:
        return
    common = [label for label in one.labels if label in set(two.labels)]
    if not common:
        return
    a = one.numbers[[one.labels.index(c) for c in common]]
    b = two.numbers[[two.labels.index(c) for c in common]]
    gap = np.abs(a - b)
    if bool(((gap > 0) & (gap < policy.threshold)).any()):
        for finding, other in ((first, two.file), (second, one.file)):
            finding.fault(f"differs by fewer than {policy.threshold} from {other}")


def _read(path: Path, name: str, finding: FileFinding) -> list[_Sheet]:
    try:
        if path.suffix.lower() in (".html", ".htm"):
            frames = _html_tables(path.read_text(encoding="utf-8", errors="replace"))
        else:
            held = read(path)
            frames = [pl.DataFrame({n: [_cell(x) for x in held.to_frame()[n]] for n in held.names})]
    except (DaleniusError, OSError, ValueError) as error:
        finding.fault(f"cannot be read ({type(error).__name__}); a person looks at it")
        return []
    sheets = [sheet for frame in frames for sheet in _sheet(frame, name)]
    if not sheets:
        finding.seen.append("no figures that can be read; a person looks at it")
    return sheets


def _cell(value: Any) -> Any:
    return None if value is None else str(value)


def _sheet(frame: pl.DataFrame, file: str) -> list[_Sheet]:
    numbers = {n: _numbers(frame[n]) for n in frame.columns}
    figures = [n for n in frame.columns if numbers[n].is_not_null().any() and n != frame.columns[0]]
    if not figures or not len(frame):
        return []
    texts = [n for n in frame.columns if n not in figures]
    whole = [n for n in figures if ((numbers[n] >= 0) & (numbers[n] == numbers[n].round())).all()]
    # beside means and shares only what is called a count
    counts = whole if len(whole) == len(figures) else count_columns(whole)
    labels = (
        [" / ".join(str(v) for v in row) for row in frame.select(texts).iter_rows()]
        if texts
        else [str(i) for i in range(len(frame))]
    )
    return [
        _Sheet(
            file,
            labels,
            counts,
            np.array([numbers[n].fill_null(float("nan")).to_numpy() for n in counts]).T.reshape(
                len(frame), -1
            ),
            {n: ["" if v is None else str(v) for v in frame[n]] for n in texts} or {"row": labels},
            len(counts) < len(figures),
        )
    ]


def _numbers(column: pl.Series) -> pl.Series:
    """A column as numbers, however offices write them: with spaces, notes, thousands or a decimal comma.

    Examples
    --------
    >>> _numbers(pl.Series([" 3 ", "3*", "1,204", "3,5", "x"])).to_list()
    [3.0, 3.0, 1204.0, 3.5, None]
    """
    plain = column.cast(pl.String).str.strip_chars(" \t\u00a0\u202f*†‡%")
    grouped = plain.str.contains(r"^-?\d{1,3}([,\u00a0\u202f ]\d{3})+$")
    whole = plain.str.replace_all(r"[,\u00a0\u202f ]", "")
    return whole.zip_with(grouped.fill_null(False), plain.str.replace(",", ".")).cast(
        pl.Float64, strict=False
    )


class _Rows(html.parser.HTMLParser):
    """Cells of the tables of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.inside = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables.append([])
        elif tag == "tr" and self.tables:
            self.tables[-1].append([])
        elif tag in ("td", "th") and self.tables and self.tables[-1]:
            self.tables[-1][-1].append("")
            self.inside = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside and self.tables and self.tables[-1] and self.tables[-1][-1]:
            self.tables[-1][-1][-1] += data.strip()


def _html_tables(text: str) -> list[pl.DataFrame]:
    parser = _Rows()
    parser.feed(text)
    frames = []
    for table in parser.tables:
        rows = [r for r in table if r]
        if len(rows) < 2:
            continue
        width = max(len(r) for r in rows)
        head = [h or f"column {i + 1}" for i, h in enumerate(rows[0] + [""] * (width - len(rows[0])))]
        names = [h if head.index(h) == i else f"{h} {i + 1}" for i, h in enumerate(head)]
        body = [[*r, *[""] * (width - len(r))] for r in rows[1:]]
        frames.append(
            pl.DataFrame(
                {n: [r[i] or None for r in body] for i, n in enumerate(names)},
                schema=dict.fromkeys(names, pl.String),
            )
        )
    return frames
