"""`dalenius schema`: what each column seems to be, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table as Grid

from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal
from dalenius.cli._input import load
from dalenius.data.schema import Schema

app = typer.Typer()


@app.command()
def schema(
    data: opt.Original,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help=f"{opt.OUTPUT}; the schema as YAML.")
    ] = None,
    check: Annotated[
        Path | None, typer.Option("--against", help="Check the data against this schema instead.")
    ] = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Infer the schema of a file, say why, and write it as YAML to edit and sign."""
    terminal = Terminal(quiet, as_json)
    if check is not None:
        wanted = Schema.from_yaml(check)
        load(data, None, terminal).schema_checked(wanted)
        terminal.say(f"{data} follows {check}")
        terminal.emit({"data": str(data), "schema": str(check), "faults": []})
        return
    found = load(data, None, terminal).table.schema
    grid = Grid("column", "kind", "role", "why", box=None, header_style="bold")
    for column in found:
        grid.add_row(column.name, column.kind.value, ", ".join(column.roles), column.note)
    terminal.say(grid)
    text = found.to_yaml(output)
    if output is not None:
        terminal.note(f"written to {output}; read it, correct it, and pass it with --schema")
    terminal.emit(
        {"columns": [{"name": c.name, "kind": c.kind, "roles": c.roles, "why": c.note} for c in found]}
    )
    if output is None and not as_json and not quiet:
        terminal.note("write it to a file with --output schema.yaml")
    del text
