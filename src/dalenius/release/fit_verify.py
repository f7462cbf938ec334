"""Verifying the pack of a private fit: fresh noise cannot be drawn again, but everything said of it is made again.

The public files must follow from the coefficients that are kept inside, the limits must hold, and the ledger must have
a line that paid for just this fit.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from dalenius.core.errors import DaleniusError
from dalenius.dp.budget import Spend
from dalenius.release.fit_pack import public_files
from dalenius.release.fit_plan import FitPlan, read_fit_plan
from dalenius.release.fit_release import FitRelease, judged_as, paid_by, price_in
from dalenius.release.origins import changed_origins

CLOSE = 1e-9


def fit_faults(where: Path, body: dict[str, Any], place: Path) -> list[str]:
    """What does not come out again, given the plan beside its input."""
    try:
        plan = read_fit_plan(place)
    except DaleniusError as error:
        return [f"the plan cannot be used any more: {error}"]
    faults = changed_origins(body, plan.text_digest, plan.sources)
    try:
        return faults or _remade(where, body, plan)
    except (DaleniusError, ValueError, KeyError, TypeError) as error:
        return [f"the pack cannot be made again ({type(error).__name__})"]


def _remade(where: Path, body: dict[str, Any], plan: FitPlan) -> list[str]:
    told = json.loads((where / "internal" / "results.json").read_text(encoding="utf-8"))
    chosen = next((c for c in plan.candidates if c.name == body["chosen"]), None)
    if chosen is None or told["chosen"] != chosen.name:
        return ["the chosen fit is none of the plan's"]
    made = told["candidates"][chosen.name]["made"]
    judged = judged_as(plan, chosen, made)
    faults = [] if judged.safe else [f"the fit does not keep every limit: {'; '.join(judged.broken)}"]
    release = FitRelease(plan, (judged,), judged, told["why"], told["how"], where)
    faults += [
        f"public/{name} does not follow from the coefficients that are kept inside"
        for name, text in public_files(release, judged).items()
        if (where / "public" / name).read_text(encoding="utf-8") != text
    ]
    if made["paid"]:
        spend = paid_by(plan, chosen)
        if spend is None:
            faults.append("no line of the ledger paid for this fit")
        elif not _same_price(spend, price_in(plan, chosen)):
            faults.append("the ledger was charged another price than the fit is said to cost")
    return faults


def _same_price(one: Spend, other: Spend) -> bool:
    pairs = ((one.epsilon, other.epsilon), (one.rho, other.rho), (one.delta, other.delta))
    return all(math.isclose(a or 0.0, b or 0.0, rel_tol=CLOSE) for a, b in pairs)
