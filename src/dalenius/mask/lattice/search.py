"""The search for the best node of a generalisation lattice (El Emam et al. 2009; Kohlmayer et al. 2012).

A node has one level for each column. Nodes are visited by what they lose at least. From a node that may still win, the
search goes by bisection along a path to the top: a node on it that fails rules out everything finer at once, one that
passes bounds the loss from above. What is left when the cheapest open node costs more than the best found is nothing,
so the best is proven; when time is up, the distance between the two is the gap.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dalenius.core.errors import DataError
from dalenius.mask.lattice._kernels import add_codes, hash_groups
from dalenius.mask.lattice.criteria import Criterion, Groups
from dalenius.mask.lattice.ladder import Ladder
from dalenius.mask.lattice.losses import LOSSES, Facts, cheap_bounds

MOST_NODES = 20_000_000
MOST_KEYS = 2**62
Levels = tuple[int, ...]
Score = Callable[[Levels, npt.NDArray[np.bool_]], float]


@dataclass(frozen=True)
class Found:
    """The best node.

    Attributes
    ----------
    levels
        Level of each column.
    loss, gap
        What it loses, and by how much at most the optimum loses less: 0 where the optimum is proven.
    suppressed
        Rows in groups that do not keep the criteria.
    checked, nodes
        Nodes that were looked at, of how many.
    """

    levels: Levels
    loss: float
    gap: float
    suppressed: int
    checked: int
    nodes: int


class Lattice:
    """A file's key columns with their levels, and what is asked of every group.

    Parameters
    ----------
    sensitive
        For each target the value of each row and the number of values.
    limit
        Share of the rows that may be suppressed.
    score
        Loss of a node by its levels and suppressed rows, where it is none of `LOSSES`.

    Examples
    --------
    >>> from dalenius.data.table import Table
    >>> table = Table.from_frame({"age": [*range(20, 60)], "sex": ["f", "m"] * 20})
    >>> ladders = [Ladder.of(table, "age", [10, 20, "all"]), Ladder.of(table, "sex")]
    >>> Lattice(ladders, [Criterion.parse("k >= 5")]).search().levels
    (1, 0)
    """

    def __init__(
        self, ladders: Sequence[Ladder], criteria: Sequence[Criterion], *, limit: float = 0.0, loss: str = "precision",
        sensitive: dict[str, tuple[npt.NDArray[np.int32], int]] | None = None,
        people: npt.NDArray[np.float64] | None = None, importance: Sequence[float] = (), score: Score | None = None,
    ) -> None:  # fmt: skip
        self.score = score
        self.ladders, self.criteria, self.loss = list(ladders), list(criteria), loss
        rows = len(ladders[0].codes)
        columns = [ladder.codes for ladder in ladders] + [codes for codes, _ in (sensitive or {}).values()]
        sizes = [ladder.sizes[0] for ladder in ladders] + [size + 1 for _, size in (sensitive or {}).values()]
        first, ids = distinct(columns, sizes)
        self.rows_ids = ids
        weights = np.bincount(ids, minlength=len(first)).astype(np.int64)
        codes = np.ascontiguousarray(np.stack([ladder.codes[first] for ladder in ladders]))
        self.facts = Facts(ladders, codes, weights, importance)
        self.sensitive = {name: (codes[first], size) for name, (codes, size) in (sensitive or {}).items()}
        self.people = None if people is None else np.bincount(ids, people, len(first)).astype(np.float64)
        self.most = int(limit * rows + 1e-9)
        self.simple = self.most == 0  # then every criterion is monotone
        self._keys = np.empty(len(first), np.uint64)
        bits = max(int(2 * len(first) - 1).bit_length(), 4)
        self._table = np.empty(1 << bits, np.int32)
        self._work = [np.empty(len(first), np.int32), np.empty(len(first), np.int32)]
        self._sizes = np.empty(len(first), np.int64)

    def groups(self, levels: Sequence[int]) -> Groups:
        """The groups of a node."""
        sizes = [ladder.sizes[at] for ladder, at in zip(self.ladders, levels, strict=True)]
        codes = self.facts.codes
        if float(np.prod(np.array(sizes, float))) >= MOST_KEYS:
            made = [ladder.maps[at][own] for ladder, at, own in zip(self.ladders, levels, codes, strict=True)]
            ids = distinct(made, sizes)[1].astype(np.int32)
            total = np.bincount(ids, self.facts.weights).astype(np.int64)
            return Groups(ids, self.facts.weights, total, self.people, self.sensitive)
        self._keys.fill(0)
        room = 1
        for ladder, at, own, size in zip(self.ladders, levels, codes, sizes, strict=True):
            if size > 1:
                add_codes(own, ladder.maps[at].astype(np.uint64) * np.uint64(room), self._keys)
                room *= size
        self._table.fill(-1)
        owner, ids = self._work
        count = hash_groups(self._keys, self.facts.weights, self._table, owner, ids, self._sizes)
        return Groups(ids.copy(), self.facts.weights, self._sizes[:count].copy(), self.people, self.sensitive)

    def kept(self, groups: Groups, monotone: bool = False) -> npt.NDArray[np.bool_]:
        """Groups that keep what is asked of each group (of the monotone criteria alone, if told so)."""
        good = np.ones(len(groups.sizes), bool)
        for criterion in self.criteria:
            if not criterion.whole and (criterion.monotone or not monotone):
                good &= criterion.keeps(groups)
        return good

    def check(self, levels: Sequence[int]) -> tuple[bool, bool, float, float, int]:
        """Whether a node passes, whether it rules out what is finer, its loss, its least loss, suppressed rows."""
        groups = self.groups(levels)
        good = self.kept(groups)
        lost = self.facts.rows - int(groups.sizes[good].sum())
        passes = lost <= self.most and self._whole(groups, good)
        if passes or self.simple or all(c.monotone for c in self.criteria):
            final = not passes
        else:
            surely = self.kept(groups, monotone=True)
            final = self.facts.rows - int(groups.sizes[surely].sum()) > self.most
        if (
            self.score is not None
        ):  # nothing bounds a figure of the whole file: every node that passes is measured
            lost_rows = ~good[groups.ids][self.rows_ids]
            return passes, final, self.score(tuple(levels), lost_rows) if passes else np.inf, 0.0, lost
        value = LOSSES[self.loss]
        every = np.ones(len(good), bool)
        least = value(self.facts, levels, groups, every)
        return passes, final, value(self.facts, levels, groups, good) if passes else np.inf, least, lost

    def _whole(self, groups: Groups, good: npt.NDArray[np.bool_]) -> bool:
        """Whether what is left of the file keeps what is asked of the file."""
        left = Groups(groups.ids, groups.weights, groups.sizes[good], None, {})
        return all(bool(c.keeps(left)) for c in self.criteria if c.whole)

    def search(self, seconds: float | None = None) -> Found:
        """The node that loses least among those that pass."""
        nodes = self._nodes()
        bounds = cheap_bounds(self.loss, self.facts, nodes)
        shape = tuple(ladder.height + 1 for ladder in self.ladders)
        open_ = np.ones(len(nodes), bool)
        open_grid, bound_grid = open_.reshape(shape), bounds.reshape(shape)
        order = np.lexsort((nodes.sum(axis=1), bounds))
        best: tuple[float, Levels, int] | None = None
        seen: dict[Levels, tuple[bool, bool, float, float, int]] = {}
        began = time.process_time()
        for place in order:
            if not open_[place] or (best is not None and bounds[place] >= best[0] - 1e-12):
                continue
            if seconds is not None and best is not None and time.process_time() - began > seconds:
                break
            path = self._path(tuple(int(x) for x in nodes[place]))
            low, high = 0, len(path) - 1
            while low <= high:
                # the node itself first if it is the last one in question, else the middle of the path
                middle = (low + high) // 2
                node = path[middle]
                if node not in seen:
                    seen[node] = self.check(node)
                passes, final, loss, least, lost = seen[node]
                coarser = bound_grid[tuple(slice(at, None) for at in node)]
                np.maximum(coarser, least, out=coarser)
                if passes and (best is None or (loss, sum(node), node) < (best[0], sum(best[1]), best[1])):
                    best = (loss, node, lost)
                if final:
                    open_grid[tuple(slice(None, at + 1) for at in node)] = False
                    low = middle + 1
                else:
                    high = middle - 1
            open_[place] = False
        if best is None:
            raise DataError(
                "no way of generalising keeps the criteria, not even the coarsest; ask for less, or allow to "
                "suppress more"
            )
        left = open_ & (bounds < best[0] - 1e-12)
        gap = float(best[0] - bounds[left].min()) if left.any() else 0.0
        return Found(best[1], best[0], gap, best[2], len(seen), len(nodes))

    def _nodes(self) -> npt.NDArray[np.int16]:
        heights = [ladder.height + 1 for ladder in self.ladders]
        count = float(np.prod(np.array(heights, float)))
        if count > MOST_NODES:
            raise DataError(f"there are {count:,.0f} ways of generalising; give fewer keys, or fewer levels")
        grid = np.meshgrid(*map(np.arange, heights), indexing="ij")
        return np.stack(grid, -1).reshape(-1, len(heights)).astype(np.int16)

    def _path(self, node: Levels) -> list[Levels]:
        """Nodes from one to the top, each a level coarser in one column: the one with most groups left."""
        path, at = [node], list(node)
        while True:
            free = [j for j in range(len(at)) if at[j] < self.ladders[j].height]
            if not free:
                return path
            pick = max(free, key=lambda j: (self.ladders[j].sizes[at[j]], -j))
            at[pick] += 1
            path.append(tuple(at))


def distinct(
    columns: Sequence[npt.NDArray[np.int32]], sizes: Sequence[int]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """A row of each distinct combination, and the combination of each row."""
    key = np.zeros(len(columns[0]), np.int64)
    room = 1.0
    for codes, size in zip(columns, sizes, strict=True):
        room *= max(size, 1)
        if room >= MOST_KEYS:
            key = np.unique(key, return_inverse=True)[1]
            room = float(len(key)) * max(size, 1)
        key = key * max(size, 1) + codes
    _, first, ids = np.unique(key, return_index=True, return_inverse=True)
    return first, ids
