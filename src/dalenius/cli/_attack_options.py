"""Options of `dalenius attack`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dalenius.cli import _options as opt

Tables = Annotated[
    list[Path], typer.Argument(help="Tables (one row a cell), folders of them, a list (YAML) or a ledger.")
]
Earlier = Annotated[
    list[Path] | None, typer.Option("--earlier", help="What was out before: which cells must be held back?")
]
SamePeople = Annotated[
    bool, typer.Option("--same-people", help="Tables of other dates speak of the same people.")
]
Truth = Annotated[
    Path | None, typer.Option("--truth", help="The confidential file: how often are the proofs right?")
]
External = Annotated[
    Path | None, typer.Option("--external", help="An outside file with names, to link rebuilt people to.")
]
Area = Annotated[str | None, typer.Option("--area", help="Column of the area, for links.")]
Pid = Annotated[str, typer.Option("--pid", help="Column of the names in the outside file and the truth.")]
SmallGroup = Annotated[int, typer.Option("--small-group", help="Groups of fewer people are small.", min=1)]
Must = Annotated[
    list[str] | None, typer.Option("--must", help="A limit (such as 'proved-unique <= 0 %'); repeatable.")
]
Relax = Annotated[
    bool, typer.Option("--relax", help="Change figures that contradict each other as little as possible.")
]
Bounds = Annotated[
    bool, typer.Option("--bounds", help="Find the exact bounds of every cell, which takes longer.")
]
GuessRuns = Annotated[
    int, typer.Option("--guesses", help="Rebuild the file so often and rank what comes back.", min=0)
]
StartFrom = Annotated[
    Path | None,
    typer.Option("--start-from", help="A public sample of other people, from which --guesses start."),
]
ShowCells = Annotated[
    bool, typer.Option("--show-cells", help="Also show cells and recipes: they point at people.")
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help=f"{opt.OUTPUT}; all proved and bounded cells.")
]
Record = Annotated[
    Path | None,
    typer.Option(
        "--record", help="Add the tables to this record of what is out, if limits hold beside what is in it."
    ),
]
Work = Annotated[
    Path | None,
    typer.Option("--work", help="Folder for the state: an attack that was killed goes on from it."),
]
Which = Annotated[
    bool, typer.Option("--which", help="Which one table, dropped or coarsened, would prove fewest people?")
]
Compare = Annotated[
    bool,
    typer.Option("--compare", help="Protect the tables of --truth in several ways and attack each again."),
]
Kind = Annotated[
    str,
    typer.Option(
        "--kind", help="How counts were treated: exact, rounded (up or down), nearest, cellkey or noisy."
    ),
]
Base = Annotated[
    int, typer.Option("--base", help="Rounding base, or largest deviation of cell keys and noise.", min=1)
]
