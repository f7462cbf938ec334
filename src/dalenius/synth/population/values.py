"""Values of people in a population: classes by weighted multinomial models in each stratum, numbers within classes.

One column at a time, each a predictor of later ones. Predictions are made for the combinations of predictors that
occur, not for each of millions of people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import softmax

from dalenius.core.random import Seed, generator
from dalenius.data.vector import AnyArray, IntArray
from dalenius.synth.sequential.likelihood import fit_multinomial
from dalenius.synth.sequential.regression import one_thread

Classes = Literal["multinom", "distribution"]
ENOUGH = 50
"""People of a level of a predictor none of whom has a class before the class is impossible there."""
RIDGE = 1e-4


@dataclass(frozen=True, eq=False)
class Task:
    """Predictors and response in the survey, predictors in the population, all as codes.

    Attributes
    ----------
    sizes
        Codes of each predictor.
    strata, weights
        Of the people of the survey; the population's strata.
    """

    survey: Sequence[IntArray]
    population: Sequence[IntArray]
    sizes: Sequence[int]
    strata: IntArray
    population_strata: IntArray
    weights: AnyArray


def draw_classes(
    task: Task, response: IntArray, classes: int, method: Classes, seed: Seed,
    allowed: Mapping[int, AnyArray] | None = None, eps: float | None = None,
) -> IntArray:  # fmt: skip
    """A class for each person of the population.

    Parameters
    ----------
    allowed
        For some predictors (by place), a table of levels by classes: which are possible.
    eps
        Chances below it are 0.
    """
    result = np.zeros(len(task.population_strata), np.int16)
    possible = _possible(task, response, classes) | dict(allowed or {})
    for stratum in np.unique(task.population_strata):
        people = np.flatnonzero(task.population_strata == stratum)
        rows = np.flatnonzero(task.strata == stratum)
        joint, firsts = _combinations([p[people] for p in task.population], task.sizes)
        levels = [p[people[firsts]] for p in task.population]
        chances = _chances(task, response, classes, rows, levels, method)
        for place, table in possible.items():
            chances = chances * table[levels[place]]
        if eps is not None:
            chances = np.where(chances < eps, 0.0, chances)
        lost = chances.sum(axis=1) <= 0
        chances[lost] = np.bincount(response[rows], task.weights[rows], minlength=classes)
        ends = np.cumsum(chances, axis=1)
        ends /= ends[:, -1:]
        chance = generator(seed, "class", int(stratum)).random(len(people))
        drawn = np.zeros(len(people), np.int16)
        for column in range(classes - 1):  # one class at a time: a table of people by classes would not fit
            drawn += chance > ends[joint, column]
        result[people] = drawn
    return result


def _combinations(codes: Sequence[IntArray], sizes: Sequence[int]) -> tuple[IntArray, IntArray]:
    """Number of each person's combination of predictors, and the first person of each."""
    joint = np.zeros(len(codes[0]), np.int64)
    for code, size in zip(codes, sizes, strict=True):
        joint = joint * size + code
    _, firsts, inverse = np.unique(joint, return_index=True, return_inverse=True)
    return inverse, firsts


def _possible(task: Task, response: IntArray, classes: int) -> dict[int, AnyArray]:
    """Classes that nobody has among many people of a level: children without an income stay so."""
    tables = {}
    for place, (codes, size) in enumerate(zip(task.survey, task.sizes, strict=True)):
        counted = np.bincount(codes * classes + response, minlength=size * classes).reshape(size, classes)
        table = ((counted > 0) | (counted.sum(axis=1, keepdims=True) < ENOUGH)).astype(np.float64)
        if not table.all():
            tables[place] = table
    return tables


def _chances(
    task: Task, response: IntArray, classes: int, rows: IntArray, levels: Sequence[IntArray], method: Classes
) -> AnyArray:
    weights = task.weights[rows]
    there = np.unique(response[rows])
    chances = np.zeros((len(levels[0]), classes))
    if len(there) == 1 or method == "distribution":
        chances[:] = np.bincount(response[rows], weights, minlength=classes) / weights.sum()
        return chances
    used = [np.unique(task.survey[i][rows])[1:] for i in range(len(task.sizes))]
    x = _dummies([c[rows] for c in task.survey], used)
    y = np.searchsorted(there, response[rows])
    with one_thread():  # small matrices: threads would only wait for each other
        beta = fit_multinomial(x, y, len(there), weights / weights.sum(), RIDGE)
    score = np.hstack([np.zeros((len(levels[0]), 1)), _dummies(levels, used) @ beta])
    chances[:, there] = softmax(score, axis=1)
    return chances


def _dummies(codes: Sequence[IntArray], used: Sequence[IntArray]) -> AnyArray:
    blocks = [np.ones((len(codes[0]), 1))]
    blocks += [
        (code[:, None] == levels[None, :]).astype(np.float64)
        for code, levels in zip(codes, used, strict=True)
    ]
    return np.hstack(blocks)


