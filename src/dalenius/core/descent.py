"""Ways downhill along a gradient: Adam (Kingma and Ba 2015), plain steps with momentum, and RMSProp."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Adam:
    """Moments of one array of parameters, which `step` changes in place.

    Examples
    --------
    >>> at, adam = np.array([1.0]), Adam(rate=0.1)
    >>> for _ in range(100):
    ...     adam.step(at, 2 * at)
    >>> bool(abs(at[0]) < 0.1)
    True
    """

    rate: float = 0.1
    first: float = 0.9
    second: float = 0.999
    small: float = 1e-8
    taken: int = 0
    mean: Any = field(default=None, repr=False)
    square: Any = field(default=None, repr=False)

    def step(self, values: Any, gradient: Any) -> None:
        """Take one step."""
        if self.mean is None:
            self.mean, self.square = np.zeros_like(values), np.zeros_like(values)
        self.taken += 1
        self.mean *= self.first
        self.mean += (1 - self.first) * gradient
        self.square *= self.second
        self.square += (1 - self.second) * gradient * gradient
        scale = np.sqrt(self.square / (1 - self.second**self.taken))
        scale += self.small
        values -= (self.rate / (1 - self.first**self.taken)) * self.mean / scale


@dataclass
class Sgd:
    """Plain steps downhill, with momentum if wanted: v = m v + g, x = x - rate v.

    Examples
    --------
    >>> at, plain = np.array([1.0]), Sgd(rate=0.1)
    >>> plain.step(at, 2 * at)
    >>> at.tolist()
    [0.8]
    """

    rate: float = 0.01
    momentum: float = 0.0
    velocity: Any = field(default=None, repr=False)

    def step(self, values: Any, gradient: Any) -> None:
        """Take one step."""
        if not self.momentum:
            values -= self.rate * gradient
            return
        self.velocity = gradient.copy() if self.velocity is None else self.momentum * self.velocity + gradient
        values -= self.rate * self.velocity


@dataclass
class RmsProp:
    """Steps scaled by the running size of the gradient.

    Examples
    --------
    >>> at, scaled = np.array([1.0]), RmsProp(rate=0.01)
    >>> for _ in range(200):
    ...     scaled.step(at, 2 * at)
    >>> bool(abs(at[0]) < 0.1)
    True
    """

    rate: float = 0.01
    keep: float = 0.99
    small: float = 1e-8
    square: Any = field(default=None, repr=False)

    def step(self, values: Any, gradient: Any) -> None:
        """Take one step."""
        if self.square is None:
            self.square = np.zeros_like(values)
        self.square *= self.keep
        self.square += (1 - self.keep) * gradient * gradient
        values -= self.rate * gradient / (np.sqrt(self.square) + self.small)
