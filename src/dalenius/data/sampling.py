"""`Sampling`: what a schema says of a survey beyond the roles of columns, such as how replicate weights were made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Replication = Literal["BRR", "jackknife", "stratified-jackknife", "bootstrap"]
"""How supplied replicate weights were made."""


@dataclass(frozen=True)
class Sampling:
    """How replicate weights were made, and which margins the weights were brought to.

    Attributes
    ----------
    replicates
        "BRR" (balanced half-samples), "jackknife" (JK1: each replicate leaves out one of all units),
        "stratified-jackknife" (JKn: one of a stratum's units) or "bootstrap".
    fay
        Fay's factor of the half-samples: the part of its weight that a left-out unit keeps.
    around
        Whether squared differences are taken from the full sample's "estimate" (the safe side) or from the "mean" of
        the replicates, as R's survey and Stata do unasked.
    scale
        What the sum of squared differences is multiplied by, if it is not the usual factor of the kind.
    calibrated
        Columns whose totals the weights were calibrated to: variances use what these columns leave unexplained
        (Deville, Särndal 1992).

    Examples
    --------
    >>> Sampling("BRR", fay=0.5).factor(20)
    0.2
    >>> Sampling("jackknife").factor(50)
    0.98
    """

    replicates: Replication | None = None
    fay: float = 0.0
    scale: float | None = None
    calibrated: tuple[str, ...] = ()
    around: Literal["estimate", "mean"] = "estimate"

    def factor(self, count: int) -> float:
        """What the sum of squared differences of so many replicates is multiplied by.

        Of a stratified jackknife it is 1: each replicate has a factor of its stratum besides.
        """
        if self.scale is not None:
            return self.scale
        if self.replicates == "BRR":
            return 1 / (count * (1 - self.fay) ** 2)
        if self.replicates == "jackknife":
            return (count - 1) / count
        return 1.0 if self.replicates == "stratified-jackknife" else 1 / count

    def faults(self) -> list[str]:
        """Everything wrong with it on its own."""
        faults = []
        if self.replicates is not None and self.replicates not in get_args(Replication):
            faults.append(f"sampling: replicates must be one of {', '.join(get_args(Replication))}")
        if not 0 <= self.fay < 1:
            faults.append("sampling: fay must be at least 0 and below 1")
        if self.fay and self.replicates != "BRR":
            faults.append("sampling: fay goes with replicates BRR")
        if self.around not in ("estimate", "mean"):
            faults.append("sampling: around must be estimate or mean")
        if self.scale is not None and not self.scale > 0:
            faults.append("sampling: scale must be above 0")
        return faults


UNKNOWN = Sampling()
"""Nothing is known beyond the roles of columns."""
