"""Microaggregation: each value becomes the mean of a group of at least k similar rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, ClassVar, Literal

import numpy as np

from dalenius.core.cost import Cost, Shape
from dalenius.core.errors import counted
from dalenius.core.option import Option
from dalenius.core.random import Seed
from dalenius.core.registry import MethodInfo
from dalenius.counts.keys import distinct, ravel
from dalenius.data.schema import Kind
from dalenius.data.steps.step import Masked, Step, step
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, BoolArray, IntArray, Vector, compact
from dalenius.mask.grouping import GAIN, Way, best_of_one, cut, grouped
from dalenius.mask.needs import number_faults, rows_each, weights_of
from dalenius.mask.neighbours import Distance, Floats, Points, spread

Grouping = Literal["mdav", "varying", "pca", "clusters", "sorted", "each", "optimal"]
ALONE = ("each", "optimal")
"""Ways that group every column by itself."""


@step
@dataclass(frozen=True)
class Microaggregate(Step):
    """Values replaced by the mean of a group of at least ``k`` similar rows; categories by the commonest one.

    Rows with an empty cell among the columns join no group: their other cells take the values of the nearest one.

    Examples
    --------
    >>> pay = Table.from_frame({"pay": [1.0, 2.0, 3.0, 10.0, 11.0, 12.0]})
    >>> Microaggregate(("pay",), k=3).apply(pay).table.to_frame()
    {'pay': [2.0, 2.0, 2.0, 11.0, 11.0, 11.0]}
    """

    info: ClassVar[MethodInfo | None] = MethodInfo(
        name="microaggregate",
        title="Microaggregation",
        meaning="Replaces each value by the mean of a group of similar rows.",
        plain="People who are alike are put into small groups, and everybody gets the group's mean.",
        guarantee="none",
        reference="Domingo-Ferrer and Torra 2005",
        example_options={"variables": ["age"], "k": 3},
    )
    reversible: ClassVar[bool] = False
    variables: Annotated[
        tuple[str, ...], Option(title="Columns", meaning="columns that are averaged together", knob=True)
    ]
    k: Annotated[int, Option(at_least=2, title="Group size", meaning="fewest rows of a group: the more, the safer",
                             knob=True)] = 3  # fmt: skip
    method: Annotated[Grouping, Option(title="Way", meaning="how groups are found")] = "mdav"
    distance: Annotated[Distance, Option(title="Distance", meaning="how far two rows are apart")] = "standard"
    strata: Annotated[
        tuple[str, ...], Option(title="Strata", meaning="groups never cross these columns")
    ] = ()
    weight: Annotated[str | None, Option(title="Weight", meaning="column of weights for the means")] = None
    aggregate: Annotated[
        Literal["mean", "median"], Option(title="Aggregate", meaning="what a group gets")
    ] = "mean"
    gain: Annotated[
        float, Option(above=0, title="Gain", meaning="how readily a group of varying size grows")
    ] = GAIN
    exact: Annotated[bool, Option(title="Exact means", meaning="whole numbers may get decimals")] = False

    def conflicts(self) -> list[str]:
        """Columns to average, each named once, and not cut by themselves."""
        wrong = [] if self.variables else ["variables names none; say which columns are averaged"]
        wrong += ["a column is named twice"] if len(set(self.variables)) < len(self.variables) else []
        both = set(self.variables) & {*self.strata, self.weight}
        return wrong + (["a column that is averaged cannot be a stratum or the weight"] if both else [])

    def faults(self, table: Table) -> list[str]:
        """Numbers without infinities, categories only by Gower, and enough complete rows in every stratum."""
        wrong = super().faults(table)
        if wrong:
            return wrong
        texts = [name for name in self.variables if not table[name].is_number]
        if texts and (self.distance != "gower" or self.method not in ("mdav", "varying")):
            wrong.append(f"{counted(len(texts), 'column')} of categories ({', '.join(texts)}) can only be averaged by "
                         "distance 'gower' and method 'mdav' or 'varying'")  # fmt: skip
        wrong += number_faults(table, [name for name in self.variables if name not in texts])
        wrong += number_faults(table, [self.weight] if self.weight else [], positive=True)
        if wrong:
            return wrong
        stratum, strata = strata_of(table, self.strata)
        for full in (
            [table[n].present for n in self.variables]
            if self.method in ALONE
            else [_complete(table, self.variables)]
        ):
            held = np.bincount(stratum[full], minlength=strata)
            each = rows_each(table)
            short = int(np.count_nonzero(held < self.k * each))
            if short:
                place = f"{short} of {strata} strata have" if self.strata else "the file has"
                whose = "" if each == 1 else f" times {each} (rows of the person with most)"
                return [
                    f"{place} fewer than k = {self.k}{whose} rows with all values; use a smaller k or fewer strata"
                ]
        return []

    def cost(self, shape: Shape) -> Cost:
        """The tree makes MDAV grow a little faster than the rows."""
        return Cost(0.02 + 4e-7 * shape.rows**1.25 * max(len(self.variables), 1), 200.0 * shape.rows)

    def _apply(self, table: Table, seed: Seed) -> Masked:
        stratum, strata = strata_of(table, self.strata)
        weights = weights_of(table, self.weight)
        each = rows_each(table)  # k people have at most this many times k rows
        sets = [[name] for name in self.variables] if self.method in ALONE else [list(self.variables)]
        made: list[Vector] = []
        loss, sizes = [], []
        for names in sets:
            vectors = [table[name] for name in names]
            labels, near = self._labels(vectors, stratum, strata, weights, seed, self.k * each)
            new = [_aggregated(vector, labels, weights, self.aggregate, self.exact) for vector in vectors]
            made += [joined(old, vector, labels, near) for old, vector in zip(vectors, new, strict=True)]
            sizes += np.bincount(labels[labels >= 0]).tolist()
            loss += [
                lost for old, vector in zip(vectors, new, strict=True) for lost in lost_variance(old, vector)
            ]
        figures = {
            "groups": float(len(sizes)),
            "smallest group": float(min(sizes)),
            "largest group": float(max(sizes)),
        }
        if loss:
            figures["variance lost in %"] = 100 * float(np.mean(loss))
        return Masked.of(table, table.with_vectors(*made), perturbed=self.variables, figures=figures,
                         notes=[_told(figures, self.k, "rows" if each == 1 else "people")])  # fmt: skip

    def _labels(
        self,
        vectors: Sequence[Vector],
        stratum: IntArray,
        strata: int,
        weights: Floats | None,
        seed: Seed,
        k: int,
    ) -> tuple[IntArray, Points]:
        """Group of each row, -1 where a cell is empty; and the points of all rows, NaN where a cell is empty."""
        nominal = np.array([not v.is_number and v.column.kind is not Kind.ORDERED for v in vectors])
        values = np.column_stack([v.floats() for v in vectors])
        full = np.all([v.present for v in vectors], axis=0)
        points = spread(values, self.distance, nominal, full)
        labels, base = np.full(len(values), -1, np.int64), 0
        for s in range(strata):
            here = np.flatnonzero(full & (stratum == s)) if strata > 1 else np.flatnonzero(full)
            mine = None if weights is None else weights[here]
            labels[here] = base + self._groups(points.some(here), values[here], mine, seed, k)
            base = int(labels[here].max()) + 1
        return labels, spread(values, "standard", nominal, full) if self.distance == "robust" else points

    def _groups(self, points: Points, values: Floats, weights: Floats | None, seed: Seed, k: int) -> IntArray:
        if self.method == "optimal":
            return best_of_one(values[:, 0], k, weights)
        if self.method == "each":
            return cut(np.argsort(values[:, 0], kind="stable"), k)
        way: Way = self.method
        return grouped(points, k, way, weights=weights, gain=self.gain, seed=seed)


def strata_of(table: Table, names: Sequence[str]) -> tuple[IntArray, int]:
    """The stratum of each row, and how many there are; a gap is a level.

    Examples
    --------
    >>> strata_of(Table.from_frame({"a": ["x", "y", "x"]}), ["a"])[0].tolist()
    [0, 1, 0]
    """
    if not names:
        return np.zeros(table.rows, np.int64), 1
    columns = [table[name].categories for name in names]
    sizes = [each.size for each in columns]
    values, ids = distinct(ravel([each.codes for each in columns], sizes, table.rows), sizes)
    return ids, len(values)


def _complete(table: Table, names: Sequence[str]) -> BoolArray:
    return np.all([table[name].present for name in names], axis=0)


def averaged(values: AnyArray, labels: IntArray, weights: Floats | None = None, how: str = "mean") -> Floats:
    """What each group gets: its (weighted) mean or median.

    Examples
    --------
    >>> averaged(np.array([1.0, 3.0, 8.0]), np.array([0, 0, 1])).tolist()
    [2.0, 8.0]
    """
    w = np.ones(len(values)) if weights is None else weights
    if how == "mean":
        mean: Floats = np.bincount(labels, w * values) / np.bincount(labels, w)
        return mean
    order = np.lexsort((values, labels))
    group, mass = labels[order], w[order]
    total = np.bincount(labels, w)
    before = np.cumsum(mass) - np.concatenate([[0.0], np.cumsum(total)])[group]
    low = np.flatnonzero(before >= 0.5 * total[group] - 1e-12 * total[group])
    first = low[np.unique(group[low], return_index=True)[1]]
    beyond = before[first] > 0.5 * total[group[first]] * (1 + 1e-12)
    lower = values[order][first]
    after = np.minimum(first + 1, len(values) - 1)
    upper = np.where(group[after] == group[first], values[order][after], lower)
    median: Floats = np.where(beyond, lower, (lower + upper) / 2)
    return median


def commonest(codes: IntArray, labels: IntArray, weights: Floats | None, levels: int) -> IntArray:
    """The level that weighs most in each group, the first of several.

    Examples
    --------
    >>> commonest(np.array([2, 1, 1]), np.array([0, 0, 0]), None, 3).tolist()
    [1]
    """
    cells, ids = np.unique(labels * levels + codes, return_inverse=True)
    mass = np.bincount(ids, weights)
    group = cells // levels
    order = np.lexsort((cells % levels, -mass, group))
    return (cells % levels)[order[np.unique(group[order], return_index=True)[1]]]


def _aggregated(vector: Vector, labels: IntArray, weights: Floats | None, how: str, exact: bool) -> Vector:
    """A column with the value of its group in every row that has one."""
    inside = labels >= 0
    group, mine = labels[inside], None if weights is None else weights[inside]
    data: Any = vector.data.copy()
    new: Any
    if not vector.is_number:
        levels = max(len(vector.levels), 1)
        codes = vector.data[inside].astype(np.int64)
        if vector.column.kind is Kind.ORDERED:
            new = np.rint(averaged(codes.astype(float), group, mine, "median")).astype(np.int64)
        else:
            new = commonest(codes, group, mine, levels)
        data[inside] = new[group]
        return replace(vector, data=compact(data, levels))
    new_values = averaged(vector.data[inside].astype(float), group, mine, how)
    if data.dtype.kind == "f":
        data[inside] = new_values[group]
        return replace(vector, column=replace(vector.column, decimals=None), data=data)
    if exact and vector.column.kind is Kind.INTEGER:
        data = data.astype(float)
        data[inside] = new_values[group]
        return replace(vector, column=replace(vector.column, kind=Kind.CONTINUOUS, decimals=None), data=data)
    data[inside] = np.rint(new_values).astype(data.dtype)[group]
    return replace(vector, data=data)


def joined(old: Vector, new: Vector, labels: IntArray, points: Points) -> Vector:
    """The new column with values also for rows outside of all groups: those of the nearest group's row."""
    outside = np.flatnonzero((labels < 0) & old.present)
    if not len(outside):
        return new
    inside = np.flatnonzero(labels >= 0)
    gaps = np.isnan(points.values[outside])
    patterns, which = np.unique(gaps, axis=0, return_inverse=True)
    data = new.data.copy()
    for p, pattern in enumerate(patterns):
        here = outside[which.ravel() == p]
        known = np.flatnonzero(~pattern)
        part = Points(
            np.ascontiguousarray(points.values[inside][:, known]), points.nominal[known], points.power
        )
        data[here] = new.data[inside[part.nearest_to(points.values[here][:, known])]]
    return replace(new, data=data)


def lost_variance(old: Vector, new: Vector) -> list[float]:
    """Share of a number's variance that lies within the groups (SSE/SST); nothing for categories and constants."""
    if not old.is_number:
        return []
    before, after = old.values.astype(float), new.data[old.present].astype(float)
    total = float(((before - before.mean()) ** 2).sum())
    return [float(((before - after) ** 2).sum()) / total] if total > 0 else []


def _told(figures: dict[str, float], k: int, whom: str) -> str:
    groups = counted(int(figures["groups"]), "group")
    lost = figures.get("variance lost in %")
    more = "" if lost is None else f"; {lost:.2g} % of the variance was lost"
    return f"Values are means of {groups} of {k} {whom} or more{more}."
