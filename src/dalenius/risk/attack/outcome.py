"""What every attack reports: its success on members, on people outside the data, and of a naive guesser."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from dalenius.core.intervals import wilson
from dalenius.core.result import WHOLE, Interval, Result, figure
from dalenius.data.vector import AnyArray

CONTROLS = 4
"""Outsiders tried per person attacked: they cost nothing, and make the comparison as sure as the attack itself is."""


@dataclass(frozen=True)
class Outcome:
    """Successes of one attack.

    The risk is the share of successes that being in the data adds: (a - c) / (1 - c), a the success on members and c
    on outsiders. Without outsiders the naive guesser takes their place, and the figure is not trusted.

    Attributes
    ----------
    both
        Attacks that succeed on members and on outsiders, where each is tried on both (None: they are tried on
        different people).

    Examples
    --------
    >>> outcome = Outcome(30, 100, 10, 100, 0.05)
    >>> round(outcome.risk, 3), outcome.beaten
    (0.222, True)
    """

    hits: float
    attacks: int
    control_hits: float | None
    controls: int
    naive: float
    both: float | None = None

    @classmethod
    def of(cls, members: AnyArray, outsiders: AnyArray | None, naive: float, paired: bool = False) -> Outcome:
        """Count successes (0 to 1 for each person tried)."""
        if outsiders is None:
            return cls(float(members.sum()), len(members), None, 0, naive)
        both = float(np.minimum(members, outsiders).sum()) if paired else None
        return cls(float(members.sum()), len(members), float(outsiders.sum()), len(outsiders), naive, both)

    @property
    def success(self) -> float:
        """Share of members on whom the attack succeeds."""
        return self.hits / self.attacks if self.attacks else float("nan")

    @property
    def control(self) -> float | None:
        """Share of outsiders on whom it succeeds."""
        return None if self.control_hits is None or not self.controls else self.control_hits / self.controls

    @property
    def risk(self) -> float:
        """Share of successes due to being in the data."""
        base = self.control if self.control is not None else self.naive
        return (self.success - base) / (1 - base) if base < 1 else 0.0

    @property
    def beaten(self) -> bool:
        """Whether the attack is clearly better than the naive guesser, so that its failure would mean something."""
        return self.attacks > 0 and wilson(self.hits, self.attacks).low > self.naive

    @property
    def leaks(self) -> bool:
        """Whether the interval of the risk lies above nothing."""
        return self.interval().low > 0

    @property
    def _association(self) -> float:
        """Correlation of success on members and outsiders where both are tried with the same attack."""
        if self.both is None or self.control_hits is None or self.controls != self.attacks:
            return 0.0
        n, a, c = self.attacks, self.hits, self.control_hits
        spread = a * (n - a) * c * (n - c)
        return (n * self.both - a * c) / math.sqrt(spread) if spread > 0 else 0.0

    def interval(self, compared: int = 1) -> Interval:
        """Interval of the risk: Newcombe's for the difference of two (or two paired) shares, from Wilson intervals.

        Newcombe 1998, Statistics in Medicine 17: method 10 for independent and for paired proportions. The worst of
        several outcomes (``compared``) gets a wider one, so that all of them hold together (Bonferroni).
        """
        level = 1 - 0.05 / compared
        a, success = wilson(self.hits, self.attacks, level), self.success
        if self.control_hits is None or not self.controls:
            base, c = self.naive, Interval(self.naive, self.naive)
        else:
            base, c = self.control_hits / self.controls, wilson(self.control_hits, self.controls, level)
        if base >= 1:
            return Interval(-100.0, 100.0)
        low = success - base - self._half(success - a.low, c.high - base)
        high = success - base + self._half(a.high - success, base - c.low)
        return Interval(100 * max(low / (1 - base), -1.0), 100 * min(high / (1 - base), 1.0))

    def _half(self, one: float, other: float) -> float:
        return math.sqrt(max(one**2 - 2 * self._association * one * other + other**2, 0.0))

    def row(self, **labels: str) -> dict[str, object]:
        """The outcome as a row of a table, in per cent."""
        return {
            **labels,
            "members": 100 * self.success,
            "outsiders": None if self.control is None else 100 * self.control,
            "naive": 100 * self.naive,
            "risk": 100 * self.risk,
        }

    def result(
        self,
        name: str,
        doing: str,
        table: pl.DataFrame | None = None,
        compared: int = 1,
        records: pl.DataFrame | None = None,
    ) -> Result:
        """The outcome as a result; ``doing`` completes "The attack … succeeds"."""
        control = self.control
        tried, others = (
            ("people in the data", "people who are not")
            if self.both is None
            else ("bets on the data", "the same bets on people who are not in it")
        )
        text = f"{doing} succeeds for {figure(100 * self.success, '%')} of {self.attacks:,} {tried}"
        if control is None:
            text += (
                f"; a naive guess for {figure(100 * self.naive, '%')}. Without a holdout it cannot be told what being "
                "in the data adds: not trusted."
            )
        else:
            text += (
                f", for {figure(100 * control, '%')} of {others}, and a naive guess for "
                f"{figure(100 * self.naive, '%')}: being in the data adds {figure(100 * self.risk, '%')}."
            )
            if not self.beaten:
                text += (
                    " The attack does not beat the naive guess, so its failure proves nothing: not trusted."
                )
        yardsticks = {"naive": 100 * self.naive} | ({} if control is None else {"outsiders": 100 * control})
        spread = self.interval(compared)
        return Result(
            name=name,
            value=100 * max(self.risk, -1.0),
            unit="%",
            sentence=text,
            interval=spread,
            level=None if control is None else 100 * self.success,
            outside=None if control is None else 100 * control,
            added_interval=None
            if control is None
            else replace(spread, low=spread.low * (1 - control), high=spread.high * (1 - control)),
            yardsticks={"nothing learnt": 0.0},
            values={"members": 100 * self.success, **yardsticks},
            table=table,
            counts=WHOLE,
            trusted=control is not None and self.beaten,
            records=records,
        )


def outcome_table(rows: list[dict[str, object]]) -> pl.DataFrame:
    """Outcomes of several targets, first the one to which being in the data adds most people.

    Not the one of the highest risk: where outsiders nearly always succeed, one person more is all that is left to gain.

    Examples
    --------
    >>> everybody, few = Outcome(99.5, 100, 99, 100, 0.5), Outcome(30, 100, 10, 100, 0.05)
    >>> outcome_table([everybody.row(target="x"), few.row(target="y")])["target"].to_list()
    ['y', 'x']
    """
    added = pl.col("members") - pl.coalesce("outsiders", "naive")
    return pl.DataFrame(rows, schema_overrides={"outsiders": pl.Float64}).sort(added, descending=True)
