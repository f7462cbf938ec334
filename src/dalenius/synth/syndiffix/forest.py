"""`Forest`: the trees of all combinations of columns that somebody asked for, built once and shared.

A tree needs the trees with one dimension less and waits for these only; all others are independent and run on
threads. Everything summed is a count, an exclusive or, a minimum or a maximum, so results do not
depend on the number of threads.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import combinations
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from dalenius.core.errors import OptionError
from dalenius.synth.syndiffix._kernels.collapsing import collapse
from dalenius.synth.syndiffix._kernels.counting import Flat, Frame, cell_seeds, count_single, count_units
from dalenius.synth.syndiffix._kernels.harvest import harvest
from dalenius.synth.syndiffix._kernels.line import grow_line
from dalenius.synth.syndiffix._kernels.noise import PRECISION, Noise, keyed
from dalenius.synth.syndiffix._kernels.refining import Arena
from dalenius.synth.syndiffix._kernels.roots import lowest_root, prune
from dalenius.synth.syndiffix._kernels.trees import DEPTH, END, START, Items, Rule, grow
from dalenius.synth.syndiffix.axis import BITS, Axis, Codes
from dalenius.synth.syndiffix.noise import make_noise, name_hash
from dalenius.synth.syndiffix.options import Anonymity, Growth
from dalenius.synth.syndiffix.tree import Tree
from dalenius.synth.syndiffix.units import Units

Combination = tuple[int, ...]
Mask = npt.NDArray[np.bool_] | None
MOST_DIMENSIONS = 10
"""Columns one tree may have: 2 to this power children per node, and as many trees below."""
FEW_ROWS = 200
"""Below this, looking for equal rows is not worth it."""
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, repr=False)
class Settings:
    """Everything but the data that decides what the trees are."""

    salt: bytes
    anonymity: Anonymity = field(default_factory=Anonymity)
    growth: Growth = field(default_factory=Growth)
    safe: frozenset[str] = frozenset()
    threads: int | None = None


class Forest:
    """Trees over some columns.

    Examples
    --------
    >>> from dalenius.data import Table
    >>> from dalenius.synth.syndiffix.casting import Casting
    >>> table = Table.from_frame({"a": [i % 8 for i in range(800)]})
    >>> axis, codes = Casting().cast(table["a"])
    >>> forest = Forest([axis], [codes], Units.of_rows(800, b"secret"), Settings(b"secret"))
    >>> len(forest.tree((0,)))
    15
    """

    def __init__(
        self, axes: Sequence[Axis], codes: Sequence[Codes], units: Units, settings: Settings,
        rows: npt.NDArray[np.int64] | None = None, noise: Noise | None = None, harvested: bool = True,
    ) -> None:  # fmt: skip
        self.settings = settings
        self.noise = make_noise(settings.salt, settings.anonymity) if noise is None else noise
        self.units = units
        self.harvested = harvested
        self.rows = np.ones(len(units.counts), np.int64) if rows is None else rows
        self.total = int(self.rows.sum())
        self.names = np.array([name_hash(settings.salt, axis.column.name) for axis in axes], np.uint64)
        self.trees: dict[Combination, Tree] = {}
        anonymity = settings.anonymity
        self._flat = Flat(*anonymity.outlier, *anonymity.top)
        made = self.each(lambda i: self._root(i, axes[i], codes[i]), range(len(axes)))
        self.axes = [axis for axis, _, _, _ in made]
        self.codes = [held for _, held, _, _ in made]
        self.outside = [outside for _, _, outside, _ in made]
        for i, (_, _, _, tree) in enumerate(made):
            self.trees[(i,)] = tree

    def each(self, task: Callable[[T], R], things: Iterable[T]) -> list[R]:
        """Run independent tasks, on threads if there are several."""
        held = list(things)
        threads = self._threads(len(held))
        if threads == 1:
            return [task(thing) for thing in held]
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(task, held))

    def tree(self, combination: Combination) -> Tree:
        """The tree of a combination of columns (ascending positions)."""
        if combination not in self.trees:
            self.build([combination])
        return self.trees[combination]

    def build(self, wanted: Iterable[Combination]) -> None:
        """Build the trees of some combinations, and all trees below them."""
        needed: set[Combination] = set()
        for combination in wanted:
            if len(combination) > MOST_DIMENSIONS:
                raise OptionError(
                    f"at most {MOST_DIMENSIONS} columns fit in one tree, {len(combination)} were asked for"
                )
            for size in range(2, len(combination) + 1):
                needed.update(combinations(combination, size))
        missing = sorted(needed - self.trees.keys(), key=lambda c: (len(c), c))
        with ThreadPoolExecutor(self._threads(len(missing))) as pool:
            made: dict[Combination, Future[None]] = {}
            for combination in missing:
                # Work is taken up in this order, so what a tree waits for is done or being done.
                waits = [made[c] for c in combinations(combination, len(combination) - 1) if c in made]
                made[combination] = pool.submit(self._add, combination, waits)
            for future in made.values():
                future.result()

    def _add(self, combination: Combination, waits: Sequence[Future[None]]) -> None:
        for future in waits:
            future.result()
        self.trees[combination] = self._grow(combination)

    def _threads(self, tasks: int) -> int:
        return max(1, min(self.settings.threads or os.cpu_count() or 1, tasks))

    def _items(self, cells: npt.NDArray[np.int64], outside: Mask, repeated: bool = True) -> Items:
        """Rows to be put on the grid, equal ones together where there may be many of them (``repeated``)."""
        units = self.units
        counts, hashes, codes = units.counts, units.hashes, units.codes
        if outside is not None:
            counts, hashes = np.where(outside, 0, counts), np.where(outside, 0, hashes)
            codes = np.where(outside, np.int32(-1), codes)
        rows = self.rows
        if repeated and units.is_single and len(rows) > FEW_ROWS:
            held, sums = collapse(cells, rows, counts, hashes)
            if len(held):
                cells, (rows, counts, hashes) = held, sums.T.copy()
                codes = np.zeros((0, len(rows)), np.int32)
        return Items(cells, cells, rows, counts, hashes, codes, units.code_hashes)

    def rule(self, combination: Combination, safe: bool = False) -> Rule:
        """When nodes of this tree split."""
        growth = self.settings.growth
        limit = 0
        if len(combination) == 1:
            base = self.total // growth.row_fraction
            reach = base // 20
            seed = int(self.names[combination[0]])
            limit = base + int(keyed(self.noise, PRECISION, np.uint64(seed))) % (2 * reach + 1) - reach
        return Rule(
            float(growth.singular_low),
            float(growth.range_low),
            growth.depth,
            limit,
            safe,
            False,
            growth.any_stub,
        )

    def frame(self, axes: Sequence[Axis], positions: Sequence[int]) -> Frame:
        """Where the dimensions of a tree lie on the absolute grid."""
        return Frame(
            self.names[list(positions)],
            np.array([axis.level for axis in axes], np.int64),
            np.array([axis.offset for axis in axes], np.int64),
            np.array([axis.exponent for axis in axes], np.int64),
            np.array([_wrapped(axis.base) for axis in axes], np.int64),
        )

    def _root(self, i: int, axis: Axis, codes: Codes) -> tuple[Axis, Codes, Mask, Tree]:
        """The tree of one column, its root pushed down, the codes below that root, and the rows that lie outside."""
        safe = axis.column.name in self.settings.safe
        rule = self.rule((i,), safe)
        held = codes << axis.level if axis.level else codes
        outside: Mask = None
        ints, wide, perm = self._grow_one(held, rule, None)
        root = int(lowest_root(ints))
        if root:
            level, cell = int(ints[root, DEPTH]), int(wide[root, -3])
            low, high = int(wide[root, -2]), int(wide[root, -1])
            axis = axis.rooted(axis.level + level, (axis.offset << level) + cell)
            if (int(ints[root, START]), int(ints[root, END])) == (0, len(perm)):
                ints, wide = prune(ints, wide, root)
                wide[:, -3] -= cell << ints[:, DEPTH].astype(np.int64)
                wide[:, -2:] = (wide[:, -2:] - (cell << (BITS - level))) << level
                held = (held - (cell << (BITS - level))) << level
            else:
                # Rows outside count as the outermost values that are left, but their units no longer count: moving
                # them never makes a rare value look common.
                outside = (held < low) | (held > high)
                held = (np.clip(held, low, high) - (cell << (BITS - level))) << level
                ints, wide, perm = self._grow_one(held, rule, outside)
        items = None if self.units.is_single else self._items(held[:, None], outside)
        return axis, held, outside, self._finish((i,), [axis], ints, wide, perm, safe, (), items)

    def _grow_one(
        self, codes: Codes, rule: Rule, outside: Mask
    ) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.int32]]:
        items = self._items(codes[:, None], outside)
        if not self.units.is_single or not len(codes):
            return grow(items, self.noise, rule, np.zeros((0, 4), np.int32), np.full(1, -1, np.int32))
        order = np.argsort(items.cells[:, 0])
        held = items.cells[order, 0], items.rows[order], items.counts[order], items.hashes[order]
        return *grow_line(*held, self.noise, rule), order.astype(np.int32)

    def _grow(self, combination: Combination) -> Tree:
        below = [self.trees[tuple(c for c in combination if c != dropped)] for dropped in combination]
        ends = np.cumsum([0] + [len(tree) for tree in below])
        cells = np.stack([self.codes[i] for i in combination], axis=1)
        shifted = [_shifted(tree.links, end) for tree, end in zip(below, ends, strict=False)]
        links = np.ascontiguousarray(np.concatenate(shifted))
        rule = self.rule(combination)
        masks = [mask for mask in (self.outside[i] for i in combination) if mask is not None]
        # Rows that differ in some of these columns differ in all of them together.
        repeated = all(tree.collapsed for tree in below)
        items = self._items(cells, np.logical_or.reduce(masks) if masks else None, repeated)
        ints, wide, perm = grow(items, self.noise, rule, links, ends[:-1].astype(np.int32))
        return self._finish(
            combination, [self.axes[i] for i in combination], ints, wide, perm, False, below, items
        )

    def _finish(
        self, combination: Combination, axes: Sequence[Axis], ints: npt.NDArray[np.int32],
        wide: npt.NDArray[np.int64], perm: npt.NDArray[np.int32], safe: bool, below: Sequence[Tree],
        items: Items | None,
    ) -> Tree:  # fmt: skip
        """Noisy counts and buckets of a grown tree."""
        seeds = cell_seeds(self.noise, self.frame(axes, combination), ints, wide)
        if items is None or self.units.is_single:
            noisy = count_single(self.noise, wide, seeds)
        else:
            noisy = count_units(
                self.noise, self._flat, ints, perm, items.rows, items.units, items.unit_hashes, seeds
            )
        arena = None
        if self.harvested:
            under = _joined([tree.arena for tree in below])
            arena = harvest(self.noise, ints, wide, noisy, seeds, safe, len(combination), under)
        return Tree(combination, ints, wide, noisy, seeds, arena, len(perm) < len(self.rows))


def _shifted(links: npt.NDArray[np.int32], by: int) -> npt.NDArray[np.int32]:
    moved = links.copy()
    moved[:, 0] += by
    return moved


def _joined(arenas: Sequence[Arena | None]) -> Arena:
    """The arenas of several trees one after the other, node numbers running through."""
    held = [arena for arena in arenas if arena is not None]
    if not held:
        none = np.zeros((0, 0), np.int64)
        some, short = np.zeros(0, np.int64), np.zeros(0, np.int32)
        return Arena(none, none, np.zeros(0), np.zeros(0), short, some, some, short, none, none)
    ends = np.cumsum([0] + [len(arena.weight) for arena in held])
    parts = [replace_ranges(arena, int(end)) for arena, end in zip(held, ends, strict=False)]
    return Arena(*(np.concatenate(fields) for fields in zip(*parts, strict=True)))


def replace_ranges(arena: Arena, by: int) -> Arena:
    """The arena as part of a longer one."""
    return arena._replace(first=arena.first + by, last=arena.last + by)


def _wrapped(value: int) -> int:
    """A whole number of any size in 64 bits."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)
