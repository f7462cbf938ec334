"""`dalenius syndiffix build` and `draw`: one file of anonymised buckets, and tables drawn from it later."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal, listed
from dalenius.cli._input import load
from dalenius.core.random import DEFAULT_SEED
from dalenius.data import write
from dalenius.synth.base import draw as draw_copy
from dalenius.synth.syndiffix import BucketStore

app = typer.Typer(
    name="syndiffix",
    help="SynDiffix bucket stores: build once, draw any table of their columns later.",
    no_args_is_help=True,
)
PREDICT = "Column that a table of all columns is to predict well."
Store = Annotated[Path, typer.Argument(help="Bucket store.", exists=True, dir_okay=False)]


@app.command()
@opt.reads
def build(
    data: opt.Original,
    output: Annotated[Path, typer.Option("--output", "-o", help=f"{opt.OUTPUT}; the store.")],
    schema: opt.SchemaFile = None,
    width: Annotated[
        int, typer.Option("--width", help="All combinations of up to this many columns.", min=1, max=6)
    ] = 3,
    also: Annotated[
        list[str] | None, typer.Option("--also", help="A further set of columns, a,b,c,d.")
    ] = None,
    predict: Annotated[
        list[str] | None,
        typer.Option("--predict", help=PREDICT),
    ] = None,
    noisy_rows: Annotated[
        bool, typer.Option("--noisy-rows", help="Draw as many rows as the anonymised count says.")
    ] = False,
    entity: opt.Entity = None,
    quiet: opt.Quiet = False,
    *,
    reading: opt.Reading,
) -> None:
    """Anonymise a file into a bucket store; the file itself is no longer needed afterwards."""
    terminal = Terminal(quiet, False)
    table = load(data, schema, terminal, reading).table
    if entity is not None:
        table = table.with_schema(table.schema.with_roles(entity=entity))
    sets = [[name.strip() for name in text.split(",")] for text in also or ()]
    goals = listed(predict) or ()
    store = BucketStore.build(table, width=width, also=sets, targets=goals, noisy_rows=noisy_rows)
    store.save(output)
    terminal.say(f"{output}: {len(store.sets):,} bucket sets over {len(store.schema)} columns")


@app.command()
def draw(
    store: Store,
    output: Annotated[Path, typer.Option("--output", "-o", help=f"{opt.OUTPUT}.")],
    columns: opt.Columns = None,
    predict: Annotated[str | None, typer.Option("--predict", help=PREDICT)] = None,
    rows: Annotated[int | None, typer.Option("--rows", "-n", help="Rows to make.", min=0)] = None,
    seed: opt.SeedOption = DEFAULT_SEED,
    quiet: opt.Quiet = False,
) -> None:
    """Draw a synthetic table of some columns from a store."""
    terminal = Terminal(quiet, False)
    model = BucketStore.open(store).model(listed(columns), predict)
    write(draw_copy(model, rows, seed), output)
    for note in model.notes:
        terminal.note(note)
    terminal.say(f"{output}: {rows if rows is not None else model.rows:,} rows")


@app.command()
def contents(store: Store) -> None:
    """List the bucket sets of a store."""
    for names in BucketStore.open(store).contents:
        Terminal().block(", ".join(names))
