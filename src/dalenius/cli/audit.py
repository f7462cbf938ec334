"""`dalenius audit`: what a synthesizer itself gives away, by repeated syntheses of random halves of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal, listed, shown_table
from dalenius.cli._input import load
from dalenius.core.errors import OptionError
from dalenius.core.random import DEFAULT_SEED
from dalenius.data.atomic import replacing
from dalenius.risk.membership.shadow import shadow_audit
from dalenius.risk.split import train_control_risk
from dalenius.synth import Candidate

app = typer.Typer()


@app.command()
@opt.reads
def audit(
    data: opt.Original,
    method: opt.Method = "cart",
    epsilon: opt.Epsilon = None,
    option: opt.Options = None,
    schema: opt.SchemaFile = None,
    keys: opt.Keys = None,
    targets: opt.Targets = None,
    runs: Annotated[
        int, typer.Option("--runs", help="Syntheses; a candidate is in half of them.", min=4)
    ] = 16,
    candidates: Annotated[int, typer.Option("--candidates", help="People tested.", min=2)] = 200,
    exposed: Annotated[
        Path | None,
        typer.Option(
            "--exposed", help="Write row numbers, the most exposed first, as CSV: for the data holder."
        ),
    ] = None,
    seed: opt.SeedOption = DEFAULT_SEED,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    *,
    reading: opt.Reading,
) -> None:
    """Tell members from outsiders by repeated syntheses: the strongest membership attack, on the method itself.

    With --keys and --targets also: how much of what can be read off comes from having been in the data (a fifth of it
    is kept away from the method).
    """
    terminal = Terminal(quiet, as_json)
    if bool(keys) != bool(targets):
        raise OptionError("--keys and --targets go together: what is known, and what would be learnt from it")
    typed = Candidate.parse(method, option).options
    candidate = Candidate(method, {**typed, **({} if epsilon is None else {"epsilon": epsilon})})
    candidate.check()
    table = load(data, schema, terminal, reading).table
    with terminal.progress("synthesizing") as show:
        audited = shadow_audit(
            table, candidate, runs=runs, candidates=candidates, seed=seed,
            progress=lambda done, every: show(f"{done} of {every} syntheses"),
        )  # fmt: skip
        known, wanted = listed(keys), listed(targets)
        control = train_control_risk(table, candidate, known, wanted, seed=seed) if known and wanted else None
    result = audited.result()
    terminal.say(result.sentence)
    if control is not None:
        terminal.say(shown_table(control))
    terminal.emit(result.to_dict() | ({} if control is None else {"control": control.to_dicts()}))
    if exposed is not None:
        with replacing(exposed) as temporary:
            audited.exposure().write_csv(temporary)
        terminal.note(f"row numbers and exposure written to {exposed}: confidential")
