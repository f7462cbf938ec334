"""Adam: steps downhill along a gradient, scaled by its running moments (Kingma and Ba 2015)."""

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
