"""How well a score tells members from outsiders: AUC, and true positives at few false ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import polars as pl

from dalenius.core.intervals import wilson
from dalenius.core.later import stats
from dalenius.core.result import Interval
from dalenius.data.vector import AnyArray
from dalenius.risk.epsilon import epsilon_from_attack


@dataclass(frozen=True, eq=False, repr=False)
class Curve:
    """Scores of members and outsiders; higher means "was in the data".

    Examples
    --------
    >>> curve = Curve(np.array([0.9, 0.8, 0.2]), np.array([0.7, 0.1, 0.1]))
    >>> round(curve.auc, 3), curve.tpr_at(0.01)
    (0.889, 0.6666666666666666)
    """

    members: AnyArray
    outsiders: AnyArray

    @property
    def auc(self) -> float:
        """Chance that a member scores above an outsider (ties count half)."""
        a, b = len(self.members), len(self.outsiders)
        ranks = stats.rankdata(np.concatenate([self.members, self.outsiders]))
        return float((ranks[:a].sum() - a * (a + 1) / 2) / (a * b)) if a and b else math.nan

    def interval(self, level: float = 0.95) -> Interval:
        """Interval of the AUC (Hanley and McNeil 1982)."""
        auc, a, b = self.auc, len(self.members), len(self.outsiders)
        first, second = auc / (2 - auc), 2 * auc**2 / (1 + auc)
        variance = (auc * (1 - auc) + (a - 1) * (first - auc**2) + (b - 1) * (second - auc**2)) / (a * b)
        half = (1.96 if level == 0.95 else NormalDist().inv_cdf(0.5 + level / 2)) * math.sqrt(
            max(variance, 0.0)
        )
        return Interval(max(0.0, auc - half), min(1.0, auc + half), level)

    def threshold(self, fpr: float) -> float:
        """Smallest threshold whose false positives stay within ``fpr``: scores must lie above it."""
        allowed = math.floor(fpr * len(self.outsiders))
        place = len(self.outsiders) - 1 - allowed
        return float(np.partition(self.outsiders, place)[place])

    def tpr_at(self, fpr: float) -> float:
        """Share of members found when at most a share ``fpr`` of outsiders is accused."""
        return float(np.mean(self.members > self.threshold(fpr)))

    def tpr_interval(self, fpr: float) -> Interval:
        """Wilson interval of `tpr_at`."""
        return wilson(self.tpr_at(fpr) * len(self.members), len(self.members))

    def fpr_interval(self, fpr: float) -> Interval:
        """Wilson interval of the share of outsiders who are accused at the threshold of `tpr_at`."""
        accused = np.count_nonzero(self.outsiders > self.threshold(fpr))
        return wilson(float(accused), len(self.outsiders))

    def epsilon_floor(self, fpr: float = 0.01) -> float:
        """Smallest ε that the attack leaves possible, its rates being estimates: few members found, many accused."""
        low, accused = self.tpr_interval(fpr).low, self.fpr_interval(fpr).high
        return epsilon_from_attack(low, accused) if low > accused else 0.0

    def table(self, rates: tuple[float, ...] = (0.001, 0.01, 0.1)) -> pl.DataFrame:
        """Share of members found at a few false-positive rates."""
        return pl.DataFrame(
            {"false positives": list(rates), "members found": [self.tpr_at(r) for r in rates]}
        )
