"""One person's value in the dress of another column: a group's largest, noise that cancels, moments, new names."""

from __future__ import annotations

import numpy as np
import pandas as plain
import pytest

from dalenius.outputs import Desk


@pytest.fixture
def study(tmp_path):
    rng = np.random.default_rng(1)
    frame = plain.DataFrame({
        "person": np.arange(400), "region": rng.choice(["N", "S"], 400), "age": rng.integers(18, 80, 400),
        "pay": rng.lognormal(8, 0.5, 400).round(),
    })  # fmt: skip
    frame.to_csv(tmp_path / "study.csv", index=False)
    desk = Desk(unit="person", memory=tmp_path / "memory")
    return desk, desk.pandas.read_csv(tmp_path / "study.csv")


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("way", ["largest", "range"])
def test_shares_of_the_largest_of_a_group(study, order, way):
    desk, f = study
    groups = f.groupby("region").pay
    high, low = groups.transform("max"), groups.transform("min")
    f["share"] = f.pay / high if way == "largest" else (f.pay - low) / (high - low)
    for name in ["pay", "share"][::order]:
        f.groupby("region")[name].mean()
    assert [out.status for out in desk.outputs] == ["pass", "fail"]
    assert "divided or moved by the smallest or largest value" in desk.last.record.conflicts[0]


def test_shares_of_a_mean_and_round_factors_are_no_secret(study):
    desk, f = study
    f["share"] = f.pay / f.groupby("region").pay.transform("mean")
    f["thousands"] = f.pay / 1000
    for name in ("pay", "share", "thousands"):
        f.groupby("region")[name].mean()
        assert desk.last.status == "pass", desk.last.summary


def test_divided_by_what_one_person_has(study):
    desk, f = study
    f["share"] = f.pay / f.pay.iloc[7]
    f.pay.mean()
    f.share.mean()
    assert desk.last.status == "review"
    assert "what one person or a few have" in desk.last.summary


def test_noise_that_cancels_out_leaves_one_person(study):
    """Two columns of noise: but for one person one is the other turned round."""
    desk, f = study
    noise = np.random.default_rng(2).gamma(2, 3000, 400)
    f["up"] = noise + f.pay * (f.person == 7)
    f["down"] = (50_000 - noise) / 3
    for name in ("up", "down"):
        f[name].mean()
    assert [out.status for out in desk.outputs] == ["pass", "review"]
    assert "For most people one column is another multiplied or moved" in desk.last.summary


def test_noise_and_its_opposite(study):
    desk, f = study
    noise = np.random.default_rng(2).normal(0, 3000, 400)
    f["up"], f["down"] = noise + f.pay * (f.person == 7), -noise
    for name in ("up", "down"):
        f.groupby("region")[name].sum()
    assert desk.last.record.checks["differencing"]["verdict"] == "fail"


def test_noise_that_cancels_out_of_three_columns(study):
    desk, f = study
    rng = np.random.default_rng(2)
    one, two = rng.integers(5000, 90_000, 400), rng.integers(5000, 90_000, 400)
    f["a"], f["b"], f["c"] = one, two, one + two + (f.person == 7) * f.age
    for name in "abc":
        f.groupby("region")[name].sum()
    assert [out.status for out in desk.outputs] == ["pass", "pass", "fail"]


def test_many_powers_of_the_distance_from_a_mean(tmp_path):
    desk = Desk(unit="person")
    pay = np.random.default_rng(3).normal(3000, 300, 24).round(2)
    f = desk.pandas.DataFrame({"person": np.arange(24), "pay": pay})
    told = []
    for power in np.linspace(0.3, 2, 7):
        for column in (pay, np.abs(pay - 2990.0)):
            f["moment"] = column**power
            f.moment.mean()
            told.append(desk.last)
    assert told[0].status == "pass"
    assert told[-1].status == "review"
    assert "nearly as many forms" in told[-1].summary


@pytest.mark.parametrize("changed", [lambda v: v * 3.7, lambda v: 100 + v / 12])
def test_people_under_other_names_with_other_values(study, tmp_path, changed):
    desk, f = study
    f.pay.mean()
    other = (
        plain.DataFrame(f)
        .drop(index=7)
        .assign(person=lambda d: d.person + 5000, pay=lambda d: changed(d.pay))
    )
    other.to_csv(tmp_path / "other.csv", index=False)
    desk.pandas.read_csv(tmp_path / "other.csv").pay.mean()
    assert desk.last.status == "review"
    assert "under other names" in desk.last.summary


def test_other_people_with_values_of_the_same_kind_are_strangers(study, tmp_path):
    desk, f = study
    f.pay.mean()
    rng = np.random.default_rng(9)
    other = plain.DataFrame({"person": np.arange(5000, 5400), "pay": rng.lognormal(8, 0.5, 400).round(2)})
    other.to_csv(tmp_path / "other.csv", index=False)
    desk.pandas.read_csv(tmp_path / "other.csv").pay.mean()
    assert desk.last.status == "pass"


BORROWED = {
    "the row before": lambda f: f.pay.shift(1),
    "dealt out anew": lambda f: np.append(np.random.default_rng(6).permutation(f.pay.to_numpy())[1:], 0.0),
    "differences": lambda f: f.pay.diff() + 50_000,
    "differences in order": lambda f: f.pay.sort_values().diff(),
    "differences of logarithms": lambda f: np.log(f.pay).diff() + 40,
    "the largest of a group": lambda f: f.groupby("region").pay.transform("max"),
    "the largest so far": lambda f: f.pay.cummax(),
}


