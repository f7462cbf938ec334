"""`dalenius methods` and `dalenius version`: what there is."""

from __future__ import annotations

import platform
from dataclasses import asdict
from importlib.metadata import version as package_version

import typer

import dalenius
from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal, grid_of
from dalenius.core.option import declared
from dalenius.counts.measure import MEASURES
from dalenius.synth import METHODS, Method
from dalenius.synth.relational import RELATIONAL, RelationalMethod

app = typer.Typer()

LIBRARIES = ("numpy", "scipy", "numba", "polars", "pyarrow", "narwhals", "duckdb", "altair")


@app.command()
def methods(as_json: opt.Json = False, quiet: opt.Quiet = False) -> None:
    """List methods and measures with what they guarantee or mean."""
    terminal = Terminal(quiet, as_json)
    made = grid_of("method", "what it does", "guarantee", "options")
    both: list[type[Method] | type[RelationalMethod]] = [*METHODS.values(), *RELATIONAL.values()]
    for kind in both:
        made.add_row(
            kind.info.name, kind.info.meaning, kind.info.guarantee, ", ".join(declared(kind)) or "none"
        )
    figures = grid_of("measure", "family", "better", "what it means", "needs")
    for measure in MEASURES.values():
        info = measure.info
        figures.add_row(info.name, info.family, info.better, info.meaning, ", ".join(sorted(info.needs)))
    terminal.say(made)
    terminal.say("")
    terminal.say(figures)
    terminal.emit(
        {
            "methods": [asdict(kind.info) for kind in METHODS.values()],
            "methods_of_several_tables": [asdict(kind.info) for kind in RELATIONAL.values()],
            "measures": [{**asdict(m.info), "needs": sorted(m.info.needs)} for m in MEASURES.values()],
        }
    )


@app.command()
def version(as_json: opt.Json = False) -> None:
    """Print the version, and with --json those of the libraries below it."""
    terminal = Terminal(as_json=as_json)
    terminal.say(f"dalenius {dalenius.__version__}")
    terminal.emit(
        {
            "dalenius": dalenius.__version__,
            "python": platform.python_version(),
            **{name: package_version(name) for name in LIBRARIES},
        }
    )
