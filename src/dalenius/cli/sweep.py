"""`dalenius sweep`: disclosure and utility for several epsilons, so that one can be chosen with open eyes."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.table import Table as RichTable

from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal, listed
from dalenius.cli._input import load
from dalenius.core.errors import OptionError
from dalenius.core.random import DEFAULT_SEED
from dalenius.core.result import figure
from dalenius.core.style import configured
from dalenius.data.atomic import replacing
from dalenius.evaluation import sweep as sweep_file
from dalenius.synth import Candidate
from dalenius.synth.base import choose_columns

app = typer.Typer()


@app.command(context_settings={"allow_extra_args": True})
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
) -> None:
    """Show disclosure and utility for several epsilons."""
    terminal = Terminal(quiet, as_json)
    wanted = [
        _epsilon(word) for word in ",".join([*(epsilon or []), *context.args]).split(",") if word.strip()
    ]
    table = load(data, schema, terminal).table
    if columns:
        table = choose_columns(table, listed(columns) or [])
    options = Candidate.parse(method, option).options
    with terminal.progress(f"trying {method}") as tell:
        result = sweep_file(
            table, method, wanted or [0.1, 0.5, 1.0, 2.0, 10.0], replicates=replicates, seed=seed, progress=tell,
            **options,
        )  # fmt: skip
    shown = RichTable(*(result.table.columns if result.table is not None else []))
    for row in result.table.iter_rows() if result.table is not None else ():
        shown.add_row(*("none" if value is None else figure(float(value)) for value in row))
    terminal.say(shown)
    terminal.say(result.sentence)
    if chart is not None and result.chart is not None:
        with replacing(chart) as temporary:
            configured(result.chart()).save(str(temporary), format=chart.suffix.lstrip(".") or "html")
        terminal.note(f"chart written to {chart}")
    terminal.emit(result.to_dict())


def _epsilon(word: str) -> float | None:
    if word.strip().lower() == "none":
        return None
    try:
        return float(word)
    except ValueError:
        raise OptionError(f"epsilon {word!r} is not a number; give numbers, or 'none' for no noise") from None
