"""`dalenius synth` and `dalenius sample`: synthetic rows from a file, or from a saved model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal, listed, shown_table
from dalenius.cli._databases import holds_tables, synth_database
from dalenius.cli._input import beside, kept_form, load
from dalenius.core.errors import FileError, OptionError, counted
from dalenius.core.random import DEFAULT_SEED, sequence
from dalenius.data import write
from dalenius.data.files import check_target
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.synth import METHODS, Candidate, Made, load_model, save_model
from dalenius.synth.base import draw
from dalenius.synth.candidate import DEFAULT_METHOD
from dalenius.synth.conditional import parse_given, released_schema

app = typer.Typer()

Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help=f"{opt.OUTPUT}; default: NAME.synthetic.EXT (.masked of a masker)."),
]
Data = Annotated[
    Path | None, typer.Argument(help="Confidential data: CSV, Parquet, Excel, SPSS, Stata, SAS …")
]
Outputs = Annotated[
    Path | None,
    typer.Option("--from", help="Instead of data: published results the file is to give (YAML)."),
]
Prepare = Annotated[
    bool | None,
    typer.Option(
        "--prepare/--no-prepare",
        help="Keep by construction what follows from other columns (formulas, groups, orders); default: yes.",
    ),
]
CandidateFile = Annotated[
    Path | None,
    typer.Option("--candidate", help="Method, options and columns in a YAML file, as a plan has them."),
]
Rows = Annotated[
    int | None, typer.Option("--rows", "-n", help="Rows to make; default: as many as in the data.")
]
Copies = Annotated[int, typer.Option("--copies", help="How many files to make.", min=1)]


@app.command()
@opt.reads
def synth(
    data: Data = None,
    outputs: Outputs = None,
    method: Annotated[str | None, typer.Option("--method", "-m", help=opt.METHOD_HELP)] = None,
    output: Output = None,
    schema: opt.SchemaFile = None,
    columns: opt.Columns = None,
    prepare: Prepare = None,
    rows: Rows = None,
    copies: Copies = 1,
    epsilon: opt.Epsilon = None,
    ledger: opt.Ledger = None,
    entity: opt.Entity = None,
    panel: opt.Panel = None,
    option: opt.Options = None,
    candidate: CandidateFile = None,
    save: Annotated[
        Path | None, typer.Option("--save-model", help="Also save the fitted model here.")
    ] = None,
    stream: opt.Stream = False,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    *,
    making: opt.Making,
    reading: opt.Reading,
) -> None:
    """Make a synthetic version of a file, or of a folder of linked tables."""
    terminal = Terminal(quiet, as_json)
    if outputs is not None:
        if data is not None:
            raise OptionError("give data or --from, not both: a file from outputs is made without any data")
        _from_outputs(outputs, output, making.seed, terminal)
        return
    if data is None:
        raise OptionError("no data: name a file, or published results (--from targets.yaml)")
    alone = {
        "columns": columns, "prepare": prepare, "rows": rows, "epsilon": epsilon, "ledger": ledger, "entity": entity,
        "candidate": candidate, "save_model": save, "dry_run": making.dry_run, "stream": stream,
    }  # fmt: skip
    if panel is not None:
        _panel(data, panel, method, output, schema, option, copies, alone, terminal, making, reading)
        return
    if holds_tables(data, method):
        alone["like_input"] = making.like_input
        synth_database(data, method, output, schema, option, copies, making.seed, alone, terminal)
        return
    asked = {
        "method": method, "columns": listed(columns), "prepare": prepare, "rows": rows, "entity": entity,
        "epsilon": epsilon, "ledger": None if ledger is None else str(ledger),
    }  # fmt: skip
    chosen = _candidate(_facts(candidate), {k: v for k, v in asked.items() if v is not None}, option)
    path = output or beside(data, _word(chosen.method))
    check_target(path)
    if save is not None and chosen.info.masks:
        raise OptionError(f"--save-model: {chosen.method} changes records and fits no model; leave it out")
    private = not chosen.faults() and chosen.private
    if stream:
        if copies > 1 or save is not None or making.like_input:
            raise OptionError("--stream makes one file; leave out --copies, --save-model and --like-input")
        _streamed(chosen.paid_beside(data), data, path, schema, making, terminal)
        return
    loaded = load(data, schema, terminal, reading, blind=private)
    table = loaded.table
    form = kept_form(path, loaded, terminal, making.like_input)
    chosen.check(table)  # every fault at once, those of the options and those beside the data
    if making.dry_run:
        _forecast(chosen, table, private, terminal)
        return
    chosen = chosen.paid_beside(data)
    with terminal.progress(f"making {METHODS[chosen.method].info.title}") as tell:
        made = chosen.make(table, copies, seed=making.seed, progress=tell, force=making.force)
    _tell(chosen, made, private, terminal)
    if save is not None and made.model is not None:
        save_model(made.model, save)
        terminal.note(f"model saved to {save}; it holds {made.model.contents}")
    _written(chosen.method, made.tables, path, making.seed, terminal, form)


def _panel(
    data: Path, panel: str, method: str | None, output: Path | None, schema: Path | None, option: list[str] | None,
    copies: int, alone: dict[str, Any], terminal: Terminal, making: opt.Making, reading: opt.Reading,
) -> None:  # fmt: skip
    """A panel, made as people and their waves and written as one file."""
    from dalenius.cli._panels import panel_tables  # noqa: PLC0415 (methods of several tables are slow to load)

    path = output or beside(data, "synthetic")
    check_target(path)
    loaded = load(data, schema, terminal, reading)
    form = kept_form(path, loaded, terminal, making.like_input)
    name, tables = panel_tables(loaded, panel, method, option, copies, making.seed, alone, terminal)
    _written(name, tables, path, making.seed, terminal, form)


def _word(method: str) -> str:
    """What a method's file is called: records that were changed are still somebody's."""
    return "masked" if method in METHODS and METHODS[method].info.masks else "synthetic"


def _tell(chosen: Candidate, made: Made, private: bool, terminal: Terminal) -> None:
    """What a person should know of the files, and who pays for them."""
    for line in (*made.notes, *made.ledger.splitlines()):
        terminal.note(line)
    if private:
        pays = chosen.options.get("ledger")
        terminal.note(f"paid from {pays}" if pays else "no ledger: nobody adds up what else is released")


def _from_outputs(source: Path, output: Path | None, seed: int, terminal: Terminal) -> None:
    """A file that gives published results; what it is and carries stands beside it."""
    from dalenius.data.atomic import write_text  # noqa: PLC0415
    from dalenius.synth.outputs import make_from_outputs  # noqa: PLC0415
    from dalenius.synth.outputs.reading import read_targets  # noqa: PLC0415

    path = output or source.with_name(f"{source.stem}.invented.csv")
    check_target(path)
    made = make_from_outputs(*read_targets(source), seed=seed)
    write(made.frame(), path)
    write_text(path.with_suffix(".README.txt"), made.label + "\n")
    terminal.say(made.label)
    terminal.say(shown_table(made.report()))
    terminal.say(f"{counted(made.meta.rows, 'invented row')} written to {path}")
    terminal.emit({"files": [str(path)], "rows": made.meta.rows, "seed": seed, "errors": made.mean_errors()})


def _streamed(
    chosen: Candidate, data: Path, path: Path, schema: Path | None, making: opt.Making, terminal: Terminal
) -> None:
    """A file made from one that is larger than memory."""
    from dalenius.synth.streaming import forecast_file, synthesize_file  # noqa: PLC0415

    chosen.check()
    if chosen.then or chosen.entity:
        raise OptionError(
            "--stream protects rows one by one and takes no further steps; leave out entity and then"
        )
    cost = forecast_file(data, chosen.method, columns=chosen.columns, **chosen.options)
    if making.dry_run:
        terminal.say(f"{chosen.method} from a stream: {cost}; nothing was written")
        terminal.emit({"method": chosen.method, "seconds": cost.seconds, "bytes": cost.bytes})
        return
    if not making.force:
        cost.check(chosen.method)
    known = None if schema is None else Schema.from_yaml(schema)
    with terminal.progress(f"making {METHODS[chosen.method].info.title}") as tell:
        made = synthesize_file(
            data, path, chosen.method, schema=known, columns=chosen.columns, rows=chosen.rows, seed=making.seed,
            progress=tell, **chosen.options,
        )  # fmt: skip
    for line in (*made.notes, *str(getattr(made.model, "ledger", "")).splitlines()):
        terminal.note(line)
    terminal.say(f"{counted(made.rows, 'synthetic row')} written to {path}")
    terminal.emit({"method": chosen.method, "seed": making.seed, "files": [str(path)], "rows": made.rows})


def _forecast(chosen: Candidate, table: Table, private: bool, terminal: Terminal) -> None:
    """What it would cost; under a budget the number of rows is not told."""
    cost = chosen.cost(table)
    size = "" if private else f" on {counted(table.rows, 'row')}"
    terminal.say(f"{chosen.method}{size}: {cost}; nothing was written")
    facts = {"method": chosen.method, "seconds": cost.seconds, "bytes": cost.bytes}
    terminal.emit(facts if private else {**facts, "rows": table.rows})


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


def _written(
    method: str, tables: Sequence[Table], target: Path, seed: int, terminal: Terminal, form: Mapping[str, Any]
) -> None:  # fmt: skip
    """Write each copy to a file of its own, numbered from 1 where there are several."""
    paths = []
    for number, table in enumerate(tables, 1):
        path = target if len(tables) == 1 else target.with_name(f"{target.stem}.{number}{target.suffix}")
        write(table, path, **form)
        terminal.say(f"{counted(table.rows, f'{_word(method)} row')} written to {path}")
        paths.append(str(path))
    terminal.emit({"method": method, "seed": seed, "files": paths, "rows": tables[0].rows})


@app.command()
@opt.reads
def sample(
    model: Annotated[Path, typer.Argument(help="Model file made with 'synth --save-model'.")],
    output: Annotated[Path, typer.Option("--output", "-o", help=f"{opt.OUTPUT}.")],
    rows: Rows = None,
    given: Annotated[
        list[str] | None,
        typer.Option(
            "--given",
            help="Condition that every row meets: sex=f, age=60:75, or a rule ('age > 65'); repeatable.",
        ),
    ] = None,
    like: Annotated[
        Path | None,
        typer.Option(
            "--like", help="File whose rows are completed: its cells stay, gaps and columns are drawn."
        ),
    ] = None,
    copies: Copies = 1,
    seed: opt.SeedOption = DEFAULT_SEED,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    *,
    reading: opt.Reading,
) -> None:
    """Draw synthetic rows from a saved model, without the original data."""
    terminal = Terminal(quiet, as_json)
    opened = load_model(model)
    on: dict[str, Any] = {}
    if given:
        on["given"] = parse_given(given, released_schema(opened))
    if like is not None:
        on["like"] = load(like, None, terminal, reading).table
    with terminal.progress("drawing"):
        if on:
            seeds = [sequence(seed, "draw", copy) for copy in range(copies)]
            samples = [opened.conditioned(rows, **on, seed=one) for one in seeds]
            terminal.note("; ".join(map(str, samples)))
            tables = [one.table for one in samples]
        else:
            tables = [draw(opened, rows, seed, copy) for copy in range(copies)]
    _written(opened.method, tables, output, seed, terminal, {})
