"""Junction trees: a model of many columns as a tree of small tables.

Columns that meet in a margin are neighbours in a graph. Filling the graph in until every cycle has a short cut
(triangulation) gives cliques, and the cliques hang together in a tree in which each shares a separator with its parent.
Memory is the sum of the cliques instead of the product of all columns. (Lauritzen 1996, chapters 2 and 4; Jiroušek and
Přeučil 1995 for fitting on the tree.)
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

Clique = tuple[int, ...]


@dataclass(frozen=True)
class JunctionTree:
    """Cliques in an order in which each but the first of its component comes after its parent.

    Attributes
    ----------
    sizes
        Levels of each column.
    cliques
        Columns of each clique, ascending.
    parents
        Position of each clique's parent, -1 for a root.

    Examples
    --------
    >>> tree = JunctionTree.of([10, 10, 10, 10], [(0, 1), (1, 2), (2, 3)])
    >>> tree.cliques
    ((0, 1), (1, 2), (2, 3))
    >>> tree.cells, tree.largest
    (300, 100)
    """

    sizes: tuple[int, ...]
    cliques: tuple[Clique, ...]
    parents: tuple[int, ...]

    @classmethod
    def of(cls, sizes: Sequence[int], margins: Iterable[Sequence[int]]) -> JunctionTree:
        """Tree whose cliques hold every margin; columns in no margin become cliques of their own."""
        cliques = _cliques(sizes, margins)
        return cls(tuple(sizes), *_spanning(cliques))

    @cached_property
    def cells(self) -> int:
        """Cells of all cliques together: what the model costs in memory."""
        return sum(self.clique_cells)

    @property
    def largest(self) -> int:
        """Cells of the largest clique."""
        return max(self.clique_cells, default=0)

    @cached_property
    def clique_cells(self) -> tuple[int, ...]:
        """Cells of each clique."""
        return tuple(math.prod(self.sizes[v] for v in clique) for clique in self.cliques)

    @property
    def widest(self) -> Clique:
        """Columns of the largest clique."""
        return self.cliques[self.clique_cells.index(self.largest)] if self.cliques else ()

    @cached_property
    def separators(self) -> tuple[Clique, ...]:
        """Columns each clique shares with its parent."""
        return tuple(
            () if parent < 0 else tuple(v for v in clique if v in self.cliques[parent])
            for clique, parent in zip(self.cliques, self.parents, strict=True)
        )

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """Positions of the cliques below each clique."""
        below: list[list[int]] = [[] for _ in self.cliques]
        for i, parent in enumerate(self.parents):
            if parent >= 0:
                below[parent].append(i)
        return tuple(tuple(b) for b in below)

    def cells_joining(self, first: int, second: int) -> int:
        """Cells that suffice when two columns are to lie in one clique too: an upper bound, without a new tree.

        The cliques on the way between the two columns take one of them in; whichever column makes them smaller.

        Examples
        --------
        >>> tree = JunctionTree.of([2, 2, 2, 2], [(0, 1), (1, 2), (2, 3)])
        >>> tree.cells, tree.cells_joining(0, 2), tree.cells_joining(0, 1)
        (12, 16, 12)
        """
        path = self.path(self.holders[first], self.holders[second])
        if not path:
            return self.cells + max(self.sizes[first], 1) * max(self.sizes[second], 1)
        while len(path) > 1 and first in self.cliques[path[1]]:
            path.pop(0)
        while len(path) > 1 and second in self.cliques[path[-2]]:
            path.pop()
        onward = sum(self.clique_cells[i] for i in path[1:]) * (max(self.sizes[first], 1) - 1)
        back = sum(self.clique_cells[i] for i in path[:-1]) * (max(self.sizes[second], 1) - 1)
        return self.cells + min(onward, back)

    @cached_property
    def holders(self) -> tuple[int, ...]:
        """One clique that holds each column."""
        holders = dict[int, int]()
        for i, clique in enumerate(self.cliques):
            for v in clique:
                holders.setdefault(v, i)
        return tuple(holders[v] for v in range(len(self.sizes)))

    def home(self, margin: Iterable[int]) -> int:
        """Smallest clique that holds all columns of a margin."""
        wanted = set(margin)
        fitting = [i for i, clique in enumerate(self.cliques) if wanted <= set(clique)]
        return min(fitting, key=lambda i: self.clique_cells[i])

    def path(self, start: int, end: int) -> list[int]:
        """Cliques from one to another, both included; empty when they are in different components."""
        up, down = [start], [end]
        while self.parents[up[-1]] >= 0:
            up.append(self.parents[up[-1]])
        while self.parents[down[-1]] >= 0:
            down.append(self.parents[down[-1]])
        if up[-1] != down[-1]:
            return []
        while len(up) > 1 and len(down) > 1 and up[-2] == down[-2]:
            up.pop()
            down.pop()
        return up + down[-2::-1]


def _cliques(sizes: Sequence[int], margins: Iterable[Sequence[int]]) -> list[Clique]:
    """Maximal cliques after eliminating columns one by one, always the one whose clique is smallest (min-weight)."""
    near: list[set[int]] = [set() for _ in sizes]
    for margin in margins:
        for v in margin:
            near[v] |= set(margin) - {v}
    heap = [(_weight(v, near, sizes), v) for v in range(len(sizes))]
    heapq.heapify(heap)
    gone: set[int] = set()
    cliques: list[set[int]] = []
    while heap:
        weight, v = heapq.heappop(heap)
        if v in gone or weight != _weight(v, near, sizes):
            continue  # an entry from before a neighbour went
        gone.add(v)
        clique = near[v] | {v}
        if not any(clique <= other for other in cliques):
            cliques.append(clique)
        for u in near[v]:
            near[u] |= near[v]
            near[u] -= {u, v}
        for u in near[v]:
            heapq.heappush(heap, (_weight(u, near, sizes), u))
    return sorted(tuple(sorted(clique)) for clique in cliques)


def _weight(v: int, near: Sequence[set[int]], sizes: Sequence[int]) -> int:
    return max(sizes[v], 1) * math.prod(max(sizes[u], 1) for u in near[v])


def _spanning(cliques: list[Clique]) -> tuple[tuple[Clique, ...], tuple[int, ...]]:
    """Maximum spanning forest by separator width (Prim), cliques renumbered so that parents come first."""
    order: list[int] = []
    parent_of: dict[int, int] = {}
    left = set(range(len(cliques)))
    while left:
        root = min(left)
        best = dict.fromkeys(left, (0, -1))
        best[root] = (0, -1)
        frontier = [(0, root)]
        while frontier:
            _, i = heapq.heappop(frontier)
            if i not in left:
                continue
            left.discard(i)
            parent_of[i] = best[i][1]
            order.append(i)
            held = set(cliques[i])
            for j in left:
                width = len(held & set(cliques[j]))
                if width > best[j][0]:
                    best[j] = (width, i)
                    heapq.heappush(frontier, (-width, j))
    place = {old: new for new, old in enumerate(order)}
    parents = tuple(-1 if parent_of[i] < 0 else place[parent_of[i]] for i in order)
    return tuple(cliques[i] for i in order), parents
