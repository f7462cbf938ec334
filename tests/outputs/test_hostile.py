"""What a hostile reader tried through the desk's own doors, and what must come of it."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.core.errors import OptionError
from dalenius.outputs import Desk


def people(pd, n=500, gaps=0):
    rng = np.random.default_rng(1)
    region = rng.choice(["North", "South"], n).astype(object)
    region[:gaps] = None
    return pd.DataFrame(
        {
            "region": region,
            "sex": rng.choice(["f", "m"], n),
            "pay": rng.normal(3000, 400, n).round(),
            "w": rng.uniform(1, 3, n),
            "person": np.arange(n),
        }
    )


@pytest.fixture
def desk(tmp_path):
    return Desk(unit="person", memory=tmp_path / "memory")


def mean(values):
    """A function that only has the name of a mean."""
    return values.iloc[0]


@pytest.mark.parametrize("own", [lambda s: s.iloc[0], mean, {"pay": lambda s: s.max()}])
def test_an_own_function_is_looked_at_by_a_person(desk, own):
    frame = people(desk.pandas)
    grouped = frame.groupby("sex")
    grouped.agg(own) if isinstance(own, dict) else grouped["pay"].agg(own)
    assert desk.last.status == "review"
    grouped["pay"].agg(np.mean)
    assert desk.last.status == "pass"


def test_a_column_named_as_an_attribute_is_checked_too(desk):
    frame = people(desk.pandas)
    frame.groupby("sex").pay.max()
    assert desk.last.status == "fail"
    frame.groupby("sex").apply(lambda g: g["pay"].max())
    assert len(desk.outputs) == 2
    assert desk.last.status == "review"


def test_what_was_handed_over_cannot_be_forgotten(desk, tmp_path):
    pd = desk.pandas
    frame = people(pd)
    pd.crosstab(frame.region, frame.sex)
    desk.finalise(tmp_path / "pack")
    desk.remove("output_0")
    less = frame.iloc[1:]
    pd.crosstab(less.region, less.sex)
    assert desk.last.status == "fail"
    assert "differencing" in desk.last.summary


def test_a_number_is_given_once(desk):
    pd = desk.pandas
    frame = people(pd)
    frame.sex.value_counts()
    pd.crosstab(frame.region, frame.sex)
    desk.remove("output_0")
    frame.region.value_counts()
    assert [o.record.uid for o in desk.outputs] == ["output_1", "output_2"]
    less = frame.iloc[1:]
    pd.crosstab(less.region, less.sex)
    assert any("output_1" in line for line in desk.last.record.conflicts)


def test_a_desk_that_does_not_look_back_is_still_remembered(tmp_path):
    blind = Desk(policy={"differencing": False}, unit="person", memory=tmp_path / "memory")
    frame = people(blind.pandas)
    blind.pandas.crosstab(frame.region, frame.sex)
    desk = Desk(unit="person", memory=tmp_path / "memory")
    less = desk.data(frame.iloc[1:])
    desk.pandas.crosstab(less.region, less.sex)
    assert desk.last.status == "fail"


def test_people_without_a_category_are_a_cell_where_they_are_shown(desk):
    pd = desk.pandas
    frame = people(pd, gaps=5)
    made = [
        lambda: pd.crosstab(frame.region, frame.sex, dropna=False),
        lambda: frame.region.value_counts(dropna=False),
        frame.groupby("region", dropna=False)["pay"].mean,
        lambda: pd.pivot_table(frame, index="region", columns="sex", values="pay", dropna=False),
    ]
    for make in made:
        shown = make()
        assert desk.last.status == "fail", desk.last.record.command
        assert "min_threshold" in desk.last.summary
        assert desk.last.table()["region"].to_list().count("missing") == shown.size // len(shown)
        fixed = desk.last.fix("suppress")
        assert np.isnan(np.asarray(fixed.shown, float)).any()
        desk.remove(desk.last.record.uid)


@pytest.mark.parametrize("q", [0.999, 1.0, 0.0, list(np.linspace(0.05, 0.95, 600))])
def test_a_quantile_that_is_an_end_value(desk, q):
    frame = people(desk.pandas)
    frame.groupby("sex")["pay"].quantile(q)
    assert desk.last.status == "fail"
    frame["pay"].quantile(q)
    assert desk.last.status == "fail"
    frame["pay"].quantile([0.1, 0.5, 0.9])
    assert desk.last.status == "pass"


def test_a_parameter_of_one_person(desk):
    frame = people(desk.pandas)
    desk.smf.ols("pay ~ w + I(person == 3)", frame).fit()
    assert desk.last.status == "fail"
    assert "one or two people" in desk.last.summary
    twice = desk.pandas.concat([frame, frame], ignore_index=True)
    desk.smf.ols("pay ~ w + I(person == 3)", twice).fit()
    assert desk.last.status == "fail"
    desk.smf.ols("pay ~ w + C(sex)", frame).fit()
    assert desk.last.status == "pass"


def test_two_variances_with_one_person_fewer(desk):
    """With the mean they give the person's value: a variance is a sum of squares."""
    frame = people(desk.pandas)
    frame.pay.var()
    assert desk.last.status == "pass"
    frame[frame.person != 7].pay.var()
    assert "differencing" in desk.last.summary


