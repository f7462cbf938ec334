"""`dalenius mask`: change real records by a recipe of steps, and say what each step did."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal, listed
from dalenius.cli._input import beside, kept_form, load
from dalenius.core.errors import OptionError, counted
from dalenius.core.option import declared
from dalenius.data import write
from dalenius.data.files import check_target
from dalenius.data.recipe import Recipe
from dalenius.data.steps import STEPS
from dalenius.synth import METHODS, Candidate

app = typer.Typer()


@app.command()
@opt.reads
def mask(
    data: opt.Original,
    step: Annotated[
        list[str] | None,
        typer.Option("--step", help="A step with its options: 'recode column=age width=10'; repeatable."),
    ] = None,
    recipe: Annotated[Path | None, typer.Option("--recipe", help=f"{opt.RECIPE}.")] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help=f"{opt.OUTPUT}; default: NAME.masked.EXT.")
    ] = None,
    keys: opt.Keys = None,
    target: Annotated[
        str,
        typer.Option("--target", help="What the amounts are found by: 'expected re-identifications <= 10'."),
    ] = "",
    keep_ghosts: Annotated[
        bool, typer.Option("--keep-ghosts", help="Keep columns that give a masked one back.")
    ] = False,
    save_recipe: Annotated[
        Path | None, typer.Option("--save-recipe", help="Write the steps here, to be done again next year.")
    ] = None,
    schema: opt.SchemaFile = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    *,
    making: opt.Making,
    reading: opt.Reading,
) -> None:
    """Change real records by a recipe, and say what each step did and what it cost."""
    terminal = Terminal(quiet, as_json)
    METHODS["recipe"]  # registers the steps of the room
    steps = _steps(recipe, step or [])
    options = {"steps": steps, "target": target, "keys": listed(keys) or [], "ghosts": not keep_ghosts}
    chosen = Candidate("recipe", options)
    path = output or beside(data, "masked")
    check_target(path)
    loaded = load(data, schema, terminal, reading)
    chosen.check(loaded.table)
    if making.dry_run:
        cost = chosen.cost(loaded.table)
        terminal.say(f"mask on {counted(loaded.table.rows, 'row')}: {cost}; nothing was written")
        terminal.emit({"seconds": cost.seconds, "bytes": cost.bytes, "rows": loaded.table.rows})
        return
    form = kept_form(path, loaded, terminal, making.like_input)
    with terminal.progress("masking"):
        made = chosen.paid_beside(data).make(loaded.table, seed=making.seed, force=making.force)
    for line in (*made.steps, *made.notes, *made.ledger.splitlines()):
        terminal.note(line)
    if save_recipe is not None:
        Recipe.from_dict({"steps": made.recipe}).write(save_recipe)
    write(made.table, path, **form)
    terminal.say(f"{counted(made.table.rows, 'masked row')} written to {path}")
    terminal.emit(
        {"file": str(path), "seed": making.seed, "rows": made.table.rows, "steps": list(made.steps)}
    )


def _steps(recipe: Path | None, texts: list[str]) -> list[Mapping[str, Any]]:
    """Steps of a file, then those of the command line; what is wrong with them is told with all else."""
    made = [*([] if recipe is None else Recipe.written(recipe)), *map(_typed, texts)]
    if not made:
        raise OptionError("give --recipe, or at least one --step such as 'recode column=age width=10'")
    return made


def _typed(text: str) -> dict[str, Any]:
    """A step as it is typed: its name, then ``option=value`` parts."""
    try:
        name, *parts = shlex.split(text) or [""]
    except ValueError:
        raise OptionError("--step: a quotation mark is opened and never closed") from None
    known = declared(STEPS[name]) if name in STEPS else {}
    facts: dict[str, Any] = {"do": name}
    for part in parts:
        option, _, value = part.partition("=")
        read = known[option].read if option in known else str
        weak = value.removeprefix("amount:")
        facts[option] = read(value) if weak == value else {"amount": [read(v) for v in weak.split(",")]}
    return facts
