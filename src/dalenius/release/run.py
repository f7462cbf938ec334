"""Carrying out a plan: every candidate is made and measured, in parallel, and nothing done is ever done again.

Each job (one candidate, one replicate) writes its data and its figures to a work folder, whole or not at all. A run
that was killed continues with the jobs that are not there yet; the results are the same bytes as without the kill.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import re
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean

import numpy as np

from dalenius.core.errors import DataError
from dalenius.core.random import generator, sequence
from dalenius.core.result import Interval, Result
from dalenius.counts.measure import MEASURES
from dalenius.data import Schema, Table, read_table, write_table
from dalenius.data.atomic import write_text
from dalenius.evaluation import evaluate
from dalenius.release.plan import Candidate, Plan, Scenario
from dalenius.release.policy import Rule
from dalenius.synth import make_synthesizer

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Judged:
    """A candidate with its figures (over replicates) by scenario, and what the policy says of it."""

    candidate: Candidate
    figures: Mapping[str, Mapping[str, Result]]
    broken: tuple[str, ...]

    @property
    def safe(self) -> bool:
        """Whether every line of the policy is met in every scenario."""
        return not self.broken


@dataclass(frozen=True)
class Outcome:
    """What came of a plan."""

    plan: Plan
    judged: tuple[Judged, ...]
    chosen: Judged | None
    why: str
    work: Path

    def data(self, candidate: Candidate, replicate: int = 0) -> Path:
        """File of one made candidate."""
        return job_path(self.work, candidate, replicate).with_suffix(".parquet")


def run_plan(plan: Plan, workers: int | None = None, progress: Progress | None = None) -> Outcome:
    """Make and measure every candidate of a plan that has not been made yet, then choose.

    Examples
    --------
    >>> import tempfile
    >>> from dalenius.data import examples
    >>> from dalenius.release.plan import read_plan
    >>> folder = Path(tempfile.mkdtemp())
    >>> examples.survey(200).select("sex", "age", "health").write_csv(folder / "people.csv")
    >>> _ = (folder / "plan.yaml").write_text(
    ...     "input: people.csv\\nscenarios: {a: {keys: [sex, age], targets: [health]}}\\n"
    ...     "candidates: {independent: {}}\\nmeasures: [replicated-uniques, two-way-utility]\\npolicy: [repU <= 100 %]\\n"
    ... )
    >>> run_plan(read_plan(folder / "plan.yaml"), workers=1).chosen.candidate.name
    'independent'
    """
    work = work_folder(plan)
    jobs = [(c, r) for c in plan.candidates for r in range(plan.replicates)]
    todo = [job for job in jobs if not job_path(work, *job).is_file()]
    done = len(jobs) - len(todo)
    count = min(workers or os.cpu_count() or 1, len(todo))
    if progress is not None:
        progress("already there", done, len(jobs))
    for name in _finished(plan, work, todo, count):
        done += 1
        if progress is not None:
            progress(name, done, len(jobs))
    judged = tuple(_judged(plan, work, candidate) for candidate in plan.candidates)
    chosen, why = _choice(plan, judged)
    return Outcome(plan, judged, chosen, why, work)


def work_folder(plan: Plan) -> Path:
    """Where a plan's jobs are kept: by plan and by input, so that a changed plan starts anew."""
    files = [plan.input, plan.schema, plan.holdout if isinstance(plan.holdout, Path) else None]
    content = "".join(file_digest(path) for path in files if path is not None)
    name = hashlib.sha256((plan.digest + content).encode()).hexdigest()[:16]
    return plan.output.parent / f".{plan.output.name}-work" / name


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def job_path(work: Path, candidate: Candidate, replicate: int) -> Path:
    """Figures of one job; its data stand beside them."""
    slug = re.sub(r"[^A-Za-z0-9=.-]+", "_", candidate.name)
    mark = hashlib.sha256(candidate.name.encode()).hexdigest()[:6]
    return work / f"{slug}-{mark}-{replicate}.json"


def _finished(plan: Plan, work: Path, todo: list[tuple[Candidate, int]], workers: int):  # type: ignore[no-untyped-def]
    if workers <= 1:
        for candidate, replicate in todo:
            yield do_job(plan, work, candidate, replicate)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        for future in as_completed([pool.submit(do_job, plan, work, *job) for job in todo]):
            yield future.result()


