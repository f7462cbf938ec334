"""Isolation gain by trial: run a release, let an attack guess, and compare with chance (D'Acquisto et al. 2024)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError
from dalenius.core.later import stats
from dalenius.core.random import Seed, sequence
from dalenius.core.result import WHOLE, Interval, Result, figure
from dalenius.data.schema import Role
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, BoolArray
from dalenius.risk.isolation.chance import isolation_probability
from dalenius.risk.isolation.partition import record_hashes
from dalenius.risk.isolation.predicate import Predicate
from dalenius.risk.isolation.weights import WeightModel
from dalenius.risk.sampling import SEED

POSTULATES = (
    "A release without information derived from the data cannot identify anybody in it; a description may enable "
    "identification when it is narrow enough to be unique in the population."
)


@dataclass(frozen=True, eq=False)
class EmpiricalGain:
    """Guesses of an attack: their weights and which of them isolated somebody.

    Examples
    --------
    >>> found = EmpiricalGain(np.full(100, 1e-4), np.arange(100) < 50, 1000, None, True)
    >>> found.success, round(found.baseline, 3), round(found.gain, 2)
    (0.5, 0.09, 5.53)
    """

    weights: AnyArray
    isolated: BoolArray
    n: int
    population: int | None
    independent: bool
    """Whether the weights come from elsewhere than the protected data."""
    households: bool = False

    @property
    def success(self) -> float:
        """Share of guesses that isolate."""
        return float(self.isolated.mean()) if len(self.isolated) else float("nan")

    @property
    def baseline(self) -> float:
        """Share of guesses of these weights that would isolate by chance."""
        return (
            float(isolation_probability(self.weights, self.n).mean()) if len(self.weights) else float("nan")
        )

    @property
    def gain(self) -> float:
        """Success over the baseline."""
        if self.baseline > 0:
            return self.success / self.baseline
        return float("inf") if self.success > 0 else float("nan")

    def interval(self, level: float = 0.95) -> Interval:
        """Clopper–Pearson interval of the success."""
        hits, total = int(self.isolated.sum()), len(self.isolated)
        tail = (1 - level) / 2
        low = float(stats.beta.ppf(tail, hits, total - hits + 1)) if hits else 0.0
        high = float(stats.beta.ppf(1 - tail, hits + 1, total - hits)) if hits < total else 1.0
        return Interval(low, high, level, "Clopper–Pearson")

    def narrow(self, max_weight: float) -> EmpiricalGain:
        """Only the guesses of at most this weight."""
        keep = self.weights <= max_weight
        return EmpiricalGain(
            self.weights[keep],
            self.isolated[keep],
            self.n,
            self.population,
            self.independent,
            self.households,
        )

    @property
    def identifying(self) -> float:
        """Share of successful guesses so narrow that they may identify: at most one in 100 populations."""
        if self.population is None or not self.isolated.any():
            return float("nan")
        return float(np.mean(self.weights[self.isolated] <= 1 / (100 * self.population)))

    def result(self) -> Result:
        """The report block: success beside chance, weights, and the reading."""
        spread = self.interval()
        above = spread.low > self.baseline
        text = (
            f"Of {len(self.isolated):,} descriptions read off the release, {figure(100 * self.success, '%')} fit "
            f"exactly one row; chance gives {figure(100 * self.baseline, '%')}, so the release isolates "
            f"{figure(self.gain)} times as often{'' if above else ', which is not clearly above chance'}. "
        )
        if self.population is not None and self.isolated.any():
            text += (
                f"{figure(100 * self.identifying, '%')} of those that isolate are narrow enough to identify. "
            )
        if not self.independent:
            text += "The weights come from the protected data itself, which pulls the gain towards 1: not trusted. "
        if self.households:
            text += "Rows of one household are not independent draws, so the baseline is only rough. "
        quantiles = (
            np.quantile(self.weights, (0, 0.25, 0.5, 0.75, 1)) if len(self.weights) else np.full(5, np.nan)
        )
        return Result(
            name="isolation-gain",
            value=self.gain,
            sentence=text + POSTULATES,
            interval=Interval(spread.low / self.baseline, spread.high / self.baseline)
            if self.baseline > 0
            else None,
            yardsticks={"chance": 1.0},
            values={"success": self.success, "baseline": self.baseline, "identifying": self.identifying},
            table=pl.DataFrame({"quantile of weights": [0.0, 0.25, 0.5, 0.75, 1.0], "weight": quantiles}),
            counts=WHOLE,
            trusted=self.independent,
        )


def empirical_isolation_gain(
    attack: Callable[[Any], Iterable[Predicate]],
    mechanism: Callable[[Table, Seed], Any],
    data: Any,
    weights: WeightModel,
    *,
    runs: int = 1,
    guesses: int = 500,
    population: int | None = None,
    seed: Seed = SEED,
) -> EmpiricalGain:
    """Run a release several times, let an attack describe people from the release alone, and count who is isolated.

    Parameters
    ----------
    attack
        From what was released to descriptions; `record_predicates` is the plainest.
    mechanism
        From the data and a seed to what is released.
    weights
        What an outsider knows about the population; not the protected data itself.
    guesses
        Descriptions taken from each run, at most.
    population
        Number of people the data were drawn from.

    Examples
    --------
    >>> from dalenius.risk.isolation import ReferenceWeights, record_predicates
    >>> rng = np.random.default_rng(1)
    >>> draw = lambda: {"a": rng.integers(0, 40, 300).astype(str), "b": rng.integers(0, 40, 300).astype(str)}
    >>> found = empirical_isolation_gain(
    ...     record_predicates, lambda table, seed: table, draw(), ReferenceWeights.of(draw())
    ... )
    >>> found.success, found.gain > 2
    (1.0, True)
    """
    if runs < 1 or guesses < 1:
        raise OptionError("a trial needs at least one run and one guess")
    table = Table.from_frame(data)
    masses, hits = [], []
    for run in range(runs):
        release = mechanism(table, sequence(seed, "release", run))
        for predicate in islice(attack(release), guesses):
            masses.append(weights.weight(predicate))
            hits.append(predicate.isolates(table))
    reference = getattr(weights, "reference", None)
    return EmpiricalGain(
        np.array(masses, float),
        np.array(hits, bool),
        table.rows,
        population,
        reference is None or not _same(reference, table),
        bool(table.schema.by_role(Role.HOUSEHOLD)),
    )


def _same(one: Table, other: Table) -> bool:
    """Whether two tables hold the same records, in whatever order."""
    if one.rows != other.rows or sorted(one.names) != sorted(other.names):
        return False
    return bool((np.sort(record_hashes(one)) == np.sort(record_hashes(other))).all())
