"""What `dalenius tables` prints and writes: tables, pages, figures; nothing that is not safe."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import typer

from dalenius.cli._console import Terminal
from dalenius.core.errors import FileError, OptionError, counted
from dalenius.data import write
from dalenius.data.atomic import write_text
from dalenius.tables import (
    Audit,
    LinkedSuppression,
    Suppression,
    TableFile,
    TableModel,
    information_loss,
    write_argus,
    write_jj,
    write_table_file,
)
from dalenius.tables.keys import fresh_key
from dalenius.tables.page import table_page

MOST_LINES = 60
"""Lines of a table that a terminal is shown."""
INSIDE = {".tab": write_argus, ".jj": write_jj}
"""Formats of τ-ARGUS, which hold true values."""


def show(
    result: Suppression,
    linked: LinkedSuppression | None,
    layout: tuple[str | None, str | None, str],
    terminal: Terminal,
) -> None:
    """Print the table or tables, and what is to be said about them."""
    for name, part in parts_of(result, linked).items():
        if name:
            terminal.say(f"{name}:")
        crossed = [d.name for d in part.model.dimensions if part.model.cells[d.name].n_unique() > 1]
        first, second, mark = layout
        if name and first is None:
            first, second = crossed[0], crossed[1] if len(crossed) > 1 else None
        terminal.block(shortened(part.cross_table(first, second, mark)))
    terminal.say(str(result if linked is None else linked))
    if result.checked is not None:
        terminal.say(f"Audit: {result.checked}")


def shortened(shown: str) -> str:
    """The first lines of a long table; all of it is for a file or the page."""
    lines = shown.splitlines()
    if len(lines) <= MOST_LINES:
        return shown
    rest = f"… {len(lines) - MOST_LINES:,} more lines; -o writes the whole table, --html a page of it"
    return "\n".join([*lines[:MOST_LINES], rest])


def hand_out(
    result: Suppression,
    linked: LinkedSuppression | None,
    out: Path | None,
    page: Path | None,
    force: bool,
    terminal: Terminal,
    layout: tuple[str | None, str | None] = (None, None),
    title: str = "",
) -> None:
    """Write the publishable table and the page; of linked tables one file each. Nothing if cells are at risk."""
    audit = result.checked
    if audit is None and not force and (out or page):
        raise OptionError("--no-audit: a table that was not audited is written with --force only")
    if audit is not None and not audit.passed and not force:
        terminal.say(str(audit.at_risk))
        terminal.say("The table is not safe: nothing was written (--force writes it, marked as unsafe).")
        return
    if out is not None:
        for name, part in parts_of(result, linked).items():
            write_result(replace(part, checked=audit), _path(out, name), force, terminal)
    if page is not None:
        named = None if linked is None else linked.tables
        text = table_page(result, audit, title, parts=named, rows=layout[0], columns=layout[1])
        write_page(text, page, terminal)


def _path(out: Path, name: str) -> Path:
    """Where a table is written: a name without an ending is a folder."""
    if not out.suffix:
        out.mkdir(parents=True, exist_ok=True)
        return out / f"{name or 'table'}.csv"
    stem, _, ending = out.name.partition(".")
    return out.with_name(f"{stem}-{name}.{ending}") if name else out


def title_of(model: TableModel, value: str | None, source: Path) -> str:
    """What a table holds and whose records it is made of, for the head of its page."""
    what = f"sum of {value}" if value else "counts"
    return f"Protected table: {what} by {' × '.join(model.names)} ({source.name})"


def parts_of(result: Suppression, linked: LinkedSuppression | None) -> dict[str, Suppression]:
    """The tables by name; a single one has none."""
    return {"": result} if linked is None else dict(linked.tables)


def write_result(result: Suppression | TableFile, path: Path, force: bool, terminal: Terminal) -> None:
    """One table in the format its file name asks for; those of τ-ARGUS hold true values and stay inside."""
    inside = INSIDE.get(path.suffix.lower())
    if inside is None:
        write_table_file(result, path, force=force)
        terminal.note(f"table written to {path}")
    elif isinstance(result, Suppression):
        inside(result, path)
        terminal.warn(
            f"{path}: for τ-ARGUS, with the true values of suppressed cells: confidential, not to be published"
        )
    else:
        raise OptionError(f"{path.name}: files of τ-ARGUS are for suppressed tables; choose another ending")


def write_figures(frame: pl.DataFrame, path: Path, terminal: Terminal) -> None:
    """Figures about a table, as any data file."""
    write(frame, path)
    terminal.note(f"{counted(len(frame), 'row')} written to {path}")


def write_page(text: str, path: Path, terminal: Terminal) -> None:
    """A page of HTML."""
    write_text(path, text)
    terminal.note(f"page written to {path}")


def end_unsafe(safe: bool, force: bool) -> None:
    """Exit code 1 where cells are at risk."""
    if not safe and not force:
        raise typer.Exit(1)


def figures(result: Suppression, audit: Audit | None) -> dict[str, Any]:
    """The outcome for machines."""
    return {
        "cells": len(result.primary),
        "primary": int(result.primary.sum()),
        "secondary": int(result.secondary.sum()),
        "sentence": str(result),
        "audit": None if audit is None else {"passed": audit.passed, "sentence": str(audit)},
        "loss": information_loss(result.model, {"suppression": result}).to_dicts()[0],
    }


def steps(bar: Any, what: str) -> Callable[[int, int], None]:
    """Progress as text."""
    return lambda done, total: bar(f"{done:,} of {total:,} {what}")


def secret(path: Path | None, terminal: Terminal) -> bytes:
    """The key in a file, made when there is none."""
    if path is None:
        terminal.note(
            "no --key-file: the draw cannot be repeated, and other tables of the same data will not agree"
        )
        return fresh_key()
    try:
        if not path.exists():
            path.touch(mode=0o600)  # before the secret is in it, nobody else may open it
            path.write_bytes(fresh_key())
            terminal.note(
                f"secret key written to {path.name}; keep it as long as tables of these data are published"
            )
        key = path.read_bytes()
    except OSError as error:
        raise FileError(f"{path.name}: the key cannot be read or written ({error.strerror})") from error
    if not key:
        raise FileError(f"{path.name}: the key is empty; delete the file, and a new key is made")
    return key
