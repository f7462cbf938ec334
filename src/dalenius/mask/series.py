"""Series averaged over groups of homes: which cells tell too much, and what a member of a group can work out.

A cell is one group in one slot; its contributors are the members, its published value their mean. Dominance and p % are
the rules of tables (Navarro-Arribas and Torra 2024).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import DataError, OptionError, counted
from dalenius.core.intervals import wilson
from dalenius.core.random import Seed, generator, some_rows
from dalenius.core.result import Result, figure
from dalenius.data.vector import AnyArray, BoolArray, IntArray
from dalenius.mask.grouping import mdav
from dalenius.mask.neighbours import Floats, spread
from dalenius.tables.rules import Dominance, PPercent

BLOCK = 512
"""Slots that are looked at together, so that a year of readings needs little more memory than it has."""
Rule = Dominance | PPercent
USUAL: Mapping[str, Rule] = {
    "dominance 1": Dominance([(1, 60)], strict=True),
    "dominance 2": Dominance([(2, 60)], strict=True),
    "p %": PPercent(66),
}
"""The rules of the paper."""


@dataclass(frozen=True, eq=False)
class SlotParts:
    """What rules ask of cells: contributors, totals and the largest two contributions, groups by slots."""

    number: Any
    total: Any
    first: Any
    second: Any

    def largest_sum(self, count: int) -> Any:
        """Sum of the one or two largest."""
        if count > 2:
            raise OptionError(f"rules on series look at one or two contributors, not {count}")
        return self.first if count == 1 else self.first + self.second


def series_faults(values: AnyArray, labels: IntArray | None = None) -> list[str]:
    """Everything wrong with readings: one home, gaps, negative ones, labels of other homes."""
    few = values.ndim != 2 or values.shape[0] < 2 or values.shape[1] < 1
    wrong = (
        [f"readings of {counted(len(values), 'home')}; two homes and one slot or more are needed"]
        if few
        else []
    )
    wrong += reading_faults(values) if values.ndim == 2 else []
    if labels is not None and len(labels) != len(values):
        wrong.append(f"{len(labels):,} labels for {len(values):,} homes")
    return wrong


def reading_faults(values: AnyArray) -> list[str]:
    """Gaps and readings below 0.

    Examples
    --------
    >>> len(reading_faults(np.array([[1.0, np.nan], [-1.0, 2.0]])))
    2
    """
    holes = sum(int(np.count_nonzero(~np.isfinite(part).all(axis=1))) for _, part in _blocks(values))
    wrong = (
        [f"gaps in {counted(holes, 'row')} of some slots; fill them or leave those homes out"]
        if holes
        else []
    )
    below = sum(int(np.count_nonzero(part < 0)) for _, part in _blocks(values))
    return wrong + (
        [f"{counted(below, 'reading')} below 0; split what is fed in from what is used"] if below else []
    )


def _checked(values: AnyArray, labels: IntArray | None = None) -> None:
    wrong = series_faults(values, labels)
    if wrong:
        raise DataError.from_faults("series", wrong)


def _blocks(values: AnyArray) -> Iterator[tuple[slice, AnyArray]]:
    for begin in range(0, values.shape[1], BLOCK):
        here = slice(begin, begin + BLOCK)
        yield here, values[:, here]


def _parts(part: AnyArray, order: IntArray, starts: IntArray, sizes: IntArray) -> SlotParts:
    """Cells of some slots; rows are sorted by group once."""
    rows = part[order].astype(np.float64)
    total = np.add.reduceat(rows, starts, axis=0)
    first = np.maximum.reduceat(rows, starts, axis=0)
    group = np.repeat(np.arange(len(sizes)), sizes)
    top = rows == first[group]
    upto = np.cumsum(top, axis=0, dtype=np.int32)
    before = (upto[starts] - top[starts])[group]
    rows[top & (upto - before == 1)] = 0.0  # the first of the largest, once
    second = np.maximum.reduceat(rows, starts, axis=0)
    number = np.broadcast_to(sizes[:, None], total.shape)
    return SlotParts(number.ravel(), total.ravel(), first.ravel(), second.ravel())


@dataclass(frozen=True, eq=False)
class CellReport:
    """Which cells are sensitive by each rule, groups by slots, and where every member has nothing."""

    marks: Mapping[str, BoolArray]
    zero: BoolArray
    sizes: IntArray

    @property
    def summary(self) -> pl.DataFrame:
        """Cells, sensitive ones and their share by rule."""
        cells = self.zero.size
        told = [
            (name, cells, int(m.sum()), 100 * float(m.mean()), int(self.zero.sum()))
            for name, m in self.marks.items()
        ]
        return pl.DataFrame(told, schema=["rule", "cells", "sensitive", "in %", "all zero"], orient="row")

    def named(self, rule: str) -> pl.DataFrame:
        """Every sensitive cell: its group and slot."""
        group, slot = np.nonzero(self.marks[rule])
        return pl.DataFrame({"group": group, "slot": slot})


def cell_sensitivity(
    values: AnyArray, labels: IntArray, rules: Mapping[str, Rule] | None = None
) -> CellReport:
    """Sensitive cells of readings (homes by slots) averaged within groups.

    Examples
    --------
    >>> x = np.array([[50.0, 7], [30, 3], [10, 0], [5, 0], [5, 0]])
    >>> cell_sensitivity(x, np.zeros(5, int)).summary.select("rule", "sensitive").rows()
    [('dominance 1', 1), ('dominance 2', 2), ('p %', 2)]
    """
    _checked(values, labels)
    return _marked(values, labels, dict(USUAL if rules is None else rules))


def _marked(values: AnyArray, labels: IntArray, asked: Mapping[str, Rule]) -> CellReport:
    codes = np.unique(labels, return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    shape = (len(sizes), values.shape[1])
    marks, zero = {name: np.zeros(shape, bool) for name in asked}, np.zeros(shape, bool)
    for here, part in _blocks(values):
        parts = _parts(part, order, starts, sizes)
        cells = (len(sizes), part.shape[1])
        zero[:, here] = (parts.total == 0).reshape(cells)
        for name, rule in asked.items():
            marks[name][:, here] = (rule.hits(parts) & (parts.total > 0)).reshape(cells)
    return CellReport(marks, zero, sizes)


def group_series(values: AnyArray, k: int, profile: int | None = None) -> IntArray:
    """Groups of k homes or more with similar readings (MDAV), raw and aligned.

    Parameters
    ----------
    profile
        Slots of a day: homes are compared by their mean day instead of every slot, so that a year is as fast.

    Examples
    --------
    >>> group_series(np.array([[1.0], [2], [3], [10], [11], [12], [20], [21], [22]]), 3).tolist()
    [1, 1, 1, 2, 2, 2, 0, 0, 0]
    """
    _checked(values)
    if not 2 <= k <= len(values):
        raise DataError(f"k is {k}; use 2 or more, at most the {counted(len(values), 'home')}")
    return mdav(spread(np.ascontiguousarray(_profiles(values, profile)), "raw"), k)


def _profiles(values: AnyArray, profile: int | None) -> Floats:
    if profile is None or values.shape[1] <= profile:
        return values.astype(np.float64)
    days = values.shape[1] // profile
    return np.stack(
        [values[:, s : days * profile : profile].mean(axis=1, dtype=np.float64) for s in range(profile)],
        axis=1,
    )


def group_means(values: AnyArray, labels: IntArray) -> Floats:
    """The mean of each group in each slot.

    Examples
    --------
    >>> group_means(np.array([[1.0, 4], [3, 6]]), np.array([0, 0])).tolist()
    [[2.0, 5.0]]
    """
    codes = np.unique(labels, return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    parts = [np.add.reduceat(part[order], starts, axis=0, dtype=np.float64) for _, part in _blocks(values)]
    made: Floats = np.concatenate(parts, axis=1) / sizes[:, None]
    return made


def merge_until_safe(
    values: AnyArray, labels: IntArray, rule: Rule | None = None, profile: int | None = None
) -> IntArray:
    """Groups merged, each with a sensitive cell into the nearest one, until no cell is sensitive.

    Examples
    --------
    >>> x = np.array([[9.0], [1], [5], [5], [5], [5], [5]])
    >>> merge_until_safe(x, np.array([0, 0, 1, 1, 1, 1, 1]), PPercent(66)).tolist()
    [0, 0, 0, 0, 0, 0, 0]
    """
    asked = {"rule": PPercent(66) if rule is None else rule}
    now = np.unique(labels, return_inverse=True)[1]
    points = _profiles(values, profile)
    new = np.ones(int(now.max(initial=-1)) + 1, bool)
    while True:
        count = int(now.max()) + 1
        open_ = new[now]  # a group that did not change is as safe as it was
        seen = values if open_.all() else values[open_]
        found = cell_sensitivity(seen, now[open_], asked).marks["rule"].any(axis=1)
        bad = np.flatnonzero(new)[found]
        if not len(bad) or count == 1:
            if len(bad):
                raise DataError(
                    "even all homes together have a sensitive cell; leave the largest home out, or the slot"
                )
            return now
        centre = group_means(points, now)
        into = np.arange(count)
        squares = (centre**2).sum(axis=1)
        for group in bad.tolist():  # groups, not homes
            far = squares - 2 * (centre @ centre[group])
            far[group] = np.inf
            to = int(np.argmin(far))
            into[into == into[group]] = into[to]
        sizes = np.bincount(into, minlength=count)
        now = np.unique(into[now], return_inverse=True)[1]
        new = sizes[np.unique(into)] > 1


def choose_k(
    values: AnyArray, rule: Rule | None = None, most: float = 0.0, ks: Sequence[int] = tuple(range(2, 42)),
    profile: int | None = None,
) -> tuple[int | None, pl.DataFrame]:  # fmt: skip
    """The smallest k with at most ``most`` (a share) sensitive cells, and what every k tried gives.

    Every k is tried, as a larger one need not be safer. Where no sensitive cell is allowed, those of a k are counted up
    to the first block of slots that has one.

    Examples
    --------
    >>> x = np.random.default_rng(1).gamma(4.0, size=(60, 4))
    >>> best, tried = choose_k(x, ks=range(2, 20))
    >>> bool(tried.filter(pl.col("k") == best)["sensitive"][0] == 0)
    True
    """
    asked = {"rule": PPercent(66) if rule is None else rule}
    _checked(values)
    points = spread(np.ascontiguousarray(_profiles(values, profile)), "raw")
    told, best = [], None
    order = list(_blocks(values))
    for k in [k for k in ks if 2 <= k <= len(values)]:
        labels = mdav(points, k)
        groups, hits = int(labels.max()) + 1, 0
        for place, (_, part) in enumerate(order):
            hits += int(_marked(part, labels, asked).marks["rule"].sum())
            if hits and not most:
                order.insert(0, order.pop(place))  # where one k fails, the next one probably does
                break
        told.append((k, groups, groups * values.shape[1], hits))
        if hits <= most * groups * values.shape[1]:
            best = k
            break
    return best, pl.DataFrame(told, schema=["k", "groups", "cells", "sensitive"], orient="row")


def own_cluster(
    values: AnyArray,
    labels: IntArray,
    *,
    rows: Sequence[int] | None = None,
    draws: int | None = None,
    seed: Seed = 0,
) -> Result:
    """Share of homes that find their own group as the one whose mean is nearest to their own readings.

    Examples
    --------
    >>> own_cluster(np.array([[1.0], [2], [9], [10]]), np.array([0, 0, 1, 1])).value
    100.0
    """
    _checked(values, labels)
    codes = np.unique(labels, return_inverse=True)[1]
    centre = group_means(values, codes)
    who = some_rows(len(values), draws, seed, "insiders") if rows is None else np.asarray(rows)
    far = (centre**2).sum(axis=1) - 2 * (values[who] @ centre.T.astype(values.dtype))
    hits = int(np.count_nonzero(np.argmin(far, axis=1) == codes[who]))
    share = np.bincount(codes) / len(codes)
    chance = 100 * float((share**2).sum())
    value = 100 * hits / len(who)
    return Result(
        "own-cluster",
        value,
        f"{figure(value, '%')} of the homes find their own group among {len(centre)}; guessing finds "
        f"{figure(chance, '%')}.",
        unit="%",
        interval=wilson(float(hits), len(who), scale=100.0),
        yardsticks={"guessing": chance},
    )


def insider_bounds(values: AnyArray, labels: IntArray, attacker: int) -> pl.DataFrame:
    """What a member works out about the others of its group in each slot: their mean, and bounds for any of them.

    Examples
    --------
    >>> insider_bounds(np.array([[30.0], [25], [20], [15], [10]]), np.zeros(5, int), 0).row(0)
    (0, 17.5, 70.0, 0.0, False)
    """
    members = np.flatnonzero(labels == labels[attacker])
    size = len(members)
    if size < 2:
        raise DataError("the group has one home; its mean is the home's own readings")
    rest = values[members].sum(axis=0, dtype=float) - values[attacker]
    exact = size == 2
    return pl.DataFrame(
        {
            "slot": np.arange(values.shape[1]), "mean of others": rest / (size - 1), "upper": rest,
            "lower": rest if exact else np.zeros(len(rest)), "exact": np.full(len(rest), exact),
        }
    )  # fmt: skip


def inject_spike(values: AnyArray, row: int, slot: int, height: float) -> AnyArray:
    """Readings in which one home leaves a mark of its own: a peak that makes its group recognisable.

    Examples
    --------
    >>> inject_spike(np.zeros((2, 2)), 1, 0, 5.0).tolist()
    [[0.0, 0.0], [5.0, 0.0]]
    """
    made = values.copy()
    made[row, slot] += height
    return made


def compare_partitions(values: AnyArray, partitions: Mapping[str, IntArray]) -> pl.DataFrame:
    """Sensitive cells, own groups found and variance lost of several ways to group the same homes.

    Examples
    --------
    >>> x = np.array([[1.0], [2], [9], [10]])
    >>> ways = {"near": np.array([0, 0, 1, 1]), "far": np.array([0, 1, 0, 1])}
    >>> compare_partitions(x, ways).select("partition", "variance lost in %").rows()
    [('near', 1.5384615384615385), ('far', 98.46153846153847)]
    """
    total = float(((values - values.mean(axis=0)) ** 2).sum())
    told = []
    for name, labels in partitions.items():
        report, found = cell_sensitivity(values, labels), own_cluster(values, labels)
        codes = np.unique(labels, return_inverse=True)[1]
        within = float(((values - group_means(values, labels)[codes]) ** 2).sum())
        counts = {rule: int(m.sum()) for rule, m in report.marks.items()}
        told.append({"partition": name, "groups": len(report.sizes), **counts, "all zero": int(report.zero.sum()),
                     "own group found in %": found.value, "variance lost in %": 100 * within / total})  # fmt: skip
    return pl.DataFrame(told)


def from_long(unit: AnyArray, time: AnyArray, value: AnyArray) -> tuple[Floats, AnyArray, AnyArray]:
    """Homes by slots out of one row a reading, with the homes and the times; gaps and doubled hours are one error.

    Examples
    --------
    >>> from_long(np.array(["a", "a", "b", "b"]), np.array([1, 2, 2, 1]), np.array([5.0, 6, 8, 7]))[0].tolist()
    [[5.0, 6.0], [7.0, 8.0]]
    """
    wrong = long_faults(unit, time)
    if wrong:
        raise DataError.from_faults("series", wrong)
    homes, row = np.unique(unit, return_inverse=True)
    times, slot = np.unique(time, return_inverse=True)
    made = np.empty((len(homes), len(times)))
    made[row, slot] = value
    return made, homes, times


def long_faults(unit: AnyArray, time: AnyArray) -> list[str]:
    """Hours that come twice, gaps, and one home alone.

    Examples
    --------
    >>> long_faults(np.array(["a", "a"]), np.array([1, 1]))[1]
    'one home; its group would be itself'
    """
    homes, row = np.unique(unit, return_inverse=True)
    times, slot = np.unique(time, return_inverse=True)
    seen = np.bincount(row * len(times) + slot, minlength=len(homes) * len(times))
    seen = seen.reshape(len(homes), len(times))
    twice, gaps = int((seen > 1).any(axis=1).sum()), int((seen == 0).any(axis=1).sum())
    wrong = (
        [f"{counted(twice, 'home')} with a time twice; use times that do not change with the clock"]
        if twice
        else []
    )
    wrong += [f"{counted(gaps, 'home')} with gaps; fill them or leave those homes out"] if gaps else []
    wrong += ["one home; its group would be itself"] if len(homes) < 2 else []
    return wrong


def example_homes(homes: int = 500, days: int = 1, seed: Seed = 0) -> AnyArray:
    """Half-hourly readings of simulated homes: a level of its own for each, mornings and evenings, a few zeros.

    Examples
    --------
    >>> example_homes(4, 2).shape
    (4, 96)
    """
    rng = generator(seed, "homes")
    t = np.arange(48)
    day = 0.5 * np.sin(2 * np.pi * (t - 14) / 48) + 0.4 * np.exp(-0.5 * ((t - 37) / 4) ** 2)
    level = (-1.2 + rng.normal(0, 0.6, (homes, 1))).astype(np.float32)
    made = np.empty((homes, 48 * days), np.float32)
    for d in range(days):
        here = slice(48 * d, 48 * (d + 1))
        season = np.float32(0.3 * np.cos(2 * np.pi * d / 365))
        noise = rng.standard_normal((homes, 48), np.float32) * np.float32(0.8)
        made[:, here] = np.exp(level + day.astype(np.float32) + season + noise)
        made[:, here][rng.random((homes, 48), np.float32) < 0.03] = 0
    return made
