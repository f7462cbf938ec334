"""Policy lines: what a candidate must meet, as a board would write it down.

repU <= 1 %
DiSCO <= holdout + 5 points
mean S_pMSE <= 10
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from dalenius.core.errors import OptionError
from dalenius.core.result import Result, figure
from dalenius.counts.measure import MEASURES

SHORT_NAMES = {
    "repu": "replicated-uniques",
    "disco": "disco",
    "s_pmse": "two-way-utility",
    "mean s_pmse": "two-way-utility",
}
YARDSTICKS = ("original", "holdout", "baseline")
_LINE = re.compile(
    r"^\s*(?P<expected>expected\s+)?(?P<measure>.+?)\s*(?P<sign><=|>=|≤|≥|<|>)\s*"
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

    ``expected`` in front takes into account that the intruder may not know who is in the data: figure and yardstick are
    multiplied by the scenario's share of the population.

    >>> Rule.parse("expected repU <= 0.1 %").expected
    True
    """

    text: str
    measure: str
    upper: bool
    limit: float
    yardstick: str | None = None
    expected: bool = False
    strict: bool = False

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
        strict = found["sign"] in ("<", ">")
        expected = found["expected"] is not None
        if "%" in text and MEASURES[name].info.unit != "%":
            raise OptionError(f"policy line {text!r}: {name} is not measured in per cent")
        if found["number"] is not None:
            return cls(text.strip(), name, upper, float(found["number"]), None, expected, strict)
        yardstick = found["yardstick"].strip().lower()
        if yardstick not in YARDSTICKS:
            raise OptionError(
                f"policy line {text!r}: {yardstick!r} is no yardstick; use {', '.join(YARDSTICKS)}"
            )
        more = float(found["more"] or 0) * (-1 if found["way"] == "-" else 1)
        return cls(text.strip(), name, upper, more, yardstick, expected, strict)

    def value(self, result: Result, share: float = 1.0) -> float:
        """The figure the line speaks of."""
        return result.value * (share if self.expected else 1.0)

    def bound(self, result: Result, share: float = 1.0) -> float:
        """The number this result must not pass; NaN when its yardstick is not there."""
        if self.yardstick is None:
            return self.limit
        wanted = ("baseline", "holdout", "original") if self.yardstick == "baseline" else (self.yardstick,)
        for name in wanted:
            if name in result.yardsticks:
                return result.yardsticks[name] * (share if self.expected else 1.0) + self.limit
        return math.nan

    def met_by(self, result: Result, share: float = 1.0) -> bool:
        """Whether a result meets the line; a result that is not trusted, or not there, never does."""
        bound, value = self.bound(result, share), self.value(result, share)
        if math.isnan(bound) or math.isnan(value) or not result.trusted:
            return False
        if self.strict and value == bound:
            return False
        return value <= bound if self.upper else value >= bound

    def said(self, result: Result, share: float = 1.0) -> str:
        """One line for the report: the rule, the figure, and whether it is met."""
        bound = self.bound(result, share)
        if math.isnan(bound):
            return f"{self.text}: cannot be judged, there is no {self.yardstick} figure"
        met = self.met_by(result, share)
        word = "met" if met else ("not met" if result.trusted else "not met (the figure is not trusted)")
        shown = figure(self.value(result, share), result.unit)
        return f"{self.text}: {shown} against {figure(bound, result.unit)}, {word}"


@dataclass(frozen=True)
class Finding:
    """What one policy line says of one candidate in one scenario, over all times it was made."""

    rule: Rule
    scenario: str
    met: bool
    said: str


def judge(rule: Rule, scenario: str, share: float, results: Sequence[Result | None]) -> Finding:
    """Judge a line over replicates: every one must meet it, so that a lucky draw does not pass.

    Examples
    --------
    >>> rule = Rule.parse("repU <= 10 %")
    >>> judge(rule, "neighbour", 1.0, [Result("repU", 9.0, "", unit="%"), Result("repU", 11.0, "", unit="%")]).said
    'repU <= 10 %: 11 % against 10 %, not met'
    """
    there = [r for r in results if r is not None]
    if len(there) < len(results) or not there:
        return Finding(rule, scenario, False, f"{rule.text}: not measured, so not met")
    sign = 1.0 if rule.upper else -1.0
    worst = max(there, key=lambda r: (not rule.met_by(r, share), sign * rule.value(r, share)))
    return Finding(rule, scenario, rule.met_by(worst, share), rule.said(worst, share))
