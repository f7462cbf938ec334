"""What a model gives away by its form, on models of which it is known."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from dalenius.data import Schema, Table
from dalenius.models import ModelCase, structure
from tests.models.conftest import case


def figures(model, rows=300, **more):
    return {name: result.value for name, result in structure(case(model, rows), **more).items()}


@pytest.mark.parametrize(
    ("model", "most"),
    [
        (KNeighborsClassifier(), 100),
        (KNeighborsClassifier(algorithm="kd_tree"), 100),
        (make_pipeline(StandardScaler(), KNeighborsClassifier()), 100),
        (GaussianProcessClassifier(optimizer=None), 100),
        (SVC(), 100),
    ],
)
def test_models_that_carry_records(model, most):
    found = structure(case(model, 120))["model-stored-records"]
    assert 50 <= found.value <= most
    assert found.outside == 0.0
    assert "as they are" in found.sentence


def test_support_vectors_are_counted_exactly():
    found = case(SVC(), 200)
    share = 100 * len(found.fitted.model.support_) / 200
    assert structure(found)["model-stored-records"].value == pytest.approx(share)


@pytest.mark.parametrize("model", [LogisticRegression(), DecisionTreeClassifier(), RandomForestClassifier(5)])
def test_models_that_carry_none(model):
    assert figures(model)["model-stored-records"] == 0


def test_a_value_for_everybody_is_told():
    forest = RandomForestClassifier(20, oob_score=True, random_state=1)
    assert "oob_decision_function_" in structure(case(forest, 100))["model-stored-records"].sentence


@pytest.mark.parametrize(
    "kind",
    [
        lambda leaf: DecisionTreeClassifier(min_samples_leaf=leaf),
        lambda leaf: RandomForestClassifier(7, min_samples_leaf=leaf, random_state=1),
        lambda leaf: GradientBoostingClassifier(n_estimators=5, max_depth=None, min_samples_leaf=leaf),
        lambda leaf: HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=leaf),
    ],
)
def test_leaves_below_the_threshold(kind):
    small, large = figures(kind(2)), figures(kind(20))
    assert small["model-small-leaves"] > 50
    assert large["model-small-leaves"] == 0
    assert figures(kind(20), threshold=21)["model-small-leaves"] > 0


def test_leaves_of_one_class():
    assert figures(DecisionTreeClassifier())["model-one-class-leaves"] == 100
    found = case(DecisionTreeClassifier(max_depth=1), 400)
    assert structure(found)["model-one-class-leaves"].value == 0


def test_leaves_hold_people_and_not_rows():
    rng = np.random.default_rng(1)
    x, y = np.repeat(rng.normal(size=40), 10), np.repeat(rng.integers(0, 2, 40), 10)
    data = {"who": np.repeat(np.arange(40), 10), "x": x, "y": y}
    model = DecisionTreeClassifier(min_samples_leaf=10).fit(x[:, None], y)
    by_row = Table.from_frame({"x": x, "y": y})
    by_person = Table.from_frame(data, Schema.infer(data).with_roles(entity="who"))
    shares = [
        structure(ModelCase.of(model, t, target="y"))["model-small-leaves"].value for t in (by_row, by_person)
    ]
    assert shares[0] == 0
    assert shares[1] > 50


def test_degrees_of_freedom():
    assert figures(LogisticRegression())["model-freedom"] == 300 - 7
    assert figures(MLPClassifier((5,), max_iter=2000, random_state=1))["model-freedom"] == 300 - (
        6 * 5 + 5 + 5 + 1
    )
    assert figures(KNeighborsClassifier())["model-freedom"] == 0
    tree = case(DecisionTreeClassifier(max_leaf_nodes=4), 300)
    assert structure(tree)["model-freedom"].value == 300 - (4 + 3)


def test_values_of_few_people_stay_in():
    import pandas as pd
    from sklearn.compose import make_column_transformer
    from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

    rng = np.random.default_rng(1)
    data = {
        "job": ["clerk", "nurse"] * 60 + ["king"],
        "pay": rng.lognormal(size=121),
        "y": rng.integers(0, 2, 121),
    }
    frame = pd.DataFrame(data)[["job", "pay"]]
    for scaler, rare in ((MinMaxScaler(), 3), (StandardScaler(), 1)):
        coded = make_column_transformer((OneHotEncoder(), ["job"]), (scaler, ["pay"]))
        model = make_pipeline(coded, LogisticRegression()).fit(frame, data["y"])
        found = structure(ModelCase.of(model, data, target="y"))["model-rare-values"]
        assert found.value == rare
        assert "king" not in found.sentence


def test_a_saturated_model_is_its_table():
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 2, 200), np.r_[np.ones(4, int), np.zeros(196, int)]
    data = {"a": a, "b": b, "ab": a * b, "y": rng.normal(size=200)}
    x = np.column_stack([data[n] for n in ("a", "b", "ab")])
    found = structure(ModelCase.of(LinearRegression().fit(x, data["y"]), data, target="y"))[
        "model-saturated-cells"
    ]
    assert found.value == pytest.approx(2.0)
    assert "saturated" in found.sentence
    fewer = {k: v for k, v in data.items() if k != "ab"}
    plain = structure(ModelCase.of(LinearRegression().fit(x[:, :2], data["y"]), fewer, target="y"))
    assert plain["model-saturated-cells"].value == 0
