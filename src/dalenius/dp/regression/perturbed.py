"""Objective perturbation: one draw of noise pushes the sum of losses, and its exact minimum is released.

Σ loss + Λ/2·|θ - centre|² + b·θ is minimised, Λ = 2λ/ε, where λ is the largest curvature of what one unit owns. b has a
density proportional to exp(-ε|b|/(2Δ)) (ε-DP) or is Gaussian ((ε, δ)-DP), Δ being the most by which neighbours move the
gradient (Kifer, Smith and Thakurta 2012, Theorem 2; Tran, Reimherr and Slavković 2024, section 3.2, with γ = 0: no
loss of bounded slope is strongly convex everywhere). Under replacement the ratio of determinants is no larger than when
a record comes or goes: the records that both neighbours have bound it from below.
"""

from __future__ import annotations

import math

import numpy as np

from dalenius.core.errors import OptionError
from dalenius.dp.noise import FloatArray, add_gaussian, draw_geometric
from dalenius.dp.regression.bounds import Reach, checked
from dalenius.dp.regression.minimise import minimise
from dalenius.dp.regression.smoothing import Loss

_FINE = 2**50
"""Steps of the noise's lattice in one scale of it."""
_CELLS = 2**22
"""Steps of the released coefficients in the move that noise of one scale makes against the ridge alone."""


def ridge_needed(loss: Loss, reach: Reach, epsilon: float) -> float:
    """Λ: as much ridge as the promise needs.

    Examples
    --------
    >>> from dalenius.dp.regression.smoothing import Check
    >>> ridge_needed(Check(0.5, h=0.5), Reach(201**0.5), epsilon=1.0)
    201.0
    """
    return float(np.round(2 * reach.records * loss.sharpest * reach.row**2 / epsilon, 12))


def noise_scale(loss: Loss, reach: Reach, epsilon: float, delta: float = 0.0) -> float:
    """Scale of the length of b (pure), or standard deviation of its entries (δ above 0)."""
    moved = reach.moved * loss.steepest * reach.row
    if delta == 0:
        return 2 * moved / epsilon
    return moved * math.sqrt(8 * math.log(2 / delta) + 4 * epsilon) / epsilon


def perturbed_fit(
    x: FloatArray, y: FloatArray, loss: Loss, reach: Reach, *, epsilon: float, delta: float = 0.0,
    centre: FloatArray | None = None,
) -> FloatArray:  # fmt: skip
    """Coefficients of a private fit.

    Parameters
    ----------
    centre
        A public guess of the coefficients, towards which the ridge pulls instead of towards 0. Costs nothing.

    Examples
    --------
    >>> from dalenius.dp.regression.smoothing import Check
    >>> x = np.ones((10_000, 1))
    >>> median = perturbed_fit(x, np.linspace(0, 10, 10_000), Check(0.5), Reach(1.0), epsilon=1.0)
    >>> bool(abs(median[0] - 5) < 1)
    True
    """
    rows, held = checked(x, y)
    if not epsilon > 0 or not 0 <= delta < 1:
        raise OptionError("epsilon must be above 0, and delta at least 0 and below 1")
    if not loss.smooth:
        raise OptionError(
            "the uniform kernel has jumps in its curvature; objective perturbation needs another"
        )
    push = draw_push(rows.shape[1], noise_scale(loss, reach, epsilon, delta), gaussian=delta > 0)
    ridge = ridge_needed(loss, reach, epsilon)
    exact = minimise(reach.hold(rows), held, loss, ridge=ridge, centre=centre, push=push)
    step = grid_step(loss, reach, epsilon, delta)
    return np.asarray(np.round(exact / step) * step)


def grid_step(loss: Loss, reach: Reach, epsilon: float, delta: float = 0.0) -> float:
    """Released coefficients are whole multiples of this, which is public.

    The noise lives on a lattice. Whoever knew all records but one could work out the noise from coefficients with all
    their digits, and look whether it lies there: with the right record it does, with any other it does not. A cell of
    this grid holds 2**27 points of the lattice at least, whatever the records are.

    Examples
    --------
    >>> from dalenius.dp.regression.smoothing import Check
    >>> grid_step(Check(0.5), Reach(1.0), 1.0) * 2**21
    1.0
    """
    width = noise_scale(loss, reach, epsilon, delta) / ridge_needed(loss, reach, epsilon)
    return float(2.0 ** math.floor(math.log2(width))) / _CELLS


def draw_push(width: int, scale: float, *, gaussian: bool) -> FloatArray:
    """Draw b on a fine lattice: its length is a sum of geometric draws (a Gamma's), its direction a Gaussian's."""
    zeros = np.zeros(width, np.int64)
    direction = add_gaussian(zeros, float(_FINE)).astype(np.float64) / _FINE
    if gaussian:
        return scale * direction
    length = float(draw_geometric(width, float(_FINE)).astype(np.float64).sum()) / _FINE
    size = float(np.linalg.norm(direction))
    return scale * length * direction / size if size > 0 else scale * length * np.eye(width)[0]
