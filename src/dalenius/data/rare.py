"""Values that too few units hold: how each kind of column does without them.

A rare number or moment stands for the stretch of values that enough units share, and is drawn anew within it; a rare
category becomes a common one; a rare text is made up after its pattern where enough units share that, and is left empty
otherwise. Whatever is learnt from what comes back holds a rare number only where chance hit it, and no rare text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from dalenius.data.schema import Column, Kind, Role
from dalenius.data.tails import CROWDED, TRIES, far_out
from dalenius.data.units import Units
from dalenius.data.vector import MISSING, AnyArray, BoolArray, IntArray, Vector, compact

AGAIN = 1 / 3
"""Share of the draws on a rare value in a crowded stretch that are drawn once more: a stretch ends where enough units
are together, so that one with many people in few places would else give their values out more often than chance."""
FARTHEST = 10_000
"""Steps within which a free place is looked for."""
LOOK = 1000
"""Rows whose owners are counted first."""
PLACES = 6
DAY = 86_400_000_000
MOMENTS = (DAY, DAY // 24, DAY // 1440, 1_000_000, 1_000, 1)
"""Steps of moments in microseconds: day, hour, minute, second, millisecond."""


def without_rare_numbers(
    vector: Vector, units: Units, least: int, rng: np.random.Generator, *, tails: bool = False
) -> Vector:
    """A column of numbers or moments in which each value that fewer than ``least`` units hold is drawn anew.

    The draw avoids rare values where there are many places between them (dates, incomes). Where they lie close together
    (ages in a small file) they come back by chance, no more often than the places beside them that nobody has: a file
    that avoids them would show which values nobody has.

    Parameters
    ----------
    tails
        Whether the units at the end of a long tail, away from zero, get values of one fitted to the others. Otherwise
        theirs lie before the second last value, which makes a mean smaller.

    Examples
    --------
    >>> from dalenius.data import Table
    >>> table = Table.from_frame({"income": [900, 900, 900, 1210, 1345, 1460, 9_999_999]})
    >>> out = without_rare_numbers(table["income"], table.units, 3, np.random.default_rng(1)).values
    >>> out[:3].tolist(), bool(out.max() < 1460)
    ([900, 900, 900], True)
    """
    rows: IntArray = np.flatnonzero(vector.present)
    rows, vector = _finite(vector, rows, units, least)
    values = vector.data[rows]
    order = np.argsort(values, kind="stable")
    rows, values = rows[order], values[order]
    new = np.flatnonzero(np.append(True, values[1:] != values[:-1])[: len(values)])
    starts = np.append(new, len(values))
    owners = units.owners_of_rows[rows].astype(np.int64)
    rare = _holders(starts, owners, units, len(values)) < least
    step, column = _grid(vector.column, values, owners, least)
    if not rare.any():
        return replace(vector, column=column)
    from dalenius.data._kernels import stretches  # noqa: PLC0415 (compiled code is slow to load)

    low, high = stretches(starts, rare, owners, max(int(owners.max()) + 1, 1), least)
    which = np.repeat(np.arange(len(rare)), np.diff(starts))
    moved = rare[which]
    gone = moved & ((low[which] < 0) | (high[which] < 0))
    drawn = moved & ~gone
    distinct = values[new] if values.dtype.kind == "f" else values[new].astype(np.int64)
    first, last = _places(distinct, rare, low, high, step)
    place = which[drawn]
    data = vector.data.copy()
    data[rows[drawn]] = _drawn(first[place], last[place], distinct[rare], step, rng)
    if tails and column.kind in (Kind.INTEGER, Kind.CONTINUOUS) and not column.has(Role.WEIGHT):
        top, bottom = _outer(rare, high), _outer(rare[::-1], len(rare) - 1 - low[::-1])
        ends = (1, len(values) - starts[len(rare) - top], first[-1]), (-1, starts[bottom], last[0])
        for side, count, start in ends:
            if side * start <= 0 or len(rare) == top:  # amounts end at nothing
                continue
            far, begin = (side * values[::side]).astype(np.float64), float(side * start)
            end = _limit(column, side, begin, float(far[0]))
            made = far_out(far, owners[::side], count, begin, end, step, rng)
            if made is not None:
                data[rows[::side][len(far) - count :]] = side * made
    return _emptied(replace(vector, column=column, data=data), rows[gone])


def _outer(rare: BoolArray, last: IntArray) -> int:
    """How many of the last distinct values are in one stretch of rare values."""
    end = last[-1]
    inside = 0 <= end < len(rare) and rare[end]
    return int(np.argmin(np.append(((last == end) & rare)[::-1], False))) if inside else 0


def _limit(column: Column, side: int, start: float, least: float) -> float:
    """What no value can be beyond, away from zero: a declared bound, and one for shares."""
    if column.domain == "declared" and column.bounds is not None:
        return side * float(column.bounds[max(side, 0)])
    return 1.0 if start <= 1 and least >= 0 else np.inf


def _holders(starts: IntArray, owners: IntArray, units: Units, count: int) -> IntArray:
    if units.codes is None:
        return np.diff(starts)
    from dalenius.data._kernels import holders  # noqa: PLC0415

    return holders(starts, owners, max(units.count, 1)) if count else np.zeros(0, np.int64)


def _finite(vector: Vector, rows: IntArray, units: Units, least: int) -> tuple[IntArray, Vector]:
    """The rows with finite numbers; an infinity that few units hold counts as the outermost number."""
    endless = rows[~np.isfinite(vector.data[rows])] if vector.data.dtype.kind == "f" else rows[:0]
    if not len(endless):
        return rows, vector
    sides = (vector.data[endless] > 0).astype(np.int64)
    few = units.subset(endless).owners(sides, 2)[sides] < least
    rows = np.setdiff1d(rows, endless)
    if not len(rows):
        return rows, _emptied(vector, endless[few])
    ends = [np.nextafter(vector.data[rows].min(), -np.inf), np.nextafter(vector.data[rows].max(), np.inf)]
    data = vector.data.copy()
    data[endless[few]] = np.array(ends)[sides[few]]
    return np.sort(np.append(rows, endless[few])), replace(vector, data=data)


def _emptied(vector: Vector, rows: IntArray) -> Vector:
    if not len(rows):
        return vector
    state = np.zeros(len(vector), np.uint8) if vector.state is None else vector.state.copy()
    data = vector.data.copy()
    state[rows], data[rows] = MISSING, 0
    return replace(vector, data=data, state=state)


def _places(
    values: AnyArray, rare: BoolArray, low: IntArray, high: IntArray, step: float
) -> tuple[AnyArray, AnyArray]:
    """First and last place of each value's stretch, which is given by its first and last value.

    Stretches lie side by side and share what is between them, or reach to the next common value: were they to begin
    and end with somebody's value, such values would be drawn more often than the places between them. Where a stretch
    was trimmed because nobody is beyond it but one unit, it ends short of the value it was trimmed to.
    """
    size, low, high = len(values), low.clip(0), high.clip(0)
    bottom = (low == low[0]) & rare & bool(rare[0]) & rare[low]
    top = (high == high[-1]) & rare & bool(rare[-1]) & rare[high]
    alone = low == high  # trimmed to a single value: the next one is taken in
    high = np.where(bottom & ~top & alone, np.minimum(high + 1, size - 2), high)
    low = np.where(top & ~bottom & alone, np.maximum(low - 1, 1), low)
    width: Any = step if values.dtype.kind == "f" else max(round(step), 1)
    beside = np.diff(values)
    half = beside / 2 if step <= 0 else np.ceil(beside / width / 2 - 1e-9).astype(values.dtype) * width
    both = rare[1:] & rare[:-1]
    begins, ends = values.copy(), values.copy()
    begins[1:] = np.where(rare[1:], values[:-1] + np.where(both, half, width), values[1:])
    ends[:-1] = np.where(rare[:-1], np.where(both, values[:-1] + half, values[1:]) - width, values[:-1])
    first = np.where(bottom, values[low] + width, begins[low])
    last = np.where(top, values[high] - width, ends[high])
    none = first > last
    return np.where(none, values[low], first), np.where(none, values[high], last)


def _drawn(low: AnyArray, high: AnyArray, taken: AnyArray, step: float, rng: np.random.Generator) -> AnyArray:
    """A value of each stretch, off the rare ones where they leave room enough."""
    values = _within(low, high, step, rng)
    width = max(round(step), 1) if low.dtype.kind != "f" else step
    places = (high - low) / width if width > 0 else np.full(len(low), np.inf)
    inside = np.searchsorted(taken, high, "right") - np.searchsorted(taken, low)
    roomy = places > CROWDED * inside
    again = np.flatnonzero(~roomy & (rng.random(len(low)) < AGAIN) & np.isin(values, taken))
    values[again] = _within(low[again], high[again], step, rng)
    for _ in range(TRIES):
        hit = np.flatnonzero(roomy & np.isin(values, taken))
        if not len(hit):
            break
        values[hit] = _within(low[hit], high[hit], step, rng)
    return values


def _within(low: AnyArray, high: AnyArray, step: float, rng: np.random.Generator) -> AnyArray:
    share = rng.random(len(low))
    if low.dtype.kind != "f":
        width = max(round(step), 1)
        return low + np.floor(share * ((high - low) // width + 1)).astype(np.int64) * width
    if step <= 0:
        return low + share * (high - low)
    places = round(-np.log10(step))
    drawn = low + np.floor(share * (np.round((high - low) / step) + 1)) * step
    return np.minimum(np.round(drawn, places), np.round(high, places))


def off_taken(
    numbers: AnyArray, taken: AnyArray, step: float, low: float, high: float, width: float = 0.0
) -> AnyArray:
    """Move every number off the taken values, to the nearest free place between two bounds.

    Examples
    --------
    >>> off_taken(np.array([4.0, 7.0]), np.array([3.0, 4.0]), 1.0, 0.0, 9.0).tolist()
    [5.0, 7.0]
    """
    move = step or max(high - low, abs(high), 1e-300) * 1e-9
    if step == 0 and width > 0:
        move = min(move, width / 1000)  # a far outlier widens the range, not the steps of the others
    whole = numbers.dtype.kind != "f"
    places = min(12, round(-np.log10(step))) if 0 < step < 1 else None
    left = np.flatnonzero(np.isin(numbers, taken))
    held = numbers[left]
    for distance in range(1, FARTHEST):
        if not len(left):
            break
        for side in (1, -1):
            tried = held + (side * distance * round(move) if whole else side * distance * move)
            tried = tried if places is None else np.round(tried, places)
            free = ~np.isin(tried, taken) & (tried >= low) & (tried <= high)
            numbers[left[free]] = tried[free]
            left, held = left[~free], held[~free]
    return numbers


def _grid(column: Column, values: AnyArray, owners: IntArray, least: int) -> tuple[float, Column]:
    """Step of the values of all but a few units, so that one odd value shows in nobody's precision."""

    def fits(rounded: AnyArray) -> bool:
        odd = np.flatnonzero(rounded != values)
        if len(odd) < least or len(set(owners[odd[:LOOK]].tolist())) >= least:
            return len(odd) < least  # the first rows settle it nearly always
        return len(np.unique(owners[odd])) < least

    if column.kind is Kind.DATETIME:
        scale = 1000 if column.decimals == 9 else 1
        steps = [scale * step for step in MOMENTS] + ([1] if scale > 1 else [])
        return float(next(s for s in steps if s == 1 or fits(values // s * s))), column
    if values.dtype.kind != "f":
        return float(next(10**p for p in range(PLACES, -1, -1) if fits(values // 10**p * 10**p))), column
    if column.domain == "declared" and column.decimals is not None:
        return 10.0**-column.decimals, column
    if not len(values):
        return 0.0, column
    most = PLACES if column.decimals is None else column.decimals
    for places in range(most + 1):
        if fits(np.round(values, places)):
            return 10.0**-places, replace(column, decimals=places)
    return 0.0, column


def without_rare_levels(
    vector: Vector, units: Units, least: int, rng: np.random.Generator, within: IntArray | None = None,
    keep: frozenset[Any] = frozenset(), hidden: bool = False,
) -> Vector:  # fmt: skip
    """A column of categories or texts without the levels that fewer than ``least`` units hold.

    Parameters
    ----------
    within
        Groups of rows (the column's parent) inside which a rare level is replaced.
    keep
        Levels that are public whoever holds them.
    hidden
        Leave rare cells empty: a replacement would depend on other people's records, which a budget does not cover.

    Examples
    --------
    >>> from dalenius.data import Table
    >>> table = Table.from_frame({"job": ["baker"] * 5 + ["nurse"] * 4 + ["astronaut"]})
    >>> without_rare_levels(table["job"], table.units, 3, np.random.default_rng(1)).levels
    ('baker', 'nurse')
    """
    column, rows = vector.column, np.flatnonzero(vector.present)
    held = units.subset(rows).owners(vector.data[rows].astype(np.int64), len(vector.levels))
    shown = held >= least
    shown |= np.array([level in keep for level in vector.levels], bool) if keep else False
    rare = rows[~shown[vector.data[rows]]]
    data = vector.data.astype(np.int64)
    levels: list[Any] = list(vector.levels)
    state = np.zeros(len(vector), np.uint8) if vector.state is None else vector.state.copy()
    if len(rare):
        if hidden:
            fresh: IntArray = np.full(len(rare), -1)
        elif column.kind is Kind.TEXT:
            made, fresh = _made_up(levels, data[rare], units.subset(rare), least, rng)
            levels, shown = levels + made, np.append(shown, np.ones(len(made), bool))
        elif column.kind is Kind.ORDERED:
            fresh = _nearest(data[rare], shown)
        else:
            common = rows[shown[vector.data[rows]]]
            fresh = _borrowed(data, rare, common if len(common) >= len(rare) else common[:0], within, rng)
        data[rare] = np.maximum(fresh, 0)
        state[rare[fresh < 0]] = MISSING
    if column.kind is Kind.BOOLEAN:  # that it may be true or false is no secret, only that it is for somebody
        return Vector(column, compact(data, 2), state).tidy()
    return with_levels(column, levels, np.flatnonzero(shown), data, state)


def with_levels(
    column: Column, levels: Sequence[Any], used: IntArray, data: IntArray, state: AnyArray
) -> Vector:
    """A column of categories with some of its levels, and their labels, alone.

    Examples
    --------
    >>> column = Column("a", Kind.CATEGORICAL, levels=("x", "y", "z"))
    >>> with_levels(column, column.levels, np.array([0, 2]), np.array([2, 0]), np.zeros(2, np.uint8)).levels
    ('x', 'z')
    """
    place = np.zeros(len(levels), np.int64)
    place[used] = np.arange(len(used))
    data = np.where(state == 0, place[data] if len(place) else 0, 0)
    named = {level: word for level, word in column.value_labels.items() if level in column.special}
    named |= {levels[i]: column.value_labels[levels[i]] for i in used if levels[i] in column.value_labels}
    kept = replace(column, levels=tuple(levels[i] for i in used), value_labels=named)
    return Vector(kept, compact(data, len(used)), state).tidy()


def _nearest(codes: IntArray, shown: BoolArray) -> IntArray:
    """The nearest level that may be shown, the lower of two; -1 without any."""
    there = np.flatnonzero(shown)
    if not len(there):
        return np.full(len(codes), -1)
    above = np.minimum(np.searchsorted(there, codes), len(there) - 1)
    below = np.maximum(above - 1, 0)
    closer = np.abs(there[below] - codes) <= np.abs(there[above] - codes)
    return np.where(closer, there[below], there[above])


def _borrowed(
    data: IntArray, rare: IntArray, common: IntArray, within: IntArray | None, rng: np.random.Generator
) -> IntArray:
    """Levels of other rows drawn at random, of the same group where there are groups; -1 without any."""
    groups = np.zeros(len(data), np.int64) if within is None else within
    common = common[np.argsort(groups[common], kind="stable")]
    first = np.searchsorted(groups[common], groups[rare], side="left")
    last = np.searchsorted(groups[common], groups[rare], side="right")
    at = first + (rng.random(len(rare)) * (last - first)).astype(np.int64)
    return (
        np.where(last > first, data[common[np.minimum(at, len(common) - 1)]], -1)
        if len(common)
        else at * 0 - 1
    )


def _made_up(
    levels: list[Any], codes: IntArray, units: Units, least: int, rng: np.random.Generator
) -> tuple[list[str], IntArray]:
    """Texts after the patterns of rare ones that enough units share, and which row gets which (-1: none).

    Letters become other letters, digits other digits; everything else stays, since enough units have it there.
    """
    texts = pl.Series([str(level) for level in levels], dtype=pl.String)
    pattern = (
        texts.str.replace_all(r"\p{Lu}", "A")
        .str.replace_all(r"[\p{L}&&[^A]]", "a")
        .str.replace_all(r"\p{N}", "9")
    )
    kinds = pattern.gather(codes.astype(np.int64)).cast(pl.Categorical).to_physical().to_numpy()
    _, kinds = np.unique(kinds, return_inverse=True)
    shared = np.flatnonzero(units.owners(kinds, int(kinds.max()) + 1)[kinds] >= least)
    fresh = np.full(len(codes), -1)
    known = set(texts.to_list())
    made: list[str] = []
    for _ in range(TRIES):
        drawn = _filled(pattern.gather(codes[shared].astype(np.int64)).to_list(), rng)
        new = np.array([text not in known for text in drawn], bool)
        fresh[shared[new]] = len(levels) + len(made) + np.arange(np.count_nonzero(new))
        made += [text for text, good in zip(drawn, new.tolist(), strict=True) if good]
        shared = shared[~new]
        if not len(shared):
            break
    distinct = dict.fromkeys(made)
    place = {text: i for i, text in enumerate(distinct)}
    lookup = np.array([place[text] for text in made], np.int64)
    there = fresh >= 0
    fresh[there] = len(levels) + lookup[fresh[there] - len(levels)]
    return list(distinct), fresh


def _filled(patterns: list[str], rng: np.random.Generator) -> list[str]:
    """Texts of some patterns: letters and digits at random."""
    signs: npt.NDArray[np.uint32] = np.frombuffer("".join(patterns).encode("utf-32-le"), np.uint32).copy()
    for sign, size in (("A", 26), ("a", 26), ("9", 10)):
        here = signs == ord(sign)
        first = ord("0") if sign == "9" else ord(sign)
        signs[here] = first + rng.integers(0, size, np.count_nonzero(here))
    whole = signs.tobytes().decode("utf-32-le")
    ends = np.cumsum([len(pattern) for pattern in patterns]).tolist()
    return [whole[end - len(pattern) : end] for pattern, end in zip(patterns, ends, strict=True)]
