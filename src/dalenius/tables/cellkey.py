"""Cell-key perturbation: every count is changed a little, always in the same way.

Each record carries a random key; a cell's key is the sum of its records' keys modulo 1, so the same people give the
same key in whatever table they appear. A perturbation table turns the count and the key into a deviation. The result
does not add up, by design; maximum deviation and variance are to be kept confidential (Handbook, section 5.4).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import linprog, minimize

from dalenius.core.errors import DataError, OptionError
from dalenius.core.random import Seed, generator
from dalenius.tables.errors import need_whole
from dalenius.tables.keys import cell_names, keyed_uniforms
from dalenius.tables.model import Floats, Ints, TableModel


@dataclass(frozen=True, eq=False)
class PTable:
    """Probabilities of deviations for each count.

    Attributes
    ----------
    largest
        Largest deviation D; deviations run from −D to D.
    probabilities
        One row per count 0 … last; larger counts use the last row.

    Examples
    --------
    >>> table = PTable.make(largest=3, variance=2.0)
    >>> bool((abs(table.means) < 1e-6).all()), round(float(table.variances[-1]), 6)
    (True, 2.0)
    >>> PTable.make(largest=4, variance=3.0, hole=2).values_of(1)  # no published 1 or 2
    [0, 3, 4, 5]
    """

    largest: int
    probabilities: Floats

    @classmethod
    def make(cls, largest: int = 3, variance: float = 1.0, hole: int = 0) -> PTable:
        """Mean 0, the given variance, as random as possible; counts 1 … ``hole`` are never published.

        For small counts the variance may be out of reach; the nearest possible one is taken. Zeros stay.
        """
        need_whole(largest, 1, "the largest deviation")
        need_whole(hole, 0, "the hole")
        if not 0 < variance <= largest**2 or hole >= largest:
            raise OptionError("a perturbation table needs 0 < variance ≤ largest² and hole below largest")
        rows = [_zero_row(largest)]
        rows += [_row(count, largest, variance, hole) for count in range(1, largest + hole + 1)]
        return cls(largest, np.array(rows))

    @property
    def deviations(self) -> Ints:
        """−D … D."""
        return np.arange(-self.largest, self.largest + 1)

    @property
    def means(self) -> Floats:
        """Expected deviation for each count; 0 by construction."""
        return np.asarray(self.probabilities @ self.deviations)

    @property
    def variances(self) -> Floats:
        """Variance of the deviation for each count."""
        return np.asarray(self.probabilities @ self.deviations**2) - self.means**2

    def values_of(self, count: int) -> list[int]:
        """Counts that can be published for a count."""
        row = self.probabilities[min(count, len(self.probabilities) - 1)]
        return [int(count + d) for d, p in zip(self.deviations, row, strict=True) if p > 1e-9]

    def deviation(self, counts: Ints, keys: Floats) -> Ints:
        """The deviation of each count, looked up by its key."""
        rows = np.minimum(counts, len(self.probabilities) - 1)
        edges = np.cumsum(self.probabilities, axis=1)
        edges[:, -1] = 1.0
        place = (keys[:, None] >= edges[rows]).sum(axis=1)
        return np.asarray(self.deviations[place])


def _zero_row(largest: int) -> Floats:
    row = np.zeros(2 * largest + 1)
    row[largest] = 1.0
    return row


def _row(count: int, largest: int, variance: float, hole: int) -> Floats:
    """Maximum entropy on the allowed deviations: p ∝ exp(a d + b d²) with mean 0 and the variance asked for."""
    d = np.arange(-largest, largest + 1).astype(np.float64)
    result = count + d
    allowed = (result >= 0) & ~((result >= 1) & (result <= hole))
    support = d[allowed]
    ends = [
        linprog(sign * support**2, A_eq=np.stack([support, np.ones_like(support)]), b_eq=[0.0, 1.0]).fun
        * sign
        for sign in (1, -1)
    ]
    span = ends[1] - ends[0]
    wanted = float(np.clip(variance, ends[0] + 1e-6 * max(span, 1e-9), ends[1] - 1e-6 * max(span, 1e-9)))
    row = np.zeros(len(d))
    if span < 1e-9:
        answer = linprog(support**2, A_eq=np.stack([support, np.ones_like(support)]), b_eq=[0.0, 1.0])
        row[allowed] = answer.x
        return row
    targets, features = np.array([0.0, wanted]), np.stack([support, support**2])

    def dual(x: Floats) -> tuple[float, Floats]:
        score = x @ features
        top = score.max()
        weight = np.exp(score - top)
        p = weight / weight.sum()
        return float(top + np.log(weight.sum()) - x @ targets), features @ p - targets

    best: Any = minimize(dual, np.zeros(2), jac=True, method="BFGS", options={"gtol": 1e-12, "maxiter": 2000})
    score = best.x @ features
    weight = np.exp(score - score.max())
    row[allowed] = weight / weight.sum()
    return row


def record_keys(rows: int, *, seed: Seed = None, key: bytes | None = None) -> Floats:
    """A uniform number per record: from a seed, or from a secret key and the record's number.

    Examples
    --------
    >>> bool((record_keys(3, seed=1) == record_keys(3, seed=1)).all())
    True
    """
    if key is not None:
        return keyed_uniforms((str(i) for i in range(rows)), key, "record keys")
    return generator(seed, "record keys").random(rows)


def perturb(model: TableModel, table: PTable, inner_keys: Floats, *, small_only: int | None = None) -> Ints:
    """Perturbed counts of all cells.

    Parameters
    ----------
    model
        A frequency table.
    table
        Perturbation table.
    inner_keys
        Key of every inner cell: the sum of its records' keys modulo 1 (`inner_cell_keys`).
    small_only
        Change only counts up to this (small-count noise).

    Examples
    --------
    >>> from dalenius.tables import define
    >>> model = define({"a": ["x"] * 4 + ["y"] * 2}, by="a")
    >>> keys = inner_cell_keys(model, np.array([0, 0, 0, 0, 1, 1]), record_keys(6, seed=1))
    >>> changed = perturb(model, PTable.make(2, 1.0), keys)
    >>> bool((abs(changed - model.frequency) <= 2).all())
    True
    """
    if model.is_magnitude:
        raise DataError("cell-key perturbation is for frequency tables")
    if np.shape(inner_keys) != model.counts.shape:
        raise DataError(f"{np.size(inner_keys)} keys were given for {len(model.counts)} inner cells")
    keys = np.mod(np.asarray(model.matrix.T @ inner_keys), 1.0)
    change = table.deviation(model.frequency, keys)
    if small_only is not None:
        change = np.where(model.frequency <= small_only, change, 0)
    return np.asarray(model.frequency + change, np.int64)


def inner_cell_keys(model: TableModel, inner_of_record: Ints, keys: Floats) -> Floats:
    """Add up record keys within inner cells, modulo 1.

    Examples
    --------
    >>> from dalenius.tables import define
    >>> model = define({"a": ["x", "x", "y"]}, by="a")
    >>> inner_cell_keys(model, np.array([0, 0, 1]), np.array([0.5, 0.75, 0.25])).tolist()
    [0.25, 0.25]
    """
    return np.mod(np.bincount(inner_of_record, keys, len(model.counts)), 1.0)


def small_count_noise(
    model: TableModel, most: int = 5, *, largest: int = 2, variance: float = 1.0, key: bytes
) -> Ints:
    """Unbiased noise on counts up to ``most`` only, the same under the same names in every table.

    Examples
    --------
    >>> from dalenius.tables import define
    >>> model = define({"a": ["x"] * 9 + ["y"] * 2}, by="a")
    >>> small_count_noise(model, 5, key=b"secret").tolist()[:2]
    [11, 9]
    """
    # Keys by the cell's own name, not by its inner cells: those differ between tables with other dimensions.
    keys = keyed_uniforms(cell_names(model), key, "small counts")
    change = PTable.make(largest, variance).deviation(model.frequency, keys)
    return np.asarray(model.frequency + np.where(model.frequency <= most, change, 0), np.int64)
