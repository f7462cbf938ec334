"""Files in, with a remark on what was guessed about them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path

from dalenius.cli._console import Terminal
from dalenius.core.errors import SchemaError, counted
from dalenius.data import read
from dalenius.data.files import sniff_csv
from dalenius.data.schema import Schema
from dalenius.data.table import Table

TEXT_FILES = {".csv", ".tsv", ".txt"}


@dataclass(frozen=True)
class Loaded:
    """A table and the file it came from."""

    path: Path
    table: Table

    @property
    def digest(self) -> str:
        """SHA-256 of the file, for the report's provenance."""
        with self.path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()

    def schema_checked(self, schema: Schema) -> Loaded:
        """Raise when the table does not follow a schema."""
        schema.check(self.table)
        return self


def load(path: Path, schema: Path | Schema | None, terminal: Terminal, *, blind: bool = False) -> Loaded:
    """Read a file, by a schema when there is one; ``blind`` for a method with a budget (see `Schema.blind`)."""
    wanted = Schema.from_yaml(schema) if isinstance(schema, Path) else schema
    wanted = wanted.blind() if blind and wanted is not None else wanted
    with terminal.progress(f"reading {path.name}"):
        table = read(path, schema=wanted)
    if path.suffix.lower() in TEXT_FILES:
        terminal.note(
            f"{path.name}: {sniff_csv(path)}; {counted(table.rows, 'row')}, {counted(len(table.names), 'column')}"
        )
    return Loaded(path, table)


def load_like(path: Path, original: Table, terminal: Terminal) -> Loaded:
    """Read a file as its original was read: what is a code there is a code here ('0110' is no number).

    Values may be others than the original's. A file that cannot be read so is read by itself.
    """
    alone = load(path, None, terminal)
    mine, theirs = alone.table.schema, original.schema
    columns = [replace(theirs[c.name], levels=None, bounds=None) if c.name in original else c for c in mine]
    try:
        return Loaded(path, read(path, schema=replace(mine, columns=tuple(columns))))
    except SchemaError:
        return alone
