"""One job of a plan: one candidate, made once and measured.

A job leaves three files in the work folder, each whole or not at all, in this order: the ledger of its privacy budget,
the data, the figures. Figures mean "done"; data without figures are measured, never made again, because fresh noise is
part of some guarantees and must not be drawn twice for one release.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from dalenius.core.errors import DataError
from dalenius.core.result import Result
from dalenius.core.style import StoredChart, specification
from dalenius.counts.measure import masked_measures
from dalenius.counts.pair import Pair
from dalenius.counts.unchanged import unchanged
from dalenius.data import Grouping, Schema, Table, read, write
from dalenius.data.atomic import write_text
from dalenius.data.exit import releasable
from dalenius.data.files import takes
from dalenius.data.lens import Lens
from dalenius.data.lens_file import read_lens, write_lens
from dalenius.data.relations import OWNER
from dalenius.data.schema import Column, Kind
from dalenius.data.units import deal, owner_column
from dalenius.dp import ledger_beside, paid_utility
from dalenius.dp.contributions import bound_units
from dalenius.dp.utility import private_choice
from dalenius.evaluation import evaluate_pair
from dalenius.evaluation.doubts import doubts
from dalenius.evaluation.policy import KEPT_MEASURE, described
from dalenius.release import several
from dalenius.release.plan import Plan, protection
from dalenius.release.several import make_tables, measured_tables
from dalenius.synth import Candidate, Made
from dalenius.synth.relational.candidate import DatabaseCandidate

CHOICE = "choice"
"""File of a work folder that names the candidate of a private choice."""
WHOLE, WHOLE_LENS = ".whole.parquet", ".whole.lens"
"""The recipe of a masker on all records, where a part of them was measured."""
Figures = dict[str, dict[str, Result]]
"""Results by scenario and measure."""


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def job_path(work: Path, candidate: Candidate, replicate: int) -> Path:
    """Figures of one job; its data and ledger stand beside them."""
    slug = re.sub(r"[^A-Za-z0-9=.-]+", "_", candidate.name)[:60]
    mark = hashlib.sha256(candidate.name.encode()).hexdigest()[:6]
    return work / f"{slug}-{mark}-{replicate}.json"


def do_job(plan: Plan, work: Path, candidate: Candidate, replicate: int) -> str:
    """Make (unless made before a kill) and measure one candidate; returns its name."""
    path = job_path(work, candidate, replicate)
    write_text(path.with_suffix(".begun"), "")
    if isinstance(candidate, DatabaseCandidate):
        return _do_tables(plan, candidate, replicate, path)
    original, holdout = source(plan)
    started = time.perf_counter()
    if not path.with_suffix(".parquet").is_file():
        _make(plan, candidate, replicate, path)
    made = time.perf_counter()
    lens = read_lens(path.with_suffix(".lens"))
    table = read_made(path.with_suffix(".parquet"), original, lens)
    if plan.evaluation_epsilon and candidate.private and not path.with_suffix(".paid").is_file():
        _pay_for_utility(plan, candidate, table, path)
    body = measured(plan, original, table, holdout, lens, candidate.kept)
    if path.with_suffix(WHOLE).is_file():
        opened = open_made(plan, path)
        body["again"] = measured(plan, opened.original, opened.table, opened.holdout, opened.lens)["figures"]
    body["steps"] = read_steps(path)
    seconds = {"make": made - started, "measure": time.perf_counter() - made}
    write_text(path.with_suffix(".time"), json.dumps(seconds))
    write_text(path, json.dumps(body, ensure_ascii=False, sort_keys=True, default=str) + "\n")
    return (
        candidate.name if plan.replicates == 1 else f"{candidate.name}, {replicate + 1} of {plan.replicates}"
    )


def _do_tables(plan: Plan, candidate: DatabaseCandidate, replicate: int, path: Path) -> str:
    """The same for a candidate of several tables."""
    started = time.perf_counter()
    if not path.with_suffix(".parquet").is_file():
        told = make_tables(plan, candidate, replicate, path)
        write_text(path.with_suffix(".steps"), json.dumps({"steps": list(told), "outline": []}))
        note_made(plan, path)
    made = time.perf_counter()
    body = measured_tables(plan, path)
    body["steps"] = read_steps(path)
    seconds = {"make": made - started, "measure": time.perf_counter() - made}
    write_text(path.with_suffix(".time"), json.dumps(seconds))
    write_text(path, json.dumps(body, ensure_ascii=False, sort_keys=True, default=str) + "\n")
    return (
        candidate.name if plan.replicates == 1 else f"{candidate.name}, {replicate + 1} of {plan.replicates}"
    )


def note_made(plan: Plan, path: Path) -> None:
    """Write what the first intruder sees of made tables: the job's data, as of one table."""
    seen = several.seen_by(several.job_tables(plan, path), plan.scenarios[0])
    write(seen.drop([OWNER]), path.with_suffix(".parquet"))


