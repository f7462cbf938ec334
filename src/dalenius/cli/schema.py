"""`dalenius schema`: what each column seems to be, and why."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal, grid_of
from dalenius.cli._databases import tell_schema
from dalenius.cli._input import load
from dalenius.data.files.databases import is_database
from dalenius.data.schema import Schema

app = typer.Typer()


@app.command()
@opt.reads
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
    *,
    reading: opt.Reading,
) -> None:
    """Infer the schema of a file (or of a folder of linked tables), say why, and write it as YAML to edit and sign."""
    terminal = Terminal(quiet, as_json)
    if is_database(data):
        tell_schema(data, output, check, terminal)
        return
    if check is not None:
        wanted = Schema.from_yaml(check)
        load(data, None, terminal, reading).schema_checked(wanted)
        terminal.say(f"{data} follows {check}")
        terminal.emit({"data": str(data), "schema": str(check), "faults": []})
        return
    inferred = load(data, None, terminal, reading).table.schema
    grid = grid_of("column", "kind", "role", "why")
    for column in inferred:
        grid.add_row(column.name, column.kind.value, ", ".join(column.roles), column.note)
    terminal.say(grid)
    text = inferred.to_yaml(output)
    if output is not None:
        terminal.note(f"written to {output}; read it, correct it, and pass it with --schema")
    terminal.emit(
        {"columns": [{"name": c.name, "kind": c.kind, "roles": c.roles, "why": c.note} for c in inferred]}
    )
    if output is None and not as_json and not quiet:
        terminal.note("write it to a file with --output schema.yaml")
    del text
