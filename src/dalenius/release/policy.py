"""Policy lines: what a candidate must meet, as a board would write it down.

repU <= 1 %
DiSCO <= holdout + 5 points
mean S_pMSE <= 10
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from dalenius.core.errors import OptionError
from dalenius.core.result import Result, figure
from dalenius.counts.measure import MEASURES

SHORT_NAMES = {"repu": "replicated-uniques", "disco": "disco", "mean s_pmse": "two-way-utility"}
YARDSTICKS = ("original", "holdout", "baseline")
_LINE = re.compile(
    r"^\s*(?P<measure>.+?)\s*(?P<sign><=|>=|≤|≥|<|>)\s*"
    r"(?:(?P<yardstick>[a-z][a-z ]*?)\s*(?:(?P<way>[+-])\s*(?P<more>\d+(?:\.\d+)?)\s*(?:points?|%)?)?"
    r"|(?P<number>-?\d+(?:\.\d+)?)\s*(?:%|points?)?)\s*$",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Rule:
    """One line of a policy.

    Examples
    --------
    >>> rule = Rule.parse("repU <= 1 %")
    >>> rule.measure, rule.limit, rule.upper
    ('replicated-uniques', 1.0, True)
    >>> Rule.parse("DiSCO <= holdout + 5 points").yardstick
    'holdout'
    """

    text: str
    measure: str
    upper: bool
    limit: float
    yardstick: str | None = None

    @classmethod
    def parse(cls, text: str) -> Rule:
        """Read a policy line."""
        found = _LINE.match(text)
        if found is None:
            raise OptionError(f"policy line {text!r} is not understood; write for example 'repU <= 1 %'")
        spelled = found["measure"].strip()
        name = SHORT_NAMES.get(spelled.lower(), spelled)
        MEASURES[name]
        upper = found["sign"] in ("<=", "<", "≤")
        if found["number"] is not None:
            return cls(text.strip(), name, upper, float(found["number"]))
        yardstick = found["yardstick"].strip().lower()
        if yardstick not in YARDSTICKS:
            raise OptionError(
                f"policy line {text!r}: {yardstick!r} is no yardstick; use {', '.join(YARDSTICKS)}"
            )
        more = float(found["more"] or 0) * (-1 if found["way"] == "-" else 1)
        return cls(text.strip(), name, upper, more, yardstick)

    def bound(self, result: Result) -> float:
        """The number this result must not pass; NaN when its yardstick is not there."""
        if self.yardstick is None:
            return self.limit
        wanted = ("baseline", "holdout", "original") if self.yardstick == "baseline" else (self.yardstick,)
        for name in wanted:
            if name in result.yardsticks:
                return result.yardsticks[name] + self.limit
        return math.nan

    def met_by(self, result: Result) -> bool:
        """Whether a result meets the line; a result that is not trusted, or not there, never does."""
        bound = self.bound(result)
        if math.isnan(bound) or math.isnan(result.value) or not result.trusted:
            return False
        return result.value <= bound if self.upper else result.value >= bound

    def said(self, result: Result) -> str:
        """One line for the report: the rule, the figure, and whether it is met."""
        bound = self.bound(result)
        if math.isnan(bound):
            return f"{self.text}: cannot be judged, there is no {self.yardstick} figure"
        word = (
            "met"
            if self.met_by(result)
            else ("not met" if result.trusted else "not met (the figure is not trusted)")
        )
        return (
            f"{self.text}: {figure(result.value, result.unit)} against {figure(bound, result.unit)}, {word}"
        )
