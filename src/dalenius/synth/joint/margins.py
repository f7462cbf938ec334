"""Which margins a log-linear model has: asked for by the user, or chosen so that the model stays small."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TypeAlias

import numpy as np

from dalenius.core.errors import DataError, OptionError, names
from dalenius.core.option import whole_number
from dalenius.counts.junction import Clique, JunctionTree
from dalenius.data.vector import IntArray
from dalenius.synth.joint.records import Coded
from dalenius.synth.joint.task import Task

WORDS: Mapping[str, int] = {"one-way": 1, "two-way": 2, "three-way": 3, "four-way": 4}
PAIR_CELLS = 2**18
"""Largest two-way table that is looked at when margins are chosen."""


def asked_for(margins: str | int | Sequence[Sequence[str]], columns: Sequence[str]) -> list[Clique]:
    """Margins as positions of columns: all of one order ("two-way" or 2), or a list of tuples of names.

    Examples
    --------
    >>> asked_for("two-way", ["a", "b", "c"])
    [(0, 1), (0, 2), (1, 2)]
    >>> asked_for([("c", "a")], ["a", "b", "c"])
    [(0, 2)]
    """
    if isinstance(margins, str) and margins not in WORDS:
        raise OptionError(
            f"unknown margins {margins!r}; use {', '.join(WORDS)}, a number, or a list of tuples of columns"
        )
    order = WORDS.get(margins) if isinstance(margins, str) else margins
    if isinstance(order, (int, float)):
        whole_number("margins", order, 1)
        return list(combinations(range(len(columns)), min(order, len(columns))))
    cliques: list[Clique] = []
    for margin in order or ():
        named = [margin] if isinstance(margin, str) else list(margin)
        absent = [name for name in named if name not in columns]
        if absent:
            raise DataError(
                f"margins name {names(absent)}, which is not a column to synthesize; there are {names(columns)}"
            )
        key = tuple(sorted({columns.index(name) for name in named}))
        if key and key not in cliques:
            cliques.append(key)
    return cliques


Weighted: TypeAlias = Mapping[tuple[str, ...] | str, float]
"""Weights of tables, by their columns: a tuple of names, or a text such as "sex × age" or "sex,age"."""


def named_columns(table: Sequence[str] | str, columns: Sequence[str]) -> list[str]:
    """Columns of a table that is named by a list, by a text with × or commas, or by its only column.

    Examples
    --------
    >>> named_columns("sex × age", ["sex", "age"]), named_columns("sex", ["sex"])
    (['sex', 'age'], ['sex'])
    """
    if not isinstance(table, str):
        return list(table)
    return [table] if table in columns else [part.strip() for part in table.replace("×", ",").split(",")]


def with_all_columns(margins: list[Clique], task: Task) -> list[Clique]:
    """Margins completed by a one-way margin for every column that is in none; the notes name them."""
    covered = {v for margin in margins for v in margin}
    lost = [v for v in range(len(task.names)) if v not in covered]
    if lost:
        task.note(
            f"no margin has {names([task.names[v] for v in lost])}: synthesized independently of the other columns"
        )
    return margins + [(v,) for v in lost]


def cells_of(margin: Clique, sizes: Sequence[int]) -> int:
    """Number of cells of a margin."""
    return math.prod(max(sizes[v], 1) for v in margin)


def count_margins(
    codes: Sequence[IntArray], sizes: Sequence[int], margins: Sequence[Clique]
) -> list[IntArray]:
    """Full tables of counts over some columns each.

    Examples
    --------
    >>> [t.tolist() for t in count_margins([np.array([0, 1, 1])], [2], [(0,)])]
    [[1, 2]]
    """
    return Coded(list(codes), tuple(sizes)).count(margins)


def refuse_large(tree: JunctionTree, task: Task, limit: int) -> None:
    """Error when the largest clique does not fit: says its size, its columns, and what to do."""
    if tree.largest > limit:
        raise DataError(
            f"the model is too large: its largest clique has {tree.largest:,} cells, more than {limit:,}; "
            f"it crosses {largest_columns(task, tree.widest)}. Use fewer "
            "margins, group the first of these columns into fewer levels, drop a column, or use method mst or aim"
        )


def largest_columns(task: Task, among: Sequence[int] | None = None) -> str:
    """Columns with their numbers of levels, the largest first: what to drop when a table is too large."""
    wide = sorted(range(len(task.sizes)) if among is None else among, key=lambda v: -task.sizes[v])
    more = f" and {len(wide) - 8} more" if len(wide) > 8 else ""
    return ", ".join(f"{task.names[v]!r} ({task.sizes[v]})" for v in wide[:8]) + more


def strongest(task: Task, limit: int) -> list[Clique]:
    """Two-way margins in order of their mutual information, as many as keep the junction tree within ``limit`` cells.

    Looks at the data, so it is not for use under a privacy budget. Chow and Liu (1968) stop at a tree; here cycles are
    closed as long as the cliques stay small.
    """
    pairs = [
        pair
        for pair in combinations(range(len(task.sizes)), 2)
        if cells_of(pair, task.sizes) <= min(PAIR_CELLS, limit)
    ]
    gains = sorted((-_information(task, pair), pair) for pair in pairs)
    chosen: list[Clique] = []
    refused = 0
    for gain, pair in gains:
        if gain >= 0 or refused > 2 * len(task.sizes):
            break
        if JunctionTree.of(task.sizes, [*chosen, pair]).cells <= limit + sum(task.sizes):
            chosen.append(pair)
        else:
            refused += 1
    return chosen


def _information(task: Task, pair: Clique) -> float:
    """Mutual information of two columns, less what chance alone gives: (r-1)(c-1) / 2N."""
    table = task.records.count([pair])[0] / max(task.rows, 1)
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    inside = table > 0
    expected = np.outer(rows, columns)
    held = float(np.sum(table[inside] * np.log(table[inside] / expected[inside])))
    used = (np.count_nonzero(rows) - 1) * (np.count_nonzero(columns) - 1)
    return held - used / (2 * max(task.rows, 1))
