"""Mondrian: the keys' space cut in two again and again, as long as both halves have k records (LeFevre et al. 2006)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar

import numpy as np
import numpy.typing as npt

from dalenius.core.errors import counted
from dalenius.core.option import Option
from dalenius.core.random import Seed
from dalenius.core.registry import MethodInfo
from dalenius.data.schema import Kind, Role
from dalenius.data.steps.recoding import interval
from dalenius.data.steps.step import Masked, Step, chosen, step
from dalenius.data.table import Table
from dalenius.data.units import units_of
from dalenius.data.vector import Vector, compact

Floats = npt.NDArray[np.float64]
LEAF = -1


@step
@dataclass(frozen=True)
class Regions(Step):
    """Keys given as the region of a tree of cuts that a row lies in: many to one, by several columns together.

    Attributes
    ----------
    orders
        For columns of categories, the order in which they were cut.
    tree
        Nodes: the place of a column, the largest value that goes left, and the places of the two halves; a region has
        -1 for its column.
    """

    do: ClassVar[str] = "regions"
    reversible: ClassVar[bool] = False
    columns: tuple[str, ...]
    tree: Annotated[tuple[Any, ...], Option(secret=True)] = field(default=(), repr=False, hash=False)
    orders: Annotated[Mapping[str, Any], Option(secret=True)] = field(
        default_factory=dict, repr=False, hash=False
    )

    def conflicts(self) -> list[str]:
        """A tree: it comes out of `mondrian`, which writes it."""
        return [] if self.tree else ["tree is empty; regions are what mondrian makes, so ask for mondrian"]

    def _apply(self, table: Table, seed: Seed) -> Masked:
        return Masked.of(table, self.see(table), maps=(self,))

    def see(self, table: Table) -> Table:
        """Any file of the same columns with its keys given as regions."""
        if not all(name in table for name in self.columns):
            return table
        places = np.stack([places_of(table[name], self.orders.get(name)) for name in self.columns])
        column, cut, left, right = (np.array([node[i] for node in self.tree], float) for i in range(4))
        at = np.zeros(table.rows, np.int64)
        while True:
            inner = column[at] >= 0
            if not inner.any():
                break
            rows = np.flatnonzero(inner)
            node = at[rows]
            goes = places[column[node].astype(int), rows] <= cut[node]
            at[rows] = np.where(goes, left[node], right[node]).astype(int)
        bounds = self._bounds()
        return table.with_vectors(
            *(self._labelled(table[name], at, bounds[:, j]) for j, name in enumerate(self.columns))
        )

    def _bounds(self) -> Floats:
        """For each node and column the cuts it lies between."""
        bounds = np.full((len(self.tree), len(self.columns), 2), [-np.inf, np.inf])
        for place, (column, cut, left, right) in enumerate(self.tree):
            if column >= 0:
                for child, side in ((left, 1), (right, 0)):
                    bounds[int(child)] = bounds[place]
                    bounds[int(child), int(column), side] = cut
        return bounds

    def _labelled(self, vector: Vector, at: npt.NDArray[np.int64], bounds: Floats) -> Vector:
        """A column as the names of the regions' sides."""
        used, codes = np.unique(at, return_inverse=True)
        order = self.orders.get(vector.column.name)
        whole = vector.column.kind is Kind.INTEGER
        texts = [_side(float(bounds[node, 0]), float(bounds[node, 1]), order, whole) for node in used]
        levels = tuple(dict.fromkeys(texts))
        place = {text: i for i, text in enumerate(levels)}
        data = np.array([place[text] for text in texts] or [0])[codes] if len(codes) else codes
        column = replace(
            vector.column, kind=Kind.CATEGORICAL, levels=levels, bounds=None, missing=(), not_applicable=(),
            decimals=None, format=None, parent=None, partner=None, domain="from-data", outside=None, note="",
            value_labels={},
        )  # fmt: skip
        return Vector(column, compact(data, max(len(levels), 1)))


def _side(low: float, high: float, order: Any, whole: bool) -> str:
    if order is not None:
        first, last = (
            (0 if low == -np.inf else int(low) + 1),
            (len(order) if high == np.inf else int(high) + 1),
        )
        return "*" if last - first >= len(order) else " | ".join(map(str, order[first:last]))
    if low == -np.inf and high == np.inf:
        return "*"
    if low == -np.inf:
        return f"{high:.12g} or less"
    if high == np.inf:
        return f"above {low:.12g}"
    return interval(low + 1, high + 1, True) if whole else f"above {low:.12g} to {high:.12g}"


def places_of(vector: Vector, order: Any = None) -> Floats:
    """Numbers as they are and categories by their place in an order; gaps and unknown ones come last.

    Examples
    --------
    >>> places_of(Table.from_frame({"a": ["x", "y", None]})["a"], ["y", "x"]).tolist()
    [1.0, 0.0, 2.0]
    """
    if vector.is_number:
        return np.where(vector.present, vector.data.astype(float), np.inf)
    known = {str(level): i for i, level in enumerate(order or vector.levels)}
    places = np.array([known.get(str(level), len(known)) for level in vector.levels] or [0], float)
    return np.where(vector.present, places[vector.data], float(len(known)))


