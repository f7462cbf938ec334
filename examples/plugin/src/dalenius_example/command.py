"""`dalenius count`: how large a file is."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import dalenius

app = typer.Typer()


@app.command()
def count(data: Annotated[Path, typer.Argument(help="Data file.")]) -> None:
    """Say how many rows and columns a file has."""
    table = dalenius.read(data)
    typer.echo(f"{table.rows} rows, {len(table.names)} columns")