@pytest.mark.parametrize("way", BORROWED)
def test_values_of_other_people(study, way):
    """Many people stand behind the mean, and it is about one or two of them."""
    desk, f = study
    f["x"] = BORROWED[way](f)
    f.x.mean()
    assert desk.last.status != "pass"
    assert "borrowed" in desk.last.summary


PART = {
    "sorted": lambda f: np.sort(f.pay.to_numpy()),
    "moved": lambda f: np.roll(f.pay.to_numpy(), 100),
    "dealt out": lambda f: np.random.default_rng(6).permutation(f.pay.to_numpy()),
    "cut off at somebody's": lambda f: f.pay.clip(upper=f.pay.iloc[7]),
    "filled in by somebody's": lambda f: f.pay.where(f.person % 3 > 0, f.pay.iloc[7]),
}


@pytest.mark.parametrize("way", PART)
@pytest.mark.parametrize("people", ["some", "by age"])
def test_values_of_other_people_in_some_rows(study, way, people):
    """A filter on another column picks whose values they are."""
    desk, f = study
    f["x"] = PART[way](f)
    f[(f.person >= 50) & (f.person < 300) if people == "some" else f.age > 40].x.mean()
    assert desk.last.status == "review"
    assert "borrowed" in desk.last.summary


@pytest.mark.parametrize("way", PART)
def test_models_of_values_of_other_people(study, way):
    desk, f = study
    f["x"] = PART[way](f)
    desk.smf.ols("x ~ age", f[f.person < 300]).fit()
    assert "borrowed" in desk.last.summary


def test_values_cut_off_on_both_sides_of_one_person(study):
    desk, f = study
    pay = f.pay.iloc[7]
    f.pay.clip(pay - 0.5, pay + 0.5).mean()
    assert desk.last.status == "review"
    assert "few_others" in desk.last.summary


@pytest.mark.parametrize("made", [lambda f, pay: f.age * pay, lambda f, pay: f.age + pay])
def test_a_column_multiplied_or_moved_by_what_somebody_has_in_another(study, made):
    desk, f = study
    f["x"] = made(f, f.pay.iloc[7])
    f.age.mean()
    f.x.mean()
    assert desk.last.status == "review"
    assert "what one person or a few have" in desk.last.summary


def _asked(f):
    """An odd number of people, so that their median is what one of them has."""
    return (f.person % 4 > 0) & (f.person > 1)


EVERYDAY = {
    "logarithm": lambda f: np.log(f.pay),
    "square": lambda f: f.age**2,
    "share of the mean of a group": lambda f: f.pay / f.groupby("region").pay.transform("mean"),
    "distance from the mean of a group": lambda f: f.pay - f.groupby("region").pay.transform("mean") + 9000,
    "rank": lambda f: f.pay.rank(pct=True),
    "mean of a group": lambda f: f.groupby("region").pay.transform("mean"),
    "thousands": lambda f: f.pay / 1000,
    "decade": lambda f: f.age // 10 * 10,
    "hourly": lambda f: f.pay / 4.33 / 38.5,
    "standardised": lambda f: (f.pay - f.pay.mean()) / f.pay.std() + 10,
    "at most": lambda f: f.pay.clip(upper=4000),
    "at most a usual quantile": lambda f: f.pay.clip(upper=np.quantile(f.pay, 0.75)),
    "filled in by the median": lambda f: f.pay.where(_asked(f), np.quantile(f.pay[_asked(f)], 0.5)),
    "another column of its kind": lambda f: np.random.default_rng(8).permutation(f.age.to_numpy()) + 1,
}


@pytest.mark.parametrize("way", EVERYDAY)
def test_columns_of_everyday_work_pass(study, way):
    desk, f = study
    f["x"] = EVERYDAY[way](f)
    desk.outputs.clear()
    f.groupby("region").pay.mean()
    f.groupby("region").x.mean()
    told = [out.summary for out in desk.outputs[-2:]]
    assert all(t.startswith("pass") or "all_same" in t for t in told), told


def test_columns_on_top_of_each_other_lose_their_units(study):
    desk, f = study
    f[["pay", "age"]].stack().mean()
    assert "unit" in desk.last.summary


@pytest.mark.parametrize(
    "way", ["the row before", "differences", "largest", "share of the largest", "all but one"]
)
def test_the_same_of_people_with_several_rows(tmp_path, way):
    rng = np.random.default_rng(4)
    person = np.repeat(np.arange(300), rng.integers(1, 5, 300))
    size = len(person)
    frame = {"person": person, "site": rng.choice(list("AB"), size), "cost": rng.gamma(2, 300, size).round()}
    plain.DataFrame(frame).to_csv(tmp_path / "visits.csv", index=False)
    desk = Desk(unit="person")
    f = desk.pandas.read_csv(tmp_path / "visits.csv")
    top = f.groupby("site").cost.transform("max")
    made = {
        "the row before": f.cost.shift(1), "differences": f.cost.diff() + 9000, "largest": top,
        "share of the largest": f.cost / top, "all but one": np.pi * f.cost * (f.person != 7),
    }  # fmt: skip
    f["x"] = made[way]
    f.groupby("site").cost.mean()
    desk.table(f, "site" if "share" in way else (), "x", "mean")
    assert desk.outputs[0].status == "pass"
    assert desk.last.status in ("review", "fail")
