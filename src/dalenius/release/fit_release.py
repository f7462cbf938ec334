"""Private fits made, paid for and chosen by a plan: of those that keep every limit the one with the narrowest bands.

The bands are part of what is released, so a choice by them costs nothing beyond the fits. A choice by a person who saw
the fit of the original is not covered by any ε, and is told so.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from dalenius.core.errors import OptionError
from dalenius.core.result import Result, figure
from dalenius.data.atomic import private_folder, write_text
from dalenius.data.lock import locked
from dalenius.dp import Budget, Spend, open_ledger, regress
from dalenius.dp.contributions import bound_units
from dalenius.dp.regression.fit import check_bandwidth
from dalenius.dp.regression.lines import exact_lines
from dalenius.dp.regression.measures import fit_results
from dalenius.evaluation.policy import Finding, judge
from dalenius.release.fit_plan import FitCandidate, FitPlan
from dalenius.release.place import check_place

Progress = Callable[[str, int, int], None]
CHOICE, LOOKED = "choice.json", "looked"
BY_RULE = "Of the fits that keep every limit it has the narrowest bands, which are released: the choice costs nothing."
BY_PERSON = (
    "A person chose it by what the private fits show, all of which were paid for: the choice costs nothing."
)
LOOKING = (
    "A person chose it after the fit of the original had been shown beside it. Such a choice tells something about the "
    "original that no ε covers: the promise holds for each fit, not for which of them was chosen."
)


@dataclass(frozen=True)
class JudgedFit:
    """A candidate, what was released of it, and what the policy says; ``made`` is None where it was not made."""

    candidate: FitCandidate
    results: Mapping[str, Result]
    findings: tuple[Finding, ...]
    made: Mapping[str, Any] | None = None

    @property
    def safe(self) -> bool:
        """Whether it was made and every limit is kept."""
        return self.made is not None and all(finding.met for finding in self.findings)

    @property
    def broken(self) -> list[str]:
        """Lines that are not met."""
        return [finding.said for finding in self.findings if not finding.met]

    @property
    def table(self) -> pl.DataFrame:
        """Coefficients, as released."""
        return pl.DataFrame((self.made or {}).get("table", []))

    @property
    def lines(self) -> pl.DataFrame:
        """Lines and bands, as released."""
        schema = {"along": pl.String, "at": pl.Float64, "level": pl.String}
        return pl.DataFrame((self.made or {}).get("lines", []), schema_overrides=schema)


@dataclass(frozen=True)
class FitRelease:
    """A plan carried out."""

    plan: FitPlan
    judged: tuple[JudgedFit, ...]
    chosen: JudgedFit | None
    why: str
    how: str
    work: Path

    def exact(self, judged: JudgedFit) -> pl.DataFrame:
        """The lines of the original, without privacy: for the people inside."""
        c = judged.candidate
        return exact_lines(self.plan.table(), self.plan.formula, c.family, c.taus)


def work_folder(plan: FitPlan) -> Path:
    """Where fits that were paid for are kept; another file, schema or formula has another one."""
    return private_folder(plan.output.parent / f".{plan.output.name}-fits") / plan.digest[:16]


def run_fit_plan(plan: FitPlan, progress: Progress | None = None) -> FitRelease:
    """Pay for and make every candidate that the policy lets pass; one that is there already is not made again.

    Nothing is paid where one of the fits cannot be made, or the ledger cannot pay for all of them.
    """
    check_place(plan)
    work = private_folder(work_folder(plan))
    with locked(work / "lock", busy="the fits of this plan are being made by another program"):
        held = None if (pays := plan.pays) is None else open_ledger(pays)
        check_fits(plan, held)
        wanted = [c for c in plan.candidates if _made(plan, c) is None and not _ruled_out(plan, c)]
        for candidate in _owed(plan, held):
            _settle(plan, candidate)
        for done, candidate in enumerate(wanted):
            _make(plan, candidate)
            if progress is not None:
                progress(candidate.name, done + 1, len(wanted))
    return read_fits(plan)


def read_fits(plan: FitPlan) -> FitRelease:
    """What was made before; nothing is made or paid for."""
    work = work_folder(plan)
    judged = tuple(judged_as(plan, c, _made(plan, c)) for c in plan.candidates)
    chosen, how = _choice(work, judged)
    return FitRelease(plan, judged, chosen, _why(judged, chosen), how, work)


def note_look(plan: FitPlan) -> None:
    """Write down that the fit of the original was shown; a later choice is told to rest on it."""
    write_text(work_folder(plan) / LOOKED, "yes\n")


def has_looked(plan: FitPlan) -> bool:
    """Whether the fit of the original was shown."""
    return (work_folder(plan) / LOOKED).is_file()


def choose_fit(plan: FitPlan, name: str) -> FitRelease:
    """A person's choice among the fits that keep every limit."""
    found = [j for j in read_fits(plan).judged if j.candidate.name == name and j.safe]
    if not found:
        raise OptionError("choose one of the fits that were made and keep every limit")
    write_text(work_folder(plan) / CHOICE, json.dumps({"candidate": name, "looked": has_looked(plan)}))
    return read_fits(plan)


