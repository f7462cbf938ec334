"""Services on a graph, and trees learnt together, made, attacked and chosen by a plan.

Of those that keep every limit the most useful is chosen, as among models.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from dalenius.core.code import code_digest
from dalenius.core.errors import DataError
from dalenius.core.maps import risk_facts
from dalenius.core.result import Result, figure
from dalenius.data import Schema, Table, read
from dalenius.data.atomic import private_folder, write_text
from dalenius.data.lock import locked
from dalenius.evaluation.policy import judge
from dalenius.models.federated import Agreement, federate, label_skew_partition
from dalenius.models.federated.terms import Terms, tree_results
from dalenius.models.federated.trees import leaves, to_json
from dalenius.models.graphs import Graph, GraphNetwork, Offer, link_audit, read_graph, rightly
from dalenius.models.measures import MODEL_MEASURES
from dalenius.release.learnt_plan import FIGURES, LearntCandidate, LearntPlan
from dalenius.release.model_release import WHERE, JudgedModel, why
from dalenius.release.place import check_place

Progress = Callable[[str, int, int], None]
NOISY = 100
"""People asked about where the graph is drawn anew for each."""


@dataclass(frozen=True)
class Learnt:
    """What came out of one candidate.

    Attributes
    ----------
    public, inside
        Plain data of what may leave (settings of a service, a merged tree), and of what stays (weights, messages).
    """

    results: Mapping[str, Result]
    score: float
    remarks: tuple[str, ...] = ()
    public: Mapping[str, Any] = field(default_factory=dict)
    inside: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class LearntRelease:
    """A plan carried out."""

    plan: LearntPlan
    judged: tuple[JudgedModel, ...]
    chosen: JudgedModel | None
    why: str
    work: Path

    @property
    def scored(self) -> str:
        """What the use is measured by, and of whom."""
        return (
            "accuracy on the served graph" if self.plan.kind == "graph-service" else "accuracy on strangers"
        )

    @property
    def drawn(self) -> str:
        """What the map shows, in words."""
        risk = "links that are found" if self.plan.kind == "graph-service" else "local ε"
        return f"The candidates: usefulness to the right, {risk} downwards."

    def points(self) -> pl.DataFrame:
        """The candidates as points of the map: use to the right, risk downwards."""
        name = FIGURES[self.plan.kind][0]
        limit = next((r.limit for r in self.plan.policy if r.measure == name), None)
        rows = [
            {
                "candidate": each.candidate.name, **risk_facts(each.results[name]), "original_risk": None,
                "risk_title": MODEL_MEASURES[name].title, "utility": 100 * each.scores["holdout"],
                "utility_title": f"{self.scored}, %", "utility_better": "higher", "safe": each.safe,
                "chosen": each is self.chosen, "risk_limit": limit, "utility_limit": None,
            }
            for each in self.judged
        ]  # fmt: skip
        floats = ("risk", "risk_low", "risk_high", "original_risk", "risk_limit", "utility_limit")
        return pl.DataFrame(rows, schema_overrides=dict.fromkeys(floats, pl.Float64))

    def kept(self, candidate: LearntCandidate) -> dict[str, Any]:
        """What was made of a candidate, as plain data."""
        held: dict[str, Any] = json.loads(_place(self.work, candidate).read_text(encoding="utf-8"))
        return held


def work_folder(plan: LearntPlan) -> Path:
    """Where finished candidates are kept; another plan or file, and other code, has another one."""
    name = hashlib.sha256((plan.digest + code_digest()).encode()).hexdigest()[:16]
    return private_folder(plan.output.parent / f".{plan.output.name}-models") / name


def run_learnt_plan(plan: LearntPlan, progress: Progress | None = None) -> LearntRelease:
    """Make and judge every candidate; what was finished before a kill is not done again."""
    check_place(plan)
    work = private_folder(work_folder(plan))
    with locked(work / "lock", busy="the candidates of this plan are being made by another program"):
        for done, candidate in enumerate(plan.candidates):
            path = _place(work, candidate)
            if not path.is_file():
                write_text(path, json.dumps(as_plain(learn(plan, candidate)), sort_keys=True) + "\n")
            if progress is not None:
                progress(candidate.name, done + 1, len(plan.candidates))
    judged = tuple(
        judged_as(plan, c, json.loads(_place(work, c).read_text("utf-8"))) for c in plan.candidates
    )
    chosen = max((j for j in judged if j.safe), key=lambda j: j.scores["holdout"], default=None)
    of_whom = "on the served graph" if plan.kind == "graph-service" else "on strangers"
    return LearntRelease(plan, judged, chosen, why(judged, chosen, of_whom), work)


def learn(plan: LearntPlan, candidate: LearntCandidate) -> Learnt:
    """Make one candidate and attack or count it."""
    return _service(plan, candidate) if plan.kind == "graph-service" else _tree(plan, candidate)


def look_at_files(plan: LearntPlan) -> None:
    """Read every file of a plan and hold them against each other; nothing is learnt, and all that is wrong is told."""
    if plan.kind == "graph-service":
        _graph(plan, "links", "people")
        if "fitted_links" in plan.files:
            _graph(plan, "fitted_links", "fitted_people")
        return
    agreed = Agreement.of(Schema.from_yaml(plan.files["schema"]), plan.label)
    for table in _holders(plan).values():
        agreed.values(table)
        agreed.labels(table)


def _holders(plan: LearntPlan) -> dict[str, Table]:
    """The files of all holders, by name."""
    schema = Schema.from_yaml(plan.files["schema"])
    return {name: read(path, schema=schema) for name, path in plan.files.items() if name != "schema"}


def _graph(plan: LearntPlan, links: str, people: str) -> Graph:
    return read_graph(plan.files[links], plan.files[people], identifier=plan.identifier, label=plan.label)


def _service(plan: LearntPlan, candidate: LearntCandidate) -> Learnt:
    offer, served = Offer(**candidate.options), _graph(plan, "links", "people")
    fitted = _graph(plan, "fitted_links", "fitted_people") if "fitted_links" in plan.files else None
    service = offer.service(served, fitted, plan.seed)
    # noise is drawn anew at every change, so that an attack on many people takes as many graphs
    audit = link_audit(
        service, people=plan.asked if offer.graph_epsilon is None else min(plan.asked, 40), seed=plan.seed
    )
    model = service.model
    assert isinstance(model, GraphNetwork)
    weights = {
        "weights": [w.tolist() for w in model.weights], "biases": [b.tolist() for b in model.biases],
        "norm": model.norm, "centre": None if model.centre is None else model.centre.tolist(),
        "spread": None if model.spread is None else model.spread.tolist(),
    }  # fmt: skip
    return Learnt(
        {"model-links": audit.result}, rightly(service, served), served.notes, offer.told(), weights
    )


def _tree(plan: LearntPlan, candidate: LearntCandidate) -> Learnt:
    terms, schema = Terms(**candidate.options), Schema.from_yaml(plan.files["schema"])
    agreed = Agreement.of(schema, plan.label, **terms.agreed())
    tables = _holders(plan)
    if plan.deal is not None:
        whole = tables["holder 1"]
        parts = label_skew_partition(agreed.labels(whole), plan.deal, seed=plan.seed)
        tables = {f"holder {i + 1}": whole.take(rows) for i, rows in enumerate(parts)}
    done = federate(tables, agreed, vote=terms.vote, seed=plan.seed)
    if done.scores is None:
        raise DataError("holders have too few people to set some aside; nobody could say how good a tree is")
    spread = done.scores.select("holder", "people", "accuracy", "F1").to_dicts()
    return Learnt(
        tree_results(done), float(str(done.scores["accuracy"].mean())), (done.sentence,),
        {"agreement": agreed.to_json(), "tree": to_json(done.tree), "leaves": len(leaves(done.tree))},
        {"messages": list(done.messages), "scores": spread},
    )  # fmt: skip


def as_plain(learnt: Learnt) -> dict[str, Any]:
    """What came out, as plain data."""
    return {
        "results": {name: result.to_dict() for name, result in learnt.results.items()},
        "scores": {"holdout": learnt.score}, "remarks": list(learnt.remarks), "public": dict(learnt.public),
        "inside": dict(learnt.inside),
    }  # fmt: skip


def judged_as(plan: LearntPlan, candidate: LearntCandidate, held: Mapping[str, Any]) -> JudgedModel:
    """A candidate with the policy's word on what was made of it."""
    results = {name: Result.from_dict(body, MODEL_MEASURES[name]) for name, body in held["results"].items()}
    findings = tuple(judge(rule, WHERE, 1.0, [results.get(rule.measure)]) for rule in plan.policy)
    return JudgedModel(candidate, results, held["scores"], findings, tuple(held["remarks"]))


def _place(work: Path, candidate: LearntCandidate) -> Path:
    return work / f"{candidate.slug}.json"


def price(candidate: LearntCandidate) -> str:
    """What a private graph costs, for a card; nothing where there is none.

    Examples
    --------
    >>> price(LearntCandidate("graph-service", "graph-service", {"graph_epsilon": 3.0, "most_connects": 8}))[:52]
    'Every release of the graph costs ε = 3 for one link:'
    """
    epsilon, most = candidate.options.get("graph_epsilon"), candidate.options.get("most_connects")
    if epsilon is None:
        return "No formal guarantee goes with it: the figures are of attacks that were tried."
    whole = "" if most is None else f", {figure(epsilon * (most + 2))} for the {most} that are let in"
    return (
        f"Every release of the graph costs ε = {figure(epsilon)} for one link: one to fit the model, one to serve, and "
        f"one for every new person{whole}."
    )
