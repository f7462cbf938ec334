"""`dalenius plan`, `release` and `verify`: from a file to a pack that can leave the house."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal, grid_of
from dalenius.cli._databases import holds_tables, load_database
from dalenius.cli._input import load
from dalenius.core.cost import Cost, duration, size
from dalenius.core.errors import OptionError
from dalenius.core.result import Result, figure
from dalenius.core.small_cells import THRESHOLD
from dalenius.data.atomic import write_text
from dalenius.release import Plan, Release, forecast, read_plan, run_plan, template, verify_pack, write_pack
from dalenius.release.fit_pack import write_fit_pack
from dalenius.release.fit_plan import is_fit_plan, read_fit_plan
from dalenius.release.fit_release import FitRelease, run_fit_plan
from dalenius.release.forecast import BESIDES
from dalenius.release.learnt_pack import write_learnt_pack
from dalenius.release.learnt_plan import is_learnt_plan, read_learnt_plan
from dalenius.release.learnt_release import LearntRelease, run_learnt_plan
from dalenius.release.model_pack import write_model_pack
from dalenius.release.model_plan import is_model_plan, read_model_plan
from dalenius.release.model_release import ModelRelease, Released, run_model_plan
from dalenius.release.outcome import Judged
from dalenius.release.pack import pack_digest
from dalenius.release.tell import close_lines, unset_line
from dalenius.release.template import weak_keys
from dalenius.release.template_tables import database_template
from dalenius.release.verify import Verification, check_release

app = typer.Typer()

NOT_ACCEPTED = 1
"""Exit code when everything ran and the answer is no: policy not met, pack changed."""


@app.command()
@opt.reads
def plan(
    data: opt.Original,
    output: Annotated[
        Path, typer.Option("--output", "-o", help=f"{opt.OUTPUT}; the plan, beside the data.")
    ] = Path("plan.yaml"),
    schema: opt.SchemaFile = None,
    quiet: opt.Quiet = False,
    *,
    reading: opt.Reading,
) -> None:
    """Write a commented release plan for a file or a folder of tables, to be read and corrected."""
    terminal = Terminal(quiet)
    beside = _beside(schema, output) if schema else None
    if holds_tables(data):
        write_text(
            output, database_template(_beside(data, output), load_database(data, schema, terminal), beside)
        )
        terminal.say(f"plan written to {output}; read it, correct it, then: dalenius release {output}")
        return
    loaded = load(data, schema, terminal, reading)
    text = template(_beside(data, output), loaded.table, beside, reading=reading.options(data))
    write_text(output, text)
    if weak := weak_keys(loaded.table):
        terminal.note(weak)
    terminal.say(f"plan written to {output}; read it, correct it, then: dalenius release {output}")


def _beside(path: Path, plan_file: Path) -> Path:
    """The path as seen from the plan's folder."""
    try:
        return path.absolute().relative_to(plan_file.absolute().parent)
    except ValueError:
        return path.absolute()


