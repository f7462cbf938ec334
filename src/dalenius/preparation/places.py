"""In which area the coordinates of a file lie, and how far the areas reach, as far as that may be known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import ConvexHull, QhullError

from dalenius.data.exit import stays
from dalenius.data.places import place_columns
from dalenius.data.schema import Kind
from dalenius.data.steps.places import SIDES, Floats, KeepPlace, folded, reach_towards, turned
from dalenius.data.table import Table
from dalenius.data.vector import BoolArray, IntArray

CLOSE = 0.5
"""Within an area points lie at most so far apart, beside those of the whole file (as a ratio of variances)."""
COVERED = 0.5
"""Share of rows in areas of enough units, without which a column is no area but names single homes."""
EDGE = 0.97
"""Areas are made a little smaller, which covers that their corners are rounded."""
BEYOND = 1.5
"""How far beyond the last of enough units, or the usual distance, an area may reach: one or two homes far away move it
no farther."""
ANGLES = np.arange(SIDES) * 2 * np.pi / SIDES
DIRECTIONS: Floats = np.column_stack([np.cos(ANGLES), np.sin(ANGLES)])


def places(table: Table) -> KeepPlace | None:
    """How coordinates are kept within their area: the one their column lies in, else the one that tells most of them.

    None without coordinates, or without a column that says where they are.
    """
    names = place_columns(table.schema)
    if not all(name in table for name in names) or not all(table[name].is_number for name in names):
        return None
    degrees = bool(
        all(np.all(np.abs(table[name].values) <= most) for name, most in zip(names, (180, 90), strict=True))
    )
    points = _Points.of(table, names, degrees)
    area = table.schema[names[0]].parent or table.schema[names[1]].parent or points.area(table)
    if not area or table[area].is_number or stays(table.schema[area]):
        return None
    digits = [table.schema[name].decimals for name in names]
    return points.step(table, names, area, tuple(d for d in digits if d is not None))


@dataclass(frozen=True, eq=False)
class _Points:
    """The known points of a table: rows, where, whose."""

    rows: IntArray
    at: Floats
    owners: IntArray
    degrees: bool

    @classmethod
    def of(cls, table: Table, names: tuple[str, str], degrees: bool) -> _Points:
        both = [table[name] for name in names]
        rows = np.flatnonzero(both[0].present & both[1].present)
        at = np.column_stack([vector.data[rows].astype(float) for vector in both])
        fine = np.isfinite(at).all(axis=1)
        return cls(rows[fine], at[fine], table.units.owners_of_rows[rows[fine]].astype(np.int64), degrees)

    def centres(self, groups: IntArray, size: int) -> Floats:
        """The middle of each group's points."""
        many = np.maximum(np.bincount(groups, minlength=size), 1)
        start = np.zeros((size, 2))
        if self.degrees:  # the middle on the circle, around which longitudes are counted
            turn = np.radians(self.at[:, 0])
            sums = [np.bincount(groups, part, size) for part in (np.cos(turn), np.sin(turn))]
            start[:, 0] = np.degrees(np.arctan2(sums[1], sums[0]))
        gaps = self.from_centres(start, groups)
        return start + np.column_stack([np.bincount(groups, gaps[:, j], size) / many for j in (0, 1)])

    def from_centres(self, centres: Floats, groups: IntArray) -> Floats:
        """Points seen from the middle of their group."""
        gaps = self.at - centres[groups]
        if self.degrees:
            gaps[:, 0] = turned(gaps[:, 0])
        return gaps

    def area(self, table: Table) -> str:
        """The column of categories within which points lie closest together, where that is close at all."""
        if len(self.rows) < 2:
            return ""
        nowhere = np.zeros(len(self.rows), np.int64)
        whole = _spread(self.from_centres(self.centres(nowhere, 1), nowhere), 1)
        best, chosen = CLOSE * whole, ""
        for name, vector in table.vectors.items():
            odd = vector.is_number or vector.column.kind is Kind.TEXT or len(vector.levels) < 2
            if odd or stays(vector.column):
                continue
            codes = vector.categories.codes[self.rows].astype(np.int64)
            size = vector.categories.size
            if np.mean(self.units(codes, size)[codes] >= table.schema.min_units) < COVERED:
                continue
            spread = _spread(self.from_centres(self.centres(codes, size), codes), len(np.unique(codes)))
            if spread < best:
                best, chosen = spread, name
        return chosen

    def units(self, groups: IntArray, size: int) -> IntArray:
        """Owners of each group."""
        pairs = np.unique(groups * (self.owners.max(initial=0) + 1) + self.owners)
        return np.bincount(pairs // (self.owners.max(initial=0) + 1), minlength=size)

    def one_each(self, groups: IntArray) -> tuple[_Points, IntArray]:
        """One point for each owner and group, the middle of all of the owner's, so that nobody counts twice."""
        pairs, which = np.unique(groups * (self.owners.max() + 1) + self.owners, return_inverse=True)
        middle = self.centres(which, len(pairs))
        size = self.owners.max() + 1
        return _Points(np.arange(len(pairs)), middle, pairs % size, self.degrees), pairs // size

    def step(
        self, table: Table, names: tuple[str, str], area: str, decimals: tuple[int, ...]
    ) -> KeepPlace | None:
        """The step that keeps points in their areas; None where no area has enough units."""
        vector, least = table[area], table.schema.min_units
        here = vector.present[self.rows]
        size = len(vector.levels)
        groups = vector.data[self.rows[here]].astype(np.int64)
        if not len(groups):
            return None
        each, of = _Points(self.rows[here], self.at[here], self.owners[here], self.degrees).one_each(groups)
        units = np.bincount(of, minlength=size)
        enough = units >= max(least, 1)
        if not enough.any():
            return None
        centres = each.centres(of, size)
        reach = np.array([_reach(part, least) for part in _parts(each.from_centres(centres, of), of, size)])
        centres, reach = _rounded(centres, reach)
        told = np.flatnonzero(enough)
        rest = each.centres(np.zeros(len(of), np.int64), 1)
        all_over = _reach(each.from_centres(rest, np.zeros(len(of), np.int64)), least)
        rest, all_over = _rounded(rest, all_over[None, :])
        power = _powers(each.from_centres(centres, of), of, reach, enough)
        return KeepPlace(
            *names, area, tuple(vector.levels[i] for i in told),
            tuple(np.vstack([rest, centres[told]]).ravel().tolist()),
            tuple(np.vstack([all_over, reach[told]]).ravel().tolist()),
            (1.0, *power[told].tolist()), decimals if len(decimals) == 2 else (), self.degrees,
        )  # fmt: skip


def _spread(gaps: Floats, groups: int) -> float:
    """Variance within groups, as if each had cost a point."""
    left = len(gaps) - groups
    return float((gaps**2).sum()) / left if left > 0 else float("inf")


def _parts(gaps: Floats, groups: IntArray, size: int) -> list[Floats]:
    order = np.argsort(groups, kind="stable")
    return np.split(gaps[order], np.cumsum(np.bincount(groups, minlength=size))[:-1])


def _reach(points: Floats, least: int) -> Floats:
    """How far an area reaches: to the mean of the ``least`` outermost units, but hardly farther than that many are.

    So a corner is no unit's own, a home far away from all others does not show, and as a mean of points lies between
    them, the area lies within the hull of its points.
    """
    if len(points) < least or not len(points):
        return np.zeros(SIDES)
    along = points @ DIRECTIONS.T
    order = np.argsort(-along, axis=0, kind="stable")[:least]
    try:
        hull = ConvexHull(points[order].mean(axis=0)).equations
    except (QhullError, ValueError):  # all on one line or in one point
        return np.zeros(SIDES)
    usual = float(np.median(np.hypot(*points.T)))
    held = BEYOND * np.maximum(along[order[-1], np.arange(SIDES)], usual)
    inner = _ends(hull[:, :2], -hull[:, 2])
    return np.maximum(np.minimum(inner, _ends(DIRECTIONS, held)), 0.0)


def _ends(outwards: Floats, at: Floats) -> Floats:
    """How far it is from the centre to the nearest of some straight lines, into each of the directions."""
    towards = DIRECTIONS @ outwards.T
    with np.errstate(divide="ignore", invalid="ignore"):
        ends: Floats = np.where(towards > 1e-12, at / towards, np.inf)
    return ends.min(axis=1)


def _powers(gaps: Floats, groups: IntArray, reach: Floats, enough: BoolArray) -> Floats:
    """Powers by which distances from the centre keep their mean, as far as the extents leave room for it."""
    far = reach_towards(reach[groups], np.arctan2(gaps[:, 1], gaps[:, 0]))
    known = enough[groups] & (far > 0)
    share = np.hypot(*folded(gaps[known] / far[known, None]).T)
    tried = np.arange(0.05, 1.01, 0.05)
    means = np.array([np.mean(share**each) for each in tried]) if len(share) else np.ones(len(tried))
    size = np.maximum(np.bincount(groups, minlength=len(reach)), 1)
    wanted = np.bincount(groups, np.hypot(*gaps.T), len(reach)) / size
    middle = reach.mean(axis=1)
    ratio = wanted / np.where(middle > 0, middle, np.inf)
    # Means fall with the power: the first that is small enough, from the largest wanted one on.
    return tried[np.minimum(np.searchsorted(-means, -ratio), len(tried) - 1)]


def _rounded(centres: Floats, reach: Floats) -> tuple[Floats, Floats]:
    """Centres and extents on a coarse grid, a hundredth of the area's size or so; extents downwards."""
    size = reach.mean(axis=1)
    known: BoolArray = size > 0
    step = 10.0 ** np.floor(np.log10(np.where(known, size, 1.0)) - 1.5)
    step = np.where(known, step, np.median(step[known]) if known.any() else 0.1)[:, None]
    return np.round(centres / step) * step, np.floor(EDGE * reach / step) * step
