"""Verifying a pack: is it whole and unchanged, do its figures come out again, and does the plan give it again."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dalenius.core.errors import DaleniusError, FileError
from dalenius.data.atomic import write_text
from dalenius.release.jobs import evaluate_scenario, file_digest, read_made, source
from dalenius.release.pack import MANIFEST, digest_of, write_pack
from dalenius.release.plan import Plan, read_plan
from dalenius.release.policy import judge
from dalenius.release.run import run_plan, work_folder

NEEDED = frozenset({"seed", "plan", "inputs", "files", "date", "threshold", "chosen", "repeatable", "digest"})
"""What every manifest says."""


@dataclass
class Verification:
    """What was found: faults (the pack is not accepted) and remarks (what could not be checked)."""

    faults: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @property
    def accepted(self) -> bool:
        """Whether nothing was found wrong."""
        return not self.faults


def verify_pack(folder: str | Path, plan: str | Path | None = None) -> Verification:
    """Check a pack: changed, missing or added files, an edited plan, manifest or seed, figures that do not come out.

    The plan is looked for where the manifest says it was, beside its input, unless it is given. Where it is not there
    (the pack was sent elsewhere) only the files are checked, and a remark says so.

    Examples
    --------
    >>> verify_pack("nowhere")
    Traceback (most recent call last):
    ...
    dalenius.core.errors.FileError: nowhere: no manifest.json; this is not a release pack
    """
    where = Path(folder)
    body = _manifest(where)
    found = Verification(_file_faults(where, body))
    place = Path(plan) if plan is not None else _plan_place(where, body)
    if found.faults:
        return found
    if place is None:
        found.remarks.append(
            "the figures were not computed again: the plan and its input are not here (name the plan with --plan)"
        )
        return found
    try:
        held = read_plan(place)
    except DaleniusError as error:
        found.faults.append(f"the plan cannot be used any more: {error}")
        return found
    found.faults += _plan_faults(body, held) or _recomputed(where, held)
    return found


def check_release(
    plan: Plan, workers: int | None = None, progress: Callable[[str, int, int], None] | None = None
) -> Verification:
    """The gate for an office's own checks: the pack verifies, the plan gives the same files again, policy met."""
    found = verify_pack(plan.output, plan.path)
    if found.faults:
        return found
    body = _manifest(plan.output)
    if not body["repeatable"]:
        found.remarks.append(
            "fresh noise is part of the chosen method's guarantee, so the file cannot be made again; "
            "its hash, figures and policy were checked instead"
        )
        return found
    whole = all(c.repeatable for c in plan.candidates)
    kept = plan.candidates if whole else tuple(c for c in plan.candidates if c.name == body["chosen"])
    if not whole:
        found.remarks.append("only the chosen candidate was made again: fresh noise is part of the others")
    with tempfile.TemporaryDirectory(prefix="dalenius-check-") as place:
        again = replace(plan, candidates=kept, output=Path(place) / plan.output.name)
        write_text(work_folder(again) / "date", body["date"])
        release = run_plan(again, workers, progress)
        if release.chosen is None or release.chosen.candidate.name != body["chosen"]:
            found.faults.append(f"the plan now chooses otherwise: {release.why}")
            return found
        pack = write_pack(release, body["threshold"])
        names = [n for n in body["files"] if whole or (n.startswith("public/") and "synthetic." in n)]
        found.faults += [
            f"{name} comes out differently"
            for name in names
            if not (pack / name).is_file() or file_digest(pack / name) != body["files"][name]
        ]
    return found


def _file_faults(where: Path, body: dict[str, Any]) -> list[str]:
    faults = [] if body.get("digest") == digest_of(body) else ["the manifest was changed"]
    listed = body.get("files", {})
    found = {str(p.relative_to(where)) for p in where.rglob("*") if p.is_file()} - {MANIFEST}
    faults += [f"{name} is missing" for name in sorted(set(listed) - found)]
    faults += [f"{name} is not in the manifest" for name in sorted(found - set(listed))]
    both = sorted(found & set(listed))
    return faults + [f"{name} was changed" for name in both if file_digest(where / name) != listed[name]]


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        body = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except OSError:
        raise FileError(f"{folder}: no {MANIFEST}; this is not a release pack") from None
    except ValueError:
        raise FileError(f"{folder}: {MANIFEST} is damaged") from None
    whole = isinstance(body, dict) and body.keys() >= NEEDED
    if not whole or not all(isinstance(body[name], dict) for name in ("files", "inputs")):
        raise FileError(f"{folder}: {MANIFEST} is damaged")
    return dict(body)


def _plan_place(where: Path, body: dict[str, Any]) -> Path | None:
    named = body.get("plan_file")
    place = where / str(named) if named else None
    return place if place is not None and place.is_file() else None


def _plan_faults(body: dict[str, Any], plan: Plan) -> list[str]:
    faults = []
    if plan.seed != body["seed"]:
        faults.append("the plan has another seed than the one this pack was made with")
    if plan.text_digest != body["plan"]:
        faults.append("the plan was edited after this pack was made")
    held = {path.name: file_digest(path) for path in plan.sources}
    faults += [
        f"input {n} is not the file this pack was made from"
        for n, d in body["inputs"].items()
        if held.get(n) != d
    ]
    return faults


def _recomputed(folder: Path, plan: Plan) -> list[str]:
    """Key figures (policy and choice) of the released file, computed anew from the released file and the source."""
    results = json.loads((folder / "internal" / "results.json").read_text(encoding="utf-8"))
    expected = results["candidates"][results["chosen"]]["replicates"][0]
    original, holdout = source(plan)
    names = list(dict.fromkeys([*(rule.measure for rule in plan.policy), plan.choose]))
    try:
        released = read_made(next((folder / "public").glob("*.synthetic.csv")), original)
        faults = []
        for scenario in plan.scenarios:
            evaluation = evaluate_scenario(plan, scenario, original, released, holdout, names)
            for name, result in evaluation.results.items():
                before = expected[scenario.name][name]["value"]
                if not _same(result.value, before):
                    faults.append(f"{name} in scenario {scenario.name!r} does not come out again")
            share = scenario.population_share
            judged = [
                judge(rule, scenario.name, share, [evaluation.results.get(rule.measure)])
                for rule in plan.policy
            ]
            faults += [f"policy in scenario {scenario.name!r}: {f.said}" for f in judged if not f.met]
    except DaleniusError as error:
        return [f"the figures cannot be computed again: {error}"]
    return faults


def _same(value: float, before: Any) -> bool:
    if before is None:
        return math.isnan(value)
    return math.isclose(value, float(before), rel_tol=1e-9, abs_tol=1e-12)
