"""The command line: ``dalenius COMMAND``. Each command lives in a file of its own."""

from __future__ import annotations

import typer

from dalenius.cli._console import Commands
from dalenius.cli.app import serve
from dalenius.cli.audit import audit
from dalenius.cli.benchmark import benchmark, cells
from dalenius.cli.check import check, clean
from dalenius.cli.demo import demo
from dalenius.cli.epsilon import epsilon
from dalenius.cli.evaluate import evaluate
from dalenius.cli.methods import methods, version
from dalenius.cli.release import plan, release, verify
from dalenius.cli.risk import risk
from dalenius.cli.schema import schema
from dalenius.cli.sweep import register as register_sweep
from dalenius.cli.syndiffix import register as register_syndiffix
from dalenius.cli.synth import sample, synth
from dalenius.cli.tables import app as tables

app = typer.Typer(
    name="dalenius",
    cls=Commands,
    help="Turn confidential data into something that can be released, and show how safe and how useful it is.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)
for command in (
    demo,
    schema,
    synth,
    sample,
    evaluate,
    benchmark,
    cells,
    check,
    clean,
    risk,
    audit,
    epsilon,
    plan,
    release,
    verify,
    methods,
    version,
):
    app.command()(command)
app.command("compare", help="The same for several files: candidates side by side, with replicates.")(evaluate)
app.command("app")(serve)
register_sweep(app)
register_syndiffix(app)
app.add_typer(tables, name="tables")

__all__ = ["app"]
