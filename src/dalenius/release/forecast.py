"""What a plan will cost, asked before it runs: from small trials on this machine, not from tables of constants.

Each candidate is made and measured on samples of the rows, each four times the one before and at most half of the data,
until a trial takes about a second; their times are carried on to all rows. What they make is thrown away unread.
Memory is each method's own estimate.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from dalenius.core.cost import Cost, extrapolate
from dalenius.core.errors import DaleniusError
from dalenius.core.random import generator
from dalenius.data import Table
from dalenius.release.jobs import measured, source
from dalenius.release.plan import Plan
from dalenius.release.several import bases, measured_bases
from dalenius.synth import Candidate
from dalenius.synth.relational.candidate import DatabaseCandidate

SMALLEST = 60
"""Rows of the smallest trial; smaller ones measure only how long things take to start."""
LONG_ENOUGH = 0.8
"""Seconds after which a trial says enough about the rest."""
BESIDES = "Starting up and writing the reports takes some 10 to 20 s more."
"""What the trials do not see: programs that load for each worker, drawing, and checking the pack."""
T = TypeVar("T")


@dataclass(frozen=True)
class Forecast:
    """Expected CPU seconds of one candidate for all its replicates, by stage, and its peak memory."""

    make: float
    measure: float
    bytes: float

    @property
    def total(self) -> Cost:
        """Making and measuring together."""
        return Cost(self.make + self.measure, self.bytes)


def forecast(plan: Plan) -> dict[str, Forecast]:
    r"""What each candidate is expected to cost, by name, for making and measuring it as often as the plan says.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from dalenius.data import examples
    >>> from dalenius.release.plan import read_plan
    >>> folder = Path(tempfile.mkdtemp())
    >>> examples.survey(400).select("sex", "age", "health").write_csv(folder / "people.csv")
    >>> _ = (folder / "plan.yaml").write_text(
    ...     "input: people.csv\nscenarios: {a: {keys: [sex, age], targets: [health]}}\n"
    ...     "candidates: {independent: {}}\nmeasures: [replicated-uniques]\n"
    ... )
    >>> forecast(read_plan(folder / "plan.yaml"))["independent"].total.seconds > 0
    True
    """
    if plan.several:
        return {c.name: _tables(plan, c) for c in plan.candidates if isinstance(c, DatabaseCandidate)}
    original, holdout = source(plan)
    return {c.name: _candidate(plan, c, original, holdout) for c in plan.candidates}


def _tables(plan: Plan, candidate: DatabaseCandidate) -> Forecast:
    """A candidate of several tables, tried on families of some topmost rows."""
    base, holdout = bases(plan)
    top = base.sequence[0]
    held = sum(table.nbytes for table in base.tables.values())
    order = generator(plan.seed, "forecast").permutation(base[top].rows)
    tried, making, measuring = [], [], []
    for number, rows in enumerate(trial_sizes(base[top].rows)):
        some = base.take(np.sort(order[:rows]))
        try:
            if number == 0:
                candidate.draw(some, seed=plan.seed)
            made, make = _timed(lambda some=some: candidate.draw(some, seed=plan.seed).database)  # type: ignore[misc]
            _, measure = _timed(lambda some=some, made=made: measured_bases(plan, some, made, holdout))  # type: ignore[misc]
        except DaleniusError:
            continue
        tried.append(rows)
        making.append(make)
        measuring.append(measure)
        if make + measure > LONG_ENOUGH:
            break
    spent = [extrapolate(tried, t, base[top].rows) if tried else 0.0 for t in (making, measuring)]
    return Forecast(spent[0] * plan.replicates, spent[1] * plan.replicates, 3.0 * held)


def _candidate(plan: Plan, candidate: Candidate, original: Table, holdout: Table | None) -> Forecast:
    cost = candidate.cost(original)
    sizes = trial_sizes(original.rows)
    order = generator(plan.seed, "forecast").permutation(original.rows)
    trials: list[tuple[int, float, float]] = []
    for number, rows in enumerate(sizes):
        some = original.take(np.sort(order[:rows]))
        part = None if holdout is None else holdout.take(np.arange(min(holdout.rows, max(rows // 4, 2))))
        try:
            if number == 0:  # the first call loads compiled code; it is not counted
                _trial(plan, candidate, some, part)
            trials.append((rows, *_trial(plan, candidate, some, part)))
        except DaleniusError:  # too few rows for the method: its own estimate must do
            continue
        if sum(trials[-1][1:]) > LONG_ENOUGH:
            break
    if not trials:
        return Forecast(cost.seconds * plan.replicates, 0.0, cost.bytes)
    tried, making, measuring = zip(*trials, strict=True)
    make, measure = (extrapolate(tried, spent, original.rows) for spent in (making, measuring))
    return Forecast(make * plan.replicates, measure * plan.replicates, cost.bytes)


def trial_sizes(rows: int) -> list[int]:
    """Sizes of the trials, each four times the one before, up to half of the rows.

    Examples
    --------
    >>> trial_sizes(100), trial_sizes(2000), trial_sizes(100_000)
    ([50], [62, 250, 1000], [195, 781, 3125, 12500, 50000])
    """
    sizes = [max(rows // 2, 1)]
    while sizes[0] >= 4 * SMALLEST:
        sizes.insert(0, sizes[0] // 4)
    return sizes


def _trial(plan: Plan, candidate: Candidate, some: Table, holdout: Table | None) -> tuple[float, float]:
    # a trial is thrown away, and nobody pays for it
    free = replace(candidate, options={k: v for k, v in candidate.options.items() if k != "ledger"})
    made, making = _timed(lambda: free.make(some, seed=plan.seed, force=True).table)
    _, measuring = _timed(lambda: measured(plan, some, made, holdout))
    return making, measuring


def _timed(work: Callable[[], T]) -> tuple[T, float]:
    started = time.process_time()
    found = work()
    return found, time.process_time() - started
