"""Population uniques: how many rows that are alone in the sample are alone in the population too.

* ``poisson``: a log-linear model with main effects for the expected counts of key combinations (Skinner and Shlomo
  2008): a sample unique of expected count λ is unique in the population with chance exp(-λ (1 - π) / π). Too many
  where keys go together.
* ``poisson pairs``: the same with all pairs of keys, where the table of all keys is not too large to fit. Too few where
  pairs are so sparse that the model follows the sample.
* ``pitman``: Pitman's sampling formula fitted to the counts of counts by maximum likelihood (Hoshino 2001): population
  uniques, of which the sample holds its share.
* ``weights``: each row's own chance f / F from its design weight.

None is right everywhere; the truth is simulated in docs/risk-sample.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl
from scipy.optimize import minimize
from scipy.special import expit, gammaln

from dalenius.core.errors import OptionError
from dalenius.core.result import WHOLE, Interval, Result, figure
from dalenius.counts.ipf import fit_dense
from dalenius.data.schema import Role
from dalenius.data.vector import AnyArray
from dalenius.risk.sample.keys import KeyCodes, check_population, column_values

MOST_CELLS = 2_000_000
"""Cells of the table of all keys up to which the model with pairs is fitted."""


@dataclass(frozen=True, eq=False)
class PopulationUniques:
    """Estimates of population uniques among the sample uniques.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> people = {"a": rng.integers(0, 40, 500), "b": rng.integers(0, 20, 500)}
    >>> found = population_uniques(people, ["a", "b"], population=5000)
    >>> 0 <= found.estimates["poisson"] <= found.sample_uniques
    True
    """

    sample_uniques: int
    estimates: dict[str, float]
    matches: dict[str, float]
    rows: int
    population: float

    def result(self) -> Result:
        """Estimates side by side."""
        table = pl.DataFrame(
            {
                "estimator": list(self.estimates),
                "unique in the population": list(self.estimates.values()),
                "expected correct matches": [self.matches.get(name) for name in self.estimates],
            },
            schema_overrides={"expected correct matches": pl.Float64},
        )
        low, high = min(self.estimates.values()), max(self.estimates.values())
        return Result(
            name="population-uniques",
            value=high,
            sentence=f"{self.sample_uniques:,} of {self.rows:,} rows are alone with their keys in the file; of these "
            f"about {figure(low)} to {figure(high)} are alone among all {figure(self.population)} people, depending on "
            "the model.",
            interval=Interval(low, high, kind="range over the models"),
            yardsticks={"unique in the file": float(self.sample_uniques)},
            values=dict(self.estimates),
            table=table,
            counts=WHOLE,
        )


def population_uniques(
    data: Any,
    keys: Sequence[str] | None = None,
    *,
    population: float | None = None,
    weight: str | None = None,
) -> PopulationUniques:
    """Estimate how many sample uniques are population uniques.

    Parameters
    ----------
    population
        Number of people the sample was drawn from; default: the sum of the weights.

    Examples
    --------
    >>> found = population_uniques({"a": [1, 2, 2, 3], "b": [1, 1, 2, 2]}, ["a", "b"], population=40)
    >>> found.sample_uniques, list(found.estimates)
    (4, ['poisson', 'poisson pairs', 'pitman'])
    """
    codes = KeyCodes.of(data, keys)
    weights = column_values(data, weight, Role.WEIGHT)
    size = float(weights.sum()) if population is None and weights is not None else population
    units = codes.units
    if size is None:
        raise OptionError("say how many people the sample was drawn from: population=…, or a weight column")
    check_population(size, units.count)
    ids, groups = codes.groups()
    counts = units.owners(ids, groups)
    # one row stands for each unit that is alone with its keys
    alone = np.flatnonzero(counts[ids] == 1)
    alone = alone[np.unique(units.owners_of_rows[alone], return_index=True)[1]]
    fraction = units.count / size
    several = len(codes.names) > 1  # a model of one key alone would only repeat the sample
    models = {"poisson": _independent(codes)} if several else {}
    if several and np.prod([float(s) for s in codes.sizes]) <= MOST_CELLS:
        models["poisson pairs"] = _in_pairs(codes)
    estimates: dict[str, float] = {}
    matches: dict[str, float] = {}
    for name, expected in models.items():
        odds = expected[alone] * (1 - fraction) / fraction
        estimates[name] = float(np.exp(-odds).sum())
        matches[name] = float(np.where(odds > 0, -np.expm1(-odds) / np.where(odds > 0, odds, 1.0), 1.0).sum())
    estimates["pitman"] = min(fraction * _pitman(counts, size), float(len(alone)))
    if weights is not None:
        estimates["weights"] = float((1 / weights[alone]).sum())
    return PopulationUniques(len(alone), estimates, matches, units.count, size)


def _in_pairs(codes: KeyCodes) -> AnyArray:
    """Expected sample count of each row's key combination if only pairs of keys went together."""
    columns = tuple(codes.codes.T)
    table = np.zeros(codes.sizes)
    np.add.at(table, columns, 1.0)
    pairs = list(combinations(range(table.ndim), 2))
    margins = [table.sum(axis=tuple(i for i in range(table.ndim) if i not in pair)) for pair in pairs]
    # a few rounds are enough: what is fitted is itself a sample
    fitted = fit_dense(np.ones(codes.sizes), pairs, margins, tol=1e-4, max_iter=30).table
    expected: AnyArray = fitted[columns]
    return expected


def _independent(codes: KeyCodes) -> AnyArray:
    """Expected sample count of each row's key combination if the keys were independent."""
    n = len(codes)
    result = np.full(n, float(n))
    for j in range(codes.codes.shape[1]):
        column = codes.codes[:, j]
        result *= np.bincount(column)[column] / n
    return result


def _pitman(counts: AnyArray, population: float) -> float:
    """Expected uniques among N people under Pitman's formula with parameters fitted to the sample."""
    n, kinds = int(counts.sum()), len(counts)
    if kinds == n:  # all alone in the sample: nothing speaks against all being alone in the population
        return population
    sizes, times = np.unique(counts, return_counts=True)

    def loss(x: AnyArray) -> float:
        alpha, theta = _bounded(x)
        steps = np.arange(1, kinds)
        first = np.log(theta + alpha * steps).sum()
        second = gammaln(theta + n) - gammaln(theta + 1)
        third = (times * (gammaln(sizes - alpha) - gammaln(1 - alpha))).sum()
        return float(-(first - second + third))

    best = minimize(
        loss, np.array([0.0, np.log(max(kinds, 2) / 2)]), method="Nelder-Mead", options={"maxiter": 400}
    )
    alpha, theta = _bounded(best.x)
    logs = np.log(population) + gammaln(population + theta + alpha - 1) + gammaln(theta + 1)
    return float(np.exp(logs - gammaln(population + theta) - gammaln(theta + alpha)))


def _bounded(x: AnyArray) -> tuple[float, float]:
    """Parameters 0 < alpha < 1 and theta > -alpha from two free numbers, kept where logarithms of gammas are exact."""
    alpha = float(expit(np.clip(x[0], -30, 30)))
    return alpha, float(np.exp(np.clip(x[1], -30, 30))) - alpha
