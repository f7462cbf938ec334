"""`dalenius benchmark`: several methods tried on one file, and `dalenius cells`: where one table goes wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal, listed, shown_table, write_chart
from dalenius.cli._databases import benchmark_folder, holds_tables
from dalenius.cli._input import load, load_like
from dalenius.cli.evaluate import show_many
from dalenius.core.errors import OptionError
from dalenius.core.option import parse
from dalenius.core.random import DEFAULT_SEED
from dalenius.core.result import figure
from dalenius.counts.measure import MEASURES, measure_functions
from dalenius.counts.pair import Pair
from dalenius.data.table import Table
from dalenius.evaluation import Benchmark, ablation
from dalenius.evaluation import benchmark as try_methods
from dalenius.preparation import Recipe
from dalenius.report import write_report
from dalenius.synth import METHODS
from dalenius.synth.candidate import DEFAULT_METHOD
from dalenius.utility.tables import cell_chart, table_statistics_of, worst_cells

app = typer.Typer()


@app.command()
@opt.reads
def benchmark(
    data: opt.Original,
    method: Annotated[list[str] | None, typer.Option("--method", "-m", help=opt.METHOD_HELP)] = None,
    replicates: opt.Replicates = 3,
    holdout_share: opt.HoldoutShare = 0.0,
    recipe: Annotated[
        Path | None,
        typer.Option("--recipe", help=f"{opt.RECIPE}; try one method on the file raw and cleaned instead."),
    ] = None,
    option: opt.Options = None,
    schema: opt.SchemaFile = None,
    keys: opt.Keys = None,
    targets: opt.Targets = None,
    measures: opt.Measures = None,
    every: opt.AllMeasures = False,
    report: opt.Report = None,
    seed: opt.SeedOption = DEFAULT_SEED,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    *,
    reading: opt.Reading,
) -> None:
    """Try several methods on one file or folder, each several times, and compare them with intervals and references."""
    terminal = Terminal(quiet, as_json)
    if holds_tables(data):
        if recipe is not None or keys or targets or report is not None:
            raise OptionError(
                "--recipe, --keys, --targets and --report are for one table; several have 'dalenius plan'"
            )
        benchmark_folder(
            data, listed(method), schema, option, listed(measures), replicates, holdout_share, seed, terminal
        )  # fmt: skip
        return
    loaded = load(data, schema, terminal, reading)
    names = listed(method) or [DEFAULT_METHOD]
    given = parse(option, {**{name: METHODS[name] for name in names}, **measure_functions()})
    chosen = {name: given.pop(name, {}) for name in names}
    common: dict[str, Any] = {
        "replicates": replicates, "measures": list(MEASURES) if every else listed(measures), "seed": seed,
    }  # fmt: skip
    with terminal.progress("trying") as show:
        if recipe is not None:
            tried = _cleaned(loaded.table, recipe, names, chosen, {**common, "progress": show})
        else:
            tried = try_methods(
                loaded.table, chosen, None, listed(keys), listed(targets), holdout_share=holdout_share, options=given,
                progress=show, **common,
            )  # fmt: skip
    _show(tried, terminal)
    terminal.emit(tried.to_dict())
    if report is not None:
        write_report(tried.comparison, report, inputs={f"original: {data.name}": loaded.digest})
        terminal.note(f"report written to {report}")


def _cleaned(
    table: Table, recipe: Path, names: list[str], chosen: dict[str, dict[str, Any]], common: dict[str, Any]
) -> Benchmark:
    if len(names) != 1:
        raise OptionError("--recipe tries one method; name one with --method")
    return ablation(table, Recipe.read(recipe), names[0], **common, **chosen.get(names[0], {}))


def _show(tried: Benchmark, terminal: Terminal) -> None:
    show_many(tried.comparison, terminal)
    seconds = tried.table.select("candidate", "fit seconds", "sample seconds").drop_nulls()
    for name, fitting, sampling in seconds.iter_rows():
        terminal.note(f"{name}: {figure(fitting)} s to fit, {figure(sampling)} s to draw")
    for name, behind in tried.of_no_use.items():
        terminal.note(
            f"{name} does no better than values drawn evenly by {', '.join(behind)}: of no use for these"
        )
    for name, why in tried.failed.items():
        terminal.note(f"{name} made nothing: {why}")


@app.command()
@opt.reads
def cells(
    original: opt.Original,
    protected: Annotated[Path, typer.Argument(help="Protected file.")],
    columns: Annotated[
        list[str], typer.Option("--columns", "-c", help="Only these columns, separated by commas.")
    ],
    limit: Annotated[int, typer.Option("--show", help="Cells to show.", min=1)] = 20,
    chart: opt.Chart = None,
    schema: opt.SchemaFile = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    *,
    reading: opt.Reading,
) -> None:
    """Show where one table goes wrong: its most different cells, with counts of both files (confidential)."""
    terminal = Terminal(quiet, as_json)
    wanted = listed(columns) or []
    first = load(original, schema, terminal, reading).table
    pair = Pair(first, load_like(protected, first, terminal, reading).table)
    worst = worst_cells(pair, wanted, limit)
    figures = table_statistics_of(pair, wanted)
    terminal.say(shown_table(worst))
    terminal.note(
        ", ".join(f"{name} {figure(figures[name])}" for name in ("S_pMSE", "df", "TVD", "Hellinger"))
    )
    if chart is not None:
        write_chart(cell_chart(worst, wanted), chart, terminal)
    told: dict[str, Any] = {
        "cells": worst.with_columns(pl.col(worst.columns[: len(wanted)]).cast(pl.String)).to_dicts()
    }
    terminal.emit({**told, "statistics": figures})