def job_stage(path: Path) -> str:
    """How far a job is: "waiting", "making", "measuring" or "done".

    Examples
    --------
    >>> job_stage(Path("nowhere/cart-0.json"))
    'waiting'
    """
    for ending, stage in ((".json", "done"), (".parquet", "measuring"), (".begun", "making")):
        if path.with_suffix(ending).is_file():
            return stage
    return "waiting"


def _make(plan: Plan, candidate: Candidate, replicate: int, path: Path) -> None:
    """Copy number ``replicate`` of the candidate, with the seed of the plan, whoever else is in the plan."""
    seen, _ = source(plan, blind=candidate.private)
    part = _everybody_stays(
        plan, candidate
    )  # which never leaves: what leaves is paid, the recipe on all records
    paid = candidate.paid_beside(plan.input)
    made = (candidate if part else paid).make(seen, seed=plan.seed, first=replicate, force=True)
    if made.lenses:
        write_lens(made.lenses[0], path.with_suffix(".lens"))
    if part:
        # the figures come from a part, beside people who are not in it; what goes out is the recipe on all records
        made = _make_whole(plan, paid, replicate, path, made)
    write_text(path.with_suffix(".ledger"), made.ledger)
    steps = {"steps": list(made.steps), "outline": list(made.outline)}
    write_text(path.with_suffix(".steps"), json.dumps(steps, ensure_ascii=False))
    write(made.table, path.with_suffix(".parquet"))


def _everybody_stays(plan: Plan, candidate: Candidate) -> bool:
    """Whether a candidate keeps the records themselves, so that none may be lost to a holdout."""
    return candidate.info.masks and plan.holdout is None and plan.holdout_share > 0


def _make_whole(plan: Plan, candidate: Candidate, replicate: int, path: Path, part: Made) -> Made:
    """The recipe on all records, kept beside the part that is measured against a holdout; returns the part."""
    whole = candidate.make(everybody(plan), seed=plan.seed, first=replicate, force=True)
    write_lens(whole.lenses[0], path.with_suffix(WHOLE_LENS))
    write(whole.table, path.with_suffix(WHOLE))
    return replace(part, steps=whole.steps, outline=whole.outline, ledger=whole.ledger)


@dataclass(frozen=True)
class Opened:
    """The file of a job that would go out, and what it is to be compared with."""

    table: Table
    original: Table
    holdout: Table | None
    lens: Lens | None


def open_made(plan: Plan, path: Path, scenario: str | None = None) -> Opened:
    """The file that would go out, the records it was made of, people outside them, and its lens.

    Of several tables what an intruder looks at, by default the first.
    """
    if plan.several:
        seen = plan.seen(scenario)
        base, held = several.bases(plan)
        made = several.seen_by(several.job_tables(plan, path), seen)
        return Opened(
            made, several.seen_by(base, seen), None if held is None else several.seen_by(held, seen), None
        )
    original, holdout = source(plan)
    if path.with_suffix(WHOLE).is_file():
        original, holdout = everybody(plan), None
    lens = read_lens(
        path.with_suffix(WHOLE_LENS if holdout is None and path.with_suffix(WHOLE).is_file() else ".lens")
    )
    return Opened(read_made(released_file(path), original, lens), original, holdout, lens)


def released_file(path: Path) -> Path:
    """The data of a job that would go out: where a part was measured, the recipe on everybody."""
    whole = path.with_suffix(WHOLE)
    return whole if whole.is_file() else path.with_suffix(".parquet")


def read_steps(path: Path) -> dict[str, list[str]]:
    """What the steps of a recipe did, for people inside, and their outline for everybody."""
    kept = path.with_suffix(".steps")
    none: dict[str, list[str]] = {"steps": [], "outline": []}
    return json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else none


def everybody(plan: Plan) -> Table:
    """All records of the input."""
    blind = any(candidate.private for candidate in plan.candidates)
    return load(plan.input, plan.schema, blind, plan.reading)


def _pay_for_utility(plan: Plan, candidate: Candidate, made: Table, path: Path) -> None:
    """Figures about utility that may be published; bought once, and kept."""
    seen, paying = _paying(plan, candidate)
    schema = seen.schema.select(made.names).blind()
    results = paid_utility(
        seen.select(made.names), made.to_frame(), epsilon=plan.evaluation_epsilon, schema=schema, **paying
    )
    write_text(path.with_suffix(".paid"), json.dumps([r.to_dict() for r in results], ensure_ascii=False))


