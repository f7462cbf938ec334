"""K-norm gradient mechanism: coefficients are drawn the likelier the shorter their gradient is.

The density is proportional to exp(-ε/(2Δ)·|Σ gradient|∞)·ν(θ), Δ the most by which neighbours move an entry of the
gradient (Reimherr and Awan 2019; Tran, Reimherr and Slavković 2024, section 3.1). The gradient is bounded, so without a
base measure ν that vanishes far away the density has no finite mass (their Equation 6 leaves it out): a box or a normal
law, public, must be given. On a grid the draw is exact, and so is the promise; a Markov chain only comes near.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from dalenius.core.errors import OptionError
from dalenius.dp.noise import FloatArray, choose
from dalenius.dp.regression.bounds import Reach, checked
from dalenius.dp.regression.smoothing import Loss

MOST_POINTS = 10_000_000
_BLOCK = 1 << 20


@dataclass(frozen=True)
class Box:
    """Uniform base measure on a box, one pair of ends for each coefficient."""

    low: tuple[float, ...]
    high: tuple[float, ...]

    @classmethod
    def of(cls, low: float | Sequence[float], high: float | Sequence[float], width: int) -> Box:
        """A box, its ends given once or for each coefficient."""
        ends = [np.broadcast_to(np.asarray(end, np.float64), (width,)) for end in (low, high)]
        if not (np.isfinite(ends).all() and np.all(ends[0] < ends[1])):
            raise OptionError("a box needs finite ends, the lower one below the upper one")
        return cls(tuple(ends[0].tolist()), tuple(ends[1].tolist()))

    def grid(self, points: int) -> FloatArray:
        """All combinations of equally spaced values."""
        axes = [np.linspace(a, b, points) for a, b in zip(self.low, self.high, strict=True)]
        return np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, len(axes))


def gradients(x: FloatArray, y: FloatArray, loss: Loss, points: FloatArray) -> FloatArray:
    """The summed gradient at each point, one row each.

    Examples
    --------
    >>> from dalenius.dp.regression.smoothing import Check
    >>> gradients(np.ones((2, 1)), np.zeros(2), Check(0.5), np.array([[0.0], [-1e6]])).tolist()
    [[0.0], [-1.0]]
    """
    summed = np.empty((len(points), x.shape[1]))
    size = max(1, _BLOCK // max(len(y), 1))
    for start in range(0, len(points), size):
        at = points[start : start + size] @ x.T
        summed[start : start + size] = loss.slope(y[None, :], at) @ x
    return summed


def lengths(x: FloatArray, y: FloatArray, loss: Loss, points: FloatArray) -> FloatArray:
    """Largest entry of the summed gradient at each point.

    Examples
    --------
    >>> from dalenius.dp.regression.smoothing import Check
    >>> lengths(np.ones((2, 1)), np.zeros(2), Check(0.5), np.array([[0.0], [1e6]])).tolist()
    [0.0, 1.0]
    """
    return np.asarray(np.abs(gradients(x, y, loss, points)).max(axis=1))


def grid_scores(
    x: FloatArray, y: FloatArray, loss: Loss, reach: Reach, points: FloatArray, epsilon: float
) -> FloatArray:
    """Logarithm of the density at each point, up to a constant."""
    return -epsilon / (2 * _moved(loss, reach)) * lengths(x, y, loss, points)


def drawn_fit(
    x: FloatArray, y: FloatArray, loss: Loss, reach: Reach, box: Box, *, epsilon: float,
    points: int | None = None, sampler: Literal["grid", "mcmc"] = "grid", chains: int = 4, steps: int = 20_000,
) -> FloatArray:  # fmt: skip
    """Coefficients drawn by the K-norm gradient mechanism.

    Parameters
    ----------
    box
        Where coefficients may lie; public.
    points
        Points of the grid along each coefficient (default: as many as make about 40,000 in all).
    sampler
        "grid": exact, for up to three coefficients or so. "mcmc": a Markov chain, whose law comes near but is not the
        one that the promise is about: never to be trusted with confidential data.

    Examples
    --------
    >>> from dalenius.dp.regression.smoothing import Check
    >>> x, y = np.ones((2_000, 1)), np.linspace(0, 10, 2_000)
    >>> median = drawn_fit(x, y, Check(0.5), Reach(1.0), Box.of(-20, 20, 1), epsilon=1.0, points=401)
    >>> bool(abs(median[0] - 5) < 1)
    True
    """
    rows, held = checked(x, y)
    width, rows = rows.shape[1], reach.hold(rows)
    if len(box.low) != width:
        raise OptionError(f"the box has {len(box.low)} sides, and there are {width} coefficients")
    if sampler == "mcmc":
        return _walk(rows, held, loss, reach, box, epsilon, chains, steps)
    along = points or max(2, int(40_000 ** (1 / width)))
    if along**width > MOST_POINTS:
        raise OptionError(
            f"a grid of {along} points along {width} coefficients has more than {MOST_POINTS:,}; take fewer points or "
            "predictors, or the mechanism 'opm'"
        )
    grid = box.grid(along)
    pick = choose(-lengths(rows, held, loss, grid), _moved(loss, reach), epsilon)
    return np.asarray(grid[pick])


def too_flat(loss: Loss, reach: Reach, box: Box, rows: int, epsilon: float) -> tuple[float, float, bool]:
    """Two public numbers, and whether the draw may be no more than a draw from the box.

    The first is how far the density falls from its peak to its flat tail, about ε·n·min(τ, 1-τ)/(2Δ); the second is how
    much of that the volume of the box eats up. The rule was fitted to a few simulations and misses some cases.
    """
    fall = epsilon * rows * (1 - loss.steepest) / (2 * _moved(loss, reach))
    eaten = sum(math.log(b - a) for a, b in zip(box.low, box.high, strict=True)) + 5
    return fall, eaten, fall < eaten


def _moved(loss: Loss, reach: Reach) -> float:
    return reach.moved * loss.steepest * reach.largest


def _walk(
    x: FloatArray, y: FloatArray, loss: Loss, reach: Reach, box: Box, epsilon: float, chains: int, steps: int
) -> FloatArray:
    """Random walks with leaps into the whole box (three in ten), until the chains agree (R-hat below 1.05)."""
    rng: Any = np.random.default_rng()
    low, high = np.array(box.low), np.array(box.high)
    at = rng.uniform(low, high, (chains, len(low)))
    score, size = grid_scores(x, y, loss, reach, at, epsilon), (high - low) / 20
    kept: list[FloatArray] = []
    for step in range(1, steps + 1):
        leap = rng.random(chains) < 0.3
        to = np.where(leap[:, None], rng.uniform(low, high, at.shape), at + rng.normal(0, 1, at.shape) * size)
        inside = np.all((to >= low) & (to <= high), axis=1)
        new = np.where(inside, grid_scores(x, y, loss, reach, to, epsilon), -np.inf)
        moves = np.log(rng.random(chains)) < new - score
        at, score = np.where(moves[:, None], to, at), np.where(moves, new, score)
        if step <= steps // 10:  # the step size settles early, and then stays
            share = np.mean(moves[~leap]) if np.any(~leap) else 0.234
            size = size * math.exp((share - 0.234) / math.sqrt(step))
        kept.append(at)
        if step % 1000 == 0 and _agree(np.stack(kept[len(kept) // 2 :])):
            break
    return np.asarray(at[0])


def _agree(walks: FloatArray) -> bool:
    """Gelman and Rubin's R-hat below 1.05 for every coefficient; ``walks`` is steps × chains × coefficients."""
    between, within = walks.mean(axis=0).var(axis=0, ddof=1), walks.var(axis=0, ddof=1).mean(axis=0)
    return bool(np.all(np.sqrt(1 + between / np.maximum(within, 1e-300)) < 1.05))
