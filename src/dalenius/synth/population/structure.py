"""The structure of a population: which households, with how many members of what age and sex, in which stratum.

Whole households of the survey are drawn in proportion to their weights (simPop's "direct"; Thees et al. 2024, section
on population synthesis), so that no household of children alone comes out of one that has none. Ages of households
that few are like are drawn anew within their band: nobody's family is cloned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from dalenius.core.random import Seed, generator
from dalenius.data.vector import AnyArray, BoolArray, IntArray
from dalenius.synth.population.survey import Survey

Structure = Literal["direct", "multinom", "distribution"]
BANDS = np.array([5, 10, 15, 16, 20, *range(25, 100, 5)])
"""Ends of the bands within which an age is drawn anew: those of five years, and 16, from which a member is an adult."""


@dataclass(frozen=True, eq=False)
class Households:
    """Drawn households: for each the survey's household it is like, and its stratum."""

    donor: IntArray
    strata: IntArray


def cells(survey: Survey) -> AnyArray:
    """Households of the population by stratum and size: rounded sums of weights (Horvitz–Thompson), half up.

    Examples
    --------
    >>> from dalenius.synth.population.survey import SurveySpec
    >>> data = {"hh": [1, 1, 2], "region": ["n"] * 3, "w": [10.5, 10.5, 3.5], "age": [40, 9, 70], "sex": [1, 2, 1]}
    >>> cells(Survey.of(data, SurveySpec("hh", "region", "w"))).tolist()
    [[4, 11]]
    """
    most = int(survey.sizes.max())
    place = survey.strata * most + survey.sizes - 1
    sums = np.bincount(place, survey.weights, minlength=len(survey.labels) * most)
    return np.floor(sums + 0.5).astype(np.int64).reshape(len(survey.labels), most)


def draw_households(survey: Survey, method: Structure, seed: Seed) -> Households:
    """Households of the population.

    Parameters
    ----------
    method
        "direct": as many of each stratum and size as the weights say; "distribution": sizes drawn from the stratum's
        weighted distribution; "multinom": sizes from a weighted multinomial model of size on stratum, in which a size
        that a stratum has not seen is possible and taken from households of all strata.
    """
    rng = generator(seed, "structure", method)
    wanted = cells(survey)
    if method != "direct":
        totals = wanted.sum(axis=1)
        shares = wanted / np.maximum(totals, 1)[:, None]
        if (
            method == "multinom"
        ):  # a saturated model with a little of the whole: every size is possible everywhere
            whole = wanted.sum(axis=0) / max(wanted.sum(), 1)
            shares = (shares * totals[:, None] + whole) / (totals[:, None] + 1)
        wanted = np.stack([rng.multinomial(n, p / p.sum()) for n, p in zip(totals, shares, strict=True)])
    donors, strata = [], []
    for stratum, size in zip(*np.nonzero(wanted), strict=True):
        pool = np.flatnonzero((survey.strata == stratum) & (survey.sizes == size + 1))
        if not len(pool):
            pool = np.flatnonzero(survey.sizes == size + 1)
        ends = np.cumsum(survey.weights[pool])
        at = np.searchsorted(ends, rng.random(wanted[stratum, size]) * ends[-1], side="right")
        donors.append(pool[np.minimum(at, len(pool) - 1)].astype(np.int32))
        strata.append(np.full(wanted[stratum, size], stratum, np.int16))
    return Households(np.concatenate(donors), np.concatenate(strata))


def rare_compositions(survey: Survey, columns: list[AnyArray], least: int) -> BoolArray:
    """Households whose members (in any order) fewer than ``least`` households are like.

    Examples
    --------
    >>> from dalenius.synth.population.survey import SurveySpec
    >>> data = {"hh": [1, 2, 3], "region": ["n"] * 3, "w": [1.5] * 3, "age": [40, 40, 70], "sex": [1, 1, 1]}
    >>> survey = Survey.of(data, SurveySpec("hh", "region", "w"))
    >>> rare_compositions(survey, [survey.table["age"].floats()], 2).tolist()
    [False, False, True]
    """
    member = np.zeros(survey.table.rows, np.int64)
    for column in columns:
        codes = np.unique(column, return_inverse=True)[1]
        member = member * (int(codes.max(initial=0)) + 1) + codes
    words = generator(0, "compositions").integers(
        1, 2**63 - 1, int(member.max(initial=0)) + 1, dtype=np.uint64
    )
    family = np.add.reduceat(words[member], survey.starts)
    _, inverse, times = np.unique(family, return_inverse=True, return_counts=True)
    return times[inverse] < least


def ages_anew(
    ages: AnyArray, sexes: IntArray, pool_ages: AnyArray, pool_sexes: IntArray, rng: np.random.Generator
) -> AnyArray:
    """Ages drawn from people of the survey of the same sex and band, rarely held ones left out.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> drawn = ages_anew(np.array([33, 3]), np.array([0, 0]), np.array([31, 34, 2]), np.zeros(3, int), rng)
    >>> bool(drawn[0] in (31, 34)), int(drawn[1])
    (True, 2)
    """
    group = np.searchsorted(BANDS, pool_ages, side="right") * 1000 + pool_sexes
    order = np.argsort(group, kind="stable")
    group, held = group[order], pool_ages[order]
    wanted = np.searchsorted(BANDS, ages, side="right") * 1000 + sexes
    low, high = np.searchsorted(group, wanted, "left"), np.searchsorted(group, wanted, "right")
    at = low + (rng.random(len(ages)) * (high - low)).astype(np.int64)
    return np.where(high > low, held[np.minimum(at, len(held) - 1)], ages)
