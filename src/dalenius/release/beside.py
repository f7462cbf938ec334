"""What stands beside the cells of a data file: notes, labels, further parts, bytes that no reader looks at.

A copy in another format is read for its cells, and readers pass over everything else, however long it is. Notes that
the table itself needs are written again and compared; labels must be those of the codebook, where everybody sees them.
"""

from __future__ import annotations

import json
import re
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet

from dalenius.core.errors import DaleniusError
from dalenius.data import Table, write
from dalenius.data.files.columnar import arrow_from_table
from dalenius.data.files.statistical import pyreadstat
from dalenius.data.schema import Kind

PARQUET_FRAME = 12
"""Bytes of a Parquet file beside its columns and its footer: the name of the format twice, and the footer's length."""
LOCAL, CENTRAL, END = 30, 46, 22
"""Bytes of a zip file for each of its parts, before it and in the list of all, and at the end."""
SAV_TIME = re.compile(rb"(?s)(\$FL.{89})\d\d \w{3} \d\d\d\d:\d\d:\d\d")
DTA_TIME = re.compile(rb"<timestamp>\x11\d\d \w{3} \d{4} \d\d:\d\d</timestamp>")
STORED = {"int8": pl.Int8, "int16": pl.Int16, "int32": pl.Int32, "float": pl.Float32, "double": pl.Float64}
"""How Stata holds numbers, by the library's names."""


def alone(copy: Path, held: Table, words: str) -> bool:
    """Whether nothing stands beside the cells of a copy.

    Parameters
    ----------
    copy, held
        The file, and what is read from it.
    words
        The codebook, as JSON: every label must be found in it, and how many decimals are shown.
    """
    ending = copy.suffix.lower()
    if ending == ".parquet":
        return _parquet_alone(copy, held)
    if ending in (".arrow", ".feather"):
        with pa.ipc.open_file(copy) as file:
            return _notes(file.schema) <= _notes(arrow_from_table(held).schema)
    if ending not in (".xlsx", ".sav", ".dta"):
        return True
    with tempfile.TemporaryDirectory() as folder:
        again = Path(folder) / f"again{ending}"
        if ending == ".xlsx":
            return _same_book(copy, again, _with_decimals(held, words, copy.name.partition(".")[0]))
        return _labels_known(held, words) and _same_bytes(copy, again, held)


def _with_decimals(held: Table, words: str, name: str) -> Table:
    """A table with the decimals of the codebook: those of whole numbers do not follow from what is read."""
    try:
        book = json.loads(words)
        entries = (book["tables"][name] if "tables" in book else book)["columns"]
        known = {e["name"]: e["decimals"] for e in entries if e["kind"] == Kind.CONTINUOUS.value}
        numbers = [
            replace(c, kind=Kind.CONTINUOUS, decimals=known[c.name], levels=None)
            for c in held.schema
            if c.name in known
        ]
        return held.with_schema(held.schema.replace_columns(*numbers))
    except (ValueError, KeyError, TypeError, DaleniusError):  # a codebook that was changed is found as such
        return held


def _labels_known(held: Table, words: str) -> bool:
    """Whether the codebook has every label of a file, which has no title of its own."""
    labels = [c.label for c in held.schema] + [str(v) for c in held.schema for v in c.value_labels.values()]
    known = [json.dumps(label, ensure_ascii=False)[1:-1] in words for label in labels]
    return not held.schema.title and all(known)


def _same_book(copy: Path, again: Path, table: Table) -> bool:
    """Whether a workbook has the parts that writing a table gives, and no byte between or after them."""
    write(table, again)
    with zipfile.ZipFile(copy) as one, zipfile.ZipFile(again) as other:
        parts = one.infolist()
        same = one.namelist() == other.namelist() and all(
            one.read(n) == other.read(n) for n in one.namelist()
        )
        return same and not one.comment and _close(parts, one.start_dir, copy.stat().st_size)


def _close(parts: Sequence[zipfile.ZipInfo], list_at: int, size: int) -> bool:
    """Whether the parts of a zip file lie one behind the other, and then their list."""
    ends = [p.header_offset + LOCAL + len(p.filename.encode()) + p.compress_size for p in parts]
    starts = [*(p.header_offset for p in parts), list_at]
    whole = all(end == start for end, start in zip(ends, starts[1:], strict=True)) and starts[0] == 0
    listed = sum(CENTRAL + len(p.filename.encode()) for p in parts)
    return whole and not any(p.extra or p.comment for p in parts) and size == list_at + listed + END


def _same_bytes(copy: Path, again: Path, held: Table) -> bool:
    """Whether a file of SPSS or Stata that is written again is the same but for the time when it was written."""
    library, stata = pyreadstat(), copy.suffix.lower() == ".dta"
    read, save = (library.read_dta, library.write_dta) if stata else (library.read_sav, library.write_sav)
    frame, meta = read(copy, user_missing=True, output_format="polars", disable_datetime_conversion=True)
    if pl.Object in frame.dtypes:  # letters among numbers, which only our own writer knows
        write(held, again)
    else:
        told = {"missing_ranges": meta.missing_ranges, "variable_measure": meta.variable_measure}
        kinds = {name: STORED[kind] for name, kind in meta.readstat_variable_types.items() if kind in STORED}
        save(
            frame.cast(kinds) if stata else frame,
            again,
            column_labels=meta.column_names_to_labels,
            variable_value_labels=meta.variable_value_labels,
            variable_format=meta.original_variable_types,
            **({} if stata else told),
        )
    one, other = (
        DTA_TIME.sub(b"", SAV_TIME.sub(rb"\1", p.read_bytes(), count=1), count=1) for p in (copy, again)
    )
    return one == other


def _parquet_alone(copy: Path, held: Table) -> bool:
    with pa.parquet.ParquetFile(copy) as file:
        facts, noted = file.metadata, set(file.metadata.metadata or {}) - {b"ARROW:schema"}
        parts = [
            facts.row_group(g).column(c).total_compressed_size
            for g in range(facts.num_row_groups)
            for c in range(facts.num_columns)
        ]
        whole = copy.stat().st_size == sum(parts) + facts.serialized_size + PARQUET_FRAME
        return whole and not noted and _notes(file.schema_arrow) <= _notes(arrow_from_table(held).schema)


def _notes(schema: pa.Schema) -> set[tuple[str, bytes, bytes]]:
    """The notes of a file and of its columns, but for the numbers that Parquet gives columns."""
    held = [("", schema.metadata), *((f"column {field.name}", field.metadata) for field in schema)]
    return {
        (name, key, note)
        for name, notes in held
        for key, note in (notes or {}).items()
        if key != b"PARQUET:field_id"
    }
