"""When a number counts as met."""

from __future__ import annotations

from typing import Any

from dalenius.data.vector import AnyArray

ROUNDING = 1e-7
"""Share of a tolerance that is forgiven: binary fractions put 6.93 a little more than 1 % off 7.00."""


def within(gap: Any, tolerance: Any) -> AnyArray:
    """Whether gaps are at most the tolerance, as a person would reckon with decimals; a missing gap is not.

    Examples
    --------
    >>> import numpy as np
    >>> within(np.array([7.0 - 6.93, 0.0701]), 0.01 * 7.0).tolist()
    [True, False]
    """
    met: AnyArray = gap <= tolerance * (1 + ROUNDING)
    return met
