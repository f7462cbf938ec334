"""Policy lines: what a file must meet before it may go out, as a board would write it down.

identical-matches surely added <= 1.5 %
DiSCO surely added <= 5 points
dcr <= 70 %
mean S_pMSE <= 10

``added`` is what being in the data adds: the figure for people in the data minus that for people who are not; ``surely
added`` is what is left of it when chance is given its due: the lower end of its 95 % interval, but never less than half
of the figure, so that setting few people aside does not help.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dalenius.core.errors import OptionError
from dalenius.core.registry import MeasureInfo
from dalenius.core.result import SPREAD, Result, figure
from dalenius.counts.database_pair import DATABASE_MEASURES
from dalenius.counts.measure import MEASURES, full_name
from dalenius.dp.regression.measures import FIT_MEASURES
from dalenius.models.measures import MODEL_MEASURES
from dalenius.risk.distance.closest import LINES
from dalenius.risk.reconstruction.attacked import ATTACKS

SMALL_FILES = f"identical-matches({LINES}) <= 5 %"
"""Of a file with fewer lines than there are people: what it would surely add if it had as many."""
SMALL_FILES_IN_PART = f"part-copies({LINES}) <= 10 %"
"""The same for people who come out in part: of a hundred lines chance decides on a few."""
NEARLY_COPIED = ("near-copies surely added <= 5 points", "part-copies surely added <= 5 points")
"""People whose record comes out, though not whole."""
COPYING = (
    "identical-matches surely added <= 1.5 %",
    SMALL_FILES,
    *NEARLY_COPIED,
    SMALL_FILES_IN_PART,
    "dcr <= 70 %",
)
"""Few more people than strangers come out whole, nearly so or in part, and records are hardly nearer to them than to
strangers. Whole rows are rare events: among 300 people set aside 3 of 100 or none come out by chance. Of a small file
they are counted by its lines too: a hundred lines hold few of two thousand people, were all of them real."""
NEARNESS = (*COPYING, "membership-distance <= 0.65")
"""What must hold before records are called made up. The last sees copies also where few people were set aside, since
it looks from the people in the data to the file and not the other way."""
MOST_WHOLE = 20.0
"""Per cent of real people who may come out whole, were it by chance, in a file whose records are called made up."""
MOST_IN_PART = "part-copies surely added <= 2.5 points"
"""What must hold on top: rows of which most cells were exchanged add a few points, and their rests are somebody's."""
RISKS = (*NEARNESS, "DiSCO surely added <= 5 points", "repU surely added <= 5 points")
"""A limit in each dimension: copying, attribution, singling out, membership. DiSCO and repU scatter by several points
among some hundred people, so that their limits are held against what is sure."""
DEFAULT_POLICY = (*RISKS, "mean S_pMSE <= 10")
KEPT_MEASURE = "unique-matches"
KEPT = f"{KEPT_MEASURE} <= 5 %"
"""Real people who may be alone on columns that are taken over as they are, where the policy says nothing about it."""
ACROSS_TABLES = (
    "family-copies added <= 5 points",
    "known-events added <= 5 points",
    "has-child added <= 5 points",
    "keys-and-orphans >= 100 %",
)
"""What holds on top of the default where there are several tables, as far as they have what it needs."""
PLAIN = {
    "dcr": "lines that are closer to real people than to strangers",
    "near-copies": "real people whom a line comes closer to than anybody else does",
    "part-copies": "real people of whom a line has answers together too rare for chance",
    "unique-matches": "real people who are alone on columns that come out as they were",
    "copying": "real people whose whole record comes out",
    "attribution": "people about whom something true could be read off",
    "singling out": "people who seem to be found",
    "membership": "how well one can tell who took part",
}
"""What a figure is about, by measure or dimension, for people who know none of the measures."""
PLAIN_LINES = {
    "identical-matches": "are the whole record of a real person",
    "part-copies": "have answers of a real person together too rare for chance",
}
"""The same for figures of lines."""
DIMENSIONS = ("copying", "attribution", "singling out", "membership")
YARDSTICKS = ("original", "holdout", "baseline")
_LINE = re.compile(
    r"^\s*(?P<expected>expected\s+)?(?P<measure>.+?)(?P<added>(?P<surely>\s+surely)?\s+added)?\s*(?P<sign><=|>=|≤|≥|<|>)\s*"
    r"(?:(?P<yardstick>[a-z][a-z ]*?)\s*(?:(?P<way>[+-])\s*(?P<more>\d+(?:\.\d+)?)\s*(?:points?|%)?)?"
    r"|(?P<number>-?\d+(?:\.\d+)?)\s*(?:%|points?)?)\s*$",
    re.IGNORECASE,
)


