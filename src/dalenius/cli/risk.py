"""`dalenius risk`: the risk page about a protected file, or about one file by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal, grid_of, listed, shown_table
from dalenius.cli._input import load, load_like
from dalenius.core.errors import OptionError
from dalenius.core.option import parse
from dalenius.counts.measure import measure_functions
from dalenius.counts.pair import Pair
from dalenius.data.atomic import replacing, write_text
from dalenius.data.grouping import Grouping
from dalenius.risk.page import RiskPage, risk_page
from dalenius.risk.sample.page import sample_page

app = typer.Typer()

Synthetic = Annotated[
    Path | None, typer.Argument(help="Protected file; without it the first file is judged by itself.")
]
Attacks = Annotated[bool, typer.Option("--attacks", help="Run the attacks too (slower).")]
Further = Annotated[
    bool,
    typer.Option(
        "--further", help="Add second looks: apparent matches, what is news, sets of keys, tables, isolation."
    ),
]
Groups = Annotated[
    int | None,
    typer.Option(
        "--groups", help="Group numbers among keys and targets into so many quantile groups.", min=2
    ),
]
Weight = Annotated[str | None, typer.Option("--weight", help="Column of sampling weights.")]
Household = Annotated[str | None, typer.Option("--household", help="One file: column of households.")]
Population = Annotated[
    int | None, typer.Option("--population", help="One file: people it was drawn from.", min=1)
]
Output = Annotated[Path | None, typer.Option("--output", "-o", help=f"{opt.OUTPUT}; the page as Markdown.")]
Reveal = Annotated[
    bool, typer.Option("--reveal", help="Name the values of the most exposed records: confidential.")
]
Records = Annotated[
    Path | None,
    typer.Option(
        "--records", help="Write one row per record, a CSV per figure, to this folder: confidential."
    ),
]


@app.command()
@opt.reads
def risk(
    original: opt.Original,
    synthetic: Synthetic = None,
    schema: opt.SchemaFile = None,
    keys: opt.Keys = None,
    targets: opt.Targets = None,
    holdout: opt.Holdout = None,
    measures: opt.Measures = None,
    option: opt.Options = None,
    attacks: Attacks = False,
    further: Further = False,
    groups: Groups = None,
    weight: Weight = None,
    household: Household = None,
    population: Population = None,
    output: Output = None,
    reveal: Reveal = False,
    records: Records = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    *,
    reading: opt.Reading,
) -> None:
    """Measure what an intruder could learn from a protected file, or from a file that is released as it is."""
    terminal = Terminal(quiet, as_json)
    if synthetic is None:
        _refuse(
            "needs a protected file", holdout=holdout, measures=measures, option=option, attacks=attacks,
            further=further, groups=groups, reveal=reveal,
        )  # fmt: skip
        table = load(original, schema, terminal, reading).table
        roles = {role: name for role, name in (("weight", weight), ("household", household)) if name}
        table = table.with_schema(table.schema.with_roles(**roles))
        with terminal.progress("measuring") as show:
            page = sample_page(
                table, listed(keys), listed(targets), population=population, records=records is not None, progress=show,
            )  # fmt: skip
    else:
        _refuse("is about one file by itself", weight=weight, household=household, population=population)
        first = load(original, schema, terminal, reading).table
        second = load_like(synthetic, first, terminal, reading).table
        third = load_like(holdout, first, terminal, reading).table if holdout is not None else None
        grouping = Grouping.fit(first, groups=groups) if groups else None
        pair = Pair(first, second, third, keys=listed(keys), targets=listed(targets), grouping=grouping)
        options = parse(option, measure_functions())
        with terminal.progress("measuring") as show:
            page = risk_page(
                pair, listed(measures), attacks=attacks, further=further, grouped=groups is not None, reveal=reveal,
                records=records is not None, options=options, progress=show,
            )  # fmt: skip
        for note in pair.notes:
            terminal.note(note)
    _show(page, terminal)
    terminal.emit(page.to_dict())
    if output is not None:
        write_text(output, page.to_markdown())
        terminal.note(f"risk page written to {output}")
    if records is not None:
        _write_records(page, records, terminal)


def _write_records(page: RiskPage, folder: Path, terminal: Terminal) -> None:
    """One file for each figure that has rows."""
    folder.mkdir(parents=True, exist_ok=True)
    written = {name: result.records for name, result in page.results.items() if result.records is not None}
    taken: set[str] = set()
    for number, (name, rows) in enumerate(written.items(), 1):
        safe = "".join(c if c.isalnum() or c in "-_" else "-" for c in name)
        safe = f"{safe}-{number}" if safe.lower() in taken else safe  # names may differ in a sign only
        taken.add(safe.lower())
        with replacing(folder / f"{safe}.csv") as temporary:
            rows.write_csv(temporary)
    terminal.note(f"{len(written)} files with one row per record written to {folder}: confidential")


def _refuse(why: str, **options: object) -> None:
    """Raise when an option of the other use was given."""
    given = [name for name, value in options.items() if value]
    if given:
        raise OptionError(
            f"--{given[0]} {why}: 'dalenius risk ORIGINAL PROTECTED' compares files, 'dalenius risk FILE' looks at one"
        )


def _show(page: RiskPage, terminal: Terminal) -> None:
    terminal.say(page.intruder + "\n")
    grid = grid_of("figure", "value", "beside it")
    for name, result in page.results.items():
        grid.add_row(result.info.title if result.info else name, result.told, result.beside)
    terminal.say(grid)
    for result in page.results.values():
        terminal.say(f"\n{result.sentence}")
    for line in page.cannot_be_read:
        terminal.note(f"without a holdout: {line}")
    for line in page.not_measured:
        terminal.note(f"not measured: {line}")
    for name, table in page.shown_tables.items():
        terminal.say(f"\n{name}")
        terminal.say(shown_table(table))
    if page.exposed is not None and page.exposed.table is not None and page.exposed.table.height:
        terminal.say(f"\n{page.exposed.sentence}")
        terminal.say(shown_table(page.exposed.table))
