"""The pack of a service on a graph or of a tree learnt together: settings or tree, card and report; and its check.

Everything public follows from what is kept inside. Without noise on the graph it is learnt again when it is verified.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dalenius.core.errors import DaleniusError, DataError
from dalenius.core.result import figure
from dalenius.data.atomic import write_text
from dalenius.data.lock import locked
from dalenius.release.learnt_plan import LearntCandidate, LearntPlan, read_learnt_plan
from dalenius.release.learnt_release import LearntRelease, as_plain, judged_as, learn, price
from dalenius.release.model_pack import report
from dalenius.release.model_release import JudgedModel, facts
from dalenius.release.origins import changed_origins
from dalenius.release.pack import CHECKSUMS, as_json, checksums, write_manifest
from dalenius.release.place import put_in_place
from dalenius.report import Provenance

MADE = {"graph-service": "service.json", "tree": "tree.json"}
INSIDE = {"graph-service": "network.json", "tree": "messages.json"}
KNOWN = frozenset(
    {f"public/{name}" for name in (*MADE.values(), "model-card.md", "report.html", CHECKSUMS)}
    | {f"internal/{name}" for name in (*INSIDE.values(), "report.html", "results.json", "plan.yaml")}
)
"""Every file of such a pack but the manifest and its signature."""


def write_learnt_pack(release: LearntRelease, key: Path | None = None) -> Path:
    """Write the pack of the chosen candidate; the folder appears whole or not at all."""
    chosen, plan = release.chosen, release.plan
    if chosen is None:
        raise DataError(release.why)
    candidate = _learnt(chosen)
    held = release.kept(candidate)

    def fill(folder: Path) -> None:
        for name, text in public_files(release, chosen, held).items():
            write_text(folder / "public" / name, text)
        write_text(folder / "public" / CHECKSUMS, checksums(folder / "public"))
        inside = folder / "internal"
        write_text(inside / INSIDE[plan.kind], as_json(held["inside"]))
        write_text(inside / "report.html", report(release, public=False))
        write_text(inside / "results.json", as_json({**facts(release), "made": held}))
        write_text(inside / "plan.yaml", plan.text)
        told = {"kind": "learnt", "date": Provenance.now().date, "threshold": 0, "chosen": candidate.name}
        write_manifest(folder, plan, {**told, "repeatable": repeatable(candidate)})

    with locked(release.work.parent / "pack.lock"):
        return put_in_place(plan, release.work, fill, key)


def _learnt(judged: JudgedModel) -> LearntCandidate:
    assert isinstance(judged.candidate, LearntCandidate)
    return judged.candidate


def repeatable(candidate: LearntCandidate) -> bool:
    """Whether it comes out again: noise on a graph is fresh every time."""
    return candidate.options.get("graph_epsilon") is None


def public_files(release: LearntRelease, chosen: JudgedModel, held: Mapping[str, Any]) -> dict[str, str]:
    """What may leave, by name: the chosen candidate and nothing of the others."""
    return {
        MADE[release.plan.kind]: as_json(held["public"]),
        "model-card.md": card(release, chosen, held["public"]),
        "report.html": report(release, public=True),
    }


def card(release: LearntRelease, chosen: JudgedModel, made: Mapping[str, Any]) -> str:
    """What users must know, as Markdown."""
    plan = release.plan
    figures = "\n".join(f"| {r.title} | {r.told} |" for r in chosen.results.values() if r.trusted)
    limits = "\n".join(f"- {finding.rule.text}: met" for finding in chosen.findings)
    what, use, guard = (_service if plan.kind == "graph-service" else _tree)(plan, _learnt(chosen), made)
    return f"""# {plan.title}

{what}

- **Use.** {release.scored.capitalize()}: {figure(chosen.scores["holdout"])}.
- **Not for.** {use}
- **What protects people.** {guard}

## How safe it is

| figure | value |
|---|---|
{figures}

Limits that were set before, and are kept:

{limits}

The figures are of what was tried; they are no proof against other attacks.
"""


def _service(plan: LearntPlan, candidate: LearntCandidate, made: Mapping[str, Any]) -> tuple[str, str, str]:
    answers = f"{made['answers']}" + (f" of {made['digits']} decimals" if "digits" in made else "")
    limit = made["most_connects"]
    joined = "any number of new people" if limit is None else f"at most {limit} new people"
    return (
        f"A service that says the class `{plan.label}` of people in a graph: {made['layers']} layers, "
        f"`{made['norm']}`; callers see {answers} and may add {joined}.",
        "People of another graph; callers who may change what others entered. Nothing was measured there.",
        price(candidate),
    )  # fmt: skip


def _tree(plan: LearntPlan, candidate: LearntCandidate, made: Mapping[str, Any]) -> tuple[str, str, str]:
    agreed = made["agreement"]
    columns = ", ".join(f"`{a['name']}`" for a in agreed["attributes"])
    return (
        f"A tree for `{plan.label}` of {made['leaves']} leaves, merged of the trees of several holders; it asks about "
        f"{columns}.",
        "People of another population; decisions about the people it was learnt from.",
        f"No holder sent records: every tree asks at most {agreed['depth']} questions, and every leaf rests on "
        f"{agreed['smallest']} people of its holder or more. Values were changed at random (θ = "
        f"{agreed['theta']:g}); a local ε above 10 means nothing.",
    )  # fmt: skip


def strange_learnt_files(names: Sequence[str]) -> list[str]:
    """Files that do not belong in such a pack.

    Examples
    --------
    >>> strange_learnt_files(["public/tree.json", "public/people.csv"])
    ['public/people.csv']
    """
    return [name for name in names if name not in KNOWN]


def learnt_faults(where: Path, body: dict[str, Any], place: Path) -> list[str]:
    """What does not come out again, given the plan beside its input."""
    try:
        plan = read_learnt_plan(place)
    except DaleniusError as error:
        return [f"the plan cannot be used any more: {error}"]
    changed = changed_origins(body, plan.text_digest, plan.sources)
    try:
        return changed or _remade(where, body, plan)
    except (DaleniusError, ValueError, KeyError, TypeError, AttributeError) as error:
        return [f"the pack cannot be made again ({type(error).__name__})"]


def _remade(where: Path, body: dict[str, Any], plan: LearntPlan) -> list[str]:
    told = json.loads((where / "internal" / "results.json").read_text(encoding="utf-8"))
    chosen = next((c for c in plan.candidates if c.name == body["chosen"]), None)
    if chosen is None or told["chosen"] != chosen.name:
        return ["the chosen candidate is none of the plan's"]
    held = told["made"]
    wrong = []
    if repeatable(chosen) and json.loads(json.dumps(as_plain(learn(plan, chosen)))) != held:
        wrong.append("what was chosen comes out differently when it is learnt again")
    judged = judged_as(plan, chosen, held)
    wrong += [] if judged.safe else [f"it does not keep every limit: {'; '.join(judged.broken)}"]
    release = LearntRelease(plan, (judged,), judged, told["why"], where)
    kept = json.loads((where / "internal" / INSIDE[plan.kind]).read_text(encoding="utf-8"))
    wrong += [] if kept == held["inside"] else [f"internal/{INSIDE[plan.kind]} is not what was made"]
    return wrong + [
        f"public/{name} does not follow from what is kept inside"
        for name, text in public_files(release, judged, held).items()
        if (where / "public" / name).read_text(encoding="utf-8") != text
    ]
