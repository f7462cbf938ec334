"""Rows of a released file that fit what is known of a person: the first thing an intruder counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dalenius.core.errors import DataError, no_column
from dalenius.counts.keys import distinct, ravel
from dalenius.data.table import Table
from dalenius.data.vector import IntArray
from dalenius.risk.tabular.cells import gap_codes


def rows_that_fit(original: Any, released: Any, keys: Sequence[str]) -> IntArray:
    """For each row of the original: how many released rows show nothing else than its keys.

    A released row fits if it agrees wherever it is not empty. A complete row fits only who has exactly its keys,
    however well it agrees with what the person's own row still shows; a row with gaps fits everybody it may be. With
    one row that fits, the person is found. Who also knows which cells were emptied has fewer to choose from: those
    that look like the person's own row (`k_anonymity`).

    Parameters
    ----------
    original
        The file before cells were emptied, its columns recoded as in the released one.

    Examples
    --------
    >>> before = {"sex": ["f", "m", "m", "m"], "job": ["judge", "judge", "judge", "clerk"]}
    >>> after = {"sex": [None, "m", "m", "m"], "job": ["judge", "judge", "judge", "clerk"]}
    >>> rows_that_fit(before, after, ["sex", "job"]).tolist()
    [1, 3, 3, 1]
    """
    mine, theirs = Table.from_frame(original), Table.from_frame(released)
    absent = [name for name in keys if name not in mine or name not in theirs]
    if absent:
        raise DataError(no_column(absent, [name for name in mine.names if name in theirs]))
    columns = [_joint(mine, theirs, name) for name in keys]
    fit = np.zeros(mine.rows, np.int64)
    gaps = np.zeros(theirs.rows, np.int64)
    for j, (_, codes, size) in enumerate(columns):
        gaps |= (codes == size - 1).astype(np.int64) << j
    for hidden in np.unique(gaps).tolist():
        there = np.flatnonzero(gaps == hidden)
        shown = [column for j, column in enumerate(columns) if not hidden >> j & 1]
        if not shown:
            fit += len(there)
            continue
        sizes = [size for _, _, size in shown]
        both = [np.concatenate([known, codes[there]]) for known, codes, _ in shown]
        values, ids = distinct(ravel(both, sizes, mine.rows + len(there)), sizes)
        fit += np.bincount(ids[mine.rows :], minlength=len(values))[ids[: mine.rows]]
    return fit


def _joint(mine: Table, theirs: Table, name: str) -> tuple[IntArray, IntArray, int]:
    """A column of both files as codes over the same levels, the last of them for gaps."""
    places: dict[Any, int] = {}
    made = []
    for table in (mine, theirs):
        column = table[name].categories
        gap = set(gap_codes(column.labels))
        of = [
            -1 if i in gap else places.setdefault(label, len(places)) for i, label in enumerate(column.labels)
        ]
        made.append(np.array(of or [-1], np.int64)[column.codes.astype(np.int64)])
    size = len(places) + 1
    known, shown = (np.where(codes < 0, size - 1, codes) for codes in made)
    return known, shown, size
