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
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from dalenius.core.errors import DataError
from dalenius.core.option import declared
from dalenius.core.result import Result
from dalenius.counts.measure import MEASURES
from dalenius.counts.pair import Pair
from dalenius.data import Grouping, Schema, Table, read, write
from dalenius.data.atomic import write_text
from dalenius.data.exit import releasable
from dalenius.data.units import deal
from dalenius.dp import ledger_path, paid_utility
from dalenius.dp.contributions import bound_units
from dalenius.evaluation import Evaluation, evaluate, evaluate_pair
from dalenius.release.plan import Plan, Scenario
from dalenius.synth import METHODS, Candidate

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
    original, holdout = source(plan)
    started = time.perf_counter()
    if not path.with_suffix(".parquet").is_file():
        _make(plan, candidate, replicate, path)
    made = time.perf_counter()
    table = read_made(path.with_suffix(".parquet"), original)
    if plan.evaluation_epsilon and candidate.private and not path.with_suffix(".paid").is_file():
        _pay_for_utility(plan, candidate, table, path)
    body = measured(plan, original, table, holdout)
    seconds = {"make": made - started, "measure": time.perf_counter() - made}
    write_text(path.with_suffix(".time"), json.dumps(seconds))
    write_text(path, json.dumps(body, ensure_ascii=False, sort_keys=True, default=str) + "\n")
    return (
        candidate.name if plan.replicates == 1 else f"{candidate.name}, {replicate + 1} of {plan.replicates}"
    )


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
    made = _charged(plan, candidate).make(seen, seed=plan.seed, first=replicate, force=True)
    write_text(path.with_suffix(".ledger"), made.ledger)
    write(made.table, path.with_suffix(".parquet"))


def _charged(plan: Plan, candidate: Candidate) -> Candidate:
    """The candidate, paid out of the ledger beside the input where there is one."""
    beside = ledger_path(plan.input)
    if not (candidate.private and beside.is_file() and "ledger" in declared(METHODS[candidate.method])):
        return candidate
    return replace(candidate, options={"ledger": str(beside), **candidate.options})


def _pay_for_utility(plan: Plan, candidate: Candidate, made: Table, path: Path) -> None:
    """Figures about utility that may be published; bought once, and kept."""
    seen, _ = source(plan, blind=True)
    schema = seen.schema.select(made.names).blind()
    beside = ledger_path(plan.input)
    method = candidate.build()
    most = getattr(method, "contribution", None)
    seen, _ = bound_units(seen, most) if most is not None else (seen, [])
    results = paid_utility(
        seen.select(made.names), made.to_frame(), epsilon=plan.evaluation_epsilon, schema=schema,
        neighbours=getattr(method, "protects", "add-remove"), records=most or 1,
        ledger=str(beside) if beside.is_file() else None,
    )  # fmt: skip
    write_text(path.with_suffix(".paid"), json.dumps([r.to_dict() for r in results], ensure_ascii=False))


def read_paid(path: Path) -> list[Result]:
    """Figures that a budget was spent on; none where none was."""
    paid = path.with_suffix(".paid")
    stored = json.loads(paid.read_text(encoding="utf-8")) if paid.is_file() else []
    return [Result.from_dict(each, None) for each in stored]


def read_ledger(path: Path) -> str:
    """What the privacy budget of a job was spent on; empty for methods without one."""
    ledger = path.with_suffix(".ledger")
    return ledger.read_text(encoding="utf-8") if ledger.is_file() else ""


def read_made(path: Path, original: Table) -> Table:
    """A made file, encoded like the original: figures are always of what is in the file."""
    there = pl.read_parquet_schema(path) if path.suffix == ".parquet" else read(path).names
    kept = releasable(original).schema
    kept = kept.select([name for name in kept.names if name in there])
    columns = [replace(c, levels=None, bounds=None, parent=None, partner=None) for c in kept]
    return read(path, schema=replace(kept, columns=tuple(columns), rules=()))


def measured(plan: Plan, original: Table, made: Table, holdout: Table | None) -> dict[str, Any]:
    """All figures of a made file by scenario, drawn and ready to be stored, and what to know about them.

    The files are aligned and counted once; every intruder looks at the same counts with his own keys and targets.
    """
    found: Figures = {}
    notes: dict[str, list[str]] = {}
    shared: dict[str, Result] = {}
    first = plan.scenarios[0]
    pair = Pair(
        original, made, holdout, keys=first.keys, targets=first.targets, grouping=Grouping.fit(original)
    )
    for scenario in plan.scenarios:
        # What depends on no intruder is measured once, in the first scenario.
        names = [n for n in plan.measured if n not in shared]
        seen = pair if scenario is first else pair.seen_by(scenario.keys, scenario.targets)
        evaluation = evaluate_pair(seen, measures=names, name=plan.title)
        found[scenario.name] = {**shared, **evaluation.results}
        notes[scenario.name] = [
            *pair.notes,
            *(f"{n} was not measured: it {why}" for n, why in evaluation.skipped.items()),
        ]
        shared = shared or {
            n: r for n, r in evaluation.results.items() if not MEASURES[n].info.needs & {"keys", "targets"}
        }
    stored = {s: {n: _stored(r) for n, r in results.items()} for s, results in found.items()}
    return {"notes": notes, "figures": stored}


def evaluate_scenario(
    plan: Plan, scenario: Scenario, original: Table, made: Table, holdout: Table | None, names: list[str]
) -> Evaluation:
    """Figures about one file in one scenario."""
    keys, targets = list(scenario.keys), list(scenario.targets)
    return evaluate(
        original,
        made,
        None,
        keys,
        targets,
        holdout,
        measures=names,
        grouping=Grouping.fit(original),  # by the original alone, the same for every candidate
        name=plan.title,
    )


def _stored(result: Result) -> dict[str, Any]:
    spec = result.chart().to_dict() if result.chart is not None else None
    return {**result.to_dict(whole=True), "chart": None if spec is None else steady(spec)}


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


def _restored(name: str, stored: Mapping[str, Any]) -> Result:
    import altair as alt  # noqa: PLC0415 (charts are loaded when looked at)

    spec = stored.get("chart")
    result = Result.from_dict(stored, MEASURES[name].info)
    chart = None if spec is None else (lambda: alt.Chart.from_dict(spec))
    return replace(result, chart=chart)


@cache
def _loaded(path: str, schema: str | None, digest: str, blind: bool) -> Table:
    wanted = Schema.from_yaml(schema) if schema else None
    return read(path, schema=wanted.blind() if wanted is not None and blind else wanted)


def load(path: Path, schema: Path | None, blind: bool = False) -> Table:
    """A file by its schema, read once as long as it does not change; ``blind`` as `Schema.blind` says."""
    marks = [f"{p.stat().st_mtime_ns}:{p.stat().st_size}" for p in (path, schema) if p is not None]
    return _loaded(str(path), str(schema) if schema else None, " ".join(marks), blind)


def source(plan: Plan, blind: bool | None = None) -> tuple[Table, Table | None]:
    """The records the methods may see, and those set aside; for measuring read blind if any candidate asks for it."""
    blind = any(candidate.private for candidate in plan.candidates) if blind is None else blind
    whole = load(plan.input, plan.schema, blind)
    if plan.holdout is not None:
        return whole, load(plan.holdout, plan.schema, blind)
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
