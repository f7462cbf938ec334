"""From buckets to rows: draw a code inside each bucket's range, then turn codes into values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dalenius.data.schema import Kind
from dalenius.data.vector import MISSING, Vector, compact
from dalenius.synth.syndiffix.axis import TOP, Axis, Codes
from dalenius.synth.syndiffix.moments import from_natural, to_natural
from dalenius.synth.syndiffix.outlook import Outlook, rank_ranges

Tags = npt.NDArray[np.int64]
PLAIN = -1
"""Tag of an ordinary code; other tags are a position among the ranges with a common beginning."""
NOTHING = -2
"""Code of a level that cannot be shown: it comes out missing."""


def draw_codes(outlook: Outlook, low: Codes, high: Codes, rng: np.random.Generator) -> tuple[Codes, Tags]:
    """A code of the whole frame for each row, uniform inside its range, and its tag.

    A range over values and gaps together is drawn from its values.
    """
    axis = outlook.axis
    end = np.where(low < TOP, np.minimum(high, TOP), high)
    share = rng.random(len(low))
    tags = np.full(len(low), PLAIN, np.int64)
    if axis.kind == "levels":
        codes, tags = _draw_levels(outlook, low, end, share)
    elif axis.kind == "moment":
        codes = _draw_moments(axis, low, end, share)
    elif axis.kind == "whole" and axis.scale is None:
        first = axis.wholes(low)
        last = np.where(end > low, axis.wholes(np.maximum(end - 1, 0)), first) + round(axis.step) - 1
        drawn = first + np.floor(share * (last - first + 1).astype(np.float64)).astype(np.int64)
        codes = axis.encode(np.minimum(drawn, last))
    else:
        width = end - low
        if axis.step and axis.scale is None:
            width = np.where(end > low, width, axis.encode(axis.reals(low) + axis.step) - low)
        codes = low + np.floor(share * width.astype(np.float64)).astype(np.int64)
    if outlook.edges is not None and axis.kind != "levels":
        codes = np.clip(codes, *outlook.edges)
    if len(outlook.known):
        codes = _nearest(outlook.known, codes, low, end)
    return np.where(low >= TOP, low, codes), tags


def _draw_moments(axis: Axis, low: Codes, end: Codes, share: npt.NDArray[np.float64]) -> Codes:
    value = low < TOP
    first = from_natural(axis.wholes(np.where(value, low, 0)))
    last = from_natural(axis.wholes(np.where(value, end, 0)))
    span = np.where(end > low, np.maximum(last - first, 1), 1).astype(np.float64)
    step = max(round(axis.step), 1)
    drawn = (first + np.floor(share * span).astype(np.int64)) // step * step
    return axis.encode(to_natural(np.maximum(drawn, first)))


def _nearest(known: Codes, codes: Codes, low: Codes, end: Codes) -> Codes:
    """The nearest known code of each row's range; rows whose range holds none keep theirs."""
    right = np.minimum(np.searchsorted(known, codes), len(known) - 1)
    left = np.maximum(right - 1, 0)
    inside_right = (known[right] >= low) & ((known[right] < end) | (known[right] == low))
    inside_left = (known[left] >= low) & ((known[left] < end) | (known[left] == low))
    closer_left = inside_left & (
        ~inside_right | (np.abs(codes - known[left]) <= np.abs(known[right] - codes))
    )
    return np.where(closer_left, known[left], np.where(inside_right, known[right], codes))