def _paying(plan: Plan, candidate: Candidate) -> tuple[Table, dict[str, Any]]:
    """The records, bounded as the candidate bounds them; whom to protect, and out of which ledger to pay."""
    seen = candidate.owned(source(plan, blind=True)[0])
    neighbours, most = protection(candidate)
    unit = (owner_column(seen.schema) or "record") if most is not None else "record"
    seen, _ = bound_units(seen, most) if most is not None else (seen, [])
    pays = ledger_beside(plan.input)
    return seen, {
        "neighbours": neighbours,
        "records": most or 1,
        "unit": unit,
        "ledger": None if pays is None else str(pays),
    }


def choose_privately(plan: Plan, work: Path) -> str:
    """The candidate on which the private choice of a plan falls; drawn and paid for once, and kept."""
    kept = work / CHOICE
    if not kept.is_file():
        original, _ = source(plan)
        files = [read_made(job_path(work, c, 0).with_suffix(".parquet"), original) for c in plan.candidates]
        names = [n for n in files[0].names if all(n in file for file in files)]
        seen, paying = _paying(plan, plan.candidates[0])
        picked = private_choice(
            seen.select(names), [file.select(names).to_frame() for file in files], epsilon=plan.choice_epsilon,
            schema=seen.schema.select(names).blind(), **paying,
        )  # fmt: skip
        write_text(kept, plan.candidates[picked].name)
    return kept.read_text(encoding="utf-8")


def read_paid(path: Path) -> list[Result]:
    """Figures that a budget was spent on; none where none was."""
    paid = path.with_suffix(".paid")
    stored = json.loads(paid.read_text(encoding="utf-8")) if paid.is_file() else []
    return [Result.from_dict(each, None) for each in stored]


def read_ledger(path: Path) -> str:
    """What the privacy budget of a job was spent on; empty for methods without one."""
    ledger = path.with_suffix(".ledger")
    return ledger.read_text(encoding="utf-8") if ledger.is_file() else ""


def read_made(path: Path, original: Table, lens: Lens | None = None) -> Table:
    """A made file, encoded like the original (as the mask shows it): figures are always of what is in the file."""
    if lens is not None:
        original = lens.see_own(original)
    there = pl.read_parquet_schema(path) if path.suffix == ".parquet" else read(path).names
    kept = releasable(original).schema
    kept = kept.select([name for name in kept.names if name in there])
    # what is in the file is read, not what was declared: a blind reading would take everything for missing
    columns = [replace(c, levels=None, bounds=None, parent=None, partner=None, outside=None) for c in kept]
    # a label that every row bears is no column of the original
    columns += [Column(name, Kind.CATEGORICAL) for name in there if name not in original.names]
    return read(path, schema=replace(kept, columns=tuple(columns), rules=()))


def measured(
    plan: Plan, original: Table, made: Table, holdout: Table | None, lens: Lens | None = None,
    kept: Sequence[str] = (),
) -> dict[str, Any]:  # fmt: skip
    """All figures of a made file by scenario, drawn and ready to be stored, and what to know about them.

    The files are aligned and counted once; every intruder looks at the same counts with his own keys and targets. Where
    columns are ``kept`` as they were, by the plan or by what is seen in the file, people are looked for on these.
    """
    found: Figures = {}
    notes: dict[str, list[str]] = {}
    shared: dict[str, Result] = {}
    first = plan.scenarios[0]
    grouping = Grouping.fit(original if lens is None else lens.see_own(original))
    pair = Pair(original, made, holdout, keys=first.keys, targets=first.targets, grouping=grouping, lens=lens)
    pair.made_here = True
    against = doubts(pair)
    copied = list(dict.fromkeys([*(n for n in kept if n in pair.columns), *unchanged(pair)]))
    for scenario in plan.scenarios:
        # What depends on no intruder is measured once, in the first scenario.
        wanted = plan.measured if lens is None else [*plan.measured, *masked_measures()]
        names = [n for n in dict.fromkeys(wanted) if n not in shared]
        gone = frozenset() if lens is None else lens.dropped
        keys, targets = ([n for n in names_ if n not in gone] for names_ in (scenario.keys, scenario.targets))
        seen = pair if scenario is first else pair.seen_by(keys, targets)
        options = {KEPT_MEASURE: {"columns": copied}} if copied and scenario is first else {}
        evaluation = evaluate_pair(seen, measures=names, options=options, name=plan.title)
        found[scenario.name] = {**shared, **evaluation.results}
        notes[scenario.name] = [
            *pair.notes,
            *(f"{n} was not measured: it {why}" for n, why in evaluation.skipped.items()),
        ]
        shared = shared or {
            n: r for n, r in evaluation.results.items() if not described(n).needs & {"keys", "targets"}
        }
    stored = {s: {n: _stored(r) for n, r in results.items()} for s, results in found.items()}
    return {"notes": notes, "figures": stored, "unchanged": copied, "doubts": against, "lines": made.rows}


