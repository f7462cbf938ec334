"""`dalenius tables`: protect, audit, round and perturb tables."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal, listed
from dalenius.cli._input import load
from dalenius.core.errors import OptionError
from dalenius.data.atomic import replacing
from dalenius.tables import (
    Hierarchy,
    PTable,
    Requirement,
    SingletonRules,
    Suppression,
    TableModel,
    controlled_round,
    define,
    information_loss,
    parse_rule,
    protect,
    read_hierarchy,
    read_suppressed,
    round_table,
)
from dalenius.tables import audit as audit_table
from dalenius.tables.keys import cell_names, fresh_key, keyed_uniforms

app = typer.Typer(
    name="tables", help="Protect tables: suppression, audit, rounding, cell keys.", no_args_is_help=True
)

By = Annotated[list[str] | None, typer.Option("--by", "-b", help="Columns to cross, separated by commas.")]
Formula = Annotated[
    str | None, typer.Option("--formula", "-f", help="Margins instead, such as '~ age * geo + eu:year'.")
]
Hier = Annotated[
    list[str] | None,
    typer.Option(
        "--hier", "-H", help="Hierarchy file of a column, as COLUMN=FILE or FILE named after the column."
    ),
]
Freq = Annotated[str | None, typer.Option("--freq", help="Column with the count of each row.")]
Value = Annotated[str | None, typer.Option("--value", help="Column to be summed (a magnitude table).")]
Contributor = Annotated[str | None, typer.Option("--contributor", help="Column that says whose row it is.")]
Weight = Annotated[str | None, typer.Option("--weight", help="Column with sampling weights.")]
Zeros = Annotated[bool, typer.Option("--extend0", help="Add every missing combination as a zero.")]
Out = Annotated[Path | None, typer.Option("--out", "-o", help="Write the publishable table here (tidy CSV).")]
Rows = Annotated[str | None, typer.Option("--rows", help="Dimension down the page.")]
Columns = Annotated[str | None, typer.Option("--columns", help="Dimension across the page.")]


@app.command("protect")
def protect_command(
    microdata: Annotated[Path, typer.Argument(help="Microdata, or inner cells with --freq.")],
    by: By = None,
    formula: Formula = None,
    hier: Hier = None,
    rule: Annotated[
        list[str] | None,
        typer.Option(
            "--rule",
            "-R",
            help="freq:N, freq0:N (zeros open), contributors:N, nk:N,K, p:P or k:N; repeatable.",
        ),
    ] = None,
    freq: Freq = None,
    value: Value = None,
    contributor: Contributor = None,
    weight: Weight = None,
    extend0: Zeros = False,
    small: Annotated[str, typer.Option("--small", help="Method for small counts.")] = "auto",
    singleton: Annotated[
        str | None, typer.Option("--singleton", help="Rules for single contributors, e.g. numttHTT.")
    ] = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Audit and suppress more until the audit passes.")
    ] = False,
    range_min: Annotated[float, typer.Option("--range-min", help="Least width of the intervals.")] = 0.0,
    check: Annotated[bool, typer.Option("--audit/--no-audit", help="Audit the outcome.")] = True,
    mark: Annotated[str, typer.Option("--mark", help="Mark of a suppressed cell.")] = "×",
    out: Out = None,
    html: Annotated[Path | None, typer.Option("--html", help="Write the table as an HTML page.")] = None,
    rows: Rows = None,
    columns: Columns = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Suppress cells that break a rule and the cells without which those could be computed."""
    terminal = Terminal(quiet, as_json)
    rules = [parse_rule(text) for text in rule or []]
    if not rules:
        raise OptionError("give at least one --rule, such as --rule freq:3")
    model = _model(microdata, by, formula, hier, freq, value, contributor, weight, extend0, terminal)
    asked = Requirement(range_min=range_min)
    single = SingletonRules.from_code(singleton) if singleton else None
    with terminal.progress("suppressing") as show:
        result = protect(
            model,
            *rules,
            small=small,
            singleton=single,
            repair=repair,
            requirement=asked,
            progress=_steps(show, "cells"),
        )
    found = None
    if check:
        with terminal.progress("auditing") as show:
            found = audit_table(result, requirement=asked, progress=_steps(show, "intervals"))
    terminal.say(result.cross_table(rows, columns, mark))
    terminal.say(str(result))
    if found is not None:
        terminal.say(f"Audit: {found}")
    if out is not None:
        _write(result.to_frame(), out, terminal)
    if html is not None:
        with replacing(html) as path:
            path.write_text(_page(result), encoding="utf-8")
        terminal.note(f"page written to {html}")
    terminal.emit({
        "cells": len(result.primary), "primary": int(result.primary.sum()), "secondary": int(result.secondary.sum()),
        "sentence": str(result), "audit": None if found is None else {"passed": found.passed, "sentence": str(found)},
        "loss": information_loss(model, {"suppression": result}).to_dicts()[0],
    })  # fmt: skip


