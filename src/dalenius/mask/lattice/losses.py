"""Losses: what generalising and suppressing costs, from 0 for nothing to 1 for everything.

Each is asked twice about a node: as if no row were suppressed, which only grows as a file gets coarser and so bounds
everything above the node, and with the suppressed rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from dalenius.mask.lattice.criteria import Groups
from dalenius.mask.lattice.ladder import Ladder

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(eq=False)
class Facts:
    """What losses may look at: the columns' ladders, distinct combinations, and the rows of each.

    ``codes`` holds the exact value of each column in each distinct combination.
    """

    ladders: Sequence[Ladder]
    codes: npt.NDArray[np.int32]
    weights: npt.NDArray[np.int64]
    weigh: Sequence[float] = ()
    exact: npt.NDArray[np.float64] | None = field(default=None, repr=False)

    @cached_property
    def rows(self) -> int:
        """Rows of the file."""
        return int(self.weights.sum())

    @cached_property
    def importance(self) -> Floats:
        """How much each column counts; together 1."""
        weigh = np.array(self.weigh or [1.0] * len(self.ladders))
        return weigh / weigh.sum()


Value = Callable[[Facts, Sequence[int], Groups, Bools], float]
"""Loss of a node: its levels, its groups, and which of them are kept."""


def precision(facts: Facts, levels: Sequence[int], groups: Groups, kept: Bools) -> float:
    """Mean level of the cells, as a share of the highest (Sweeney 2002); suppressed cells count as highest."""
    level = float(
        facts.importance @ [at / max(x.height, 1) for at, x in zip(levels, facts.ladders, strict=True)]
    )
    lost = facts.rows - int(groups.sizes[kept].sum())
    return (level * (facts.rows - lost) + lost) / max(facts.rows, 1)


def granularity(facts: Facts, levels: Sequence[int], groups: Groups, kept: Bools) -> float:
    """Mean share of its domain that a cell covers (Iyengar 2002); suppressed cells cover all of it."""
    held = facts.weights * kept[groups.ids]
    total = np.zeros(len(held))
    for part, at, ladder, codes in zip(facts.importance, levels, facts.ladders, facts.codes, strict=True):
        total += part * ladder.shares[at][codes]
    lost = facts.rows - held.sum()
    return float(((total * held).sum() + lost) / max(facts.rows, 1))


def entropy(facts: Facts, levels: Sequence[int], groups: Groups, kept: Bools) -> float:
    """Mean logarithm of how many times more rows look like a row than before (El Emam et al. 2009), of the most."""
    n = max(facts.rows, 1)
    before = facts.weights.astype(float)
    after = np.where(kept[groups.ids], groups.sizes[groups.ids], n + 1).astype(float)
    most = float((before * np.log2((n + 1) / before)).sum()) or 1.0
    return float((before * np.log2(after / before)).sum()) / most


def discernibility(facts: Facts, levels: Sequence[int], groups: Groups, kept: Bools) -> float:
    """Mean number of rows a row cannot be told from (Bayardo and Agrawal 2005), as a share of all."""
    n = max(facts.rows, 1)
    sizes = groups.sizes.astype(float)
    return float(np.where(kept, sizes * sizes, sizes * n).sum()) / n**2


def class_size(facts: Facts, levels: Sequence[int], groups: Groups, kept: Bools) -> float:
    """Mean size of a group, as a share of all rows; suppressed rows are a group of their own."""
    n = max(facts.rows, 1)
    count = int(np.count_nonzero(kept)) + (not kept.all())
    return (n / max(count, 1)) / n


LOSSES: Mapping[str, Value] = {
    "precision": precision, "granularity": granularity, "entropy": entropy, "discernibility": discernibility,
    "class-size": class_size,
}  # fmt: skip
"""Losses by name."""


def cheap_bounds(name: str, facts: Facts, nodes: npt.NDArray[np.int16]) -> Floats:
    """What every node loses at least, without looking at its groups; 0 where only the groups can tell."""
    part = facts.importance
    if name == "precision":
        heights = np.array([max(ladder.height, 1) for ladder in facts.ladders])
        return (nodes / heights) @ part
    if name == "granularity":
        n = max(facts.rows, 1)
        total = np.zeros(len(nodes))
        for j, ladder in enumerate(facts.ladders):
            mean = np.array(
                [float((share[facts.codes[j]] * facts.weights).sum()) / n for share in ladder.shares]
            )
            total += part[j] * mean[nodes[:, j]]
        return total
    return np.zeros(len(nodes))
