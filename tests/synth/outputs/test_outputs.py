"""Files made from published outputs alone (Elliot, Little and Allmendinger 2024)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dalenius.core.errors import OptionError
from dalenius.synth.outputs import (
    CrossTab,
    Grouped,
    Metadata,
    Regression,
    Variable,
    calibrated_weights,
    evolve,
    make_from_outputs,
    risk_from_outputs,
    rounding_report,
    sweep_weights,
    tcap,
)
from dalenius.synth.outputs.making import WEIGHTS
from tests.synth.outputs.cars import BY_ETHNIC, BY_TENURE, COEFS, ETHNIC, LOGIT, META, ROWS, TENURE


def test_the_printed_inputs_fit_together():
    assert sum(map(sum, TENURE)) == sum(map(sum, ETHNIC)) == ROWS
    assert [sum(pair[c] for pair in TENURE) for c in (0, 1)] == [1903, 2124]
    printed = [
        0.117,
        0.248,
        0.040,
        0.173,
        0.004,
        0.002,
        0.026,
        0.010,
        0.005,
        0.006,
        0.016,
        0.004,
        0.264,
        0.084,
    ]
    assert np.round(np.array(TENURE).ravel() / ROWS, 3).tolist() == pytest.approx(printed, abs=1e-9)
    baselines = {"CARS": 0.5015, "AREAP": 0.2915, "SEX": 0.5045, "ETHGROUP": 0.9759, "LTILL": 0.5338, "TENURE": 0.3020,
                 "AGE": 0.0287}  # fmt: skip
    for variable in META.variables:
        assert float((variable.weights**2).sum()) == pytest.approx(baselines[variable.name], abs=1e-4)
    for raw, calibrated in ((0.733, 0.464), (0.777, 0.553), (0.719, 0.436)):
        assert (raw - 0.5015) / (1 - 0.5015) == pytest.approx(calibrated, abs=6e-4)


def test_mean_errors_of_the_papers_columns():
    general = [6.6741, -0.0813, -0.1057, -0.1767, -0.2197, -0.5176, 0.8265, -0.2442, -0.0391, -1.7678, -1.6062,
               -0.6090, -2.0131, -1.9847]  # fmt: skip
    holdout = [5.7832, -0.0707, -0.0345, -0.1533, 0.1968, -0.6311, -0.8528, -0.0914, 0.3443, -1.8901, -1.5852,
               -0.5415, -1.8200, -1.8996]  # fmt: skip
    goal = np.array(list(COEFS.values()))
    assert np.abs(general - goal).mean() == pytest.approx(0.2323, abs=5e-5)
    assert np.abs(holdout - goal).mean() == pytest.approx(0.1460, abs=5e-5)


def test_tcap_of_the_toy():
    real = {"a": list("xxxyyz"), "b": list("112121"), "t": list("YNYNNY")}
    made = {"a": list("xxxyyy"), "b": list("112112"), "t": list("YYNNYN")}
    found = tcap(real, made, ["a", "b"], "t")
    assert (found.matches, found.correct, found.rate, found.baseline, found.calibrated) == (
        4,
        2,
        0.5,
        0.5,
        0.0,
    )
    assert found.of_all == pytest.approx(1 / 3)
    alone, pairs = (tcap(real, made, ["a"], "t", most=most) for most in (1, 2))
    assert (alone.matches, alone.records) == (0, 1), "z alone, whom the file does not have"
    assert (pairs.matches, pairs.records) == (0, 3), "y is no sure class"
    assert tcap(real, made, ["a", "b"], "t", most=1).records == 4


def test_the_small_logit_is_reached_exactly():
    meta = Metadata((Variable("y", (0, 1), (110, 90)), Variable("x", (0, 1))), 200)
    target = Regression("y", {"constant": 0.4054651, ("x", 1): -1.2527630}, {"x": 0})
    made = make_from_outputs(meta, [target], seed=4)
    assert made.report()["off by"].max() < 1e-6
    assert made.report().select("target", "figure").is_unique().all()
    counts = made.frame().group_by("x", "y").len().sort("x", "y")["len"].to_list()
    assert counts == [40, 60, 70, 30]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_experiment_two(seed):
    made = make_from_outputs(META, [LOGIT, BY_TENURE, BY_ETHNIC], seed=seed)
    errors = list(made.mean_errors().values())
    assert errors[0] < 0.001
    assert errors[1] == errors[2] == 0
    import statsmodels.api as sm

    y = made.frame()["CARS"].to_numpy()
    again = sm.Logit(y, LOGIT.design(made.codes, META)).fit(disp=0).params
    assert np.abs(again - np.array(list(COEFS.values()))).mean() < 0.001
    for j, variable in enumerate(META.variables):
        held = np.bincount(made.codes[:, j], minlength=len(variable.values)) / ROWS
        assert np.abs(held - variable.weights).max() < 2e-4
    assert "INVENTED" in made.label
    assert "meaningless" in made.label


def test_same_seed_same_file_and_the_evolutionary_algorithm_never_rises_but_does_not_get_there():
    swapped = make_from_outputs(META, [LOGIT, BY_TENURE], seed=5)
    assert (swapped.codes == make_from_outputs(META, [LOGIT, BY_TENURE], seed=5).codes).all()
    found = evolve(META, [LOGIT], population=6, generations=12, seed=1)
    assert (np.diff(found.path) <= 0).all()
    assert found.report()["off by"][0] > 100 * swapped.report()["off by"].head(14).mean()
    sweep = sweep_weights(META, [LOGIT, BY_TENURE, BY_ETHNIC], WEIGHTS[:2], population=2, generations=1)
    assert sweep.height == 2
    assert all(sum(w) == pytest.approx(1) for w in WEIGHTS)


def test_clashes_are_named():
    wrong = dict(BY_ETHNIC.counts)
    wrong[1, 0] -= 1
    wrong[1, 1] += 1
    with pytest.raises(OptionError, match="disagree on 'CARS'"):
        make_from_outputs(META, [BY_TENURE, replace(BY_ETHNIC, counts=wrong)])
    with pytest.raises(OptionError, match="'TENURE' has no value 9"):
        make_from_outputs(META, [replace(LOGIT, reference_levels={"TENURE": 9})])
    with pytest.raises(OptionError, match="unknown column"):
        make_from_outputs(META, [replace(LOGIT, y="CAR")])
    with pytest.raises(OptionError, match="add up to 1"):
        make_from_outputs(META, [CrossTab("SEX", "CARS", {(1, 0): 0.2}, props=True)])


def test_rounding_weights_and_means():
    shares = {key: round(n / ROWS, 3) for key, n in BY_ETHNIC.counts.items()}
    printed = replace(BY_ETHNIC, counts=shares, props=True)
    report = rounding_report(META, [printed])
    assert ((report["used"] >= report["low"]) & (report["used"] <= report["high"])).all()
    made = make_from_outputs(META, [printed], seed=1)
    weights = calibrated_weights(made, {"SEX": {1: 500, 2: 500}})
    frame = made.frame()
    assert weights[(frame["SEX"] == 1).to_numpy()].sum() == pytest.approx(500)
    mean = Grouped("AGE", "SEX", {1: 65.0, 2: 65.0})
    assert mean.loss(made.codes, META) < 0.01


def test_risk_from_outputs_alone():
    meta = Metadata(META.variables[2:5] + META.variables[6:], ROWS)
    made = make_from_outputs(meta, [BY_ETHNIC], seed=1)
    found = risk_from_outputs(made, files=1)
    assert found["column"].to_list() == ["SEX", "ETHGROUP", "LTILL", "CARS"]
    assert found["baseline"].is_between(0, 1).all()


def test_circles_of_tables_are_refused_with_a_remedy():
    pairs = [("SEX", "CARS"), ("SEX", "LTILL"), ("LTILL", "CARS")]
    meta = replace(META, rows=8)
    tables = [CrossTab(a, b, {(x, y): 2 for x in meta.variables[meta.at(a)].values
                              for y in meta.variables[meta.at(b)].values}) for a, b in pairs]  # fmt: skip
    with pytest.raises(OptionError, match="circle"):
        make_from_outputs(meta, tables)
