"""Plain reductions of columns and frames, and groupings by computed columns, are checked like tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from dalenius.outputs import Desk


@pytest.fixture
def desk():
    return Desk(unit="person")


def people(desk, n=400):
    rng = np.random.default_rng(1)
    return desk.pandas.DataFrame({
        "sex": rng.choice(["f", "m"], n), "age": rng.integers(18, 80, n), "pay": rng.normal(3000, 400, n).round(),
        "person": np.arange(n),
    })  # fmt: skip


@pytest.mark.parametrize(("name", "status"), [
    ("mean", "pass"), ("sum", "pass"), ("median", "pass"), ("std", "pass"), ("var", "pass"), ("count", "pass"),
    ("skew", "pass"), ("kurt", "pass"), ("sem", "pass"), ("nunique", "pass"),
    ("min", "fail"), ("max", "fail"), ("idxmax", "fail"),
])  # fmt: skip
def test_every_reduction_of_a_column_is_written_down(desk, name, status):
    frame = people(desk)
    wanted, found = (np.atleast_1d(getattr(s, name)())[0] for s in (pd.Series(frame.pay), frame.pay))
    assert found == wanted
    assert (len(desk.outputs), desk.last.status) == (1, status), desk.last.summary
    assert "pay" in desk.last.record.command
    assert float(desk.last.table().to_series(-1)[0]) == pytest.approx(float(wanted), rel=1e-6)


def test_a_mode_with_ties_lists_values(desk):
    frame = people(desk)
    frame.sex.mode()
    assert desk.last.status == "review"  # of texts
    frame["kids"] = np.repeat([0, 1, 1, 2], 100)
    assert frame.kids.mode()[0] == 1
    assert desk.last.status == "pass"
    frame.person.mode()
    assert (desk.last.status, desk.last.query.statistic) == ("review", "mode with ties")


def test_reductions_of_frames(desk):
    frame = people(desk)
    wanted = pd.DataFrame(frame)[["age", "pay"]].mean()
    pd.testing.assert_series_equal(frame.mean(), wanted)
    assert desk.last.status == "pass"
    assert desk.last.table()["mean"].to_list() == pytest.approx(wanted.to_list())
    frame.max()
    assert desk.last.status == "fail"
    frame[["age", "pay"]].agg(["mean", "std"])
    assert desk.last.status == "pass"
    before = len(desk.outputs)
    frame[["age", "pay"]].sum(axis=1)  # one figure a row is no output
    assert len(desk.outputs) == before
    np.mean(frame.pay)
    frame.pay.agg("max")
    assert [o.status for o in desk.outputs[before:]] == ["pass", "fail"]
    frame.pay.agg(lambda s: s.iloc[0])
    assert desk.last.status == "review"


def test_few_people_behind_a_mean(desk):
    frame = people(desk)
    frame[frame.age > 78].pay.mean()
    assert desk.last.status == "fail"
    frame.loc[frame.age > 78, "pay"].mean()
    assert desk.last.status == "fail"
    assert "unit" not in desk.last.record.checks
    frame.query("age > 78").pay.to_frame().mean()
    assert [o.status for o in desk.outputs] == ["fail"] * 3


def test_a_condition_is_a_count_of_people(desk):
    frame = people(desk)
    assert (frame.age > 78).sum() == int((pd.Series(frame.age) > 78).sum())
    assert desk.last.status == "fail"
    assert "min_threshold" in desk.last.summary
    (frame.age > 40).mean()
    assert desk.last.status == "pass"
    assert frame.isna().sum().sum() == 0


def test_one_person_fewer_is_seen_by_a_plain_mean(desk):
    frame = people(desk)
    frame.pay.mean()
    frame[frame.person != 3].pay.mean()
    assert "differencing" in desk.last.summary
    again = people(desk)
    again.loc[5, "pay"] += 100
    again.pay.sum()
    assert "differencing" in desk.last.summary


def test_groups_that_are_computed(desk):
    frame = people(desk)
    decades = frame.age // 10
    found = frame.groupby(decades)["pay"].mean()
    pd.testing.assert_series_equal(found, pd.DataFrame(frame).groupby(pd.Series(decades))["pay"].mean())
    assert desk.last.status == "pass"
    assert desk.last.record.command == "groupby(age; mean of pay)"
    frame.pay.groupby(frame.sex).mean()
    assert desk.last.status == "pass"
    assert "unit" not in desk.last.record.checks
    frame.groupby("sex")["pay"].max()
    assert desk.last.status == "fail"


def test_texts_in_groups(desk):
    frame = people(desk)
    frame["name"] = "n" + frame.person.astype(str)
    frame.groupby("sex")["name"].first()
    assert desk.last.status == "review"
    frame.groupby("sex")["name"].count()
    assert desk.last.status == "pass"
    frame.name.nunique()
    assert desk.last.status == "pass"
    frame["name"].min()
    assert desk.last.status == "review"


def test_groups_one_by_one(desk):
    frame = people(desk)
    grouped = frame.groupby("sex")
    assert len(grouped) == 2
    for _, part in grouped:
        part.pay.mean()
        assert desk.last.status == "pass"
    grouped.get_group("f").pay.max()
    assert desk.last.status == "fail"
    frame.pay.corr(frame.age)
    assert desk.last.status == "pass"
    frame.cov()
    assert desk.last.statbarn == "g"


def test_value_counts_of_groups(desk):
    frame = people(desk)
    frame["smoker"] = np.where(frame.age > 78, "yes", "no")
    found = frame.groupby("sex")["smoker"].value_counts()
    assert found.to_dict() == pd.DataFrame(frame).groupby("sex")["smoker"].value_counts().to_dict()
    assert desk.last.status == "fail"
    assert desk.last.record.command == "groupby(sex, smoker)"
    frame.groupby("sex")["smoker"].value_counts(normalize=True)
    assert desk.last.status == "fail"


def test_a_look_at_the_columns_is_no_output(tmp_path, capsys):
    desk = Desk(unit="person", memory=tmp_path / "memory")
    frame = desk.pandas.DataFrame({"v": [1.0] * 12 + [None], "person": range(13)})
    frame.info()
    assert "12 non-null" in capsys.readouterr().out
    assert desk.outputs == []
