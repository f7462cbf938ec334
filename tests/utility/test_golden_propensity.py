"""Logistic propensity equals synthpop's utility.gen."""

from __future__ import annotations

from typing import Any

import pytest

from dalenius.utility.propensity.logit import logit_propensity
from tests.utility.golden import cases, pairs

TOLERANCE = 1e-9
CASES = cases("utility-gen", "utility_gen.json")


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_logit(case: dict[str, Any]) -> None:
    options = case["options"] or {}
    assert not case["model"]["glm_diverged"]
    found = [
        logit_propensity(
            pair,
            case["vars"],
            order=case["maxorder"],
            grouped=bool(options.get("ngroups")),
            random_size=bool(options.get("k.syn")),
            aggregated=bool(options.get("aggregate")),
        )
        for pair in pairs(case)
    ]
    expected = case["expected"]
    for i, fit in enumerate(found):
        assert fit.figures.pMSE == pytest.approx(expected["pMSE"][i], rel=TOLERANCE), "pMSE"
        if i == len(found) - 1:
            assert fit.df == expected["df"][0 if len(expected["df"]) == 1 else i]
            assert fit.S_pMSE == pytest.approx(expected["S_pMSE"][i], rel=TOLERANCE)
        rounded = case.get("expected_rounded_scores") or {}
        if rounded and len(found) == 1 and not options.get("aggregate"):
            assert pytest.approx(rounded["SPECKS"], rel=1e-6) == fit.figures.SPECKS
            assert pytest.approx(rounded["U"], rel=2e-5) == fit.figures.U
            assert pytest.approx(rounded["PO50"], abs=1e-6) == fit.figures.PO50