def _stored(result: Result) -> dict[str, Any]:
    spec = None if result.chart is None else steady(specification(result.chart))
    return {**result.to_dict(whole=True), "chart": spec}


def steady(spec: dict[str, Any]) -> dict[str, Any]:
    """A chart's specification with the names Altair counts up numbered from one: the same chart is the same bytes.

    Examples
    --------
    >>> steady({"params": [{"name": "param_17"}], "title": "param_17 of view_3"})["params"]
    [{'name': 'param_1'}]
    """
    text = json.dumps(spec, default=str)
    numbers: dict[str, str] = {}
    for word in re.findall(r"\b(?:param|view)_\d+\b", text):
        kind = word.split("_")[0]
        numbers.setdefault(word, f"{kind}_{1 + sum(w.startswith(kind) for w in numbers)}")
    found: dict[str, Any] = json.loads(re.sub(r"\b(?:param|view)_\d+\b", lambda m: numbers[m[0]], text))
    return found


def read_figures(path: Path) -> tuple[Figures, dict[str, list[str]]]:
    """Figures of a finished job, with tables and charts, and the remarks that came with them."""
    body = json.loads(path.read_text(encoding="utf-8"))
    found = {s: {n: _restored(n, r) for n, r in results.items()} for s, results in body["figures"].items()}
    return found, body["notes"]


def read_unchanged(path: Path) -> list[str]:
    """Columns of a made file that come out as they were, by the plan or by what was seen in it."""
    names: list[str] = json.loads(path.read_text(encoding="utf-8")).get("unchanged") or []
    return names


def read_doubts(path: Path) -> list[str]:
    """Why no figure of a made file can be trusted: what it holds besides, or whom it is held against."""
    found: list[str] = json.loads(path.read_text(encoding="utf-8")).get("doubts") or []
    return found


def read_lines(path: Path) -> int:
    """Lines of a made file."""
    return int(json.loads(path.read_text(encoding="utf-8")).get("lines") or 0)


def read_rows(path: Path) -> dict[str, int]:
    """Rows of each made table, where there are several."""
    rows: dict[str, int] = json.loads(path.read_text(encoding="utf-8")).get("rows") or {}
    return rows


def read_again(path: Path) -> Figures:
    """Figures of the recipe on all records; none where nobody was set aside."""
    body = json.loads(path.read_text(encoding="utf-8")).get("again") or {}
    return {s: {n: _restored(n, r) for n, r in results.items()} for s, results in body.items()}


def _restored(name: str, stored: Mapping[str, Any]) -> Result:
    spec = stored.get("chart")
    result = Result.from_dict(stored, described(name))
    chart = None if spec is None else StoredChart(spec)
    return replace(result, chart=chart)


@cache
def _loaded(
    path: str, schema: str | None, digest: str, blind: bool, reading: tuple[tuple[str, Any], ...]
) -> Table:
    wanted = Schema.from_yaml(schema) if schema else None
    return read(path, schema=wanted.blind() if wanted is not None and blind else wanted, **dict(reading))


def load(
    path: Path, schema: Path | None, blind: bool = False, reading: Mapping[str, Any] | None = None
) -> Table:
    """A file by its schema, read once as long as it does not change; ``blind`` as `Schema.blind` says.

    Of ``reading`` a file of another type than the input (a holdout) takes what its type has.
    """
    options = tuple((name, value) for name, value in (reading or {}).items() if name in takes(path))
    marks = [f"{p.stat().st_mtime_ns}:{p.stat().st_size}" for p in (path, schema) if p is not None]
    return _loaded(str(path), str(schema) if schema else None, " ".join(marks), blind, options)


def source(plan: Plan, blind: bool | None = None, scenario: str | None = None) -> tuple[Table, Table | None]:
    """The records the methods may see, and those set aside; for measuring read blind if any candidate asks for it.

    Of several tables what an intruder looks at, by default the first.
    """
    if plan.several:
        seen = plan.seen(scenario)
        base, strangers = several.bases(plan)
        return several.seen_by(base, seen), None if strangers is None else several.seen_by(strangers, seen)
    blind = any(candidate.private for candidate in plan.candidates) if blind is None else blind
    whole = load(plan.input, plan.schema, blind, plan.reading)
    if plan.holdout is not None:
        return whole, load(plan.holdout, plan.schema, blind, plan.reading)
    aside = int(whole.rows * plan.holdout_share)
    if aside == 0:
        return whole, None
    if whole.rows - aside < 2:
        raise DataError(
            f"{plan.input.name} has {whole.rows} rows: too few to set a holdout aside; write 'holdout_share: 0'"
        )
    # a person with several rows, and everybody of one household, are set aside together
    kept, held = deal(whole, aside, plan.seed, "holdout")
    return whole.take(kept), whole.take(held)
