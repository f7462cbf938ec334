"""`dalenius check`: what will go wrong before synthesizing, and what went wrong after."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table as Grid

from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal
from dalenius.cli._input import load
from dalenius.counts.pair import Pair
from dalenius.utility.check import Audit, audit, check_protected


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(check)


def check(
    data: opt.Original,
    protected: Annotated[
        Path | None,
        typer.Option("--after", help="Protected file made from the data: also say what went wrong in it."),
    ] = None,
    schema: opt.SchemaFile = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Find what synthesizers stumble over: missing codes, derived columns, outliers, heaping, identifiers."""
    terminal = Terminal(quiet, as_json)
    loaded = load(data, schema, terminal)
    reports = {"before": audit(loaded.table)}
    if protected is not None:
        other = load(protected, None, terminal)
        reports["after"] = check_protected(Pair(loaded.table, other.table))
    for name, found in reports.items():
        _show(terminal, name, found)
    terminal.emit({name: found.table.to_dicts() for name, found in reports.items()})


def _show(terminal: Terminal, name: str, found: Audit) -> None:
    if not found.findings:
        terminal.say(
            "nothing found that a synthesizer would stumble over"
            if name == "before"
            else "nothing went wrong"
        )
        return
    grid = Grid("", "columns", "what", "what to do", box=None, header_style="bold")
    for finding in found.findings:
        grid.add_row(
            finding.severity,
            ", ".join(finding.columns),
            f"{finding.kind}: {finding.evidence}",
            finding.suggestion,
        )
    terminal.say(grid)
