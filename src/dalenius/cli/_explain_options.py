"""Options of `dalenius models explain`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dalenius.cli._console import numbers
from dalenius.models.explanations.defences import Clip, Defence, Noise, Quantize, TopK

Explains = Annotated[
    str, typer.Option("--explains", help="What is explained of a classifier: probability, logit or decision.")
]
Explainer = Annotated[
    str, typer.Option("--explainer", help="How: auto, linear, exact or permutation (Shapley values).")
]
Given = Annotated[
    Path | None,
    typer.Option(
        "--elsewhere", help="Explanations made elsewhere: one row a training record, one column a feature."
    ),
]
People = Annotated[int, typer.Option("--people", help="Training records that are rebuilt.", min=10)]
Queries = Annotated[
    int, typer.Option("--queries", help="Records of his own that the attacker may have explained.", min=2)
]
Decimals = Annotated[
    str, typer.Option("--decimals", help="Try explanations rounded to so many decimals, separated by commas.")
]
Top = Annotated[str, typer.Option("--top", help="Try showing only the so many largest values of a record.")]
Cut = Annotated[str, typer.Option("--cut", help="Try cutting values at this size.")]
NoiseScale = Annotated[
    str, typer.Option("--noise", help="Try noise of this scale; it goes without a formal guarantee.")
]


def defences(decimals: str, top: str, cut: str, noise: str) -> list[Defence | None]:
    """The defences that are tried, none first."""
    made: list[Defence | None] = [None]
    made += [Quantize(int(d)) for d in numbers("--decimals", decimals)] if decimals else []
    made += [TopK(int(k)) for k in numbers("--top", top)] if top else []
    made += [Clip(size) for size in numbers("--cut", cut)] if cut else []
    made += [Noise(scale) for scale in numbers("--noise", noise)] if noise else []
    return made
