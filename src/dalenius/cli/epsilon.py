"""`dalenius epsilon`: a privacy budget in attack terms, and back."""

from __future__ import annotations

from typing import Annotated

import typer

from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal, shown_table
from dalenius.core.errors import OptionError
from dalenius.core.result import Result
from dalenius.risk.epsilon import attack_in_words, epsilon_in_words, privacy_loss

app = typer.Typer()


@app.command()
def epsilon(
    budget: Annotated[float | None, typer.Argument(help="Privacy budget ε.")] = None,
    delta: Annotated[float, typer.Option("--delta", help="δ that goes with ε.")] = 0.0,
    found: Annotated[
        float | None,
        typer.Option("--found", help="The way back: share of the members an attack finds, for example 0.05."),
    ] = None,
    accused: Annotated[
        float, typer.Option("--accused", help="Share of outsiders that are falsely accused.")
    ] = 0.01,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Say what the best attacker can do under a privacy budget, or which budget an attack leaves possible."""
    terminal = Terminal(quiet, as_json)
    if (budget is None) == (found is None):
        raise OptionError(
            "give either a budget ('dalenius epsilon 1') or what an attack finds (--found 0.05)"
        )
    result: Result = (
        epsilon_in_words(budget, accused, delta)
        if budget is not None
        else attack_in_words(found or 0.0, accused, delta)
    )
    terminal.say(result.sentence)
    if result.table is not None:
        terminal.say(shown_table(result.table))
    if budget is not None:
        terminal.say("e^ε bounds the likelihood ratio between data sets that differ in one person:")
        terminal.say(shown_table(privacy_loss([budget])))
    terminal.emit(result.to_dict())
