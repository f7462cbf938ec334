"""Whether some people are a group that somebody would name: all of a region, all women of a town, everybody over 65."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl

from dalenius.outputs.query import Bools, Ints
from dalenius.outputs.wraps.columns import dimension, units
from dalenius.outputs.wraps.registered import based
from dalenius.outputs.wraps.traced import bare

if TYPE_CHECKING:
    from dalenius.outputs.desk import Desk

MOST_LABELS = 200
"""Categories up to which a column is one that people are grouped by."""
MOST_WORK = 50_000_000
"""Rows times pairs of columns that are looked at."""
SEEN = 20


def remember(desk: Desk, data: Any) -> None:
    """Keep in sight the data that a table was made of, as long as the researcher has them."""
    if isinstance(data, pd.DataFrame | pl.DataFrame):
        if not desk.base:
            based(desk, data)
        desk.seen = [*desk.seen[1 - SEEN :], weakref.ref(data)]


def is_named(desk: Desk, left: Bools, whole: Bools, told: Sequence[Ints]) -> bool | None:
    """Whether units (by number) are a group among ``whole`` by one column of the data, or two; None if none has them.

    A column that decides ``told``, the property in question, tells nothing about those whom it picks.
    """
    found: bool | None = None
    for frame in (held() for held in reversed([*desk.frames, *desk.seen])):
        if frame is None:
            continue
        number = _numbers(desk, frame)
        here = np.flatnonzero((number >= 0) & (number < len(whole)))
        here = here[whole[number[here]]]
        if len(np.unique(number[here][left[number[here]]])) < int(left.sum()):
            continue
        found = False
        out, facts = left[number[here]], [each[number[here]] for each in told]
        columns = [c for c in _columns(desk, frame, here) if not all(_decides(c, fact) for fact in facts)]
        if any(_apart(c, out) for c in columns):
            return True
        few = [c for c in columns if c.max(initial=0) < MOST_LABELS]
        if len(few) ** 2 * len(here) < 2 * MOST_WORK and any(
            _apart(a * MOST_LABELS + b, out) for a, b in combinations(few, 2)
        ):
            return True
    return found


def _numbers(desk: Desk, frame: Any) -> Ints:
    """Number of each row's unit in the memory; -1 for one who is not in it."""
    if desk.unit is not None and desk.unit in frame.columns:
        codes, ids = units(bare(frame[desk.unit]))
        return desk.memory.known(ids)[codes]
    ids = frame.index if isinstance(frame, pd.DataFrame) and frame.index.is_unique else range(len(frame))
    return desk.memory.known(ids)


def _columns(desk: Desk, frame: Any, here: Ints) -> Iterator[Ints]:
    """Columns as codes in their order."""
    plain = pd.DataFrame(frame) if isinstance(frame, pd.DataFrame) else frame
    for name in dict.fromkeys(plain.columns):
        if name != desk.unit and list(plain.columns).count(name) == 1:
            yield dimension(plain[name], str(name)).codes[here].astype(np.int64) + 1


def _apart(codes: Ints, left: Bools) -> bool:
    """Whether some rows have categories of their own, or, of many values, those at one end."""
    if codes.max(initial=0) >= MOST_LABELS and len(np.unique(codes)) > MOST_LABELS:
        one, two = codes[left], codes[~left]
        return bool(len(two)) and bool(one.max() < two.min() or two.max() < one.min())
    return not np.intersect1d(codes[left], codes[~left]).size


def _decides(codes: Ints, fact: Ints) -> bool:
    """Whether a column decides another one: each of its categories, or each stretch of its values, has one of it."""
    order = np.argsort(codes, kind="stable")
    mine, other = codes[order], fact[order]
    turns = other[1:] != other[:-1]
    if len(np.unique(codes)) <= MOST_LABELS:
        return not (turns & (mine[1:] == mine[:-1])).any()
    return int(turns.sum()) == len(np.unique(fact)) - 1
