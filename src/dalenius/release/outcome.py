"""`Release`: what came of a plan. Which candidates meet the policy, which one was chosen, and why."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from dalenius.core.maps import frontier, risk_facts, risk_utility_map, turned
from dalenius.core.pictures import picture
from dalenius.core.registry import MeasureInfo
from dalenius.core.replicates import mean_result
from dalenius.core.result import Result, figure
from dalenius.core.small_table import small_table
from dalenius.counts.database_pair import DATABASE_MEASURES
from dalenius.evaluation.policy import Finding, Rule, copies_nobody, described, judge, worst_missed
from dalenius.release.jobs import (
    Figures,
    Opened,
    choose_privately,
    job_path,
    open_made,
    read_again,
    read_doubts,
    read_figures,
    read_ledger,
    read_lines,
    read_rows,
    read_steps,
    read_unchanged,
    released_file,
)
from dalenius.release.plan import Plan
from dalenius.release.tables_attack import TablesAttacked, read_attacked
from dalenius.synth import Candidate

if TYPE_CHECKING:
    import altair as alt

HEADED = ("disco", "replicated-uniques", "identical-matches")
"""What the first screen tells in people: facts read off, people who seem to be found, whole records."""
MOST_ADDED = "What the file adds: facts read off, people found or whole records, whichever is most"
MOST_MAPS = 3
"""Maps a notebook shows: one for each of the first risk measures."""


@dataclass(frozen=True)
class Judged:
    """A candidate, the figures of every file that was made of it, and what the policy says.

    ``runs`` holds the figures of each replicate; the first replicate is the file that would be released. ``figures``
    are means over replicates with their range. ``outline`` says which steps changed the records, for everybody.
    """

    candidate: Candidate
    runs: tuple[Figures, ...]
    figures: Figures
    findings: tuple[Finding, ...]
    notes: Mapping[str, list[str]]
    ledger: str = ""
    outline: tuple[str, ...] = ()
    rows: Mapping[str, int] = field(default_factory=dict)
    """Rows of each table, where there are several."""
    unchanged: tuple[str, ...] = ()
    """Columns that come out as they were in any of the files, whether the plan says so or not."""
    doubts: tuple[str, ...] = ()
    """Why no figure of any of the files can be trusted, whatever the policy says."""
    lines: int = 0
    """Lines of the file that would go out; 0 where there are several tables."""

    @property
    def kept(self) -> tuple[str, ...]:
        """Columns of real people in the records, by the plan or by what is seen in the files.

        Of a private file only the plan is asked: what is seen in it stays inside.
        """
        seen = () if self.candidate.private else self.unchanged
        return tuple(dict.fromkeys([*self.candidate.kept, *seen]))

    @property
    def reference(self) -> bool:
        """Whether the method copies whole rows: shown beside the others to read them by, never released."""
        return self.candidate.info.copies_rows

    @property
    def safe(self) -> bool:
        """Whether it may be released: no reference, and every line of the policy met in every scenario, each time."""
        return not self.reference and not self.doubts and all(finding.met for finding in self.findings)

    @property
    def broken(self) -> list[str]:
        """The policy lines that are not met, in words."""
        own = ["copies whole rows of the data; a reference, never a release"] if self.reference else []
        return [*own, *self.doubts] + [f"{f.scenario}: {f.said}" for f in self.findings if not f.met]

    @property
    def refusal(self) -> str:
        """Why it was refused, in one sentence that names the limit that is missed by most; empty where it was not."""
        name = f"'{self.candidate.name}'"
        if self.reference:
            return f"{name} copies whole rows of the data: it is shown to read the others by, and is never released."
        worst, missed = worst_missed(self.findings), {f.rule.text for f in self.findings if not f.met}
        if worst is None:
            return f"{name} was refused. {' '.join(self.doubts)}" if self.doubts else ""
        others = len(missed) - 1
        more = f" ({others} more limit{'s are' if others > 1 else ' is'} missed)" if others else ""
        return f"{name} was refused because of {worst.plainly}{more}."

    @property
    def made_up(self) -> bool:
        """Whether every record is the program's, and the measures of copying agree each time that nobody's comes out.

        A masked record is somebody's, and so is one whose columns were taken over row by row, were it one of them.
        Where chance may have decided that a limit against copying is met, nothing is said for sure.
        """
        return (
            not self.reference
            and not self.candidate.info.masks
            and not self.kept
            and not self.doubts
            and not any(f.crossed and described(f.rule.measure).dimension == "copying" for f in self.findings)
            and all(copies_nobody(figures) for run in self.runs for figures in run.values())
        )


@dataclass(frozen=True)
class Release:
    """What came of a plan; renders itself in a notebook."""

    plan: Plan
    judged: tuple[Judged, ...]
    chosen: Judged | None
    why: str
    work: Path
    attacked: TablesAttacked | None = None
    """What the tables that go out with the file give away; None where the plan names none."""

    @property
    def refusals(self) -> list[str]:
        """One sentence for each candidate that was not chosen: the limit that stood against it, or who is better."""
        lines = [judged.refusal for judged in self.judged if not judged.safe]
        if self.chosen is not None:
            best, info = utility(self.plan, self.chosen), described(self.plan.choose)
            others = [j for j in self.judged if j.safe and j is not self.chosen]
            lines += [
                f"'{j.candidate.name}' meets every limit too, but {info.title} could not be measured of it."
                for j in others
                if math.isnan(utility(self.plan, j))
            ]
            lines += [
                f"'{j.candidate.name}' meets every limit too and is "
                f"{'as' if utility(self.plan, j) == best else 'less'} useful "
                f"({figure(utility(self.plan, j))} against {figure(best)}; {info.best})."
                for j in others
                if not math.isnan(utility(self.plan, j))
            ]
        return lines

    @property
    def date(self) -> str:
        """Day the run began."""
        return (self.work / "date").read_text(encoding="utf-8").strip()

    def data(self, candidate: Candidate, replicate: int = 0) -> Path:
        """File of one made candidate."""
        return released_file(job_path(self.work, candidate, replicate))

    def open(self, candidate: Candidate, scenario: str | None = None) -> Opened:
        """The file of a candidate that would go out, with what it is to be compared with."""
        return open_made(self.plan, job_path(self.work, candidate, 0), scenario)

    def points(self, risk: str | None = None, scenario: str | None = None) -> pl.DataFrame:
        """Candidates by one risk figure and the utility figure of the choice, with ranges: what the map draws.

        Without a scenario each candidate stands where it adds most for any intruder; without a risk by the headline
        figure, whichever of them adds most.
        """
        utility, asked, headed = described(self.plan.choose), risk, self.headlines
        rows = []
        for judged in self.judged:
            risk = asked or max(headed, key=lambda name: self._most(judged, name, scenario))
            where = scenario or self._worst(judged, risk)
            r, u = judged.figures[where].get(risk), judged.figures[where].get(self.plan.choose)
            if r is None or u is None:
                continue
            rows.append(
                {
                    "candidate": judged.candidate.name,
                    **(risk_facts(r) | ({} if asked or len(headed) == 1 else {"risk_title": MOST_ADDED})),
                    "utility": utility.on_axis(u.value), **_utility_ends(u, utility),
                    "utility_title": utility.axis[0], "utility_better": utility.axis[1],
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

    def _most(self, judged: Judged, risk: str, scenario: str | None) -> float:
        """What a candidate adds by one figure, to one intruder or to the one to whom it adds most."""
        found = judged.figures[scenario or self._worst(judged, risk)].get(risk)
        return -math.inf if found is None or found.added is None else found.added

    def _worst(self, judged: Judged, risk: str) -> str:
        """The intruder to whom a candidate adds most by one figure; the first of equals."""
        there = [s.name for s in self.plan.scenarios if risk in judged.figures[s.name]]
        first = self.plan.scenarios[0].name
        return max(there, key=lambda s: risk_facts(judged.figures[s][risk])["risk"], default=first)

    def _limit(self, judged: Judged, measure: str, scenario: str) -> float | None:
        """The strictest limit of the policy for a figure, where it is the same kind of number as the map's."""
        result = judged.figures[scenario].get(measure)
        rules = [r for r in self.plan.policy if r.measure == measure and not r.expected and not r.part]
        if result is None or not rules:
            return None
        if result.added is not None:  # the map shows what the file adds
            return min(_on_map(rule, result, _finding(judged, rule, scenario)) for rule in rules)
        bounds = [r.bound(result) for r in rules]
        info = described(measure)
        if info.family == "risk" and info.better == "higher":
            return turned(max(bounds), info.bounds[1])
        return min(bounds) if rules[0].upper else max(bounds)

    @property
    def risks(self) -> list[str]:
        """Risk measures of the run: those the headline is made of, those of the policy, the others."""
        there = self.judged[0].figures[self.plan.scenarios[0].name]
        found = [n for n in self.plan.measured if n in there and described(n).family == "risk"]
        return sorted(found, key=lambda n: HEADED.index(n) if n in HEADED else len(HEADED))

    @property
    def headlines(self) -> list[str]:
        """Risk measures that the first screen tells in people, as far as strangers were looked at; else the first."""
        there = self.judged[0].figures[self.plan.scenarios[0].name]
        return [n for n in self.risks if n in HEADED and there[n].added is not None] or self.risks[:1]

    def chart(self, risk: str | None = None) -> alt.TopLevelMixin:
        """Risk–utility map with the region the policy allows."""
        return risk_utility_map(self.points(risk))

    @property
    def table(self) -> pl.DataFrame:
        """Pareto table: candidates from safest to most useful, whether anybody beats them, and the policy."""
        points = self.points()
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
        maps = "".join(
            picture(self.chart(risk), "Risk and utility of the candidates of the table below")
            for risk in [None, *self.risks][:MOST_MAPS]
        )
        missed = f"<p>Policy lines that are not met:</p><ul>{broken}</ul>" if broken else ""
        return f"{head}{maps}{small_table(self.table, len(self.table))}{missed}"


