"""Loop of the weighted counts; it releases the interpreter lock, so that threads run it side by side."""

from __future__ import annotations

from typing import Any

from dalenius.core.kernels import njit


@njit(cache=True, nogil=True)
def add_weights(keys: Any, weights: Any, sums: Any) -> None:
    """Add up weights and their squares by key, side by side so that a row touches one line of the cache."""
    for i in range(keys.shape[0]):
        w = weights[i]
        sums[keys[i], 0] += w
        sums[keys[i], 1] += w * w