def weighted_quantiles(values: AnyArray, weights: AnyArray, shares: AnyArray) -> AnyArray:
    """Smallest value at which the cumulated share of weight is at least p.

    Examples
    --------
    >>> weighted_quantiles(np.array([3.0, 1.0, 2.0]), np.ones(3), np.array([0.5, 1.0])).tolist()
    [2.0, 3.0]
    """
    order = np.argsort(values, kind="stable")
    ends = np.cumsum(weights[order])
    at = np.searchsorted(ends / ends[-1], shares - 1e-12, side="left")
    return values[order][np.minimum(at, len(values) - 1)]


FINE = np.array([0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.99, 1.0])
EVEN = np.arange(1, 11) / 10


@dataclass(frozen=True, eq=False)
class Bands:
    """Classes of a number: 0 by itself where it is a spike, then bands between weighted quantiles, then gaps."""

    edges: AnyArray
    zero: bool
    tails: tuple[int, ...]
    shape: float
    scale: float

    @classmethod
    def of(
        cls, values: AnyArray, weights: AnyArray, zeros: bool, equidist: bool, upper: float | None
    ) -> Bands:
        """Bands of the values that are there; the upper end rests on a few people, not on the largest value of one."""
        known = ~np.isnan(values)
        kept = known & (values != 0) if zeros else known
        positive, negative = kept & (values > 0), kept & (values < 0)
        shares = EVEN if equidist else FINE
        parts = []
        if negative.any():
            parts.append(weighted_quantiles(values[negative], weights[negative], np.append(1e-9, EVEN)))
        if positive.any():
            top = np.sort(values[positive])
            last = float(upper) if upper is not None else float(top[-min(3, len(top))])
            cuts = weighted_quantiles(values[positive], weights[positive], np.append(1e-9, shares))
            parts.append(np.append(np.minimum(cuts[:-1], last), last))
        edges = np.unique(np.concatenate(parts)) if parts else np.zeros(1)
        tails = (
            tuple(range(len(edges) - 2, len(edges) - 3 + (1 if equidist else 0), -1))
            if len(edges) > 3
            else ()
        )
        low = edges[-3] if len(edges) > 3 and not equidist else edges[-2] if len(edges) > 1 else edges[0]
        return cls(
            edges,
            bool(zeros and (values == 0).any()),
            tails,
            *_pareto(values[positive & (values > low)] - low),
        )

    @property
    def count(self) -> int:
        """Classes: gap, zero, bands."""
        return 2 + max(len(self.edges) - 1, 1)

    def codes(self, values: AnyArray) -> IntArray:
        """The class of each value: 0 a gap, 1 zero, then the bands."""
        band = (
            np.clip(np.searchsorted(self.edges, values, side="left") - 1, 0, max(len(self.edges) - 2, 0)) + 2
        )
        zero = (values == 0) & self.zero
        return np.where(np.isnan(values), 0, np.where(zero, 1, band)).astype(np.int64)

    def numbers(self, codes: IntArray, rng: np.random.Generator, gpd: bool) -> AnyArray:
        """A number within each class: uniform, in the tail by a generalised Pareto distribution cut to the class."""
        band = np.maximum(codes - 2, 0)
        if len(self.edges) < 2:
            return np.where(codes == 0, np.nan, np.where(codes == 1, 0.0, self.edges[0]))
        low, high = self.edges[band], self.edges[band + 1]
        share = rng.random(len(codes))
        values = low + share * (high - low)
        tail = (
            np.isin(band, self.tails) & (codes > 1) if gpd and self.scale > 0 else np.zeros(len(codes), bool)
        )
        if tail.any():
            start = self.edges[min(self.tails)]
            ends = [self._below(edge[tail] - start) for edge in (low, high)]
            values[tail] = start + self._at(ends[0] + share[tail] * (ends[1] - ends[0]))
        return np.where(codes == 0, np.nan, np.where(codes == 1, 0.0, values))

    def _below(self, excess: AnyArray) -> AnyArray:
        if abs(self.shape) < 1e-9:
            return 1 - np.exp(-excess / self.scale)
        return 1 - np.maximum(1 + self.shape * excess / self.scale, 1e-12) ** (-1 / self.shape)

    def _at(self, share: AnyArray) -> AnyArray:
        rest = np.maximum(1 - share, 1e-12)
        if abs(self.shape) < 1e-9:
            return -self.scale * np.log(rest)
        return self.scale * (rest**-self.shape - 1) / self.shape


def _pareto(excess: AnyArray) -> tuple[float, float]:
    """Shape and scale of a generalised Pareto distribution, by moments."""
    if len(excess) < 5 or excess.var() <= 0:
        return 0.0, 0.0
    mean, ratio = float(excess.mean()), float(excess.mean() ** 2 / excess.var())
    return 0.5 * (1 - ratio), 0.5 * mean * (1 + ratio)
