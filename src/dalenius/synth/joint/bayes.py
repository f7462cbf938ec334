"""`Network`: a distribution as a chain of conditional tables, each column given its parents.

Rows are drawn column by column, parents first. (Pearl 1988; trees: Chow and Liu 1968.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dalenius.counts.ipf import FloatArray
from dalenius.counts.junction import Clique
from dalenius.data.vector import IntArray, compact
from dalenius.synth._store import stored


@stored
@dataclass(frozen=True, eq=False, repr=False)
class Network:
    """Conditional chances of every column.

    Attributes
    ----------
    sizes
        Number of codes of each column.
    order
        Columns in the order they are drawn.
    parents
        Parents of each column, all of them earlier in the order.
    chances
        Of each column: a row for every combination of its parents, a chance for each code.

    Examples
    --------
    >>> same = np.eye(2)
    >>> network = Network((2, 2), (0, 1), ((), (0,)), [np.array([[0.5, 0.5]]), same])
    >>> first, second = network.sample(100, np.random.default_rng(1))
    >>> bool((first == second).all())
    True
    """

    sizes: tuple[int, ...]
    order: tuple[int, ...]
    parents: tuple[Clique, ...]
    chances: list[FloatArray]

    def sample(self, rows: int, rng: np.random.Generator, *, even: bool = False) -> list[IntArray]:
        """Codes of each column for so many rows; evenly, every combination of parents splits as its chances say."""
        drawn: dict[int, IntArray] = {}
        for column in self.order:
            parents, chances = self.parents[column], self.chances[column]
            place = np.zeros(rows, np.int64)
            for parent in parents:
                place = place * self.sizes[parent] + drawn[parent]
            level = _spread(place, rng) if even else rng.random(rows)
            ends = np.cumsum(chances, axis=1)
            ends[:, -1] = 1.0  # not a rounding error less
            whole = (ends + np.arange(len(ends))[:, None]).ravel()
            codes = np.searchsorted(whole, place + level, side="right") - place * chances.shape[1]
            drawn[column] = compact(np.clip(codes, 0, chances.shape[1] - 1), self.sizes[column])
        return [drawn[column] for column in range(len(self.sizes))]


def conditional(table: FloatArray, alone: FloatArray, prior: float) -> FloatArray:
    """Chances of the last column of a table given the others, drawn towards its own distribution by ``prior`` records.

    Examples
    --------
    >>> conditional(np.array([[3.0, 1.0], [0.0, 0.0]]), np.array([0.5, 0.5]), 1.0).tolist()
    [[0.7, 0.3], [0.5, 0.5]]
    """
    flat = np.maximum(table, 0.0).reshape(-1, table.shape[-1]) + prior * alone
    held = flat.sum(axis=1, keepdims=True)
    return np.where(held > 0, flat / np.where(held > 0, held, 1.0), alone)


def grow(scores: Mapping[int, Mapping[Clique, float]]) -> tuple[tuple[int, ...], tuple[Clique, ...]]:
    """Order and parents of the columns: step by step the column, with parents among the earlier ones, that scores best.

    Examples
    --------
    >>> grow({0: {(): 0.0}, 1: {(): 0.0, (0,): 5.0}, 2: {(): 0.0, (1,): 3.0, (0, 1): 2.0}})
    ((0, 1, 2), ((), (0,), (1,)))
    """
    # The column that says most about all others comes first.
    worth = {c: sum(own.get((c,), 0.0) for own in scores.values()) for c in scores}
    first = max(sorted(worth), key=lambda c: worth[c])
    order, parents = [first], {first: ()}
    while len(order) < len(scores):
        best: tuple[float, int, Clique] | None = None
        for column in sorted(set(scores) - set(order)):
            for held, score in scores[column].items():
                if set(held) <= set(order) and (best is None or score > best[0]):
                    best = score, column, held
        assert best is not None  # having no parents is always possible
        order.append(best[1])
        parents[best[1]] = best[2]  # type: ignore[assignment]
    return tuple(order), tuple(parents[c] for c in range(len(scores)))


def information(table: FloatArray) -> float:
    """What the other columns of a table of counts say about its last one, in nats times records.

    Examples
    --------
    >>> round(information(np.array([[50.0, 0.0], [0.0, 50.0]])) / 100, 3)
    0.693
    """
    flat = table.reshape(-1, table.shape[-1]).astype(np.float64)
    return _entropy(flat.sum(axis=0)) + _entropy(flat.sum(axis=1)) - _entropy(flat.ravel())


def freedom(table: FloatArray) -> int:
    """Chances to be learnt beyond the column's own: cells that occur, less the combinations and values that do."""
    flat = table.reshape(-1, table.shape[-1]) > 0
    return max(int(flat.sum()) - int(flat.any(axis=1).sum()) - int(flat.any(axis=0).sum()) + 1, 0)


def ordered(parents: Sequence[Clique]) -> tuple[int, ...] | None:
    """An order in which every column follows its parents; None where they go round in a circle.

    Examples
    --------
    >>> ordered([(1,), (), (0, 1)]), ordered([(1,), (0,)])
    ((1, 0, 2), None)
    """
    order: list[int] = []
    while len(order) < len(parents):
        ready = [c for c, held in enumerate(parents) if c not in order and set(held) <= set(order)]
        if not ready:
            return None
        order += ready
    return tuple(order)


def _entropy(counts: FloatArray) -> float:
    """Entropy of the shares, in nats, times their total."""
    held = counts[counts > 0].astype(np.float64)
    total = float(held.sum())
    return total * float(np.log(total)) - float((held * np.log(held)).sum()) if total else 0.0


def _spread(place: IntArray, rng: np.random.Generator) -> FloatArray:
    """Levels in [0, 1) that lie evenly among the rows of each place, in random order."""
    order = np.lexsort((rng.random(len(place)), place))
    held = np.bincount(place)
    starts = np.cumsum(held) - held
    sorted_place = place[order]
    level = np.empty(len(place))
    shift = rng.random(len(held))
    level[order] = (np.arange(len(place)) - starts[sorted_place] + shift[sorted_place]) / held[sorted_place]
    return level
