"""Raking: give a cluster's buckets the margins of its single columns.

Buckets of many columns lose rare values (they are suppressed and common ones scaled up); the buckets of each column
alone know the margin far better. Both are anonymous already, so adjusting one to the other costs no privacy. The
weights are fitted to all margins in turn (iterative proportional fitting; Deming and Stephan 1940), a range being
spread evenly over what it encloses, as it is when rows are drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dalenius.synth.syndiffix.axis import HALF, TOP, Axis, Codes
from dalenius.synth.syndiffix.buckets import Buckets
from dalenius.synth.syndiffix.moments import UNIT_BITS

ROUNDS = 6
SMALLEST = 0.02
"""Numbers are fitted in groups of neighbours with at least this share: finer margins are mostly noise, and fitting
noise would blur how columns depend on each other."""
SETTLED = 0.005
"""Share of the weight that a round may still move to be the last one."""
LARGEST = 50.0
"""No weight is changed by more than this factor in one step."""
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class _Side:
    """One column of the buckets against its margin: which margin buckets each range meets, and their widths."""

    first: npt.NDArray[np.intp]
    last: npt.NDArray[np.intp]
    widths: Floats
    span: Floats
    share: Floats
    groups: npt.NDArray[np.intp]
    gap: npt.NDArray[np.bool_]
    gap_share: float

    @classmethod
    def of(cls, margin: Buckets, low: Codes, high: Codes, axis: Axis) -> _Side:
        starts, ends = margin.low[:, 0], np.maximum(margin.high[:, 0], margin.low[:, 0] + 1)
        first = np.searchsorted(ends, low, side="right")
        last = np.searchsorted(starts, np.maximum(high, low + 1), side="left")
        widths = np.maximum((margin.high - margin.low)[:, 0].astype(np.float64), _unit(axis))
        sums = np.concatenate([[0.0], np.cumsum(widths)])
        last = np.maximum(last, first)
        share = margin.weight / margin.weight.sum()
        gaps = float(share[starts >= TOP].sum())
        groups = np.arange(len(share)) if axis.kind == "levels" else _groups(share, starts < TOP)
        return cls(first, last, widths, sums[last] - sums[first], share, groups, low >= TOP, gaps)

    def current(self, weight: Floats) -> Floats:
        """Weight on each margin bucket."""
        met = self.span > 0
        density = weight[met] / self.span[met]
        change = np.bincount(self.first[met], density, len(self.widths) + 1)
        change -= np.bincount(self.last[met], density, len(self.widths) + 1)
        return np.maximum(np.cumsum(change)[:-1], 0.0) * self.widths

    def factors(self, weight: Floats) -> Floats:
        """What each bucket's weight has to be multiplied by to give the margin."""
        now = np.bincount(self.groups, self.current(weight))
        wanted = np.bincount(self.groups, self.share) * now.sum()
        tiny = 1e-12 * max(float(now.sum()), 1e-300)
        ratio = np.where(now > tiny, wanted / np.maximum(now, tiny), 1.0)[self.groups]
        sums = np.concatenate([[0.0], np.cumsum(np.clip(ratio, 1 / LARGEST, LARGEST) * self.widths)])
        met = self.span > 0
        factors = np.where(met, (sums[self.last] - sums[self.first]) / np.where(met, self.span, 1.0), 1.0)
        return factors * self._balance(weight * factors)

    def _balance(self, weight: Floats) -> Floats:
        """Keep the share of gaps, also where some values of the margin are out of reach."""
        held = float(weight[self.gap].sum())
        rest = float(weight.sum()) - held
        if held <= 0.0 or rest <= 0.0:
            return np.ones(1)
        return np.where(self.gap, self.gap_share / held, (1.0 - self.gap_share) / rest) * (held + rest)


def _groups(share: Floats, value: npt.NDArray[np.bool_]) -> npt.NDArray[np.intp]:
    """Group of each margin bucket: neighbours together until they have a share worth fitting."""
    ends = np.cumsum(share)
    group = np.floor((ends - share / 2) / SMALLEST)
    large = share >= SMALLEST
    new = np.ones(len(share), dtype=bool)
    new[1:] = (np.diff(group) > 0) | large[1:] | large[:-1] | (np.diff(value) != 0)
    return np.cumsum(new) - 1


def _unit(axis: Axis) -> float:
    """Width of a single value, in codes: a whole number, a day, the last decimal."""
    if axis.kind == "moment":
        return float(1 << max(HALF - axis.exponent + UNIT_BITS[round(axis.step)], 0))
    if axis.kind in ("whole", "levels") and axis.scale is None:
        return axis.step * float(1 << max(HALF - axis.exponent, 0))
    width = axis.step or 10.0 ** -(16 if axis.column.decimals is None else axis.column.decimals)
    if axis.scale is not None:
        width = (axis.step or width) * axis.scale[1]
        return max(width * float(1 << HALF), 1.0)
    return max(float(np.ldexp(width, HALF - axis.exponent)), 1.0)


def rake(buckets: Buckets, margins: Sequence[Buckets], axes: Sequence[Axis], rounds: int = ROUNDS) -> Buckets:
    """Buckets with weights that reproduce the margins of their columns (given in the buckets' order).

    Examples
    --------
    >>> from dalenius.data.schema import Column, Kind
    >>> axes = [Axis(Column(name, Kind.INTEGER), "whole", 0, 1, step=1.0) for name in "ab"]
    >>> both = Buckets((0, 1), np.array([[0, 0], [1 << 60, 0]]), np.array([[0, 0], [1 << 60, 0]]), np.ones(2))
    >>> one = Buckets((0,), np.array([[0], [1 << 60]]), np.array([[0], [1 << 60]]), np.array([3.0, 1.0]))
    >>> other = Buckets((1,), np.array([[0]]), np.array([[0]]), np.array([4.0]))
    >>> rake(both, [one, other], axes).weight.tolist()
    [1.5, 0.5]
    """
    if len(buckets.columns) < 2 or not len(buckets.weight) or any(not len(m.weight) for m in margins):
        return buckets
    sides = []
    for j, (margin, axis) in enumerate(zip(margins, axes, strict=True)):
        top = np.where(buckets.low[:, j] < TOP, np.minimum(buckets.high[:, j], TOP), buckets.high[:, j])
        sides.append(_Side.of(margin, buckets.low[:, j], top, axis))
    weight = buckets.weight
    total = float(weight.sum())
    for _ in range(rounds):
        moved = 0.0
        for side in sides:
            fitted = weight * side.factors(weight)
            moved += float(np.abs(fitted - weight).sum()) / total
            weight = fitted
        if moved < SETTLED:
            break
    return replace(buckets, weight=weight * (total / float(weight.sum())))
