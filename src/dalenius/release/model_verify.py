"""Verifying the pack of a model: files and signature as for any pack, then everything that is said of the model.

The packed model itself is opened (without running anything it brings) and checked again on the plan's people: its
figures must come out as they were told.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from dalenius.core.errors import DaleniusError
from dalenius.models.case import ModelCase
from dalenius.models.checking import check_model
from dalenius.release.model_pack import KNOWN, MODEL, public_texts
from dalenius.release.model_plan import ModelPlan, read_model_plan
from dalenius.release.model_release import ModelRelease, judged_as
from dalenius.release.origins import changed_origins

CLOSE = 1e-9


def model_files_strange(names: Any) -> list[str]:
    """Files that do not belong in the pack of a model.

    Examples
    --------
    >>> model_files_strange(["public/model.skops", "public/model.pkl"])
    ['public/model.pkl']
    """
    return [name for name in names if name not in KNOWN]


def model_faults(where: Path, body: dict[str, Any], place: Path) -> list[str]:
    """What does not come out again, given the plan beside its input."""
    try:
        plan = read_model_plan(place)
    except DaleniusError as error:
        return [f"the plan cannot be used any more: {error}"]
    faults = changed_origins(body, plan.text_digest, plan.sources)
    return faults or _figures(where, body, plan)


def _figures(where: Path, body: dict[str, Any], plan: ModelPlan) -> list[str]:
    told = json.loads((where / "internal" / "results.json").read_text(encoding="utf-8"))
    candidate = next((c for c in plan.candidates if c.name == body["chosen"]), None)
    if candidate is None or told["chosen"] != candidate.name:
        return ["the chosen model is none of the plan's"]
    train, holdout = plan.tables()
    try:
        case = ModelCase.of(where / "public" / MODEL, train, holdout, target=plan.predicts, codes=False)
        checked = check_model(case, runs=plan.refits, threshold=plan.threshold, seed=plan.seed)
    except DaleniusError as error:
        return [f"the model in the pack cannot be checked again: {error}"]
    said = told["candidates"][candidate.name]["figures"]
    faults = [
        f"{name} of the model in the pack comes out differently" for name, result in checked.results.items()
        if name not in said or not _same(result.value, said[name]["value"])
    ]  # fmt: skip
    if checked.again.why:
        faults.append(f"the model in the pack is not what its plan fits: {checked.again.why}")
    judged = judged_as(plan, candidate, checked.results, checked.performance, checked.remarks)
    faults += [] if judged.safe else [f"the model does not keep every limit: {'; '.join(judged.broken)}"]
    release = ModelRelease(plan, (judged,), judged, told["why"], where)
    return faults + [
        f"public/{name} does not follow from the model in the pack"
        for name, text in public_texts(release, judged, case).items()
        if (where / "public" / name).read_text(encoding="utf-8") != text
    ]


def _same(value: float, said: Any) -> bool:
    if said is None or math.isnan(value):
        return said is None and math.isnan(value)
    return math.isclose(value, float(said), rel_tol=CLOSE, abs_tol=CLOSE)
