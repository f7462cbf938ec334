"""`arf`: leaves of forests that tried to tell real rows from made-up ones, and no longer can.

Shuffled columns are the first made-up rows. A forest learns to tell them from the real ones; new rows are made within
its leaves, each column apart, and the next forest tries again, until it does no better than a coin. Within a leaf
columns are then as good as independent. (Watson, Blesch, Kapar and Wright 2023, adversarial random forests.)
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from dalenius.core.cost import Cost, Shape
from dalenius.core.later import ensemble
from dalenius.core.option import Option
from dalenius.core.random import Seed, generator
from dalenius.core.registry import MethodInfo
from dalenius.data.table import Table
from dalenius.data.vector import IntArray, Vector
from dalenius.synth.base import Synthesizer, register
from dalenius.synth.kept import KeptTable

FloatArray = npt.NDArray[np.float32]
Leaves = tuple[IntArray, IntArray, IntArray]
"""Rows in the order of their leaves, and for each of these places where its leaf begins and ends."""


class ARFModel(KeptTable):
    """The table, and its rows in the order of the leaves of every tree."""

    method = "arf"
    keeps = ("table", "order", "begins", "ends")
    contents = "every value of every column: treat the file like the confidential data"

    def __init__(self, table: Table, leaves: list[Leaves]) -> None:
        super().__init__(table)
        self.order, self.begins, self.ends = (np.array(each, np.int32) for each in zip(*leaves, strict=True))

    def _draw(self, rows: int, seed: Seed) -> Table:
        rng = generator(seed, "leaves")
        trees = [(self.order[t], self.begins[t], self.ends[t]) for t in range(len(self.order))]
        vectors = [self.table[name] for name in self.table.names]
        picked = drawn_rows(trees, rows, len(vectors), rng) if rows else np.zeros((len(vectors), 0), np.int64)
        made = [vector.take(at).tidy() for vector, at in zip(vectors, picked, strict=True)]
        return Table.from_vectors(made, rows, self.origin, self.schema)


@register
@dataclass(frozen=True)
class AdversarialForest(Synthesizer):
    """Draw rows within leaves of a forest that cannot tell them from real ones, each column apart.

    Parameters
    ----------
    trees
        Trees of a forest.
    minbucket
        Fewest real rows of a leaf. Each column of a new row comes from another row of the leaf.
    rounds
        Most forests that are grown, one against the rows of the one before.
    delta
        A forest that is right in at most half of all cases and this share more has failed: the leaves are good.

    Examples
    --------
    >>> table = Table.from_frame({"sex": ["f", "m"] * 100, "tall": ["no", "yes"] * 100})
    >>> made = AdversarialForest(trees=5).fit(table, seed=1).sample(50, seed=1)
    >>> bool((made["sex"].data == made["tall"].data).mean() > 0.9)
    True
    """

    trees: Annotated[int, Option(at_least=1)] = 30
    minbucket: Annotated[
        int,
        Option(
            at_least=2,
            title="Smallest group",
            meaning="Answers of a made-up person are mixed from at least so many real people. More: safer, coarser.",
            knob=True,
        ),
    ] = 5
    rounds: Annotated[int, Option(at_least=1)] = 10
    delta: Annotated[float, Option(at_least=0)] = 0.0

    info = MethodInfo(
        name="arf",
        title="Adversarial random forest",
        meaning="Rows drawn within the leaves of forests that tried to tell real from made-up rows; columns apart.",
        guarantee="none: values come from the data, mixed within small groups of people",
        plain="The program groups people who are alike, so finely that within a group the answers no longer go "
        "together, and makes up new people by mixing the answers of a group.",
        reference="Watson, Blesch, Kapar and Wright 2023",
    )
    model = ARFModel

    def _fit(self, table: Table, seed: Seed) -> ARFModel:
        rows = table.rows
        if rows < 2 * self.minbucket:
            alone = np.arange(rows)
            return ARFModel(table, [(alone, np.zeros(rows, np.int64), np.full(rows, rows))])
        real = np.column_stack([_numbers(table[name]) for name in table.names])
        rng = generator(seed, "forest")
        made = np.column_stack([rng.permutation(column) for column in real.T])
        best: list[Leaves] = []
        right = 1.0
        for turn in range(self.rounds):
            forest = _forest(
                np.concatenate([real, made]), self.trees, self.minbucket, int(rng.integers(2**31))
            )
            if turn and forest.oob_score_ >= right:
                break
            right = float(forest.oob_score_)
            best = [_leaves(tree.tree_, real, self.minbucket) for tree in forest.estimators_]
            if right <= 0.5 + self.delta:
                break
            picked = drawn_rows(best, rows, real.shape[1], rng)
            made = np.column_stack([real[at, i] for i, at in enumerate(picked)])
        model = ARFModel(table, best)
        model.notes.append(
            f"a forest tells real rows from made-up ones in {100 * right:.0f} % of cases; 50 is a coin"
        )
        return model

    def cost(self, shape: Shape) -> Cost:
        """A few forests of sorted columns."""
        work = 2 * shape.rows * np.log2(max(2 * shape.rows, 2)) * self.trees * max(shape.columns, 1) ** 0.5
        return Cost(
            seconds=0.3 + 3.2e-8 * work * min(self.rounds, 4),
            bytes=80.0 * shape.rows * shape.columns + 12.0 * shape.rows * self.trees,
        )


def _forest(rows: FloatArray, trees: int, least: int, seed: int) -> Any:
    """A forest that tells the first half of the rows from the second."""
    forest = ensemble.RandomForestClassifier(
        trees, min_samples_leaf=max(least * 3 // 5, 1), oob_score=True, random_state=seed
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Some inputs do not have OOB scores")  # they do not count
        return forest.fit(rows, np.repeat([1, 0], len(rows) // 2))


def drawn_rows(
    trees: list[Leaves], rows: int, columns: int, rng: np.random.Generator
) -> npt.NDArray[np.int64]:
    """For each column and new row a real row: all of one leaf, which is drawn by tree and by how many rows it has.

    Examples
    --------
    >>> order = np.array([2, 0, 1, 3])  # two leaves: rows 2 and 0, rows 1 and 3
    >>> leaf = order, np.array([0, 0, 2, 2]), np.array([2, 2, 4, 4])
    >>> picked = drawn_rows([leaf], 100, 2, np.random.default_rng(1))
    >>> bool(((picked % 2)[0] == (picked % 2)[1]).all())
    True
    """
    picked = np.empty((columns, rows), np.int64)
    tree = rng.integers(0, len(trees), rows)
    place = rng.integers(0, len(trees[0][0]), rows)
    for t, (order, begins, ends) in enumerate(trees):
        own = np.flatnonzero(tree == t)
        low, high = begins[place[own]], ends[place[own]]
        for column in range(columns):
            picked[column, own] = order[low + (rng.random(len(own)) * (high - low)).astype(np.int64)]
    return picked


def _leaves(tree: Any, real: FloatArray, least: int) -> Leaves:
    """Real rows by leaf; a leaf with fewer than ``least`` of them widens to the smallest branch that has as many.

    Nodes are numbered from the left and from the top, so that a branch is a range of numbers.
    """
    left, right = tree.children_left, tree.children_right
    leaf = tree.apply(real)
    held, last, group = np.bincount(leaf, minlength=len(left)), np.arange(len(left)), np.arange(len(left))
    for node in range(len(left) - 1, -1, -1):
        if left[node] >= 0:
            held[node] = held[left[node]] + held[right[node]]
            last[node] = last[right[node]]
    for node in range(len(left)):
        if left[node] >= 0:
            for child in (left[node], right[node]):
                group[child] = child if held[child] >= least else group[node]
    order = np.argsort(leaf, kind="stable")
    sorted_leaf = leaf[order]
    branch = group[sorted_leaf]
    begins = np.searchsorted(sorted_leaf, branch, side="left")
    return order, begins, np.searchsorted(sorted_leaf, last[branch], side="right")


def _numbers(vector: Vector) -> FloatArray:
    """A column as numbers that a tree can cut: values, or codes of categories; gaps and special codes below all."""
    data = vector.data.astype(np.float32)
    if vector.state is None:
        return data
    low = float(vector.values.min()) if vector.present.any() else 0.0
    span = float(np.ptp(vector.values)) + 1.0 if vector.present.any() else 1.0
    return np.where(vector.present, data, low - span * vector.state.astype(np.float32)).astype(np.float32)
