"""From an output to its findings: look up the statbarn, collect the evidence, run the statbarn's checks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from dalenius.outputs.checks import CHECKS, Finding, Verdict, finding, worst_verdict
from dalenius.outputs.evidence import Evidence, collect
from dalenius.outputs.policy import Policy
from dalenius.outputs.query import Query
from dalenius.outputs.register import Place, Statbarn, register

LATER = ("differencing",)
"""Checks that need more than this output's own evidence."""


@dataclass(frozen=True, eq=False)
class Judged:
    """The findings about one output.

    Examples
    --------
    >>> from dalenius.outputs.query import Dimension
    >>> sex = Dimension("sex", np.repeat([0, 1], [12, 7]), ("f", "m"))
    >>> print(judge(Query("count", (sex,), 19), Policy()).summary)
    fail: min_threshold (1 cell: fewer than 10 people or units stand behind the figure).
    """

    places: tuple[Place, ...]
    evidence: Evidence
    findings: tuple[Finding, ...]
    notes: tuple[str, ...] = field(default=())

    @property
    def status(self) -> Verdict:
        """Worst verdict of all checks; a name nobody knows is a review."""
        known = all(p.statbarn is not None and p.statbarn.kind != "open" for p in self.places)
        found = worst_verdict(list(self.findings))
        return "review" if found == "pass" and not known else found

    @property
    def statbarns(self) -> list[Statbarn]:
        """The statbarns of its statistics, each once."""
        return list({p.statbarn.id: p.statbarn for p in self.places if p.statbarn is not None}.values())

    @property
    def summary(self) -> str:
        """One line: status, and what was found."""
        told = [f"{f.check} ({f.sentence.rstrip('.')})" for f in self.findings if f.verdict != "pass"]
        told += [f"{p.asked}: {p.note}" for p in self.places if p.statbarn is None]
        told += [f"{b.name}: a person decides" for b in self.statbarns if b.kind == "open"]
        return f"{self.status}: {'; '.join(told)}." if told else f"{self.status}."

    @property
    def cells(self) -> pl.DataFrame:
        """Every cell with the names of the checks that mark it, or "ok"."""
        frame = self.evidence.cells
        marks = [f for f in self.findings if len(f.flagged) == len(frame) and f.verdict != "pass"]
        words = np.full(len(frame), "", object)
        for each in marks:
            words[each.flagged] += each.check + "; "
        return frame.with_columns(
            pl.Series("outcome", [w.rstrip("; ") or "ok" for w in words.tolist()], pl.String)
        )

    def with_findings(self, *more: Finding) -> Judged:
        """The same with further findings; one of the same name is replaced."""
        names = {f.check for f in more}
        return replace(self, findings=(*(f for f in self.findings if f.check not in names), *more))


def judge(query: Query, policy: Policy, evidence: Evidence | None = None) -> Judged:
    """Run the checks of the statbarns of a query over its evidence (collected now, unless it is given)."""
    names = [name.strip() for name in query.statistic.split(",")]
    places = tuple(register().lookup(name) for name in dict.fromkeys(names))
    if evidence is None:
        evidence = collect(query, max(policy.nk_n, 2), policy.threshold)
    return examined(places, evidence, policy)


def examined(places: Sequence[Place], evidence: Evidence, policy: Policy) -> Judged:
    """Run the checks of the statbarns over evidence, wherever it was collected."""
    barns = [p.statbarn for p in places if p.statbarn is not None]
    wanted = dict.fromkeys(name for barn in barns for name in barn.checks)
    found = [_run(name, evidence, policy) for name in wanted if name not in LATER]
    notes = tuple(p.note for p in places if p.note)
    return Judged(tuple(places), evidence, tuple(found), notes)


def _run(name: str, evidence: Evidence, policy: Policy) -> Finding:
    """One check; evidence that lacks what it needs is for a person to look at."""
    try:
        return CHECKS[name](evidence, policy)
    except KeyError:
        words = f"what the check {name} looks at is not known of this output"
        return finding(name, evidence, np.ones(1, np.bool_), words, verdict="review")
