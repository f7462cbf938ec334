"""A model file of a stranger: nothing of it is run, and the message says why it is refused."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dalenius.core.errors import DataError, FileError
from dalenius.models import ModelCase, open_model, structure
from tests.models.conftest import NAMES, fit, people


class Bomb:
    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self):
        return os.system, (f"touch {self.mark}",)


def saved(path: Path, model) -> Path:
    from skops import io as skops_io  # looks through all libraries when it is loaded

    skops_io.dump(model, path)
    return path


@pytest.mark.parametrize("name", ["model.pkl", "model.joblib", "model.skops", "model.bin", "model.json"])
def test_a_pickle_runs_nothing_whatever_it_is_called(tmp_path, name):
    mark = tmp_path / "ran"
    (tmp_path / name).write_bytes(pickle.dumps(Bomb(mark)))
    with pytest.raises(FileError, match=r"refused|not a skops file"):
        open_model(tmp_path / name)
    assert not mark.exists()


def array_of_objects(mark: Path) -> bytes:
    held = io.BytesIO()
    np.save(held, np.array([Bomb(mark)], dtype=object), allow_pickle=True)
    return held.getvalue()


def test_a_pickle_inside_the_zip_runs_nothing(tmp_path):
    mark, path = tmp_path / "ran", tmp_path / "m.skops"
    saved(path, fit(LogisticRegression(), people(50, 1)))
    with zipfile.ZipFile(path) as held:
        parts = {name: held.read(name) for name in held.namelist()}
    for extra, content in (("x.npy", array_of_objects(mark)), ("x.pkl", pickle.dumps(Bomb(mark)))):
        with zipfile.ZipFile(path, "w") as held:
            for name, body in {**parts, extra: content}.items():
                held.writestr(name, body)
        with pytest.raises(FileError, match="refused"):
            open_model(path)
    swapped = next(name for name in parts if name.endswith(".npy"))
    with zipfile.ZipFile(path, "w") as held:
        for name, body in {**parts, swapped: array_of_objects(mark)}.items():
            held.writestr(name, body)
    with pytest.raises(FileError, match="holds objects"):
        open_model(path)
    assert not mark.exists()


def test_untrusted_types_are_named_and_not_opened(tmp_path):
    path = saved(tmp_path / "m.skops", fit(LogisticRegression(), people(50, 1)))
    with zipfile.ZipFile(path) as held:
        parts = {name: held.read(name) for name in held.namelist()}
    told = json.loads(parts["schema.json"])
    for room, kind in (("os", "system"), ("builtins", "eval"), ("dalenius.data.atomic", "write_text")):
        told["__module__"], told["__class__"] = room, kind
        with zipfile.ZipFile(path, "w") as held:
            for name, body in {**parts, "schema.json": json.dumps(told).encode()}.items():
                held.writestr(name, body)
        with pytest.raises(FileError, match=rf"{room}.{kind}.*nothing of it was opened"):
            open_model(path)


def test_a_callable_inside_a_trusted_room_is_refused(tmp_path):
    from sklearn.preprocessing import FunctionTransformer

    path = saved(tmp_path / "m.skops", FunctionTransformer(os.system))
    with pytest.raises(FileError, match="nothing of it was opened"):
        open_model(path)


def test_a_model_of_another_version_is_told(tmp_path):
    path = saved(tmp_path / "m.skops", fit(LogisticRegression(), people(50, 1)))
    with zipfile.ZipFile(path) as held:
        parts = {name: held.read(name) for name in held.namelist()}
    import sklearn

    old = parts["schema.json"].decode().replace(f'\\"{sklearn.__version__}\\"', '\\"1.1.3\\"')
    assert old.encode() != parts["schema.json"]
    with zipfile.ZipFile(path, "w") as held:
        for name, body in {**parts, "schema.json": old.encode()}.items():
            held.writestr(name, body)
    with pytest.raises(FileError, match=r"fitted with scikit-learn 1\.1, and here is .*fit it again"):
        open_model(path)


def test_a_forest_comes_back_the_same(tmp_path):
    data = people(80, 1)
    forest = fit(RandomForestClassifier(5, random_state=1), data)
    path = saved(tmp_path / "forest.skops", forest)
    live, opened = (ModelCase.of(m, data, target="y") for m in (forest, path))
    assert np.array_equal(live.scores(live.train), opened.scores(opened.train))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("model.json", "XGBoost"),
        ("model.ubj", "XGBoost"),
        ("model.txt", "LightGBM|not a model"),
        ("gone.skops", "read"),
    ],
)
def test_files_that_are_no_models(tmp_path, name, told):
    if not name.startswith("gone"):
        (tmp_path / name).write_text("tree\nnothing")
    with pytest.raises(FileError, match=told):
        open_model(tmp_path / name)


def test_coefficients_are_a_model(tmp_path):
    rng = np.random.default_rng(1)
    data = {"age": rng.integers(20, 80, 60), "sex": rng.choice(["f", "m"], 60)}
    data["pay"] = 3 + 2 * data["age"] + 5 * (data["sex"] == "m")
    for spelled in ("sex=m", "sex[T.m]", "sexm"):
        (tmp_path / "fit.csv").write_text(f"term,estimate\n(Intercept),3\nage,2\n{spelled},5\n")
        case = ModelCase.of(tmp_path / "fit.csv", data, target="pay")
        assert np.abs(case.scores(case.train)).max() < 1e-9
        assert case.features == ("age", "sex")
    (tmp_path / "fit.csv").write_text("term,estimate\n(Intercept),3\nage,2\nagee,2\n")
    with pytest.raises(DataError, match="no column for the terms 'agee'"):
        ModelCase.of(tmp_path / "fit.csv", data, target="pay")


def test_a_logistic_table_gives_probabilities(tmp_path):
    data = {**people(200, 3)}
    known = fit(LogisticRegression(), data)
    lines = "".join(f"{name},{value}\n" for name, value in zip(NAMES, known.coef_[0], strict=True))
    (tmp_path / "fit.csv").write_text(f"term,coefficient\nconst,{known.intercept_[0]}\n{lines}")
    table, live = (ModelCase.of(m, data, target="y") for m in (tmp_path / "fit.csv", known))
    assert np.allclose(table.scores(table.train), live.scores(live.train))
    assert table.refit is None


def test_a_tree_that_leads_outside_is_refused(tmp_path):
    forest = fit(RandomForestClassifier(2, random_state=1), people(80, 1))
    forest.estimators_[1].tree_.children_left[0] = 10**6
    with pytest.raises(FileError, match="leads outside of itself"):
        open_model(saved(tmp_path / "m.skops", forest))


def test_an_index_of_records_is_refused(tmp_path):
    from sklearn.neighbors import KNeighborsClassifier

    path = saved(tmp_path / "m.skops", fit(KNeighborsClassifier(), people(80, 1)))
    with pytest.raises(FileError, match="every training record as it is"):
        open_model(path)


def told(model, data, **more):
    return structure(ModelCase.of(model, data, target="y", **more))["model-stored-records"]


def test_what_a_file_holds_beside_its_model_is_not_trusted(tmp_path):
    data = people(50, 1)
    path = saved(tmp_path / "m.skops", fit(make_pipeline(StandardScaler(), LogisticRegression()), data))
    assert told(path, data).trusted
    with zipfile.ZipFile(path) as held:
        parts = {name: held.read(name) for name in held.namelist()}
    schema = json.loads(parts["schema.json"])
    noted = json.dumps({**schema, "note": "31;2500"}).encode()
    for odd, note in (({"31.json": b"{}"}, b""), ({"schema.json": noted}, b""), ({}, b"31;2500")):
        with zipfile.ZipFile(path, "w") as held:
            held.comment = note
            for name, body in {**parts, **odd}.items():
                held.writestr(name, body)
        assert "the file: more than skops writes" in told(path, data).sentence
        assert not told(path, data).trusted
    with zipfile.ZipFile(path, "w") as held:
        for name, body in parts.items():
            held.writestr(name, body)
    assert told(path, data).trusted
    path.write_bytes(b"31;2500;" * 100 + path.read_bytes())
    assert not told(path, data).trusted
    table = tmp_path / "c.csv"
    table.write_text("term,coefficient,se,note\nx0,1.5,0.1,31;2500\nx1,2,0.2,64;17\n")
    assert "columns beside" in told(table, data, family="logistic").sentence


@pytest.mark.parametrize("ending", ["json", "ubj"])
def test_boosters_of_xgboost_are_opened_and_looked_at(tmp_path, ending):
    xgboost = pytest.importorskip("xgboost")
    from dalenius.models import check_model

    data, others = people(200, 1), people(200, 2)
    data["y"], others["y"] = ((held["y"] == "yes").astype(int) for held in (data, others))
    x = np.column_stack([data[name] for name in NAMES])
    model = xgboost.XGBClassifier(n_estimators=20, max_depth=6).fit(x, data["y"])
    model.save_model(tmp_path / f"m.{ending}")
    live, opened = (ModelCase.of(m, data, others, target="y") for m in (model, tmp_path / f"m.{ending}"))
    assert np.allclose(live.scores(live.train), opened.scores(opened.train), atol=1e-3)
    assert all(structure(held)["model-stored-records"].trusted for held in (live, opened))
    model.get_booster().set_attr(note="31;2500;2;64;1700;0")
    assert not told(model, data).trusted
    found = check_model(opened).results
    assert found["model-small-leaves"].value > 50
    assert not found["model-membership"].trusted  # a booster out of a file cannot be fitted again
    assert check_model(live, runs=4).results["model-membership"].trusted


def test_boosters_of_lightgbm_are_opened(tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    data = people(200, 1)
    data["y"] = (data["y"] == "yes").astype(int)
    x = np.column_stack([data[name] for name in NAMES])
    model = lightgbm.LGBMClassifier(n_estimators=10, verbose=-1).fit(x, data["y"])
    model.booster_.save_model(tmp_path / "m.txt")
    live, opened = (ModelCase.of(m, data, target="y") for m in (model, tmp_path / "m.txt"))
    assert np.allclose(live.scores(live.train), opened.scores(opened.train), atol=1e-6)
    assert all(structure(held)["model-stored-records"].trusted for held in (live, opened))
    path = tmp_path / "m.txt"
    path.write_text(path.read_text() + "31;2500;2\n" * 900)
    assert not told(path, data).trusted
