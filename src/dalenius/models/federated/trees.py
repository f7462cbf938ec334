"""Decision trees of several holders made into one that votes like all of them (Kwatra and Torra 2024, 3.4)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from dalenius.core.errors import DataError, OptionError
from dalenius.data.vector import AnyArray, IntArray

MOST_NODES = 200_000
Vote = Literal["tree", "count"]


@dataclass(frozen=True)
class Leaf:
    """A class; and how many people of each class stood here, where that may be told."""

    label: int
    counts: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Node:
    """A question: branch i takes values from cut i - 1 up to, but not including, cut i."""

    column: int
    cuts: tuple[float, ...]
    branches: tuple[Tree, ...]


Tree = Leaf | Node


def merge(trees: Sequence[Tree], *, vote: Vote = "tree", most: int = MOST_NODES) -> Tree:
    """One tree that says what most of the trees say.

    Parameters
    ----------
    vote
        "tree": every tree has one vote; "count": people in the leaves are added up, where all trees tell them.
    most
        Nodes beyond which it is given up.

    Examples
    --------
    >>> one, two = (Node(0, (cut,), (Leaf(0), Leaf(1))) for cut in (2.0, 4.0))
    >>> merge([one, two, Node(1, (1.0,), (Leaf(0), Leaf(1)))]).cuts
    (2.0, 4.0)
    """
    if not trees:
        raise OptionError("there is no tree to merge")
    if vote == "count" and any(leaf.counts is None for tree in trees for leaf in leaves(tree)):
        raise DataError(
            'vote="count" needs counts in every leaf, and small ones are never sent; vote by tree'
        )
    return _merged(list(trees), vote, [most])


def _merged(trees: list[Tree], vote: Vote, left: list[int]) -> Tree:
    left[0] -= 1
    if left[0] < 0:
        raise OptionError("the merged tree would be too large; let every holder send a shallower tree")
    plain = [tree for tree in trees if isinstance(tree, Leaf)]
    if len(plain) == len(trees):
        return _voted(plain, vote)
    if vote == "tree" and (sure := _decided(trees)) is not None:
        return Leaf(sure)
    roots = [tree for tree in trees if isinstance(tree, Node)]
    votes = Counter(root.column for root in roots)
    column = min(votes, key=lambda c: (-votes[c], c))
    cuts = sorted({cut for root in roots if root.column == column for cut in root.cuts})
    ends = [-math.inf, *cuts, math.inf]
    branches = tuple(
        _merged([restricted(tree, column, low, high) for tree in trees], vote, left)
        for low, high in pairwise(ends)
    )
    first = branches[0]
    if isinstance(first, Leaf) and all(isinstance(b, Leaf) and b.label == first.label for b in branches):
        return Leaf(first.label)
    return Node(column, tuple(cuts), branches)


def _decided(trees: Sequence[Tree]) -> int | None:
    """The class that wins whatever the open questions answer: its sure votes beat the possible ones of any other."""
    reachable = [{leaf.label for leaf in leaves(tree)} for tree in trees]
    sure = Counter(next(iter(labels)) for labels in reachable if len(labels) == 1)
    possible = Counter(label for labels in reachable for label in labels)
    for label, votes in sure.items():
        if all((votes, -label) > (possible[other], -other) for other in possible if other != label):
            return label
    return None


def restricted(tree: Tree, column: int, low: float, high: float) -> Tree:
    """What is left of a tree for people whose value lies from ``low`` up to, but not including, ``high``.

    Examples
    --------
    >>> restricted(Node(0, (2.0,), (Leaf(0), Leaf(1))), 0, 2.0, 5.0)
    Leaf(label=1, counts=None)
    """
    if isinstance(tree, Leaf):
        return tree
    if tree.column != column:
        return Node(tree.column, tree.cuts, tuple(restricted(b, column, low, high) for b in tree.branches))
    inside = [cut for cut in tree.cuts if low < cut < high]
    first = sum(cut <= low for cut in tree.cuts)
    kept = [restricted(b, column, low, high) for b in tree.branches[first : first + len(inside) + 1]]
    return Node(column, tuple(inside), tuple(kept)) if inside else kept[0]


def _voted(plain: Sequence[Leaf], vote: Vote) -> Leaf:
    if vote == "count":
        held = [leaf.counts for leaf in plain if leaf.counts is not None]
        total = np.sum(held, axis=0)
        return Leaf(int(np.argmax(total)), tuple(int(n) for n in total))
    votes = Counter(leaf.label for leaf in plain)
    return Leaf(min(votes, key=lambda label: (-votes[label], label)))


def leaves(tree: Tree) -> list[Leaf]:
    """All leaves, from left to right.

    Examples
    --------
    >>> len(leaves(Node(0, (2.0,), (Leaf(0), Leaf(1)))))
    2
    """
    return [tree] if isinstance(tree, Leaf) else [leaf for branch in tree.branches for leaf in leaves(branch)]


def predict(tree: Tree, values: AnyArray) -> IntArray:
    """The class of each row; what is missing lies beyond every number.

    Examples
    --------
    >>> predict(Node(0, (2.0,), (Leaf(0), Leaf(1))), np.array([[1.0], [2.0], [np.nan]])).tolist()
    [0, 1, 1]
    """
    held = np.asarray(values, np.float64)
    held = np.where(np.isnan(held), math.inf, held)
    labels = np.empty(len(held), np.int64)
    waiting: list[tuple[Tree, AnyArray]] = [(tree, np.arange(len(held)))]
    while waiting:
        place, rows = waiting.pop()
        if isinstance(place, Leaf):
            labels[rows] = place.label
            continue
        side = np.searchsorted(place.cuts, held[rows, place.column], "right")
        waiting += [(branch, rows[side == i]) for i, branch in enumerate(place.branches)]
    return labels


def to_json(tree: Tree) -> dict[str, Any]:
    """A tree as plain data.

    Examples
    --------
    >>> to_json(Leaf(1))
    {'label': 1}
    """
    if isinstance(tree, Leaf):
        return {"label": tree.label} | ({} if tree.counts is None else {"counts": list(tree.counts)})
    cuts = ["missing" if math.isinf(cut) else cut for cut in tree.cuts]
    return {"column": tree.column, "cuts": cuts, "branches": [to_json(b) for b in tree.branches]}


def from_json(data: Mapping[str, Any], columns: int, classes: int, deep: int = 0) -> Tree:
    """A tree out of plain data that somebody else wrote: everything is looked at before it is believed.

    Examples
    --------
    >>> from_json({"column": 0, "cuts": [2.0], "branches": [{"label": 0}, {"label": 1}]}, columns=1, classes=2).cuts
    (2.0,)
    """
    fault = DataError("holds no tree that fits the agreement; ask its sender to make it again")
    if deep > 60 or not isinstance(data, Mapping):
        raise fault
    if not set(data) <= ({"label", "counts"} if "label" in data else {"column", "cuts", "branches"}):
        raise fault
    if "label" in data:
        counts = data.get("counts")
        sound = counts is None or (
            isinstance(counts, list) and len(counts) == classes and all(_whole(n) for n in counts)
        )
        if not _whole(data["label"]) or data["label"] >= classes or not sound:
            raise fault
        return Leaf(data["label"], None if counts is None else tuple(counts))
    column: Any = data.get("column")
    cuts, branches = data.get("cuts"), data.get("branches")
    if (
        not _whole(column)
        or column >= columns
        or not isinstance(cuts, list)
        or not isinstance(branches, list)
    ):
        raise fault
    ends = [math.inf if cut == "missing" else cut for cut in cuts]
    numbers = all(
        isinstance(cut, int | float) and not isinstance(cut, bool) and not math.isnan(cut) for cut in ends
    )
    if not numbers or not ends or len(branches) != len(ends) + 1 or any(a >= b for a, b in pairwise(ends)):
        raise fault
    return Node(
        column, tuple(map(float, ends)), tuple(from_json(b, columns, classes, deep + 1) for b in branches)
    )


def _whole(number: Any) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number >= 0
