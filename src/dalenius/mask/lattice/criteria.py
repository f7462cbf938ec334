"""Criteria: what every group of records that look alike must keep, written as a line such as ``l(diagnosis) >= 3``.

A group that does not keep them is suppressed. ``whole`` criteria are about the file. `monotone` criteria are those in
which a group that keeps them keeps them also after it is merged with any other, so that suppressed rows can only
become fewer as a file gets coarser; the others are only so when nothing may be suppressed (mediants and mixtures).

A missing value of a target is no value: an intruder who finds "diabetes" or nothing in a group has learned of diabetes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from dalenius.core.errors import DataError, OptionError
from dalenius.data.schema import Kind
from dalenius.data.table import Table
from dalenius.data.vector import Vector

Floats = npt.NDArray[np.float64]


@dataclass(eq=False)
class Groups:
    """The groups of a file at one node: rows, people they stand for, and how often each sensitive value occurs.

    Attributes
    ----------
    ids, weights
        Group and rows of each distinct combination.
    sizes
        Rows of each group.
    people
        People each distinct combination stands for in the population, by survey weights.
    sensitive
        For each target, its value in each distinct combination and the number of values; who has none has that number
        as his code, and counts for no value (see `coded`).
    """

    ids: npt.NDArray[np.int32]
    weights: npt.NDArray[np.int64]
    sizes: npt.NDArray[np.int64]
    people: Floats | None
    sensitive: Mapping[str, tuple[npt.NDArray[np.int32], int]]

    @cached_property
    def population(self) -> Floats:
        """People each group stands for."""
        if self.people is None:
            raise DataError("k-map and delta-presence need survey weights; give a column the role weight")
        return np.bincount(self.ids, self.people, len(self.sizes)).astype(np.float64)

    def shares(self, target: str) -> Floats:
        """Groups × values of a target: the share of each value among those of the group that are known."""
        counts = self.counts(target)
        return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)

    def counts(self, target: str) -> Floats:
        """Groups × values of a target: how many rows."""
        codes, values = self.sensitive[target]
        cells = self.ids.astype(np.int64) * (values + 1) + codes
        counts = np.bincount(cells, self.weights, len(self.sizes) * (values + 1)).astype(np.float64)
        return counts.reshape(-1, values + 1)[:, :values]

    def known(self, target: str) -> npt.NDArray[np.bool_]:
        """Whether anybody of a group has a value of a target: of others nothing can be shown, so they keep nothing."""
        return np.asarray(self.counts(target).sum(axis=1) > 0)

    def overall(self, target: str) -> Floats:
        """The share of each value in the file, among those that are known."""
        codes, values = self.sensitive[target]
        every = np.bincount(codes, self.weights, values + 1)[:values]
        return every / max(every.sum(), 1)


def coded(vector: Vector) -> tuple[npt.NDArray[np.int32], int]:
    """Values of a target as codes and how many there are; a gap or special code is no value and has the code after.

    Examples
    --------
    >>> codes, values = coded(Table.from_frame({"ill": ["no", None, "yes"]})["ill"])
    >>> codes.tolist(), values
    ([0, 2, 1], 2)
    """
    used, inverse = np.unique(vector.categories.codes[vector.present], return_inverse=True)
    codes = np.full(len(vector), len(used), np.int32)
    codes[vector.present] = inverse
    return codes, len(used)


Test = Callable[[Groups, str, float, "Criterion"], Any]


@dataclass(frozen=True)
class Criterion:
    """One line of what is asked for.

    Examples
    --------
    >>> Criterion.parse("l(diagnosis) >= 3")
    Criterion(name='l', limit=3.0, target='diagnosis', c=0.0)
    >>> print(Criterion.parse("recursive-l(diagnosis, c=2) >= 3"))
    recursive-l(diagnosis, c=2) >= 3
    """

    name: str
    limit: float
    target: str = ""
    c: float = 0.0
    ordered: bool = field(default=False, repr=False, compare=False)

    @classmethod
    def parse(cls, text: str) -> Criterion:
        """Read ``name(target) >= limit``."""
        found = _LINE.fullmatch(text.strip())
        if found is None:
            raise OptionError(f"criterion {text!r} should read like 'k >= 5' or 'l(diagnosis) >= 3'")
        name, target, c, sign, limit = found.groups()
        if name not in CRITERIA:
            raise OptionError(f"no criterion {name!r}; there are {', '.join(CRITERIA)}")
        kind = CRITERIA[name]
        if sign != kind.sign:
            raise OptionError(f"criterion {name!r} is written with {kind.sign}")
        if bool(target) != kind.targeted:
            wrong = "needs a target in brackets" if kind.targeted else "has no target"
            raise OptionError(f"criterion {name!r} {wrong}")
        if (name == "recursive-l") != (c is not None):
            raise OptionError("recursive-l is written 'recursive-l(target, c=2) >= 3', and no other has a c")
        return cls(name, float(limit), target or "", float(c or 0))

    def __str__(self) -> str:
        inner = f"({self.target}{f', c={self.c:g}' if self.c else ''})" if self.target else ""
        return f"{self.name}{inner} {CRITERIA[self.name].sign} {self.limit:g}"

    def read_in(self, table: Table) -> Criterion:
        """The criterion as a file asks it to be read: t by earth mover's distance where its target has an order."""
        if self.name != "t":
            return self
        vector = table[self.target]
        return replace(self, ordered=vector.is_number or vector.column.kind is Kind.ORDERED)

    @property
    def monotone(self) -> bool:
        """Whether merging a group that keeps it with any other keeps it."""
        return CRITERIA[self.name].monotone

    @property
    def whole(self) -> bool:
        """Whether it is about the file, not about each group."""
        return CRITERIA[self.name].whole

    def keeps(self, groups: Groups) -> Any:
        """For each group (or for the file) whether it keeps the criterion."""
        return CRITERIA[self.name].test(groups, self.target, self.limit, self)


