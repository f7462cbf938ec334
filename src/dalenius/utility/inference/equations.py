"""Estimating equations: what a fitted model must tell so that its covariance follows, with a design or without.

An estimate solves Σ w_i s_i(θ) = 0. With A the weighted sum of −∂s_i/∂θ, the inverse of A is the covariance that the
model itself claims, and w_i s_i A⁻¹ is what row i contributes to the estimate, from which a design's covariance comes
(Binder 1983).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from dalenius.core.errors import DataError
from dalenius.utility.inference.expressions import Floats

STEPS = 60
CLOSE = 1e-10


@dataclass(frozen=True, eq=False)
class Solved:
    """A solved estimating equation.

    Attributes
    ----------
    estimates
        θ.
    inverse
        A⁻¹.
    scores
        s_i(θ), a row each, without weights.
    dispersion
        What the model's own covariance is multiplied by.
    """

    estimates: Floats
    inverse: Floats
    scores: Floats
    dispersion: float = 1.0

    @property
    def influence(self) -> Floats:
        """What each row contributes to the estimate, to be multiplied by its weight."""
        return self.scores @ self.inverse.T


class Likelihood(ABC):
    """A model of several equations, given by what each row adds to the likelihood and to its slope."""

    @abstractmethod
    def start(self, weights: Floats) -> Floats:
        """Where to begin."""

    @abstractmethod
    def rows(self, theta: Floats) -> Floats:
        """Logarithm of each row's likelihood; −∞ where the parameters are impossible."""

    @abstractmethod
    def scores(self, theta: Floats) -> Floats:
        """Slope of each row's logarithm, a column a parameter."""

    def solve(self, weights: Floats) -> Solved:
        """Newton's method, steps halved until the likelihood rises; curvature from differences of the slopes."""
        theta = self.start(weights)
        height = float(weights @ self.rows(theta))
        for _ in range(STEPS):
            slope = weights @ self.scores(theta)
            curve = self._curve(theta, weights)
            step = np.linalg.lstsq(curve, slope, rcond=None)[0]
            size = 1.0
            while size > 1e-8:
                tried = theta + size * step
                with np.errstate(all="ignore"):
                    higher = float(weights @ self.rows(tried))
                if np.isfinite(higher) and higher >= height - 1e-12 * abs(height):
                    break
                size /= 2
            else:
                break
            gained, theta, height = higher - height, tried, higher
            if gained <= CLOSE * (abs(height) + 0.1) and np.abs(step).max() < 1e-6 * (
                1 + np.abs(theta).max()
            ):
                break
        else:
            raise DataError("the model did not settle; a level may have next to no rows: join levels")
        curve = self._curve(theta, weights)
        return Solved(theta, np.asarray(np.linalg.pinv(curve), np.float64), self.scores(theta))

    def _curve(self, theta: Floats, weights: Floats) -> Floats:
        """−∂ Σ w s / ∂θ by central differences."""
        size = 1e-5 * np.maximum(np.abs(theta), 0.1)
        columns = []
        for i, h in enumerate(size):
            ahead, behind = theta.copy(), theta.copy()
            ahead[i] += h
            behind[i] -= h
            columns.append((weights @ self.scores(behind) - weights @ self.scores(ahead)) / (2 * h))
        curve = np.stack(columns, axis=1)
        return (curve + curve.T) / 2