@app.command("audit")
def audit_command(
    table: Annotated[Path, typer.Argument(help="A published table, one row a cell, totals included.")],
    by: By = None,
    value: Annotated[
        str, typer.Option("--value", help="Value column; empty or marked where suppressed.")
    ] = "value",
    hier: Hier = None,
    primary: Annotated[str | None, typer.Option("--primary", help="Column that marks primary cells.")] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Exact bounds of all suppressed cells.")] = False,
    integer: Annotated[bool, typer.Option("--integer", help="Whole-number bounds (counts).")] = False,
    range_min: Annotated[float, typer.Option("--range-min", help="Least width of the intervals.")] = 0.0,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write the bounds here (CSV; confidential).")
    ] = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Audit a table that somebody else suppressed. Exit code 1 when cells are at risk."""
    terminal = Terminal(quiet, as_json)
    names = listed(by)
    if not names:
        raise OptionError("name the dimension columns with --by")
    loaded = load(table, None, terminal)
    disclosed = read_suppressed(loaded.table, names, value, hierarchies=_trees(hier, names), primary=primary)
    with terminal.progress("auditing") as show:
        found = audit_table(
            disclosed, intervals="exact" if exact else "check", cells="suppressed" if exact else "primary",
            requirement=Requirement(range_min=range_min), integer=integer, progress=_steps(show, "intervals"),
        )  # fmt: skip
    terminal.say(str(found))
    if not found.passed:
        terminal.say(str(found.at_risk))
    if out is not None:
        _write(found.cells, out, terminal)
    terminal.emit({"passed": found.passed, "sentence": str(found), "at_risk": found.at_risk.to_dicts()})
    if not found.passed:
        raise typer.Exit(1)


@app.command("perturb")
def perturb_command(
    microdata: Annotated[Path, typer.Argument(help="Microdata, or inner cells with --freq.")],
    by: By = None,
    formula: Formula = None,
    hier: Hier = None,
    freq: Freq = None,
    method: Annotated[str, typer.Option("--method", "-m", help="round, controlled or cellkey.")] = "round",
    base: Annotated[
        int, typer.Option("--base", help="Rounding base, or largest deviation of cell keys.")
    ] = 3,
    key_file: Annotated[
        Path | None, typer.Option("--key-file", help="File with the secret key; made when missing.")
    ] = None,
    out: Out = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Round or perturb all counts instead of suppressing some; with a key file always in the same way."""
    terminal = Terminal(quiet, as_json)
    model = _model(microdata, by, formula, hier, freq, None, None, None, False, terminal)
    key = _key(key_file, terminal)
    if method == "round":
        counts = round_table(model, base, key=key).counts
    elif method == "controlled":
        counts = controlled_round(model, base)
    elif method == "cellkey":
        keys = keyed_uniforms(cell_names(model), key, "cell keys")
        counts = model.frequency + PTable.make(base, base / 2).deviation(model.frequency, keys)
    else:
        raise OptionError(f"unknown method {method!r}; there are round, controlled and cellkey")
    frame = model.cells.with_columns(freq=pl.Series(counts))
    loss = information_loss(model, {method: counts})
    terminal.say(
        f"{method}: mean change {loss['mean_change'][0]:.3g}, largest {loss['largest_change'][0]:.3g}, "
        f"Hellinger distance {loss['hellinger'][0]:.3g}, {loss['not_additive'][0]} totals do not add up."
    )
    if out is not None:
        _write(frame, out, terminal)
    terminal.emit(loss.to_dicts()[0])


def _steps(show: Any, what: str) -> Callable[[int, int], None]:
    return lambda done, total: show(f"{done:,} of {total:,} {what}")


def _trees(hier: list[str] | None, columns: list[str]) -> dict[str, Hierarchy]:
    """Hierarchy files by column."""
    trees = {}
    for text in hier or []:
        column, equals, file = text.partition("=")
        if not equals:
            file, column = text, Path(text).stem
        if column not in columns:
            raise OptionError(f"hierarchy {Path(file).name} belongs to no column of --by; write COLUMN=FILE")
        trees[column] = read_hierarchy(file)
    return trees


def _model(
    microdata: Path,
    by: list[str] | None,
    formula: str | None,
    hier: list[str] | None,
    freq: str | None,
    value: str | None,
    contributor: str | None,
    weight: str | None,
    extend0: bool,
    terminal: Terminal,
) -> TableModel:
    names = listed(by)
    if (names is None) == (formula is None):
        raise OptionError("give either --by (columns to cross) or --formula")
    loaded = load(microdata, None, terminal)
    trees = _trees(hier, names or loaded.table.names)
    return define(
        loaded.table, names, formula=formula, hierarchies=trees, freq=freq, value=value, contributor=contributor,
        weight=weight, extend0=extend0,
    )  # fmt: skip


def _key(path: Path | None, terminal: Terminal) -> bytes:
    if path is None:
        terminal.note(
            "no --key-file: the draw cannot be repeated, and other tables of the same data will not agree"
        )
        return fresh_key()
    if not path.exists():
        path.write_bytes(fresh_key())
        path.chmod(0o600)
        terminal.note(
            f"secret key written to {path.name}; keep it as long as tables of these data are published"
        )
    return path.read_bytes()


def _write(frame: pl.DataFrame, path: Path, terminal: Terminal) -> None:
    with replacing(path) as target:
        frame.write_csv(target)
    terminal.note(f"{len(frame):,} cells written to {path}")


def _page(result: Suppression) -> str:
    body = result._repr_html_()
    head = "<meta charset='utf-8'><title>Protected table</title>"
    return f"<!doctype html><html lang='en'>{head}<body>{body}</body></html>"