@dataclass(frozen=True)
class _Kind:
    test: Test
    sign: str
    meaning: str
    targeted: bool = True
    monotone: bool = False
    whole: bool = False


def _entropy_l(groups: Groups, target: str, limit: float, own: Criterion) -> Any:
    p = groups.shares(target)
    entropy = -np.sum(np.where(p > 0, p * np.log(np.where(p > 0, p, 1)), 0), axis=1)
    return (entropy >= np.log(limit) - 1e-12) & groups.known(target)


def _recursive_l(groups: Groups, target: str, limit: float, own: Criterion) -> Any:
    ordered = -np.sort(-groups.counts(target), axis=1)
    tail = ordered[:, int(limit) - 1 :].sum(axis=1)
    return (ordered[:, 0] < own.c * tail) & (np.count_nonzero(ordered, axis=1) >= limit)


def _t(groups: Groups, target: str, limit: float, own: Criterion) -> Any:
    apart = groups.shares(target) - groups.overall(target)
    if own.ordered:
        values = max(apart.shape[1] - 1, 1)
        near = np.abs(np.cumsum(apart, axis=1)).sum(axis=1) / values <= limit + 1e-12
    else:
        near = np.abs(apart).sum(axis=1) / 2 <= limit + 1e-12
    return near & groups.known(target)


def _beta(groups: Groups, target: str, limit: float, own: Criterion) -> Any:
    q = groups.overall(target)
    gain = (groups.shares(target) - q) / np.where(q > 0, q, 1)
    # enhanced beta-likeness (Cao and Karras 2012, definition 3): rare values are not let grow without bound
    allowed = np.minimum(limit, -np.log(np.where(q > 0, q, 1)))
    return np.all((gain <= allowed + 1e-12) | (q == 0), axis=1) & groups.known(target)


def _delta(groups: Groups, target: str, limit: float, own: Criterion) -> Any:
    p, q = groups.shares(target), groups.overall(target)
    ratio = np.log(np.where(p > 0, p, np.exp(-700)) / np.where(q > 0, q, 1))
    return np.all((np.abs(ratio) <= limit + 1e-12) | (q == 0), axis=1) & groups.known(target)


CRITERIA: dict[str, _Kind] = {
    "k": _Kind(lambda g, _, x, __: g.sizes >= x, ">=", "records that look alike", False, True),
    "k-map": _Kind(lambda g, _, x, __: g.population >= x, ">=", "people in the population who look alike", False, True),
    "l": _Kind(
        lambda g, t, x, _: np.count_nonzero(g.counts(t), axis=1) >= x, ">=", "different values of a target", True, True
    ),
    "entropy-l": _Kind(_entropy_l, ">=", "different values of a target, by their entropy"),
    "recursive-l": _Kind(_recursive_l, ">=", "the commonest value of a target less than c times the rarer ones"),
    "t": _Kind(_t, "<=", "distance between a group's values of a target and the file's"),
    "beta": _Kind(_beta, "<=", "relative gain in the share of a value"),
    "delta-disclosure": _Kind(_delta, "<=", "logarithm of the ratio between a group's share of a value and the file's"),
    "delta-presence": _Kind(
        lambda g, _, x, __: g.sizes <= x * np.maximum(g.population, g.sizes) + 1e-9, "<=",
        "chance that one of the population is in the file", False,
    ),
    "average-risk": _Kind(
        lambda g, _, x, __: len(g.sizes) <= x * max(g.sizes.sum(), 1) + 1e-9, "<=",
        "mean over the records of one in as many as look alike", False, False, True,
    ),
}  # fmt: skip
"""What can be asked for."""
_LINE = re.compile(r"([\w-]+)(?:\(\s*([^,()]+?)\s*(?:,\s*c\s*=\s*([\d.]+)\s*)?\))?\s*(>=|<=)\s*([\d.]+)")


def parse_all(lines: Sequence[str]) -> list[Criterion]:
    """Criteria out of lines; every fault is told at once.

    Examples
    --------
    >>> [str(each) for each in parse_all(["k >= 5", "t(income) <= 0.2"])]
    ['k >= 5', 't(income) <= 0.2']
    """
    made: list[Criterion] = []
    wrong: list[str] = []
    for line in lines:
        try:
            made.append(Criterion.parse(line))
        except OptionError as error:
            wrong += error.faults
    if wrong:
        raise OptionError.from_faults("criteria", wrong)
    return made
