"""Similarity of two numbers or two words, as record linkage uses them (Trindade et al. 2024, section 3.2)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from dalenius.core.errors import OptionError
from dalenius.data.vector import AnyArray

Decay = Literal["gauss", "exp", "linear", "squared", "step"]


def similarity(distance: AnyArray, offset: float, scale: float, decay: Decay = "gauss") -> AnyArray:
    """Similarity of two numbers a distance apart: 1 up to the offset, 1/2 at offset + scale.

    Examples
    --------
    >>> similarity(np.array([5.0, 7.0, 10.0]), offset=5, scale=5).round(6).tolist()
    [1.0, 0.895025, 0.5]
    """
    if offset < 0 or scale <= 0:
        raise OptionError("offset must be 0 or more and scale above 0")
    e = np.maximum(np.asarray(distance, float) - offset, 0) / scale
    if decay == "gauss":
        return np.asarray(2.0 ** -(e**2))
    if decay == "exp":
        return np.asarray(2.0**-e)
    if decay == "linear":
        return np.maximum(0, 1 - e / 2)
    if decay == "squared":
        return np.maximum(0, 1 - e**2 / 2)
    if decay == "step":
        return (e == 0).astype(float)
    raise OptionError(f"unknown decay {decay!r}; use gauss, exp, linear, squared or step")
