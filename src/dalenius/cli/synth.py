"""`dalenius synth` and `dalenius sample`: synthetic rows from a file, or from a saved model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal, listed
from dalenius.cli._input import load
from dalenius.core.errors import FileError, OptionError, counted
from dalenius.core.random import DEFAULT_SEED
from dalenius.data import write
from dalenius.data.table import Table
from dalenius.synth import METHODS, Candidate, load_model, save_model
from dalenius.synth.base import draw
from dalenius.synth.candidate import DEFAULT_METHOD

app = typer.Typer()

Output = Annotated[
    Path | None, typer.Option("--output", "-o", help=f"{opt.OUTPUT}; default: NAME.synthetic.EXT.")
]
Rows = Annotated[
    int | None, typer.Option("--rows", "-n", help="Rows to make; default: as many as in the data.")
]
Copies = Annotated[int, typer.Option("--copies", help="How many files to make.", min=1)]


@app.command()
def synth(
    data: opt.Original,
    method: Annotated[str | None, typer.Option("--method", "-m", help=opt.METHOD_HELP)] = None,
    output: Output = None,
    schema: opt.SchemaFile = None,
    columns: opt.Columns = None,
    derive: Annotated[
        bool,
        typer.Option("--derive", help="Compute what the schema's rules define (total == a + b) afterwards."),
    ] = False,
    rows: Rows = None,
    copies: Copies = 1,
    epsilon: opt.Epsilon = None,
    entity: opt.Entity = None,
    option: opt.Options = None,
    candidate: Annotated[
        Path | None,
        typer.Option("--candidate", help="Method, options and columns in a YAML file, as a plan has them."),
    ] = None,
    save: Annotated[
        Path | None, typer.Option("--save-model", help="Also save the fitted model here.")
    ] = None,
    dry_run: opt.DryRun = False,
    force: opt.Force = False,
    seed: opt.SeedOption = DEFAULT_SEED,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Make a synthetic version of a file."""
    terminal = Terminal(quiet, as_json)
    asked = {
        "method": method, "columns": listed(columns), "derive": derive or None, "rows": rows, "entity": entity,
        "epsilon": epsilon,
    }  # fmt: skip
    chosen = _candidate(_facts(candidate), {k: v for k, v in asked.items() if v is not None}, option)
    if save is not None and chosen.derive:
        raise OptionError("a saved model cannot hold derived columns; leave out --derive or --save-model")
    table = load(data, schema, terminal, blind=not chosen.faults() and chosen.private).table
    chosen.check(table)  # every fault at once, those of the options and those beside the data
    if dry_run:
        cost = chosen.cost(table)
        terminal.say(f"{chosen.method} on {counted(table.rows, 'row')}: {cost}; nothing was written")
        terminal.emit(
            {"method": chosen.method, "rows": table.rows, "seconds": cost.seconds, "bytes": cost.bytes}
        )
        return
    with terminal.progress(f"making {METHODS[chosen.method].info.title}") as tell:
        made = chosen.make(table, copies, seed=seed, progress=tell, force=force)
    for line in (*made.notes, *made.ledger.splitlines()):
        terminal.note(line)
    if save is not None and made.model is not None:
        save_model(made.model, save)
        terminal.note(f"model saved to {save}; it holds {made.model.contents}")
    path = output or data.with_name(f"{data.stem}.synthetic{data.suffix}")
    _written(chosen.method, made.tables, path, seed, terminal)


def _candidate(facts: dict[str, Any], asked: dict[str, Any], texts: list[str] | None) -> Candidate:
    """What the file says, and over it what the command line says."""
    method = str(asked.get("method") or facts.get("method") or DEFAULT_METHOD)
    typed = Candidate.parse(method, texts).options
    read = Candidate.from_mapping({**facts, **typed, **asked, "method": method})
    if len(read) > 1:
        raise OptionError("synth takes one value of each option; 'each' is for benchmarks and plans")
    return read[0]


def _facts(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    from ruamel.yaml import YAML  # noqa: PLC0415
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415

    try:
        content = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"{path}: cannot read the candidate ({error.strerror})") from None
    except (YAMLError, UnicodeDecodeError):
        raise FileError(f"{path}: not valid YAML") from None
    if not isinstance(content, dict):
        raise OptionError(f"{path}: a candidate is a list of 'option: value' lines")
    return {str(name): value for name, value in content.items()}


def _written(method: str, tables: Sequence[Table], target: Path, seed: int, terminal: Terminal) -> None:
    """Write each copy to a file of its own, numbered from 1 where there are several."""
    paths = []
    for number, table in enumerate(tables, 1):
        path = target if len(tables) == 1 else target.with_name(f"{target.stem}.{number}{target.suffix}")
        write(table, path)
        terminal.say(f"{counted(table.rows, 'synthetic row')} written to {path}")
        paths.append(str(path))
    terminal.emit({"method": method, "seed": seed, "files": paths, "rows": tables[0].rows})


@app.command()
def sample(
    model: Annotated[Path, typer.Argument(help="Model file made with 'synth --save-model'.")],
    output: Annotated[Path, typer.Option("--output", "-o", help=f"{opt.OUTPUT}.")],
    rows: Rows = None,
    copies: Copies = 1,
    seed: opt.SeedOption = DEFAULT_SEED,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Draw synthetic rows from a saved model, without the original data."""
    terminal = Terminal(quiet, as_json)
    opened = load_model(model)
    with terminal.progress("drawing"):
        tables = [draw(opened, rows, seed, copy) for copy in range(copies)]
    _written(opened.method, tables, output, seed, terminal)
