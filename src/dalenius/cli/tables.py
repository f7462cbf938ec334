"""`dalenius tables`: protect, audit, round, perturb and compare tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from dalenius.cli import _options as opt
from dalenius.cli import _table_options as table
from dalenius.cli._console import Terminal, listed
from dalenius.cli._input import load
from dalenius.core.errors import FileError, OptionError
from dalenius.data.atomic import replacing
from dalenius.tables import (
    Audit,
    Disclosed,
    LinkedSuppression,
    Requirement,
    Suppression,
    TableModel,
    compare_ways,
    information_loss,
    protect,
    protect_linked,
    protect_statistic,
    protect_years,
    read_jj,
    read_suppressed,
    read_table_file,
    write_argus,
    write_jj,
    write_table_file,
)
from dalenius.tables import audit as audit_table
from dalenius.tables.keys import fresh_key
from dalenius.tables.page import table_page, ways_page
from dalenius.tables.protection import PrimaryRule
from dalenius.tables.rules import default_rules
from dalenius.tables.ways import WAYS, Settings

app = typer.Typer(
    name="tables", help="Protect tables: suppression, audit, rounding, cell keys.", no_args_is_help=True
)

METHODS = {"round": "random rounding", "controlled": "controlled rounding", "cellkey": "cell keys",
           "small": "small counts", "adjust": "adjusted", "budget": "budget"}  # fmt: skip
KEYED = ("round", "cellkey", "small")


@app.command("protect")
def protect_command(
    microdata: table.Microdata,
    by: table.By = None,
    formula: table.Formula = None,
    tables: table.Tables = None,
    hier: table.Hier = None,
    rule: table.Rules = None,
    freq: table.Freq = None,
    value: table.Value = None,
    contributor: table.Contributor = None,
    weight: table.Weight = None,
    holding: table.Holding = None,
    request: table.Asked = None,
    extend0: table.Zeros = None,
    structural: table.Structural = None,
    manual: table.ManualCells = None,
    forced: table.Forced = None,
    hidden: table.Hidden = None,
    usefulness: table.Usefulness = None,
    small: table.Small = "auto",
    singleton: table.Singleton = None,
    secondary_zeros: table.SecondaryZeros = False,
    singleton_zeros: table.SingletonZeros = False,
    link: table.Link = "global",
    repair: table.Repair = True,
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
) -> None:
    """Suppress cells that break a rule and the cells without which those could be computed.

    The outcome is audited over all tables together and repaired. Exit code 1, and nothing is written, when protected
    cells are still at risk.
    """
    terminal = Terminal(quiet, as_json)
    rules = table.rules_of(rule, manual)
    model = table.Source(
        microdata,
        by,
        formula,
        tables,
        hier,
        freq,
        value,
        contributor,
        weight,
        extend0,
        structural,
        holding,
        request,
    ).model(terminal)
    asked = Requirement(range_min=range_min, range_percent=range_percent)
    options: dict[str, Any] = {"small": small, "singleton": singleton, "secondary_zeros": secondary_zeros}
    options |= {"repair": repair and check, "requirement": asked}
    only_whole = {"--forced": forced, "--hidden": hidden, "--usefulness": usefulness}
    odd = [name for name, given in (only_whole | {"--singleton-zeros": singleton_zeros}).items() if given]
    if link != "global" and odd:
        raise OptionError(f"{', '.join(odd)}: only with --link global")
    if link == "global":
        weights = table.weights_of(usefulness, model)
        options |= {"forced": table.cells_of(forced), "hidden": table.cells_of(hidden), "usefulness": weights}
        options |= {"singleton_zeros": singleton_zeros}
    linked, result = _suppressed(model, rules, link, options, terminal)
    found = result.checked if not insiders and not coalition and prior is None else None
    if check and found is None:
        found = _checked(result, asked, insiders, coalition, prior, terminal)
    result = replace(result, checked=found)
    _show(result, linked, found, (rows, columns, mark), terminal)
    _hand_out(result, linked, out, html, force, terminal)
    terminal.emit(_figures(result, found))
    if found is not None and not found.passed and not force:
        raise typer.Exit(1)


def _suppressed(
    model: TableModel, rules: list[PrimaryRule], link: str, options: dict[str, Any], terminal: Terminal
) -> tuple[LinkedSuppression | None, Suppression]:
    if link != "global" and not model.tables:
        raise OptionError(f"--link {link} is for linked tables; name several with --table")
    with terminal.progress("suppressing") as show:
        options["progress"] = _steps(show, "cells")
        if not model.tables:
            return None, protect(model, *rules, **options)
        linked = protect_linked(model, *rules, how=link, **options)  # type: ignore[arg-type]
        return linked, linked.combined


def _checked(
    result: Suppression,
    asked: Requirement,
    insiders: bool,
    coalition: list[str] | None,
    prior: float | None,
    terminal: Terminal,
) -> Audit:
    with terminal.progress("auditing") as show:
        return audit_table(
            result,
            requirement=asked,
            contributors="intervals" if insiders else True,
            coalitions=[text.split(",") for text in coalition or []],
            prior=prior,
            progress=_steps(show, "intervals"),
        )


def _show(
    result: Suppression,
    linked: LinkedSuppression | None,
    found: Audit | None,
    layout: tuple[str | None, str | None, str],
    terminal: Terminal,
) -> None:
    """Print the table or tables, and what is to be said about them."""
    for name, part in ({"": result} if linked is None else linked.tables).items():
        if name:
            terminal.say(f"{name}:")
        shown = [d.name for d in part.model.dimensions if part.model.cells[d.name].n_unique() > 1]
        first, second, mark = layout
        if name and first is None:
            first, second = shown[0], shown[1] if len(shown) > 1 else None
        terminal.block(part.cross_table(first, second, mark))
    terminal.say(str(result if linked is None else linked))
    if found is not None:
        terminal.say(f"Audit: {found}")


def _hand_out(
    result: Suppression,
    linked: LinkedSuppression | None,
    out: Path | None,
    page: Path | None,
    force: bool,
    terminal: Terminal,
) -> None:
    """Write the publishable table and the page; of linked tables one file each. Nothing if cells are at risk."""
    found = result.checked
    if (out is None and page is None) or not (force or (found is not None and found.passed)):
        if found is None and (out or page):
            raise OptionError("--no-audit: a table that was not audited is written with --force only")
        if found is not None and not found.passed:
            terminal.say(str(found.at_risk))
            terminal.say("The table is not safe: nothing was written (--force writes it, marked as unsafe).")
        return
    if out is not None:
        for name, part in ({"": result} if linked is None else linked.tables).items():
            stem, _, ending = out.name.partition(".")
            path = out.with_name(f"{stem}-{name}.{ending}") if name else out
            _table_file(replace(part, checked=found), path, force, terminal)
    if page is not None:
        with replacing(page) as path:
            path.write_text(table_page(result, found), encoding="utf-8")
        terminal.note(f"page written to {page}")


def _table_file(result: Suppression, path: Path, force: bool, terminal: Terminal) -> None:
    """One table in the format its file name asks for; those of τ-ARGUS hold true values and stay inside."""
    inside = {".tab": write_argus, ".jj": write_jj}.get(path.suffix.lower())
    if inside is not None:
        inside(result, path)
        terminal.note(f"{path}: for τ-ARGUS, with true values and statuses; confidential")
        return
    write_table_file(result, path, force=force)
    terminal.note(f"{len(result.primary):,} cells written to {path}")


def _figures(result: Suppression, found: Audit | None) -> dict[str, Any]:
    return {
        "cells": len(result.primary),
        "primary": int(result.primary.sum()),
        "secondary": int(result.secondary.sum()),
        "sentence": str(result),
        "audit": None if found is None else {"passed": found.passed, "sentence": str(found)},
        "loss": information_loss(result.model, {"suppression": result}).to_dicts()[0],
    }


@app.command("audit")
def audit_command(
    published: Annotated[Path, typer.Argument(help="A published table, one row a cell, totals included.")],
    by: table.By = None,
    value: Annotated[
        str, typer.Option("--value", help="Column of values; empty or marked where suppressed.")
    ] = "value",
    hier: table.Hier = None,
    primary: Annotated[str | None, typer.Option("--primary", help="Column that marks primary cells.")] = None,
    exact: Annotated[bool, typer.Option("--exact", help="Exact bounds of all suppressed cells.")] = False,
    integer: Annotated[bool, typer.Option("--integer", help="Whole-number bounds (counts).")] = False,
    range_min: table.RangeMin = 0.0,
    range_percent: table.RangePercent = 0.0,
    out: Annotated[
        Path | None, typer.Option("--output", "-o", help=f"{opt.OUTPUT}; the bounds as CSV: confidential.")
    ] = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Audit a table that somebody else suppressed. Exit code 1 when cells are at risk."""
    terminal = Terminal(quiet, as_json)
    disclosed = _published(published, listed(by), value, hier, primary, terminal)
    asked = Requirement(range_min=range_min, range_percent=range_percent)
    with terminal.progress("auditing") as show:
        found = audit_table(
            disclosed, intervals="exact" if exact else "check", cells="suppressed" if exact else "primary",
            requirement=asked, integer=integer, progress=_steps(show, "intervals"),
        )  # fmt: skip
    terminal.say(str(found))
    if not found.passed:
        terminal.say(str(found.at_risk))
    if out is not None:
        _write(found.cells, out, terminal)
    terminal.emit({"passed": found.passed, "sentence": str(found), "at_risk": found.at_risk.to_dicts()})
    if not found.passed:
        raise typer.Exit(1)


