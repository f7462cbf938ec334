"""Private descents: adaptive gradient descent under zCDP, and stochastic gradient descent.

Both go downhill step by step and pay for every step. The adaptive one (Lee and Kifer 2018; Tran, Reimherr and
Slavković 2024, section 3.4) chooses the length of a step by a noisy maximum and buys a better gradient when no step
helps. Here the gradient is averaged before it is scaled to length 1, and what a record adds to the objective is
clipped, as the promise needs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from scipy.special import gammaln

from dalenius.core.errors import OptionError
from dalenius.dp.noise import FloatArray, add_gaussian, choose
from dalenius.dp.regression.bounds import Reach, checked
from dalenius.dp.regression.smoothing import Loss

_FINE = 2**20
MOST_STEPS = 200_000
"""Stochastic steps at most: a draw of OpenDP's costs about 20 µs, and there is one for each coefficient and step."""


def gaussian(values: FloatArray, scale: float) -> FloatArray:
    """Numbers with discrete Gaussian noise of this scale, on a lattice of a millionth of it.

    Rounding to the lattice moves a sensitivity by less than a millionth of the noise, once for each number.
    """
    step = scale / _FINE
    return np.asarray(add_gaussian(np.round(values / step).astype(np.int64), float(_FINE)) * step, np.float64)


@dataclass
class _Descent:
    """Where an adaptive descent is, and what it has left."""

    x: FloatArray
    y: FloatArray
    loss: Loss
    reach: Reach
    left: float
    clip_gradient: float
    clip_objective: float
    price: float
    theta: FloatArray
    taken: list[float] = field(default_factory=list)

    def spend(self, rho: float) -> bool:
        """Pay, if it can be paid."""
        if rho > self.left * (1 + 1e-12):
            return False
        self.left -= rho
        return True

    def gradient(self) -> FloatArray:
        """Sum of the records' gradients, each no longer than the clip."""
        pull = self.loss.slope(self.y, self.x @ self.theta)
        length = np.abs(pull) * np.sqrt(np.einsum("ij,ij->i", self.x, self.x))
        return (pull / np.maximum(1.0, length / self.clip_gradient)) @ self.x

    def noised(self, gradient: FloatArray, rho: float) -> FloatArray:
        """The gradient with noise worth ρ."""
        return gaussian(gradient, self.reach.moved * self.clip_gradient / math.sqrt(2 * rho))

    def heights(self, sizes: FloatArray, direction: FloatArray) -> FloatArray:
        """Clipped objective after each size of step."""
        return np.array([
            np.minimum(self.loss.value(self.y, self.x @ (self.theta - size * direction)), self.clip_objective).sum()
            for size in sizes
        ])  # fmt: skip

    def best(self, sizes: FloatArray, direction: FloatArray) -> int:
        """Step that lowers the objective most, by a noisy maximum: ε-DP is ε²/8-zCDP for it.

        Each record adds between 0 and the clip, so one that is replaced moves the sum by no more than one that goes.
        """
        moved = self.reach.records * self.clip_objective
        return choose(-self.heights(sizes, direction), moved, math.sqrt(8 * self.price))


def adaptive_fit(
    x: FloatArray, y: FloatArray, loss: Loss, reach: Reach, *, rho: float, clip_gradient: float,
    clip_objective: float, start: FloatArray | None = None, first: float = 1 / 60, growth: float = 0.3,
    longest: float = 2.0, sizes: int = 20,
) -> FloatArray:  # fmt: skip
    """Coefficients by adaptive gradient descent, ρ-zCDP.

    Parameters
    ----------
    rho
        Budget.
    clip_gradient, clip_objective
        How long a record's gradient, and how large its loss, may count at most.
    first
        Share of the budget that the first gradient and the first choice of a step cost.
    longest
        Longest step at first; about the distance between the public guess and the truth.

    Examples
    --------
    >>> from dalenius.dp.regression.smoothing import Check
    >>> x, y = np.ones((20_000, 1)), np.linspace(0, 10, 20_000)
    >>> median = adaptive_fit(x, y, Check(0.5), Reach(1.0), rho=0.5, clip_gradient=1.0, clip_objective=5.0)
    >>> bool(abs(median[0] - 5) < 2)
    True
    """
    rows, held = checked(x, y)
    if not rho > 0 or not clip_gradient > 0 or not clip_objective > 0 or not longest > 0:
        raise OptionError("rho, the clips and the longest step must be above 0")
    theta = np.zeros(rows.shape[1]) if start is None else np.array(start, np.float64)
    at = _Descent(reach.hold(rows), held, loss, reach, rho, clip_gradient, clip_objective, rho * first, theta)
    grid, paid = np.linspace(0, longest, sizes), at.price
    while at.spend(paid):
        exact = at.gradient()
        seen = at.noised(exact, paid)
        while at.spend(at.price):
            direction = seen / max(float(np.linalg.norm(seen)), 1e-300)
            pick = at.best(grid, direction)
            if pick > 0:
                at.theta = at.theta - grid[pick] * direction
                at.taken.append(float(grid[pick]))
                break
            more = growth * paid  # no step helps: a second look at the gradient, averaged with the first
            if not at.spend(more):
                return at.theta
            seen = (paid * seen + more * at.noised(exact, more)) / (paid + more)
            paid += more
        else:
            return at.theta
        if len(at.taken) % 10 == 0:
            grid = np.linspace(0, 1.1 * max(at.taken[-10:]), sizes)
    return at.theta


