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


@pytest.mark.parametrize("people", [25, 400])
@pytest.mark.parametrize("way", ["series", "table", "polars"])
def test_the_same_among_some_of_the_people(way, people):
    """Nothing was shown of the others, whose names the memory does not know."""
    rng, desk = np.random.default_rng(3), Desk(unit="person")
    plain = pd.DataFrame({"sex": np.tile(["f", "f", "f", "f", "m"], people // 5)})
    plain = plain.assign(pay=rng.normal(3000, 400, people), person=[f"p{i}" for i in range(people)])
    if way == "polars":
        whole = pl.DataFrame(plain)
        desk.table(whole.filter(pl.col("sex") == "f"), "sex")
        changed = pl.when(pl.col("person") == "p7").then(0).otherwise(2 * pl.col("pay"))
        some = whole.filter(pl.col("sex") == "f").with_columns(x=changed)
    else:
        whole = desk.pandas.DataFrame(plain)
        some = whole[whole.sex == "f"]
        some = some.assign(x=np.where(some.person == "p7", 0, 2 * some.pay))
    for name in ("pay", "x"):
        some[name].mean() if way == "series" else desk.table(some, "sex", name, "mean")
    assert [out.status for out in desk.outputs][-2:] == ["pass", "fail"]


@pytest.mark.parametrize("again", ["frame", "file"])
def test_a_column_that_is_another_but_for_one_person_comes_with_the_data(tmp_path, desk, frame, again):
    """Handed to the desk once more, it is a column of the data; and still made of one that came before."""
    frame["x"] = only(frame, 0, np.pi * frame.pay)
    if again == "frame":
        given = desk.pandas.DataFrame(frame)
    else:
        pd.DataFrame(frame).astype({"person": int}).to_csv(tmp_path / "data.csv", index=False)
        given = desk.pandas.read_csv(tmp_path / "data.csv")
    given.pay.mean()
    given.x.mean()
    assert [out.status for out in desk.outputs] == ["pass", "review"]
    assert "made of columns" in desk.last.summary


def test_two_columns_that_are_a_third_but_for_one_person(frame):
    """e times the one less π times the other is a multiple of the age of somebody whose pay is missing."""
    desk, data = Desk(unit="person"), pd.DataFrame(frame).astype({"person": int})
    data.loc[WHO, "pay"] = np.nan
    given = desk.pandas.DataFrame(data)
    given["y"], given["z"] = np.pi * given.pay.fillna(given.age), np.e * given.pay.fillna(0)
    given.y.mean()
    given.z.mean()
    assert [out.status for out in desk.outputs] == ["pass", "fail"]


def test_people_who_came_later_do_not_hide_it(desk, frame):
    more = pd.DataFrame(frame)[:15].assign(person=np.arange(1000, 1015))
    both = desk.pandas.concat([frame, more], ignore_index=True)
    both["x"] = np.where(both.person == WHO, 0, np.pi * both.pay)
    both.pay.mean()
    both.x.mean()
    assert desk.last.record.checks["differencing"]["verdict"] == "fail"


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


@pytest.mark.parametrize(("regressors", "status"), [(24, "pass"), (25, "review")])
def test_two_models_of_one_outcome_leave_some_freedom(regressors, status):
    """Sixty people less ten degrees of freedom bear fifty regressors, the constant among them."""
    rng, desk = np.random.default_rng(0), Desk(unit="person")
    names = [f"z{j}" for j in range(2 * regressors)]
    columns = {name: rng.normal(size=60) for name in names}
    frame = desk.pandas.DataFrame({**columns, "pay": rng.normal(3000, 400, 60), "person": range(60)})
    for some in (names[:regressors], names[regressors:]):
        desk.smf.ols("pay ~ " + " + ".join(some), frame).fit()
    assert [out.status for out in desk.outputs] == ["pass", status], desk.last.summary


@pytest.mark.parametrize("powers", [range(1, 8), (1, -1, 2, -2, 3, -3, 4)], ids=["up", "up and down"])
def test_powers_of_one_column(desk, frame, powers):
    """Twelve sums of powers are what twelve people have, each of them."""
    few = frame[frame.person < 12]
    for power in powers:
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


def test_quantiles_of_groups_between_the_same_two_people(desk, frame):
    for way in ("lower", "higher"):
        frame.groupby("sex").pay.quantile(0.3712, interpolation=way)
    assert [out.status for out in desk.outputs] == ["pass", "fail"]


def test_one_value_that_two_quantiles_show_is_told_once(desk, frame):
    frame.pay.quantile([100.2 / 399, 100.4 / 399], "lower")
    assert desk.last.status == "pass", desk.last.summary


def test_a_value_and_a_quantile_beside_it(desk, frame):
    """Shares in percent carry rounding errors: a place a hair below a whole number is that number."""
    place = next(i for i in range(50, 350) if (100 * (i / 399)) / 100 * 399 < i)
    frame.pay.quantile(place / 399)
    frame.pay.quantile((place + 0.5) / 399)
    assert [out.status for out in desk.outputs] == ["pass", "fail"]


@pytest.mark.parametrize(("people", "status"), [(3, "fail"), (9, "fail"), (10, "pass")])
def test_values_that_few_share_are_theirs(people, status):
    desk = Desk(unit="person")
    data = desk.pandas.DataFrame({"x": np.arange(400) // people * 1.5, "person": np.arange(400)})
    edge = 200 // people * people - 1  # the last who has one value; the next has another
    for part in (0.2, 0.8):
        data.x.quantile((edge + part) / 399)
    assert [out.status for out in desk.outputs] == ["pass", status], desk.last.summary


def test_quantiles_that_were_taken_out_tell_nothing():
    """The median of five is not shown; a quantile beside it is then nobody's in particular."""
    rng, desk = np.random.default_rng(3), Desk(unit="person")
    town = rng.choice(list("ABCD"), 400)
    town[[50, 90, 120, 300, 350]] = "E"
    data = {"town": town, "pay": np.sort(rng.normal(3000, 400, 400)), "person": np.arange(400)}
    frame = desk.pandas.DataFrame(data)
    assert desk.table(frame, "town", "pay", "median", fix="suppress").hidden.tolist() == [False] * 4 + [True]
    some = frame[(frame.town != "A") | (frame.person % 2 == 0)]  # not all of A, or the five follow
    place = int(np.flatnonzero(np.asarray(some.person) == 120)[0])
    some.pay.quantile((place + 0.3) / (len(some) - 1))
    assert desk.last.status == "pass", desk.last.record.conflicts


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
        offers = less.suggest()
        assert offers.filter(pl.col("fix") == "round")["status"].to_list() == ["review"]
        less.fix("round")
    assert less.status == ("review" if first or second else "fail")


def test_small_cells_that_were_rounded_are_no_conflict(desk, frame):
    rare = frame.assign(kind=np.where(frame.person < 4, "rare", np.where(frame.person < 200, "x", "y")))
    for by in ("sex", "town"):
        assert desk.table(rare, by).status == "pass"
    out = desk.table(rare, ["kind"]).fix("round")
    assert out.status == "pass", out.summary
    assert desk.table(rare, ["kind"]).fix("round").status == "pass"


def test_rounded_counts_of_people_with_several_rows(frame):
    rng, desk = np.random.default_rng(1), Desk(unit="person")
    plain = pd.DataFrame(frame).astype({"person": int})
    twice = pd.concat([plain, plain.assign(town=rng.choice(list("ABCD"), 400))], ignore_index=True)
    both = desk.pandas.DataFrame(twice)
    for rows, status in ((both, "pass"), (both[both.person != WHO], "review")):
        out = desk.table(rows, ["town"]).fix("round")
        assert out.status == status, out.summary
    other = Desk(
        unit="person"
    )  # all have been in one place and all but four in another: rounding hides the four
    seen = pd.DataFrame({"place": ["x"] * 400 + ["y"] * 396, "person": [*range(400), *range(396)]})
    given = other.pandas.DataFrame(seen)
    for _ in range(2):
        out = other.table(given, ["place"]).fix("round")
        assert out.status == "pass", out.summary


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
    assert desk.last.record.conflicts[0].endswith("a total that was taken out follows by subtraction")
    for rows in (first, second, third):  # of another column nothing was taken out
        desk.table(data[rows].assign(all="x"), "all", "other", "sum")
        assert desk.last.record.checks["differencing"]["verdict"] == "pass"


def test_a_total_of_people_who_have_all_the_same_is_taken_out_too():
    rng, desk = np.random.default_rng(1), Desk({"nk_k": 0.97, "p": 0.01}, unit="person")
    group = np.repeat(["a", "b", "c"], [20, 40, 40])
    pay = np.where(group == "a", 5000.0, rng.uniform(900, 1100, 100))
    data = pd.DataFrame({"g": group, "all": "x", "pay": pay, "person": range(100)})
    assert desk.table(data, "g", "pay", "sum", fix="suppress").hidden.tolist() == [True, False, False]
    desk.table(data, "all", "pay", "sum")
    assert "a total that was taken out follows" in desk.last.record.conflicts[0]


def test_what_left_by_exception_is_no_later_outputs_doing():
    rng, desk = np.random.default_rng(1), Desk({"nk_k": 0.97, "p": 0.01}, unit="person")
    group = np.repeat(["a", "b", "c"], [20, 40, 40])
    pay = np.where(group == "a", rng.uniform(1, 2, 100), rng.uniform(900, 1100, 100))
    pay[0] = 5000.0
    data = pd.DataFrame({"g": group, "all": "x", "sex": rng.choice(["f", "m"], 100), "pay": pay})
    data = data.assign(other=rng.uniform(50, 90, 100), person=range(100))
    assert desk.table(data, "g", "pay", "sum", fix="suppress").status == "pass"
    assert desk.table(data, "all", "pay", "sum").exception("it stands in the yearbook").status == "fail"
    assert desk.table(data, "sex", "other", "sum").status == "pass", desk.last.record.conflicts
    assert desk.table(data, "sex").status == "pass", desk.last.record.conflicts


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
    known = pd.DataFrame({"sex": ["f", "m"] * 60})  # known by its index; the first one is not
    out = desk.table(known, "sex")
    assert out.status == "review"
    assert "Its records cannot be told again" in out.summary
