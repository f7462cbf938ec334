"""Marginal distributions by their moments, and the correlation of normals that gives a wanted one (NORTA)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import betaincinv, gammaincinv, ndtr

from dalenius.core.errors import OptionError

Floats = npt.NDArray[np.float64]
Family = Literal["normal", "lognormal", "gamma", "exponential", "beta"]
FAMILIES = ("normal", "lognormal", "gamma", "exponential", "beta")
EDGE = 1e-12


@dataclass(frozen=True)
class Marginal:
    """One distribution, given by mean and standard deviation.

    Examples
    --------
    >>> tuple(round(p, 7) for p in Marginal("lognormal", 100, 200).parameters)
    (3.8004512, 1.2686362)
    >>> tuple(round(p, 7) for p in Marginal("beta", 0.2, 0.1).parameters)
    (3.0, 12.0)
    """

    family: Family
    mean: float
    sd: float

    @property
    def parameters(self) -> tuple[float, float]:
        """Parameters by moments."""
        m, s = self.mean, self.sd
        if self.family == "lognormal":
            spread = np.log1p((s / m) ** 2)
            return float(np.log(m) - spread / 2), float(np.sqrt(spread))
        if self.family == "gamma":
            return (m / s) ** 2, s**2 / m
        if self.family == "exponential":
            return m, 0.0
        if self.family == "beta":
            c = m * (1 - m) / s**2 - 1
            if c <= 0:
                raise OptionError("a beta distribution needs a variance below m (1 - m)")
            return m * c, (1 - m) * c
        return m, s

    def at(self, z: Floats) -> Floats:
        """Values at points of a standard normal."""
        if self.sd <= 0:
            return np.full(z.shape, self.mean)
        a, b = self.parameters
        if self.family == "normal":
            return np.asarray(a + b * z)
        if self.family == "lognormal":
            return np.exp(a + b * z)
        u = np.clip(ndtr(z), EDGE, 1 - EDGE)
        if self.family == "gamma":
            return np.asarray(b * gammaincinv(a, u))
        if self.family == "exponential":
            return np.asarray(-a * np.log1p(-u))
        return np.asarray(betaincinv(a, b, u))


def latent_correlation(first: Marginal, second: Marginal, r: float) -> tuple[float, bool]:
    """Correlation of the normals behind two distributions that gives them correlation ``r``; whether it can be reached.

    Examples
    --------
    >>> two = Marginal("lognormal", 1, 2)
    >>> round(latent_correlation(two, two, 0.8)[0], 7), latent_correlation(two, two, -0.3)
    (0.8916681, (-1.0, False))
    >>> round(latent_correlation(Marginal("normal", 0, 1), two, 0.1)[0], 7)
    0.1576496
    """
    if first.sd <= 0 or second.sd <= 0:
        return 0.0, True
    kinds = (first.family, second.family)
    if kinds == ("normal", "normal"):
        return r, True
    if kinds == ("lognormal", "lognormal"):
        cv = (first.sd / first.mean) * (second.sd / second.mean)
        spread = np.sqrt(np.log1p((first.sd / first.mean) ** 2) * np.log1p((second.sd / second.mean) ** 2))
        return _clipped(np.log1p(r * cv) / spread) if 1 + r * cv > 0 else (-1.0, False)
    if set(kinds) == {"normal", "lognormal"}:
        cv = second.sd / second.mean if second.family == "lognormal" else first.sd / first.mean
        return _clipped(r * cv / np.sqrt(np.log1p(cv**2)))
    return _bisect(first, second, r)


def _clipped(rho: float) -> tuple[float, bool]:
    return float(np.clip(rho, -1, 1)), bool(abs(rho) <= 1 + 1e-9)


def _bisect(first: Marginal, second: Marginal, r: float) -> tuple[float, bool]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    weights = weights / weights.sum()
    x, y = np.meshgrid(nodes, nodes, indexing="ij")
    both = np.outer(weights, weights)
    one = first.at(x)
    mean1, mean2 = float((both * one).sum()), float((weights * second.at(nodes)).sum())
    sd1 = float(np.sqrt((both * (one - mean1) ** 2).sum()))
    sd2 = float(np.sqrt((weights * (second.at(nodes) - mean2) ** 2).sum()))

    def reached(rho: float) -> float:
        two = second.at(rho * x + np.sqrt(max(1 - rho**2, 0.0)) * y)
        return float((both * (one - mean1) * (two - mean2)).sum() / (sd1 * sd2))

    low, high = -1.0, 1.0
    if not reached(low) <= r <= reached(high):
        return (low, False) if r < reached(low) else (high, False)
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if reached(middle) < r else (low, middle)
    return (low + high) / 2, True


def repaired(matrix: Any) -> tuple[Floats, float]:
    """The nearest thing to a correlation matrix: no negative eigenvalues, ones on the diagonal; and how far it moved.

    Examples
    --------
    >>> repaired([[1, 0.9, -0.9], [0.9, 1, 0.9], [-0.9, 0.9, 1]])[0].round(6)[0].tolist()
    [1.0, 0.5, -0.5]
    """
    given = np.asarray(matrix, np.float64)
    if not np.allclose(given, given.T):
        raise OptionError("a correlation matrix must be symmetric")
    values, vectors = np.linalg.eigh(given)
    if values.min() >= 0:
        return given, 0.0
    made = (vectors * np.maximum(values, 1e-8)) @ vectors.T
    scale = np.sqrt(np.diag(made))
    made = made / np.outer(scale, scale)
    return made, float(np.linalg.norm(made - given))


def random_correlation(size: int, rng: np.random.Generator) -> Floats:
    """A correlation matrix drawn evenly among all there are (Lewandowski, Kurowicka and Joe 2009, vines).

    Examples
    --------
    >>> drawn = random_correlation(4, np.random.default_rng(1))
    >>> bool(np.linalg.eigvalsh(drawn).min() > 0), np.diag(drawn).tolist()
    (True, [1.0, 1.0, 1.0, 1.0])
    """
    partial, made = np.zeros((size, size)), np.eye(size)
    shape = 1 + (size - 1) / 2
    for k in range(size - 1):
        shape -= 0.5
        for i in range(k + 1, size):
            partial[k, i] = 2 * rng.beta(shape, shape) - 1
            p = partial[k, i]
            for at in range(k - 1, -1, -1):
                rest = np.sqrt((1 - partial[at, i] ** 2) * (1 - partial[at, k] ** 2))
                p = p * rest + partial[at, i] * partial[at, k]
            made[k, i] = made[i, k] = p
    return made


def correlated_normals(
    correlation: Floats, rows: int, rng: np.random.Generator, exact: bool = False
) -> Floats:
    """Rows of normals with a correlation; ``exact`` gives it to the sample itself."""
    size = len(correlation)
    z = rng.standard_normal((rows, size))
    if exact and rows > size + 1:
        z = z - z.mean(axis=0)
        z = z @ np.linalg.inv(np.linalg.cholesky(np.cov(z.T, bias=True).reshape(size, size))).T
    values, vectors = np.linalg.eigh(correlation)
    return np.asarray(z @ ((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T))
