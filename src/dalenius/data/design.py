"""`Design`: how the rows of a file were drawn from a population, and the variances that follow from it.

Weights, strata, primary sampling units, finite populations, replicate weights and calibrated margins are columns with
roles in the schema. Every estimate is an estimating equation, so that one function serves them all: `variance` takes
what each row contributes to the estimate (linearisation, Binder 1983), `spread` takes the estimate under each set of
replicate weights (Wolter 2007).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from dalenius.core.errors import DataError, OptionError
from dalenius.core.random import DEFAULT_SEED, Seed
from dalenius.data.replicates import (
    BOOTSTRAPS,
    Floats,
    Stages,
    half_samples,
    jackknife_weights,
    many_bootstraps,
)
from dalenius.data.sampling import UNKNOWN, Replication, Sampling
from dalenius.data.schema import Role
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, IntArray

DESIGN_ROLES = (Role.WEIGHT, Role.STRATUM, Role.PSU, Role.FPC, Role.REPLICATE)
"""Roles of columns that say how a row was drawn, not what somebody answered (a stratum may be both)."""


@dataclass(frozen=True, eq=False)
class Design:
    """How the rows of one file were drawn.

    Attributes
    ----------
    weights
        How many people of the population each row stands for.
    strata, psu
        Codes of sampling strata and of primary sampling units (of several columns: their combinations); None: one
        stratum, every row a unit.
    fraction
        Share of its stratum's units that was drawn, of each row; None: next to nothing.
    replicates
        Replicate weights, a column each.
    margins
        What the weights were calibrated to, a column each.
    column
        Name of the weights' column; None where all rows count alike.

    Examples
    --------
    >>> design = Design(np.array([5, 10 / 3, 2]))
    >>> mean, error = design.mean(np.array([4.0, 6.0, 8.0]))
    >>> round(float(mean[0]), 7), round(float(error[0, 0]), 7)
    (5.4193548, 1.1343543)
    """

    weights: Floats
    strata: IntArray | None = None
    psu: IntArray | None = None
    fraction: Floats | None = None
    replicates: Floats | None = None
    sampling: Sampling = UNKNOWN
    margins: Floats | None = None
    column: str | None = None

    @classmethod
    def of(cls, table: Table, *, lenient: bool = False) -> Design | None:
        """The design that a table's schema tells of; None where rows count alike and were drawn one by one.

        Parameters
        ----------
        lenient
            Let a row without a usable weight count nothing, instead of refusing the file.

        Examples
        --------
        >>> people = Table.from_frame({"age": [30, 40], "w": [1.5, 4.5]})
        >>> Design.of(people) is None
        True
        >>> Design.of(people.with_schema(people.schema.with_roles(weight="w"))).weights.tolist()
        [1.5, 4.5]
        """
        named = {role: [n for n in table.schema.by_role(role) if n in table] for role in DESIGN_ROLES}
        if not any(named[role] for role in (Role.WEIGHT, Role.PSU, Role.REPLICATE)):
            return None
        weight = next(iter(named[Role.WEIGHT]), None)
        strata = _codes(table, named[Role.STRATUM])
        psu = _codes(table, named[Role.PSU])
        sampling = table.schema.sampling
        sets = [_amounts(table, name, lenient) for name in named[Role.REPLICATE]]
        if sets and sampling.replicates is None:
            raise DataError(
                "replicate weights are there, but not how they were made; write it into the schema "
                "(sampling: {replicates: BRR, jackknife, stratified-jackknife or bootstrap})"
            )
        return cls(
            np.ones(table.rows) if weight is None else _amounts(table, weight, lenient),
            strata,
            psu,
            _fraction(table, named[Role.FPC], strata, psu),
            np.stack(sets, axis=1) if sets else None,
            sampling,
            _margins(table, sampling.calibrated),
            weight,
        )

    @property
    def rows(self) -> int:
        """Rows of the file."""
        return len(self.weights)

    @property
    def simple(self) -> bool:
        """Whether rows were drawn one by one from one stratum, so that weights are all there is to it."""
        return self.strata is None and self.psu is None and self.replicates is None and self.margins is None

    @cached_property
    def scaled(self) -> Floats:
        """Weights that sum to the number of rows."""
        total = float(self.weights.sum())
        return self.weights * (self.rows / total) if total > 0 else self.weights

    @cached_property
    def stages(self) -> Stages:
        """Rows in units, units in strata."""
        return Stages.of(self.rows, self.strata, self.psu)

    @property
    def df(self) -> float:
        """Degrees of freedom: units minus strata, or replicates minus one where units are not known."""
        if self.replicates is not None and self.psu is None and self.strata is None:
            return float(max(self.replicates.shape[1] - 1, 1))
        return float(max(len(self.stages.home) - len(self.stages.sizes), 1))

    def take(self, rows: AnyArray) -> Design:
        """The design of some of the rows; rows that are not there count nothing, units keep their strata."""

        def some(values: AnyArray | None) -> AnyArray | None:
            return None if values is None else values[rows]

        return replace(
            self, weights=self.weights[rows], strata=some(self.strata), psu=some(self.psu),
            fraction=some(self.fraction), replicates=some(self.replicates), margins=some(self.margins),
        )  # fmt: skip

    def mean(self, values: AnyArray, by: AnyArray | None = None) -> tuple[Floats, Floats]:
        """Means of some columns of numbers (or their ratio to ``by``), and their covariance."""
        y = np.asarray(values, np.float64).reshape(self.rows, -1)
        x = np.ones(self.rows) if by is None else np.asarray(by, np.float64)

        def ratio(weights: Floats) -> Floats:
            return (weights @ y) / float(weights @ x)

        estimated = ratio(self.weights)
        scores = self.weights[:, None] * (y - x[:, None] * estimated) / float(self.weights @ x)
        return estimated, self.covariance(scores, ratio)

    def total(self, values: AnyArray) -> tuple[Floats, Floats]:
        """Totals of some columns of numbers, and their covariance."""
        y = np.asarray(values, np.float64).reshape(self.rows, -1)
        return self.weights @ y, self.covariance(self.weights[:, None] * y, lambda weights: weights @ y)

    def covariance(self, scores: Floats, estimate: Callable[[Floats], Floats]) -> Floats:
        """Covariance of an estimate: by the replicate weights where there are some, by linearisation otherwise."""
        return self.variance(scores) if self.replicates is None else self.spread(estimate)

    def variance(self, scores: Floats) -> Floats:
        """Covariance of the sum of the rows' scores (weight times influence), by strata and units.

        Σ_h (1 − f_h) n_h / (n_h − 1) Σ_j (z_hj − z̄_h)(z_hj − z̄_h)' with z_hj the sum of unit j (Binder 1983). A stratum
        with one unit is held against the mean of all units, which errs on the safe side.
        """
        u = np.asarray(scores, np.float64).reshape(self.rows, -1)
        if self.margins is not None:
            u = self._unexplained(u)
        stages = self.stages
        units = len(stages.home)
        z = u if self.psu is None else _sums(u, stages.unit, units)
        sizes = stages.sizes.astype(np.float64)
        middle = _sums(z, stages.home, len(sizes)) / sizes[:, None]
        middle[stages.sizes == 1] = z.mean(axis=0)
        apart = z - middle[stages.home]
        factor = np.where(sizes > 1, sizes / np.maximum(sizes - 1, 1), 1.0)[stages.home]
        if self.fraction is not None:
            drawn = np.zeros(units)
            drawn[stages.unit] = self.fraction
            factor = factor * (1 - drawn)
        return (apart * factor[:, None]).T @ apart

    def spread(self, estimate: Callable[[Floats], Floats]) -> Floats:
        """Covariance of an estimate by its values under each set of replicate weights."""
        if self.replicates is None:
            raise DataError("there are no replicate weights; make some (Design.replicated), or use variance")
        middle = np.atleast_1d(estimate(self.weights))
        count = self.replicates.shape[1]
        estimates = np.stack([np.atleast_1d(estimate(self.replicates[:, r])) for r in range(count)])
        apart = estimates - (middle if self.sampling.around == "estimate" else estimates.mean(axis=0))
        factor = np.full(count, self.sampling.factor(count))
        if self.sampling.replicates == "stratified-jackknife" and self.sampling.scale is None:
            factor = factor * self._left_out()
        return (apart * factor[:, None]).T @ apart

    def replicated(
        self, kind: Replication, count: int = BOOTSTRAPS, *, fay: float = 0.0, seed: Seed = DEFAULT_SEED
    ) -> Design:
        """The design with replicate weights made from its strata and units.

        Examples
        --------
        >>> design = Design(np.ones(4), np.array([0, 0, 1, 1]))
        >>> design.replicated("BRR").replicates.shape, design.replicated("stratified-jackknife").replicates.shape
        ((4, 4), (4, 4))
        """
        stages = self.stages
        if kind == "bootstrap":
            made = many_bootstraps(self.weights, stages, count, seed)
        elif kind == "BRR":
            made = half_samples(self.weights, stages, fay)
        elif kind in ("jackknife", "stratified-jackknife"):
            if kind == "jackknife" and len(stages.sizes) > 1:
                raise OptionError("kind jackknife leaves strata out; use stratified-jackknife")
            made = jackknife_weights(self.weights, stages)
        else:
            raise OptionError(
                f"no replicates {kind!r}; use BRR, jackknife, stratified-jackknife or bootstrap"
            )
        how = replace(self.sampling, replicates=kind, fay=fay if kind == "BRR" else 0.0, scale=None)
        return replace(self, replicates=made, sampling=how)

    def effect(self, values: AnyArray) -> float:
        """Design effect of a mean: its variance over that of a simple random sample of so many rows."""
        y = np.asarray(values, np.float64)
        mean, variance = self.mean(y)
        spread = float(self.scaled @ (y - mean[0]) ** 2) / max(self.rows - 1, 1)
        return float(variance[0, 0]) * self.rows / spread if spread > 0 else 1.0

    def _unexplained(self, u: Floats) -> Floats:
        """Scores with what the calibrated margins explain of them taken away (Deville, Särndal 1992)."""
        assert self.margins is not None
        x, w = self.margins, self.weights
        slopes = np.linalg.lstsq((x * w[:, None]).T @ x, x.T @ u, rcond=None)[0]
        result: Floats = u - w[:, None] * (x @ slopes)
        return result

    def _left_out(self) -> Floats:
        """(n_h − 1) / n_h of the stratum that each replicate of a stratified jackknife leaves a unit out of."""
        assert self.replicates is not None
        gone = (self.replicates == 0) & (self.weights > 0)[:, None]
        if not gone.any(axis=0).all():
            raise DataError(
                "a stratified jackknife leaves a unit out of each replicate, and some replicates leave none out; "
                "give the factor in the schema (sampling: {scale: …})"
            )
        sizes = self.stages.sizes[self.stages.home[self.stages.unit[gone.argmax(axis=0)]]]
        return (sizes - 1) / sizes


def _sums(values: Floats, groups: IntArray, size: int) -> Floats:
    """Sums of columns by group."""
    return np.stack([np.bincount(groups, column, minlength=size) for column in values.T], axis=1)


def _codes(table: Table, columns: list[str]) -> IntArray | None:
    """One code for each combination of the columns."""
    if not columns:
        return None
    codes = np.zeros(table.rows, np.int64)
    for name in columns:
        own = table[name].categories
        codes = np.unique(codes * max(own.size, 1) + own.codes, return_inverse=True)[1]
    return codes


def _amounts(table: Table, name: str, lenient: bool) -> Floats:
    weights = table[name].amounts()
    if lenient:
        usable = np.where(np.isfinite(weights) & (weights > 0), weights, 0.0)
        return usable if usable.any() else np.ones(len(weights))
    bad = int(np.count_nonzero(~(np.isfinite(weights) & (weights >= 0))))
    if bad:
        raise DataError(
            f"column {name!r}: {bad} rows have a missing, negative or infinite weight; give every row a weight of 0 "
            "or more"
        )
    if len(weights) and not weights.any():
        raise DataError(f"column {name!r}: all weights are 0; somebody must count")
    return weights


def _fraction(
    table: Table, columns: list[str], strata: IntArray | None, psu: IntArray | None
) -> Floats | None:
    """Share of the stratum's units that was drawn: as it is, or from how many units the population has."""
    if not columns:
        return None
    name = columns[0]
    given = table[name].amounts()
    if not (np.isfinite(given).all() and (given > 0).all()):
        raise DataError(f"column {name!r}: a finite population is a number above 0 in every row")
    stages = Stages.of(table.rows, strata, psu)
    drawn = stages.sizes[stages.home[stages.unit]]
    share = np.where(given > 1, drawn / np.maximum(given, 1e-300), given)
    small = int(np.count_nonzero(share > 1))
    if small:
        raise DataError(f"column {name!r}: {small} rows name fewer units in the population than were drawn")
    return share


def _margins(table: Table, columns: tuple[str, ...]) -> Floats | None:
    """The columns that weights were calibrated to, categories as indicators, and a one for their number."""
    named = [name for name in columns if name in table]
    if not named:
        return None
    parts: list[Floats] = [np.ones((table.rows, 1))]
    for name in named:
        vector = table[name]
        if vector.is_number:
            parts.append(np.nan_to_num(vector.floats())[:, None])
        else:
            own = vector.categories
            parts.append((own.codes[:, None] == np.arange(1, max(own.size, 1))).astype(np.float64))
    return np.hstack(parts)