@step
@dataclass(frozen=True)
class Mondrian(Step):
    """Keys given as regions of at least k records.

    Examples
    --------
    >>> table = Table.from_frame({"age": [*range(20, 60)], "sex": ["f", "m"] * 20})
    >>> made = Mondrian(keys=("age", "sex"), k=10).apply(table)
    >>> made.table.to_frame()["age"][0], made.figures["regions"]
    ('39 or less', 4.0)
    """

    info: ClassVar[MethodInfo | None] = MethodInfo(
        name="mondrian",
        title="Mondrian",
        meaning="Cuts the space of the keys in two at medians as long as both halves have k records.",
        plain="Gives what strangers may know as ranges that enough people share, narrow where many people are.",
        guarantee="every group of records that look alike on the keys has at least k records",
        reference="LeFevre et al. 2006",
        promise="In the file, at least as many people as asked for look alike on what strangers may know.",
        example_options={"keys": ["sex", "age", "region"], "k": 5},
    )
    keys: Annotated[tuple[str, ...], Option(title="Keys", meaning="what an intruder may know")] = ()
    k: Annotated[
        int,
        Option(
            at_least=1,
            title="Look alike",
            meaning="fewest records that look alike: the more, the safer",
            knob=True,
        ),
    ] = 5

    def faults(self, table: Table) -> list[str]:
        """Keys that are there and finite, and a k that the file can have."""
        wrong = super().faults(table)
        keys = chosen(table, self.keys, Role.KEY)
        if not keys:
            wrong.append("no keys are named; say which columns an intruder may know")
        if self.k > table.rows:
            wrong.append(f"k is {self.k}, the file has only {counted(table.rows, 'row')}")
        return wrong + [
            f"column {name!r} holds infinite numbers; declare them missing, or limit them first"
            for name in keys
            if name in table and not np.isfinite(table[name].data).all()
        ]

    def _apply(self, table: Table, seed: Seed) -> Masked:
        keys = chosen(table, self.keys, Role.KEY)
        orders = {name: tuple(map(str, table[name].levels)) for name in keys if not table[name].is_number}
        places = np.stack([places_of(table[name], orders.get(name)) for name in keys])
        units = units_of(table, "entity" if table.schema.by_role(Role.ENTITY) else "record")
        tree = cut_space(places, self.k, units.codes)
        regions = Regions(tuple(keys), tuple(tree), orders)
        count = sum(node[0] == LEAF for node in tree)
        who = "records" if units.codes is None else units.noun
        note = f"{counted(count, 'region')} of at least {self.k} {who} each"
        return Masked.of(
            table, regions.see(table), maps=(regions,), notes=(note,), figures={"regions": float(count)}
        )


def cut_space(places: Floats, k: int, owners: Any = None) -> list[list[float]]:
    """The tree of cuts: each at the median of the column that spreads widest, as long as both halves have k owners.

    Examples
    --------
    >>> cut_space(np.array([[1.0, 2.0, 3.0, 4.0]]), 2)
    [[0, 2.0, 1, 2], [-1, 0.0, 0, 0], [-1, 0.0, 0, 0]]
    """
    finite = np.where(np.isfinite(places), places, np.nan)
    with np.errstate(invalid="ignore"):
        spread = np.nanmax(finite, axis=1, initial=0) - np.nanmin(finite, axis=1, initial=np.inf)
    spread = np.where(np.isfinite(spread) & (spread > 0), spread, 1.0)
    tree: list[list[float]] = [[LEAF, 0.0, 0, 0]]
    waiting = [(0, np.arange(places.shape[1]))]
    while waiting:
        node, rows = waiting.pop()
        if len(rows) < 2 * k:
            continue
        own = places[:, rows]
        high = np.where(np.isfinite(own), own, -np.inf).max(axis=1)
        wide = (high - own.min(axis=1)) / spread
        for column in np.argsort(-wide, kind="stable"):
            cut = _cut(own[column], k, None if owners is None else owners[rows])
            if cut is None:
                continue
            goes = own[column] <= cut
            tree[node] = [int(column), cut, len(tree), len(tree) + 1]
            waiting += [(len(tree), rows[goes]), (len(tree) + 1, rows[~goes])]
            tree += [[LEAF, 0.0, 0, 0], [LEAF, 0.0, 0, 0]]
            break
    return tree


def _cut(values: Floats, k: int, owners: Any = None) -> float | None:
    """The value nearest to the median after which a cut leaves k owners on both sides; None where there is none."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    ends = np.flatnonzero(ordered[1:] > ordered[:-1]) + 1  # rows on the left of each possible cut
    left, right = ends, len(values) - ends
    if owners is not None:
        left = _so_far(owners[order])[ends - 1]
        right = _so_far(owners[order][::-1])[len(values) - ends - 1]
    ends = ends[(left >= k) & (right >= k)]
    if not len(ends):
        return None
    best = ends[np.argmin(np.abs(ends - len(values) / 2))]
    return float(ordered[best - 1])


def _so_far(owners: Any) -> npt.NDArray[np.int64]:
    """How many different owners there are up to each row."""
    fresh = np.zeros(len(owners), np.int64)
    fresh[np.unique(owners, return_index=True)[1]] = 1
    return np.cumsum(fresh)