@app.command()
def release(
    plan_file: Annotated[Path, typer.Argument(metavar="PLAN", help="Plan file; see 'dalenius plan'.")],
    check: Annotated[
        bool,
        typer.Option(
            "--check", help="Make the pack again and compare; exit code 1 if it differs or fails policy."
        ),
    ] = False,
    dry_run: opt.DryRun = False,
    workers: Annotated[
        int | None, typer.Option("--workers", help="Processes to use; default: one per core.", min=1)
    ] = None,
    threshold: opt.Threshold = THRESHOLD,
    key: Annotated[
        Path | None,
        typer.Option(
            "--key", envvar="DALENIUS_KEY", help="Private key that signs the pack; see 'dalenius key'."
        ),
    ] = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Make and measure every candidate of a plan, choose by its policy, and write the release pack.

    A run that was stopped or killed continues where it was.
    """
    terminal = Terminal(quiet, as_json)
    if is_model_plan(plan_file):
        _release_model(plan_file, check or dry_run, key, terminal)
        return
    if is_fit_plan(plan_file):
        _release_fit(plan_file, check or dry_run, key, terminal)
        return
    if is_learnt_plan(plan_file):
        _release_learnt(plan_file, check or dry_run, key, terminal)
        return
    wanted = read_plan(plan_file)
    if dry_run:
        _costs(wanted, terminal)
        return
    with terminal.progress("release") as show:

        def progress(name: str, done: int, of: int) -> None:
            show(f"{done} of {of} done ({name})")

        if check:
            found = check_release(wanted, workers, progress)
        else:
            outcome = run_plan(wanted, workers, progress)
    if check:
        _tell(found, f"{wanted.output} comes out again and meets its policy", terminal)
        return
    _show(outcome, terminal)
    chosen = outcome.chosen.candidate.name if outcome.chosen else None
    if chosen is not None:
        with terminal.progress("writing the pack"):
            write_pack(outcome, threshold, key)
    digest = pack_digest(wanted.output) if chosen else None
    pack = str(wanted.output) if chosen else None
    terminal.emit(
        {"chosen": chosen, "why": outcome.why, "pack": pack, "digest": digest, "signed": key is not None}
    )
    if chosen is None:
        raise typer.Exit(NOT_ACCEPTED)
    terminal.say(f"\nThe pack is in {wanted.output}: 'public' may leave the house, 'internal' stays.")
    signed = "It is signed." if key else "It is not signed (see 'dalenius key')."
    terminal.block(f"{signed} For the minutes, SHA-256 of manifest.json:\n{digest}")


def _release_model(plan_file: Path, unknown: bool, key: Path | None, terminal: Terminal) -> None:
    """The same for a plan whose candidates are models."""
    if unknown:
        raise OptionError(
            "--check and --dry-run are not for plans of models; 'dalenius verify' checks their packs"
        )
    with terminal.progress("release") as show:
        found = run_model_plan(
            read_model_plan(plan_file), lambda name, done, of: show(f"{done} of {of} done ({name})")
        )
    _models_told(found, terminal)
    _packed(found, write_model_pack(found, key) if found.chosen is not None else None, key, terminal)


def _release_learnt(plan_file: Path, unknown: bool, key: Path | None, terminal: Terminal) -> None:
    """The same for a plan whose candidates are services on a graph, or trees learnt together."""
    if unknown:
        raise OptionError(
            "--check and --dry-run are not for plans of services and trees; 'dalenius verify' checks their packs"
        )
    with terminal.progress("release") as show:
        release = run_learnt_plan(
            read_learnt_plan(plan_file), lambda name, done, of: show(f"{done} of {of} done ({name})")
        )
    _models_told(release, terminal)
    _packed(release, write_learnt_pack(release, key) if release.chosen is not None else None, key, terminal)


def _models_told(release: Released, terminal: Terminal) -> None:
    """Figures of all candidates side by side, what they break, and the choice."""
    first = release.judged[0]
    limited = [name for name in first.results if any(f.rule.measure == name for f in first.findings)]
    words = [name.removeprefix("model-").replace("-", " ") for name in limited]  # a terminal is narrow
    grid = grid_of("model", release.scored, *words, "policy")
    for judged in release.judged:
        held = [judged.results.get(name) for name in limited]
        told = ("–" if r is None else figure(r.value, r.unit) for r in held)
        score, kept = figure(judged.scores["holdout"]), "met" if judged.safe else "not met"
        grid.add_row(judged.candidate.name, score, *told, kept)
    terminal.say(grid)
    for judged in release.judged:
        for line in judged.broken:
            terminal.note(f"{judged.candidate.name}: {line}")
    terminal.say(f"\n{release.why}")


def _release_fit(plan_file: Path, unknown: bool, key: Path | None, terminal: Terminal) -> None:
    """The same for a plan whose candidates are private fits."""
    if unknown:
        raise OptionError(
            "--check and --dry-run are not for plans of private fits: noise is drawn once, and paid for; 'dalenius "
            "verify' checks their packs"
        )
    plan = read_fit_plan(plan_file)
    with terminal.progress("release") as show:
        found = run_fit_plan(plan, lambda name, done, of: show(f"{done} of {of} done ({name})"))
    grid = grid_of("fit", "ε", "half width of bands", "policy")
    for judged in found.judged:
        wide = judged.results.get("fit-width")
        kept = "met" if judged.safe else "not made" if judged.made is None else "not met"
        grid.add_row(
            judged.candidate.name, figure(judged.candidate.epsilon), "–" if wide is None else wide.told, kept
        )
    terminal.say(grid)
    for judged in found.judged:
        for line in judged.broken:
            terminal.note(f"{judged.candidate.name}: {line}")
    pays = plan.pays
    terminal.note(f"paid from {pays}" if pays else "no ledger: nobody adds up what else is released")
    terminal.say(f"\n{found.why} {found.how if found.chosen else ''}".rstrip())
    _packed(found, write_fit_pack(found, key) if found.chosen is not None else None, key, terminal)


def _packed(
    found: ModelRelease | FitRelease | LearntRelease, pack: Path | None, key: Path | None, terminal: Terminal
) -> None:
    """Say what was chosen and where its pack is; exit where nothing was."""
    digest = pack_digest(pack) if pack else None
    told = {"chosen": found.chosen.candidate.name if found.chosen else None, "why": found.why}
    terminal.emit({**told, "pack": str(pack) if pack else None, "digest": digest, "signed": key is not None})
    if pack is None:
        raise typer.Exit(NOT_ACCEPTED)
    terminal.say(f"\nThe pack is in {pack}: 'public' may leave the house, 'internal' stays.")
    terminal.block(f"For the minutes, SHA-256 of manifest.json:\n{digest}")


def _costs(wanted: Plan, terminal: Terminal) -> None:
    with terminal.progress("small trials"):
        costs = forecast(wanted)
    grid = grid_of("candidate", "making it", "measuring it", "memory")
    for name, cost in costs.items():
        grid.add_row(name, duration(cost.make), duration(cost.measure), size(cost.bytes))
    total = sum((cost.total for cost in costs.values()), Cost(0, 0))
    terminal.say(grid)
    terminal.say(
        f"\n{len(costs)} candidates, {_times(wanted.replicates)}: {total}, from small trials on this machine "
        f"(expect up to twice as much or half as much). {BESIDES} Nothing was kept."
    )
    listed = {
        name: {"seconds": c.make + c.measure, "make": c.make, "measure": c.measure, "bytes": c.bytes}
        for name, c in costs.items()
    }
    facts = {"candidates": listed, "seconds": total.seconds, "bytes": total.bytes}
    terminal.emit({**facts, "replicates": wanted.replicates})


def _times(replicates: int) -> str:
    return "each once" if replicates == 1 else f"each {replicates} times"


BESIDE = 3
"""Candidates that fit beside each other in a terminal of 80 columns without breaking the name of a measure."""


def _show_some(outcome: Release, several: Sequence[Judged], terminal: Terminal) -> None:
    """Figures of some candidates side by side, one row for each measure and intruder."""
    names = list(dict.fromkeys([*(r.measure for r in outcome.plan.about("pair")), outcome.plan.choose]))
    grid = grid_of("measure", "intruder", *(judged.candidate.name for judged in several))
    for scenario in dict.fromkeys(name for judged in several for name in judged.figures):
        for name in names:
            found = [judged.figures.get(scenario, {}).get(name) for judged in several]
            grid.add_row(name, scenario, *("–" if r is None else figure(r.value, r.unit) for r in found))
            if any(r is not None and r.added is not None for r in found):
                grid.add_row("  adds", "", *(_added(r) for r in found))
            if any(
                r is not None and r.part for r in found
            ):  # the worst target need not be the same for every file
                grid.add_row("  target", "", *(r.part if r is not None else "–" for r in found))
    grid.add_row("policy", "", *("met" if judged.safe else "not met" for judged in several))
    terminal.say(grid)


def _added(result: Result | None) -> str:
    """What being in the data adds to what strangers reach, short enough for files beside each other."""
    return "–" if result is None or result.added is None else f"{float(f'{result.added:.3g}'):+g}"


def _show(outcome: Release, terminal: Terminal) -> None:
    for start in range(0, len(outcome.judged), BESIDE):
        _show_some(outcome, outcome.judged[start : start + BESIDE], terminal)
    if outcome.attacked is not None:
        terminal.say("\nThe tables that go out with the file:")
        for result in outcome.attacked.results.values():
            terminal.say(result.sentence)
        for line in (*outcome.attacked.remarks, *(f.said for f in outcome.attacked.findings)):
            terminal.note(line)
    for judged in outcome.judged:
        beyond = [f"{f.scenario}: {f.said}" for f in judged.findings if judged.safe and f.beyond]
        for line in (*judged.broken, *beyond):
            terminal.note(f"{judged.candidate.name}: {line}")
    terminal.say(f"\n{outcome.why}")
    if outcome.chosen is not None:
        for line in close_lines(outcome.chosen):
            terminal.say(line)
    if unset := unset_line(outcome.plan):
        terminal.say(unset)


@app.command()
def verify(
    pack: Annotated[Path, typer.Argument(help="Folder of a release pack.")],
    plan_file: Annotated[
        Path | None,
        typer.Option("--plan", help="Plan beside its input; default: where it was when the pack was made."),
    ] = None,
    public_key: Annotated[
        Path | None,
        typer.Option(
            "--public-key",
            envvar="DALENIUS_PUBLIC_KEY",
            help="The steward's public key; unsigned packs are refused.",
        ),
    ] = None,
    digest: Annotated[
        str | None, typer.Option("--digest", help="SHA-256 of manifest.json, from the minutes.")
    ] = None,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Check who signed a pack, that it is whole and unchanged, and that figures and reports come out again."""
    terminal = Terminal(quiet, as_json)
    with terminal.progress("verifying"):
        found = verify_pack(pack, plan_file, public_key=public_key, digest=digest)
    _tell(found, f"{pack} is whole and unchanged", terminal)


def _tell(found: Verification, fine: str, terminal: Terminal) -> None:
    terminal.emit({"accepted": found.accepted, **asdict(found)})
    for remark in found.remarks:
        terminal.note(remark)
    if found.accepted:
        terminal.note(f"made again and equal: {', '.join(found.remade) or 'nothing'}")
        terminal.note(
            f"not made again, only compared with the manifest: {', '.join(found.not_remade) or 'nothing'}"
        )
    if found.accepted:
        terminal.say(fine)
        return
    for fault in found.faults:
        terminal.err.print(f"dalenius: {fault}", soft_wrap=True)
    raise typer.Exit(NOT_ACCEPTED)
