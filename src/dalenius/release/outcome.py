"""`Release`: what came of a plan. Which candidates meet the policy, which one was chosen, and why."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from dalenius.core.maps import frontier
from dalenius.core.pictures import picture
from dalenius.core.registry import MeasureInfo
from dalenius.core.replicates import mean_result
from dalenius.core.result import Result, figure
from dalenius.counts.measure import MEASURES
from dalenius.evaluation.policy import Finding, copies_nobody, judge
from dalenius.release.jobs import Figures, job_path, read_figures, read_ledger
from dalenius.release.plan import Plan
from dalenius.synth import METHODS, Candidate

if TYPE_CHECKING:
    import altair as alt

MOST_MAPS = 3
"""Maps a notebook shows: one for each of the first risk measures."""


@dataclass(frozen=True)
class Judged:
    """A candidate, the figures of every file that was made of it, and what the policy says.

    ``runs`` holds the figures of each replicate; the first replicate is the file that would be released. ``figures``
    are means over replicates with their range.
    """

    candidate: Candidate
    runs: tuple[Figures, ...]
    figures: Figures
    findings: tuple[Finding, ...]
    notes: Mapping[str, list[str]]
    ledger: str = ""

    @property
    def reference(self) -> bool:
        """Whether the method copies whole rows: shown beside the others to read them by, never released."""
        return METHODS[self.candidate.method].info.copies_rows

    @property
    def safe(self) -> bool:
        """Whether it may be released: no reference, and every line of the policy met in every scenario, each time."""
        return not self.reference and all(finding.met for finding in self.findings)

    @property
    def broken(self) -> list[str]:
        """The policy lines that are not met, in words."""
        own = ["copies whole rows of the data; a reference, never a release"] if self.reference else []
        return own + [f"{f.scenario}: {f.said}" for f in self.findings if not f.met]

    @property
    def refusal(self) -> str:
        """Why it was refused, in one sentence that names the limit that is missed by most; empty where it was not."""
        name = f"'{self.candidate.name}'"
        if self.reference:
            return f"{name} copies whole rows of the data: it is shown to read the others by, and is never released."
        missed = sorted((f for f in self.findings if not f.met), key=lambda f: -f.excess)
        if not missed:
            return ""
        others = len({f.rule.text for f in missed}) - 1
        more = f" ({others} more limit{'s are' if others > 1 else ' is'} missed)" if others else ""
        return f"{name} was refused for {missed[0].plainly}{more}."

    @property
    def made_up(self) -> bool:
        """Whether the measures of copying agree, each time it was made, that nobody's record comes out again."""
        return not self.reference and all(copies_nobody(next(iter(run.values()))) for run in self.runs)


