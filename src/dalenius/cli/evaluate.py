"""`dalenius evaluate` (also `compare`): figures about one protected file, or about several side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table as Grid
from rich.text import Text

from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal, dim, listed
from dalenius.cli._input import load, load_like
from dalenius.core.errors import OptionError
from dalenius.core.option import parse
from dalenius.core.result import Result, figure
from dalenius.core.small_cells import THRESHOLD
from dalenius.counts.measure import MEASURES, measure_functions
from dalenius.evaluation import Comparison, Evaluation
from dalenius.evaluation import compare as compare_files
from dalenius.report import write_report

app = typer.Typer()


@app.command("compare", help="The same for several files: candidates side by side, with replicates.")
@app.command()
def evaluate(
    original: opt.Original,
    protected: Annotated[
        list[str],
        typer.Argument(help="Protected files, as FILE or NAME=FILE; one name for several files: replicates."),
    ],
    schema: opt.SchemaFile = None,
    keys: opt.Keys = None,
    targets: opt.Targets = None,
    holdout: opt.Holdout = None,
    measures: opt.Measures = None,
    every: opt.AllMeasures = False,
    option: opt.Options = None,
    report: opt.Report = None,
    threshold: opt.Threshold = THRESHOLD,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Measure how safe and how useful a protected file is, or several side by side."""
    terminal = Terminal(quiet, as_json)
    first = load(original, schema, terminal)
    named = {
        name: [load_like(path, first.table, terminal) for path in paths]
        for name, paths in _named(protected).items()
    }
    third = load_like(holdout, first.table, terminal) if holdout is not None else None
    with terminal.progress("measuring") as show:
        comparison = compare_files(
            first.table, {name: [one.table for one in files] for name, files in named.items()}, None, listed(keys),
            listed(targets), third.table if third else None, measures=list(MEASURES) if every else listed(measures),
            options=parse(option, measure_functions()), threshold=threshold, progress=show,
        )  # fmt: skip
    if len(protected) == 1:
        only = next(iter(comparison.evaluations.values()))
        _show_one(only, terminal)
        terminal.emit(only.to_dict())
    else:
        show_many(comparison, terminal)
        terminal.emit(comparison.to_dict())
    if report is not None:
        inputs = [("original", first), *((name, one) for name, files in named.items() for one in files)]
        digests = {f"{role}: {loaded.path.name}": loaded.digest for role, loaded in inputs}
        digests |= {f"holdout: {third.path.name}": third.digest} if third else {}
        write_report(comparison, report, inputs=digests)
        terminal.note(f"report written to {report}")


def _named(items: list[str]) -> dict[str, list[Path]]:
    """Files by name; a name given several times has replicates, a file name on its own must be unique."""
    found: dict[str, list[Path]] = {}
    for item in items:
        name, equals, path = item.partition("=")
        if equals and not Path(item).exists():
            found.setdefault(name, []).append(Path(path))
            continue
        label = Path(item).stem
        if label in found:
            raise OptionError(f"two protected files are called {label!r}; write NAME=FILE to tell them apart")
        found[label] = [Path(item)]
    return found


def _show_one(evaluation: Evaluation, terminal: Terminal) -> None:
    grid = Grid("measure", "value", "yardstick", box=None, header_style="bold")
    for result in evaluation.results.values():
        grid.add_row(_title(result), _value(result), _yardstick(result))
    terminal.say(grid)
    for result in evaluation.results.values():
        terminal.say(Text(f"\n{_title(result)}", style="bold"))
        terminal.say(result.sentence)
    for name, why in evaluation.skipped.items():
        terminal.note(f"{name}: not measured, {why}")
    for note in evaluation.pair.notes:
        terminal.note(note)


FEW = 6
"""Measures that fit beside each other on a screen; more become rows."""


def show_many(comparison: Comparison, terminal: Terminal, only: Sequence[str] | None = None) -> None:
    """Print candidates side by side, all measures or only some."""
    some = next(iter(comparison.evaluations.values()))
    results = [r for r in some.results.values() if only is None or r.name in only]
    for name, why in some.skipped.items():
        if only is None or name in only:
            terminal.note(f"{name}: not measured, {why}")
    if len(results) > FEW:
        _show_by_measure(comparison, results, terminal)
        return
    arrows = [f"{_title(r)} ({r.info.best})" if r.info else r.name for r in results]
    grid = Grid("candidate", *arrows, box=None, header_style="bold")
    for name, evaluation in comparison.evaluations.items():
        grid.add_row(name, *(_value(evaluation.results[r.name]) for r in results))
    grid.add_row(dim("yardstick"), *(dim(_shared_yardstick(comparison, r)) for r in results))
    terminal.say(grid)


def _show_by_measure(comparison: Comparison, results: Sequence[Result], terminal: Terminal) -> None:
    grid = Grid("measure", "better", *comparison.evaluations, "yardstick", box=None, header_style="bold")
    for result in results:
        cells = [e.results[result.name] for e in comparison.evaluations.values()]
        better = result.info.better if result.info else ""
        yardstick = dim(_shared_yardstick(comparison, result))
        grid.add_row(result.name, better, *map(_value, cells), yardstick)
    terminal.say(grid)


def _shared_yardstick(comparison: Comparison, result: Result) -> str:
    """Yardsticks that are the same for every candidate; the holdout's, for example, is each candidate's own."""
    every = [
        dict(e.results[result.name].yardsticks)
        for e in comparison.evaluations.values()
        if result.name in e.results
    ]
    common = {
        name: v for name, v in result.yardsticks.items() if all(other.get(name) == v for other in every)
    }
    return ", ".join(f"{name} {figure(value, result.unit)}" for name, value in common.items())


def _title(result: Result) -> str:
    return result.info.title if result.info else result.name


def _value(result: Result) -> str:
    trust = "" if result.trusted else " (not trusted)"
    return figure(result.value, result.unit) + (f" {result.interval}" if result.interval else "") + trust


def _yardstick(result: Result) -> str:
    return ", ".join(f"{name} {figure(value, result.unit)}" for name, value in result.yardsticks.items())
