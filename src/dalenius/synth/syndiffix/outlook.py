"""What a drawn value of a column may look like: outermost values, and levels that enough units share."""

from __future__ import annotations

import os.path
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from dalenius.data.schema import Column, Kind, Level
from dalenius.synth._store import stored
from dalenius.synth.syndiffix._kernels.trees import CODE, DEPTH, FIRST, FLAGS, KIDS, LOW
from dalenius.synth.syndiffix.axis import BITS, TOP, Axis, Codes
from dalenius.synth.syndiffix.buckets import Buckets
from dalenius.synth.syndiffix.casting import rank_order
from dalenius.synth.syndiffix.tree import Tree

Rare = Literal["auto", "prefix", "neighbour"]
Pair = tuple[int, int]


@stored
@dataclass(frozen=True, eq=False, repr=False)
class Outlook:
    """How codes of one column become values.

    Attributes
    ----------
    axis
        Its grid. For levels, ``axis.column.levels`` are the public ones only: declared, or shared by enough units.
    edges
        Outermost frame codes that may be drawn, or None. They are bounds of the outermost cells above the threshold, on
        their inner side: drawn values never lie outside the data, and the extremes themselves are not given away.
    ranks
        Rank of each public level.
    known
        Frame codes of values shared by enough units, where numbers are to be drawn from these only.
    prefixes
        For texts: common beginning of the levels of a range of ranks.
    """

    axis: Axis
    edges: Pair | None = None
    ranks: Codes = field(default_factory=lambda: np.zeros(0, np.int64))
    known: Codes = field(default_factory=lambda: np.zeros(0, np.int64))
    prefixes: dict[Pair, str] = field(default_factory=dict)


def edges_of(tree: Tree, axis: Axis) -> Pair | None:
    """Inner bounds of the outermost cells that are above the threshold, in frame codes."""
    ints, (cells, low, high) = tree.ints, tree.side(0)
    start = 0
    if axis.level == 0:  # the upper half are gaps
        first = int(ints[0, FIRST])
        if not ints[0, KIDS] or ints[first, CODE] != 0:
            return None
        start = first
    if ints[start, FLAGS] & LOW:
        return None
    ends = []
    for side in (0, -1):
        v, children = start, [start]
        while children:
            v = children[side]
            family = range(int(ints[v, FIRST]), int(ints[v, FIRST] + ints[v, KIDS]))
            children = [c for c in family if not ints[c, FLAGS] & LOW]
        shift = BITS - int(ints[v, DEPTH])
        if low[v] == high[v]:
            code = int(low[v])
        else:
            code = ((int(cells[v]) + 1) << shift) - 1 if side == 0 else int(cells[v]) << shift
        ends.append(int(axis.to_frame(np.array([code]))[0]))
    bottom, top = ends
    return (bottom, top) if bottom <= top < TOP else None


def safe_codes(tree: Tree, axis: Axis, all_values: bool) -> Codes:
    """Frame codes of single values of a column's own tree that enough units share (all, for a public column)."""
    single = tree.is_leaf & tree.is_singular & (all_values | ~tree.is_low)
    codes = np.sort(axis.to_frame(tree.side(0)[1][single]))
    return codes[codes < TOP]


def look(
    axis: Axis,
    original: Column,
    tree: Tree,
    sets: Sequence[tuple[Buckets, int]],
    public: bool,
    rare: Rare,
    known: bool,
) -> Outlook:
    """The outlook of a column, from its own tree and the bucket sets (with the column's place in them)."""
    edges = edges_of(tree, axis)
    safe = safe_codes(tree, axis, public)
    if axis.kind != "levels":
        return Outlook(axis, edges, known=safe if known or public else safe[:0])
    ranges = np.concatenate(
        [rank_ranges(axis, b.low[:, j], b.high[:, j]) for b, j in sets] or [np.zeros((0, 2), int)]
    )
    keys = np.unique((ranges[:, 0] << 32) | ranges[:, 1])
    ranges = np.column_stack([keys >> 32, keys & 0xFFFFFFFF])
    ranges = ranges[ranges[:, 0] < ranges[:, 1]]
    order = rank_order(original)
    levels: list[Level] = [
        level
        for _, level in sorted(
            zip(order.tolist(), original.levels or (), strict=True), key=lambda pair: pair[0]
        )
    ]
    if original.domain == "declared" or original.kind is Kind.BOOLEAN:
        ranks = np.arange(len(levels))
    else:
        single = ranges[ranges[:, 1] - ranges[:, 0] == 1, 0]
        ranks = np.unique(np.concatenate([rank_ranges(axis, safe, safe)[:, 0], single]))
        ranks = ranks[ranks < len(levels)]
    column = replace(axis.column, levels=tuple(levels[r] for r in ranks.tolist()))
    prefixes: dict[Pair, str] = {}
    if rare == "prefix" or (rare == "auto" and original.kind is Kind.TEXT):
        prefixes = _prefixes(levels, ranges, ranks)
    return Outlook(replace(axis, column=column), edges, ranks, prefixes=prefixes)


def rank_ranges(axis: Axis, low: Codes, high: Codes) -> npt.NDArray[np.int64]:
    """Ranks first, last + 1 that ranges of frame codes enclose; nothing (0, 0) for gaps."""
    top = np.minimum(high, TOP)
    if axis.scale is None:
        first = axis.wholes(low)
        last = np.where(high > low, axis.wholes(np.maximum(top - 1, 0)), first) + 1
    else:
        first = np.ceil(axis.reals(low) - 1e-6).astype(np.int64)
        last = np.where(high > low, np.ceil(axis.reals(top) - 1e-6), first + 1).astype(np.int64)
    gap = low >= TOP
    return np.column_stack([np.where(gap, 0, first), np.where(gap, 0, np.maximum(last, first + 1))])


def _prefixes(levels: Sequence[Level], ranges: npt.NDArray[np.int64], ranks: Codes) -> dict[Pair, str]:
    """Common beginnings of the levels of each range that holds one that is not public."""
    if not all(isinstance(level, str) for level in levels):
        return {}
    public = np.zeros(len(levels) + 1, np.int64)
    public[ranks + 1] = 1
    public = np.cumsum(public)
    prefixes: dict[Pair, str] = {}
    for first, last in ranges.tolist():
        end = min(last, len(levels))
        if end > first and public[end] - public[first] < end - first:
            prefixes[first, last] = os.path.commonprefix([str(levels[first]), str(levels[end - 1])])  # noqa: RUF071
    return prefixes
