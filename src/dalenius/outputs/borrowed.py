"""Columns whose values are other people's: a group's largest in every row, the values of the row before, differences.

Many people stand behind the mean of such a column, and it tells what one or two of them have: the sum of differences
of neighbours is the last value less the first, and a column moved down by a row has lost the last one. Sorted or moved
values of which some rows are taken are another group's. A column that is cut off at what one person has tells that
value wherever it is shown beside the count of those beyond. Such columns are known by the columns that came with the
data; a person looks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from dalenius.core.random import generator
from dalenius.outputs.checks import Finding, finding
from dalenius.outputs.made import MOST_COLUMNS, fitted, is_round
from dalenius.outputs.query import Bools, Floats, Ints

if TYPE_CHECKING:
    from dalenius.outputs.output import Output

LEVELS, SHARE = 30, 0.5
"""Different values from which on two columns hardly have the same by chance; and the share of rows that matters."""
NEARLY, DENSE = 0.9, 0.5
"""Share of rows with values of a column that is no chance, unless it holds that share of numbers beside them too."""
LOOKED, FIRST = 64, 0.3
"""Values that are looked for first, and the share of them that a column must hold to be looked at further."""
USUAL = np.array([1, 5, 10, 20, 25, 30, 40, 50, 60, 70, 75, 80, 90, 95, 99]) / 100
"""Quantiles that columns are cut off at, or gaps filled with, in everyday work."""
HELD = "most of its values are those of single people, such as the largest of a group"
MOVED = "it has the values of another column in other rows: without one row a value follows"
CUT = "many have a value that is one person's or a few people's in the data, as if cut off or filled in there"
BESIDE = "it is made of neighbouring rows of other people: its sum is about the first and the last"


def borrowed(out: Output) -> list[Finding]:
    """Whether the column of an output holds other people's values, as a finding."""
    query, memory = out.query, out.desk.memory
    numbers = memory.rows_of(out)
    columns = query.facts.get("columns")  # of a model the outcome is looked at
    values = query.value if "columns" not in query.facts else None if columns is None else columns[:, 0]
    if values is None or numbers is None or not out.desk.base:
        return []
    few = out.desk.policy.threshold
    for base in out.desk.base:
        rows = base.places(memory, numbers)
        known = np.flatnonzero(rows >= 0)
        held = {n: np.asarray(c, np.float64) for n, c in list(base.columns.items())[:MOST_COLUMNS]}
        words = ""
        if 2 * len(known) >= len(rows) or len(known) >= 4 * few:
            value = values[known]
            if any(np.array_equal(value, c[rows[known]], equal_nan=True) for c in held.values()):
                return []
            words = why_borrowed(value, held, rows[known], few)
        words = words or _of_others(values, numbers, held, base.numbers(memory), few)
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


def _of_others(values: Floats, who: Ints, base: Mapping[str, Floats], whose: Ints, few: int) -> str:
    """In what way values are those of other people, whichever rows are taken; empty where they are not.

    ``who`` are the numbers of the units of the values, ``whose`` those of the rows of the columns.
    """
    there = np.isfinite(values) & (who >= 0)
    values, who = values[there], who[there]
    if len(values) < 2 * few:
        return ""
    levels, times = np.unique(values, return_counts=True)
    first = generator(0, "rows that are looked at first").integers(0, len(values), LOOKED)
    some = values[first]
    for column in base.values():
        if np.isin(some, column[np.isin(column, some)]).mean() < FIRST:
            continue
        chance = len(levels) < LEVELS or _by_chance(some, column)
        if chance and _own(some, who[first], column, whose).mean() < FIRST:
            continue
        rare, own = _rare(column, few), _own(values, who, column, whose)
        if not chance and 2 * int(own.sum()) < len(values):
            hits = np.isin(values, rare)
            if 2 * int((hits & ~own).sum()) >= len(values) and hits.mean() >= NEARLY:
                return MOVED
        if _cut_at(values, levels[(times >= few) & np.isin(levels, rare)], column, own):
            return CUT
    return ""


def _cut_at(values: Floats, often: Floats, column: Floats, own: Bools) -> bool:
    """Whether values are people's own but for those that many have; a round number or a usual quantile is nobody's."""
    often = often[[not (is_round(x) or is_round(4 * x)) for x in often]]
    rest = ~np.isin(values, often)
    if not len(often) or not rest.any() or own[rest].mean() < SHARE:
        return False
    usual = [np.quantile(x, USUAL) for x in (column[np.isfinite(column)], [*values[rest], *often])]
    return not np.isin(often, np.concatenate(usual)).all()


def _rare(column: Floats, few: int) -> Floats:
    """Values of a column that fewer than ``few`` rows have."""
    levels, times = np.unique(column[np.isfinite(column)], return_counts=True)
    return np.asarray(levels[times < few])


def _own(values: Floats, who: Ints, column: Floats, whose: Ints) -> Bools:
    """Which values are those that the same unit has in a column, in any of its rows."""
    levels = np.unique(column)
    place = np.minimum(np.searchsorted(levels, values), len(levels) - 1)
    mine = who * len(levels) + place
    theirs = whose * len(levels) + np.searchsorted(levels, column)
    return np.asarray((levels[place] == values) & np.isin(mine, theirs[whose >= 0]))


def _by_chance(some: Floats, column: Floats) -> bool:
    """Whether a column holds so many of the numbers it could that it also holds those beside some values."""
    step = next(
        (10.0**-d for d in range(5) if np.allclose(some * 10**d, np.rint(some * 10**d), rtol=0, atol=1e-6)), 0
    )
    beside = np.rint((some + step * np.array([[-3], [-1], [1], [3]])).ravel() * 1e6) / 1e6
    return bool(step and np.isin(beside, column).mean() > DENSE)


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
