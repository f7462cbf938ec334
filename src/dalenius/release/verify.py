"""Verifying a pack: is it whole and unchanged, and do its figures come out again?"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from dalenius.core.errors import DaleniusError, FileError
from dalenius.data import read_table
from dalenius.evaluation import evaluate
from dalenius.release.pack import MANIFEST, digest_of
from dalenius.release.plan import Plan, read_plan
from dalenius.release.run import file_digest, source


def verify_pack(folder: str | Path, plan: str | Path | None = None) -> list[str]:
    """Faults of a pack: changed, missing or added files, an edited plan or manifest, figures that do not come out.

    With ``plan`` (the plan file beside its input) the key figures of the released file are computed again.

    Examples
    --------
    >>> verify_pack("nowhere")
    Traceback (most recent call last):
    ...
    dalenius.core.errors.FileError: nowhere: no manifest.json; this is not a release pack
    """
    where = Path(folder)
    body = _manifest(where)
    faults = [] if body.get("digest") == digest_of(body) else ["the manifest was changed"]
    listed = body.get("files", {})
    found = {str(p.relative_to(where)) for p in where.rglob("*") if p.is_file()} - {MANIFEST}
    faults += [f"{name} is missing" for name in sorted(set(listed) - found)]
    faults += [f"{name} is not in the manifest" for name in sorted(found - set(listed))]
    faults += [
        f"{name} was changed"
        for name in sorted(found & set(listed))
        if file_digest(where / name) != listed[name]
    ]
    if plan is not None and not faults:
        faults += _recomputed(where, body, read_plan(plan))
    return faults


def _manifest(folder: Path) -> dict[str, Any]:
    try:
        body = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except OSError:
        raise FileError(f"{folder}: no {MANIFEST}; this is not a release pack") from None
    except ValueError:
        raise FileError(f"{folder}: {MANIFEST} is damaged") from None
    if not isinstance(body, dict):
        raise FileError(f"{folder}: {MANIFEST} is damaged")
    return body


def _recomputed(folder: Path, body: dict[str, Any], plan: Plan) -> list[str]:
    if plan.digest != body["plan"]:
        return ["the plan is not the one this pack was made from"]
    if plan.seed != body["seed"]:
        return ["the seed is not the one this pack was made with"]
    for name, digest in body["inputs"].items():
        if file_digest(plan.input.parent / name) != digest:
            return [f"input {name} is not the file this pack was made from"]
    results = json.loads((folder / "internal" / "results.json").read_text(encoding="utf-8"))
    expected = results["candidates"][results["chosen"]]["figures"]
    original, holdout = source(plan)
    released = read_table(next((folder / "public").glob("*.synthetic.csv")))
    faults = []
    for scenario in plan.scenarios:
        names = [r.measure for r in plan.policy] + [plan.choose]
        try:
            evaluation = evaluate(
                original,
                released,
                None,
                scenario.keys,
                scenario.targets,
                holdout,
                measures=list(dict.fromkeys(names)),
            )
        except DaleniusError as error:
            return [f"the figures cannot be computed again: {error}"]
        for name, result in evaluation.results.items():
            before = expected[scenario.name][name]
            if plan.replicates > 1 and before["interval"] is not None:
                same = before["interval"]["low"] - 1e-9 <= result.value <= before["interval"]["high"] + 1e-9
            else:
                same = before["value"] is not None and math.isclose(
                    result.value, before["value"], rel_tol=1e-6, abs_tol=1e-9
                )
            if not same:
                faults.append(f"{name} in scenario {scenario.name!r} does not come out again")
    return faults