def _finding(judged: Judged, rule: Rule, scenario: str) -> Finding | None:
    """What a line says of a candidate; some lines are the same for every intruder and stand with the first."""
    found = [f for f in judged.findings if f.rule == rule]
    return next((f for f in found if f.scenario == scenario), found[0] if found else None)


def _on_map(rule: Rule, result: Result, finding: Finding | None) -> float:
    """A limit as what a file may add, so that a file lies above it where it misses it.

    The map shows means; every file that was made is judged, and of what it adds perhaps only what is sure. Then the
    limit is as far from the point as the worst figure is from the line.
    """
    added, bound = result.added or 0.0, rule.bound(result)
    plain = bound if rule.added else result.beyond(bound) or 0.0
    if finding is None or math.isnan(finding.value):
        return plain
    room = finding.bound - finding.value
    kept = added + (room if rule.upper else -room)
    return kept if rule.surely or (added <= plain) != (room >= 0 if rule.upper else room <= 0) else plain


def _utility_ends(result: Result, info: MeasureInfo) -> dict[str, float | None]:
    """Ends of the interval on the axis of utility; an axis of distances from a centre shows none."""
    spread = None if info.centre is not None else result.interval
    return {"utility_low": spread.low if spread else None, "utility_high": spread.high if spread else None}


