"""`dalenius synth` and `dalenius sample`: synthetic rows from a file, or from a saved model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal, assigned, listed
from dalenius.cli._input import Loaded, load
from dalenius.core.cost import Cost
from dalenius.core.errors import FileError, OptionError, counted
from dalenius.data import write
from dalenius.data.derived import Derivation
from dalenius.data.exit import releasable
from dalenius.data.table import Table
from dalenius.synth import SYNTHESIZERS, load_model, make_synthesizer, save_model
from dalenius.synth.base import Model, Synthesizer, choose_columns, is_private
from dalenius.synth.sequential import Sequential, from_mapping

app = typer.Typer()

Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="File to write; default: NAME.synthetic.EXT.")
]
Rows = Annotated[
    int | None, typer.Option("--rows", "-n", help="Rows to draw; default: as many as in the data.")
]

Entity = Annotated[
    str | None, typer.Option("--entity", help="Column that says whose rows they are: who is protected.")
]
Target = Annotated[
    str | None, typer.Option("--target", help="Column to be predicted, for methods that take one.")
]


@app.command()
def synth(
    data: opt.Original,
    method: opt.Method = "cart",
    output: Output = None,
    schema: opt.SchemaFile = None,
    columns: Annotated[list[str] | None, typer.Option("--columns", help="Only these columns.")] = None,
    derive: Annotated[
        bool,
        typer.Option("--derive", help="Compute what the schema's rules define (total == a + b) afterwards."),
    ] = False,
    rows: Rows = None,
    copies: Annotated[int, typer.Option("--copies", help="How many synthetic files to make.", min=1)] = 1,
    epsilon: opt.Epsilon = None,
    entity: Entity = None,
    target: Target = None,
    option: opt.MethodOption = None,
    plan: Annotated[Path | None, typer.Option("--plan", help="Options of the method in a YAML file.")] = None,
    save: Annotated[
        Path | None, typer.Option("--save-model", help="Also save the fitted model here.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what it would cost.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Run even when memory may not suffice.")] = False,
    seed: opt.SeedOption = 0,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Make a synthetic version of a file."""
    terminal = Terminal(quiet, as_json)
    named = {"epsilon": epsilon, "target": target}
    options = _plan(plan) | assigned(option) | {k: v for k, v in named.items() if v is not None}
    # A wrong name is told before a long file is read.
    loaded = load(data, schema, terminal, blind=is_private(method, options))
    loaded, finish = _prepared(loaded, entity, listed(columns), derive)
    synthesizer = _synthesizer(method, options, loaded.table)
    cost = synthesizer.cost(releasable(loaded.table).shape)
    if dry_run:
        _forecast(method, loaded, cost, terminal)
        return
    if not force:
        cost.check(method)
    model = _fitted(synthesizer, loaded, _sequence(seed, 0), terminal)

    def model_of(copy: int) -> Model:
        # Proper synthesis draws the models' parameters too, so each copy needs a fit of its own.
        again = copy > 0 and getattr(synthesizer, "proper", False)
        return _fitted(synthesizer, loaded, _sequence(seed, 0, copy), terminal) if again else model

    if save is not None:
        _save(model, save, derive, terminal)
    path = output or data.with_name(f"{data.stem}.synthetic{data.suffix}")
    written = _drawn(model_of, path, rows, copies, seed, terminal, finish)
    terminal.emit(
        {
            "method": method,
            "seed": seed,
            "files": [str(file) for file in written],
            "rows": model.rows if rows is None else rows,
        }
    )


def _sequence(seed: int, *path: int) -> np.random.SeedSequence:
    """Seed of one step; NumPy takes no negative ones, so their sign is a word of its own."""
    return np.random.SeedSequence([seed, *path] if seed >= 0 else [-seed, 2**32 - 1, *path])


def _save(model: Model, path: Path, derived: bool, terminal: Terminal) -> None:
    if derived:
        raise OptionError("a saved model cannot hold derived columns; leave out --derive or --save-model")
    save_model(model, path)
    terminal.note(f"model saved to {path}; it holds {model.contents}")


