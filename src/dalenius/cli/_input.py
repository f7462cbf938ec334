"""Files in, with a remark on what was guessed about them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dalenius.cli._console import Terminal
from dalenius.cli._options import Reading
from dalenius.core.errors import SchemaError, counted, names
from dalenius.data import read
from dalenius.data.files import Address, Dialect, can_write, is_address, open_file
from dalenius.data.files.forecast import refuse_too_large
from dalenius.data.infer import word_among_numbers
from dalenius.data.schema import Schema
from dalenius.data.table import Table

FORM = ("separator", "decimal", "encoding", "thousands")
"""What a reader of the output would notice first when it is not as in the input."""


@dataclass(frozen=True)
class Loaded:
    """A table and the file it came from."""

    path: Path
    table: Table
    writing: Mapping[str, Any] = field(default_factory=dict)
    """Options of `write` that keep the form of the file."""

    @property
    def digest(self) -> str:
        """SHA-256 of the file, for the report's provenance; where a table of a database lies, without a password."""
        if is_address(self.path):
            return f"table of a database: {Address.of(self.path)}"
        with self.path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()

    def schema_checked(self, schema: Schema) -> Loaded:
        """Raise when the table does not follow a schema."""
        schema.check(self.table)
        return self


def load(
    path: Path, schema: Path | Schema | None, terminal: Terminal, reading: Reading | None = None, *,
    blind: bool = False, strict: bool = True,
) -> Loaded:  # fmt: skip
    """Read a file, by a schema when there is one; ``blind`` for a method with a budget (see `Schema.blind`)."""
    wanted = Schema.from_yaml(schema) if isinstance(schema, Path) else schema
    wanted = wanted.blind() if blind and wanted is not None else wanted
    options = {} if reading is None else reading.options(path, strict)
    refuse_too_large(path)
    with terminal.progress(f"reading {path.name}"):
        opened = open_file(path, wanted, **options)
    # With a budget the number of rows and what was found in cells are confidential; terminals are copied and kept.
    size = [] if blind else [counted(opened.table.rows, "row")]
    told = opened.told[:1] if blind else opened.told
    if told:
        parts = [*told, ", ".join([*size, counted(len(opened.table.names), "column")])]
        terminal.note(f"{path.name}: {'; '.join(parts)}")
    if wanted is None and not blind and strict:
        _tell_words(opened.table, terminal)
    return Loaded(path, opened.table, opened.writing)


def _tell_words(table: Table, terminal: Terminal) -> None:
    """Numbers that one word made categories of: nobody looks for that, and the file made of them is a bad one."""
    held: dict[str, list[str]] = {}
    for name in table.names:
        vector = table[name]
        if not vector.is_number and (word := word_among_numbers(vector.levels, vector.values)) is not None:
            held.setdefault(word, []).append(name)
    for word, columns in held.items():
        which = f"column{'s' if len(columns) > 1 else ''} {names(columns)}"
        terminal.note(
            f"{which}: numbers but for {word!r}, taken for categories; if it means no answer, give --na {word}"
        )


def load_like(path: Path, original: Table, terminal: Terminal, reading: Reading | None = None) -> Loaded:
    """Read a file as its original was read: what is a code there is a code here ('0110' is no number).

    Values may be others than the original's. A file that cannot be read so is read by itself.
    """
    alone = load(path, None, terminal, reading, strict=False)
    mine, theirs = alone.table.schema, original.schema
    columns = [replace(theirs[c.name], levels=None, bounds=None) if c.name in original else c for c in mine]
    options = {} if reading is None else reading.options(path, strict=False)
    try:
        return Loaded(path, read(path, schema=replace(mine, columns=tuple(columns)), **options))
    except SchemaError:
        return alone


def kept_form(path: Path, loaded: Loaded, terminal: Terminal, like_input: bool) -> dict[str, Any]:
    """Options of `write` for a file like the input, if that is wanted and the two are of one type."""
    same = path.suffix.lower() == loaded.path.suffix.lower()
    if like_input and not same:
        terminal.note(
            f"--like-input: {path.name} is of another type than {loaded.path.name}; its own form is used"
        )
    if like_input and same:
        return dict(loaded.writing)
    plain, held = Dialect(), loaded.writing.get("dialect")
    if same and isinstance(held, Dialect) and any(getattr(held, n) != getattr(plain, n) for n in FORM):
        terminal.note(f"{path.name}: {plain}; --like-input writes it as {loaded.path.name} is written")
    return {}


def beside(data: Path, word: str) -> Path:
    """A file beside the data, with a word in its name; CSV where the data are of a kind that can only be read."""
    path = data.with_name(f"{data.stem}.{word}{data.suffix}")
    return path if can_write(path) else path.with_suffix(".csv")
