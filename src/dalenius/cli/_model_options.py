"""Options of `dalenius models`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal, listed
from dalenius.cli._input import load, load_like
from dalenius.models import ModelCase

Model = Annotated[
    Path,
    typer.Argument(
        help="The model: .skops, XGBoost's .json or .ubj, LightGBM's .txt, or coefficients (.csv)."
    ),
]
Train = Annotated[Path, typer.Argument(help="The file the model was fitted on.")]
Predicts = Annotated[
    str | None,
    typer.Option(
        "--predicts", "-p", help="Column that the model predicts; default: the one with the role target."
    ),
]
Features = Annotated[
    list[str] | None,
    typer.Option("--features", help="Columns in the model's order, where it does not know their names."),
]
Link = Annotated[
    str | None, typer.Option("--glm", help="What a table of coefficients is: linear or logistic.")
]
Refits = Annotated[
    int, typer.Option("--refits", help="Times the model is fitted again for the likelihood ratio.", min=4)
]
Skip = Annotated[
    list[str] | None,
    typer.Option("--skip", help="Attacks to leave out: loss, shadow, lira, sacro, attribute; by commas."),
]

Must = Annotated[
    list[str] | None,
    typer.Option(
        "--must", help="A limit (such as 'model-membership <= 0.6'), instead of those of a plan; repeatable."
    ),
]
MustExplain = Annotated[
    list[str] | None,
    typer.Option("--must", help="A limit (such as 'model-explanations <= 10 %'); repeatable."),
]


def open_case(
    model: Path, train: Path, holdout: Path | None, predicts: str | None, features: list[str] | None, link: Any,
    schema: Path | None, entity: str | None, terminal: Terminal, reading: opt.Reading,
) -> ModelCase:  # fmt: skip
    """The model and its files, read and held against each other."""
    known = load(train, schema, terminal, reading).table
    if entity is not None:
        known = known.with_schema(known.schema.with_roles(entity=entity))
    others = None if holdout is None else load_like(holdout, known, terminal, reading).table
    return ModelCase.of(model, known, others, target=predicts, features=listed(features), family=link)