def test_what_is_declared_must_be_a_number(desk):
    for value, told in (
        (0.3, "not the data"),
        ("Meier earns 731905", "no number"),
        (np.arange(400.0), "no number"),
    ):
        out = desk.declare("gini", value, n=5000)
        assert out.status == "review"
        assert told in out.record.checks["figure"]["sentence"]


def test_a_column_times_a_person(desk):
    frame = people(desk.pandas)
    (frame.pay * (frame.person == 3)).sum()
    assert desk.last.status == "fail"
    repeated = desk.pandas.concat([frame[frame.person == 3]] * 20, ignore_index=True)
    repeated.pay.mean()
    assert desk.last.status == "fail"
    repeated.drop(columns="person").pay.mean()
    assert desk.last.status != "pass"
    frame.assign(person=0).pay.mean()  # one person has all rows
    assert desk.last.status == "fail"


@pytest.mark.parametrize("column", ["ill", "one", "shifted"])
def test_a_mean_that_is_about_few_is_no_mean(desk, column):
    frame = people(desk.pandas)
    frame["ill"] = (frame.person < 7) * 1  # a count of seven
    frame["one"] = frame.pay.where(frame.person == 7, 0.0)
    frame["shifted"] = frame.pay.where(frame.person == 7, 1e6)
    frame[column].mean()
    assert desk.last.status == "fail"
    assert "few_others" in desk.last.record.checks
    frame["often"] = (frame.person < 250) * 1
    frame.often.mean()
    assert desk.last.status == "pass"
    frame.groupby("sex")[column].sum()
    assert desk.last.record.checks["few_others"]["verdict"] == "fail"


def test_ten_different_values_are_not_about_few(desk):
    frame = desk.pandas.DataFrame({"v": np.arange(10) + 50.0, "person": np.arange(10)})
    frame.v.mean()
    assert desk.last.status == "pass"


def test_weights_on_few_leave_few_degrees_of_freedom(desk):
    frame = people(desk.pandas)
    for few in (1, 5):
        weights = np.where(frame.person < few, 1e6, 1e-6)
        desk.smf.wls("pay ~ w", frame, weights=weights).fit()
        assert desk.last.status == "fail"
        assert "min_dof" in desk.last.summary
    desk.smf.wls("pay ~ w", frame, weights=frame.w).fit()
    assert desk.last.status == "pass"


@pytest.mark.filterwarnings("ignore:Maximum number of iterations")
def test_an_extreme_quantile_is_carried_by_few(desk):
    frame = people(desk.pandas)
    desk.smf.quantreg("pay ~ w", frame).fit(q=0.999)
    assert desk.last.status == "fail"
    desk.smf.quantreg("pay ~ w", frame).fit(q=0.5)
    assert desk.last.status == "pass"


def test_correlations_with_a_column_of_one_person(desk):
    frame = people(desk.pandas)
    frame["one"] = (frame.person == 7) * 1.0
    frame[["one", "pay"]].corr()
    assert desk.last.status == "fail"
    assert "deviation" in desk.last.summary
    frame.one.corr(frame.pay)
    assert desk.last.status == "fail"
    frame.w.corr(frame.pay)
    assert desk.last.status == "pass"
    frame[["w", "pay"]].corr()
    assert desk.last.status == "pass"


@pytest.mark.parametrize("way", [True, "index", "columns"])
def test_a_share_that_is_taken_out_would_follow_from_the_others(desk, way):
    pd = desk.pandas
    rows = [
        (a, b)
        for a, b, n in [("x", "p", 4), ("x", "q", 60), ("y", "p", 80), ("y", "q", 90)]
        for _ in range(n)
    ]
    frame = pd.DataFrame(rows, columns=["a", "b"]).assign(person=range(len(rows)))
    pd.crosstab(frame.a, frame.b, normalize=way)
    assert desk.last.status == "fail"
    assert "suppress" not in desk.last.suggest()["fix"].to_list()
    with pytest.raises(OptionError, match="100 %"):
        desk.last.fix("suppress")


def test_the_limit_of_degrees_of_freedom_is_the_fewest_that_pass():
    assert [
        Desk().declare("t test", 1.2, dof=dof).record.checks["min_dof"]["verdict"] for dof in (9, 10)
    ] == [
        "fail",
        "pass",
    ]
