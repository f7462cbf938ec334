"""Whatever does not fit is one error that names the column and the remedy, and no value."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

from dalenius.core.errors import DataError, OptionError
from dalenius.data import Column, Kind, Schema, Table
from dalenius.models import ModelCase, check_model
from dalenius.models.again import fitted_again
from dalenius.models.order import look_for_swaps
from tests.models.conftest import NAMES, case, fit, people

DATA = people(60, 1)


def named() -> LogisticRegression:
    return LogisticRegression().fit(pd.DataFrame({n: DATA[n] for n in NAMES}), DATA["y"])


def test_columns_are_found_by_name_in_any_order():
    turned = {name: DATA[name] for name in reversed([*NAMES, "y"])}
    first, second = (ModelCase.of(named(), data, target="y") for data in (DATA, turned))
    assert np.array_equal(first.scores(first.train), second.scores(second.train))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"features": ["x1", "x0", *NAMES[2:]]}, "column 'x1' stands where.*swapped"),
        ({"target": "x9"}, "no column 'x9'"),
        ({"target": "x0"}, "'x0' is among the features and is also the target"),
        ({"target": None}, "name the column that the model predicts"),
        ({"drop": "x3"}, "the training file lacks what the model was fitted on: no column 'x3'"),
        ({"holdout": {k: v for k, v in DATA.items() if k != "x2"}}, "the holdout lacks columns.*'x2'"),
        (
            {"holdout": {**DATA, "x2": DATA["y"]}},
            "column 'x2' holds numbers in one file and texts in the other",
        ),
        (
            {"train": {**DATA, "y": ["SECRET"] * 60}},
            "column 'y' of the training file holds a class the model does not know",
        ),
    ],
)
def test_faults_name_the_column(change, told):
    data = dict(change.pop("train", DATA))
    data.pop(change.pop("drop", ""), None)
    options = {"target": "y", **change}
    with pytest.raises((DataError, OptionError), match=told) as error:
        ModelCase.of(named(), data, **options)
    assert "SECRET" not in str(error.value)


def test_a_model_without_names_counts_its_columns():
    with pytest.raises(DataError, match="fitted on 6 columns, and 7 are given"):
        ModelCase.of(fit(LogisticRegression(), DATA), {**DATA, "more": DATA["x0"]}, target="y")
    assert case(LogisticRegression(), 60).notes


def test_scores_that_are_no_numbers():
    broken = LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])
    broken.coef_ = np.array([np.nan])
    found = ModelCase.of(broken, {"a": [1.0, 2.0, 3.0, 4.5], "y": [1.0, 2.0, 3.0, 4.0]}, target="y")
    with pytest.raises(DataError, match="gives no number for 4 rows"):
        found.scores(found.train)


def test_gaps_the_model_cannot_take_quote_nothing():
    data = {**DATA, "x0": [*DATA["x0"][:-1], None]}
    found = ModelCase.of(named(), data, target="y")
    with pytest.raises(DataError, match=r"cannot score these records \(ValueError\), gaps in 'x0'"):
        found.scores(found.train)
    town = {**DATA, "x1": np.where(DATA["x1"] > 0, "Oslo", "Bodø")}
    found = ModelCase.of(named(), town, target="y")
    with pytest.raises(DataError, match=r"texts in 'x1'") as error:
        found.scores(found.train)
    assert "Oslo" not in str(error.value)


@pytest.mark.parametrize(
    "model", [LogisticRegression(), DecisionTreeClassifier(max_depth=3), LinearRegression()]
)
def test_swapped_columns_of_a_model_without_names_are_an_error(model):
    data = people(300, 1, labels=0.05)
    data["x1"] = data["x1"] * 3 + 2
    data["y"] = data["x0"] * 2 + data["x1"] if isinstance(model, LinearRegression) else data["y"]
    model.fit(np.column_stack([data[n] for n in NAMES]), data["y"])
    swapped = {**{n: data[n] for n in ("x1", "x0", *NAMES[2:])}, "y": data["y"]}
    look_for_swaps(ModelCase.of(model, data, target="y"))
    with pytest.raises(DataError, match=r"columns 'x1' and 'x0' seem to be swapped.*'features'"):
        check_model(ModelCase.of(model, swapped, target="y"))
    look_for_swaps(ModelCase.of(model, swapped, target="y", features=NAMES))


def test_unfitted_and_strange_objects():
    for thing, told in (
        (LogisticRegression(), "not fitted"),
        (LogisticRegression, "no fitted model"),
        (3, "no fitted"),
    ):
        with pytest.raises(DataError, match=told):
            ModelCase.of(thing, DATA, target="y")


def test_classes_are_met_however_they_are_spelled():
    truth = (DATA["x0"] > 0).astype(int)
    model = DecisionTreeClassifier(random_state=1).fit(DATA["x0"][:, None], truth)
    for spelled in (truth, truth.astype(float), truth.astype(bool), truth.astype(str)):
        found = ModelCase.of(model, {"x0": DATA["x0"], "y": spelled.tolist()}, target="y")
        assert (found.scores(found.train) > 0).all()


def test_numbers_are_scored_by_their_residual():
    data = {"a": [1.0, 2.0, 3.5, 4.5], "y": [1.0, 2.0, 3.0, 6.0]}
    found = ModelCase.of(DummyRegressor().fit(np.zeros((4, 1)), data["y"]), data, target="y")
    assert found.scores(found.train).tolist() == [-2.0, -1.0, 0.0, -3.0]


def test_a_network_of_torch_is_worn():
    torch = pytest.importorskip("torch")
    net = torch.nn.Sequential(torch.nn.Linear(6, 2))
    found = ModelCase.of(net, {**DATA, "y": (DATA["x0"] > 0).astype(int)}, target="y")
    assert np.isfinite(found.scores(found.train)).all()


def test_codes_for_no_answer_are_numbers_to_a_model_that_met_them(tmp_path):
    rng = np.random.default_rng(1)
    pay = np.where(rng.random(300) < 0.2, -8, rng.integers(900, 4000, 300))
    town = np.where(rng.random(300) < 0.2, "refused", rng.choice(["a", "b"], 300))
    raw = {"pay": pay, "town": town, "ill": np.where(pay + rng.normal(0, 500, 300) > 2000, "yes", "no")}
    frame = pd.DataFrame(raw)
    coded = make_column_transformer((OneHotEncoder(), ["town"]), ("passthrough", ["pay"]))
    model = make_pipeline(coded, DecisionTreeClassifier(max_depth=3, random_state=0)).fit(
        frame[["pay", "town"]], raw["ill"]
    )
    schema = Schema((
        Column("pay", Kind.INTEGER, not_applicable=(-8,)),
        Column("town", Kind.CATEGORICAL, missing=("refused",)),
        Column("ill", Kind.CATEGORICAL),
    ))  # fmt: skip
    table = Table.from_frame(raw, schema)
    case = ModelCase.of(model, table, target="ill")
    assert case.inputs["pay"].tolist() == pay.tolist()
    assert case.inputs["town"].tolist() == town.tolist()
    assert fitted_again(case).why == ""
    assert any("Codes for no answer in 'pay', 'town' are ordinary values" in note for note in case.notes)
    assert np.isnan(ModelCase.of(model, table, target="ill", codes=False).matrix).any()
