"""Options of `dalenius tables`, and how they become a table, its rules and its cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import polars as pl
import typer

from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal, listed
from dalenius.cli._input import load
from dalenius.core.errors import FileError, OptionError
from dalenius.data.schema import Column, Kind, Role
from dalenius.data.table import Table
from dalenius.data.units import Units
from dalenius.data.vector import Vector
from dalenius.tables import (
    Hierarchy,
    Manual,
    Requirement,
    TableModel,
    default_rules,
    define,
    parse_rule,
    read_apriori,
    read_hierarchy,
)
from dalenius.tables.protection import PrimaryRule

Microdata = Annotated[Path, typer.Argument(help="Microdata, or inner cells with --freq.")]
By = Annotated[list[str] | None, typer.Option("--by", "-b", help="Columns to cross, separated by commas.")]
Formula = Annotated[
    str | None, typer.Option("--formula", "-f", help="Margins instead, such as '~ age * geo + eu:year'.")
]
Tables = Annotated[
    list[str] | None,
    typer.Option(
        "--table", "-t", help="One of several linked tables, NAME=COLUMNS or NAME=FORMULA; repeatable."
    ),
]
Hier = Annotated[
    list[str] | None,
    typer.Option(
        "--hier", "-H", help="Hierarchy file of a column, as COLUMN=FILE or FILE named after the column."
    ),
]
Totals = Annotated[
    list[str] | None,
    typer.Option(
        "--total",
        help="Code of the total, or COLUMN=CODE (COLUMN= where there is none); found by name and sums "
        "otherwise; repeatable.",
    ),
]
Rules = Annotated[
    list[str] | None,
    typer.Option(
        "--rule",
        "-R",
        help="freq:N, freq0:N (zeros open), contributors:N, nk:N,K, p:P, pq:P,Q, request:K or k:N, with options such "
        "as 'p:10,coalition=2'; repeatable. Without any: freq:3 for counts, contributors:2 and p:10 for sums.",
    ),
]
Freq = Annotated[str | None, typer.Option("--freq", help="Column with the count of each row.")]
Value = Annotated[str | None, typer.Option("--value", help="Column of values; summed (a magnitude table).")]
Contributor = Annotated[
    str | None,
    typer.Option("--contributor", help="Column that says whose row it is; default: the entity of --schema."),
]
Weight = Annotated[str | None, typer.Option("--weight", help="Column of sampling weights.")]
Holding = Annotated[
    str | None, typer.Option("--holding", help="Column with the group a contributor belongs to.")
]
Asked = Annotated[
    str | None, typer.Option("--request", help="Column that says who asked for protection (rule request:K).")
]
Prior = Annotated[
    float | None,
    typer.Option("--prior", help="Audit: intruders know every inner cell to within this percentage."),
]
Zeros = Annotated[
    bool | None,
    typer.Option(
        "--extend0/--no-extend0",
        help="Missing combinations are zeros (counts: yes, sums: no).",
        show_default=False,
    ),
]
Structural = Annotated[
    Path | None, typer.Option("--structural", help="File of combinations that cannot exist (with --extend0).")
]
ManualCells = Annotated[Path | None, typer.Option("--manual", help="File of cells to protect in any case.")]
Forced = Annotated[Path | None, typer.Option("--forced", help="File of cells to publish in any case.")]
Hidden = Annotated[Path | None, typer.Option("--hidden", help="File of cells that are not published at all.")]
Usefulness = Annotated[
    Path | None,
    typer.Option("--usefulness", help="File of cells with a column 'weight': keep the heavy ones."),
]
Small = Annotated[str, typer.Option("--small", help="Method for small counts.")]
Singleton = Annotated[
    str | None, typer.Option("--singleton", help="Rules for single contributors, e.g. numttHTT.")
]
SecondaryZeros = Annotated[
    bool, typer.Option("--secondary-zeros", help="Zeros may be suppressed to protect other cells.")
]
SingletonZeros = Annotated[
    bool, typer.Option("--singleton-zeros", help="Sums of zeros are treated like sums of small counts.")
]
Repair = Annotated[
    bool,
    typer.Option("--repair/--no-repair", help="Suppress more until the audit passes (done unless refused)."),
]
Unions = Annotated[
    bool,
    typer.Option(
        "--unions/--no-unions",
        help="Sums of suppressed cells that follow from published ones keep the rules too.",
    ),
]
RangeMin = Annotated[float, typer.Option("--range-min", help="Least width of the intervals.")]
RangePercent = Annotated[
    float, typer.Option("--range-percent", help="Least width of the intervals, in percent of the value.")
]
Insiders = Annotated[
    bool, typer.Option("--insiders", help="Audit also the intervals that single contributors see.")
]
Coalition = Annotated[
    list[str] | None,
    typer.Option(
        "--coalition", help="Contributors who pool what they know, separated by commas; repeatable."
    ),
]
Check = Annotated[bool, typer.Option("--audit/--no-audit", help="Audit the outcome.")]
Mark = Annotated[str, typer.Option("--mark", help="Mark of a suppressed cell.")]
WAYS = ("suppression", "optimal", "sequential")
Way = Annotated[
    str,
    typer.Option(
        "--way",
        help="Way to protect the table; suppression (elimination), optimal (fewest cells, small tables) or sequential; "
        "tables compare shows what each costs.",
    ),
]
Link = Annotated[
    str, typer.Option("--link", help="How linked tables are protected: global, consistent, chained …")
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        help="File or folder to write; the publishable table as .csv, .xlsx, .parquet, .json "
        "(JSON-stat), .sdmx.csv, .rds; .tab and .jj for τ-ARGUS hold true values: confidential.",
    ),
]
Page = Annotated[Path | None, typer.Option("--html", help="Page to write (HTML); the table.")]
Rows = Annotated[str | None, typer.Option("--down", help="Dimension down the page.")]
Columns = Annotated[str | None, typer.Option("--across", help="Dimension across the page.")]
Missing = Annotated[
    str | None, typer.Option("--missing", help="Code for rows whose columns to cross are empty.")
]
AprioriFile = Annotated[
    Path | None,
    typer.Option("--apriori", help="A priori file of τ-ARGUS (.hst): statuses, costs, protection levels."),
]
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

ROWS = "number of rows"
"""What is summed where rows of people with several are counted."""


@dataclass(frozen=True)
class Source:
    """Where a table comes from and what it shows: what was given for the options of these names."""

    microdata: Path
    by: list[str] | None = None
    formula: str | None = None
    tables: list[str] | None = None
    hier: list[str] | None = None
    structural: Path | None = None
    columns: Mapping[str, Any] = field(default_factory=dict)
    reading: opt.Reading | None = None
    schema: Path | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any], microdata: Path | None = None) -> Source:
        """From the options of a command, which has some or all of them."""
        own = {name: given.get(name) for name in ("by", "formula", "tables", "hier", "structural")}
        plain = ("freq", "value", "contributor", "weight", "holding", "request", "missing", "extend0")
        columns = {name: given[name] for name in plain if name in given}
        data = given["microdata"] if microdata is None else microdata
        return cls(data, **own, columns=columns, reading=given.get("reading"), schema=given.get("schema"))

    def model(self, terminal: Terminal) -> TableModel:
        """Read the data and define the table."""
        names = listed(self.by)
        if sum(x is not None for x in (names, self.formula, self.tables)) != 1:
            raise OptionError("give one of --by (columns to cross), --formula or several --table")
        data, named = self._owned(load(self.microdata, self.schema, terminal, self.reading).table, terminal)
        return define(
            data, names, formula=self.formula, tables=None if self.tables is None else _named_tables(self.tables),
            hierarchies=trees(self.hier, names or data.names), structural=cells_of(self.structural), **named,
        )  # fmt: skip

    def _owned(self, data: Table, terminal: Terminal) -> tuple[Table, dict[str, Any]]:
        """The data and the columns that were named; rows of microdata are those of the schema's people.

        Rows of people who have several are counted as sums of ones, so that rules look at people.
        """
        named = dict(self.columns)
        if "contributor" not in named or named.get("freq") is not None:
            return data, named
        owner = contributor_of(data, named["contributor"], self.schema, terminal)
        if named["contributor"] is None and owner is not None and named.get("value") is None:
            if Units.of(data[owner]).most_rows < 2:
                return data, named
            ones = Vector(Column(ROWS, Kind.INTEGER), np.ones(data.rows, np.int64))
            data, named["value"] = data.with_vectors(ones), ROWS
        return data, {**named, "contributor": owner}


def contributor_of(data: Table, named: str | None, schema: Path | None, terminal: Terminal) -> str | None:
    """Column that says whose row it is: the one that was named, or the entity of a schema that was given."""
    people = [] if schema is None else data.schema.by_role(Role.ENTITY)
    if named is not None or not people:
        return named
    terminal.note(f"contributors are the units of column {people[0]!r}, as the schema says")
    return people[0]


def requirement_of(given: Mapping[str, Any]) -> Requirement:
    """Widths of intervals to ask for."""
    return Requirement(range_min=given["range_min"], range_percent=given["range_percent"])


def protection_of(given: Mapping[str, Any], model: TableModel) -> tuple[list[PrimaryRule], dict[str, Any]]:
    """Rules and options of `protect` or `protect_linked`."""
    rules = rules_of(given["rule"], given["manual"])
    if not given["rule"] and given["manual"] is not None:
        rules = [*default_rules(model), *rules]  # cells named by hand come on top of the usual rules
    options = {name: given[name] for name in ("small", "singleton", "secondary_zeros")}
    options |= {"repair": given["repair"] and given["check"], "requirement": requirement_of(given)}
    options |= {"unions": given["unions"]}
    whole = ("forced", "hidden", "usefulness", "singleton_zeros", "apriori")
    odd = [f"--{name.replace('_', '-')}" for name in whole if given[name]]
    if given["link"] != "global":
        if odd:
            raise OptionError(f"{', '.join(odd)}: only with --link global")
        return rules, options
    options |= {
        "singleton_zeros": given["singleton_zeros"],
        "usefulness": weights_of(given["usefulness"], model),
    }
    options |= {name: cells_of(given[name]) for name in ("forced", "hidden")}
    if given["apriori"] is None:
        return rules, options
    if given["forced"] or given["usefulness"]:
        raise OptionError(
            "--apriori already names cells to publish and their costs; leave out --forced and --usefulness"
        )
    known = read_apriori(given["apriori"], model)
    options |= {"forced": known.forced, "usefulness": known.usefulness}
    return list(known.rules(*(rules or default_rules(model)))), options


def refuse_beside_programs(given: Mapping[str, Any]) -> None:
    """Options of the elimination are refused where integer programs choose the cells, rather than left unused."""
    usual = {"small": "auto", "link": "global", "repair": True, "check": True, "unions": True}
    own = ("tables", "forced", "hidden", "usefulness", "apriori", "small", "singleton", "secondary_zeros",
           "singleton_zeros", "link", "repair", "check", "unions")  # fmt: skip
    flags = {"tables": "--table", "repair": "--no-repair", "check": "--no-audit", "unions": "--no-unions"}
    odd = [
        flags.get(n, f"--{n.replace('_', '-')}")
        for n in own
        if (given[n] or n in usual) and given[n] != usual.get(n)
    ]
    if odd:
        raise OptionError(f"{', '.join(odd)}: only with --way suppression, not --way {given['way']}")


def _named_tables(texts: list[str]) -> dict[str, str | list[str]]:
    """The linked tables by name; the names become part of file names."""
    named = [_named_table(text) for text in texts]
    found = dict(named)
    if len(found) < len(named):
        raise OptionError("two --table options have the same name; give each its own")
    odd = [name for name in found if not name or any(sign in name for sign in "/\\\0")]
    if odd:
        raise OptionError(
            f"--table {odd[0]!r}: the name becomes part of a file name; write it without / and \\"
        )
    return found


def _named_table(text: str) -> tuple[str, str | list[str]]:
    name, equals, layout = text.partition("=")
    if not equals or not layout.strip():
        raise OptionError(f"--table {text!r}: write NAME=COLUMNS or NAME=FORMULA, such as jobs=sex,job")
    formula = any(sign in layout for sign in "~*:+")
    return name.strip(), layout if formula else [part.strip() for part in layout.split(",")]


def trees(hier: list[str] | None, columns: list[str]) -> dict[str, Hierarchy]:
    """Hierarchy files by column."""
    found = {}
    for text in hier or []:
        column, equals, file = text.partition("=")
        if not equals:
            file, column = text, Path(text).stem
        if column not in columns:
            raise OptionError(f"hierarchy {Path(file).name} belongs to no column of --by; write COLUMN=FILE")
        found[column] = read_hierarchy(file)
    return found


def totals(given: list[str] | None, columns: list[str]) -> str | dict[str, str] | None:
    """The codes of totals: one for all columns, or by column."""
    if not given:
        return None
    if len(given) == 1 and given[0].partition("=")[0] not in columns:
        return given[0]
    found = dict(text.partition("=")[::2] for text in given if "=" in text)
    if len(found) < len(given):
        raise OptionError("--total: write COLUMN=CODE for each column, or one code for all of them")
    return found


def rules_of(texts: list[str] | None, manual: Path | None) -> list[PrimaryRule]:
    """The primary rules asked for."""
    rules: list[PrimaryRule] = [parse_rule(text) for text in texts or []]
    if manual is not None:
        rules.append(Manual(cell_file(manual)))
    return rules


def cell_file(path: Path) -> pl.DataFrame:
    """A CSV file of cells: the dimension columns as text."""
    try:
        return pl.read_csv(path, infer_schema=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise FileError(
            f"{path.name}: cannot be read as CSV; one row a cell with the codes is expected"
        ) from error


def cells_of(path: Path | None) -> Any:
    """The cells of a file, if one is given."""
    return None if path is None else cell_file(path)


def weights_of(path: Path | None, model: TableModel) -> Any:
    """How useful cells are: 1, or what the file says."""
    if path is None:
        return None
    frame = cell_file(path)
    if "weight" not in frame.columns:
        raise FileError(f"{path.name}: needs a column 'weight' beside the codes")
    given = frame["weight"].cast(pl.Float64, strict=False)
    if given.null_count():
        raise FileError(f"{path.name}: {given.null_count()} entries of the column 'weight' are not numbers")
    weights = np.ones(len(model.cells))
    weights[model.places(frame)] = given.to_numpy()
    return weights
