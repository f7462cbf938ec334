"""`dalenius sweep`: disclosure and utility for several epsilons, so that one can be chosen with open eyes."""

from __future__ import annotations

from typing import Annotated

import typer

from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal, listed, shown_table, write_chart
from dalenius.cli._input import load
from dalenius.core.errors import OptionError
from dalenius.core.random import DEFAULT_SEED
from dalenius.evaluation import sweep as sweep_file
from dalenius.synth import Candidate
from dalenius.synth.base import choose_columns

app = typer.Typer()


@app.command(context_settings={"allow_extra_args": True})
@opt.reads
def sweep(
    context: typer.Context,
    data: opt.Original,
    epsilon: Annotated[
        list[str] | None,
        typer.Option(
            "--epsilon", "-e", help="Privacy budget ε; several to try (0.1 0.5 1), 'none' is no noise."
        ),
    ] = None,
    method: Annotated[
        str, typer.Option("--method", "-m", help=f"{opt.WAY}; saturated, loglinear, mst or aim.")
    ] = "loglinear",
    columns: opt.Columns = None,
    replicates: opt.Replicates = 5,
    option: opt.Options = None,
    chart: opt.Chart = None,
    schema: opt.SchemaFile = None,
    seed: opt.SeedOption = DEFAULT_SEED,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    *,
    reading: opt.Reading,
) -> None:
    """Show disclosure and utility for several epsilons."""
    terminal = Terminal(quiet, as_json)
    wanted = [
        _epsilon(word) for word in ",".join([*(epsilon or []), *context.args]).split(",") if word.strip()
    ]
    table = load(data, schema, terminal, reading).table
    if columns:
        table = choose_columns(table, listed(columns) or [])
    options = Candidate.parse(method, option).options
    with terminal.progress(f"trying {method}") as tell:
        result = sweep_file(
            table, method, wanted or [0.1, 0.5, 1.0, 2.0, 10.0], replicates=replicates, seed=seed, progress=tell,
            **options,
        )  # fmt: skip
    if result.table is not None:
        terminal.say(shown_table(result.table, empty="none"))
    terminal.say(result.sentence)
    if chart is not None and result.chart is not None:
        write_chart(result.chart(), chart, terminal)
    terminal.emit(result.to_dict())


def _epsilon(word: str) -> float | None:
    if word.strip().lower() == "none":
        return None
    try:
        return float(word)
    except ValueError:
        raise OptionError(f"epsilon {word!r} is not a number; give numbers, or 'none' for no noise") from None
