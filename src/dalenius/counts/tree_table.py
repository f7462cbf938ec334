"""`TreeTable`.

A table of many columns held as the cliques of a junction tree, fitted and sampled without ever being full.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from dalenius.core.errors import DataError
from dalenius.counts import _kernels
from dalenius.counts.ipf import FloatArray, ratio
from dalenius.counts.junction import Clique, JunctionTree
from dalenius.data.vector import IntArray


@dataclass(eq=False)
class TreeTable:
    """A distribution as clique tables divided by separator tables; it sums to 1.

    Examples
    --------
    >>> tree = JunctionTree.of([2, 2, 2], [(0, 1), (1, 2)])
    >>> table = TreeTable.uniform(tree)
    >>> table.margin((0, 1)).tolist()
    [[0.25, 0.25], [0.25, 0.25]]
    """

    tree: JunctionTree
    tables: list[FloatArray]
    separators: list[FloatArray]

    @classmethod
    def uniform(cls, tree: JunctionTree, allowed: Mapping[Clique, FloatArray] | None = None) -> TreeTable:
        """Equal chances for every cell; ``allowed`` has zeros for impossible combinations of some columns."""
        tables = [
            np.full(_shape(tree, clique), 1.0 / max(cells, 1))
            for clique, cells in zip(tree.cliques, tree.clique_cells, strict=True)
        ]
        separators = [np.full(_shape(tree, s), 1.0 / max(_cells(tree, s), 1)) for s in tree.separators]
        made = cls(tree, tables, separators)
        for columns, mask in (allowed or {}).items():
            home = tree.home(columns)
            made.tables[home] *= _over(mask, columns, tree.cliques[home])
        if allowed:
            made.calibrate()
        return made

    def calibrate(self) -> None:
        """Let every clique know what the others hold, and scale the whole to 1."""
        for i in reversed(range(len(self.tables))):
            if self.tree.parents[i] >= 0:
                self._send(i, self.tree.parents[i])
        for i, parent in enumerate(self.tree.parents):
            if parent < 0:
                total = self.tables[i].sum()
                if not total > 0:
                    raise DataError("structural zeros leave no possible cell; allow at least one combination")
                self.tables[i] = self.tables[i] / total
        for i in range(len(self.tables)):
            if self.tree.parents[i] >= 0:
                self._send(self.tree.parents[i], i)

    def _send(self, sender: int, receiver: int) -> None:
        """One message along an edge of the tree: the receiver takes over the sender's margin of their separator."""
        edge = sender if self.tree.parents[sender] == receiver else receiver
        shared = self.tree.separators[edge]
        now = project(self.tables[sender], self.tree.cliques[sender], shared)
        self.tables[receiver] *= _over(ratio(now, self.separators[edge]), shared, self.tree.cliques[receiver])
        self.separators[edge] = now

    def _spread_from(self, root: int) -> None:
        """Messages from one up-to-date clique to all others of its component."""
        seen, stack = {root}, [root]
        while stack:
            i = stack.pop()
            near = [*self.tree.children[i], *([self.tree.parents[i]] if self.tree.parents[i] >= 0 else [])]
            for j in near:
                if j not in seen:
                    seen.add(j)
                    self._send(i, j)
                    stack.append(j)

    def margin(self, columns: Sequence[int]) -> FloatArray:
        """Margin of columns that lie in one clique, axes in the order asked for."""
        home = self.tree.home(columns)
        held = project(self.tables[home], self.tree.cliques[home], tuple(sorted(columns)))
        return np.transpose(held, np.argsort(np.argsort(columns)))

    def sample(self, rows: int, rng: np.random.Generator, *, even: bool = False) -> list[IntArray]:
        """Codes of each column for so many rows: independent draws, or ``even`` ones.

        Even draws give every cell of a clique its expected number of rows, given the rows of the clique before it,
        rounded up or down by chance (systematic sampling): the table of the file is nearly that of the model.
        """
        codes: list[IntArray] = [np.zeros(0, np.int64) for _ in self.tree.sizes]
        for i, (clique, shared) in enumerate(zip(self.tree.cliques, self.tree.separators, strict=True)):
            fresh = tuple(v for v in clique if v not in shared)
            axes = [clique.index(v) for v in (*shared, *fresh)]
            given = _cells(self.tree, shared)
            chances = np.transpose(self.tables[i], axes).reshape(given, -1)
            known = np.zeros(rows, np.int64)
            for v in shared:
                known = known * self.tree.sizes[v] + codes[v]
            drawn = _conditional(chances, known, _even(known, given, rng) if even else rng.random(rows))
            for v in reversed(fresh):
                drawn, codes[v] = np.divmod(drawn, max(self.tree.sizes[v], 1))
        return codes


@dataclass(frozen=True, eq=False)
class TreeFit:
    """A table fitted on a junction tree; the figures are those of `ipf.Fit`."""

    table: TreeTable
    converged: bool
    iterations: int
    change: float
    errors: tuple[float, ...]