def _synthesizer(method: str, options: dict[str, Any], table: Table) -> Synthesizer:
    """The method with its options; every fault of a sequential plan for this table is told at once."""
    if issubclass(SYNTHESIZERS[method], Sequential):
        return from_mapping(options, method, releasable(table))
    return make_synthesizer(method, **options)


def _forecast(method: str, loaded: Loaded, cost: Cost, terminal: Terminal) -> None:
    rows = loaded.table.rows
    terminal.say(f"{method} on {counted(rows, 'row')}: {cost}; nothing was written")
    terminal.emit({"method": method, "rows": rows, "seconds": cost.seconds, "bytes": cost.bytes})


def _prepared(
    loaded: Loaded, entity: str | None, columns: list[str] | None, derive: bool
) -> tuple[Loaded, Callable[[Table], Table] | None]:
    """The columns to model, with whose rows they are, and what makes the others afterwards."""
    table = loaded.table
    if entity is not None:
        table = table.with_schema(table.schema.with_roles(entity=entity))
    table = table if columns is None else choose_columns(table, columns)
    if not derive:
        return replace(loaded, table=table), None
    derivation = Derivation.of(table)
    return replace(loaded, table=derivation.drop(table)), derivation.restore


def _plan(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    from ruamel.yaml import YAML  # noqa: PLC0415
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415

    try:
        content = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"{path}: cannot read the plan ({error.strerror})") from None
    except (YAMLError, UnicodeDecodeError):
        raise FileError(f"{path}: not valid YAML") from None
    if not isinstance(content, dict):
        raise OptionError(f"{path}: a plan is a list of 'option: value' lines")
    return {str(name): value for name, value in content.items()}


def _fitted(
    synthesizer: Synthesizer, loaded: Loaded, seed: np.random.SeedSequence, terminal: Terminal
) -> Model:
    left_out = [name for name in loaded.table.names if name not in releasable(loaded.table).names]
    if left_out:
        terminal.note(f"left out, never synthesized: {', '.join(left_out)}")
    with terminal.progress(f"fitting {synthesizer.info.title}") as tell:
        if isinstance(synthesizer, Sequential):
            synthesizer = replace(
                synthesizer, progress=lambda name, done, of: tell(f"{name}, {done} of {of} columns done")
            )
        model = synthesizer.fit(loaded.table, seed=seed)
    for line in (*getattr(model, "notes", ()), *getattr(model, "ledger", "").splitlines()):
        terminal.note(line)
    return model


def _drawn(
    model_of: Callable[[int], Model],
    target: Path,
    rows: int | None,
    copies: int,
    seed: int,
    terminal: Terminal,
    finish: Callable[[Table], Table] | None = None,
) -> list[Path]:
    written = []
    for copy in range(copies):
        path = target if copies == 1 else target.with_name(f"{target.stem}.{copy + 1}{target.suffix}")
        with terminal.progress(f"drawing {path.name}"):
            made: Table = model_of(copy).sample(rows, seed=_sequence(seed, 1, copy))
        if finish is not None:
            made = finish(made)
        write(made, path)
        terminal.say(f"{counted(made.rows, 'synthetic row')} written to {path}")
        written.append(path)
    return written


@app.command()
def sample(
    model: Annotated[Path, typer.Argument(help="Model file made with 'synth --save-model'.")],
    output: Annotated[Path, typer.Option("--output", "-o", help="File to write.")],
    rows: Rows = None,
    copies: Annotated[int, typer.Option("--copies", help="How many synthetic files to make.", min=1)] = 1,
    seed: opt.SeedOption = 0,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Draw synthetic rows from a saved model, without the original data."""
    terminal = Terminal(quiet, as_json)
    opened = load_model(model)
    written = _drawn(lambda copy: opened, output, rows, copies, seed, terminal)
    terminal.emit(
        {
            "method": opened.method,
            "seed": seed,
            "files": [str(p) for p in written],
            "rows": opened.rows if rows is None else rows,
        }
    )
