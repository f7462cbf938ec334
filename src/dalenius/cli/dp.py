"""`dalenius dp`: private statistics one by one, and the ledger that pays for them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal, listed, shown_table
from dalenius.cli._input import load
from dalenius.core.result import Result
from dalenius.data.schema import Schema
from dalenius.dp import ledger_path, open_ledger, queries

app = typer.Typer(
    name="dp", help="Private statistics: counts, sums, means, quantiles, tables, and their ledger."
)

Epsilon = Annotated[float, typer.Option("--epsilon", "-e", help="Privacy budget ε; of this query.")]
Delta = Annotated[float, typer.Option("--delta", help="δ that goes with ε; above 0 the noise is Gaussian.")]
SchemaFile = Annotated[
    Path, typer.Option("--schema", help="Schema of the data; it must declare the columns (YAML).")
]
Ledger = Annotated[
    Path | None,
    typer.Option("--ledger", help="Ledger that pays; default: the one beside the data, if there is one."),
]
Contribution = Annotated[
    int | None,
    typer.Option("--contribution", help="Most records of one unit (column with the role entity).", min=1),
]
Replace = Annotated[
    bool, typer.Option("--replace", help="Protect what a record says, not whether it is there.")
]
Name = Annotated[str, typer.Argument(help="Column.")]


def _asked(
    query: Any, data: Path, schema: Path, ledger: Path | None, contribution: int | None, replace: bool, as_json: bool,
    quiet: bool, *columns: Any, **options: Any,
) -> None:  # fmt: skip
    """Read the file blind, ask, and show the answer with what it cost."""
    terminal = Terminal(quiet, as_json)
    wanted = Schema.from_yaml(schema)
    read = load(data, wanted, Terminal(quiet=True), blind=True).table
    beside = ledger_path(data)
    pays = ledger or (beside if beside.exists() else None)
    result: Result = query(
        read, *columns, contribution=contribution, neighbours="replace" if replace else "add-remove",
        ledger=None if pays is None else str(pays), output=f"dalenius dp {query.__name__}", **options,
    )  # fmt: skip
    if result.table is not None:
        terminal.say(shown_table(result.table))
    terminal.say(result.sentence)
    terminal.note(
        f"paid from {pays}" if pays is not None else "no ledger: nobody adds up what else is released"
    )
    terminal.emit(result.to_dict())


@app.command()
def count(
    data: opt.Original, schema: SchemaFile, epsilon: Epsilon, delta: Delta = 0.0, ledger: Ledger = None,
    contribution: Contribution = None, replace: Replace = False, as_json: opt.Json = False, quiet: opt.Quiet = False,
) -> None:  # fmt: skip
    """Count the records."""
    _asked(
        queries.count, data, schema, ledger, contribution, replace, as_json, quiet, epsilon=epsilon, delta=delta
    )  # fmt: skip


@app.command()
def histogram(
    data: opt.Original, column: Name, schema: SchemaFile, epsilon: Epsilon, delta: Delta = 0.0,
    breaks: Annotated[str | None, typer.Option("--breaks", help="Breaks of a number: 0,18,65,110.")] = None,
    ledger: Ledger = None, contribution: Contribution = None, replace: Replace = False, as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:  # fmt: skip
    """Count every level of a column, or groups of a number."""
    edges = None if breaks is None else [float(part) for part in breaks.split(",")]
    _asked(
        queries.histogram, data, schema, ledger, contribution, replace, as_json, quiet, column, epsilon=epsilon,
        delta=delta, breaks=edges,
    )  # fmt: skip


@app.command()
def table(
    data: opt.Original,
    columns: Annotated[list[str], typer.Option("--by", help="Columns to cross, separated by commas.")],
    schema: SchemaFile, epsilon: Epsilon, delta: Delta = 0.0, ledger: Ledger = None,
    contribution: Contribution = None, replace: Replace = False, as_json: opt.Json = False, quiet: opt.Quiet = False,
) -> None:  # fmt: skip
    """Count every combination of some columns."""
    _asked(
        queries.table, data, schema, ledger, contribution, replace, as_json, quiet, listed(columns) or [],
        epsilon=epsilon, delta=delta,
    )  # fmt: skip


@app.command(name="sum")
def total(
    data: opt.Original, column: Name, schema: SchemaFile, epsilon: Epsilon, delta: Delta = 0.0, ledger: Ledger = None,
    contribution: Contribution = None, replace: Replace = False, as_json: opt.Json = False, quiet: opt.Quiet = False,
) -> None:  # fmt: skip
    """Sum up a number."""
    _asked(
        queries.sum, data, schema, ledger, contribution, replace, as_json, quiet, column, epsilon=epsilon, delta=delta
    )  # fmt: skip


@app.command()
def mean(
    data: opt.Original, column: Name, schema: SchemaFile, epsilon: Epsilon, delta: Delta = 0.0, ledger: Ledger = None,
    contribution: Contribution = None, replace: Replace = False, as_json: opt.Json = False, quiet: opt.Quiet = False,
) -> None:  # fmt: skip
    """Average a number."""
    _asked(
        queries.mean, data, schema, ledger, contribution, replace, as_json, quiet, column, epsilon=epsilon, delta=delta
    )  # fmt: skip


@app.command()
def quantile(
    data: opt.Original, column: Name, schema: SchemaFile, epsilon: Epsilon,
    share: Annotated[float, typer.Option("--share", help="0.5 is the median.", min=0.0, max=1.0)] = 0.5,
    ledger: Ledger = None, contribution: Contribution = None, replace: Replace = False, as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:  # fmt: skip
    """Find a quantile of a number."""
    _asked(
        queries.quantile, data, schema, ledger, contribution, replace, as_json, quiet, column, share, epsilon=epsilon
    )  # fmt: skip


@app.command()
def budget(
    data: opt.Original,
    epsilon: Annotated[float | None, typer.Option("--epsilon", "-e", help="Privacy budget ε; begins a ledger.")] = None,
    delta: Delta = 0.0, replace: Replace = False,
    unit: Annotated[str, typer.Option("--unit", help="Column that names the protected unit.")] = "record",
    as_json: opt.Json = False, quiet: opt.Quiet = False,
) -> None:  # fmt: skip
    """Begin the ledger of a data file, or show who spent what on which output."""
    terminal = Terminal(quiet, as_json)
    opened = open_ledger(
        ledger_path(data), epsilon, delta, neighbours="replace" if replace else "add-remove", unit=unit
    )  # fmt: skip
    terminal.block(str(opened))
    terminal.emit(
        {"file": str(opened.path), "epsilon": opened.epsilon, "delta": opened.delta, "left": opened.left}
    )
