"""Agreement with synthpop 1.9-3: estimates from m synthetic files, combined and compared with the original."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dalenius.data import Column, Kind, Schema, Table
from dalenius.utility.inference import fit_synthetic

HERE = Path(__file__).parents[2] / "golden" / "inference"
CASES = json.loads((HERE / "inference.json").read_text())["cases"]
KINDS = {"factor": Kind.CATEGORICAL, "integer": Kind.INTEGER, "numeric": Kind.CONTINUOUS}


@cache
def schema() -> Schema:
    described = json.loads((HERE / "data" / "adults.schema.json").read_text())
    return Schema(
        tuple(
            Column(n, KINDS[c["kind"]], levels=tuple(c["levels"]) if "levels" in c else None)
            for n, c in described.items()
        )
    )


@cache
def read(name: str) -> Table:
    return Table.from_frame(pl.read_csv(HERE / "data" / name), schema())


def fitted(case: dict, incomplete: bool | None = None):
    return fit_synthetic(
        case["formula"],
        [read(name) for name in case["synthetic"]],
        case["family"],
        rows=case["n"],
        proper=case["proper"],
        incomplete=case["incomplete"] if incomplete is None else incomplete,
    )


def close(found, wanted, case: dict) -> None:
    tolerance = 1e-8 if case["model"] == "lm" else 1e-6
    np.testing.assert_allclose(np.asarray(found), np.asarray(wanted, float), rtol=tolerance, atol=1e-12)


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_estimates_of_each_file_and_their_averages(case):
    fit = fitted(case)
    assert fit.names == case["per_synthesis"]["coef"]["columns"]
    close(fit.estimates, case["per_synthesis"]["coef"]["values"], case)
    close(fit.variances, case["per_synthesis"]["variance"]["values"], case)
    close(fit.estimates.mean(axis=0), list(case["average"]["coef"].values()), case)
    close(fit.variances.mean(axis=0), list(case["average"]["variance"].values()), case)


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_combined_standard_errors_of_every_rule(case):
    for key, wanted in case["summary"].items():
        if wanted is None:  # one file has no variation between files, so R gives nothing
            continue
        population = key.startswith("population_inference_TRUE")
        forced = {"incomplete_TRUE": True, "incomplete_FALSE": False}.get(
            key.removeprefix("population_inference_TRUE_")
        )
        found = fitted(case, forced).summary(population).select("estimate", "se", "z", "p").to_numpy()
        values = np.array(wanted["values"], float)
        close(found[:, :3], values[:, :3], case)
        np.testing.assert_allclose(found[:, 3], values[:, 3], rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("case", CASES, ids=[c["id"] for c in CASES])
def test_comparison_with_the_original(case):
    fit = fitted(case)
    for key, wanted in case["compare"].items():
        result = fit.compare(
            read(case["original"]), population=key == "population_inference_TRUE", level=wanted["ci_level"]
        )
        table = result.table
        close(
            table.select("original", "original_se").to_numpy(),
            np.array(wanted["coef_obs"]["values"])[:, :2],
            case,
        )
        close(
            table.select("synthetic", "synthetic_se").to_numpy(),
            np.array(wanted["coef_syn"]["values"])[:, :2],
            case,
        )
        np.testing.assert_allclose(
            table["std_difference"], np.array(wanted["coef_diff"]["values"])[:, 3], rtol=1e-5, atol=1e-8
        )
        np.testing.assert_allclose(
            table["overlap"], list(wanted["ci_overlap"].values()), rtol=1e-6, atol=1e-6
        )
        assert result.value == pytest.approx(wanted["mean_ci_overlap"], abs=1e-6)
        assert result.values["mean_abs_std_difference"] == pytest.approx(
            wanted["mean_abs_std_diff"], rel=1e-5
        )
        for name, field in (("lack_of_fit", "lack_of_fit"), ("lack_of_fit_p", "lof_pvalue")):
            if wanted[field] is None:
                assert np.isnan(result.values[name])
            else:
                assert result.values[name] == pytest.approx(wanted[field], rel=1e-6)
