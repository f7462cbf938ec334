"""`dalenius tables`: protect, audit, round, perturb and compare tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from dalenius.cli import _options as opt
from dalenius.cli import _table_options as table
from dalenius.cli import _table_output as output
from dalenius.cli import _table_ways as ways
from dalenius.cli._console import Terminal, listed
from dalenius.cli._input import load
from dalenius.core.errors import OptionError, TableError
from dalenius.core.option import one_of
from dalenius.tables import (
    Audit,
    Disclosed,
    LinkedSuppression,
    Suppression,
    TableModel,
    protect,
    protect_linked,
    protect_optimal,
    protect_years,
    read_jj,
    read_suppressed,
    read_table_file,
)
from dalenius.tables import audit as audit_table
from dalenius.tables.hierarchy import TOTAL
from dalenius.tables.page import table_page
from dalenius.tables.protection import PrimaryRule

app = typer.Typer(
    name="tables", help="Protect tables: suppression, audit, rounding, cell keys.", no_args_is_help=True
)
app.command("perturb")(ways.perturb_command)
app.command("compare")(ways.compare_command)
app.command("statistic")(ways.statistic_command)


@app.command("protect")
@opt.reads
def protect_command(
    microdata: table.Microdata,
    by: table.By = None,
    formula: table.Formula = None,
    tables: table.Tables = None,
    hier: table.Hier = None,
    rule: table.Rules = None,
    freq: table.Freq = None,
    value: table.Value = None,
    schema: opt.SchemaFile = None,
    contributor: table.Contributor = None,
    weight: table.Weight = None,
    holding: table.Holding = None,
    request: table.Asked = None,
    missing: table.Missing = None,
    extend0: table.Zeros = None,
    structural: table.Structural = None,
    manual: table.ManualCells = None,
    forced: table.Forced = None,
    hidden: table.Hidden = None,
    usefulness: table.Usefulness = None,
    apriori: table.AprioriFile = None,
    small: table.Small = "auto",
    singleton: table.Singleton = None,
    secondary_zeros: table.SecondaryZeros = False,
    singleton_zeros: table.SingletonZeros = False,
    way: table.Way = "suppression",
    time_limit: table.Seconds = 60.0,
    link: table.Link = "global",
    repair: table.Repair = True,
    unions: table.Unions = True,
    range_min: table.RangeMin = 0.0,
    range_percent: table.RangePercent = 0.0,
    check: table.Check = True,
    insiders: table.Insiders = False,
    prior: table.Prior = None,
    coalition: table.Coalition = None,
    force: opt.Force = False,
    mark: table.Mark = "×",
    out: table.Out = None,
    html: table.Page = None,
    rows: table.Rows = None,
    columns: table.Columns = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    *,
    reading: opt.Reading,
) -> None:
    """Suppress cells that break a rule and the cells without which those could be computed.

    The outcome is audited over all tables together and repaired. Exit code 1, and nothing is written, when protected
    cells are still at risk.
    """
    given, terminal = locals(), Terminal(quiet, as_json)
    model = table.Source.of(given).model(terminal)
    rules, options = table.protection_of(given, model)
    linked, result = (
        _suppressed(model, rules, link, options, terminal)
        if way == table.WAYS[0]
        else (None, _programmed(model, rules, given))
    )
    if check and (result.checked is None or insiders or coalition or prior is not None):
        result = replace(result, checked=_checked(result, given, terminal))
    elif not check:
        result = replace(result, checked=None)
    output.show(result, linked, (rows, columns, mark), terminal)
    title = output.title_of(model, value, microdata)
    output.hand_out(result, linked, out, html, force, terminal, (rows, columns), title)
    terminal.emit(output.figures(result, result.checked))
    output.end_unsafe(result.checked is None or result.checked.passed, force)


def _suppressed(
    model: TableModel, rules: list[PrimaryRule], link: str, options: dict[str, Any], terminal: Terminal
) -> tuple[LinkedSuppression | None, Suppression]:
    if link != "global" and not model.tables:
        raise OptionError(f"--link {link} is for linked tables; name several with --table")
    with terminal.progress("suppressing") as bar:
        options["progress"] = output.steps(bar, "cells")
        if not model.tables:
            return None, protect(model, *rules, **options)
        linked = protect_linked(model, *rules, how=link, **options)  # type: ignore[arg-type]
        return linked, linked.combined


def _programmed(model: TableModel, rules: list[PrimaryRule], given: dict[str, Any]) -> Suppression:
    """The cells that integer programs choose."""
    one_of("--way", given["way"], table.WAYS)
    table.refuse_beside_programs(given)
    return protect_optimal(
        model,
        *rules,
        how=given["way"],
        requirement=table.requirement_of(given),
        time_limit=given["time_limit"],
    )


def _checked(result: Suppression, given: dict[str, Any], terminal: Terminal) -> Audit:
    with terminal.progress("auditing") as bar:
        return audit_table(
            result, requirement=table.requirement_of(given), prior=given["prior"], unions=given["unions"],
            contributors="intervals" if given["insiders"] else True,
            coalitions=[text.split(",") for text in given["coalition"] or []],
            progress=output.steps(bar, "intervals"),
        )  # fmt: skip


@app.command("audit")
@opt.reads
def audit_command(
    published: Annotated[Path, typer.Argument(help="A published table, one row a cell, totals included.")],
    by: table.By = None,
    value: Annotated[
        str | None,
        typer.Option(
            "--value", help="Column of values; empty or marked where suppressed; default: value or freq."
        ),
    ] = None,
    hier: table.Hier = None,
    total: table.Totals = None,
    primary: Annotated[str | None, typer.Option("--primary", help="Column that marks primary cells.")] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Exact bounds of all suppressed cells.")] = False,
    integer: Annotated[bool, typer.Option("--integer", help="Whole-number bounds (counts).")] = False,
    range_min: table.RangeMin = 0.0,
    range_percent: table.RangePercent = 0.0,
    out: Annotated[
        Path | None, typer.Option("--output", "-o", help=f"{opt.OUTPUT}; the bounds: confidential.")
    ] = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    *,
    reading: opt.Reading,
) -> None:
    """Audit a table that somebody else suppressed. Exit code 1 when cells are at risk."""
    terminal, asked = Terminal(quiet, as_json), table.requirement_of(locals())
    disclosed = _published(published, listed(by), value, (hier, total), primary, terminal, reading)
    with terminal.progress("auditing") as bar:
        audited = audit_table(
            disclosed, intervals="exact" if exact else "check", cells="suppressed" if exact else "primary",
            requirement=asked, integer=integer, progress=output.steps(bar, "intervals"),
        )  # fmt: skip
    terminal.say(str(audited))
    if not audited.passed:
        terminal.say(str(audited.at_risk))
    if out is not None:
        output.write_figures(audited.cells, out, terminal)
    terminal.emit({"passed": audited.passed, "sentence": str(audited), "at_risk": audited.at_risk.to_dicts()})
    output.end_unsafe(audited.passed, force=False)


WRITTEN = ("value", "freq")
"""What `protect` calls the column of sums, and of counts, in the files it writes."""


def _published(
    path: Path,
    by: list[str] | None,
    value: str | None,
    sums: tuple[list[str] | None, list[str] | None],
    primary: str | None,
    terminal: Terminal,
    reading: opt.Reading,
) -> Disclosed:
    """A published table: columns of any data file, or a table file that knows its own dimensions."""
    hier, total = sums
    if by:
        loaded = load(path, None, terminal, reading)
        named = value or next((name for name in WRITTEN if name in loaded.table), WRITTEN[0])
        return read_suppressed(
            loaded.table, by, named, hierarchies=table.trees(hier, by), primary=primary, total=table.totals(total, by)
        )  # fmt: skip
    if path.suffix.lower() == ".jj":
        return read_jj(path).disclosed()
    read = read_table_file(path)
    trees = table.trees(hier, read.cells.columns)
    known = replace(read, hierarchies={**read.hierarchies, **trees})
    return known.disclosed(table.totals(total, read.cells.columns))


@app.command("years")
@opt.reads
def years_command(
    last: Annotated[Path, typer.Argument(help="Microdata of last year, whose table is out.")],
    now: Annotated[Path, typer.Argument(help="Microdata of this year.")],
    by: table.By = None,
    hier: table.Hier = None,
    freq: table.Freq = None,
    value: table.Value = None,
    schema: opt.SchemaFile = None,
    contributor: table.Contributor = None,
    missing: table.Missing = None,
    rule: table.Rules = None,
    unchanged: Annotated[
        float,
        typer.Option(
            "--unchanged", help="Inner cells that differ by at most this percentage count as known."
        ),
    ] = 0.0,
    force: opt.Force = False,
    out: table.Out = None,
    html: table.Page = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    *,
    reading: opt.Reading,
) -> None:
    """Protect this year's table beside last year's. Exit code 1 when cells follow from both together."""
    given, terminal = locals(), Terminal(quiet, as_json)
    before, after = (_of_year(table.Source.of(given, data), terminal) for data in (last, now))
    rules = table.rules_of(rule, None)
    both = protect_years(protect(before, *rules), after, *rules, unchanged_percent=unchanged)
    terminal.block(output.shortened(both.now.cross_table()))
    terminal.say(str(both))
    terminal.say(f"Audit: {both.checked}")
    marked = replace(both.now, checked=both.checked if not both.checked.passed else both.now.checked)
    safe = both.checked.passed and marked.is_safe
    if out is not None and (safe or force):
        output.write_result(marked, out, force, terminal)
    if html is not None and (safe or force):
        title = output.title_of(after, value, now)
        output.write_page(table_page(marked, marked.checked, title), html, terminal)
    terminal.emit({"safe": safe, "suppressed": int(both.now.suppressed.sum()), "alone": both.alone})
    output.end_unsafe(safe, force)


def _of_year(source: table.Source, terminal: Terminal) -> TableModel:
    """The table of one year; a published table in its place is told from microdata that are wrong."""
    try:
        return source.model(terminal)
    except TableError:
        data = load(source.microdata, None, Terminal(quiet=True), source.reading).table
        totals = [
            name for name in listed(source.by) or [] if name in data and TOTAL in data[name].categories.labels
        ]
        if not totals:
            raise
        raise OptionError(
            f"{source.microdata.name}: column {totals[0]!r} has rows of totals, as a published table has; years needs "
            "the microdata of both years. If only last year's table is at hand: tables protect with the cells it "
            "published as --forced and those it suppressed as --manual"
        ) from None