def conclude(plan: Plan, work: Path) -> Release:
    """Judge all finished candidates by the policy and choose."""
    judged = tuple(_judged(plan, work, candidate) for candidate in plan.candidates)
    attacked = read_attacked(plan.policy, work)
    chosen, why = _private_choice(plan, judged, work) if plan.choice_epsilon else _choice(plan, judged)
    if attacked is not None and attacked.refusal:
        chosen, why = None, attacked.refusal
    return Release(plan, judged, chosen, why, work, attacked)


def _judged(plan: Plan, work: Path, candidate: Candidate) -> Judged:
    paths = [job_path(work, candidate, r) for r in range(plan.replicates)]
    read = [read_figures(path) for path in paths]
    runs = tuple(figures for figures, _ in read)
    averaged = {s.name: _averaged([run[s.name] for run in runs]) for s in plan.scenarios}
    ledger = "\n".join(text for text in (read_ledger(path) for path in paths[:1]) if text)
    again = [read_again(path) for path in paths]
    seen = tuple(dict.fromkeys(name for path in paths for name in read_unchanged(path)))
    findings = [*_findings(plan, runs, [*candidate.kept, *seen]), *_judged_again(plan, again)]
    steps = read_steps(paths[0])
    notes = {s: [*lines, *steps["steps"]] for s, lines in read[0][1].items()}
    rows = read_rows(paths[0])
    against = tuple(dict.fromkeys(line for path in paths for line in read_doubts(path)))
    return Judged(
        candidate, runs, averaged, tuple(findings), notes, ledger, tuple(steps["outline"]), rows, seen, against,
        read_lines(paths[0]),
    )  # fmt: skip


def _judged_again(plan: Plan, again: list[Figures]) -> list[Finding]:
    """The policy on the recipe on all records; what needs people outside was judged on the part."""
    findings = []
    for rule in plan.about("pair"):
        for n, scenario in enumerate(plan.scenarios):
            if n and not _by_scenario(plan, rule):
                continue
            results = [run.get(scenario.name, {}).get(rule.measure) for run in again]
            if all(r is not None and not math.isnan(rule.value(r)) for r in results):
                findings.append(
                    judge(rule, f"{scenario.name}, all records", scenario.population_share, results)
                )
    return findings