def _published(
    path: Path,
    by: list[str] | None,
    value: str,
    hier: list[str] | None,
    primary: str | None,
    terminal: Terminal,
) -> Disclosed:
    """A published table: columns of any data file, or a table file that knows its own dimensions."""
    if by:
        loaded = load(path, None, terminal)
        return read_suppressed(loaded.table, by, value, hierarchies=table.trees(hier, by), primary=primary)
    if path.suffix.lower() == ".jj":
        return read_jj(path).disclosed()
    found = read_table_file(path)
    trees = table.trees(hier, found.cells.columns)
    return replace(found, hierarchies={**found.hierarchies, **trees}).disclosed()


KeyFile = Annotated[
    Path | None, typer.Option("--key-file", help="File with the secret key; made when missing.")
]
Base = Annotated[
    int, typer.Option("--base", help="Rounding base, or largest deviation of cell keys and noise.")
]


Epsilon = Annotated[float, typer.Option("--epsilon", help="Privacy budget ε; for the method budget.")]
Limit = Annotated[
    float | None,
    typer.Option("--limit", help="Most that one record may contribute to a sum (method budget)."),
]
Seconds = Annotated[float, typer.Option("--time-limit", help="Seconds for each integer program.")]
PublicCodes = Annotated[
    bool, typer.Option("--public-codes", help="The codes of the table are public knowledge (method budget).")
]


