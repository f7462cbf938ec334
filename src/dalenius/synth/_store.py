"""Vectors as named arrays, for models that keep columns; and what opening a damaged file can raise."""

from __future__ import annotations

import zipfile
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt

from dalenius.data.schema import Column
from dalenius.data.vector import Vector

DAMAGED = (
    zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, KeyError, ValueError, TypeError, IndexError, AttributeError,
    OverflowError,
)  # fmt: skip
"""Errors of a zip file, its JSON or its arrays after some bytes were lost (RuntimeError: unknown packing)."""


def vector_arrays(prefix: str, vector: Vector) -> dict[str, npt.NDArray[Any]]:
    """Arrays of one vector under a prefix."""
    held: dict[str, npt.NDArray[Any]] = {f"{prefix}.data": vector.data}
    if vector.state is not None:
        held[f"{prefix}.state"] = vector.state
    return held


def vector_from(prefix: str, column: Column, arrays: Any) -> Vector:
    """Rebuild a vector from its arrays."""
    state = arrays.get(f"{prefix}.state")
    return Vector(column, np.asarray(arrays[f"{prefix}.data"]), state)
