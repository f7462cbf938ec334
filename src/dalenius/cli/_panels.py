"""Panels on the command line: one file in which people have several rows, made and measured as people and waves."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dalenius.cli._console import Terminal
from dalenius.cli._databases import measure_databases, method_of_several
from dalenius.cli._input import Loaded, load, load_like
from dalenius.cli._options import Reading
from dalenius.core.errors import DataError, OptionError
from dalenius.data.panel import join_panel, split_panel
from dalenius.data.relations import Database
from dalenius.data.spells import join_spells, lasting, split_spells
from dalenius.data.table import Table

CALLED = {
    "Families that come out again": "People who come out again with all rows",
    "Numbers of children": "Numbers of rows of a person",
    "Parents and children": "People and their rows",
    "Siblings": "Rows of one person alike",
    "Families told apart": "People told apart",
    "Keys and orphans": "Rows that belong to somebody",
}
"""What figures of parents and children are called where these are people and their rows."""


def columns_of(panel: str) -> list[str]:
    """The columns that ``PERSON:WAVE`` or ``PERSON:START:END`` names."""
    named = panel.split(":")
    if len(named) not in (2, 3) or not all(named):
        raise OptionError(
            f"--panel {panel}: write PERSON:WAVE, the column of the person and that of the wave, or PERSON:START:END "
            "where rows are spells"
        )
    return named


def apart(table: Table, panel: str) -> Database:
    """People and their waves, or their spells."""
    person, start, *end = columns_of(panel)
    return split_spells(table, person, start, end[0]) if end else split_panel(table, person, start)


def _apart_in(path: Path, table: Table, panel: str) -> Database:
    """The same, with the name of the file that is none."""
    try:
        return apart(table, panel)
    except DataError as error:
        raise DataError(f"{path.name}: {error}", error.faults) from None


def together(base: Database, columns: list[str]) -> Table:
    """One table again, of waves or of spells."""
    spells = lasting(base[base.links[0].child]) is not None
    return join_spells(base, columns) if spells else join_panel(base, columns)


def panel_tables(
    loaded: Loaded, panel: str, method: str | None, options: Sequence[str] | None, copies: int, seed: int,
    refused: dict[str, Any], terminal: Terminal,
) -> tuple[str, list[Table]]:  # fmt: skip
    """Synthetic panels, each as one table, and the method that made them."""
    chosen = method_of_several(method, options, refused)
    base = apart(loaded.table, panel)
    _tell(base, terminal)
    with terminal.progress(f"making {chosen.info.title}") as tell:
        made = chosen.make(base, copies, seed=seed, progress=tell)
    for line in made.notes:
        terminal.note(line)
    return chosen.info.name, [together(one, loaded.table.names) for one in made]


def evaluate_panels(
    original: Path, protected: Sequence[str], panel: str, schema: Path | None, holdout: Path | None,
    measures: list[str] | None, report: Path | None, threshold: int, terminal: Terminal, reading: Reading,
) -> None:  # fmt: skip
    """Measure a protected panel: people, their waves, and what follows what."""
    if len(protected) > 1:
        raise OptionError("one protected panel at a time; measure the others by themselves")
    first = load(original, schema, terminal, reading).table
    files = [Path(protected[0].rpartition("=")[2]), *([holdout] if holdout is not None else [])]
    tables = [first, *(load_like(path, first, terminal, reading).table for path in files)]
    bases = [_apart_in(path, table, panel) for path, table in zip((original, *files), tables, strict=True)]
    _tell(bases[0], terminal)
    third = bases[2] if len(bases) > 2 else None
    measure_databases(bases[0], bases[1], third, measures, report, threshold, terminal, CALLED)


def _tell(base: Database, terminal: Terminal) -> None:
    people, waves = base.tables.values()
    fixed = ", ".join(name for name in people.names if name not in base.keys.values()) or "nothing"
    terminal.note(f"{people.rows:,} people, {waves.rows:,} rows; the same in all rows of a person: {fixed}")
