"""Odd and bad input: told with the column and a remedy, or checked as it should be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dalenius import Schema
from dalenius.core.errors import DaleniusError, DataError, OptionError, SchemaError
from dalenius.outputs import Desk, Policy


@pytest.fixture
def desk():
    return Desk({"differencing": False})


def people(rows=60, **columns):
    rng = np.random.default_rng(1)
    return pd.DataFrame({"g": rng.choice(["a", "b"], rows), "v": rng.normal(50, 5, rows), **columns})


def test_no_rows_at_all(desk):
    out = desk.table(people().iloc[:0], "g", "v", "mean")
    assert out.values["mean"].tolist() == []
    assert out.status == "pass"


def test_an_empty_group_stays_and_is_marked(desk):
    data = pd.DataFrame({"g": pd.Categorical(["a"] * 20 + ["b"] * 20, ["a", "b", "c"]), "c": ["x", "y"] * 20})
    data.loc[data.g == "b", "c"] = "x"
    out = desk.table(data, ["g", "c"])
    assert out.cells.filter(pl.col("outcome").str.contains("zero_cell")).rows()[0][:2] == ("b", "y")


def test_all_values_missing(desk):
    out = desk.table(people(v=np.nan), "g", "v", "mean")
    assert np.isnan(out.values["mean"]).all()
    assert out.judged.evidence.figures["missing"].sum() == 60
    asked = Desk({"missing": True}).table(people(v=np.nan), "g", "v", "mean")
    assert asked.record.checks["missing"]["verdict"] == "review"


def test_columns_of_the_same_name(desk):
    data = pd.concat([people(), people()[["g"]]], axis=1)
    with pytest.raises(DataError, match="'g' appears more than once; rename"):
        desk.table(data, "g")


def test_infinite_values_and_texts_are_refused_with_the_column(desk):
    with pytest.raises(DataError, match="'v' holds infinite values; make them missing"):
        desk.table(people(v=[np.inf] + [1.0] * 59), "g", "v", "mean")
    with pytest.raises(DataError, match="'v' holds values that are not numbers"):
        desk.table(people(v=["a secret"] * 60), "g", "v", "mean")


def test_nan_is_missing_in_pandas_and_polars(desk):
    data = people()
    data.loc[:54, "v"] = np.nan
    first = desk.table(data, "g", "v", "mean")
    second = desk.table(pl.from_pandas(data, nan_to_null=True), "g", "v", "mean")
    assert first.judged.evidence.number.tolist() == second.judged.evidence.number.tolist()
    assert first.status == second.status == "fail"


def test_negative_values_are_for_a_person(desk):
    data = people()
    data.loc[0, "v"] = -3.0
    out = desk.table(data, "g", "v", "sum")
    assert out.status == "review"
    assert "negative" in out.summary
    assert Desk({"negatives": "absolute"}).table(data, "g", "v", "sum").status == "pass"
    with pytest.raises(DataError, match="0 or more"):
        desk.concentration(data.v, "gini")


def test_weights_do_not_make_people(desk):
    """A weighted model counts the people in it, not their weights."""
    data = people(12, w=1000.0)
    desk.smf.wls("v ~ g", data, weights=data.w).fit()
    assert desk.last.judged.evidence.number.max() <= 12
    assert desk.last.status != "pass"
    with pytest.raises(TypeError):
        desk.pandas.crosstab(data.g, data.g, weights=data.w)


def test_several_levels_in_rows_and_columns(desk):
    data = people(400, c=["x", "y"] * 200, d=["p", "q", "q", "q"] * 100)
    shown = desk.pandas.crosstab([data.g, data.c], data.d)
    assert shown.equals(pd.crosstab([data.g, data.c], data.d))
    nested = data.set_index(["g", "c"])
    with pytest.raises(DataError, match="no column 'g'"):
        desk.table(nested, "g")


def test_ten_thousand_categories(desk):
    data = pd.DataFrame({"g": np.arange(20_000) % 10_000, "c": ["x", "y"] * 10_000})
    out = desk.table(data, ["g", "c"])
    assert out.status == "fail"
    assert len(out.record.cells) == 1000  # the first of them
    with pytest.raises(DataError, match="'g' is named twice"):
        desk.table(data, ["g", "g"])
    with pytest.raises(DataError, match=r"'g', 'h' first"):
        desk.table(data.assign(h=data.g), ["g", "h"])


def test_all_faults_of_a_policy_at_once():
    with pytest.raises(SchemaError) as error:
        Policy.from_dict(
            {"threshold": 0, "nk_k": 3, "p": "much", "zeros": 1, "treshold": 5, "negatives": "maybe"}
        )
    assert len(error.value.faults) == 6
    with pytest.raises(SchemaError) as error:
        Policy(overrides={"CIS": {"threshold": -1, "unknown": 2}, "ESS": {"p": 0}})
    assert len(error.value.faults) == 3
    with pytest.raises(DaleniusError):
        Policy.read("nowhere.yaml")


def test_unknown_columns_and_fixes_are_told(desk):
    with pytest.raises(DataError, match="did you mean 'g'"):
        desk.table(people(), "gg")
    out = desk.table(people(9), "g")
    with pytest.raises(OptionError, match="no fix 'magic'"):
        out.fix("magic")
    with pytest.raises(OptionError, match="cannot compute"):
        desk.table(people(), "g", "v", "horoscope")


def test_the_unit_column_is_not_there():
    out = Desk(unit="person").table(people(), "g")
    assert out.status == "review"
    assert "rows were counted" in out.summary


def test_files_and_images(desk, tmp_path):
    for name, status in (("plot.svg", "fail"), ("plot.png", "review"), ("data.gph", "fail")):
        (tmp_path / name).write_bytes(b"x")
        assert desk.file(tmp_path / name).status == status


@pytest.mark.parametrize("aggfunc", ["mean", "sum", "count", "median", "max", ["mean", "sum"]])
@pytest.mark.parametrize("margins", [False, True])
def test_pandas_gets_its_own_answer(desk, aggfunc, margins):
    """A notebook runs unchanged: the same object, figure by figure."""
    data = people(300, c=["x", "y", "z"] * 100)
    data.loc[::7, "v"] = np.nan
    shown = desk.pandas.crosstab(data.g, data.c, values=data.v, aggfunc=aggfunc, margins=margins)
    wanted = pd.crosstab(data.g, data.c, values=data.v, aggfunc=aggfunc, margins=margins)
    pd.testing.assert_frame_equal(shown, wanted, check_dtype=False)
    table = desk.data(data).pivot_table(values="v", index="g", columns="c", aggfunc=aggfunc, margins=margins)
    same = data.pivot_table(values="v", index="g", columns="c", aggfunc=aggfunc, margins=margins)
    pd.testing.assert_frame_equal(pd.DataFrame(table), same, check_dtype=False)


def test_other_calls_of_pandas(desk):
    data = people(300, c=["x", "y", "z"] * 100)
    frame = desk.data(data)
    for ours, theirs in (
        (frame.groupby("g")["v"].mean(), data.groupby("g")["v"].mean()),
        (
            frame.groupby(["g", "c"]).agg({"v": ["mean", "std"]}),
            data.groupby(["g", "c"]).agg({"v": ["mean", "std"]}),
        ),
        (frame.groupby("g").size(), data.groupby("g").size()),
        (frame.describe(), data.describe()),
        (frame.g.value_counts(), data.g.value_counts()),
        (frame.v.quantile([0.25, 0.5]), data.v.quantile([0.25, 0.5])),
        (frame.corr(), data.corr(numeric_only=True)),
    ):
        assert np.allclose(np.asarray(ours, float), np.asarray(theirs, float), equal_nan=True)
    assert len(desk.outputs) == 7
    assert desk.outputs[3].status == "fail"  # describe shows the largest and smallest


def test_models_by_arrays_and_kinds(desk):
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(200, 2)), rng.random(200) < 0.5
    sm = desk.sm
    for made in (sm.OLS(x[:, 0], sm.add_constant(x)), sm.GLM(y, x)):
        made.fit()
        assert (desk.last.statbarn, desk.last.status) == ("g", "pass")
    for made in (sm.Logit(y, x), sm.Probit(y, x), sm.Poisson(y * 3, x)):
        made.fit(disp=0)
        assert (desk.last.statbarn, desk.last.status) == ("g", "pass")
    group = np.repeat(np.arange(20), 10)
    outcome = x[:, 0] + 3 * rng.normal(size=20)[group]
    data = pd.DataFrame({"y": outcome, "x": x[:, 1], "g": group, "t": rng.random(200), "e": y * 1})
    desk.smf.mixedlm("y ~ x", data, groups=data.g).fit()
    assert desk.last.status == "pass"
    desk.smf.phreg("t ~ x", data, status=data.e).fit()
    assert desk.last.statbarn == "g"


def test_trees_charts_and_concentration(desk):
    from sklearn.tree import DecisionTreeClassifier

    data = people(300, c=["x", "y", "z"] * 100)
    target = (data.v > 50).astype(int)
    deep = DecisionTreeClassifier(random_state=1).fit(data[["v"]].to_numpy(np.float32), target)
    assert desk.tree(deep, data[["v"]]).status == "fail"  # two leaves, each of one kind
    noise = np.random.default_rng(3).integers(0, 2, 300)
    shallow = DecisionTreeClassifier(max_depth=1, min_samples_leaf=50).fit(
        data[["v"]].to_numpy(np.float32), noise
    )
    assert desk.tree(shallow, data[["v"]]).status == "pass"
    out = desk.charts.histogram(data, "v", bins=40)
    assert out.status == "fail"
    assert out.shown is None  # nothing is drawn of numbers that may not leave
    out.fix("merge")
    assert out.status == "pass"
    assert out.shown.to_dict()["mark"]["type"] == "bar"
    assert desk.charts.heatmap(data, "g", "c").status == "pass"
    assert desk.charts.box(data, "g", "v").status == "pass"
    assert desk.charts.scatter(data.assign(w=data.v + 1), "v", "w", bins=8).status == "fail"
    assert desk.concentration(data.v, "gini").status == "pass"
    assert desk.concentration(data.v, "lorenz", steps=10).status == "pass"
    assert desk.concentration(data.v, "lorenz", steps=100).status == "fail"
    assert desk.concentration(data.v, "top n share", group=data.g, top=4).statbarn == "d"


@pytest.mark.parametrize("seed", range(5))
def test_merged_steps_are_the_kaplan_meier_curve(seed):
    from statsmodels.duration.survfunc import SurvfuncRight

    rng = np.random.default_rng(seed)
    time, event = np.ceil(rng.exponential(20, 200)), (rng.random(200) < 0.6).astype(float)
    out = Desk().survival(time, event, fix="merge_steps")
    assert out.status == "pass"
    assert (out.values["exits"] >= 10).all()
    whole = SurvfuncRight(time, event)
    at = np.searchsorted(whole.surv_times, out.values["time"], side="right") - 1
    assert np.allclose(out.values["survival"], np.where(at >= 0, whole.surv_prob[at], 1.0))


def test_every_fix_is_checked_again_and_has_a_price(desk):
    data = people(300, c=np.random.default_rng(4).choice(list("wxyz"), 300, p=[0.5, 0.3, 0.18, 0.02]))
    out = Desk().table(data, ["g", "c"], margins=True)
    offered = out.suggest()
    assert set(offered["fix"]) >= {"suppress", "round", "merge", "noise"}
    assert (offered["price_percent"] >= 0).all()
    assert offered.filter(pl.col("fix") == "noise")["status"].to_list() == ["review"]
    cheapest = offered.filter(pl.col("status") == "pass").row(0, named=True)
    out.fix("auto")
    assert out.status == "pass"
    assert out.record.fix == cheapest["fix"]
    rounded = Desk().table(data, ["g", "c"], margins=True, fix="round")
    inner = rounded.values["count"]
    assert (inner % 10 == 0).all()
    ends = Desk().table(data, "g", "v", ["min", "max"], fix="auto")
    assert list(ends.values) == ["p8", "p92"]  # ten people and more beyond each
    assert ends.status == "pass"


def test_structural_zeros_by_the_rules_of_the_schema():
    data = pd.DataFrame(
        {"age": ["child"] * 30 + ["adult"] * 40, "job": ["none"] * 45 + ["clerk"] * 25, "who": range(70)}
    )
    plain = Desk({"full_cells": False}).table(data, ["age", "job"])
    assert "zero_cell" in plain.summary
    schema = Schema.infer(data).with_roles(entity="who")
    ruled = replace(schema, rules=("age == 'child' -> job == 'none'", "who >= 0", "age determines job"))
    desk = Desk({"full_cells": False}, schema=ruled)
    assert desk.unit == "who"
    assert desk.table(data, ["age", "job"]).status == "pass"
    data.loc[0, "job"] = "clerk"
    out = desk.table(data, ["age", "job"])
    assert out.record.checks["required_zero"]["verdict"] == "review"
    banded = data.assign(age="0–9")  # categories that the schema does not know
    assert desk.table(banded, ["age", "job"]).status in ("pass", "fail")
