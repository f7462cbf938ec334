"""`dalenius demo`: the main job on example data, from a survey to a report."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal
from dalenius.cli.evaluate import show_many, show_verdict
from dalenius.core.errors import DaleniusError
from dalenius.core.random import DEFAULT_SEED
from dalenius.core.registry import MethodInfo
from dalenius.data import examples, write
from dalenius.data.table import Table
from dalenius.evaluation import HEADLINES, compare
from dalenius.report import write_report
from dalenius.synth import METHODS, Candidate

app = typer.Typer()

KEYS = ["sex", "age", "region", "marital", "education"]
TARGETS = ["diagnosis", "income", "life_satisfaction"]
COLUMNS = [
    "region", "sex", "age", "marital", "education", "employment", "income", "hours", "health", "smoker", "cigarettes",
    "bmi", "diagnosis", "life_satisfaction", "visits",
]  # fmt: skip


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help=f"{opt.OUTPUT}.")] = Path("dalenius-demo"),
    rows: Annotated[
        int, typer.Option("--rows", "-n", help="Rows to make; of the example survey.", min=100)
    ] = 2000,
    method: Annotated[list[str] | None, typer.Option("--method", "-m", help=opt.METHOD_HELP)] = None,
    seed: opt.SeedOption = DEFAULT_SEED,
    quiet: opt.Quiet = False,
) -> None:
    """Make an example survey, synthesize it with every method, measure, and write a report."""
    terminal = Terminal(quiet)
    terminal.say("A survey of people who do not exist, and what each method makes of it.\n")
    original, holdout = demo_survey(rows, seed)
    output.mkdir(parents=True, exist_ok=True)
    write(original, output / "survey.csv")
    original.schema.to_yaml(output / "schema.yaml")
    made: dict[str, Table] = {}
    for name in method or [name for name in METHODS if _shown(METHODS[name].info)]:
        table = _synthetic(name, original, seed, terminal)
        if table is not None:
            made[name] = table
            write(table, output / f"synthetic-{name}.csv")
    with terminal.progress("measuring") as show:
        comparison = compare(original, made, holdout=holdout, progress=show)
    show_many(comparison, terminal, HEADLINES)
    show_verdict(comparison, terminal)
    terminal.say("\nThese are a few of the figures; the report has them all, with what they mean.")
    digest = hashlib.sha256((output / "survey.csv").read_bytes()).hexdigest()
    path = output / "report.html"
    write_report(
        comparison, path, title="Example survey: which synthetic version could be released?",
        inputs={"survey.csv": digest}, seeds={"survey": seed, "synthesis": seed},
        made={name: Candidate(name, METHODS[name].info.example_options).told for name in made},
    )  # fmt: skip
    terminal.say(f"\nThe report is in {path.resolve()}; open it in a browser, it needs no network.")


def _shown(info: MethodInfo) -> bool:
    """Whether a method is shown unasked: it makes rows, and needs neither minutes nor further packages."""
    return not info.masks and not info.packages


def demo_survey(rows: int, seed: int) -> tuple[Table, Table]:
    """Example survey with its schema, and as many people again as a holdout."""
    frame = examples.survey(2 * rows, seed=seed).select(COLUMNS)
    schema = examples.survey_schema().select(COLUMNS).with_roles(keys=KEYS, targets=TARGETS)
    table = Table.from_frame(frame, schema)
    order = np.random.Generator(np.random.PCG64(seed)).permutation(table.rows)
    return table.take(np.sort(order[:rows])), table.take(np.sort(order[rows:]))


def _synthetic(name: str, original: Table, seed: int, terminal: Terminal) -> Table | None:
    started = time.perf_counter()
    candidate = Candidate(name, METHODS[name].info.example_options)
    try:
        with terminal.progress(name):
            table = candidate.make(original, seed=seed).table
    except DaleniusError as error:
        terminal.note(f"{name}: left out, {error}")
        return None
    terminal.say(f"  {name:<14} {table.rows:,} rows in {time.perf_counter() - started:.1f} s")
    return table
