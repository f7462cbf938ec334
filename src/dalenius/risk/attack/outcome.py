"""What every attack reports: its success on members, on people outside the data, and of a naive guesser."""

from __future__ import annotations

import math
from dataclasses import dataclass

import polars as pl

from dalenius.core.intervals import wilson
from dalenius.core.result import Interval, Result, figure


@dataclass(frozen=True)
class Outcome:
    """Successes of one attack.

    The risk is the share of successes that being in the data adds: (a - c) / (1 - c), a the success on members and c
    on outsiders. Without outsiders the naive guesser takes their place, and the figure is not trusted.

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

    def interval(self) -> Interval:
        """Interval of the risk: Newcombe's for the difference of two shares, from their Wilson intervals."""
        a, success = wilson(self.hits, self.attacks), self.success
        if self.control_hits is None or not self.controls:
            base, c = self.naive, Interval(self.naive, self.naive)
        else:
            base, c = self.control_hits / self.controls, wilson(self.control_hits, self.controls)
        if base >= 1:
            return Interval(-100.0, 100.0)
        low = success - base - math.hypot(success - a.low, c.high - base)
        high = success - base + math.hypot(a.high - success, base - c.low)
        return Interval(100 * max(low / (1 - base), -1.0), 100 * min(high / (1 - base), 1.0))

    def result(self, name: str, doing: str, table: pl.DataFrame | None = None, note: str = "") -> Result:
        """The outcome as a result; ``doing`` completes "The attack … succeeds"."""
        control = self.control
        text = (
            f"{doing} succeeds for {figure(100 * self.success, '%')} of {self.attacks:,} people in the data"
        )
        if control is None:
            text += (
                f"; a naive guess for {figure(100 * self.naive, '%')}. Without a holdout it cannot be told what being "
                "in the data adds: not trusted."
            )
        else:
            text += (
                f", for {figure(100 * control, '%')} of people who are not, and a naive guess for "
                f"{figure(100 * self.naive, '%')}: being in the data adds {figure(100 * self.risk, '%')}."
            )
            if not self.beaten:
                text += (
                    " The attack does not beat the naive guess, so its failure proves nothing: not trusted."
                )
        yardsticks = {"naive": 100 * self.naive} | ({} if control is None else {"outsiders": 100 * control})
        return Result(
            name=name,
            value=100 * max(self.risk, -1.0),
            unit="%",
            sentence=text + note,
            interval=self.interval(),
            yardsticks={"nothing learnt": 0.0},
            values={"members": 100 * self.success, **yardsticks},
            table=table,
            trusted=control is not None and self.beaten,
        )
