"""Columns whose values are other people's: a group's largest in every row, the values of the row before, differences.

Many people stand behind the mean of such a column, and it tells what one or two of them have: the sum of differences
of neighbours is the last value less the first, and a column moved down by a row has lost the last one. Such columns are
known by the columns that came with the data; a person looks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalenius.outputs.checks import Finding, finding
from dalenius.outputs.made import MOST_COLUMNS, fitted, is_round
from dalenius.outputs.query import Floats, Ints

if TYPE_CHECKING:
    from dalenius.outputs.output import Output

LEVELS, SHARE = 30, 0.5
"""Different values from which on two columns hardly have the same by chance; and the share of rows that matters."""
HELD = "most of its values are those of single people, such as the largest of a group"
MOVED = "it has the values of another column in other rows: without one row a value follows"
BESIDE = "it is made of neighbouring rows of other people: its sum is about the first and the last"


def borrowed(out: Output) -> list[Finding]:
    """Whether the column of an output holds other people's values, as a finding."""
    query, memory = out.query, out.desk.memory
    numbers = memory.rows_of(out)
    if query.value is None or numbers is None or "columns" in query.facts or not out.desk.base:
        return []
    few = out.desk.policy.threshold
    for base in out.desk.base:
        rows = base.places(memory, numbers)
        known = np.flatnonzero(rows >= 0)
        if 2 * len(known) < len(rows) and len(known) < 4 * few:
            continue
        held = {n: np.asarray(c, np.float64) for n, c in list(base.columns.items())[:MOST_COLUMNS]}
        value, rows = query.value[known], rows[known]
        if any(np.array_equal(value, c[rows], equal_nan=True) for c in held.values()):
            return []
        words = why_borrowed(value, held, rows, few)
        if words:
            evidence = out.judged.evidence
            return [finding("borrowed", evidence, np.ones(1, np.bool_), words, verdict="review")]
    return []


def why_borrowed(values: Floats, base: Mapping[str, Floats], rows: Ints, few: int) -> str:
    """In what way values are other people's, in words; empty where they are not. ``rows`` are those of the columns.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> base, rows = {"pay": rng.normal(3000, 400, 200)}, np.arange(200)
    >>> pay = base["pay"]
    >>> why_borrowed(np.where(rows < 90, pay[:90].max(), pay[90:].max()), base, rows, 10) == HELD
    True
    >>> why_borrowed(np.append(np.nan, pay[:-1]), base, rows, 10) == MOVED
    True
    >>> why_borrowed(np.append(np.nan, np.diff(pay)), base, rows, 10) == BESIDE
    True
    >>> why_borrowed(pay * 2 + 5, base, rows, 10), why_borrowed(np.log(pay), base, rows, 10)
    ('', '')
    """
    there = np.isfinite(values)
    levels, times = np.unique(values[there], return_counts=True)
    if len(levels) < 2:
        return ""
    for column in base.values():
        if len(levels) * few <= there.sum() and _held_by_few(levels, times, column, few):
            return HELD
        if len(levels) >= LEVELS and _moved(values[there], column[rows][there], few):
            return MOVED
        if len(levels) >= LEVELS and (
            _steps(values[there], column, few)
            or any(fitted(values, near, there, few, besides=1) for near in _neighbours(column, rows))
        ):
            return BESIDE
    return ""


def _held_by_few(levels: Floats, times: Ints, column: Floats, few: int) -> bool:
    """Whether most rows have a value that few people have in a column, and that is no round number."""
    values, held = np.unique(column, return_counts=True)
    hit = np.isin(levels, values[held < few]) & np.array([not is_round(x) for x in levels])
    return bool(times[hit].sum() >= SHARE * times.sum())


def _moved(values: Floats, column: Floats, few: int) -> bool:
    """Whether values are those of a column, but for few, and most of them in other rows."""
    if np.isnan(column).any() or 2 * int((values == column).sum()) >= len(values):
        return False
    return _alike(values, column, few)


def _steps(values: Floats, column: Floats, few: int) -> bool:
    """Whether values are the steps from one to the next of a column, or its logarithm, in order of size."""
    return any(_alike(values, np.diff(np.sort(form)), few) for form in _forms(column))


def _alike(values: Floats, column: Floats, few: int) -> bool:
    """Whether values are those of a column, but for few, in whatever rows."""
    same, one, two = np.intersect1d(values, column), np.sort(values), np.sort(column)
    common = [np.searchsorted(x, same, "right") - np.searchsorted(x, same, "left") for x in (one, two)]
    return len(values) - int(np.minimum(*common).sum()) < few


def _forms(column: Floats) -> list[Floats]:
    return [column, np.log(column)] if (column > 0).all() else [column]


def _neighbours(column: Floats, rows: Ints) -> Iterator[dict[str, Any]]:
    """A column, or its logarithm, beside the values before and after, in the order of the file and by size."""
    for form in _forms(column):
        for order in (np.arange(len(column)), np.argsort(form, kind="stable")):
            before, after = np.full(len(form), np.nan), np.full(len(form), np.nan)
            before[order[1:]], after[order[:-1]] = form[order[:-1]], form[order[1:]]
            for beside in (before, after):
                yield {"own": form[rows], "beside": beside[rows]}
