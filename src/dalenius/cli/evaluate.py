"""`dalenius evaluate` (also `compare`): figures about one protected file, or about several side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal, dim, grid_of, listed
from dalenius.cli._databases import evaluate_folders
from dalenius.cli._input import Loaded, load, load_like
from dalenius.core.errors import OptionError
from dalenius.core.option import parse
from dalenius.core.random import DEFAULT_SEED
from dalenius.core.result import Result, figure
from dalenius.core.small_cells import THRESHOLD
from dalenius.counts.measure import MEASURES, measure_functions
from dalenius.data.files.databases import is_database
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.evaluation import Comparison, Evaluation, evaluate_files
from dalenius.evaluation import compare as compare_files
from dalenius.mask.again import made_again
from dalenius.report import write_report
from dalenius.report.words import comparison_story, refused_lines

app = typer.Typer()


@app.command("compare", help="The same for several files: candidates side by side, with replicates.")
@app.command()
@opt.reads
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
    panel: opt.Panel = None,
    measures: opt.Measures = None,
    every: opt.AllMeasures = False,
    option: opt.Options = None,
    recipe: Annotated[
        Path | None,
        typer.Option(
            "--recipe", help=f"{opt.RECIPE}: the file was masked by it, and is seen through the mask."
        ),
    ] = None,
    seed: opt.SeedOption = DEFAULT_SEED,
    report: opt.Report = None,
    threshold: opt.Threshold = THRESHOLD,
    stream: opt.Stream = False,
    keep: Annotated[
        Path | None,
        typer.Option(
            "--keep", help="With --stream: folder for finished counts, which are used again; confidential."
        ),
    ] = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    *,
    reading: opt.Reading,
) -> None:
    """Measure how safe and how useful a protected file is, or several side by side."""
    terminal = Terminal(quiet, as_json)
    if is_database(original):
        evaluate_folders(original, protected, schema, holdout, listed(measures), report, threshold, terminal)
        return
    if panel is not None:
        _panels(
            original,
            protected,
            panel,
            schema,
            holdout,
            listed(measures),
            report,
            threshold,
            terminal,
            reading,
        )
        return
    asked: dict[str, Any] = {
        "measures": list(MEASURES) if every else listed(measures), "threshold": threshold,
        "options": parse(option, measure_functions()),
    }  # fmt: skip
    if stream:
        if len(protected) > 1 or report is not None or recipe is not None:
            raise OptionError("--stream measures one file, not seen through a mask, and writes no report")
        roles, asked["keep"] = (listed(keys), listed(targets), holdout), keep
        _streamed(original, _named(protected).popitem()[1][0], schema, roles, asked, terminal)
        return
    first = load(original, schema, terminal, reading)
    named = {
        name: [load_like(path, first.table, terminal, reading) for path in paths]
        for name, paths in _named(protected).items()
    }
    held: dict[str, Any] = {name: [one.table for one in files] for name, files in named.items()}
    if recipe is not None:
        held = _through(recipe, first.table, held, seed)
    third = load_like(holdout, first.table, terminal, reading) if holdout is not None else None
    with terminal.progress("measuring") as show:
        people = third.table if third else None
        comparison = compare_files(
            first.table, held, None, listed(keys), listed(targets), people, **asked, progress=show
        )
    _show(comparison, len(protected), terminal)
    if report is not None:
        inputs = [("original", first), *((name, one) for name, files in named.items() for one in files)]
        _reported(comparison, report, [*inputs, ("holdout", third)] if third else inputs, terminal)


def _panels(original: Path, protected: list[str], panel: str, *asked: Any) -> None:
    """Figures of a panel, people and waves apart and together."""
    from dalenius.cli._panels import evaluate_panels  # noqa: PLC0415 (methods of several tables are slow to load)

    evaluate_panels(original, protected, panel, *asked)


def _show(comparison: Comparison, files: int, terminal: Terminal) -> None:
    """One file in full, several side by side."""
    if files > 1:
        show_many(comparison, terminal)
        show_verdict(comparison, terminal)
        terminal.emit(comparison.to_dict())
        return
    only = next(iter(comparison.evaluations.values()))
    _show_one(only, terminal)
    for line in refused_lines(comparison):
        terminal.say(f"\n{line}")
    terminal.emit(only.to_dict())


def _reported(
    comparison: Comparison, report: Path, inputs: list[tuple[str, Loaded]], terminal: Terminal
) -> None:
    """The report, with what was read."""
    digests = {f"{role}: {loaded.path.name}": loaded.digest for role, loaded in inputs}
    write_report(comparison, report, inputs=digests)
    terminal.note(f"report written to {report}")


def _streamed(
    original: Path, protected: Path, schema: Path | None, roles: tuple[Any, ...], asked: dict[str, Any],
    terminal: Terminal,
) -> None:  # fmt: skip
    """Figures of a file that is larger than memory."""
    known = None if schema is None else Schema.from_yaml(schema)
    with terminal.progress("measuring") as show:
        only = evaluate_files(original, protected, known, *roles, **asked, progress=show)
    _show_one(only, terminal)
    terminal.emit(only.to_dict())


def _through(recipe: Path, original: Table, held: dict[str, Any], seed: int) -> dict[str, Any]:
    """The masked file with its lens, in place of the file."""
    if len(held) > 1 or len(next(iter(held.values()))) > 1:
        raise OptionError("--recipe is about one masked file; give one")
    return {name: made_again(original, files[0], recipe, seed) for name, files in held.items()}


def _named(items: list[str]) -> dict[str, list[Path]]:
    """Files by name; a name given several times has replicates, a file name on its own must be unique."""
    files: dict[str, list[Path]] = {}
    for item in items:
        name, equals, path = item.partition("=")
        if equals and not Path(item).exists():
            files.setdefault(name, []).append(Path(path))
            continue
        label = Path(item).stem
        if label in files:
            raise OptionError(f"two protected files are called {label!r}; write NAME=FILE to tell them apart")
        files[label] = [Path(item)]
    return files


def _show_one(evaluation: Evaluation, terminal: Terminal) -> None:
    grid = grid_of("measure", "value", "better", "yardstick")
    for result in evaluation.results.values():
        better = result.info.best.removesuffix(" is better") if result.info else ""
        grid.add_row(result.title, result.told, better, result.beside or "none")
    terminal.say(grid)
    for result in evaluation.results.values():
        terminal.say(Text(f"\n{result.title}", style="bold"))
        terminal.say(result.sentence)
    _tell_skipped(evaluation.skipped, terminal)
    for note in evaluation.pair.notes:
        if note not in evaluation.doubts:  # said with the limits
            terminal.note(note)


GIVEN_BY = {
    "keys": "--keys what an intruder may know",
    "targets": "--targets what would hurt if learnt",
    "holdout": "--holdout a file of people who were not used",
}
"""How to give what a measure needs."""


def _tell_skipped(skipped: Mapping[str, str], terminal: Terminal) -> None:
    """What was not measured, why, and what to type so that it is."""
    for name, why in skipped.items():
        terminal.note(f"{name}: not measured, {why}")
    lacking = [how for what, how in GIVEN_BY.items() if any(what in why for why in skipped.values())]
    if lacking:
        terminal.note(f"to measure risk, give {', '.join(lacking)}; 'dalenius plan' sets all of it up")


FEW = 6
"""Measures that fit beside each other on a screen; more become rows."""
ABREAST = 3
"""Files beside each other: of more a narrow screen would leave some out without a word, so others follow below."""


def show_many(comparison: Comparison, terminal: Terminal, only: Sequence[str] | None = None) -> None:
    """Print candidates side by side, all measures or only some."""
    some = next(iter(comparison.evaluations.values()))
    results = [r for r in comparison.measured.values() if only is None or r.name in only]
    _tell_skipped({n: why for n, why in some.skipped.items() if only is None or n in only}, terminal)
    for note in some.pair.notes:
        if note not in some.doubts:
            terminal.note(note)
    for name, evaluation in comparison.evaluations.items():
        for doubt in evaluation.doubts:
            terminal.note(f"{name}: {doubt}")
    if len(results) > FEW:
        _show_by_measure(comparison, results, terminal)
        return
    arrows = [f"{r.title} ({r.info.best})" if r.info else r.name for r in results]
    grid = grid_of("candidate", *arrows)
    for name, evaluation in comparison.evaluations.items():
        grid.add_row(name, *(_told(evaluation, r.name) for r in results))
    grid.add_row(dim("yardstick"), *(dim(_shared_yardstick(comparison, r)) for r in results))
    terminal.say(grid)


def show_verdict(comparison: Comparison, terminal: Terminal) -> None:
    """Which files could be considered, and in a sentence each why the others could not."""
    story = comparison_story(comparison)
    for line in ("", story.why, *story.refused):
        terminal.say(line)


def _show_by_measure(comparison: Comparison, results: Sequence[Result], terminal: Terminal) -> None:
    names = list(comparison.evaluations)
    for first in range(0, len(names), ABREAST):
        shown = names[first : first + ABREAST]
        grid = grid_of("measure", "better", *shown, "yardstick")
        for result in results:
            cells = [_told(comparison[name], result.name) for name in shown]
            better = result.info.better if result.info else ""
            yardstick = dim(_shared_yardstick(comparison, result))
            grid.add_row(result.name, better, *cells, yardstick)
        terminal.say(grid)


def _told(evaluation: Evaluation, name: str) -> str:
    """A figure; a dash where the file has none, since nothing of it is there to measure."""
    return evaluation.results[name].told if name in evaluation.results else "–"


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