@dataclass(frozen=True)
class Release:
    """What came of a plan; renders itself in a notebook."""

    plan: Plan
    judged: tuple[Judged, ...]
    chosen: Judged | None
    why: str
    work: Path

    @property
    def refusals(self) -> list[str]:
        """One sentence for each candidate that was not chosen: the limit that stood against it, or who is better."""
        lines = [judged.refusal for judged in self.judged if not judged.safe]
        if self.chosen is not None:
            best, info = utility(self.plan, self.chosen), MEASURES[self.plan.choose].info
            others = [j for j in self.judged if j.safe and j is not self.chosen]
            lines += [
                f"'{j.candidate.name}' meets every limit too and is no more useful "
                f"({figure(utility(self.plan, j))} against {figure(best)}; {info.best})."
                for j in others
                if self.plan.choose in j.figures[self.plan.scenarios[0].name]
            ]
        return lines

    @property
    def date(self) -> str:
        """Day the run began."""
        return (self.work / "date").read_text(encoding="utf-8").strip()

    def data(self, candidate: Candidate, replicate: int = 0) -> Path:
        """File of one made candidate."""
        return job_path(self.work, candidate, replicate).with_suffix(".parquet")

    def points(self, risk: str, scenario: str | None = None) -> pl.DataFrame:
        """Candidates by one risk figure and the utility figure of the choice, with ranges: what the map draws."""
        where = scenario or self.plan.scenarios[0].name
        utility = MEASURES[self.plan.choose].info
        rows = []
        for judged in self.judged:
            r, u = judged.figures[where].get(risk), judged.figures[where].get(self.plan.choose)
            if r is None or u is None:
                continue
            rows.append(
                {
                    "candidate": judged.candidate.name, "risk": r.value, **_ends("risk", r),
                    "utility": utility.on_axis(u.value), **_ends("utility", u, utility),
                    "risk_title": MEASURES[risk].info.title, "utility_title": utility.axis[0],
                    "utility_better": utility.axis[1], "original_risk": r.yardsticks.get("original"),
                    "safe": judged.safe,
                    "chosen": self.chosen is not None and judged.candidate == self.chosen.candidate,
                    "risk_limit": self._limit(judged, risk, where),
                    "utility_limit": self._limit(judged, utility.name, where),
                }
            )  # fmt: skip
        numbers = (
            "risk_low",
            "risk_high",
            "utility_low",
            "utility_high",
            "original_risk",
            "risk_limit",
            "utility_limit",
        )
        return pl.DataFrame(rows, schema_overrides=dict.fromkeys(numbers, pl.Float64))

    def _limit(self, judged: Judged, measure: str, scenario: str) -> float | None:
        """The strictest limit of the policy for a figure, where it is the same kind of number as the map's."""
        result = judged.figures[scenario].get(measure)
        rules = [r for r in self.plan.policy if r.measure == measure and not r.expected]
        bounds = [r.bound(result) for r in rules] if result is not None else []
        return None if not bounds else (min(bounds) if rules[0].upper else max(bounds))

    @property
    def risks(self) -> list[str]:
        """Risk measures of the run, those of the policy first."""
        there = self.judged[0].figures[self.plan.scenarios[0].name]
        return [n for n in self.plan.measured if n in there and MEASURES[n].info.family == "risk"]

    def chart(self, risk: str | None = None) -> alt.TopLevelMixin:
        """Risk–utility map with the region the policy allows."""
        from dalenius.core.maps import risk_utility_map  # noqa: PLC0415 (charts are loaded when looked at)

        return risk_utility_map(self.points(risk or self.risks[0]))

    @property
    def table(self) -> pl.DataFrame:
        """Pareto table: candidates from safest to most useful, whether anybody beats them, and the policy."""
        points = self.points(self.risks[0])
        return (
            points.with_columns(pl.Series("unbeaten", frontier(points)))
            .sort("risk", "utility")
            .select(
                "candidate", "risk", "utility", "unbeaten", pl.col("safe").alias("meets_policy"), "chosen"
            )
        )

    def _repr_html_(self) -> str:
        broken = "".join(
            f"<li>{html.escape(j.candidate.name)}: {html.escape(line)}</li>"
            for j in self.judged
            for line in j.broken
        )
        head = f"<h3>{html.escape(self.plan.title)}</h3><p>{html.escape(self.why)}</p>"
        maps = "".join(picture(self.chart(risk)) for risk in self.risks[:MOST_MAPS])
        missed = f"<p>Policy lines that are not met:</p><ul>{broken}</ul>" if broken else ""
        return f"{head}{maps}{self.table._repr_html_()}{missed}"


def _ends(name: str, result: Result, info: MeasureInfo | None = None) -> dict[str, float | None]:
    """Ends of the interval on an axis; an axis of distances from a centre shows none."""
    spread = None if info is not None and info.centre is not None else result.interval
    return {f"{name}_low": spread.low if spread else None, f"{name}_high": spread.high if spread else None}


def conclude(plan: Plan, work: Path) -> Release:
    """Judge all finished candidates by the policy and choose."""
    judged = tuple(_judged(plan, work, candidate) for candidate in plan.candidates)
    chosen, why = _choice(plan, judged)
    return Release(plan, judged, chosen, why, work)


def _judged(plan: Plan, work: Path, candidate: Candidate) -> Judged:
    paths = [job_path(work, candidate, r) for r in range(plan.replicates)]
    read = [read_figures(path) for path in paths]
    runs = tuple(figures for figures, _ in read)
    averaged = {s.name: _averaged([run[s.name] for run in runs]) for s in plan.scenarios}
    ledger = "\n".join(text for text in (read_ledger(path) for path in paths[:1]) if text)
    return Judged(candidate, runs, averaged, tuple(_findings(plan, runs)), read[0][1], ledger)


