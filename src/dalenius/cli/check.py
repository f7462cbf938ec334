"""`dalenius check` and `dalenius clean`: what will go wrong, what went wrong, and a recipe against it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal, grid_of, listed
from dalenius.cli._input import kept_form, load
from dalenius.core.errors import counted
from dalenius.counts.pair import Pair
from dalenius.data import write
from dalenius.data.recipe import KINDS, USUAL
from dalenius.preparation import Findings, Recipe, check_protected
from dalenius.preparation import check as check_table
from dalenius.preparation.keeping import Kept

app = typer.Typer()


@app.command()
@opt.reads
def check(
    data: opt.Original,
    protected: Annotated[
        Path | None,
        typer.Option("--after", help="Protected file made from the data: also say what went wrong in it."),
    ] = None,
    recipe: Annotated[
        Path | None,
        typer.Option("--recipe", help=f"{opt.RECIPE}; written here, for 'clean'."),
    ] = None,
    accept: Annotated[
        list[str] | None,
        typer.Option("--accept", help=f"What the recipe takes up, of: {', '.join(KINDS)}."),
    ] = None,
    schema: opt.SchemaFile = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    *,
    reading: opt.Reading,
) -> None:
    """Find what synthesizers stumble over: missing codes, derived columns, outliers, heaping, identifiers."""
    terminal = Terminal(quiet, as_json)
    loaded = load(data, schema, terminal, reading)
    reports = {"before": check_table(loaded.table)}
    if protected is not None:
        other = load(protected, None, terminal, reading, strict=False)
        reports["after"] = check_protected(Pair(loaded.table, other.table))
    for name, report in reports.items():
        _show(terminal, name, report)
    if kept := Kept.of(loaded.table):
        terminal.say(f"'dalenius synth' keeps: {kept}")
    told: dict[str, Any] = {name: report.table.to_dicts() for name, report in reports.items()}
    if recipe is not None:
        made = Recipe.of(reports["before"], loaded.table, listed(accept) or USUAL)
        made.write(recipe)
        terminal.note(
            f"{counted(len(made.steps), 'step')} written to {recipe}; read it before 'dalenius clean'"
        )
        told["recipe"] = made.to_dict()
    terminal.emit(told)


@app.command()
@opt.reads
def clean(
    data: opt.Original,
    recipe: Annotated[Path, typer.Option("--recipe", help=f"{opt.RECIPE}; made with 'check --recipe'.")],
    output: Annotated[Path, typer.Option("--output", "-o", help=f"{opt.OUTPUT}.")],
    undo: Annotated[
        bool,
        typer.Option("--undo", help="The data are synthetic, made from cleaned data: take the steps back."),
    ] = False,
    schema: opt.SchemaFile = None,
    like_input: opt.LikeInput = False,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    *,
    reading: opt.Reading,
) -> None:
    """Clean a file by a recipe before synthesis, or take the steps back on the synthetic file."""
    terminal = Terminal(quiet, as_json)
    steps = Recipe.read(recipe)
    loaded = load(data, schema, terminal, reading)
    made = steps.undo(loaded.table) if undo else steps.apply(loaded.table)
    write(made, output, **kept_form(output, loaded, terminal, like_input))
    if not undo and steps.losses:
        terminal.note(f"cannot be undone: {'; '.join(steps.losses)}")
    terminal.say(f"{counted(made.rows, 'row')} and {counted(len(made.names), 'column')} written to {output}")
    terminal.emit(
        {"file": str(output), "rows": made.rows, "columns": made.names, "cannot be undone": steps.losses}
    )


def _show(terminal: Terminal, name: str, report: Findings) -> None:
    if not report.findings:
        terminal.say(
            "nothing found that a synthesizer would stumble over"
            if name == "before"
            else "nothing went wrong"
        )
        return
    grid = grid_of("", "columns", "what", "what to do")
    for finding in report.findings:
        grid.add_row(
            finding.severity,
            ", ".join(finding.columns),
            f"{finding.kind}: {finding.evidence}",
            finding.suggestion,
        )
    terminal.say(grid)
