"""Options that several commands share, spelled once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
Replicates = Annotated[int, typer.Option("--replicates", help="Files made by each candidate.", min=1)]
HoldoutShare = Annotated[
    float, typer.Option("--holdout-share", help="Share of the records no method sees.", min=0.0, max=0.9)
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what it would cost.")]
Chart = Annotated[
    Path | None, typer.Option("--chart", help="Write the chart to this file (.html, .svg, .png).")
]
Epsilon = Annotated[
    float | None, typer.Option("--epsilon", help="Privacy budget ε; for methods that take one.")
]

OUTPUT = "File or folder to write"
RECIPE = "Recipe of cleaning steps (JSON)"
Threshold = Annotated[
    int, typer.Option("--threshold", help="Nothing that rests on fewer original records is shown.", min=1)
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Go on where a forecast or an audit says no; what comes of it is marked."),
]
