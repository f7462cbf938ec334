"""Models of several equations: multinomial logit, proportional odds, negative binomial."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import digamma, expit, gammaln, logsumexp

from dalenius.core.errors import DataError
from dalenius.data.vector import IntArray
from dalenius.utility.inference.equations import Likelihood
from dalenius.utility.inference.expressions import Floats
from dalenius.utility.inference.glm import full_rank, solve_glm


@dataclass(frozen=True, eq=False)
class Multinomial(Likelihood):
    """Chance of each class against the first; parameters class by class.

    Examples
    --------
    >>> model = Multinomial(np.ones((4, 1)), np.array([0, 1, 1, 2]), 3)
    >>> model.solve(np.ones(4)).estimates.round(4).tolist()
    [0.6931, -0.0]
    """

    x: Floats
    y: IntArray
    classes: int

    def start(self, weights: Floats) -> Floats:
        """Everything alike."""
        full_rank(np.linalg.qr(self.x)[1])
        return np.zeros(self.x.shape[1] * (self.classes - 1))

    def _logs(self, theta: Floats) -> Floats:
        eta = self.x @ theta.reshape(self.classes - 1, -1).T
        eta = np.hstack([np.zeros((len(eta), 1)), eta])
        return np.asarray(eta - logsumexp(eta, axis=1, keepdims=True))

    def rows(self, theta: Floats) -> Floats:
        """Logarithm of the chance of the class that each row has."""
        return np.asarray(self._logs(theta)[np.arange(len(self.y)), self.y])

    def scores(self, theta: Floats) -> Floats:
        """Indicator minus chance, times the predictors."""
        apart = -np.exp(self._logs(theta))
        apart[np.arange(len(self.y)), self.y] += 1
        return (apart[:, 1:, None] * self.x[:, None, :]).reshape(len(self.y), -1)


@dataclass(frozen=True, eq=False)
class Ordinal(Likelihood):
    """Proportional odds: slopes, then the cut points between classes (McCullagh 1980)."""

    x: Floats
    y: IntArray
    classes: int

    def start(self, weights: Floats) -> Floats:
        """No slopes, cut points at the observed shares."""
        if self.x.shape[1]:
            full_rank(np.linalg.qr(np.hstack([np.ones((len(self.x), 1)), self.x]))[1])
        shares = np.bincount(self.y, weights, minlength=self.classes) / weights.sum()
        below = np.clip(np.cumsum(shares)[:-1], 1e-6, 1 - 1e-6)
        return np.concatenate([np.zeros(self.x.shape[1]), np.log(below / (1 - below))])

    def _ends(self, theta: Floats) -> tuple[Floats, Floats]:
        """Chance to be below the upper and the lower cut point of each row's class."""
        slopes = self.x.shape[1]
        cuts = np.concatenate([[-np.inf], theta[slopes:], [np.inf]])
        eta = self.x @ theta[:slopes]
        return expit(cuts[self.y + 1] - eta), expit(cuts[self.y] - eta)

    def rows(self, theta: Floats) -> Floats:
        """Logarithm of the chance of the class that each row has."""
        high, low = self._ends(theta)
        with np.errstate(all="ignore"):
            return np.where(high > low, np.log(high - low), -np.inf)

    def scores(self, theta: Floats) -> Floats:
        """Slopes of that logarithm."""
        high, low = self._ends(theta)
        chance = np.maximum(high - low, 1e-300)
        up, down = high * (1 - high) / chance, low * (1 - low) / chance
        cuts = np.zeros((len(self.y), self.classes + 1))
        rows = np.arange(len(self.y))
        cuts[rows, self.y + 1] += up
        cuts[rows, self.y] -= down
        return np.hstack([-(up - down)[:, None] * self.x, cuts[:, 1:-1]])


@dataclass(frozen=True, eq=False)
class NegativeBinomial(Likelihood):
    """Counts whose variance is μ + α μ² (Cameron, Trivedi 1998: NB2); coefficients, then α."""

    x: Floats
    y: Floats
    offset: Floats

    def start(self, weights: Floats) -> Floats:
        """Poisson's coefficients, and the α that makes the variance right."""
        first = solve_glm(self.x, self.y, "poisson", weights=weights, offset=self.offset).estimates
        mu = np.exp(np.clip(self.x @ first + self.offset, -30, 30))
        more = float(weights @ ((self.y - mu) ** 2 - mu)) / float(weights @ mu**2)
        if more <= 0:
            raise DataError("family negative-binomial: the counts vary no more than a Poisson's; use poisson")
        return np.append(first, more)

    def _mean(self, theta: Floats) -> Floats:
        return np.exp(np.clip(self.x @ theta[:-1] + self.offset, -30, 30))

    def rows(self, theta: Floats) -> Floats:
        """Logarithm of the chance of each count."""
        if theta[-1] <= 0:
            return np.full(len(self.y), -np.inf)
        mu, r, y = self._mean(theta), 1 / theta[-1], self.y
        logs = (
            gammaln(y + r)
            - gammaln(r)
            - gammaln(y + 1)
            + r * np.log(r / (r + mu))
            + y * np.log(mu / (r + mu))
        )
        return np.asarray(logs)

    def scores(self, theta: Floats) -> Floats:
        """Slopes of that logarithm."""
        mu, alpha, y = self._mean(theta), theta[-1], self.y
        r = 1 / alpha
        by_r = digamma(y + r) - digamma(r) + np.log(r / (r + mu)) + 1 - (y + r) / (r + mu)
        return np.hstack([self.x * ((y - mu) / (1 + alpha * mu))[:, None], (-(r**2) * by_r)[:, None]])
