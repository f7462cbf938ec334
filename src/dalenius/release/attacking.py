"""Reading what is to be attacked: a list of figures, a folder of tables, a pack, or single tables."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from dalenius.core.errors import FileError
from dalenius.data import read
from dalenius.data.files import excel_sheets
from dalenius.published import Entry, Ledger, Published
from dalenius.published.doubts import look_alikes, other_values, overlapping_bands
from dalenius.published.entry import COUNTS, count_columns, named_files
from dalenius.published.reading import without_figures

LISTS = ("figures.yaml", "published.yaml")
YAML = (".yaml", ".yml")
ENDINGS = (".csv", ".parquet", ".xlsx")
WORKBOOK = ".xlsx"
HARMLESS = ("readme", "license", "licence", "changelog")
"""Texts (.txt, .md) that lie beside tables and hold none."""
READ = "Tables have one row a cell and a column n, count or freq, in .csv, .parquet or .xlsx files of the folder."
EARLIER = "earlier"
"""Date of tables that were out before and have none of their own."""


def read_published(paths: Sequence[str | Path]) -> Published:
    r"""Everything in some files and folders, together.

    A YAML file lists tables and how they were treated; a ``.jsonl`` file is a ledger; a folder is taken by its
    ``figures.yaml``, or else by its tables (also those of a pack's ``public`` folder) that have a column of counts.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "sexes.csv").write_text("sex,n\nf,3\nm,4\n")
    >>> read_published([folder])
    Published(1 table, 2 cells: 2 exact; sex 2)
    """
    return read_both(paths)[0]


def read_both(
    published: Sequence[str | Path],
    earlier: Sequence[str | Path] = (),
    record: str | Path | None = None,
    **facts: Any,
) -> tuple[Published, Published | None]:
    """What is to go out, and what was out before; tables of one name are told apart by their folder.

    Tables that were out before have a date of their own, so that they count as tables of the same people only where
    somebody says so; those in the ``record`` that the new ones are to be added to keep the date they have in it.
    ``facts`` say how tables were treated that stand in no list (see `Entry`).
    """
    if not published:
        raise FileError("nothing to attack: name tables, a folder of them, or a list of figures")
    named = [*map(Path, published), *map(Path, earlier)]
    more = [Path(r) for r in (record,) if r is not None and Path(r).exists() and Path(r) not in named]
    paths = [*named, *more]
    parts = [*(_read(path, facts) for path in named), *(Ledger(path).published() for path in more)]
    taken = Counter(name for part in parts for name in {margin.name for margin in part.margins})
    told = [_told_apart(part, path, taken) for part, path in zip(parts, paths, strict=True)]
    before = slice(len(published), len(published) + len(earlier))
    new, out = _joined(told[: len(published)]), [*map(_dated, told[before]), *told[before.stop :]]
    old = _joined(out) if out else None
    both = new if old is None else old | new
    unread = left_out(paths)
    told_of = ", ".join(f"{file.parent.name}/{file.name}" for file in unread)
    doubts = [f"Not attacked, and what is in it is not known: {told_of}. {READ}"] if unread else []
    doubts += [*look_alikes(both), *(overlapping_bands(both) or other_values(both))]
    return replace(new, doubts=(*new.doubts, *doubts)), old


def files_read(path: Path, home: Path | None = None) -> dict[str, Path]:
    """Every file that is read for one entry, by its way from ``home``; without one, from where the entry's folder lies.

    A name does not depend on how the entry was called: a pack is verified from another folder than it was made in.
    """
    own = [] if path.is_dir() else [path]
    # of a folder also those that are not read: with one more of them, figures are not trusted
    inside = _files(path) if path.is_dir() else named_files(path) if path.suffix in YAML else []
    start = home or Path(os.path.abspath(path if path.is_dir() else path.parent)).parent
    return {_way(file, start): file for file in (*own, *inside)}


def _way(file: Path, start: Path) -> str:
    """The way to a file; one that lies there has a name that no file of records has."""
    way = Path(os.path.relpath(file, start)).as_posix()
    return way if "/" in way else f"./{way}"


def left_out(paths: Sequence[str | Path]) -> list[Path]:
    r"""Files in folders that may hold tables and are no part of the attack: what they give away is not known.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> _ = (folder / "sexes.csv").write_text("sex,n\nf,3\nm,4\n")
    >>> _ = (folder / "towns.csv").write_text("town,people\nA,1\nB,6\n")
    >>> [file.name for file in left_out([folder])]
    ['towns.csv']
    """
    found = []
    for path in map(Path, paths):
        if not path.is_dir() or any((path / name).is_file() for name in LISTS):
            continue
        inside, listed = _inside(path)
        for file in _files(inside):
            read_here = file.parent == inside and file.suffix.lower() in ENDINGS
            known = f'"public/{_below(file, inside)}"' in listed  # measured before it went out
            if not known and not (read_here and len(_entries(file, {})) == len(_sheets(file))):
                found.append(file)
    return found


def _inside(path: Path) -> tuple[Path, str]:
    """Where the tables of a folder lie, and what a pack says of its files; nothing where it is no pack."""
    manifest = path / "manifest.json"
    if not (path / "public").is_dir() or not manifest.is_file():
        return path, ""
    return path / "public", manifest.read_text(encoding="utf-8")


def _files(folder: Path, inside: frozenset[Path] = frozenset()) -> list[Path]:
    """Files of a folder and those below it, but for hidden ones and texts that say what the others are.

    Hidden tables are there, as they are read; so are folders that are linked to, but for those they are inside of.
    """
    found, around = [], inside | {folder.resolve()}
    for file in sorted(folder.iterdir()):
        ending = file.suffix.lower()
        text = file.stem.lower() in HARMLESS and ending in ("", ".txt", ".md")
        table = ending in ENDINGS and not file.name.startswith(
            "._"
        )  # some systems write such beside every file
        if file.name.startswith(".") and not (table and file.is_file()):
            continue
        if file.is_dir() and file.resolve() not in around:
            found += _files(file, around)
        elif file.is_file() and not text:
            found.append(file)
    return found


def _below(file: Path, folder: Path) -> str:
    return str(file.relative_to(folder)) if file.is_relative_to(folder) else file.name


def _told_apart(part: Published, path: Path, taken: Counter[str]) -> Published:
    folder = path.name if path.is_dir() else path.parent.name
    margins = [replace(m, name=f"{folder}/{m.name}") if taken[m.name] > 1 else m for m in part.margins]
    return replace(part, margins=tuple(margins))


def _dated(part: Published) -> Published:
    return replace(part, margins=tuple(m if m.date else replace(m, date=EARLIER) for m in part.margins))


def _joined(parts: Sequence[Published]) -> Published:
    whole = parts[0]
    for part in parts[1:]:
        whole = whole | part
    return whole


def _read(path: Path, facts: Mapping[str, Any]) -> Published:
    if path.is_dir():
        lists = [path / name for name in LISTS if (path / name).is_file()]
        if lists:
            return Published.from_yaml(lists[0])
        inside = _inside(path)[0]
        tables = [
            e
            for file in _files(inside)
            if file.parent == inside and file.suffix.lower() in ENDINGS
            for e in _entries(file, facts)
        ]
        if not tables and inside != path:
            raise FileError(
                f"{path}: a pack holds no tables of counts; name the tables that went out with it (attack tables/)"
            )
        if not tables:
            raise FileError(
                f"{path}: no table with one row a cell and a column of counts ({', '.join(COUNTS)}) in it. Turn tables "
                "with a column for each category into such rows; name another column of counts in a list (value: …); "
                "files of records are measured with 'dalenius evaluate'"
            )
        return Published.from_entries(tables)
    if not path.exists():
        raise FileError(f"{path}: does not exist")
    if path.suffix in YAML:
        return Published.from_yaml(path)
    if path.suffix == ".jsonl":
        return Ledger(path).published()
    entries = _entries(path, facts)
    if not entries:
        raise FileError(f"{path}: no column of counts; name it one of {', '.join(COUNTS)}")
    return Published.from_entries(entries)


def _sheets(file: Path) -> list[str | None]:
    """The sheets of a workbook; any other file is one table."""
    return [*excel_sheets(file)] if file.suffix.lower() == WORKBOOK else [None]


def _entries(file: Path, facts: Mapping[str, Any]) -> list[Entry]:
    """The tables of a file that have a column of counts."""
    sheets = _sheets(file)
    found = []
    for sheet in sheets:
        table = read(file) if sheet is None else read(file, sheet=sheet)
        counts = count_columns(table.names)
        if len(counts) > 1:
            raise FileError(
                f"{file}: several columns of counts ({', '.join(counts)}); say which in a list (value: …)"
            )
        called = file.stem if len(sheets) == 1 else f"{file.stem} {sheet}"
        found += [without_figures(Entry(called, table, value=name, total=None, **facts)) for name in counts]
    return found
