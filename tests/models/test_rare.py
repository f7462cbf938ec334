"""Values of few people inside a model: who counts is a person, not a row."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder

from dalenius import Schema, Table
from dalenius.models import ModelCase
from dalenius.models.rare import rare_values


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