def _draw_levels(
    outlook: Outlook, low: Codes, end: Codes, share: npt.NDArray[np.float64]
) -> tuple[Codes, Tags]:
    """Ranks; what is not public becomes a common beginning with a number, or the nearest public level."""
    axis, public = outlook.axis, outlook.ranks
    ranges = rank_ranges(axis, low, end)
    first, last = ranges[:, 0], ranges[:, 1]
    if outlook.edges is not None and axis.scale is None:
        bottom, top = axis.wholes(np.array(outlook.edges)).tolist()
        first, last = np.clip(first, bottom, top), np.clip(last, bottom + 1, top + 1)
    ranks = first + np.floor(share * (last - first)).astype(np.int64)
    tags = np.full(len(low), PLAIN, np.int64)
    if not len(public) and not outlook.prefixes:
        return np.full(len(low), NOTHING, np.int64), tags
    place = np.minimum(np.searchsorted(public, ranks), max(len(public) - 1, 0))
    hidden = public[place] != ranks if len(public) else np.ones(len(ranks), dtype=bool)
    if outlook.prefixes:
        names = {pair: i for i, pair in enumerate(outlook.prefixes)}
        rows = np.flatnonzero(hidden)
        tags[rows] = [names.get((a, b), PLAIN) for a, b in ranges[rows].tolist()]
    lost = hidden & (tags == PLAIN)
    if len(public):
        few = np.flatnonzero(lost)
        held, at = ranks[few], place[few]
        near = _nearest(public, held, first[few], last[few])
        before = public[np.maximum(at - 1, 0)]
        anywhere = np.where(np.abs(held - before) <= np.abs(public[at] - held), before, public[at])
        ranks[few] = np.where(np.isin(near, public), near, anywhere)
        return axis.encode(ranks), tags
    return np.where(lost, NOTHING, axis.encode(ranks)), tags


def decode(outlook: Outlook, codes: Codes, tags: Tags) -> Vector:
    """Values of codes, as a column."""
    axis = outlook.axis
    column = axis.column
    gap = codes >= TOP
    state = np.zeros(len(codes), np.uint8)
    if gap.any():
        state[gap] = np.array(axis.gaps, np.uint8)[axis.gap_of(codes[gap])]
    state[codes == NOTHING] = MISSING
    plain = np.where((state == 0), codes, 0)
    if axis.kind == "levels":
        return _decode_levels(outlook, plain, tags, state)
    data: npt.NDArray[Any]
    if axis.kind == "moment":
        moments = from_natural(axis.wholes(plain))
        data = moments * 1000 if column.decimals == 9 else moments
    elif axis.kind == "whole":
        data = axis.wholes(plain) if axis.scale is None else np.rint(axis.reals(plain)).astype(np.int64)
    else:
        data = axis.reals(plain)
        if column.decimals is not None:
            data = np.round(data, column.decimals) + 0.0
    data = np.where(state == 0, data, np.zeros(1, data.dtype))
    return Vector(column, data, state).tidy()


def _decode_levels(outlook: Outlook, codes: Codes, tags: Tags, state: npt.NDArray[np.uint8]) -> Vector:
    axis = outlook.axis
    levels = list(axis.column.levels or ())
    ranks = axis.wholes(codes) if axis.scale is None else np.rint(axis.reals(codes)).astype(np.int64)
    data = np.searchsorted(outlook.ranks, ranks)
    starred = (tags != PLAIN) & (state == 0)
    if starred.any():
        pairs = np.column_stack([tags[starred], ranks[starred]])
        distinct, inverse = np.unique(pairs, axis=0, return_inverse=True)
        beginnings = list(outlook.prefixes.values())
        texts = [f"{beginnings[tag]}*{rank}" for tag, rank in distinct.tolist()]
        places = {level: i for i, level in enumerate(levels)}
        for text in texts:
            if text not in places:
                places[text] = len(levels)
                levels.append(text)
        data[starred] = np.array([places[text] for text in texts])[inverse.reshape(-1)]
    data = np.where(state == 0, np.minimum(data, max(len(levels) - 1, 0)), 0)
    column = replace(axis.column, levels=tuple(levels))
    return Vector(column, compact(data, len(levels)), state).tidy()


def empty_vector(axis: Axis, rows: int) -> Vector:
    """A column whose every value was suppressed: all missing."""
    column = axis.column
    whole = column.kind in (Kind.INTEGER, Kind.DATETIME)
    kind = np.int64 if whole else np.float64
    data: npt.NDArray[np.generic] = np.zeros(rows, kind if column.kind.is_number else np.uint8)
    levels = None if column.kind.is_number else (column.levels or ())
    return Vector(replace(column, levels=levels), data, np.full(rows, MISSING, np.uint8)).tidy()
