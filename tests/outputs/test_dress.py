"""One person's value is asked for in another dress: other names, other forms, other roundings, as many as it takes."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from dalenius.outputs import Desk

WHO = 7


@pytest.fixture
def desk():
    return Desk(unit="person")


@pytest.fixture
def frame(desk):
    rng = np.random.default_rng(3)
    return desk.pandas.DataFrame(
        {
            "sex": rng.choice(["f", "m"], 400),
            "town": rng.choice(list("ABCD"), 400),
            "pay": rng.normal(3000, 400, 400).round(2),
            "age": rng.integers(18, 66, 400).astype(float),
            "person": np.arange(400),
        }
    )


def only(frame, one, rest):
    return np.where(frame.person == WHO, one, rest)


ALTERED = {
    "scaled, one left out": lambda f: only(f, 0, 2 * f.pay),
    "shifted, one a little more": lambda f: 2 * f.pay * only(f, 1 + 1e-7, 1) + 5,
}


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("made", ALTERED.values(), ids=ALTERED.keys())
def test_a_mean_of_a_column_that_is_another_but_for_one_person(desk, frame, made, turned):
    frame["x"] = made(frame)
    asked = [frame.pay, frame.x]
    for column in reversed(asked) if turned else asked:
        column.mean()
    assert [out.status for out in desk.outputs] == ["pass", "fail"]
    assert "differencing" in desk.last.summary


def test_a_column_made_of_two_but_for_one_person_is_for_a_person(desk, frame):
    frame.pay.mean()
    frame["x"] = frame.pay + frame.age - only(frame, 100, 0)
    frame.x.mean()
    assert desk.last.status == "review"
    assert "made of columns" in desk.last.summary


MODELS = {
    "corr": lambda d, f, x: f[["pay", x]].corr(),
    "cov": lambda d, f, x: f.pay.cov(f[x]),
    "ols": lambda d, f, x: d.smf.ols(f"pay ~ {x}", f).fit(),
    "pearsonr": lambda d, f, x: d.stats.pearsonr(f.pay, f[x]),
}


@pytest.mark.parametrize("fit", MODELS.values(), ids=MODELS.keys())
def test_models_with_a_column_that_is_another_but_for_one_person(desk, frame, fit):
    fit(desk, frame, "age")
    frame["x"] = 2 * frame.age + only(frame, 10, 0)
    fit(desk, frame, "x")
    assert [out.status for out in desk.outputs] == ["pass", "fail"]


def test_columns_computed_for_everybody_are_everyday_work(desk, frame):
    frame["monthly"], frame["old"], frame["log"] = frame.pay / 12, frame.age + 1, np.log(frame.pay)
    frame["clean"] = np.where(frame.person < 4, 44.5, frame.age)  # the age of four was wrong
    for name in ("pay", "monthly", "old", "log"):
        frame[name].mean()
    desk.smf.ols("pay ~ clean", frame).fit()
    desk.smf.ols("log ~ old", frame).fit()
    assert [out.status for out in desk.outputs[:4]] == ["pass"] * 4, [out.summary for out in desk.outputs]
    assert desk.outputs[4].status == "review"  # the age of all was told: beside it a correction tells of few
    alone = Desk(unit="person")
    again = alone.pandas.DataFrame(pd.DataFrame(frame))
    again["pay"].mean()
    alone.smf.ols("pay ~ clean", again).fit()
    assert alone.last.status == "pass", alone.last.summary


@pytest.mark.slow
def test_many_models_of_one_outcome(desk, frame):
    """Four models of 120 regressors each are 480 equations for 400 people."""
    rng, told = np.random.default_rng(0), []
    for _ in range(4):
        more = pd.DataFrame(rng.normal(size=(400, 120)), columns=[f"z{j}" for j in range(120)])
        given = desk.pandas.concat([frame, more], axis=1)
        desk.smf.ols("pay ~ " + " + ".join(more.columns), given).fit()
        told.append(desk.last.status)
    assert told == ["pass", "pass", "pass", "review"]
    assert "as many regressors as there are people" in desk.last.summary
    other = Desk(unit="person")
    same = other.pandas.DataFrame(pd.DataFrame(given))
    for _ in range(4):  # the same regressors again are no further equations
        other.smf.ols("pay ~ " + " + ".join(more.columns), same).fit()
    assert other.last.status == "pass", other.last.summary


def test_powers_of_one_column(desk, frame):
    """Twelve sums of powers are what twelve people have, each of them."""
    few = frame[frame.person < 12]
    for power in range(1, 8):
        few.assign(x=(few.pay / 3000) ** power).x.mean()
    assert [out.status for out in desk.outputs] == ["pass"] * 5 + ["review"] * 2
    assert "as many forms" in desk.last.summary


def test_means_of_many_columns_of_few_people():
    rng, desk = np.random.default_rng(1), Desk(unit="person")
    frame = desk.pandas.DataFrame({f"x{j}": rng.normal(50, 9, 12) for j in range(15)} | {"person": range(12)})
    for j in range(15):
        frame[f"x{j}"].mean()
    assert {out.status for out in desk.outputs} == {"pass"}


@pytest.mark.parametrize(
    "two",
    [
        ((100.2, "linear"), (100.8, "linear")),
        ((100.2, "lower"), (100.2, "higher")),
        ((100.0, "linear"), (100.5, "linear")),
        ((100.2, "midpoint"), (100.2, "lower")),
    ],
)
def test_two_quantiles_between_the_same_two_people_in_two_outputs(desk, frame, two):
    for place, way in two:
        frame.pay.quantile(place / 399, way)
    assert [out.status for out in desk.outputs] == ["pass", "fail"]
    frame.pay.quantile(two[0][0] / 399, two[0][1])  # the same again tells nothing more
    desk.remove("output_1")
    assert desk.last.status == "pass", desk.last.summary


def test_the_same_two_people_are_the_middle_of_others_too(desk, frame):
    frame.pay.median()
    ends = np.sort(np.asarray(frame.pay))[[10, -11]]
    inner = frame[(frame.pay > ends[0]) & (frame.pay < ends[1])]
    inner.pay.median()
    assert desk.last.status == "pass", desk.last.summary  # the same figure
    inner.pay.quantile(0.5005)
    assert desk.last.status == "fail"
    assert "quantiles between the same two" in desk.last.record.conflicts[-1]


def test_quantile_regressions_close_together(desk, frame):
    for q in (0.5, 0.502, 0.75):
        desk.smf.quantreg("pay ~ age", frame).fit(q=q)
    assert [out.status for out in desk.outputs] == ["pass", "fail", "pass"]


@pytest.mark.parametrize("first", [None, "round"])
@pytest.mark.parametrize("second", [None, "round"])
def test_rounded_counts_with_one_person_less(desk, frame, first, second):
    whole, less = (desk.table(f, ["town", "sex"]) for f in (frame, frame[frame.person != WHO]))
    desk.remove(less.record.uid)
    if first:
        whole.fix("round")
    assert whole.status == "pass"
    less = desk.table(frame[frame.person != WHO], ["town", "sex"])
    if second:
        less.fix("round")
    assert less.status == ("review" if first or second else "fail")


def test_small_cells_that_were_rounded_are_no_conflict(desk, frame):
    rare = frame.assign(kind=np.where(frame.person < 4, "rare", np.where(frame.person < 200, "x", "y")))
    for by in ("sex", "town"):
        assert desk.table(rare, by).status == "pass"
    out = desk.table(rare, ["kind"]).fix("round")
    assert out.status == "pass", out.summary
    assert desk.table(rare, ["kind"]).fix("round").status == "pass"


def test_the_total_of_a_dominated_cell_follows_from_no_four_outputs():
    """The cell a was taken out; it is (a and half of b) + (other half of b and half of c) + (rest of c) - b - c."""
    rng = np.random.default_rng(1)
    group, half = np.repeat(["a", "b", "c"], [20, 40, 40]), np.tile([0, 1], 50)
    pay = np.where(group == "a", rng.uniform(1, 2, 100), rng.uniform(900, 1100, 100))
    pay[0] = 5000.0
    data = pd.DataFrame({"g": group, "pay": pay, "other": rng.uniform(50, 90, 100), "person": range(100)})
    first, second = (group == "a") | ((group == "b") & (half == 0)), ((group == "b") & (half == 1)) | (
        (group == "c") & (half == 0)
    )  # fmt: skip
    third = (group == "c") & (half == 1)
    desk = Desk({"nk_k": 0.97, "p": 0.01}, unit="person")
    assert desk.table(data, "g", "pay", "sum", fix="suppress").status == "pass"
    assert desk.last.hidden.tolist() == [True, False, False]
    said = []
    for rows in (first, second, third):
        desk.table(data[rows].assign(all="x"), "all", "pay", "sum")
        said.append(desk.last.record.checks["differencing"]["verdict"])
    assert said == ["pass", "pass", "fail"]
    for rows in (first, second, third):  # of another column nothing was taken out
        desk.table(data[rows].assign(all="x"), "all", "other", "sum")
        assert desk.last.record.checks["differencing"]["verdict"] == "pass"


@pytest.mark.parametrize("look", ["mean", "counts", "model"])
def test_units_that_were_named_anew_in_a_file(tmp_path, frame, look):
    looks = {
        "mean": lambda d, f: f.groupby("sex").pay.mean(),
        "counts": lambda d, f: d.pandas.crosstab(f.town, f.sex),
        "model": lambda d, f: d.smf.ols("pay ~ age", f).fit(),
    }
    plain = pd.DataFrame(frame).astype({"person": int})
    plain.to_csv(tmp_path / "whole.csv", index=False)
    less = plain[plain.person != WHO].assign(person=[f"x{i}" for i in range(399)])
    less.to_csv(tmp_path / "less.csv", index=False)
    for name, status in (("whole", "pass"), ("less", "review"), ("whole", "pass")):
        desk = Desk(unit="person", memory=tmp_path / "memory")
        looks[look](desk, desk.pandas.read_csv(tmp_path / f"{name}.csv"))
        assert desk.last.status == status, desk.last.summary
        if name == "less":
            assert "under other names" in desk.last.summary
            desk.remove(desk.last.record.uid)


def test_other_people_of_another_year(tmp_path):
    rng, told = np.random.default_rng(2), []
    for year in range(3):
        desk = Desk(unit="person", memory=tmp_path / "memory")
        frame = desk.pandas.DataFrame(
            {
                "sex": rng.choice(["f", "m"], 300),
                "pay": rng.normal(3000, 400, 300),
                "person": 1000 * year + np.arange(300),
            }
        )
        frame.groupby("sex").pay.mean()
        desk.pandas.crosstab(frame.sex, frame.pay > 3000)
        told += [out.status for out in desk.outputs]
    assert told == ["pass"] * 6


def test_records_that_nobody_knows_again():
    """Rows of a Polars frame have no names: the first table may leave, the next is for a person."""
    desk = Desk()
    data = pl.DataFrame({"sex": ["f", "m"] * 60, "pay": np.arange(120.0)})
    assert desk.table(data, "sex", "pay", "mean").status == "pass"
    out = desk.table(data[1:], "sex", "pay", "mean")
    assert out.status == "review"
    assert "name the column of the unit" in out.summary