def stochastic_cost(rows: int, batch: int, steps: int, multiplier: float, delta: float) -> float:
    """ε of so many steps on random batches under replacement, for a given δ.

    Rényi accounting of sampling without replacement (Wang, Balle and Kasiviswanathan 2019, Theorem 9) with Gaussian
    noise, and the conversion of Canonne, Kamath and Steinke (2020, Proposition 12). An upper bound: for much noise the
    library dp-accounting finds up to half of it.

    Parameters
    ----------
    multiplier
        Noise as a multiple of what replacing one record moves.

    Examples
    --------
    >>> round(stochastic_cost(2500, 25, 1000, 1.0, 1e-6), 2)
    4.02
    """
    orders = np.arange(2, 129)
    share = math.log(batch / rows)
    # log of j-th terms: binomial(α, j)·γ^j·2·exp((j-1)·j/(2σ²)); for j = 2 the smaller of 4(e^{1/σ²}-1) and 2e^{1/σ²}
    j = np.arange(2, orders[-1] + 1)
    inside = j * share + math.log(2) + (j - 1) * j / (2 * multiplier**2)
    first = 1 / multiplier**2
    inside[0] = 2 * share + min(math.log(4) + math.log(math.expm1(first)) if first < 700 else math.inf,
                                math.log(2) + first)  # fmt: skip
    log_choose = (
        gammaln(orders[:, None] + 1) - gammaln(j + 1) - gammaln(np.maximum(orders[:, None] - j, 0) + 1)
    )
    terms = np.where(j <= orders[:, None], log_choose + inside, -np.inf)
    renyi = np.logaddexp(0.0, np.logaddexp.reduce(terms, axis=1)) / (orders - 1)
    spent = steps * renyi + np.log1p(-1 / orders) - np.log(delta * orders) / (orders - 1)
    return float(max(spent.min(), 0.0))


def stochastic_noise(rows: int, batch: int, steps: int, epsilon: float, delta: float) -> float:
    """Smallest noise multiplier with which so many steps cost no more than (ε, δ); see `stochastic_cost`."""
    low, high = 1e-2, 1.0
    while stochastic_cost(rows, batch, steps, high, delta) > epsilon:
        high *= 2
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (
            (middle, high) if stochastic_cost(rows, batch, steps, middle, delta) > epsilon else (low, middle)
        )
    return high


def stochastic_fit(
    x: FloatArray, y: FloatArray, loss: Loss, reach: Reach, *, epsilon: float, delta: float,
    start: FloatArray | None = None, steps: int = 2_000, batch: int | None = None, rate: float = 1.0,
    multiplier: float | None = None,
) -> FloatArray:  # fmt: skip
    """Coefficients by stochastic gradient descent: the mean of all steps; replacement neighbours only.

    Parameters
    ----------
    steps, batch
        Steps, and records in each (default: a hundredth of them).
    multiplier
        Noise as a multiple of what one record moves; default: what (ε, δ) needs (`stochastic_noise`).
    """
    rows, held = checked(x, y)
    if reach.neighbours != "replace" or reach.records != 1:
        raise OptionError("stochastic descent is accounted for neighbours that replace one record")
    if not 0 < steps <= MOST_STEPS:
        raise OptionError(f"steps is {steps}; use 1 to {MOST_STEPS:,}")
    rows, size = reach.hold(rows), batch or max(1, len(held) // 100)
    factor = multiplier or stochastic_noise(len(held), size, steps, epsilon, delta)
    scale = factor * 2 * loss.steepest * reach.row
    theta = np.zeros(rows.shape[1]) if start is None else np.array(start, np.float64)
    noise = gaussian(np.zeros((steps, rows.shape[1])), scale)
    rng, total = np.random.default_rng(), np.zeros_like(theta)
    for step in range(steps):
        drawn = rng.choice(len(held), size, replace=False)
        gradient = loss.slope(held[drawn], rows[drawn] @ theta) @ rows[drawn]
        theta = theta - rate / math.sqrt(step + 1) * (gradient + noise[step]) / size
        total += theta
    return total / steps
