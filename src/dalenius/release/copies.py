"""The data files of a pack: one CSV file, and copies of it in other formats that must hold the same data."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from dalenius.core.errors import DaleniusError, FileError
from dalenius.data import Table, read
from dalenius.data.files.databases import DESCRIPTION
from dalenius.data.files.texts import text_from_vector
from dalenius.data.relations import Database
from dalenius.data.schema import Kind
from dalenius.data.vector import AnyArray, Vector
from dalenius.release.beside import alone
from dalenius.release.jobs import read_made
from dalenius.release.several import read_tables


def data_file(pack: Path) -> Path:
    """The released CSV file of a pack."""
    held = sorted(p for word in ("synthetic", "masked") for p in (pack / "public").glob(f"*.{word}.csv"))
    if len(held) != 1:
        raise FileError(f"{pack}: there must be one released CSV file in public/, not {len(held)}")
    return held[0]


def table_file(table: str, ending: str) -> str:
    """Name of a released table among several.

    Examples
    --------
    >>> table_file("visits", "csv")
    'visits.synthetic.csv'
    """
    return f"{table}.synthetic.{ending}"


def released_tables(folder: Path, base: Database) -> dict[str, Path]:
    """The released CSV files of several tables, by name of the table."""
    return {name: folder / table_file(name, "csv") for name in base.tables}


def table_faults(pack: Path, base: Database) -> list[str]:
    """Tables that are missing or too many, and copies that do not hold what a CSV file holds."""
    files = released_tables(pack / "public", base)
    if set((pack / "public").glob("*.csv")) != set(files.values()):
        return ["public/ does not hold one CSV file for each table of the input"]
    wrong = []
    for name, path in files.items():
        try:
            wrong += _copies_of(pack, path, read_tables({name: path}, base)[name])
        except DaleniusError as error:
            wrong.append(str(error))
    return wrong


def copy_faults(pack: Path, original: Table | None = None) -> list[str]:
    """Copies in other formats that do not hold what the CSV file holds; read like the original where that is known."""
    if (
        pack / "public" / DESCRIPTION
    ).is_file():  # several tables: without the plan each is compared with its copies
        mains = sorted((pack / "public").glob("*.synthetic.csv"))
        return [fault for main in mains for fault in _copies_of(pack, main, read(main))]
    try:
        main = data_file(pack)
        masked = main.stem.endswith(".masked")  # its columns need not be those of the original any more
        table = read(main) if original is None or masked else read_made(main, original)
    except DaleniusError as error:
        return [str(error)]
    return _copies_of(pack, main, table)


def _copies_of(pack: Path, main: Path, table: Table) -> list[str]:
    copies = [p for p in sorted((pack / "public").glob(f"{main.stem}.*")) if p != main]
    said = dict.fromkeys(copies, "does not hold the same data as the CSV file")
    for p in copies:
        if p.name == f"{main.stem}{p.suffix}":
            said[p] = _fault_of(p, table)
    return [f"public/{p.name} {fault}" for p, fault in said.items() if fault]


def _fault_of(copy: Path, table: Table) -> str:
    """Why a copy is none; empty where it is one."""
    try:
        held = read(copy)
        if not same_cells(table, held):
            return "does not hold the same data as the CSV file"
    except DaleniusError:
        return "does not hold the same data as the CSV file"
    book = copy.parent / "codebook.json"
    words = book.read_text(encoding="utf-8") if book.is_file() else ""
    return "" if alone(copy, held, words) else "holds more than the data, beside the cells"


def same_cells(first: Table, other: Table) -> bool:
    """Whether two tables hold the same cells, however they are stored.

    Examples
    --------
    >>> same_cells(Table.from_frame({"a": [1, None], "b": [True, False]}),
    ...            Table.from_frame({"a": [1.0, None], "b": [1, 0]}))
    True
    >>> same_cells(Table.from_frame({"a": ["x", "y"]}), Table.from_frame({"a": ["x", "z"]}))
    False
    """
    if first.names != other.names or first.rows != other.rows:
        return False
    return all(np.array_equal(*_cells(first[n], other[n])) for n in first.names)


def _cells(first: Vector, other: Vector) -> tuple[AnyArray, AnyArray]:
    """Two columns as they would be written, one spelling for each value: formats differ in what types they know."""
    moments = [v.column.kind is Kind.DATETIME for v in (first, other)]
    if any(moments) and not all(moments):  # text in a format of its own: only the schema could tell
        return np.empty(0), np.empty(0)
    texts = [text_from_vector(replace(v, column=replace(v.column, format=None))) for v in (first, other)]
    spelt = {text: _spelt(text) for text in {*texts[0].unique(), *texts[1].unique()}}
    held = [np.array([spelt[t] for t in column.to_list()], dtype=object) for column in texts]
    return held[0], held[1]


def _spelt(text: str | None) -> object:
    if text is None or text in ("", "NaN"):
        return None  # not every format knows an empty text or a number that is none
    try:
        return float({"true": "1", "false": "0"}.get(text, text))
    except ValueError:
        return text
