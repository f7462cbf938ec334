"""`dalenius tables perturb`, `compare` and `statistic`: other ways than suppression, and other figures than sums."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dalenius.cli import _options as opt
from dalenius.cli import _table_options as table
from dalenius.cli import _table_output as output
from dalenius.cli._console import Terminal, listed, shown_table
from dalenius.cli._input import load
from dalenius.core.errors import OptionError
from dalenius.dp import ledger_beside
from dalenius.tables import compare_ways, information_loss, protect_statistic
from dalenius.tables.altered import Altered
from dalenius.tables.keys import fresh_key
from dalenius.tables.page import ways_page
from dalenius.tables.rules import default_rules
from dalenius.tables.ways import WAYS, Settings

METHODS = {"round": "random rounding", "controlled": "controlled rounding", "cellkey": "cell keys",
           "small": "small counts", "adjust": "adjusted", "fill": "filled in", "budget": "budget"}  # fmt: skip
KEYED = ("round", "cellkey", "small")
BY_NAME = (
    "changes follow the names of columns and codes: keep both in every table of these data, since the same people "
    "under other names get fresh changes, and fresh changes average out"
)


@opt.reads
def perturb_command(
    microdata: table.Microdata,
    by: table.By = None,
    formula: table.Formula = None,
    hier: table.Hier = None,
    freq: table.Freq = None,
    value: table.Value = None,
    schema: opt.SchemaFile = None,
    contributor: table.Contributor = None,
    missing: table.Missing = None,
    rule: table.Rules = None,
    method: Annotated[
        str, typer.Option("--method", "-m", help=f"{opt.WAY}; {', '.join(METHODS)}.")
    ] = "round",
    base: table.Base = 3,
    epsilon: table.Epsilon = 1.0,
    limit: table.Limit = None,
    public_codes: table.PublicCodes = False,
    ledger: opt.Ledger = None,
    time_limit: table.Seconds = 60.0,
    key_file: table.KeyFile = None,
    out: table.Out = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    *,
    reading: opt.Reading,
) -> None:
    """Change values instead of suppressing some; with a key file always in the same way."""
    source, terminal = table.Source.of(locals()), Terminal(quiet, as_json)
    if method not in METHODS:
        raise OptionError(f"unknown method {method!r}; there are {', '.join(METHODS)}")
    if method == "budget" and not public_codes:
        raise OptionError(
            "--method budget: say --public-codes if the codes of the table are public knowledge"
        )
    model = source.model(terminal)
    rules = tuple(table.rules_of(rule, None)) or default_rules(model)
    if method in KEYED and not model.is_magnitude:
        terminal.note(BY_NAME)
    key = output.secret(key_file, terminal) if method in KEYED else fresh_key()
    pays = (ledger or ledger_beside(microdata)) if method == "budget" else None
    paid = None if pays is None else str(pays)
    changed = WAYS[METHODS[method]](model, Settings(rules, key, base, epsilon, limit, time_limit, paid))
    assert isinstance(changed, Altered)
    loss = information_loss(model, {method: changed})
    terminal.say(str(changed))
    terminal.say(
        f"{method}: mean change {loss['mean_change'][0]:.3g}, largest {loss['largest_change'][0]:.3g}, "
        f"Hellinger distance {loss['hellinger'][0]:.3g}, {loss['not_additive'][0]} totals do not add up."
    )
    if method == "budget":
        terminal.note(f"paid from {pays}" if pays else "no ledger: nobody adds up what else is released")
    if out is not None:
        output.write_result(changed.to_file(), out, False, terminal)
    terminal.emit(loss.to_dicts()[0])


@opt.reads
def compare_command(
    microdata: table.Microdata,
    by: table.By = None,
    formula: table.Formula = None,
    tables: table.Tables = None,
    hier: table.Hier = None,
    freq: table.Freq = None,
    value: table.Value = None,
    schema: opt.SchemaFile = None,
    contributor: table.Contributor = None,
    missing: table.Missing = None,
    rule: table.Rules = None,
    way: Annotated[
        list[str] | None, typer.Option("--way", help="Way to protect the table; only these; repeatable.")
    ] = None,
    base: table.Base = 3,
    epsilon: table.Epsilon = 1.0,
    limit: table.Limit = None,
    time_limit: table.Seconds = 20.0,
    key_file: table.KeyFile = None,
    out: Annotated[Path | None, typer.Option("--output", "-o", help=f"{opt.OUTPUT}; the figures.")] = None,
    html: Annotated[
        Path | None, typer.Option("--html", help="Page to write (HTML); the map of loss and risk.")
    ] = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    *,
    reading: opt.Reading,
) -> None:
    """All ways to protect one table side by side: time, loss, risk, audit."""
    source, terminal = table.Source.of(locals()), Terminal(quiet, as_json)
    compared = compare_ways(
        source.model(terminal), *table.rules_of(rule, None), ways=way, key=output.secret(key_file, terminal),
        base=base, epsilon=epsilon, limit=limit, time_limit=time_limit,
    )  # fmt: skip
    terminal.say(shown_table(compared.brief))
    if out is not None:
        output.write_figures(compared.table, out, terminal)
    if html is not None:
        output.write_page(ways_page(compared), html, terminal)
    terminal.emit({"ways": compared.table.to_dicts()})


@opt.reads
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
    schema: opt.SchemaFile = None,
    contributor: table.Contributor = None,
    missing: table.Missing = None,
    rule: table.Rules = None,
    force: opt.Force = False,
    out: table.Out = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    *,
    reading: opt.Reading,
) -> None:
    """Means, ratios, shares, indices or medians, protected through their parts. Exit code 1 when a part is not safe."""
    terminal = Terminal(quiet, as_json)
    names = listed(by)
    if not names or value is None:
        raise OptionError("name the columns to cross with --by, and what the statistic is about with --value")
    data = load(microdata, schema, terminal, reading).table
    owner = table.contributor_of(data, contributor, schema, terminal)
    before = None if base is None else load(base, None, terminal, reading, strict=False).table
    protected = protect_statistic(
        data, names, kind, *table.rules_of(rule, None), value=value, denominator=denominator, base=before, least=least,  # type: ignore[arg-type]
        hierarchies=table.trees(hier, names), contributor=owner, missing=missing,
    )  # fmt: skip
    terminal.say(str(protected))
    if out is not None and (protected.is_safe or force):
        output.write_result(protected.to_file(force=force), out, force, terminal)
    terminal.emit({"kind": kind, "suppressed": int(protected.suppressed.sum()), "safe": protected.is_safe})
    output.end_unsafe(protected.is_safe, force)
