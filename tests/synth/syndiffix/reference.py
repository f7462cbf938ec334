"""The trees of the reference implementation (`syndiffix` 1.0.8), node by node, for comparisons only.

Same frame, same seeds, same split rule (a node splits if any prefix of its rows, in table order, would have), same
push-down. The defects of that construction are why nothing else uses it; that our kernels reproduce it shows that the
trees themselves are right.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import reduce
from operator import xor
from typing import Any

import numpy as np
import numpy.typing as npt

from dalenius.synth.syndiffix._kernels.counting import count_single
from dalenius.synth.syndiffix._kernels.noise import PRECISION, Noise, keyed
from dalenius.synth.syndiffix._kernels.roots import extend, lowest_root, prune
from dalenius.synth.syndiffix._kernels.trees import DEPTH, Items, Rule, grow
from dalenius.synth.syndiffix.axis import BITS
from dalenius.synth.syndiffix.options import Anonymity, Growth
from dalenius.synth.syndiffix.snapping import snap
from dalenius.synth.syndiffix.tree import Tree


def null_value(low: float, high: float) -> float:
    """Where the reference implementation puts missing values: at twice the larger end."""
    if high > 0:
        return 2 * high
    return 2 * low if low < 0 else 1.0


STEPS = ("suppress", "noise", "noise", "outlier", "top", "precision_limit", "", "")


def plain_hash(data: str | int) -> int:
    """64-bit hash of a name, label or entity; nothing, 0 and "" are "no entity".

    Examples
    --------
    >>> plain_hash("a"), plain_hash(1), plain_hash(0)
    (3405396810240292928, 18232024504446223411, 0)
    """
    if not data:
        return 0
    content = data.encode() if isinstance(data, str) else data.to_bytes(8, "little")
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "little")


def reference_noise(salt: bytes, options: Anonymity) -> Noise:
    """Noise made as the reference makes it (SHA-256 of the salt and the seed, Box-Muller)."""
    return Noise(
        reference=True,
        salt=np.frombuffer(salt, np.uint8).copy(),
        steps=np.array([plain_hash(step) for step in STEPS], np.uint64),
        keys=np.zeros(2 * len(STEPS), np.uint64),
        low=float(options.low),
        gap=float(options.gap),
        spread=float(options.spread),
        layer=float(options.layer),
    )


class ReferenceForest:
    """Trees over a matrix of floats (NaN: missing), one entity per row, built as the reference builds them."""

    def __init__(
        self, matrix: npt.NDArray[np.float64], names: Sequence[str], salt: bytes,
        anonymity: Anonymity | None = None, growth: Growth | None = None, prefix: bool = True,
    ) -> None:  # fmt: skip
        self.names = list(names)
        self.noise = reference_noise(salt, anonymity or Anonymity())
        self.growth = growth or Growth()
        self.prefix = prefix
        rows = len(matrix)
        self.hashes = np.array([plain_hash(i + 1) for i in range(rows)], np.uint64).view(np.int64)
        self.nulls: list[float] = []
        self.roots: list[tuple[float, int]] = []
        self.actual: list[npt.NDArray[np.int64]] = []
        self.cells: list[npt.NDArray[np.int64]] = []
        self.values: list[tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]] = []
        self.trees: dict[tuple[int, ...], Tree] = {}
        for i in range(matrix.shape[1]):
            self._add(i, matrix[:, i].copy())

    def _add(self, i: int, values: npt.NDArray[np.float64]) -> None:
        known = values[~np.isnan(values)]
        low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0)
        null = null_value(low, high)
        values[np.isnan(values)] = null
        lower, power = snap(min(low, null), max(high, null))
        codes = np.minimum(np.floor(np.ldexp(values - lower, BITS - power)), float((1 << BITS) - 512)).astype(
            np.int64
        )
        distinct, first = np.unique(codes, return_index=True)
        self.values.append((distinct, values[first]))
        self.nulls.append(null)
        items = self._items(codes[:, None], codes[:, None])
        rule = self._rule((i,), len(values))
        none = np.full(1, -1, np.int32)
        ints, wide, perm = grow(items, self.noise, rule, np.zeros((0, 4), np.int32), none)
        root = int(lowest_root(ints))
        level, cell = int(ints[root, DEPTH]), int(wide[root, -3])
        if root:
            extend(items, self.noise, rule, ints, wide, perm, root)
            ints, wide = prune(ints, wide, root)
            wide[:, -3] -= cell << ints[:, DEPTH].astype(np.int64)
        begin = cell << (BITS - level)
        self.cells.append((np.clip(codes, begin, begin + (1 << (BITS - level)) - 1) - begin) << level)
        self.actual.append(codes)
        self.roots.append((lower + np.ldexp(float(cell), power - level), power - level))
        self.trees[(i,)] = self._finish((i,), ints, wide)

    def tree(self, combination: tuple[int, ...]) -> Tree:
        """The tree of a combination of columns."""
        if combination not in self.trees:
            below = [self.tree(tuple(c for c in combination if c != dropped)) for dropped in combination]
            ends = np.cumsum([0] + [len(tree) for tree in below])
            links = np.concatenate([tree.links for tree in below])
            links[:, 0] += np.repeat(ends[:-1], np.diff(ends))
            items = self._items(
                np.stack([self.cells[i] for i in combination], axis=1),
                np.stack([self.actual[i] for i in combination], axis=1),
            )
            rule = self._rule(combination, len(items.cells))
            firsts, of = (
                ends[:-1].astype(np.int32),
                np.ascontiguousarray(links, np.int32),
            )  # as they are listed
            ints, wide, _ = grow(items, self.noise, rule, of, firsts)
            self.trees[combination] = self._finish(combination, ints, wide)
        return self.trees[combination]

    def _items(self, cells: npt.NDArray[np.int64], actual: npt.NDArray[np.int64]) -> Items:
        ones = np.ones(len(cells), np.int64)
        none = np.zeros((0, len(cells)), np.int32)
        return Items(cells, actual, ones, ones, self.hashes, none, np.zeros((0, 0), np.int64))

    def _rule(self, combination: tuple[int, ...], rows: int) -> Rule:
        growth, limit = self.growth, 0
        if len(combination) == 1:
            base = rows // growth.row_fraction
            reach = base // 20
            seed = np.uint64(plain_hash(self.names[combination[0]]))
            limit = base - reach + int(keyed(self.noise, PRECISION, seed)) % (2 * reach + 1)
        return Rule(
            float(growth.singular_low),
            float(growth.range_low),
            growth.depth,
            limit,
            False,
            self.prefix,
            growth.any_stub,
        )

    def intervals(self, tree: Tree, j: int) -> tuple[npt.NDArray[np.floating[Any]], ...]:
        """Snapped lower and upper bound, smallest and largest value of each node in one dimension."""
        cells, low, high = tree.side(j)
        lower, power = self.roots[tree.columns[j]]
        width = np.ldexp(1.0, power - tree.depth)
        codes, values = self.values[tree.columns[j]]
        smallest, largest = values[np.searchsorted(codes, low)], values[np.searchsorted(codes, high)]
        return lower + cells * width, lower + (cells + 1) * width, smallest, largest

    def _finish(
        self, combination: tuple[int, ...], ints: npt.NDArray[np.int32], wide: npt.NDArray[np.int64]
    ) -> Tree:
        tree = Tree(combination, ints, wide, np.zeros(len(ints)), np.zeros(len(ints), np.uint64))
        base = reduce(xor, (plain_hash(name) for name in {self.names[i] for i in combination}), 0)
        middles = []
        for j in range(len(combination)):
            begin, end, smallest, largest = self.intervals(tree, j)
            middles.append(np.where(smallest == largest, smallest, (begin + end) / 2.0).tolist())
        seeds = [
            base ^ reduce(xor, (plain_hash(label) for label in {str(value) for value in labels}), 0)
            for labels in zip(*middles, strict=True)
        ]
        tree.seeds[:] = np.array(seeds, np.uint64)
        tree.noisy[:] = count_single(self.noise, wide, tree.seeds)
        return tree
