"""The check loss of quantile regression, smoothed so that it has a gradient and a curvature.

A residual u = y - xθ costs ρ(u) = |u|/2 + (τ - 1/2)u. Averaged over a kernel k of bandwidth h, with z = u/h, it costs
(h/2)·I(z) + (τ - 1/2)u, has the slope K(z) + τ - 1 and the curvature k(z)/h, where I(z) = ∫|z+v|k(v)dv and K is the
kernel's distribution function (Tran, Reimherr and Slavković 2024, section 2; two entries of their Table 1 and two of
their Table 2 are printed wrong and are right here: each was integrated numerically).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from scipy.special import expit, ndtr

from dalenius.core.errors import OptionError
from dalenius.dp.noise import FloatArray

KernelName = Literal["logistic", "gaussian", "uniform", "laplacian", "epanechnikov"]


@dataclass(frozen=True)
class Kernel:
    """A kernel: its density, its distribution function, ∫|z+v|k(v)dv, and the peak of the density."""

    density: Callable[[FloatArray], FloatArray]
    distribution: Callable[[FloatArray], FloatArray]
    integral: Callable[[FloatArray], FloatArray]
    peak: float
    smooth: bool = True
    """Whether the density is continuous: objective perturbation needs it."""


def _inside(z: FloatArray, value: FloatArray, beyond: FloatArray) -> FloatArray:
    return np.where(np.abs(z) <= 1, value, beyond)


KERNELS: dict[str, Kernel] = {
    "logistic": Kernel(lambda z: expit(z) * expit(-z), expit, lambda z: z + 2 * np.logaddexp(0, -z), 0.25),
    "gaussian": Kernel(
        lambda z: np.exp(-z * z / 2) / math.sqrt(2 * math.pi),
        ndtr,
        lambda z: math.sqrt(2 / math.pi) * np.exp(-z * z / 2) + z * (1 - 2 * ndtr(-z)),
        1 / math.sqrt(2 * math.pi),
    ),
    "uniform": Kernel(
        lambda z: _inside(z, np.full_like(z, 0.5), np.zeros_like(z)),
        lambda z: np.clip((z + 1) / 2, 0, 1),
        lambda z: _inside(z, (z * z + 1) / 2, np.abs(z)),
        0.5,
        smooth=False,
    ),
    "laplacian": Kernel(
        lambda z: np.exp(-np.abs(z)) / 2,
        lambda z: 0.5 - np.sign(z) * np.expm1(-np.abs(z)) / 2,
        lambda z: np.abs(z) + np.exp(-np.abs(z)),
        0.5,
    ),
    "epanechnikov": Kernel(
        lambda z: _inside(z, 0.75 * (1 - z * z), np.zeros_like(z)),
        lambda z: _inside(z, 0.75 * z - z**3 / 4 + 0.5, (z > 1).astype(float)),
        lambda z: _inside(z, 0.75 * z * z - z**4 / 8 + 0.375, np.abs(z)),
        0.75,
    ),
}


class Loss(Protocol):
    """What a record costs, as a function of its y and of ``at`` = xθ; slope and curvature in ``at`` are bounded."""

    @property
    def steepest(self) -> float:
        """The largest slope."""

    @property
    def sharpest(self) -> float:
        """The largest curvature."""

    @property
    def smooth(self) -> bool:
        """Whether the curvature is continuous."""

    def value(self, y: FloatArray, at: FloatArray) -> FloatArray:
        """Loss of each record."""

    def slope(self, y: FloatArray, at: FloatArray) -> FloatArray:
        """Its derivative in ``at``."""

    def curvature(self, y: FloatArray, at: FloatArray) -> FloatArray:
        """Its second derivative."""


@dataclass(frozen=True)
class Check:
    """Smoothed check loss of one quantile.

    Parameters
    ----------
    tau
        Which quantile: 0.5 is the median.
    h
        Bandwidth, in the unit of y: how far the loss is rounded off around 0.

    Examples
    --------
    >>> loss, one, nought = Check(0.25, h=0.5), np.array(1.0), np.array(0.0)
    >>> float(np.round(loss.value(one, nought), 6)), float(np.round(loss.slope(one, nought), 6))
    (0.313464, -0.130797)
    """

    tau: float = 0.5
    h: float = 0.5
    kernel: KernelName = "logistic"

    def __post_init__(self) -> None:
        if not 0 < self.tau < 1:
            raise OptionError(f"tau is {self.tau}; use a number above 0 and below 1")
        if not 0 < self.h < math.inf:
            raise OptionError(f"h is {self.h}; use a number above 0")
        if self.kernel not in KERNELS:
            raise OptionError(f"kernel is {self.kernel!r}; use one of {', '.join(KERNELS)}")

    @property
    def steepest(self) -> float:
        """The largest slope: how hard one record of length 1 can pull."""
        return max(self.tau, 1 - self.tau)

    @property
    def sharpest(self) -> float:
        """The largest curvature."""
        return KERNELS[self.kernel].peak / self.h

    @property
    def smooth(self) -> bool:
        """Whether the curvature is continuous."""
        return KERNELS[self.kernel].smooth

    def value(self, y: FloatArray, at: FloatArray) -> FloatArray:
        """Loss of each record."""
        u = y - at
        return self.h / 2 * KERNELS[self.kernel].integral(u / self.h) + (self.tau - 0.5) * u

    def slope(self, y: FloatArray, at: FloatArray) -> FloatArray:
        """Its derivative in ``at``."""
        return KERNELS[self.kernel].distribution((at - y) / self.h) - self.tau

    def curvature(self, y: FloatArray, at: FloatArray) -> FloatArray:
        """Its second derivative."""
        return KERNELS[self.kernel].density((y - at) / self.h) / self.h


@dataclass(frozen=True)
class LogLoss:
    """Loss of logistic regression, for y of 0 or 1.

    Examples
    --------
    >>> float(np.round(LogLoss().slope(np.array(1.0), np.array(0.0)), 3))
    -0.5
    """

    steepest: float = 1.0
    sharpest: float = 0.25
    smooth: bool = True

    def value(self, y: FloatArray, at: FloatArray) -> FloatArray:
        """Loss of each record."""
        return np.logaddexp(0, at) - y * at

    def slope(self, y: FloatArray, at: FloatArray) -> FloatArray:
        """Its derivative in ``at``."""
        return expit(at) - y

    def curvature(self, y: FloatArray, at: FloatArray) -> FloatArray:
        """Its second derivative."""
        return expit(at) * expit(-at)
