"""Sums that tell masked numbers: of several kept columns, or over several masked ones.

The age is the years worked, the years of school and the age at its start together, and none of them alone; a meter's
total, mean, peak or bill is over all its readings. Both leave with `ghosts: false` only.
"""

from __future__ import annotations

import numpy as np

from dalenius.core.later import stats
from dalenius.data.lens import Lens
from dalenius.data.table import Table
from dalenius.data.vector import Vector
from dalenius.mask.neighbours import Floats
from dalenius.mask.remainders import FEWER

FEWEST, SOME = 30, 2500
"""Rows it takes to ask, and how many are asked at most."""
ROWS_EACH = 4
"""Rows for each column of a sum: with fewer, anything is a sum of anything."""
SEVERAL = 3
"""Masked columns from which on their sum, mean and ends are looked for."""
SAME_ORDER = 0.99
"""Rank correlation from which a number gives another one back."""
MOST = 64
"""Columns of one sum that are tried at most."""


def told_sums(table: Table, masked: Table, lens: Lens, kept: list[str], changed: list[str]) -> dict[str, str]:
    """Kept numbers that give masked ones back in a sum: by name, which one.

    Examples
    --------
    >>> from dalenius.data.steps import Recode
    >>> rng = np.random.default_rng(1)
    >>> start, school, worked = rng.integers([5, 8, 1], [8, 20, 40], (400, 3)).T
    >>> table = Table.from_frame({"age": start + school + worked, "start": start, "school": school, "worked": worked})
    >>> made = Recode("age", width=10).apply(table)
    >>> told_sums(table, made.table, made.lens, ["start", "school", "worked"], ["age"])
    {'worked': 'age'}
    """
    table = table if lens.links is None else table.take(lens.links)
    if table.rows != masked.rows or table.rows < FEWEST:
        return {}
    rows = np.arange(0, table.rows, -(-table.rows // SOME))
    table, masked = table.take(rows), masked.take(rows)
    numbers = {name: _whole(table[name]) for name in (*kept, *changed) if name in table}
    shown = {name: values for name, values in numbers.items() if name in kept and values is not None}
    hidden = {name: values for name, values in numbers.items() if name in changed and values is not None}
    found = _over_masked(shown, hidden)
    for name, values in hidden.items():
        off = min((values - _seen(masked, name, values), values - np.median(values)), key=_middle)
        while (
            told := _in_a_sum(values, {n: v for n, v in shown.items() if n not in found}, off)
        ) is not None:
            found[told] = name
    return found


def _whole(vector: Vector) -> Floats | None:
    """A column as numbers (a scale too), gaps as its middle; None where it is none, mostly empty, or one value."""
    if vector.is_number:
        values = vector.floats()
    elif vector.levels and all(isinstance(level, (int, float)) for level in vector.levels):
        values = np.where(vector.present, np.array(vector.levels, float)[vector.data], np.nan)
    else:
        return None
    known = np.isfinite(values)
    if known.mean() < 0.5 or len(np.unique(values[known])) < 3:
        return None
    return np.where(known, values, np.median(values[known]))


def _seen(masked: Table, name: str, values: Floats) -> Floats:
    """What the mask shows of a number: itself, or the mean of those that are shown alike."""
    if name in masked and masked[name].is_number:
        shown = masked[name].floats()
        return np.where(np.isfinite(shown), shown, values.mean())
    codes = (
        masked[name].categories.codes.astype(np.int64) if name in masked else np.zeros(len(values), np.int64)
    )
    mean = np.bincount(codes, values) / np.maximum(np.bincount(codes), 1)
    return mean[codes]


def _over_masked(shown: dict[str, Floats], hidden: dict[str, Floats]) -> dict[str, str]:
    """Kept numbers in the order of the sum, the largest or the smallest of all masked ones, or linear in them."""
    if len(hidden) < SEVERAL:
        return {}
    together = np.column_stack(list(hidden.values()))
    first = next(iter(hidden))
    sides = [
        stats.rankdata(side) for side in (together.sum(axis=1), together.max(axis=1), together.min(axis=1))
    ]
    found = {}
    for name, values in shown.items():
        ranks = stats.rankdata(values)
        same = max(abs(float(np.corrcoef(ranks, side)[0, 1])) if side.std() > 0 else 0.0 for side in sides)
        if same >= SAME_ORDER or _narrow(values, together, values - np.median(values)):
            found[name] = first
    return found


def _in_a_sum(values: Floats, shown: dict[str, Floats], off: Floats) -> str | None:
    """The kept number that weighs most in a sum of kept ones that gives a masked one back; None if there is none."""
    hidden = np.abs(off) > 0
    names = list(shown)[:MOST]
    if hidden.sum() < FEWEST or not names:
        return None
    parts = np.column_stack([shown[name] for name in names])
    if not _narrow(values, parts, off, hidden):
        return None
    weights = np.linalg.lstsq(_with_one(parts), values, rcond=None)[0][:-1]
    return names[int(np.argmax(np.abs(weights) * parts.std(axis=0)))]


def _narrow(values: Floats, parts: Floats, off: Floats, rows: np.ndarray | None = None) -> bool:
    """Whether a sum of columns comes several times nearer to a number than what it is off by otherwise."""
    if len(values) < ROWS_EACH * (parts.shape[1] + 1):
        return False
    basis, _, _ = np.linalg.svd(_with_one(parts), full_matrices=False)
    size = np.linalg.svd(_with_one(parts), compute_uv=False)
    basis = basis[:, size > 1e-9 * size[0]]
    left = values - basis @ (basis.T @ values)
    left /= np.maximum(1 - np.square(basis).sum(axis=1), 1e-9)  # each row guessed by the others
    asked = slice(None) if rows is None else rows
    return bool(_middle(left[asked]) * FEWER < _middle(off[asked]))


def _with_one(parts: Floats) -> Floats:
    """Columns in comparable units, and a constant."""
    centred = (parts - parts.mean(axis=0)) / np.maximum(parts.std(axis=0), 1e-12)
    return np.column_stack([centred, np.ones(len(parts))])


def _middle(off: Floats) -> float:
    return float(np.median(np.abs(off)))
