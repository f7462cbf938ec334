"""Graphs released with edge-level differential privacy: neighbours differ in one edge.

A graph is the list of its edges among n people; of the n (n - 1) / 2 pairs only those that matter are written down.
Adding a person with one edge changes one pair too, so the same ε covers him; whoever has many edges is protected by
as many times ε.
"""

from __future__ import annotations

import math

import numpy as np

from dalenius.core.errors import DataError, OptionError
from dalenius.data.vector import AnyArray, IntArray
from dalenius.dp.budget import Budget
from dalenius.dp.noise import add_laplace, draw_geometric
from dalenius.dp.sparse_noise import hits, is_among, reach

FINE = 1 << 20
"""Noise lives on a lattice of this many steps in 1: OpenDP draws whole numbers, exactly."""
SPLIT = 0.01
"""Share of ε that pays for the number of edges (Wu et al. 2022)."""
MOST_FLIPS = 1 << 22
"""Pairs that randomised response may be expected to turn round."""


def lapgraph(
    edges: AnyArray, nodes: int, epsilon: float, *, split: float = SPLIT, budget: Budget | None = None
) -> IntArray:
    """Release a graph: Laplace noise on every pair, and as many of the largest as there are edges, nearly.

    The law is that of noise on all n (n - 1) / 2 pairs (Wu et al. 2022, LapGraph); pairs without an edge are drawn only
    where they come near the top, by the gaps between them.

    Parameters
    ----------
    edges
        Two columns of node numbers, 0 to ``nodes`` - 1; each edge once, in either direction.
    split
        Share of ε for the number of edges.
    budget
        Pays; without one nobody adds up.

    Returns
    -------
    Edges of the noisy graph, the smaller number first.

    Examples
    --------
    >>> lapgraph([(0, 1), (1, 2)], 1000, epsilon=10_000.0).tolist()
    [[0, 1], [1, 2]]
    """
    _positive(epsilon)
    if not 0 < split < 1:
        raise OptionError(f"split is a share of epsilon, above 0 and below 1; got {split}")
    keys = pair_numbers(edges, nodes)
    if budget is not None:
        budget.spend(
            "graph by noise on every pair",
            epsilon=epsilon,
            noise=f"discrete Laplace, scale {1 / epsilon:.3g}",
        )
    pairs = nodes * (nodes - 1) // 2
    scale = FINE / ((1 - split) * epsilon)
    number = int(add_laplace(np.array([len(keys)]), 1 / (split * epsilon))[0])
    number = min(max(number, 0), pairs)
    return pairs_of(_largest(keys, pairs, number, scale), nodes)


def edge_rand(edges: AnyArray, nodes: int, epsilon: float, *, budget: Budget | None = None) -> IntArray:
    """Release a graph by randomised response: every pair is turned round with chance 1 / (1 + exp(ε)).

    The noisy graph has far more edges than the true one unless ε is large: about n² / 2 / (1 + exp(ε)) are invented.

    Examples
    --------
    >>> edge_rand([(0, 1), (1, 2)], 1000, epsilon=100.0).tolist()
    [[0, 1], [1, 2]]
    """
    _positive(epsilon)
    keys = pair_numbers(edges, nodes)
    pairs = nodes * (nodes - 1) // 2
    chance = 1 / (1 + math.exp(min(epsilon, 700)))
    if pairs * chance > MOST_FLIPS:
        enough = math.log(pairs / MOST_FLIPS - 1) if pairs > 2 * MOST_FLIPS else 0.0
        raise OptionError(
            f"of {pairs:,} pairs about {int(pairs * chance):,} would be turned round, and the graph would be noise; "
            f"give an epsilon above {enough:.2g}, or use lapgraph"
        )
    if budget is not None:
        budget.spend(
            "graph by randomised response", epsilon=epsilon, noise=f"turned round with chance {chance:.3g}"
        )
    return pairs_of(np.setxor1d(keys, hits(pairs, chance)), nodes)


def lapgraph_edge_retention(nodes: int, edges: int, epsilon: float, *, split: float = SPLIT) -> float:
    """Expected share of the true edges that `lapgraph` keeps: what a steward should know before choosing ε.

    Examples
    --------
    >>> round(lapgraph_edge_retention(6549, 112_666, 5.0), 3)
    0.427
    """
    _positive(epsilon)
    pairs = nodes * (nodes - 1) // 2
    if not 0 < edges < pairs:
        raise OptionError(f"a graph of {nodes} nodes has between 1 and {pairs - 1} edges here; got {edges}")
    second, others = (1 - split) * epsilon, (pairs - edges) / edges
    if second <= math.log(others):
        return 1 / (1 + others * math.exp(-second))
    return 1 - 0.5 * math.sqrt(others * math.exp(-second))


