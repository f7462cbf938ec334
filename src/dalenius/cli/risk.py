"""`dalenius risk`: the risk page about one protected file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table as Grid

from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal, listed
from dalenius.cli._input import load
from dalenius.core.result import figure
from dalenius.counts.pair import Pair
from dalenius.data.atomic import replacing
from dalenius.risk.page import RiskPage, risk_page


def risk(
    original: opt.Original,
    synthetic: Annotated[Path, typer.Argument(help="Protected file.")],
    schema: opt.SchemaFile = None,
    keys: opt.Keys = None,
    targets: opt.Targets = None,
    holdout: opt.Holdout = None,
    measures: opt.Measures = None,
    attacks: Annotated[bool, typer.Option("--attacks", help="Run the attacks too (slower).")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the page as Markdown.")] = None,
    reveal: Annotated[
        bool, typer.Option("--reveal", help="Name the values of the most exposed records: confidential.")
    ] = False,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Measure what an intruder could learn from a protected file."""
    terminal = Terminal(quiet, as_json)
    first, second = load(original, schema, terminal), load(synthetic, None, terminal)
    third = load(holdout, None, terminal) if holdout is not None else None
    pair = Pair(
        first.table, second.table, third.table if third else None, keys=listed(keys), targets=listed(targets)
    )
    with terminal.progress("measuring") as show:
        page = risk_page(pair, listed(measures), attacks=attacks, reveal=reveal, progress=show)
    _show(page, terminal)
    for note in pair.notes:
        terminal.note(note)
    terminal.emit(page.to_dict())
    if output is not None:
        with replacing(output) as temporary:
            temporary.write_text(page.to_markdown(), encoding="utf-8")
        terminal.note(f"risk page written to {output}")


def _show(page: RiskPage, terminal: Terminal) -> None:
    terminal.say(page.intruder + "\n")
    grid = Grid("figure", "value", "beside it", box=None, header_style="bold")
    for result in page.results.values():
        trust = "" if result.trusted else " (not trusted)"
        spread = f" {result.interval}" if result.interval is not None else ""
        beside = ", ".join(
            f"{name} {figure(value, result.unit)}" for name, value in result.yardsticks.items()
        )
        title = result.info.title if result.info else result.name
        grid.add_row(title, figure(result.value, result.unit) + spread + trust, beside)
    terminal.say(grid)
    for result in page.results.values():
        terminal.say(f"\n{result.sentence}")
    for line in page.cannot_be_read:
        terminal.note(f"without a holdout: {line}")
    if page.exposed is not None and page.exposed.table is not None and page.exposed.table.height:
        terminal.say(f"\n{page.exposed.sentence}")
        exposed = Grid(*page.exposed.table.columns, box=None, header_style="bold")
        for row in page.exposed.table.rows():
            exposed.add_row(*(figure(x) if isinstance(x, float) else str(x) for x in row))
        terminal.say(exposed)
