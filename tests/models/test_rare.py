"""Values of few people inside a model: who counts is a person, not a row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from sklearn.neighbors import NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, RobustScaler

from dalenius import Schema, Table
from dalenius.models import ModelCase
from dalenius.models.rare import rare_values
from dalenius.models.structure import structure


def case(rows: int) -> ModelCase:
    """A hundred people, and one who has the largest pay of all in several rows."""
    pay = [*np.random.default_rng(0).integers(10, 50, 100).astype(float), *[999.0] * rows]
    data = {
        "who": [*(f"P{i}" for i in range(100)), *["PX"] * rows],
        "pay": pay,
        "ill": [*["no", "yes"] * 50, *["no"] * rows],
    }
    model = make_pipeline(MinMaxScaler(), LogisticRegression()).fit(pd.DataFrame({"pay": pay}), data["ill"])
    schema = Schema.infer(data).with_roles(entity="who")
    return ModelCase.of(model, Table.from_frame(data, schema), target="ill")


@pytest.mark.parametrize("rows", [1, 12])
def test_the_end_of_a_scale_is_one_persons_however_many_rows_there_are(rows):
    assert rare_values(case(rows), 10)["pay"] >= 1
    assert rare_values(case(rows), 10) == rare_values(case(1), 10)


@pytest.mark.parametrize(("people", "rare"), [(9, {"job": 1}), (10, {})])
def test_a_value_is_rare_up_to_one_below_the_threshold(people, rare):
    data = {"job": [*["clerk"] * 40, *["king"] * people], "ill": [*["no", "yes"] * 20, *["no"] * people]}
    model = make_pipeline(OneHotEncoder(), LogisticRegression())
    model.fit(pd.DataFrame({"job": data["job"]}), data["ill"])
    assert rare_values(ModelCase.of(model, data, target="ill"), 10) == rare


def _classes(few):
    rng = np.random.default_rng(1)
    y = np.r_[np.repeat(["no", "yes"], 99), np.repeat("rare", few)]
    return {"a": rng.normal(size=len(y)), "b": rng.normal(size=len(y)), "y": y}


@pytest.mark.parametrize(
    "model", [GaussianNB(), LinearDiscriminantAnalysis(), NearestCentroid(), LogisticRegression()]
)
def test_a_class_of_few_people_is_told(model):
    for few, told in ((2, 1), (30, 0)):
        data = _classes(few)
        case = ModelCase.of(model.fit(np.c_[data["a"], data["b"]], data["y"]), data, target="y")
        assert structure(case)["model-rare-values"].value == told


@pytest.mark.parametrize("model", [CategoricalNB(), BernoulliNB(), MultinomialNB()])
def test_levels_that_few_of_a_class_have_are_told_where_a_model_counts_them(model):
    x, y = np.tile([0, 1], 60), np.repeat(["no", "yes"], 60)
    for few, told in ((3, True), (30, False)):
        held = np.where((y == "no") & (np.arange(120) >= few), 0, x) if few == 3 else x
        case = ModelCase.of(model.fit(held[:, None], y), {"a": held, "y": y}, target="y")
        assert (structure(case)["model-rare-values"].value > 0) == told


def test_a_scale_from_end_to_end_is_the_range_of_two_people():
    data = _classes(30)
    for ends, told in (((0, 100), 2), ((25, 75), 0)):
        model = make_pipeline(RobustScaler(quantile_range=ends), LogisticRegression())
        case = ModelCase.of(model.fit(np.c_[data["a"], data["b"]], data["y"]), data, target="y")
        assert structure(case)["model-rare-values"].value == told
