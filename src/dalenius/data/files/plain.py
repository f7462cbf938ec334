"""Columns of numbers that Polars writes itself just as we would: no text is made of them before."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa

from dalenius.data.schema import Kind
from dalenius.data.vector import MISSING, SPECIAL, VALUE, AnyArray, Vector

EXACT = 10**15
"""Whole numbers below this, divided by a power of ten, are told apart by a double."""
DIGITS = 18


def plain_numbers(vector: Vector) -> pl.Series | None:
    """A column of whole numbers, or of numbers with so many decimals, as one; None where it has to become text.

    Examples
    --------
    >>> from dalenius.data.table import Table
    >>> plain_numbers(Table.from_frame({"a": [1.25, 3.5]})["a"]).dtype
    Decimal(precision=18, scale=2)
    """
    kind, decimals = vector.column.kind, vector.column.decimals
    if kind is Kind.INTEGER:
        coded = _with_codes(vector)
        made = None if coded is None else pl.Series(coded)
    elif kind.is_number and kind is not Kind.DATETIME and decimals is not None:
        made = None if _special(vector) else _decimals(vector.data, decimals)
    else:
        made = None
    if made is None or vector.state is None:
        return made if made is None else made.alias(vector.column.name)
    empty = pl.Series(vector.state == MISSING)
    return pl.select(pl.when(~empty).then(made)).to_series().alias(vector.column.name)


def _special(vector: Vector) -> bool:
    """Whether a row holds what is neither a value nor empty."""
    return vector.state is not None and bool(vector.state.max(initial=VALUE) > MISSING)


def _with_codes(vector: Vector) -> AnyArray | None:
    """Whole numbers with the codes among them; None where a code is text."""
    if not _special(vector):
        return vector.data
    targets = np.zeros(256, np.int64)
    for place, code in enumerate(vector.column.special):
        if type(code) is not int:
            return None
        targets[SPECIAL + place] = code
    assert vector.state is not None
    return np.where(vector.state == VALUE, vector.data, targets[vector.state])


def _decimals(values: AnyArray, decimals: int) -> pl.Series | None:
    """Numbers as whole numbers of their last decimal; None where one has more decimals or too many digits."""
    scale = 10.0**decimals
    if len(values) and not max(-values.min(), values.max()) * scale < EXACT:
        return None
    last = np.rint(values * scale)
    if not np.array_equal(last / scale, values) or np.signbit(values[values == 0]).any():
        return None  # what is not exact is rounded by its text, and minus zero has one of its own
    wide = np.empty((len(values), 2), np.int64)
    wide[:, 0] = last
    np.right_shift(wide[:, 0], 63, out=wide[:, 1])
    kind = pa.decimal128(DIGITS, decimals)
    return pl.Series(
        pl.from_arrow(pa.Decimal128Array.from_buffers(kind, len(values), [None, pa.py_buffer(wide)]))
    )