def fit_tree(
    start: TreeTable,
    margins: Sequence[Clique],
    targets: Sequence[FloatArray],
    *,
    tol: float = 1e-10,
    max_iter: int = 1000,
) -> TreeFit:
    """Iterative proportional fitting on a junction tree: the same fit as `fit_dense`, in memory of the cliques.

    Targets are probabilities (each is divided by its total); the start is changed in place. Each margin is met
    in a clique that holds it, and the news travel along the tree to the clique of the next margin only.

    Examples
    --------
    >>> tree = JunctionTree.of([2, 2, 2], [(0, 1), (1, 2)])
    >>> first, second = np.array([[0.4, 0.1], [0.1, 0.4]]), np.array([[0.3, 0.2], [0.1, 0.4]])
    >>> fit = fit_tree(TreeTable.uniform(tree), [(0, 1), (1, 2)], [first, second])
    >>> fit.converged, fit.table.margin((0, 1)).round(6).tolist()
    (True, [[0.4, 0.1], [0.1, 0.4]])
    """
    ready = []
    for margin, target in zip(margins, targets, strict=True):
        aligned = np.transpose(np.asarray(target, np.float64), np.argsort(margin))
        total = aligned.sum()
        ready.append(
            (start.tree.home(margin), tuple(sorted(margin)), aligned / total if total > 0 else aligned)
        )
    change, iterations, converged = np.inf, 0, not ready
    roots = _roots(start.tree)
    while not converged and iterations < max_iter:
        before = [table.copy() for table in start.tables]
        current: dict[int, int] = {}
        for home, margin, target in ready:
            path = start.tree.path(current.get(roots[home], home), home)
            for i, j in pairwise(path):
                start._send(i, j)
            held = project(start.tables[home], start.tree.cliques[home], margin)
            start.tables[home] *= _over(ratio(target, held), margin, start.tree.cliques[home])
            current[roots[home]] = home
        for last in current.values():
            start._spread_from(last)
        iterations += 1
        change = max(float(np.abs(a - b).max(initial=0.0)) for a, b in zip(start.tables, before, strict=True))
        converged = change < tol
    errors = tuple(
        float(np.abs(project(start.tables[home], start.tree.cliques[home], margin) - target).max(initial=0.0))
        for home, margin, target in ready
    )
    return TreeFit(start, converged, iterations, change if iterations else 0.0, errors)


def project(table: FloatArray, columns: Clique, wanted: Clique) -> FloatArray:
    """Margin of a table over some of its columns (both ascending).

    Examples
    --------
    >>> project(np.array([[1.0, 2.0], [3.0, 4.0]]), (5, 7), (7,)).tolist()
    [4.0, 6.0]
    """
    others = tuple(i for i, v in enumerate(columns) if v not in wanted)
    return np.asarray(table.sum(axis=others)) if others else table


def _over(table: FloatArray, columns: Clique, clique: Clique) -> FloatArray:
    """A small table laid over a larger one of which it has some columns."""
    shape = iter(table.shape)
    return table.reshape([next(shape) if v in columns else 1 for v in clique])


def _even(known: IntArray, groups: int, rng: np.random.Generator) -> FloatArray:
    """Points between 0 and 1, one per row: in each group of rows evenly spaced, shifted and dealt out by chance."""
    dealt = rng.permutation(len(known))
    small = known.astype(np.uint16) if groups <= 2**16 else known  # short keys are sorted in linear time
    order = dealt[np.argsort(small[dealt], kind="stable")]
    sizes = np.bincount(known, minlength=groups)
    group = known[order]
    rank = np.arange(len(known)) - (np.cumsum(sizes) - sizes)[group]
    points = np.empty(len(known))
    points[order] = (rank + rng.random(groups)[group]) / sizes[group]
    return points


def _conditional(chances: FloatArray, known: IntArray, points: FloatArray) -> IntArray:
    """One draw per row from the line of ``chances`` that its known code points at; ``points`` are its chance."""
    if not len(known):
        return np.zeros(0, np.int64)
    ends = np.cumsum(chances.reshape(-1))
    scale = 2.0 ** int(np.ceil(np.log2(max(len(ends), 1) * 4)))
    steps = np.arange(int(ends[-1] * scale) + 3) / scale
    guide = np.searchsorted(ends, steps, side="right")
    drawn = np.empty(len(known), np.int64)
    _kernels.draw_within(ends, guide, scale, known, chances.shape[1], points, drawn)
    return drawn


def _roots(tree: JunctionTree) -> list[int]:
    roots: list[int] = []
    for i, parent in enumerate(tree.parents):
        roots.append(i if parent < 0 else roots[parent])
    return roots


def _shape(tree: JunctionTree, columns: Clique) -> tuple[int, ...]:
    return tuple(tree.sizes[v] for v in columns)


def _cells(tree: JunctionTree, columns: Clique) -> int:
    return int(np.prod([max(tree.sizes[v], 1) for v in columns], dtype=np.int64))
