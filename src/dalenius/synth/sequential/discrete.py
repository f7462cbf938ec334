"""Regressions for categories: logistic, multinomial and proportional odds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from dalenius.core.random import Seed, generator
from dalenius.data.vector import AnyArray, IntArray
from dalenius.synth.sequential.design import Design, Floats, Terms
from dalenius.synth.sequential.fitted import Fitted, Job, column_method
from dalenius.synth.sequential.likelihood import fit_logistic, fit_multinomial, fit_proportional, separated
from dalenius.synth.sequential.regression import Regression


@column_method
@dataclass(eq=False, repr=False)
class Multinomial(Regression):
    """Multinomial logistic regression."""

    name = "polyreg"
    takes = "classes"
    summary = "multinomial logistic regression"

    terms: Terms
    beta: Floats  # one column per class but the first
    classes: IntArray
    separated: bool = False

    @classmethod
    def fit(cls, job: Job) -> Fitted:
        """Fit (on resampled rows for a proper synthesis)."""
        chosen = job.proper()
        classes, y = np.unique(chosen.values, return_inverse=True)
        terms = Terms.fit(chosen.design, chosen.use, chosen.rows)
        x = terms.matrix(chosen.design, chosen.rows)
        w, ridge = chosen.masses, chosen.tuning.ridge
        if len(classes) == 2:
            beta = fit_logistic(x, y.astype(np.float64), w * (len(w) / w.sum()), ridge)[0][:, None]
        else:
            beta = fit_multinomial(x, y, len(classes), w / w.sum(), ridge)
        return cls(terms, beta, classes, separated(x, y))

    def draw(self, design: Design, rows: IntArray, seed: Seed) -> AnyArray:
        """A class by its chance."""
        chance = generator(seed, "class").random(len(rows))

        def drawn(x: Floats, part: slice) -> AnyArray:
            score = np.hstack([np.zeros((len(x), 1)), x @ self.beta])
            return pick_class(np.exp(score - score.max(axis=1, keepdims=True)), chance[part])

        return self.classes[self.by_chunk(design, rows, drawn)]


@column_method
class Logistic(Multinomial):
    """Logistic regression of a category with two levels; a proper synthesis draws the coefficients."""

    name = "logreg"
    summary = "logistic regression (two levels)"

    @classmethod
    def fit(cls, job: Job) -> Fitted:
        """Fit; more than two classes go to the multinomial model."""
        classes, y = np.unique(job.values, return_inverse=True)
        if len(classes) != 2:
            return Multinomial.fit(job)
        terms = Terms.fit(job.design, job.use, job.rows)
        x = terms.matrix(job.design, job.rows)
        w = job.masses * (len(job.rows) / job.masses.sum())
        beta, covariance = fit_logistic(x, y.astype(np.float64), w, job.tuning.ridge)
        if job.tuning.proper:
            beta = beta + np.linalg.cholesky(covariance) @ job.rng("beta").standard_normal(len(beta))
        return cls(terms, beta[:, None], classes, separated(x, y))


@column_method
@dataclass(eq=False, repr=False)
class ProportionalOdds(Regression):
    """Cumulative logistic regression of an ordered category (McCullagh 1980)."""

    name = "polr"
    takes = "classes"
    summary = "proportional odds (ordered levels)"

    terms: Terms
    beta: Floats
    cuts: Floats
    classes: IntArray

    @classmethod
    def fit(cls, job: Job) -> Fitted:
        """Fit (on resampled rows for a proper synthesis); two classes are a logistic regression."""
        chosen = job.proper()
        classes, y = np.unique(chosen.values, return_inverse=True)
        if len(classes) < 3:
            return Multinomial.fit(job)
        terms = Terms.fit(chosen.design, chosen.use, chosen.rows)
        x = terms.matrix(chosen.design, chosen.rows)[:, 1:]
        w = chosen.masses
        cuts, beta = fit_proportional(x, y, len(classes), w / w.sum(), chosen.tuning.ridge)
        return cls(terms, beta, cuts, classes)

    def draw(self, design: Design, rows: IntArray, seed: Seed) -> AnyArray:
        """A class by its chance."""
        chance = generator(seed, "class").random(len(rows))

        def drawn(x: Floats, part: slice) -> AnyArray:
            below = expit(self.cuts[None, :] - (x[:, 1:] @ self.beta)[:, None])
            return np.asarray((chance[part][:, None] > below).sum(axis=1))

        return self.classes[self.by_chunk(design, rows, drawn)]


def pick_class(chances: Floats, uniform: Floats) -> npt.NDArray[np.int64]:
    """One class per row by its chances."""
    ends = np.cumsum(chances, axis=1)
    return np.minimum((uniform[:, None] * ends[:, -1:] > ends).sum(axis=1), chances.shape[1] - 1)