def do_job(plan: Plan, work: Path, candidate: Candidate, replicate: int) -> str:
    """Make and measure one candidate once; data first, figures last, so that figures mean "done"."""
    original, holdout = source(plan)
    path = job_path(work, candidate, replicate)
    synthesizer = make_synthesizer(candidate.method, **candidate.options)
    seed = sequence(plan.seed, candidate.name, replicate)
    table = synthesizer.fit(original, seed=sequence(seed, "fit")).sample(seed=sequence(seed, "sample"))
    write_table(table, path.with_suffix(".parquet"))
    figures = {s.name: _measured(plan, s, original, table, holdout) for s in plan.scenarios}
    write_text(path, json.dumps(figures, ensure_ascii=False, indent=1, sort_keys=True, default=str) + "\n")
    return f"{candidate.name}, {replicate + 1} of {plan.replicates}"


def _measured(
    plan: Plan, scenario: Scenario, original: Table, made: Table, holdout: Table | None
) -> dict[str, object]:
    measures = (
        list(dict.fromkeys([*plan.measures, *(r.measure for r in plan.policy), plan.choose]))
        if plan.measures
        else None
    )
    evaluation = evaluate(
        original, made, None, scenario.keys, scenario.targets, holdout, measures=measures, name=scenario.name
    )
    return evaluation.to_dict()


def source(plan: Plan) -> tuple[Table, Table | None]:
    """The records the methods may see, and those set aside."""
    schema = str(plan.schema) if plan.schema else None
    whole = _loaded(str(plan.input), schema)
    if isinstance(plan.holdout, Path):
        return whole, _loaded(str(plan.holdout), schema)
    aside = int(whole.rows * plan.holdout)
    if aside == 0:
        return whole, None
    if whole.rows - aside < 2:
        raise DataError(
            f"{plan.input.name} has {whole.rows} rows: too few to set a holdout aside; write 'holdout: 0'"
        )
    order = generator(plan.seed, "holdout").permutation(whole.rows)
    return whole.take(np.sort(order[aside:])), whole.take(np.sort(order[:aside]))


@cache
def _loaded(path: str, schema: str | None) -> Table:
    return read_table(path, schema=Schema.from_yaml(schema) if schema else None)


def _judged(plan: Plan, work: Path, candidate: Candidate) -> Judged:
    runs = [
        json.loads(job_path(work, candidate, r).read_text(encoding="utf-8")) for r in range(plan.replicates)
    ]
    figures = {s.name: _averaged([run[s.name]["results"] for run in runs]) for s in plan.scenarios}
    broken = [
        f"{scenario}: {line}"
        for scenario, results in figures.items()
        for line in (_broken(rule, results.get(rule.measure)) for rule in plan.policy)
        if line is not None
    ]
    return Judged(candidate, figures, tuple(broken))


def _broken(rule: Rule, result: Result | None) -> str | None:
    if result is None:
        return f"{rule.text}: not measured"
    return None if rule.met_by(result) else rule.said(result)


def _averaged(runs: list[Mapping[str, Mapping[str, object]]]) -> dict[str, Result]:
    """Mean of each figure over replicates, with their range as interval."""
    found = {}
    for name in runs[0]:
        results = [Result.from_dict(run[name], MEASURES[name].info) for run in runs]
        first, values = results[0], [r.value for r in results]
        yardsticks = {y: fmean(r.yardsticks[y] for r in results) for y in first.yardsticks}
        spread = (
            Interval(min(values), max(values), 1.0, "range over replicates")
            if len(runs) > 1
            else first.interval
        )
        found[name] = Result(
            name, fmean(values), first.sentence, first.unit, spread, yardsticks,
            trusted=all(r.trusted for r in results), info=first.info,
        )  # fmt: skip
    return found


def _choice(plan: Plan, judged: tuple[Judged, ...]) -> tuple[Judged | None, str]:
    safe = [j for j in judged if j.safe]
    if not safe:
        return None, (
            f"None of the {len(judged)} candidates meets the policy, so nothing was chosen. Loosen a line of the policy, "
            "or add candidates that protect more."
        )
    info = MEASURES[plan.choose].info
    sign = 1 if info.better == "lower" else -1
    best = min(safe, key=lambda j: (sign * _utility(plan, j), j.candidate.name))
    return best, (
        f"{len(safe)} of {len(judged)} candidates meet every line of the policy; among them '{best.candidate.name}' is best "
        f"by {info.title} ({_utility(plan, best):.3g}, {info.better} is better)."
    )


def _utility(plan: Plan, judged: Judged) -> float:
    return next(iter(judged.figures.values()))[plan.choose].value