def _by_scenario(plan: Plan, rule: Rule) -> bool:
    """Whether a figure differs from intruder to intruder: of several tables each looks at others."""
    return plan.several or bool(described(rule.measure).needs & {"keys", "targets"})


def _findings(plan: Plan, runs: tuple[Figures, ...], kept: list[str]) -> list[Finding]:
    findings = []
    for rule in [*plan.about("pair"), *plan.limits_of_kept(kept)]:
        for n, scenario in enumerate(plan.scenarios):
            if n and (rule.measure in DATABASE_MEASURES or not _by_scenario(plan, rule)):
                continue  # the same figure in every scenario
            results = [run[scenario.name].get(rule.measure) for run in runs]
            findings.append(judge(rule, scenario.name, scenario.population_share, results))
    return findings


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
    info = described(plan.choose)
    measured = [j for j in safe if not math.isnan(utility(plan, j))]
    if not measured:
        return (
            None,
            f"'{plan.choose}' could not be measured, so the candidates cannot be ranked; choose by another measure.",
        )
    best = min(measured, key=lambda j: (info.shortfall(utility(plan, j)), j.candidate.name))
    others = [f"'{j.candidate.name}' {figure(utility(plan, j))}" for j in measured if j is not best]
    mean = f" (mean of {plan.replicates} files made)" if plan.replicates > 1 else ""
    return best, (
        f"{len(safe)} of {len(judged)} candidates {'meets' if len(safe) == 1 else 'meet'} every line of the policy. "
        f"Among them '{best.candidate.name}' is the "
        f"most useful by {info.title}: {figure(utility(plan, best))}{mean}, where {info.best}"
        + (f" (the others: {', '.join(others)})." if others else ".")
        + _sizes(measured)
        + _detail_lost(plan, best)
    )


def _sizes(judged: list[Judged]) -> str:
    """That files differ in size, which moves what they are ranked by."""
    if len({j.lines for j in judged}) < 2:
        return ""
    told = ", ".join(f"'{j.candidate.name}' {j.lines:,}" for j in judged)
    return (
        f" The files differ in size ({told} lines): in a smaller one faults show less, and it looks closer."
    )


def _detail_lost(plan: Plan, judged: Judged) -> str:
    """What a mask took away, which figures through its lens cannot see."""
    found = judged.figures[plan.scenarios[0].name].get("detail-lost")
    return "" if found is None else f" {found.sentence}"


def _private_choice(plan: Plan, judged: tuple[Judged, ...], work: Path) -> tuple[Judged | None, str]:
    """The choice was drawn with a budget of its own; whether its file meets the policy is looked at afterwards."""
    name = choose_privately(plan, work)
    chosen = next(j for j in judged if j.candidate.name == name)
    said = f"A private choice (ε = {plan.choice_epsilon:g}) among {len(judged)} candidates fell on '{name}'"
    if chosen.safe:
        return chosen, f"{said}, which meets every line of the policy."
    return None, f"{said}, which misses: {'; '.join(chosen.broken)}. So nothing is released."


def utility(plan: Plan, judged: Judged) -> float:
    """The figure by which candidates are ranked: the mean over replicates; NaN where it could not be measured."""
    found = judged.figures[plan.scenarios[0].name].get(plan.choose)
    return math.nan if found is None else found.value


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
        **({"attack": _attacked_dict(release.attacked)} if release.attacked else {}),
    }


def _attacked_dict(attacked: TablesAttacked) -> dict[str, Any]:
    return {
        "figures": {name: result.to_dict() for name, result in attacked.results.items()},
        "patterns": list(attacked.patterns),
        "recipes": list(attacked.recipes),
        "hold": list(attacked.hold),
        "policy": [{"line": f.rule.text, "met": f.met, "said": f.said} for f in attacked.findings],
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
        **({"rows": dict(judged.rows)} if judged.rows else {}),
        "ledger": judged.ledger,
        "means": {
            s: {n: r.to_dict() | {"table": None} for n, r in v.items()} for s, v in judged.figures.items()
        },
        "replicates": [
            {s: {n: r.to_dict() for n, r in v.items()} for s, v in run.items()} for run in judged.runs
        ],
    }