def pair_numbers(edges: AnyArray, nodes: int) -> IntArray:
    """Edges as numbers of pairs, ascending: 0 is (0, 1), 1 is (0, 2), and so on.

    Examples
    --------
    >>> pair_numbers([(1, 0), (1, 2)], 3).tolist()
    [0, 2]
    """
    held = np.asarray(edges)
    if held.size == 0:
        return np.zeros(0, np.int64)
    if held.ndim != 2 or held.shape[1] != 2 or held.dtype.kind not in "iu":
        raise DataError("edges are two columns of node numbers, one row an edge")
    low, high = held.min(axis=1).astype(np.int64), held.max(axis=1).astype(np.int64)
    if low.min() < 0 or high.max() >= nodes:
        raise DataError(f"edges name nodes outside 0 to {nodes - 1}; number the nodes of the graph from 0")
    if (low == high).any():
        raise DataError(f"{int((low == high).sum())} edges lead from a node to itself; leave them out")
    keys = low * (2 * nodes - low - 1) // 2 + high - low - 1
    distinct = np.unique(keys)
    if len(distinct) < len(keys):
        raise DataError(f"{len(keys) - len(distinct)} edges are named twice; name each pair once")
    return distinct


def pairs_of(keys: AnyArray, nodes: int) -> IntArray:
    """Edges of numbers of pairs.

    Examples
    --------
    >>> pairs_of(np.array([0, 2]), 3).tolist()
    [[0, 1], [1, 2]]
    """
    starts = np.arange(nodes, dtype=np.int64)
    starts = starts * (2 * nodes - starts - 1) // 2
    low = np.searchsorted(starts, keys, "right") - 1
    return np.column_stack([low, np.asarray(keys) - starts[low] + low + 1]).astype(np.int64)


def _largest(keys: IntArray, pairs: int, number: int, scale: float) -> IntArray:
    """The pairs with the largest noisy values; where two are equal, the earlier."""
    own = FINE + add_laplace(np.zeros(len(keys), np.int64), scale)
    if number >= pairs // 2:
        return _largest_of_all(keys, own, pairs, number, scale)
    cut = _below_the_cut(len(keys), pairs, number, scale)
    others = hits(pairs, reach(scale, cut))
    values = cut + draw_geometric(len(others), scale)
    while True:
        free = ~is_among(others, keys)  # a hit on an edge is dropped: its own noise was drawn above
        places, held = np.concatenate([keys, others[free]]), np.concatenate([own, values[free]])
        if int((held >= cut).sum()) >= number:
            best = np.lexsort((places, -held))[:number]
            return np.sort(places[best])
        if cut == 1:
            return _largest_of_all(keys, own, pairs, number, scale, (others, values))
        others, values, cut = _further(others, values, cut, max(cut // 2, 1), pairs, scale)


def _below_the_cut(edges: int, pairs: int, number: int, scale: float) -> int:
    """A value that a little more than the wanted number of pairs will reach, surely enough."""
    wanted = number + 6 * math.sqrt(number + 1) + 10
    low, high = 1, int(FINE + 60 * scale)

    def expected(cut: int) -> float:
        over = cut - FINE
        kept = reach(scale, over) if over >= 1 else 1 - reach(scale, 1 - over)
        return edges * kept + (pairs - edges) * reach(scale, cut)

    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if expected(middle) >= wanted else (low, middle)
    return low


def _further(
    others: IntArray, values: IntArray, cut: int, lower: int, pairs: int, scale: float
) -> tuple[IntArray, IntArray, int]:
    """Pairs whose noise lies between a lower value and the cut, given that the rest is below the cut: the same law."""
    above = reach(scale, cut)
    new = hits(pairs, (reach(scale, lower) - above) / (1 - above))
    order = np.argsort(others)
    new = new[~is_among(new, others[order])]
    more = np.zeros(0, np.int64)
    while len(more) < len(new):
        drawn = draw_geometric(2 * (len(new) - len(more)) + 8, scale)
        more = np.concatenate([more, drawn[drawn < cut - lower]])
    return np.concatenate([others, new]), np.concatenate([values, lower + more[: len(new)]]), lower


def _largest_of_all(
    keys: IntArray,
    own: IntArray,
    pairs: int,
    number: int,
    scale: float,
    known: tuple[IntArray, IntArray] | None = None,
) -> IntArray:
    """The same with every pair written down: for small graphs, or nearly full ones."""
    if pairs > MOST_FLIPS:
        raise OptionError(
            f"nearly half of {pairs:,} pairs would become edges: this is more noise than graph; give a larger epsilon"
        )
    noisy = np.zeros(pairs, np.int64)
    left = np.ones(pairs, bool)
    if known is not None:
        noisy[known[0]], left[known[0]] = known[1], False
    noisy[left] = _not_above(int(left.sum()), scale) if known is not None else add_laplace(noisy[left], scale)
    noisy[keys] = own
    return np.sort(np.lexsort((np.arange(pairs), -noisy))[:number])


def _not_above(draws: int, scale: float) -> IntArray:
    """Noise that is known to be 0 or less."""
    return -draw_geometric(draws, scale)


def _positive(epsilon: float) -> None:
    if not 0 < epsilon < math.inf:
        raise OptionError(f"epsilon must be a positive number, got {epsilon}")
