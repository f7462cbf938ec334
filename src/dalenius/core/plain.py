"""Values that JSON can hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any


def plain(value: Any) -> Any:
    """JSON has no NaN: not-a-number becomes None, infinities become words, also inside lists and mappings.

    Examples
    --------
    >>> plain(float("nan")), plain([float("inf")]), plain({"a": 2.0})
    (None, ['Infinity'], {'a': 2.0})
    """
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    return value
