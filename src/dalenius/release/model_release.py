"""Models made, measured and chosen by a plan: the safest that keep every limit, and of these the most useful."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from dalenius.core.code import code_digest
from dalenius.core.maps import risk_facts
from dalenius.core.result import Result, figure
from dalenius.data import Table
from dalenius.data.atomic import private_folder, write_text
from dalenius.evaluation.policy import Finding, judge
from dalenius.models.candidates import ModelCandidate, predicts_classes
from dalenius.models.case import ModelCase
from dalenius.models.checking import check_model
from dalenius.models.measures import MODEL_MEASURES
from dalenius.release.learnt_plan import LearntCandidate
from dalenius.release.model_plan import ModelPlan
from dalenius.release.place import check_place

Progress = Callable[[str, int, int], None]
WHERE = "model"


@dataclass(frozen=True)
class JudgedModel:
    """A candidate, what was found, and what the policy says.

    Attributes
    ----------
    scores
        How good it is on the people it was fitted on, and on strangers.
    """

    candidate: ModelCandidate | LearntCandidate
    results: Mapping[str, Result]
    scores: Mapping[str, float]
    findings: tuple[Finding, ...]
    remarks: tuple[str, ...] = ()

    @property
    def safe(self) -> bool:
        """Whether every limit is kept."""
        return all(finding.met for finding in self.findings)

    @property
    def broken(self) -> list[str]:
        """Lines that are not met."""
        return [finding.said for finding in self.findings if not finding.met]


class Released(Protocol):
    """A plan carried out whose candidates are models of any kind: what reports are made of."""

    @property
    def plan(self) -> Any:
        """The plan."""

    @property
    def judged(self) -> tuple[JudgedModel, ...]:
        """All candidates."""

    @property
    def chosen(self) -> JudgedModel | None:
        """The chosen one."""

    @property
    def why(self) -> str:
        """The choice in words."""

    @property
    def scored(self) -> str:
        """What their use is measured by."""

    @property
    def drawn(self) -> str:
        """What the map shows, in words."""

    def points(self) -> pl.DataFrame:
        """The candidates as points of the map."""


@dataclass(frozen=True)
class ModelRelease:
    """A plan carried out."""

    plan: ModelPlan
    judged: tuple[JudgedModel, ...]
    chosen: JudgedModel | None
    why: str
    work: Path

    def points(self) -> pl.DataFrame:
        """The candidates as points of the map: use to the right, what membership adds downwards."""
        limit = next(
            (100 * (r.limit - 0.5) for r in self.plan.policy if r.measure == "model-membership"), None
        )
        rows = []
        for each in self.judged:
            facts = risk_facts(each.results["model-membership"])
            spread = {
                n: None if facts[n] is None else 100 * facts[n] for n in ("risk", "risk_low", "risk_high")
            }
            rows.append(
                {
                    "candidate": each.candidate.name, **spread, "utility": 100 * max(each.scores["holdout"], 0.0),
                    "risk_title": "members told from strangers, AUC points above a coin", "original_risk": None,
                    "utility_title": f"{self.score} on strangers, %", "utility_better": "higher", "safe": each.safe,
                    "chosen": each is self.chosen, "risk_limit": limit, "utility_limit": None,
                }
            )  # fmt: skip
        return pl.DataFrame(rows, schema_overrides={"original_risk": pl.Float64, "utility_limit": pl.Float64})

    @property
    def score(self) -> str:
        """What the use of a model is measured by."""
        return "accuracy" if predicts_classes(self.plan.tables()[0], self.plan.predicts) else "R²"

    @property
    def scored(self) -> str:
        """The same, and of whom."""
        return f"{self.score} on strangers"

    @property
    def drawn(self) -> str:
        """What the map shows, in words."""
        return "The models: usefulness to the right, what membership adds downwards."

    def case(self, judged: JudgedModel) -> ModelCase:
        """The candidate, fitted again as it was."""
        train, holdout = self.plan.tables()
        assert isinstance(judged.candidate, ModelCandidate)
        return judged.candidate.fit(train, holdout, self.plan.predicts, self.plan.seed, self.plan.threshold)


def work_folder(plan: ModelPlan) -> Path:
    """Where finished candidates are kept; another plan or file, and other code, has another one."""
    name = hashlib.sha256((plan.digest + code_digest()).encode()).hexdigest()[:16]
    return private_folder(plan.output.parent / f".{plan.output.name}-models") / name


def run_model_plan(plan: ModelPlan, progress: Progress | None = None) -> ModelRelease:
    r"""Fit, check and judge every candidate; what was finished before a kill is not done again.

    Examples
    --------
    >>> import tempfile
    >>> from dalenius.data import examples
    >>> from dalenius.release.model_plan import read_model_plan
    >>> folder = Path(tempfile.mkdtemp())
    >>> examples.survey(400).select("sex", "age", "education").write_csv(folder / "people.csv")
    >>> _ = (folder / "plan.yaml").write_text(
    ...     "input: people.csv\npredicts: sex\nrefits: 4\ncandidates: {tree: {min_samples_leaf: {each: [1, 40]}}}\n"
    ...     "policy: [model-small-leaves <= 0 %]\n"
    ... )
    >>> release = run_model_plan(read_model_plan(folder / "plan.yaml"))
    >>> [(j.candidate.name, j.safe) for j in release.judged], release.chosen.candidate.name
    ([('tree min_samples_leaf=1', False), ('tree min_samples_leaf=40', True)], 'tree min_samples_leaf=40')
    """
    check_place(plan)
    work = private_folder(work_folder(plan))
    train, holdout = plan.tables()
    judged = []
    for done, candidate in enumerate(plan.candidates):
        path = work / f"{candidate.slug}.json"
        if not path.is_file():
            _measure(plan, candidate, train, holdout, path)
        judged.append(_read(plan, candidate, path))
        if progress is not None:
            progress(candidate.name, done + 1, len(plan.candidates))
    chosen = max((j for j in judged if j.safe), key=lambda j: j.scores["holdout"], default=None)
    return ModelRelease(plan, tuple(judged), chosen, why(judged, chosen), work)


def _measure(plan: ModelPlan, candidate: ModelCandidate, train: Table, holdout: Table, path: Path) -> None:
    case = candidate.fit(train, holdout, plan.predicts, plan.seed, plan.threshold)
    found = check_model(
        case, runs=plan.refits, threshold=plan.threshold, seed=plan.seed, keep=path.with_suffix(".refits")
    )
    body = {
        "results": {name: result.to_dict() for name, result in found.results.items()},
        "scores": found.performance,
        "remarks": list(found.remarks),
    }
    write_text(path, json.dumps(body, ensure_ascii=False) + "\n")  # the order of figures is that of reports


def _read(plan: ModelPlan, candidate: ModelCandidate, path: Path) -> JudgedModel:
    body = json.loads(path.read_text(encoding="utf-8"))
    results = {name: Result.from_dict(held, MODEL_MEASURES[name]) for name, held in body["results"].items()}
    return judged_as(plan, candidate, results, body["scores"], body["remarks"])


def judged_as(
    plan: ModelPlan,
    candidate: ModelCandidate,
    results: Mapping[str, Result],
    scores: Mapping[str, float],
    remarks: Sequence[str],
) -> JudgedModel:
    """A candidate and what was found, held against the policy."""
    findings = tuple(judge(rule, WHERE, 1.0, [results.get(rule.measure)]) for rule in plan.policy)
    return JudgedModel(candidate, results, scores, findings, tuple(remarks))


def why(judged: Sequence[JudgedModel], chosen: JudgedModel | None, of_whom: str = "on strangers") -> str:
    """The choice in words."""
    if chosen is None:
        return "No model keeps every limit, so nothing is released."
    safe = sum(j.safe for j in judged)
    best = max(judged, key=lambda j: j.scores["holdout"])
    text = (
        f"{chosen.candidate.name} is chosen: of {safe} out of {len(judged)} models that keep every "
        f"limit it is the most useful "
        f"({figure(chosen.scores['holdout'])} {of_whom})."
    )
    if best is not chosen:
        lost = best.scores["holdout"] - chosen.scores["holdout"]
        text += f" Keeping the limits costs {figure(lost)} against {best.candidate.name}."
    return text


def facts(release: Released) -> dict[str, Any]:
    """Everything that was found, as plain data, for the people inside."""
    return {
        "why": release.why,
        "chosen": release.chosen.candidate.name if release.chosen else None,
        "candidates": {
            j.candidate.name: {
                "model": j.candidate.kind, "options": dict(j.candidate.options), "safe": j.safe,
                "scores": dict(j.scores), "policy": [f.said for f in j.findings], "remarks": list(j.remarks),
                "figures": {n: r.to_dict() for n, r in j.results.items()},
            }
            for j in release.judged
        },
    }  # fmt: skip
