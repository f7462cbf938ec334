"""`dalenius fit`: one model on the original and on synthetic files, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal, listed, shown_table, write_chart
from dalenius.cli._input import load, load_like
from dalenius.core.errors import counted
from dalenius.core.result import figure
from dalenius.data.design import Design
from dalenius.data.table import Table
from dalenius.utility.inference import RULES, Fit, SyntheticFit, fit_synthetic
from dalenius.utility.inference.charts import coefficient_chart
from dalenius.utility.inference.formula import Formula
from dalenius.utility.inference.models import rests_on_few
from dalenius.utility.inference.synthetic import fit_any, read_model

app = typer.Typer()
WITHHELD = "(rests on few rows)"


@app.command()
@opt.reads
def fit(
    formula: Annotated[
        str, typer.Argument(help="Model, such as 'income ~ age + C(region)', or 'mean(income) by region'.")
    ],
    original: opt.Original,
    protected: Annotated[list[Path] | None, typer.Argument(help="Synthetic files made of it.")] = None,
    family: Annotated[
        str,
        typer.Option("--family", help="Family of the model; gaussian, binomial, poisson, gamma, cox …"),
    ] = "gaussian",
    link: Annotated[
        str | None, typer.Option("--link-function", help="Link, such as probit or log; default: the usual.")
    ] = None,
    population: Annotated[
        bool,
        typer.Option(
            "--for-population", help="Intervals for the population, not for the original's estimate."
        ),
    ] = False,
    proper: Annotated[
        bool, typer.Option("--proper", help="Parameters were drawn anew for each file.")
    ] = False,
    replicated: Annotated[
        bool,
        typer.Option("--replicated", help="Each file was made from other replicate weights of the survey."),
    ] = False,
    kept: Annotated[
        list[str] | None,
        typer.Option("--kept", help="Columns that were not synthesized, separated by commas."),
    ] = None,
    rule: Annotated[
        str | None,
        typer.Option("--combining", help=f"Combining rule, if not the one that fits: {', '.join(RULES)}."),
    ] = None,
    level: Annotated[
        float, typer.Option("--level", help="Level of the intervals.", min=0.5, max=0.999)
    ] = 0.95,
    chart: opt.Chart = None,
    schema: opt.SchemaFile = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    *,
    reading: opt.Reading,
) -> None:
    """Fit one model to the original and to synthetic files, with the errors of the survey's design, and compare."""
    terminal = Terminal(quiet, as_json)
    first = load(original, schema, terminal, reading).table
    terminal.note(_told(first))
    chosen: Any = {"family": family, "link": link}
    model = read_model(formula, first)
    known = fit_any(model, first, schema=first.schema, **chosen)
    few = (
        rests_on_few(model, first, known, first.schema)
        if isinstance(model, Formula)
        else [False] * len(known.names)
    )
    if not protected:
        _alone(known, few, level, terminal)
        return
    files = [load_like(path, first, terminal, reading).table for path in protected]
    fitted = fit_synthetic(
        formula, files, rows=first.rows, proper=proper, kept=listed(kept) or (), schema=first.schema, like=first,
        replicated=replicated, **chosen,
    )  # fmt: skip
    _beside(fitted, known, few, population=population, rule=rule, level=level, chart=chart, terminal=terminal)


def _told(table: Table) -> str:
    """Whether rows count with weights, and what else of the design is used."""
    design = Design.of(table)
    if design is None:
        return "all rows count alike; a column of weights gets the role weight in a schema"
    how = "replicate weights" if design.replicates is not None else "linearisation"
    parts = [f"weights {design.column!r}" if design.column else "equal weights"]
    parts += [f"{len(design.stages.sizes):,} strata"] if design.strata is not None else []
    parts += [counted(len(design.stages.home), "sampling unit")] if design.psu is not None else []
    return f"survey design: {', '.join(parts)}; errors by {how}"


def _alone(known: Fit, few: Sequence[bool], level: float, terminal: Terminal) -> None:
    low, high = known.interval(level)
    table = pl.DataFrame(
        {
            "coefficient": known.names,
            "estimate": known.estimates,
            "error": known.errors,
            "low": low,
            "high": high,
        }
    )
    shown = _withheld(table, few, ["estimate", "error", "low", "high"])
    terminal.say(shown_table(shown, "–"))
    terminal.emit({"rows": known.rows, "coefficients": shown.to_dicts()})


def _beside(
    fitted: SyntheticFit, known: Fit, few: Sequence[bool], *, population: bool, rule: Any, level: float,
    chart: Path | None, terminal: Terminal,
) -> None:  # fmt: skip
    result = fitted.compare(known, population=population, level=level)
    assert result.table is not None
    table = result.table
    if rule is not None:  # otherwise the errors of the synthetic estimates rest on the original's
        own = fitted.summary(population, rule, level)
        table = table.with_columns(
            own["estimate"].alias("synthetic"), own["se"].alias("synthetic_se"), own["low"], own["high"]
        )
    secret = ["original", "original_se", "original_low", "original_high", "std_difference"]
    shown = _withheld(table, few, secret)
    terminal.say(
        shown_table(
            shown.select(
                "coefficient", "original", _range(shown, "original_low", "original_high").alias("from … to"),
                "synthetic", _range(shown, "low", "high").alias("from … to "), "overlap",
            ),
            "–",
        )
    )  # fmt: skip
    used = rule or fitted.rule(population)
    terminal.say(result.sentence)
    terminal.note(f"{counted(len(fitted.fits), 'synthetic file')}, rule {used}: {RULES.get(used, '')}")
    for why in _warnings(fitted, used):
        terminal.note(why)
    terminal.emit(
        {
            "rule": used, "files": len(fitted.fits), "overlap": result.value, "sentence": result.sentence,
            "values": dict(result.values), "coefficients": shown.to_dicts(),
        }
    )  # fmt: skip
    if chart is not None:
        kept = table.filter(~pl.Series(few))
        write_chart(coefficient_chart(kept), chart, terminal)


def _warnings(fitted: SyntheticFit, used: Any) -> list[str]:
    """What a reader of the intervals must know."""
    done = fitted.combined(rule=used)
    notes = []
    if done.negative.any():
        notes.append(
            f"the rule gave a negative variance for {int(done.negative.sum())} coefficients; make more files"
        )
    few = float(done.df.min())
    if few < 4:
        notes.append(f"{figure(few)} degrees of freedom: the intervals are very wide; make more files")
    return notes


def _range(table: pl.DataFrame, low: str, high: str) -> pl.Series:
    """Two ends in one cell, which is broken between them where the line is too short."""
    ends = zip(table[low].to_list(), table[high].to_list(), strict=True)
    return pl.Series([None if a is None else f"{figure(a)} … {figure(b)}" for a, b in ends], dtype=pl.String)


def _withheld(table: pl.DataFrame, few: Sequence[bool], secret: Sequence[str]) -> pl.DataFrame:
    """The table without the original's figures of coefficients that rest on a few people's answers."""
    hidden = pl.Series(list(few))
    return table.with_columns(
        pl.when(~hidden).then(pl.col("coefficient")).otherwise(pl.lit(WITHHELD)).alias("coefficient"),
        *(pl.when(~hidden).then(pl.col(name)).alias(name) for name in secret),
    )
