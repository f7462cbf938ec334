"""Frequencies, risks, l-diversity and SUDA agree with sdcMicro 5.8.1 on every stored case."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dalenius import Schema, Table
from dalenius.data.schema import Role
from dalenius.risk.sample.anonymity import l_diversity
from dalenius.risk.sample.frequencies import frequencies
from dalenius.risk.sample.individual import individual_risk, sample_risk
from dalenius.risk.sample.suda import suda

GOLDEN = Path(__file__).parents[1] / "golden" / "sdcmicro"


def cases(name: str) -> list:
    found = json.loads((GOLDEN / f"{name}.json").read_text())["cases"]
    return [pytest.param(case, id=case["id"]) for case in found]


@cache
def load(name: str, rows: int | None = None) -> Table:
    """Records, as there: the number of the household says nothing."""
    frame = pl.read_csv(GOLDEN / "data" / name, infer_schema_length=None)
    schema = Schema.infer(frame)
    schema = schema.replace_columns(*(replace(c, roles=()) for c in schema if c.has(Role.ENTITY)))
    return Table.from_frame(frame.head(rows) if rows else frame, schema)


def close(found, wanted, tolerance: float) -> None:
    wanted = np.array([np.nan if x is None else x for x in wanted], float)
    known = ~np.isnan(wanted)
    np.testing.assert_allclose(np.asarray(found, float)[known], wanted[known], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("case", cases("frequencies"))
def test_frequencies(case: dict) -> None:
    wanted = case["expected"]
    found = frequencies(load(case["data"]), case["keys"], weight=case["weight"], alpha=case["alpha"])
    assert found.fk.tolist() == wanted["fk"]
    close(found.Fk, wanted["Fk"], 1e-9)
    assert found.unique == wanted["n_unique"]
    assert int((found.fk == 2).sum()) == wanted["n_double"]
    for k, rows in wanted["k_violations_fk_below"].items():
        assert found.violations(float(k)) == rows
    if "risk_approx" in wanted:
        close(individual_risk(found), wanted["risk_approx"], 1e-9)
    if "risk_exact" in wanted:
        close(individual_risk(found, "exact"), wanted["risk_exact"], 1e-8)
    close(1 / found.fk, wanted["risk_no_survey"], 1e-12)


@pytest.mark.parametrize("case", cases("risk"))
def test_risk(case: dict) -> None:
    wanted = case["expected"]
    found = sample_risk(load(case["data"]), case["keys"], weight=case["weight"], household=case["household"])
    close(found.risk, wanted["individual"]["risk"], 1e-9)
    assert found.expected == pytest.approx(wanted["global"]["risk_ER"], rel=1e-9)
    assert 100 * found.mean == pytest.approx(wanted["global"]["risk_pct"], rel=1e-9)
    if case["household"]:
        close(found.household, wanted["individual"]["hier_risk"], 1e-8)
        assert found.household.sum() == pytest.approx(wanted["global"]["hier_risk_ER"], rel=1e-8)
    for k in (2, 3, 5):
        assert found.frequencies.violations(k) == wanted["k_anonymity_violations"][f"k{k}_unweighted"]
        assert (
            found.frequencies.violations(k, weighted=True)
            == wanted["k_anonymity_violations"][f"k{k}_weighted"]
        )


@pytest.mark.parametrize("case", cases("ldiversity"))
def test_l_diversity(case: dict) -> None:
    for column in case["sensitive"]:
        found = l_diversity(
            load(case["data"]), case["keys"], column, recursive_c=case["l_recurs_c"], compat="sdcMicro"
        )
        for ours, theirs in (("distinct", "Distinct"), ("entropy", "Entropy"), ("recursive", "Recursive")):
            close(found[ours], case["expected"][f"{column}_{theirs}_Ldiversity"], 1e-8)


@pytest.mark.parametrize("case", cases("suda2"))
def test_suda(case: dict) -> None:
    wanted = case["expected"]
    found = suda(
        load(case["data"], case["first_rows"]), case["keys"],
        dis_fraction=case["DisFraction"], original_scores=case["original_scores"],
    )  # fmt: skip
    close(found.score, wanted["score"], 1e-8)
    close(found.dis, wanted["dis_score"], 1e-7)  # sdcMicro holds parts of it in single precision
    for i, key in enumerate(case["keys"]):
        close(found.contribution[:, i], wanted["contribution_percent"][f"{key}_contribution"], 1e-8)
    close(found.by_column()["contribution"], wanted["attribute_contributions"]["contribution"], 1e-8)
