"""What the page shows of a model: its verdict, candidates on the map, explanations before and after rounding."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dalenius.core.errors import OptionError
from dalenius.core.maps import risk_utility_map
from dalenius.core.option import EACH
from dalenius.core.pictures import picture
from dalenius.core.result import figure
from dalenius.data import read
from dalenius.data.atomic import write_text
from dalenius.evaluation.policy import Rule, judge
from dalenius.models import ModelCase, check_model
from dalenius.models.explanations import Quantize, audit_defences
from dalenius.release.model_pack import write_model_pack
from dalenius.release.model_plan import DEFAULT_POLICY, read_model_plan
from dalenius.release.model_release import run_model_plan

MODELS = (".skops", ".json", ".ubj", ".txt", ".csv")
REFITS = 8
"""Refits on the page, which is waited for; the command line does as many as are asked for."""
OUTPUTS = ("probability", "logit", "decision")
PEOPLE = 150


@dataclass(frozen=True)
class Case:
    """A model that was opened on the page, and where its files lie."""

    folder: Path
    facts: Mapping[str, Any]

    @property
    def name(self) -> str:
        """Name in addresses."""
        return self.folder.name

    @property
    def title(self) -> str:
        """What the person called it."""
        return str(self.facts["title"])

    @property
    def pack(self) -> Path:
        """The pack of the chosen candidate."""
        return self.folder / "release"

    def open(self) -> ModelCase:
        """The model and its files, held against each other."""
        train = read(self.folder / str(self.facts["train"]))
        held = self.facts.get("holdout")
        others = None if held is None else read(self.folder / str(held))
        return ModelCase.of(
            self.folder / str(self.facts["model"]), train, others, target=str(self.facts["predicts"])
        )


def verdict(case: Case) -> dict[str, Any]:
    """The figures with their limits, and whether the model may leave."""
    found = check_model(case.open(), runs=REFITS, keep=case.folder / "refits")
    judged = [
        judge(rule, "", 1.0, [found.results.get(rule.measure)]) for rule in map(Rule.parse, DEFAULT_POLICY)
    ]
    limits = {finding.rule.measure: finding for finding in judged}
    lines = [
        {"title": r.title, "value": r.told, "beside": r.beside, "said": r.sentence, "limit": _limit(limits.get(name)),
         "met": None if name not in limits else limits[name].met}
        for name, r in found.results.items()
    ]  # fmt: skip
    held = found.results.get("model-membership")
    drawn = picture(held.chart, held.sentence) if held is not None and held.chart is not None else ""
    return {
        "lines": lines, "safe": all(f.met for f in judged), "missed": [f.said for f in judged if not f.met],
        "remarks": found.remarks, "picture": drawn, "scores": found.skill, "kind": found.case.fitted.kind,
    }  # fmt: skip


def _limit(finding: Any) -> str:
    return "" if finding is None else finding.rule.text.removeprefix(finding.rule.measure).strip()


def explained(case: Case, asked: Mapping[str, str]) -> dict[str, Any]:
    """What an attacker rebuilds from explanations as they are and rounded, and what rounding leaves of them."""
    output = asked.get("output", "probability")
    given = asked.get("decimals", "2")
    if output not in OUTPUTS or not given.isdigit() or not 0 <= int(given) <= 8:
        raise OptionError("explain the probability, logit or decision, with 0 to 8 decimals")
    opened = case.open()
    options: dict[str, Any] = {
        "output": output,
        "people": PEOPLE,
        "queries": 300,
        "attacks": ("linear", "columns", "tree"),
    }
    plain, rounded = audit_defences(opened, [None, Quantize(int(given))], **options)
    return {
        "verdict": plain.verdict.sentence, "perfect": plain.verdict.perfect, "plain": _side(plain.result),
        "rounded": _side(rounded.result), "said": rounded.result.sentence,
        "ranks": figure(100 * rounded.kept.ranks, "%"),
        "top": figure(100 * rounded.kept.top, "%"), "decimals": int(given), "output": output,
        "picture": picture(rounded.result.chart, rounded.result.sentence) if rounded.result.chart else "",
    }  # fmt: skip


def _side(result: Any) -> dict[str, str]:
    values = result.values
    return {
        "skill": figure(result.value, "%"),
        "values": figure(values["values right %"], "%"),
        "records": figure(values["records right %"], "%"),
    }


def candidates(case: Case, asked: Mapping[str, str]) -> dict[str, Any]:
    """Candidates fitted on the same people, on the map; the chosen one is packed."""
    kind, sizes = asked.get("kind", "tree"), asked.get("leaves", "1, 10, 40")
    leaves = [part.strip() for part in sizes.split(",") if part.strip()]
    if kind not in ("tree", "forest", "boosting") or not leaves or len(leaves) > 6:
        raise OptionError("compare trees, forests or boosting, with up to 6 sizes of leaves")
    if not all(part.isdigit() and 1 <= int(part) <= 10**6 for part in leaves):
        raise OptionError("sizes of leaves are whole numbers from 1, separated by commas")
    plan: dict[str, Any] = {
        "title": case.title, "input": case.facts["train"], "predicts": case.facts["predicts"], "refits": REFITS,
        "candidates": {kind: {"min_samples_leaf": {EACH: [int(part) for part in leaves]}}}, "output": "release",
    }  # fmt: skip
    if case.facts.get("holdout"):
        plan["holdout"] = case.facts["holdout"]
    # JSON is YAML, and nothing a person typed is read as anything but a text or a number
    write_text(case.folder / "plan.yaml", json.dumps(plan, indent=1))
    release = run_model_plan(read_model_plan(case.folder / "plan.yaml"))
    if release.chosen is not None:
        write_model_pack(release)
    words = "The models: usefulness to the right, what membership adds downwards."
    rows = [
        {"name": j.candidate.name, "safe": j.safe, "membership": j.results["model-membership"].told,
         "small": j.results["model-small-leaves"].told, "score": figure(j.scores["holdout"]), "broken": j.broken,
         "chosen": j is release.chosen}
        for j in release.judged
    ]  # fmt: skip
    return {
        "why": release.why, "rows": rows, "picture": picture(risk_utility_map(release.points()), words),
        "packed": release.chosen is not None, "score": release.score,
    }  # fmt: skip
