"""Individual and global risk of a weighted sample, and household risk (sdcMicro: indivRisk, createSdcObj)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl
from scipy.special import hyp2f1

from dalenius.core.option import one_of
from dalenius.core.result import WHOLE, Interval, Result, figure
from dalenius.data.schema import Role
from dalenius.data.vector import AnyArray
from dalenius.risk.sample.frequencies import Frequencies, frequencies
from dalenius.risk.sample.keys import KeyCodes, check_population, column_values

Method = Literal["approximate", "exact"]
ACCEPTED = 0.09
"""Risk that the European Medicines Agency and Health Canada accept for clinical reports."""


def individual_risk(groups: Frequencies, method: Method = "approximate") -> AnyArray:
    """Chance that a row is re-identified: the mean of 1/F given f, F negative binomial with p = f/F.

    Closed forms for f = 1 and 2 (Benedetti and Franconi 1998; Franconi and Polettini 2004). For more, sdcMicro's
    p / (f - (1 - p)), or the hypergeometric function itself (``method="exact"``). Without weights it is 1/f.

    Examples
    --------
    >>> found = frequencies({"sex": ["f", "m", "m"], "w": [10.0, 20.0, 30.0]}, ["sex"], weight="w")
    >>> individual_risk(found).round(3).tolist()
    [0.256, 0.036, 0.036]
    """
    one_of("method", method, ("approximate", "exact"))
    f, big = groups.fk, groups.Fk
    if not groups.weighted:
        return 1 / f
    p = np.minimum(f / big, 1.0)
    whole = p >= 1
    safe = np.where(whole, 0.5, p)
    odds, log = safe / (1 - safe), -np.log(safe)
    many = safe**f / f * hyp2f1(f, f, f + 1, 1 - safe) if method == "exact" else safe / (f - (1 - safe))
    risk = np.select([f == 1, f == 2, f > 2], [odds * log, odds - odds**2 * log, many], 0.0)
    return np.where(whole, 1 / f, risk)


def household_risk(risk: AnyArray, household: AnyArray) -> AnyArray:
    """Chance that at least one member of a row's household is re-identified: 1 - Π(1 - risk).

    Examples
    --------
    >>> household_risk(np.array([0.5, 0.5, 0.1]), np.array([1, 1, 2])).round(3).tolist()
    [0.75, 0.75, 0.1]
    """
    _, ids = np.unique(household, return_inverse=True)
    with np.errstate(divide="ignore"):
        logs = np.log1p(-risk)
    return 1 - np.exp(np.bincount(ids, logs)[ids])


@dataclass(frozen=True, eq=False, repr=False)
class SampleRisk:
    """Risk of each row, and of the file.

    ``expected`` is the number of re-identifications to expect; ``household`` is None without a household column.

    Examples
    --------
    >>> sample_risk({"sex": ["f", "m", "m"], "w": [10.0, 20.0, 30.0]}, ["sex"], weight="w").result().name
    'global-risk'
    """

    frequencies: Frequencies
    risk: AnyArray
    household: AnyArray | None
    keys: tuple[str, ...]

    @property
    def expected(self) -> float:
        """Expected number of re-identified rows (units)."""
        return float(self.frequencies.units.most(self.risk).sum())

    @property
    def mean(self) -> float:
        """Mean risk: the share of rows (units) expected to be re-identified."""
        return float(self.frequencies.units.most(self.risk).mean())

    def flagged(self, limit: float = 0.1) -> AnyArray:
        """Rows whose risk is above the limit and stands out (above median + 2 MAD, as sdcMicro reports them)."""
        middle = np.median(self.risk)
        return (self.risk > limit) & (self.risk > middle + 2 * np.median(np.abs(self.risk - middle)))

    def records(self) -> pl.DataFrame:
        """One row per record: who shares its keys, in the file and among all people, and its risk (confidential)."""
        columns = {
            "row": np.arange(len(self.risk)),
            "same_keys": self.frequencies.fk,
            "same_keys_population": self.frequencies.Fk,
            "risk": self.risk,
            "flagged": self.flagged(),
        }
        return pl.DataFrame(columns | ({} if self.household is None else {"household_risk": self.household}))

    def _interval(self) -> Interval:
        """Where the share of re-identified rows lies when each is re-identified by its own chance, independently."""
        risks = self.frequencies.units.most(self.risk)
        half = 1.96 * float(np.sqrt((risks * (1 - risks)).sum())) / len(risks)
        return Interval(100 * max(0.0, self.mean - half), 100 * min(1.0, self.mean + half), kind="prediction")

    def result(self, records: bool = False) -> Result:
        """Global risk as a result with a sentence."""
        units = self.frequencies.units
        values = {
            "expected re-identifications": self.expected,
            "flagged rows": float(self.flagged().sum()),
            "largest risk": float(self.risk.max()),
            "above 0.09, %": units.share(self.risk > ACCEPTED),
        }
        if self.household is not None:
            values |= {
                "household, expected": float(self.household.sum()),
                "household, %": 100 * self.household.mean(),
            }
        levels = {
            f"{units.noun} with fewer than {k} alike": self.frequencies.violations(k) for k in (2, 3, 5)
        }
        text = (
            f"An intruder who knows {', '.join(self.keys)} of everybody would re-identify {figure(self.expected)} of "
            f"the {units.count:,} {units.noun} ({figure(100 * self.mean, '%')}) by matching them with the population."
        )
        if self.household is not None:
            share = figure(100 * float(self.household.mean()), "%")
            text += f" For {share} of the rows somebody of the household would be."
        if not self.frequencies.weighted:
            text += " There are no weights, so every person is taken to be in the file: the worst case."
        return Result(
            name="global-risk",
            value=100 * self.mean,
            unit="%",
            sentence=text,
            interval=self._interval(),
            yardsticks={
                "if everybody were in the file": 100 * float(units.most(1 / self.frequencies.fk).mean())
            },
            values=values,
            table=pl.DataFrame({"figure": list(levels), units.noun: list(levels.values())}),
            counts=WHOLE,
            records=self.records() if records else None,
        )


def sample_risk(
    data: Any,
    keys: Sequence[str] | None = None,
    *,
    weight: str | None = None,
    household: str | None = None,
    population: float | None = None,
    alpha: float | None = 1.0,
    method: Method = "approximate",
) -> SampleRisk:
    """Individual, household and global risk of a sample.

    Parameters
    ----------
    population
        Number of people the sample was drawn from, where there are no weights: everybody stands for as many.

    Examples
    --------
    >>> round(sample_risk({"sex": ["f", "m", "m"]}, ["sex"]).expected, 1)
    2.0
    """
    groups = frequencies(data, keys, weight=weight, alpha=alpha)
    if population is not None and not groups.weighted:
        check_population(population, groups.units.count)
        groups = replace(groups, Fk=groups.fk * population / groups.units.count, weighted=True)
    risk = individual_risk(groups, method)
    owners = column_values(data, household, Role.HOUSEHOLD)
    shared = None if owners is None else household_risk(risk, owners)
    return SampleRisk(groups, risk, shared, KeyCodes.of(data, keys).names)