def described(name: str) -> MeasureInfo:
    """What is known about a figure: of files or databases, of what is published, of a model, of a private fit.

    Examples
    --------
    >>> described("proved-unique").subject, described("dcr").subject
    ('published', 'pair')
    """
    if name in MODEL_MEASURES:
        return MODEL_MEASURES[name]
    if name in FIT_MEASURES:
        return FIT_MEASURES[name]
    if name in ATTACKS:
        return ATTACKS[name]
    return DATABASE_MEASURES[name].info if name in DATABASE_MEASURES else MEASURES[name].info


def _check_limit(text: str, info: MeasureInfo, limit: float, upper: bool, added: bool) -> None:
    """Raise where no figure can reach a limit, so that the line says something else than who wrote it meant."""
    low, high = info.bounds
    if added:
        low, high = low - high, high - low
    nothing = not upper and not added and limit <= low and info.better == "higher" and info.family == "risk"
    if low <= limit <= high and not nothing:
        return
    unit = ("points" if added else "%") if info.unit == "%" else ""
    ends = (
        f"from {figure(low, unit)} to {figure(high, unit)}"
        if math.isfinite(high)
        else f"{figure(low)} or more"
    )
    what = f"what is added to {info.name}, or lies between it and a yardstick," if added else info.name
    lets = "lets every file pass" if nothing or (limit > high) == upper else "lets no file pass"
    raise OptionError(f"policy line {text!r}: {what} is {ends}, so the line {lets}; write another limit")


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
    >>> Rule.parse("l(diagnosis) >= 3").part
    'diagnosis'
    >>> Rule.parse("DiSCO added <= 5 points").added
    True
    >>> from dalenius.core.result import Interval
    >>> found = Result("disco", 12.0, "", outside=4.0, added_interval=Interval(3.0, 13.0))
    >>> [Rule.parse(f"DiSCO {words} <= 5 points").value(found) for words in ("added", "surely added")]
    [8.0, 4.0]
    """

    text: str
    measure: str
    upper: bool
    limit: float
    yardstick: str | None = None
    expected: bool = False
    strict: bool = False
    added: bool = False
    surely: bool = False
    part: str = ""

    @classmethod
    def parse(cls, text: str) -> Rule:
        """Read a policy line."""
        words = _LINE.match(text)
        if words is None:
            raise OptionError(f"policy line {text!r} is not understood; write for example 'repU <= 1 %'")
        spelled, part = _target_of(words["measure"].strip())
        name = full_name(spelled)
        info = described(name)
        upper = words["sign"] in ("<=", "<", "≤")
        strict = words["sign"] in ("<", ">")
        expected = words["expected"] is not None
        if "%" in text and info.unit != "%":
            raise OptionError(f"policy line {text!r}: {name} is not measured in per cent")
        added = words["added"] is not None
        if added and (words["number"] is None or info.family != "risk"):
            raise OptionError(f"policy line {text!r}: 'added' goes with a risk figure and a number")
        if part and (
            added or words["number"] is None
        ):  # neither what is added nor a yardstick is known by column
            raise OptionError(f"policy line {text!r}: a column in brackets goes with a level and a number")
        counted = part == LINES and name in PLAIN_LINES
        if part and info.family == "risk" and "targets" not in info.needs and not counted:
            raise OptionError(f"policy line {text!r}: {name} has no part {part!r}; take the brackets out")
        surely = words["surely"] is not None
        turned = not upper if added else upper == (info.better == "higher")  # what is added is never good
        if turned and info.better != "centre":
            good = "less is better" if added else info.best
            raise OptionError(f"policy line {text!r}: of {name} {good}; turn the sign round")
        if surely and not (upper and (info.covered or info.added_covered)):
            raise OptionError(
                f"policy line {text!r}: 'surely' goes with an upper limit of a figure whose range is an interval"
            )
        if words["number"] is not None:
            limit = float(words["number"])
            _check_limit(text, info, limit, upper, added)
            return cls(text.strip(), name, upper, limit, None, expected, strict, added, surely, part)
        yardstick = words["yardstick"].strip().lower()
        if yardstick not in YARDSTICKS:
            raise OptionError(
                f"policy line {text!r}: {yardstick!r} is not a yardstick; use {', '.join(YARDSTICKS)}"
            )
        more = float(words["more"] or 0) * (-1 if words["way"] == "-" else 1)
        _check_limit(text, info, more, upper, added=True)  # the distance of two figures, as what is added is
        return cls(text.strip(), name, upper, more, yardstick, expected, strict)

    @property
    def idle(self) -> bool:
        """Whether the line lets every file pass, since no figure can be worse than its limit."""
        low, high = described(self.measure).bounds
        if self.yardstick is not None:
            return False
        return self.limit >= high if self.upper else self.limit <= low

    def value(self, result: Result, share: float = 1.0) -> float:
        """The figure the line speaks of; NaN when it was not measured."""
        value = result.values.get(self.part, math.nan) if self.part else result.value
        if self.added:
            value = math.nan if result.added is None else result.added
        if self.surely:
            value = max(result.added_interval.low, value / 2) if result.added_interval else math.nan
        return value * (share if self.expected else 1.0)

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
        if self.added and math.isnan(self.value(result, share)):
            return f"{self.text}: cannot be judged, there is no figure for people outside the data"
        if math.isnan(bound):
            return f"{self.text}: cannot be judged, there is no {self.yardstick} figure"
        met = self.met_by(result, share)
        word = "met" if met else ("not met" if result.trusted else "not met (the figure is not trusted)")
        unit = "points" if self.added and result.unit == "%" else result.unit
        shown = figure(self.value(result, share), unit)
        crossed = self.crossed(result, share)
        if self.surely:  # what is judged beside what was measured; a crossed range says it itself
            measured = figure(replace(self, surely=False).value(result, share), unit)
            shown = f"surely {shown}{'' if crossed else f' of {measured}'}"
        near = f" ({crossed}: the limit lies within it)" if crossed else ""
        return f"{self.text}: {shown} against {figure(bound, unit)}{near}, {word}"

    def crossed(self, result: Result, share: float = 1.0) -> str:
        """The range of the figure where the limit lies within it, so that chance decides; empty where it does not.

        Examples
        --------
        >>> from dalenius.core.result import Interval
        >>> found = Result("disco", 12.0, "", unit="%", outside=9.0, added_interval=Interval(-1.0, 7.0))
        >>> Rule.parse("DiSCO surely added <= 5 points").crossed(found)
        'measured 3 points, 95 % interval -1 to 7'
        >>> Rule.parse("DiSCO surely added <= 8 points").crossed(found)
        ''
        """
        bound, spread = self.bound(result, share), result.added_interval if self.added else result.interval
        if spread is None or self.part or math.isnan(bound):
            return ""
        part = share if self.expected else 1.0
        low, high = spread.low * part, spread.high * part
        beyond, within = (high, low) if self.upper else (low, high)
        if not (min(beyond, within) <= bound < max(beyond, within)) or beyond == bound:
            return ""
        info = described(self.measure)
        sure = info.added_covered or info.covered if self.added else info.covered or info.family != "risk"
        kind = spread.words.partition(",")[0] if sure else SPREAD
        measured = result.added if self.surely and result.added is not None else None
        unit = "points" if result.unit == "%" else result.unit
        head = "" if measured is None else f"measured {figure(measured * part, unit)}, "
        return f"{head}{kind} {figure(low)} to {figure(high)}"


@dataclass(frozen=True)
class Finding:
    """What one policy line says of one candidate in one scenario, over all times it was made."""

    rule: Rule
    scenario: str
    met: bool
    said: str
    value: float = math.nan
    bound: float = math.nan
    unit: str = ""
    crossed: str = ""
    """The range of the figure, where the limit lies within it."""
    measured: float = math.nan
    """The figure before chance was given its due."""
    doubt: str = ""
    """Why no figure of the file can be trusted, where that is so."""
    unmeasured: str = ""
    """What the figure would have needed, where it was not measured at all."""

    @property
    def over(self) -> float:
        """How far what was measured lies beyond the limit; below 0 within it."""
        return self.measured - self.bound if self.rule.upper else self.bound - self.measured

    @property
    def beyond(self) -> bool:
        """Whether what was measured is on the wrong side of the limit, met or not."""
        return self.over > 0

    @property
    def judged(self) -> bool:
        """Whether there was a figure and a limit to hold it against, and the figure can be trusted."""
        beyond = not math.isnan(self.value) and not math.isnan(self.bound) and not self._within
        return self.met or (beyond and not self.doubt)

    @property
    def excess(self) -> float:
        """How far beyond the limit the figure is, as a share of the limit; infinite where it cannot be judged."""
        if self.met:
            return 0.0
        if self.doubt or math.isnan(self.value) or math.isnan(self.bound):
            return math.inf
        return 0.0 if self._within else abs(self.value - self.bound) / max(abs(self.bound), 1e-9)

    @property
    def _within(self) -> bool:
        """Whether the figure is within the limit: if the line is not met all the same, the figure is not trusted."""
        return self.value < self.bound if self.rule.upper else self.value > self.bound

    @property
    def about(self) -> str:
        """What the line is about, without words of the field."""
        info = described(self.rule.measure)
        if self.rule.part == LINES:
            return f"lines that {PLAIN_LINES[info.name]}"
        return PLAIN.get(info.name) or PLAIN.get(info.dimension or "") or "its distance from the real data"

    @property
    def plainly(self) -> str:
        """Why the line is not met, for a sentence without words of the field."""
        what = self.about
        if self.doubt:
            return f"this: {self.doubt.rstrip('.')}"
        if self.unmeasured:
            return f"{what}: {self.unmeasured}, so this cannot be judged, nor called safe"
        if math.isnan(self.value) or math.isnan(self.bound):
            return f"{what}: without people kept out of the data (a holdout) this cannot be judged, nor called safe"
        if self._within:
            return f"{what}: the figure cannot be trusted, so the file cannot be called safe"
        limit = "at most" if self.rule.upper else "at least"
        lines = " for sure, had it as many lines as there are people" if self.rule.part == LINES else ""
        more = (
            f"{' for sure' if self.rule.surely else ''} more than for strangers" if self.rule.added else lines
        )
        unit = "points" if self.rule.added and self.unit == "%" else self.unit
        value, bound = figure(self.value, unit), figure(self.bound, unit)
        return f"{what}: {value}{more}, where {limit} {bound} is allowed"


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
        return Finding(
            rule, scenario, False, f"{rule.text}: not measured, so not met", unmeasured=_lacking(rule.measure)
        )
    sign = 1.0 if rule.upper else -1.0
    worst = max(there, key=lambda r: (not rule.met_by(r, share), sign * rule.value(r, share)))
    return Finding(
        rule, scenario, rule.met_by(worst, share), rule.said(worst, share), rule.value(worst, share),
        rule.bound(worst, share), worst.unit, rule.crossed(worst, share),
        replace(rule, surely=False).value(worst, share), worst.doubt,
    )  # fmt: skip


def _lacking(name: str) -> str:
    """Why a figure may not have been measured, in words that hold whatever was given."""
    named = sorted(described(name).needs & {"keys", "targets"})
    return f"it was not measured, which takes {' and '.join(named)}" if named else "it was not measured"


def refusals(results: Mapping[str, Result], lines: Sequence[str] = RISKS) -> list[Finding]:
    """The limits that a measured file does not keep to, by default one in each dimension of risk.

    Examples
    --------
    >>> from dalenius.evaluation import evaluate
    >>> people, others = {"a": ["x", "y"] * 20, "b": [1, 2] * 20}, {"a": ["x", "y"] * 20, "b": [8, 9] * 20}
    >>> looked = ["identical-matches", "near-copies", "part-copies", "dcr"]
    >>> found = evaluate(people, people, holdout=others, measures=looked)
    >>> sorted({finding.rule.measure for finding in refusals(found.results, COPYING)})
    ['dcr', 'identical-matches']
    """
    judged = [judge(rule, "", 1.0, [results.get(rule.measure)]) for rule in map(Rule.parse, lines)]
    return [finding for finding in judged if not finding.met]


def copied_beyond(result: Result) -> bool:
    """Whether surely more people than is allowed come out nearly whole, or in part.

    Examples
    --------
    >>> from dalenius.core.result import Interval
    >>> [
    ...     copied_beyond(Result("near-copies", 90.0, "", unit="%", outside=1.0, added_interval=Interval(*ends)))
    ...     for ends in ((87.0, 91.0), (2.0, 91.0))
    ... ]
    [True, True]
    >>> copied_beyond(Result("near-copies", 8.0, "", unit="%", outside=2.0, added_interval=Interval(3.0, 9.0)))
    False
    """
    lines = [line for line in NEARLY_COPIED if line.startswith(result.name)]
    return any(finding.beyond for finding in refusals({result.name: result}, lines))


def worst_missed(findings: Sequence[Finding]) -> Finding | None:
    """The limit that is missed by most: first that no figure can be trusted, last what could not be judged.

    Examples
    --------
    >>> found = [judge(Rule.parse(line), "", 1.0, held) for line, held in (
    ...     ("DiSCO <= 5 %", [None]), ("repU <= 1 %", [Result("replicated-uniques", 9.0, "", unit="%")])
    ... )]
    >>> worst_missed(found).rule.text, worst_missed(found[:1]).rule.text, worst_missed([])
    ('repU <= 1 %', 'DiSCO <= 5 %', None)
    """
    missed = [finding for finding in findings if not finding.met]
    return max(missed, key=lambda f: (bool(f.doubt), 0 < f.excess < math.inf, f.excess), default=None)


def copies_nobody(results: Mapping[str, Result]) -> bool:
    """Whether the measures of copying agree that no records of real people come out again.

    A limit may let a few whole records pass. They are not made up, be they ever so few: no more people in the data than
    strangers may come out whole, but for chance. Nor is a file whose rows are patched together out of real ones.

    Examples
    --------
    >>> copies_nobody({})
    False
    """
    whole = results.get("identical-matches")
    if whole is None or whole.added_interval is None or refusals(results, (*NEARNESS, MOST_IN_PART)):
        return False
    return whole.value <= MOST_WHOLE and whole.added_interval.low <= 0


def open_dimensions(policy: Sequence[Rule]) -> list[str]:
    """Dimensions of risk for which a policy sets no limit, or none that a file could miss.

    Examples
    --------
    >>> open_dimensions([Rule.parse("repU <= 1 %"), Rule.parse("dcr <= 60 %")])
    ['attribution', 'membership']
    >>> open_dimensions([Rule.parse("repU <= 100 %"), Rule.parse("dcr <= 60 %")])
    ['attribution', 'singling out', 'membership']
    >>> "singling out" in open_dimensions([Rule.parse("proved-unique <= 0 %")])
    True
    """
    # a limit for tables says nothing about the file beside them
    infos = [described(rule.measure) for rule in policy if not rule.idle]
    held = {info.dimension for info in infos if info.subject == "pair"}
    return [name for name in DIMENSIONS if name not in held]


def _target_of(spelled: str) -> tuple[str, str]:
    """The name of a figure, and the column in brackets behind it: ``l(diagnosis)``."""
    bracketed = re.fullmatch(r"([\w-]+)\((.+)\)", spelled)
    return (bracketed[1], bracketed[2].strip()) if bracketed is not None else (spelled, "")