@app.command("perturb")
def perturb_command(
    microdata: table.Microdata,
    by: table.By = None,
    formula: table.Formula = None,
    hier: table.Hier = None,
    freq: table.Freq = None,
    value: table.Value = None,
    contributor: table.Contributor = None,
    rule: table.Rules = None,
    method: Annotated[
        str,
        typer.Option(
            "--method",
            "-m",
            help=f"{opt.WAY}; round, controlled, cellkey, small, adjust, budget.",
        ),
    ] = "round",
    base: Base = 3,
    epsilon: Epsilon = 1.0,
    limit: Limit = None,
    public_codes: PublicCodes = False,
    time_limit: Seconds = 60.0,
    key_file: KeyFile = None,
    out: table.Out = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Change values instead of suppressing some; with a key file always in the same way."""
    terminal = Terminal(quiet, as_json)
    if method not in METHODS:
        raise OptionError(f"unknown method {method!r}; there are {', '.join(METHODS)}")
    if method == "budget" and not public_codes:
        raise OptionError(
            "--method budget: say --public-codes if the codes of the table are public knowledge"
        )
    model = table.Source(microdata, by, formula, None, hier, freq, value, contributor).model(terminal)
    rules = tuple(table.rules_of(rule, None)) or default_rules(model)
    key = _key(key_file, terminal) if method in KEYED else fresh_key()
    settings = Settings(rules, key, base, epsilon, limit, time_limit)
    changed = WAYS[METHODS[method]](model, settings)
    loss = information_loss(model, {method: changed})
    terminal.say(str(changed))
    terminal.say(
        f"{method}: mean change {loss['mean_change'][0]:.3g}, largest {loss['largest_change'][0]:.3g}, "
        f"Hellinger distance {loss['hellinger'][0]:.3g}, {loss['not_additive'][0]} totals do not add up."
    )
    if out is not None:
        _write(changed.to_frame(), out, terminal)
    terminal.emit(loss.to_dicts()[0])


@app.command("compare")
def compare_command(
    microdata: table.Microdata,
    by: table.By = None,
    formula: table.Formula = None,
    tables: table.Tables = None,
    hier: table.Hier = None,
    freq: table.Freq = None,
    value: table.Value = None,
    contributor: table.Contributor = None,
    rule: table.Rules = None,
    way: Annotated[list[str] | None, typer.Option("--way", help="Only these ways; repeatable.")] = None,
    base: Base = 3,
    epsilon: Epsilon = 1.0,
    limit: Limit = None,
    time_limit: Seconds = 20.0,
    key_file: KeyFile = None,
    out: Annotated[
        Path | None, typer.Option("--output", "-o", help=f"{opt.OUTPUT}; the figures as CSV.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option("--html", help="Page to write (HTML); the map of loss and risk.")
    ] = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """All ways to protect one table side by side: time, loss, risk, audit."""
    terminal = Terminal(quiet, as_json)
    model = table.Source(microdata, by, formula, tables, hier, freq, value, contributor).model(terminal)
    rules = table.rules_of(rule, None)
    found = compare_ways(
        model,
        *rules,
        ways=way,
        key=_key(key_file, terminal),
        base=base,
        epsilon=epsilon,
        limit=limit,
        time_limit=time_limit,
    )
    terminal.block(_side_by_side(found.table))
    if out is not None:
        _write(found.table, out, terminal)
    if html is not None:
        with replacing(html) as path:
            path.write_text(ways_page(found), encoding="utf-8")
        terminal.note(f"page written to {html}")
    terminal.emit({"ways": found.table.to_dicts()})


@app.command("statistic")
def statistic_command(
    microdata: table.Microdata,
    kind: Annotated[str, typer.Option("--statistic", help="mean, ratio, share, index or median.")],
    by: table.By = None,
    value: table.Value = None,
    denominator: Annotated[str | None, typer.Option("--denominator", help="Column below a ratio.")] = None,
    base: Annotated[
        Path | None, typer.Option("--base-data", help="Data of the base year of an index.")
    ] = None,
    least: Annotated[int, typer.Option("--least", help="Fewest records behind a median.")] = 5,
    hier: table.Hier = None,
    contributor: table.Contributor = None,
    rule: table.Rules = None,
    force: opt.Force = False,
    out: table.Out = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Means, ratios, shares, indices or medians, protected through their parts. Exit code 1 when a part is not safe."""
    terminal = Terminal(quiet, as_json)
    names = listed(by)
    if not names or value is None:
        raise OptionError("name the columns to cross with --by, and what the statistic is about with --value")
    found = protect_statistic(
        load(microdata, None, terminal).table, names, kind, *table.rules_of(rule, None), value=value,  # type: ignore[arg-type]
        denominator=denominator, base=None if base is None else load(base, None, terminal).table, least=least,
        hierarchies=table.trees(hier, names), contributor=contributor,
    )  # fmt: skip
    terminal.say(str(found))
    if out is not None and (found.is_safe or force):
        _write(found.to_frame(force=force), out, terminal)
    terminal.emit({"kind": kind, "suppressed": int(found.suppressed.sum()), "safe": found.is_safe})
    if not found.is_safe and not force:
        raise typer.Exit(1)


@app.command("years")
def years_command(
    last: Annotated[Path, typer.Argument(help="Microdata of last year, whose table is out.")],
    now: Annotated[Path, typer.Argument(help="Microdata of this year.")],
    by: table.By = None,
    hier: table.Hier = None,
    freq: table.Freq = None,
    value: table.Value = None,
    contributor: table.Contributor = None,
    rule: table.Rules = None,
    unchanged: Annotated[
        float,
        typer.Option(
            "--unchanged", help="Inner cells that differ by at most this percentage count as known."
        ),
    ] = 0.0,
    force: opt.Force = False,
    out: table.Out = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Protect this year's table beside last year's. Exit code 1 when cells follow from both together."""
    terminal = Terminal(quiet, as_json)
    models = [
        table.Source(data, by, None, None, hier, freq, value, contributor).model(terminal)
        for data in (last, now)
    ]
    rules = table.rules_of(rule, None)
    found = protect_years(protect(models[0], *rules), models[1], *rules, unchanged_percent=unchanged)
    terminal.block(found.now.cross_table())
    terminal.say(str(found))
    marked = replace(found.now, checked=found.checked if not found.checked.passed else found.now.checked)
    safe = found.checked.passed and marked.is_safe
    if out is not None and (safe or force):
        _table_file(marked, out, force, terminal)
    terminal.emit({"safe": safe, "suppressed": int(found.now.suppressed.sum()), "alone": found.alone})
    if not safe and not force:
        raise typer.Exit(1)


def _side_by_side(ways: pl.DataFrame) -> str:
    """The figures as aligned text, narrow enough for a terminal."""
    heads = ("way", "CPU s", "lost", "changed", "error %", "known %", "not additive", "audit")
    keys = (
        "way",
        "seconds",
        "cells_lost",
        "cells_changed",
        "error_percent",
        "known_percent",
        "not_additive",
        "audit",
    )
    body = [[_short(row[key]) for key in keys] for row in ways.iter_rows(named=True)]
    widths = [max(len(line[i]) for line in (heads, *body)) for i in range(len(heads))]
    return "\n".join(
        "  ".join(
            [line[0].ljust(widths[0]), *(c.rjust(w) for c, w in zip(line[1:], widths[1:], strict=True))]
        )
        for line in (heads, *body)
    )


def _short(value: Any) -> str:
    return "–" if value is None else f"{value:,.3g}" if isinstance(value, float) else str(value)


def _steps(show: Any, what: str) -> Callable[[int, int], None]:
    return lambda done, total: show(f"{done:,} of {total:,} {what}")


def _key(path: Path | None, terminal: Terminal) -> bytes:
    if path is None:
        terminal.note(
            "no --key-file: the draw cannot be repeated, and other tables of the same data will not agree"
        )
        return fresh_key()
    try:
        if not path.exists():
            path.touch(mode=0o600)  # before the secret is in it, nobody else may open it
            path.write_bytes(fresh_key())
            terminal.note(
                f"secret key written to {path.name}; keep it as long as tables of these data are published"
            )
        key = path.read_bytes()
    except OSError as error:
        raise FileError(f"{path.name}: the key cannot be read or written ({error.strerror})") from error
    if not key:
        raise FileError(f"{path.name}: the key is empty; delete the file, and a new key is made")
    return key


def _write(frame: pl.DataFrame, path: Path, terminal: Terminal) -> None:
    with replacing(path) as target:
        frame.write_csv(target)
    terminal.note(f"{len(frame):,} cells written to {path}")