def _findings(plan: Plan, runs: tuple[Figures, ...]) -> list[Finding]:
    found = []
    for rule in plan.policy:
        for n, scenario in enumerate(plan.scenarios):
            if n and not MEASURES[rule.measure].info.needs & {"keys", "targets"}:
                continue  # the same figure in every scenario
            results = [run[scenario.name].get(rule.measure) for run in runs]
            found.append(judge(rule, scenario.name, scenario.population_share, results))
    return found


def _averaged(runs: list[dict[str, Result]]) -> dict[str, Result]:
    """Mean of each figure over replicates, with their range as interval."""
    return {name: mean_result([run[name] for run in runs], "range") for name in runs[0]}


def _choice(plan: Plan, judged: tuple[Judged, ...]) -> tuple[Judged | None, str]:
    safe = [j for j in judged if j.safe]
    if not safe:
        near = min(judged, key=lambda j: (j.reference, len(j.broken)))
        count = (
            "The only candidate does not meet"
            if len(judged) == 1
            else f"None of the {len(judged)} candidates meets"
        )
        return None, (
            f"{count} the policy, so nothing is released. "
            f"Nearest is '{near.candidate.name}', which misses: {'; '.join(near.broken)}. "
            "Add candidates that protect more, or let the board reconsider that line of the policy."
        )
    info = MEASURES[plan.choose].info
    measured = [j for j in safe if plan.choose in j.runs[0][plan.scenarios[0].name]]
    if not measured:
        return (
            None,
            f"'{plan.choose}' could not be measured, so the candidates cannot be ranked; choose by another measure.",
        )
    best = min(measured, key=lambda j: (info.shortfall(utility(plan, j)), j.candidate.name))
    others = [f"'{j.candidate.name}' {figure(utility(plan, j))}" for j in measured if j is not best]
    return best, (
        f"{len(safe)} of {len(judged)} candidates {'meets' if len(safe) == 1 else 'meet'} every line of the policy. "
        f"Among them '{best.candidate.name}' is the "
        f"most useful by {info.title}: {figure(utility(plan, best))}, where {info.best}"
        + (f" (the others: {', '.join(others)})." if others else ".")
    )


def utility(plan: Plan, judged: Judged) -> float:
    """The figure by which candidates are ranked: the mean over replicates."""
    return judged.figures[plan.scenarios[0].name][plan.choose].value


def summary(release: Release) -> dict[str, Any]:
    """Plain data about a release for JSON: what was chosen, why, and every candidate's figures.

    Examples
    --------
    >>> from dalenius.release.plan import Plan
    >>> plan = Plan("Title", Path("a.csv"), (), (), (), Path("out"))
    >>> summary(Release(plan, (), None, "Nothing was made.", Path("work")))["why"]
    'Nothing was made.'
    """
    return {
        "title": release.plan.title,
        "chosen": release.chosen.candidate.name if release.chosen else None,
        "why": release.why,
        "refused": release.refusals,
        "default_policy": release.plan.default_policy,
        "candidates": {j.candidate.name: _judged_dict(j) for j in release.judged},
    }


def _judged_dict(judged: Judged) -> dict[str, Any]:
    return {
        "method": judged.candidate.method,
        "options": dict(judged.candidate.options),
        "repeatable": judged.candidate.repeatable,
        "reference": judged.reference,
        "meets_policy": judged.safe,
        "refused": judged.refusal,
        "policy": [
            {"line": f.rule.text, "scenario": f.scenario, "met": f.met, "said": f.said}
            for f in judged.findings
        ],
        "notes": dict(judged.notes),
        "ledger": judged.ledger,
        "means": {
            s: {n: r.to_dict() | {"table": None} for n, r in v.items()} for s, v in judged.figures.items()
        },
        "replicates": [
            {s: {n: r.to_dict() for n, r in v.items()} for s, v in run.items()} for run in judged.runs
        ],
    }