def paid_output(plan: FitPlan, candidate: FitCandidate) -> str:
    """What the ledger calls a fit."""
    return f"{plan.title}: {candidate.name} [{plan.mark(candidate)}]"


def _ruled_out(plan: FitPlan, candidate: FitCandidate) -> bool:
    found = fit_results(candidate.epsilon, None, 1.0)
    rules = [rule for rule in plan.policy if rule.measure == "fit-epsilon"]
    return not all(judge(rule, "", 1.0, [found["fit-epsilon"]]).met for rule in rules)


def check_fits(plan: FitPlan, held: Budget | None) -> None:
    """Everything that can go wrong before noise is drawn: columns, units, and what all fits together cost.

    An error changes nothing; ``held`` is what pays.
    """
    wanted = [c for c in plan.candidates if _made(plan, c) is None and not _ruled_out(plan, c)]
    for family in dict.fromkeys(candidate.family for candidate in wanted):
        plan.design(family)
    for candidate in wanted:
        if candidate.family == "quantile":
            check_bandwidth(candidate.options.get("bandwidth"), plan.whole("quantile"))
    bound_units(plan.table(), plan.contribution)
    if held is None:
        return
    trial = Budget(
        held.epsilon, held.delta, held.neighbours, held.accounting, held.records, held.unit, [*held.spends]
    )
    try:
        for candidate in [*_owed(plan, held), *wanted]:
            trial.charge(candidate.budget(plan.neighbours, plan.contribution, plan.unit()), candidate.name)
    except OptionError as error:
        raise OptionError(f"the ledger cannot pay for all fits, so none was made: {error}") from None


def _owed(plan: FitPlan, held: Budget | None) -> list[FitCandidate]:
    """Fits that were made when no ledger, or another one, stood beside the data: they are out, and not paid for."""
    if held is None:
        return []
    return [c for c in plan.candidates if _made(plan, c) is not None and _line(plan, c, held) is None]


def _settle(plan: FitPlan, candidate: FitCandidate) -> None:
    made, pays = _made(plan, candidate), plan.pays
    assert made is not None
    assert pays is not None
    price = candidate.budget(plan.neighbours, plan.contribution, plan.unit())
    open_ledger(pays).charge(price, f"{plan.title}, made before", paid_output(plan, candidate))
    body = {**made, "paid": True}
    write_text(_place(plan, candidate), json.dumps(body, ensure_ascii=False, sort_keys=True) + "\n")


