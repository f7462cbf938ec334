"""`dalenius dp`: private statistics one by one, and the ledger that pays for them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal, listed, numbers, shown_table
from dalenius.cli._input import load
from dalenius.core.errors import FileError
from dalenius.core.result import Result
from dalenius.data.schema import Schema
from dalenius.dp import ledger_beside, ledger_path, open_ledger, queries
from dalenius.dp import regress as dp_regress
from dalenius.dp.budget import Neighbours

app = typer.Typer(
    name="dp", help="Private statistics: counts, sums, means, quantiles, tables, and their ledger."
)

Epsilon = Annotated[float, typer.Option("--epsilon", "-e", help="Privacy budget ε; of this query.")]
Delta = Annotated[float, typer.Option("--delta", help="δ that goes with ε; above 0 the noise is Gaussian.")]
SchemaFile = Annotated[
    Path, typer.Option("--schema", help="Schema of the data; it must declare the columns (YAML).")
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
    quiet: bool, reading: opt.Reading, *columns: Any, **options: Any,
) -> None:  # fmt: skip
    """Read the file blind, ask, and show the answer with what it cost."""
    terminal = Terminal(quiet, as_json)
    wanted = Schema.from_yaml(schema)
    read = load(data, wanted, Terminal(quiet=True), reading, blind=True).table
    pays = ledger or ledger_beside(data)
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
@opt.reads
def count(
    data: opt.Original, schema: SchemaFile, epsilon: Epsilon, delta: Delta = 0.0,
    ledger: opt.Ledger = None, contribution: Contribution = None, replace: Replace = False, as_json: opt.Json = False,
    quiet: opt.Quiet = False, *, reading: opt.Reading,
) -> None:  # fmt: skip
    """Count the records."""
    _asked(
        queries.count, data, schema, ledger, contribution, replace, as_json, quiet, reading, epsilon=epsilon,
        delta=delta,
    )  # fmt: skip


@app.command()
@opt.reads
def histogram(
    data: opt.Original, column: Name, schema: SchemaFile, epsilon: Epsilon, delta: Delta = 0.0,
    breaks: Annotated[str | None, typer.Option("--breaks", help="Breaks of a number: 0,18,65,110.")] = None,
    ledger: opt.Ledger = None, contribution: Contribution = None, replace: Replace = False, as_json: opt.Json = False,
    quiet: opt.Quiet = False, *, reading: opt.Reading,
) -> None:  # fmt: skip
    """Count every level of a column, or groups of a number."""
    edges = None if breaks is None else numbers("--breaks", breaks)
    _asked(
        queries.histogram, data, schema, ledger, contribution, replace, as_json, quiet, reading, column,
        epsilon=epsilon, delta=delta, breaks=edges,
    )  # fmt: skip


@app.command()
@opt.reads
def table(
    data: opt.Original,
    columns: Annotated[list[str], typer.Option("--by", help="Columns to cross, separated by commas.")],
    schema: SchemaFile, epsilon: Epsilon, delta: Delta = 0.0,
    ledger: opt.Ledger = None, contribution: Contribution = None, replace: Replace = False, as_json: opt.Json = False,
    quiet: opt.Quiet = False, *, reading: opt.Reading,
) -> None:  # fmt: skip
    """Count every combination of some columns."""
    _asked(
        queries.table, data, schema, ledger, contribution, replace, as_json, quiet, reading, listed(columns) or [],
        epsilon=epsilon, delta=delta,
    )  # fmt: skip


@app.command(name="sum")
@opt.reads
def total(
    data: opt.Original, column: Name, schema: SchemaFile, epsilon: Epsilon, delta: Delta = 0.0,
    ledger: opt.Ledger = None, contribution: Contribution = None, replace: Replace = False, as_json: opt.Json = False,
    quiet: opt.Quiet = False, *, reading: opt.Reading,
) -> None:  # fmt: skip
    """Sum up a number."""
    _asked(
        queries.sum, data, schema, ledger, contribution, replace, as_json, quiet, reading, column,
        epsilon=epsilon, delta=delta,
    )  # fmt: skip


@app.command()
@opt.reads
def mean(
    data: opt.Original, column: Name, schema: SchemaFile, epsilon: Epsilon, delta: Delta = 0.0,
    ledger: opt.Ledger = None, contribution: Contribution = None, replace: Replace = False, as_json: opt.Json = False,
    quiet: opt.Quiet = False, *, reading: opt.Reading,
) -> None:  # fmt: skip
    """Average a number."""
    _asked(
        queries.mean, data, schema, ledger, contribution, replace, as_json, quiet, reading, column,
        epsilon=epsilon, delta=delta,
    )  # fmt: skip


@app.command()
@opt.reads
def quantile(
    data: opt.Original, column: Name, schema: SchemaFile, epsilon: Epsilon,
    share: Annotated[float, typer.Option("--share", help="0.5 is the median.", min=0.0, max=1.0)] = 0.5,
    ledger: opt.Ledger = None, contribution: Contribution = None, replace: Replace = False, as_json: opt.Json = False,
    quiet: opt.Quiet = False, *, reading: opt.Reading,
) -> None:  # fmt: skip
    """Find a quantile of a number."""
    _asked(
        queries.quantile, data, schema, ledger, contribution, replace, as_json, quiet, reading, column, share,
        epsilon=epsilon,
    )  # fmt: skip


@app.command()
@opt.reads
def regress(
    data: opt.Original,
    formula: Annotated[str, typer.Argument(help="'income ~ age + sex'.")],
    schema: SchemaFile, epsilon: Epsilon, delta: Delta = 0.0,
    family: Annotated[
        str, typer.Option("--family", help="Family of the model; quantile, linear or logistic.")
    ] = "quantile",
    taus: Annotated[str, typer.Option("--taus", help="Quantiles, separated by commas: 0.1,0.5,0.9.")] = "0.5",
    mechanism: Annotated[str, typer.Option("--mechanism", help="opm, kng, agd or sgd; see the docs.")] = "opm",
    bandwidth: Annotated[
        float | None, typer.Option("--bandwidth", help="How far the loss of a quantile is rounded off.")
    ] = None,
    intervals: Annotated[
        bool, typer.Option("--intervals/--no-intervals", help="Spend three tenths of ε on 95 % intervals.")
    ] = True,
    ledger: opt.Ledger = None, contribution: Contribution = None, replace: Replace = False,
    as_json: opt.Json = False, quiet: opt.Quiet = False, *, reading: opt.Reading,
) -> None:  # fmt: skip
    """Fit a regression: quantiles, means, or a yes or no."""
    _asked(
        dp_regress, data, schema, ledger, contribution, replace, as_json, quiet, reading, formula,
        epsilon=epsilon, delta=delta, family=family, taus=numbers("--taus", taus), mechanism=mechanism,
        bandwidth=bandwidth, with_intervals=intervals,
    )  # fmt: skip


@app.command()
def budget(
    data: opt.Original,
    epsilon: Annotated[float | None, typer.Option("--epsilon", "-e", help="Privacy budget ε; begins a ledger.")] = None,
    delta: Delta = 0.0, replace: Replace = False,
    unit: Annotated[
        str | None, typer.Option("--unit", help="Column that names the protected unit; else each record is one.")
    ] = None,
    as_json: opt.Json = False, quiet: opt.Quiet = False,
) -> None:  # fmt: skip
    """Begin the ledger of a data file, or show who spent what on which output."""
    terminal = Terminal(quiet, as_json)
    neighbours: Neighbours | None = "replace" if replace else None
    if not data.exists():
        raise FileError(f"{data}: there is no such file; a ledger belongs to a data file that is there")
    opened = open_ledger(ledger_path(data), epsilon, delta or None, neighbours=neighbours, unit=unit)
    terminal.block(str(opened))
    terminal.emit(
        {"file": str(opened.path), "epsilon": opened.epsilon, "delta": opened.delta, "left": opened.left}
    )
