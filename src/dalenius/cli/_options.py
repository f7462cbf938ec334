"""Options that several commands share, spelled once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from dalenius.core.random import DEFAULT_SEED
from dalenius.data.files import takes

Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON on standard output.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors (and JSON).")]
SeedOption = Annotated[int, typer.Option("--seed", "-s", help="Seed: the same seed gives the same result.")]
SchemaFile = Annotated[
    Path | None, typer.Option("--schema", help="Schema of the data (YAML); inferred when not given.")
]
Keys = Annotated[
    list[str] | None, typer.Option("--keys", "-k", help="Columns an intruder may know, separated by commas.")
]
Targets = Annotated[
    list[str] | None,
    typer.Option("--targets", "-t", help="Columns that would hurt if learnt, separated by commas."),
]
Holdout = Annotated[
    Path | None, typer.Option("--holdout", help="Records of the same population that were not used.")
]
Measures = Annotated[
    list[str] | None, typer.Option("--measures", help="Names of measures; see 'dalenius methods'.")
]
Options = Annotated[
    list[str] | None,
    typer.Option(
        "--option", help="Option of a method or measure: cart.minbucket=5, k-marginal.by=region; repeatable."
    ),
]
AllMeasures = Annotated[bool, typer.Option("--all", help="Run every measure, also the slow ones.")]
Report = Annotated[Path | None, typer.Option("--report", "-r", help="Write an HTML report to this file.")]
Original = Annotated[Path, typer.Argument(help="Confidential data: CSV, Parquet, Excel, SPSS, Stata, SAS …")]
WAY = "Way to protect the data"
METHOD_HELP = f"{WAY}; see 'dalenius methods'."
Method = Annotated[str, typer.Option("--method", "-m", help=METHOD_HELP)]
Columns = Annotated[
    list[str] | None, typer.Option("--columns", "-c", help="Only these columns, separated by commas.")
]
Entity = Annotated[
    str | None, typer.Option("--entity", help="Column that says whose rows they are: who is protected.")
]
Panel = Annotated[
    str | None,
    typer.Option(
        "--panel",
        help="PERSON:WAVE (or PERSON:START:END, spells): people have several rows, which stay in order.",
    ),
]
Replicates = Annotated[int, typer.Option("--replicates", help="Files made by each candidate.", min=1)]
HoldoutShare = Annotated[
    float, typer.Option("--holdout-share", help="Share of the records no method sees.", min=0.0, max=0.9)
]
Stream = Annotated[
    bool,
    typer.Option(
        "--stream", help="Read (and write) in parts, for files larger than memory; one protected file."
    ),
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what it would cost.")]
Chart = Annotated[
    Path | None, typer.Option("--chart", help="Write the chart to this file (.html, .svg, .png).")
]
Epsilon = Annotated[
    float | None, typer.Option("--epsilon", help="Privacy budget ε; for methods that take one.")
]
Ledger = Annotated[
    Path | None,
    typer.Option("--ledger", help="Ledger that pays; default: the one beside the data, if there is one."),
]

OUTPUT = "File or folder to write"
RECIPE = "Recipe of steps (YAML or JSON)"
Threshold = Annotated[
    int, typer.Option("--threshold", help="Nothing that rests on fewer original records is shown.", min=1)
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Go on where a forecast or an audit says no; what comes of it is marked."),
]
LikeInput = Annotated[
    bool,
    typer.Option(
        "--like-input",
        help="Write separator, decimal and thousands signs, encoding and gaps as the input has them.",
    ),
]

MISSING_HELP = (
    "Cells that stand for no value, separated by commas; default: empty, and NA, NULL, . among numbers."
)


class Group:
    """Options that go together: a dataclass of them, which `reads` spreads out over the commands that take it."""


@dataclass(frozen=True)
class Making(Group):
    """How a protected file is made and written; the options of every command that makes one."""

    like_input: LikeInput = False
    dry_run: DryRun = False
    force: Force = False
    seed: SeedOption = DEFAULT_SEED


@dataclass(frozen=True)
class Reading(Group):
    """How a file is to be read, where that is not to be guessed; the options of every command that reads one."""

    na: Annotated[str | None, typer.Option("--na", help=MISSING_HELP)] = None
    sheet: Annotated[str | None, typer.Option("--sheet", help="Sheet of a workbook, by name or number.")] = (
        None
    )
    separator: Annotated[
        str | None,
        typer.Option("--separator", help="Sign between the fields of a text file ('tab' for tabs)."),
    ] = None
    decimal: Annotated[
        str | None, typer.Option("--decimal", help="Decimal sign of a text file: '.' or ','.")
    ] = None
    thousands: Annotated[
        str | None, typer.Option("--thousands", help="Sign between thousands in a text file.")
    ] = None
    encoding: Annotated[str | None, typer.Option("--encoding", help="Encoding of a text file.")] = None

    def options(self, path: Path, strict: bool = True) -> dict[str, Any]:
        """Options of `dalenius.data.read`; for a further file (not ``strict``) only those that its type has."""
        sheet = int(self.sheet) if self.sheet and self.sheet.isdigit() else self.sheet
        words = None if self.na is None else ("", *(w.strip() for w in self.na.split(",") if w.strip()))
        given = {
            "missing_strings": words, "sheet": sheet, "decimal": self.decimal, "thousands": self.thousands,
            "separator": "\t" if self.separator == "tab" else self.separator, "encoding": self.encoding,
        }  # fmt: skip
        known = takes(path)
        return {
            name: value for name, value in given.items() if value is not None and (strict or name in known)
        }


def reads(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command, in place of each parameter that is a `Group` (``reading: Reading``), the options of the group."""
    own = inspect.signature(command, eval_str=True)
    groups = {
        name: p.annotation for name, p in own.parameters.items()
        if isinstance(p.annotation, type) and issubclass(p.annotation, Group)
    }  # fmt: skip
    parts = {name: inspect.signature(group, eval_str=True).parameters for name, group in groups.items()}

    @wraps(command)
    def run(**given: Any) -> None:
        made = {name: group(**{k: given.pop(k) for k in parts[name]}) for name, group in groups.items()}
        command(**given, **made)

    kept = [p.replace(kind=p.KEYWORD_ONLY) for name, p in own.parameters.items() if name not in groups]
    added = [p.replace(kind=p.KEYWORD_ONLY) for part in parts.values() for p in part.values()]
    last = [p for p in kept if p.name in ("as_json", "quiet")]
    ordered = [*(p for p in kept if p not in last), *added, *last]
    run.__signature__ = own.replace(parameters=ordered)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in ordered}
    return run
