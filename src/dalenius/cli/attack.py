"""`dalenius attack`: what published figures give away, proved, bounded and by recipe."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import typer

from dalenius.cli import _attack_options as attacks
from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal, listed, shown_table
from dalenius.core.errors import DaleniusError, OptionError
from dalenius.core.random import DEFAULT_SEED
from dalenius.data import read
from dalenius.data.atomic import replacing
from dalenius.evaluation.policy import Rule, judge
from dalenius.evaluation.protections import compare_protections
from dalenius.evaluation.publishing import rank_tables
from dalenius.published import Ledger, Published
from dalenius.release.attacking import files_read, left_out, read_both
from dalenius.release.jobs import file_digest
from dalenius.release.tables_attack import recipes
from dalenius.risk.reconstruction import Attack, guess, holds_for, reidentification
from dalenius.risk.reconstruction import attack as run_attack
from dalenius.risk.reconstruction.attacked import held_against

app = typer.Typer()


@app.command()
@opt.reads
def attack(
    published: attacks.Tables,
    kind: attacks.Kind = "exact",
    base: attacks.Base = 3,
    earlier: attacks.Earlier = None,
    same_people: attacks.SamePeople = False,
    truth: attacks.Truth = None,
    external: attacks.External = None,
    area: attacks.Area = None,
    keys: opt.Keys = None,
    pid: attacks.Pid = "pid",
    small_group: attacks.SmallGroup = 10,
    must: attacks.Must = None,
    relax: attacks.Relax = False,
    bounds: attacks.Bounds = False,
    guesses: attacks.GuessRuns = 0,
    start_from: attacks.StartFrom = None,
    which: attacks.Which = False,
    compare: attacks.Compare = False,
    show_cells: attacks.ShowCells = False,
    output: attacks.Output = None,
    record: attacks.Record = None,
    work: attacks.Work = None,
    seed: opt.SeedOption = DEFAULT_SEED,
    as_json: opt.Json = False,
    quiet: opt.Quiet = False,
    *,
    reading: opt.Reading,
) -> None:
    """Say what follows for certain from published tables, and whether limits hold.

    Proved is what every table that fits has in common. People are shown by pattern only, unless --show-cells is given.
    """
    terminal = Terminal(quiet, as_json)
    rules = [Rule.parse(line) for line in must or ()]
    new, before = read_both(published, earlier or (), record, **_treated(kind, base))
    both = new if before is None else before | new
    with terminal.progress("attacking") as tell:
        found = run_attack(
            both, threshold=small_group, same_people=same_people, relax=relax, bounds=bounds, seed=seed, keep=work,
            progress=lambda done, of: tell(f"{done:,} of {of:,} open cells looked at"),
        )  # fmt: skip
    told = _told(found, terminal)
    told["read"] = {
        n: file_digest(file)
        for path in (*published, *(earlier or ()))
        for n, file in files_read(path).items()
    }
    told["not attacked"] = [str(file) for file in left_out([*published, *(earlier or ())])]
    told["hold"] = _held(before, new, small_group, same_people, terminal)
    real, other = (None if path is None else _frame(path, reading) for path in (truth, external))
    if real is not None or other is not None:
        told |= _beside(found, real, other, area, listed(keys) or [], pid, seed, terminal)
    if start_from is not None and not guesses:
        raise OptionError("--start-from needs --guesses: how often the file is to be rebuilt")
    if guesses:
        known = None if start_from is None else _frame(start_from, reading)
        told["guesses"] = _guessed(found, real, known, guesses, seed, work, show_cells, terminal)
    told |= _planned(new, real, which, compare, seed, terminal)
    if show_cells:
        _revealed(found, terminal)
    if output is not None:
        with replacing(output) as temporary:
            found.frame().write_csv(temporary)
        terminal.note(f"cells written to {output}: confidential, they point at people")
    told["policy"] = _judged(rules, found, terminal)
    refused = bool(told["hold"]) or not all(line["met"] for line in told["policy"])
    if record is not None and not refused:
        ledger = Ledger(record)
        ledger.append(", ".join(path.stem for path in published), new)
        terminal.note(f"added to {record} as number {len(ledger.names)}")
    terminal.emit(told)
    if refused:
        raise typer.Exit(1)


def _treated(kind: str, base: int) -> dict[str, Any]:
    """What an outsider is told of the counts; one that was rounded is less than the base off, a key moves up to it."""
    known: dict[str, dict[str, Any]] = {
        "exact": {},
        "rounded": {"kind": "rounded", "base": base},
        "nearest": {"kind": "nearest", "base": base},
        "cellkey": {"kind": "cellkey", "base": base},
        "noisy": {"kind": "noisy", "scale": 1.0},
    }
    if kind not in known:
        raise OptionError(f"--kind must be one of {', '.join(known)}")
    return known[kind]


def _told(found: Attack, terminal: Terminal) -> dict[str, Any]:
    """The figures and the patterns, as sentences and as plain data."""
    for line in (*(result.sentence for result in found.results.values()), *found.remarks):
        terminal.say(line)
    terminal.say(shown_table(found.patterns()))
    return {
        "figures": {name: result.to_dict() for name, result in found.results.items()},
        "patterns": found.patterns().to_dicts(),
        "remarks": found.remarks,
    }


def _held(
    before: Published | None, new: Published, small_group: int, same_people: bool, terminal: Terminal
) -> list[str]:
    """Cells of what is to go out that must be held back beside what was out before."""
    if before is None:
        return []
    hold = holds_for(before, new, threshold=small_group, same_people=same_people)
    terminal.say(f"cells to hold back beside what was out: {'; '.join(hold) or 'none'}")
    return hold


def _judged(rules: list[Rule], found: Attack, terminal: Terminal) -> list[dict[str, Any]]:
    judged = [judge(rule, "", 1.0, [found.results.get(rule.measure)]) for rule in rules]
    for finding in judged:
        terminal.say(finding.said)
    return [{"line": f.rule.text, "met": f.met} for f in judged]


def _guessed(
    found: Attack,
    real: pl.DataFrame | None,
    known: pl.DataFrame | None,
    runs: int,
    seed: int,
    work: Path | None,
    show: bool,
    terminal: Terminal,
) -> list[dict[str, Any]]:
    """Records ranked by how often they come back, for each date that was attacked; how often such guesses are right."""
    made = []
    for fitted in found.fits.values():
        try:
            ranked = guess(fitted, truth=real, reference=known, runs=runs, seed=seed, keep=work)
        except DaleniusError as error:
            terminal.note(f"nothing is ranked: {error}")
            continue
        terminal.say(ranked.result.sentence)
        if show:
            terminal.say(shown_table(ranked.frame.head(20)))
        made.append(ranked.result.to_dict())
    return made


def _planned(
    new: Published, real: pl.DataFrame | None, which: bool, compare: bool, seed: int, terminal: Terminal
) -> dict[str, Any]:
    """Which change of the tables protects most, and what other ways of protection would buy."""
    told: dict[str, Any] = {}
    if which:
        ranked = rank_tables(new, seed=seed)
        terminal.say(shown_table(ranked.head(20)))
        told["which"] = ranked.to_dicts()
    if compare:
        if real is None:
            raise OptionError("--compare needs --truth: the tables are made of it again")
        margins = list(dict.fromkeys(m.columns for m in new.margins if m.columns))
        widest = [m for m in margins if not any(set(m) < set(other) for other in margins)]
        found = compare_protections(real, widest, seed=seed)
        terminal.say(shown_table(found.table))
        told["compare"] = found.table.to_dicts()
    return told


def _revealed(found: Attack, terminal: Terminal) -> None:
    cells = found.frame().filter(pl.col("low") > 0).sort("proved", "low", descending=[True, False])
    terminal.say(shown_table(cells.head(40)))
    for line in recipes(found):
        terminal.say(line)


def _frame(path: Path, reading: opt.Reading) -> pl.DataFrame:
    return read(path, **reading.options(path, strict=False)).to_frame("polars")


def _beside(
    found: Attack, real: pl.DataFrame | None, other: pl.DataFrame | None, area: str | None, keys: list[str], pid: str,
    seed: int, terminal: Terminal,
) -> dict[str, Any]:  # fmt: skip
    """What the proofs are worth beside the true file, and links to an outside file beside guessing."""
    if real is None:
        raise OptionError("--external needs --truth: links cannot be confirmed without it")
    told: dict[str, Any] = {"truth": held_against(found, real)}
    right, cells, held = (told["truth"][name] for name in ("right %", "cells", "cells with people"))
    terminal.say(
        f"{right:.1f} % of the {cells:,.0f} proved cells, {held:,.0f} of them with people, are right in the true file"
        if cells
        else "nothing is proved that could be held against the true file"
    )
    if other is None:
        return told
    if area is None or not keys:
        raise OptionError("--external needs --area and --keys: by what people are linked")
    columns = found.columns
    cells = found.frame().filter(pl.col("low") > 0)
    people = cells.select(pl.exclude("low", "high", "proved").repeat_by("low").explode())
    links = reidentification(
        people, other.cast({area: pl.String, **dict.fromkeys(keys, pl.String)}),
        real.cast(dict.fromkeys(columns, pl.String)), area=area, keys=keys,
        attributes=[c for c in columns if c not in (area, *keys)], pid=pid, seed=seed,
    )  # fmt: skip
    told["links"] = links.to_dict()
    terminal.say(links.sentence)
    if links.table is not None:
        terminal.say(shown_table(links.table))
    return told