def _make(plan: FitPlan, candidate: FitCandidate) -> None:
    pays = plan.pays
    found = regress(
        plan.table(), plan.formula, neighbours=plan.neighbours, contribution=plan.contribution,
        ledger=None if pays is None else str(pays), output=paid_output(plan, candidate), **candidate.asked(),
    )  # fmt: skip
    assert found.table is not None
    assert found.lines is not None
    body = {
        "sentence": found.sentence, "table": found.table.to_dicts(), "lines": found.lines.to_dicts(),
        "paid": pays is not None,
    }  # fmt: skip
    write_text(_place(plan, candidate), json.dumps(body, ensure_ascii=False, sort_keys=True) + "\n")


def _place(plan: FitPlan, candidate: FitCandidate) -> Path:
    return work_folder(plan) / f"{plan.mark(candidate)}.json"


def _made(plan: FitPlan, candidate: FitCandidate) -> dict[str, Any] | None:
    path = _place(plan, candidate)
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def judged_as(plan: FitPlan, candidate: FitCandidate, made: Mapping[str, Any] | None) -> JudgedFit:
    """A candidate with the policy's word on what was made of it."""
    lines = JudgedFit(candidate, {}, (), made).lines if made is not None else None
    results = fit_results(candidate.epsilon, lines, plan.whole(candidate.family))
    findings = tuple(judge(rule, "fit", 1.0, [results.get(rule.measure)]) for rule in plan.policy)
    return JudgedFit(candidate, results, findings, made)


def _choice(work: Path, judged: Sequence[JudgedFit]) -> tuple[JudgedFit | None, str]:
    safe = [j for j in judged if j.safe]
    if (work / CHOICE).is_file():
        said = json.loads((work / CHOICE).read_text(encoding="utf-8"))
        found = [j for j in safe if j.candidate.name == said["candidate"]]
        if found:
            return found[0], LOOKING if said["looked"] else BY_PERSON
    widest = float("inf")
    best = min(
        safe,
        key=lambda j: (
            j.results["fit-width"].value if "fit-width" in j.results else widest,
            -j.candidate.epsilon,
        ),
        default=None,
    )
    return best, BY_RULE


def _why(judged: Sequence[JudgedFit], chosen: JudgedFit | None) -> str:
    if chosen is None:
        return "No fit keeps every limit, so nothing is released."
    safe = sum(j.safe for j in judged)
    wide = chosen.results.get("fit-width")
    bands = "" if wide is None else f", its bands reach {figure(wide.value, '%')} of the range to either side"
    return f"{chosen.candidate.name} is chosen, of {safe} out of {len(judged)} fits that keep every limit{bands}."


def facts(release: FitRelease) -> dict[str, Any]:
    """Everything that was released and decided, as plain data, for the people inside."""
    return {
        "why": release.why, "how": release.how, "chosen": release.chosen.candidate.name if release.chosen else None,
        "candidates": {
            j.candidate.name: {
                "family": j.candidate.family, "options": dict(j.candidate.options), "safe": j.safe,
                "policy": [f.said for f in j.findings], "made": j.made,
            }
            for j in release.judged
        },
    }  # fmt: skip


def paid_by(plan: FitPlan, candidate: FitCandidate) -> Spend | None:
    """The line of the ledger that paid for a fit; None where there is none."""
    return None if (pays := plan.pays) is None else _line(plan, candidate, open_ledger(pays))


def _line(plan: FitPlan, candidate: FitCandidate, held: Budget) -> Spend | None:
    mark = f"[{plan.mark(candidate)}]"
    return next((entry for entry in held.spends if entry.output.endswith(mark)), None)


def price_in(plan: FitPlan, candidate: FitCandidate) -> Spend:
    """What the ledger is charged for a fit, in its own unit."""
    assert plan.pays is not None
    held = open_ledger(plan.pays)
    alone = Budget(held.epsilon, held.delta, held.neighbours, held.accounting, held.records, held.unit)
    alone.charge(candidate.budget(plan.neighbours, plan.contribution, plan.unit()), candidate.name)
    return alone.spends[-1]
