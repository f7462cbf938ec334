"""Shares, bins, gaps in correlations, tables that are not what they are said to be, and noise asked for again."""

from __future__ import annotations

import numpy as np
import pandas as plain
import pytest

from dalenius.core.errors import FileError, OptionError
from dalenius.outputs import Desk


@pytest.fixture
def desk(tmp_path):
    return Desk(unit="person", memory=tmp_path / "memory")


def people(desk):
    rng = np.random.default_rng(1)
    return desk.pandas.DataFrame(
        {
            "region": np.repeat(["Isles", "North", "South"], [8, 292, 192]),
            "sex": np.tile(["f", "m"], 246),
            "pay": rng.normal(3000, 400, 492).round(),
            "age": rng.integers(18, 66, 492),
            "person": np.arange(492),
        }
    )


def usual(frame):
    return plain.DataFrame({c: np.asarray(frame[c]) for c in frame.columns})


# Correlations.


@pytest.mark.parametrize("one", [True, False])
def test_correlations_with_missing_values(desk, one):
    frame = people(desk)
    frame["age"] = frame.age.where(frame.person != 3)
    raw = usual(frame)
    if one:
        assert frame.pay.corr(frame.age) == pytest.approx(raw.pay.corr(raw.age))
        assert frame.pay.cov(frame.age) == pytest.approx(raw.pay.cov(raw.age))
    else:
        assert frame[["pay", "age"]].corr().loc["pay", "age"] == pytest.approx(raw.pay.corr(raw.age))
        frame[["pay", "age"]].cov()
    assert {out.status for out in desk.outputs} == {"pass"}, [o.summary for o in desk.outputs]
    few = frame.assign(age=frame.age.where(frame.person < 8))
    few[["pay", "age"]].corr()
    assert desk.last.status == "fail"


def test_a_column_with_itself_one_row_later(desk):
    frame = people(desk)
    assert frame.pay.autocorr() == pytest.approx(usual(frame).pay.autocorr())
    assert desk.last.status == "pass"


# Shares.


def test_shares_are_shares(desk):
    frame = people(desk)
    found = frame.sex.value_counts(normalize=True)
    assert found.to_dict() == {"f": 0.5, "m": 0.5}
    assert desk.last.status == "pass"
    assert desk.last.table()[desk.last.table().columns[-1]].to_list() == [0.5, 0.5]
    found = frame[["sex", "region"]].value_counts(normalize=True)
    assert float(np.sum(found)) == pytest.approx(1)
    assert desk.last.status == "fail"
    found = frame.groupby("sex").region.value_counts(normalize=True)
    assert float(np.sum(found)) == pytest.approx(2)
    assert float(np.sum(frame.sex.value_counts(True, dropna=False))) == pytest.approx(1)
    assert int(np.sum(frame.sex.value_counts())) == 492


@pytest.mark.parametrize("way", [True, "index", "columns", "value_counts", "groups"])
def test_fixes_of_shares(desk, way):
    frame = people(desk)
    if way == "value_counts":
        frame.region.value_counts(normalize=True)
    elif way == "groups":
        frame.groupby("sex").region.value_counts(normalize=True)
    else:
        desk.pandas.crosstab(frame.sex, frame.region, normalize=way)
    out = desk.last
    assert out.status == "fail"
    for fix in ("suppress", "round", "noise", "cell_key"):
        with pytest.raises(OptionError, match="table of counts"):
            out.fix(fix)
    assert out.suggest()["fix"].to_list() == ["merge"]
    out.fix("merge")
    assert out.status == "pass"
    shown = next(iter(out.values.values()))
    assert shown.max() <= 1
    assert shown.sum() == pytest.approx(
        {True: 1, "index": 2, "columns": 2, "value_counts": 1, "groups": 2}[way]
    )


# Bins.


def test_bins_are_checked_and_not_the_values_in_them(desk):
    frame = people(desk)
    edges = [17, 30, 42, 54, 66]
    found = frame.age.value_counts(bins=edges)
    assert desk.last.status == "pass", desk.last.summary
    assert found.sort_index().tolist() == usual(frame).age.value_counts(bins=edges).sort_index().tolist()
    assert len(desk.last.table()) == 4
    frame.pay.value_counts(bins=[0, 2000, 3000, 9000])
    assert desk.last.status == "fail"
    assert "min_threshold" in desk.last.summary


def test_bins_that_end_at_the_largest_value(desk):
    frame = people(desk)
    frame.pay.value_counts(bins=2)
    assert desk.last.status == "fail"
    assert "outer edges of the bins" in desk.last.summary
    scale = frame.assign(score=np.tile(np.arange(4.0), 123))
    scale.score.value_counts(bins=2, normalize=True)
    assert desk.last.status == "pass", desk.last.summary


# Tables that were made already.


def test_a_table_that_is_not_what_its_data_give(desk):
    frame = people(desk)
    means = usual(frame).groupby("sex").pay.mean()
    ask = {"data": frame, "by": "sex", "value": "pay", "statistic": "mean"}
    assert desk.check(means.round(1).to_frame(), **ask).status == "pass"
    assert desk.check(means.reset_index(), **ask).status == "pass"
    tops = usual(frame).groupby("sex").pay.max().to_frame()
    for table in (
        tops,
        means.iloc[:1].to_frame(),
        plain.concat([means, means]).to_frame(),
        means.to_frame() + 1,
    ):
        out = desk.check(table, **ask)
        assert out.status == "review"
        assert "other figures than its data give" in out.summary
    assert out.values["mean"] == pytest.approx(means.to_numpy())


# Noise.


def test_noise_that_is_asked_for_again_is_the_same(desk, tmp_path):
    frame = people(desk)
    drawn = []
    for _ in range(4):
        desk.pandas.crosstab(frame.region, frame.sex)
        desk.last.suggest()
        drawn.append(desk.last.fix("noise").values["count"].tolist())
        assert desk.last.status == "review"
        assert "spent" not in desk.last.summary
    assert all(d == drawn[0] for d in drawn)
    other = Desk(unit="person", memory=tmp_path / "memory")
    again = people(other)
    other.pandas.crosstab(again.region, again.sex)
    assert other.last.fix("noise").values["count"].tolist() == drawn[0]
    less = again[again.person != 7]
    other.pandas.crosstab(less.region, less.sex)
    other.last.fix("noise")
    assert "ε = 2 is spent" in other.last.summary


def test_noise_cannot_be_taken_out_of_the_memory(desk, tmp_path):
    frame = people(desk)
    desk.pandas.crosstab(frame.region, frame.sex)
    desk.last.fix("noise")
    desk.memory.store.execute("delete from drawn")
    with pytest.raises(FileError, match="noise was taken out"):
        Desk(unit="person", memory=tmp_path / "memory")
