"""`Task`: one stratum to be fitted, what it may spend, and what it says about it."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from dalenius.core.errors import OptionError
from dalenius.core.random import Seed
from dalenius.data.vector import AnyArray, IntArray
from dalenius.dp.accuracy import error_within, laplace_peak
from dalenius.dp.budget import Budget
from dalenius.dp.noise import add_gaussian, add_laplace
from dalenius.synth.joint.records import Records
from dalenius.synth.joint.structure import Structure

LOG = logging.getLogger("dalenius")
EXAMPLE_COUNT = 500
"""Count for which the notes say how far it may be off."""


@dataclass(repr=False)
class Task:
    """One stratum to be fitted.

    Attributes
    ----------
    names, sizes, records
        Columns, their numbers of codes, and the rows, which can be counted.
    rows
        Rows there are (confidential when the total is noised).
    total
        Number of records the model may know: the public one, or a noisy one.
    structure
        Impossible cells.
    budget, share, part
        The privacy budget, how much of it this fit may spend (in the budget's unit), and which stratum to write
        in the ledger.
    notes
        Lines for the reader; the fit adds its own.
    seed
        For what needs chance but no secrecy.
    exact
        Tables (positions of columns) that are kept exactly and not protected.
    unsure
        Variance of the total; 0 where it is known.
    even, accuracy
        Whether rows are drawn evenly, and how far a count of 500 may be off in each table that was measured.
    """

    names: list[str]
    sizes: tuple[int, ...]
    records: Records
    rows: int
    total: float
    structure: Structure
    budget: Budget | None
    share: float
    part: tuple[str, str] | None
    seed: Seed
    notes: list[str] = field(default_factory=list)
    exact: list[tuple[int, ...]] = field(default_factory=list)
    unsure: float = 0.0
    even: bool = False
    accuracy: dict[str, float] = field(default_factory=dict)

    def note(self, text: str, warn: bool = False) -> None:
        """Tell the reader, once; a warning is logged too."""
        if text not in self.notes:
            self.notes.append(text)
            if warn:
                LOG.warning(text)

    def spend(self, what: str, price: float, noise: str) -> Budget:
        """Write a spend (ε, or ρ under zCDP) into the ledger, before anything is drawn for it."""
        if self.budget is None:
            raise OptionError("there is no privacy budget to spend")
        rho = self.budget.accounting == "zcdp"
        self.budget.spend(
            what, epsilon=0.0 if rho else price, rho=price if rho else 0.0, noise=noise, part=self.part
        )
        return self.budget

    def deviation(self, price: float) -> float:
        """Standard deviation of the noise on a table that is measured for ``price``."""
        scale, gaussian = self._noise(price)
        return scale if gaussian else float(np.sqrt(laplace_variance(scale)))

    def measure(self, what: str, table: IntArray, price: float) -> tuple[IntArray, float]:
        """A table of counts with noise for ``price`` (ε, or ρ under zCDP), and the variance of the noise."""
        scale, gaussian = self._noise(price)
        self.spend(what, price, f"discrete {'Gaussian' if gaussian else 'Laplace'}, scale {scale:.4g}")
        noisy = add_gaussian(table, scale) if gaussian else add_laplace(table, scale)
        return noisy, self.deviation(price) ** 2

    def peaked(self, price: float) -> float:
        """Excess kurtosis of that noise."""
        scale, gaussian = self._noise(price)
        return 0.0 if gaussian else laplace_peak(scale)

    def accurate(self, what: str, variance: float, fourth: float, shift: float) -> None:
        """Say how far a count of 500 in a table of the released file is from the truth.

        ``variance`` and ``fourth`` cumulant are those of a cell of the model, ``shift`` is how far repairs moved it;
        rows that are drawn one by one add their own chance.
        """
        expected = EXAMPLE_COUNT + shift
        drawn = 0.0 if self.even else expected * max(1 - expected / max(self.total, expected), 0.0)
        within = error_within(variance + drawn + 1 / 12, fourth, shift)
        self.accuracy[what] = within
        self.note(
            f"a count of {EXAMPLE_COUNT} in table {what} of the file is within ±{within:.3g} in 95 % of draws"
        )

    def learn_total(self, tables: Iterable[AnyArray], variances: Iterable[float]) -> None:
        """Every noisy table has a sum, which says something about a noised total too: the weighted mean of all."""
        if not self.unsure:
            return
        held = [(self.total, self.unsure)]
        held += [(float(t.sum()), t.size * v) for t, v in zip(tables, variances, strict=True)]
        weights = np.array([1 / variance for _, variance in held])
        self.total = float(
            max(round(float(np.dot(weights, [total for total, _ in held]) / weights.sum())), 0)
        )
        self.unsure = float(1 / weights.sum())

    def _noise(self, price: float) -> tuple[float, bool]:
        """Scale of the noise, and whether it is Gaussian: ρ = s² / (2 σ²) for an L2 sensitivity of s; ε = s / scale."""
        if self.budget is None:
            raise OptionError("there is no privacy budget to spend")
        if self.budget.accounting == "zcdp":
            return float(np.sqrt(self.budget.squared_sensitivity / (2 * price))), True
        return self.budget.sensitivity / price, False


def laplace_variance(scale: float) -> float:
    """Variance of discrete Laplace noise.

    Examples
    --------
    >>> round(laplace_variance(10.0) / (2 * 10.0**2), 2)
    1.0
    """
    p = float(np.exp(-1 / scale))
    return 2 * p / (1 - p) ** 2
