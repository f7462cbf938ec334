"""`dalenius plan`, `release` and `verify`: from a file to a pack that can leave the house."""

from __future__ import annotations

import filecmp
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table as Grid

from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal
from dalenius.cli._input import load
from dalenius.core.result import figure
from dalenius.data.atomic import write_text
from dalenius.release import Outcome, read_plan, run_plan, template, verify_pack, write_pack

NOT_ACCEPTED = 1
"""Exit code when everything ran and the answer is no: policy not met, pack changed."""


def plan(
    data: opt.Original,
    output: Annotated[Path, typer.Option("--output", "-o", help="Plan file to write.")] = Path("plan.yaml"),
    schema: opt.SchemaFile = None,
    quiet: opt.Quiet = False,
) -> None:
    """Write a commented release plan for a file, to be read and corrected."""
    terminal = Terminal(quiet)
    loaded = load(data, schema, terminal)
    write_text(output, template(data, loaded.table, schema))
    terminal.say(f"plan written to {output}; read it, correct it, then: dalenius release {output}")


def release(
    plan_file: Annotated[Path, typer.Argument(metavar="PLAN", help="Plan file; see 'dalenius plan'.")],
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Make the pack again and compare; exit code 1 if it differs or fails policy."
        ),
    ] = False,
    workers: Annotated[
        int | None, typer.Option("--workers", help="Processes to use; default: one per core.", min=1)
    ] = None,
    threshold: Annotated[int, typer.Option("--threshold", help="Smallest count shown by value.", min=1)] = 10,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Make and measure every candidate of a plan, choose by its policy, and write the release pack."""
    terminal = Terminal(quiet, as_json)
    wanted = read_plan(plan_file)
    if check:
        _check(plan_file, workers, threshold, terminal)
        return
    with terminal.progress("release") as show:
        outcome = run_plan(wanted, workers, lambda name, done, of: show(f"{done} of {of} done ({name})"))
    _show(outcome, terminal)
    chosen = outcome.chosen.candidate.name if outcome.chosen else None
    terminal.emit({"chosen": chosen, "why": outcome.why, "pack": str(wanted.output) if chosen else None})
    if outcome.chosen is None:
        raise typer.Exit(NOT_ACCEPTED)
    with terminal.progress("writing the pack"):
        write_pack(outcome, threshold)
    terminal.say(f"\nThe pack is in {wanted.output}: 'public' may leave the house, 'internal' stays.")


def _show(outcome: Outcome, terminal: Terminal) -> None:
    names = list(dict.fromkeys([*(r.measure for r in outcome.plan.policy), outcome.plan.choose]))
    grid = Grid("candidate", "scenario", *names, "policy", box=None, header_style="bold")
    for judged in outcome.judged:
        for scenario, results in judged.figures.items():
            cells = [figure(results[n].value, results[n].unit) if n in results else "–" for n in names]
            grid.add_row(judged.candidate.name, scenario, *cells, "met" if judged.safe else "not met")
    terminal.say(grid)
    for judged in outcome.judged:
        for line in judged.broken:
            terminal.note(f"{judged.candidate.name}: {line}")
    terminal.say(f"\n{outcome.why}")


def _check(plan_file: Path, workers: int | None, threshold: int, terminal: Terminal) -> None:
    """Rebuild in a fresh folder and compare with the pack that is there."""
    wanted = read_plan(plan_file)
    faults = verify_pack(wanted.output, plan_file)
    with tempfile.TemporaryDirectory(prefix="dalenius-check-") as place:
        outcome = run_plan(replace(wanted, output=Path(place) / wanted.output.name), workers)
        if outcome.chosen is None:
            faults.append(outcome.why)
        elif not faults:
            again = write_pack(outcome, threshold)
            for path in sorted((again / "public").iterdir()):
                if path.suffix != ".html" and not filecmp.cmp(
                    path, wanted.output / "public" / path.name, shallow=False
                ):
                    faults.append(f"public/{path.name} comes out differently")
    _tell(faults, f"{wanted.output} comes out again and meets its policy", terminal)


def verify(
    pack: Annotated[Path, typer.Argument(help="Folder of a release pack.")],
    plan_file: Annotated[
        Path | None, typer.Option("--plan", help="Plan beside its input: compute the figures again.")
    ] = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Check that a pack is whole and unchanged, and with --plan that its figures come out again."""
    terminal = Terminal(quiet, as_json)
    _tell(verify_pack(pack, plan_file), f"{pack} is whole and unchanged", terminal)


def _tell(faults: list[str], fine: str, terminal: Terminal) -> None:
    terminal.emit({"accepted": not faults, "faults": faults})
    if not faults:
        terminal.say(fine)
        return
    for fault in faults:
        terminal.err.print(f"dalenius: {fault}", soft_wrap=True)
    raise typer.Exit(NOT_ACCEPTED)
