"""Reading hierarchies: τ-ARGUS ``.hrc``, level lists, ARX files, parent–child lists, level columns, frames of R."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from dalenius.core.errors import FileError, TableError
from dalenius.data.files.access import text_of
from dalenius.tables.hierarchy import TOTAL, Hierarchy

PARENT_NAMES = {"parent", "parents", "parent_code", "mapsto"}
CHILD_NAMES = {"child", "code", "codes", "child_code", "mapsfrom"}
R_FILES = (".rda", ".rdata", ".rds")


def read_hierarchy(path: str | Path, total: str = TOTAL, lead: str = "@") -> Hierarchy:
    r"""Read a hierarchy file; the format is recognised.

    - ``.hrc`` (τ-ARGUS): one code a line, one ``@`` per level below the top; the total is not in the file.
    - level list (sdcTable, GaussSuppression): columns ``levels`` ("@" for the total, "@@" below it) and ``codes``,
      wherever they stand (R puts row names before them).
    - parent–child: a header with ``child`` (or ``code``) and ``parent``.
    - ARX: no header, ``;`` between the columns, leaf first, then its groups, ``*`` as the total.
    - level columns: a header, leaf first, then its groups, from fine to coarse.
    - ``.rda``, ``.rds`` (R): a data frame in one of the forms above (needs the package pyreadr).

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "region.hrc")
    ...     _ = file.write_text("North\n@N1\n@N2\nSouth\n@S1\n")
    ...     print(read_hierarchy(file))
    Total
      North
        N1
        N2
      South
        S1
    """
    path = Path(path)
    kind = path.suffix.lower()
    try:
        if kind in R_FILES:
            return _of_rows(_r_frame(path), total, lead)
        lines = _lines(path)
        if kind == ".hrc":
            return _hrc(lines, total, lead)
        mark = max(";\t,", key=lines[0].count)
        rows = [[field.strip() for field in row] for row in csv.reader(lines, delimiter=mark) if row]
        return _arx(rows, total) if mark == ";" and _is_arx(rows) else _of_rows(rows, total, lead)
    except TableError as error:
        raise TableError(path.name, error.faults) from error


def _lines(path: Path) -> list[str]:
    lines = [line.rstrip() for line in text_of(path).splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    if not lines:
        raise FileError(f"{path.name}: the file is empty; one code a line is expected")
    return lines


def _r_frame(path: Path) -> list[list[str]]:
    """The first data frame of an R file, as rows of text with a header."""
    try:
        import pyreadr  # noqa: PLC0415 (only files of R need it)
    except ImportError as error:
        raise FileError(
            f"{path.name}: reading files of R needs the package pyreadr (pip install 'dalenius[files]'); "
            "or export the hierarchy in R with write.csv(frame, 'file.csv', row.names = FALSE)"
        ) from error
    try:
        frames = pyreadr.read_r(str(path))
    except (OSError, pyreadr.PyreadrError, pyreadr.LibrdataError) as error:
        raise FileError(
            f"{path.name}: no data frame can be read from it; R lists and trees have to be exported with write.csv"
        ) from error
    if not frames:
        raise FileError(f"{path.name}: holds no data frame; export the hierarchy with write.csv")
    frame = next(iter(frames.values()))
    return [[str(name) for name in frame.columns], *([str(v) for v in row] for row in frame.to_numpy())]


def _hrc(lines: Sequence[str], total: str, lead: str) -> Hierarchy:
    levels, codes = [], []
    for line in lines:
        code = line.lstrip(lead)
        levels.append((len(line) - len(code)) // len(lead))
        codes.append(code.strip())
    if levels and levels[0] != 0:
        levels = [level - levels[0] for level in levels]
    return Hierarchy.from_levels([level + 1 for level in levels], codes, total)


def _of_rows(rows: Sequence[Sequence[str]], total: str, lead: str) -> Hierarchy:
    """A table with a header: a level list, parent–child pairs, or level columns."""
    _same_width(rows)
    if len(rows) < 2:
        raise TableError("rows", ["there is a header but no code"])
    header = [field.lower() for field in rows[0]]
    if {"levels", "codes"} <= set(header):
        level, code = header.index("levels"), header.index("codes")
        return _level_list([(row[level], row[code]) for row in rows[1:]], total, lead)
    if len(header) == 2 and set(header) & PARENT_NAMES and set(header) & CHILD_NAMES:
        child = next(i for i, name in enumerate(header) if name in CHILD_NAMES)
        return Hierarchy.from_pairs([(row[child], row[1 - child]) for row in rows[1:]])
    return Hierarchy.from_columns(list(zip(*rows[1:], strict=True)), total)


def _same_width(rows: Sequence[Sequence[str]]) -> None:
    width = max(len(row) for row in rows)
    short = [str(i) for i, row in enumerate(rows, 1) if len(row) != width]
    if short:
        raise TableError("columns", [f"lines {', '.join(short[:5])} do not have {width} columns"])


def _is_arx(rows: Sequence[Sequence[str]]) -> bool:
    """No header, and the same code (usually ``*``) at the end of every line."""
    return not {"levels", "codes"} <= set(rows[0]) and all(row[-1] == rows[0][-1] for row in rows)


def _arx(rows: Sequence[Sequence[str]], total: str) -> Hierarchy:
    _same_width(rows)
    star = rows[0][-1]
    columns = list(zip(*rows, strict=True))
    renamed = [total if code == "*" else code for code in columns[-1]]
    return Hierarchy.from_columns([*columns[:-1], renamed], total if star == "*" else star)


def _level_list(rows: Sequence[Sequence[str]], total: str, lead: str) -> Hierarchy:
    faults = [f"line {i}: the level is not a row of {lead!r}" for i, (level, *_) in enumerate(rows, 2)
              if not level or level.strip(lead)]  # fmt: skip
    if faults:
        raise TableError("levels", faults)
    levels = [len(row[0]) for row in rows]
    if levels.count(min(levels)) > 1:
        return Hierarchy.from_levels(levels, [row[1] for row in rows], total)
    return Hierarchy.from_levels(levels, [row[1] for row in rows])
