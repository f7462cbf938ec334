"""A second fit gives the same numbers, or they may have been chosen by hand."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
import statsmodels.api as sm
from sklearn.base import clone
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

from dalenius.cli import app
from dalenius.models import ModelCase, check_model
from dalenius.models.again import fitted_again
from dalenius.models.files import open_model, save_model
from tests.models import test_ordinary as ordinary

pytestmark = pytest.mark.filterwarnings("ignore")
RNG = np.random.default_rng(3)
TRAIN = {"age": RNG.normal(40, 9, 200), "pay": RNG.lognormal(9, 1, 200), "town": RNG.choice(["a", "b"], 200)}
TRAIN["ill"] = np.where(TRAIN["age"] + RNG.normal(0, 9, 200) > 40, "yes", "no")
NUMBERS = pd.DataFrame({name: TRAIN[name] for name in ("age", "pay")})


def case(model, target="ill"):
    return ModelCase.of(model, TRAIN, target=target, features=["age", "pay"])


def nudged(array, share=1e-9):
    array.flat[0] = (array.flat[0] + 1e-300) * (1 + share)


HANDS = {
    "a coefficient": (LogisticRegression(), lambda m: nudged(m.coef_)),
    "an intercept": (LogisticRegression(), lambda m: nudged(m.intercept_)),
    "a step": (make_pipeline(StandardScaler(), LogisticRegression()), lambda m: nudged(m[0].mean_)),
    "a leaf": (DecisionTreeClassifier(max_depth=3, random_state=1), lambda m: nudged(m.tree_.value)),
    "a cut": (DecisionTreeClassifier(max_depth=3, random_state=1), lambda m: nudged(m.tree_.threshold)),
    "a tree of many": (
        RandomForestClassifier(3, random_state=1),
        lambda m: nudged(m.estimators_[2].tree_.impurity),
    ),
    "a tree of a row": (
        GradientBoostingClassifier(n_estimators=3, random_state=1),
        lambda m: nudged(m.estimators_[2, 0].tree_.value),
    ),
    "a bin": (
        HistGradientBoostingClassifier(max_iter=2, random_state=1),
        lambda m: nudged(m._bin_mapper.bin_thresholds_[1]),
    ),
    "a weight": (MLPClassifier((3,), max_iter=3, random_state=1), lambda m: nudged(m.coefs_[1])),
    "a mean": (GaussianNB(), lambda m: nudged(m.theta_)),
    "a score of a search": (
        GridSearchCV(GaussianNB(), {"priors": [None]}, cv=2),
        lambda m: nudged(m.cv_results_["mean_test_score"]),
    ),
}


@pytest.mark.parametrize("what", HANDS)
def test_one_number_chosen_by_hand_is_told(what):
    model, change = HANDS[what]
    fitted = clone(model).fit(NUMBERS, TRAIN["ill"])
    assert fitted_again(case(fitted)).why == ""
    change(fitted)
    assert "has other numbers in" in fitted_again(case(fitted)).why


def test_what_has_no_seed_is_not_known_to_be_the_fit():
    forest = RandomForestClassifier(5).fit(NUMBERS, TRAIN["ill"])
    found = check_model(case(forest)).results["model-stored-records"]
    assert not found.trusted
    assert "random_state=0" in found.sentence
    assert "--fitted-again" in found.sentence


def test_last_digits_are_told_apart_from_other_numbers():
    fitted = LogisticRegression().fit(NUMBERS, TRAIN["ill"])
    fitted.coef_ *= 1 + 1e-7
    assert "in their last digits" in fitted_again(case(fitted)).why
    fitted.coef_ *= 2
    assert "chosen by hand" in fitted_again(case(fitted)).why


def test_the_model_that_is_fitted_here_may_leave_instead(tmp_path):
    pl.DataFrame(TRAIN).write_csv(tmp_path / "train.csv")
    fitted = LogisticRegression().fit(NUMBERS, TRAIN["ill"])
    kept = fitted.coef_.copy()
    fitted.coef_[0, 0] = 0.31415926535
    save_model(fitted, tmp_path / "own.skops")
    call = ["models", "check", "--must", "model-stored-records <= 0 %", "-p", "ill", "-q"]

    def run(name, *more):
        words = [*call, str(tmp_path / name), str(tmp_path / "train.csv"), *more]
        return CliRunner().invoke(app, words).exit_code

    assert run("own.skops", "--fitted-again", str(tmp_path / "clean.skops")) == 1
    assert np.array_equal(open_model(tmp_path / "clean.skops").coef_, kept)
    assert run("clean.skops") == 0
    assert run("clean.skops", "--fitted-again", str(tmp_path / "clean.txt")) == 2


DESIGN = sm.add_constant(np.column_stack([TRAIN["age"], (TRAIN["town"] == "b") * 1.0]))
FITS = {
    "linear": (sm.OLS(TRAIN["pay"], DESIGN).fit().params, "pay"),
    "logistic": (sm.Logit((TRAIN["ill"] == "yes") * 1.0, DESIGN).fit(disp=0).params, "ill"),
}


def table(family, values, tmp_path):
    path, target = tmp_path / "coefficients.csv", FITS[family][1]
    pl.DataFrame({"term": ["const", "age", "townb"], "coefficient": values}).write_csv(path)
    return fitted_again(ModelCase.of(path, TRAIN, target=target, family=family)).why


@pytest.mark.parametrize("family", FITS)
def test_printed_coefficients_are_held_against_a_plain_fit(family, tmp_path):
    params = FITS[family][0]
    short = [float(f"{value:.5g}") for value in params]
    assert table(family, short, tmp_path) == ""
    assert "round them to 6 digits" in table(family, params, tmp_path)
    for place in range(3):
        wrong = [v * (1.01 if i == place else 1) for i, v in enumerate(short)]
        assert "gives other numbers for" in table(family, [float(f"{v:.5g}") for v in wrong], tmp_path)


def test_coefficients_of_which_there_are_many_are_not_trusted(tmp_path):
    path = tmp_path / "coefficients.csv"
    pl.DataFrame({"term": ["const", "towna", "townb"], "coefficient": [1.0, 2.0, 3.0]}).write_csv(path)
    assert "no one answer" in fitted_again(ModelCase.of(path, TRAIN, target="pay")).why


def test_whole_numbers_of_a_frame_are_whole_again():
    frame = pd.DataFrame({"kids": RNG.integers(0, 4, 200), "age": TRAIN["age"].astype(int)})
    model = LinearRegression().fit(frame, TRAIN["pay"])
    train = {**frame.to_dict("list"), "pay": TRAIN["pay"]}
    assert fitted_again(ModelCase.of(model, train, target="pay")).why == ""


def seeded(model):
    made = clone(model)
    return made.set_params(**{k: 0 for k in made.get_params() if k.split("__")[-1] == "random_state"})


@pytest.mark.slow
@pytest.mark.parametrize("room", ["TWO_CLASSES", "NUMBER", "MIXED", "FILLED"])
def test_ordinary_models_come_out_the_same(room):
    texts = {"MIXED": {**ordinary.NUMBERS, **ordinary.TEXTS}, "FILLED": ordinary.GAPS}
    train = texts.get(room, pd.DataFrame(ordinary.NUMBERS).abs().to_dict("list"))
    target = ordinary.VALUE if room == "NUMBER" else ordinary.TWO
    told = {}
    for model in getattr(ordinary, room):
        fitted = seeded(model).fit(pd.DataFrame(train), target)
        made = ModelCase.of(fitted, {**train, "y": target}, target="y", features=list(train))
        told[ordinary.kind(model)] = fitted_again(made).why
    assert json.dumps({name: why for name, why in told.items() if why}) == "{}"
