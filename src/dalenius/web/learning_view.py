"""What the page asks and shows of services on graphs and of trees learnt together: plans, the map, figures in words."""

from __future__ import annotations

import re
from typing import Any

from dalenius.core.errors import OptionError
from dalenius.core.maps import risk_utility_map
from dalenius.core.option import EACH
from dalenius.core.pictures import picture
from dalenius.core.result import figure
from dalenius.release.learnt_pack import write_learnt_pack
from dalenius.release.learnt_plan import FIGURES, LearntPlan
from dalenius.release.learnt_release import LearntRelease, run_learnt_plan

ASKED = 200
"""People an attacker asks about on the page, which is waited for; a plan may have more."""
ANSWERS = ("logits", "softmax", "rounded", "label")
MOST = 6
"""Values of one option that are tried."""


def graph_plan(form: Any) -> dict[str, Any]:
    """A plan of services on a graph, out of a form."""
    answers = [answer for answer in form.getlist("answers") if answer in ANSWERS]
    candidates: dict[str, Any] = {}
    if answers:
        candidates["service"] = {"model": "graph-service", "answers": {EACH: answers}}
    if epsilons := _numbers(form, "epsilons", "ε"):
        candidates["private"] = {
            "model": "graph-service",
            "graph_epsilon": {EACH: epsilons},
            "answers": "label",
        }
    if not candidates:
        raise OptionError("say what callers may see, or at which ε a private graph is served")
    return {
        **_shared(form, "A service on a graph"), "id": _text(form, "id"), "asked": ASKED, "candidates": candidates,
        "policy": [f"model-links <= {_number(form, 'limit', 0.2)}"],
    }  # fmt: skip


def tree_plan(form: Any) -> dict[str, Any]:
    """A plan of trees learnt together, out of a form."""
    options: dict[str, Any] = {
        "depth": {EACH: [int(x) for x in _numbers(form, "depths", "the number of questions") or [3.0]]},
        "theta": {EACH: _numbers(form, "thetas", "how much is changed at random") or [0.2]},
    }
    deal = _text(form, "deal")
    return {
        **_shared(form, "A tree learnt together"), "candidates": {"tree": options},
        **({"deal": int(_number(form, "deal", 2))} if deal else {}),
        "policy": ["model-smallest-leaf >= 10", f"model-local-epsilon <= {_number(form, 'limit', 40)}"],
    }  # fmt: skip


def _shared(form: Any, usual: str) -> dict[str, Any]:
    return {"title": _text(form, "title")[:120] or usual, "class": _text(form, "class"), "output": "release"}


def _text(form: Any, entry: str) -> str:
    return str(form.get(entry) or "").strip()[:200]


def _number(form: Any, entry: str, usual: float) -> float:
    found = _numbers(form, entry, "the limit") or [usual]
    return found[0]


def _numbers(form: Any, entry: str, what: str) -> list[float]:
    """Numbers that were typed with commas between them."""
    parts = [part.strip() for part in _text(form, entry).split(",") if part.strip()]
    if len(parts) > MOST or not all(re.fullmatch(r"\d{1,6}(\.\d{1,6})?", part) for part in parts):
        raise OptionError(f"{what}: up to {MOST} numbers, separated by commas")
    return [float(part) for part in parts]


def learnt(plan: LearntPlan) -> dict[str, Any]:
    """Candidates on the map, what was found of each, and why one is chosen; the chosen one is packed."""
    release = run_learnt_plan(plan)
    if release.chosen is not None:
        write_learnt_pack(release)
    names = FIGURES[plan.kind]
    heads = [release.judged[0].results[name].title for name in names]
    return {
        "why": release.why, "scored": release.scored, "heads": heads, "rows": _rows(release, names),
        "graph": plan.kind == "graph-service", "packed": release.chosen is not None,
        "picture": picture(risk_utility_map(release.points()), release.drawn), "drawn": release.drawn,
    }  # fmt: skip


def _rows(release: LearntRelease, names: tuple[str, ...]) -> list[dict[str, Any]]:
    return [
        {"name": j.candidate.name, "safe": j.safe, "chosen": j is release.chosen, "broken": j.broken,
         "score": figure(j.scores["holdout"]), "figures": [j.results[name].told for name in names],
         # what is said of a tree as a whole tells its ε too
         "said": [*(j.results[n].sentence for n in names if n != "model-local-epsilon"), *j.remarks]}
        for j in release.judged
    ]  # fmt: skip
