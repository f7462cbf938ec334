"""What stands beside the figures: names of bins, modes, prices of fixes, columns about one person."""

from __future__ import annotations

import json

import numpy as np
import pandas as plain
import pytest

from dalenius.outputs import Desk


def people(n=600, seed=1):
    rng = np.random.default_rng(seed)
    return plain.DataFrame({
        "person": np.arange(n), "sex": rng.choice(["f", "m"], n), "pay": rng.gamma(3, 1000, n).round(),
        "bonus": rng.gamma(2, 100, n).round(), "region": rng.choice(["N", "S", "E", "W"], n),
    })  # fmt: skip


def opened(tmp_path, data):
    data.to_csv(tmp_path / "people.csv", index=False)
    desk = Desk(unit="person", memory=tmp_path / "memory")
    return desk, desk.pandas.read_csv(tmp_path / "people.csv")


def kept_in_a_column(desk, f):
    f["band"] = desk.pandas.qcut(f.pay, 4)
    f.groupby("band", observed=True).bonus.mean()


def counted(desk, f):
    f["band"] = desk.pandas.cut(f.pay, 3)
    f["band"].value_counts()


def crossed(desk, f):
    f = f.assign(band=desk.pandas.cut(f.pay, 3))
    desk.pandas.crosstab(f.band, f.sex)


def as_texts(desk, f):
    f["band"] = desk.pandas.qcut(f.pay, [0, 0.5, 1]).astype(str)
    f["band"].value_counts()


def drawn(desk, f):
    f["band"] = desk.pandas.cut(f.pay, 3)
    desk.charts.bar(f, "band")


def of_some(desk, f):
    some = f[f.sex == "f"]
    some = some.assign(band=desk.pandas.qcut(some.pay * 2, 3))
    some.band.value_counts()


def ends_by_hand(desk, f):
    f["band"] = desk.pandas.cut(f.pay, [149, 3000, 9507], include_lowest=True)
    f.groupby("band", observed=True).size()


def by_other_hands(desk, f):
    f["band"] = plain.cut(plain.Series(f.pay), 3).astype(str)
    f["band"].value_counts()


@pytest.mark.parametrize(
    "door",
    [kept_in_a_column, counted, crossed, as_texts, drawn, of_some, ends_by_hand, by_other_hands],
)
def test_bins_laid_by_the_data_do_not_name_the_largest_value(tmp_path, door):
    desk, frame = opened(tmp_path, people().assign(pay=lambda d: d.pay.clip(149, 9507)))
    door(desk, frame)
    assert desk.last.record.checks["endpoints"]["verdict"] == "fail"
    for way in ("merge", "round"):
        if way in desk.last.suggest()["fix"]:
            assert desk.last.suggest().filter(fix=way)["status"].to_list() == ["fail"]


def test_bins_with_edges_that_people_choose_pass(tmp_path):
    desk, frame = opened(tmp_path, people())
    frame["band"] = desk.pandas.cut(frame.pay, [0, 1500, 3000, 10000])
    desk.pandas.crosstab(frame.band, frame.sex)
    assert desk.last.status == "pass", desk.last.summary


def test_the_mode_of_different_values_is_somebody(tmp_path):
    desk, frame = opened(tmp_path, people().assign(own=lambda d: d.pay + d.person / 1000))
    assert desk.table(frame, "sex", "own", "mode").record.checks["modal"]["verdict"] == "fail"
    frame["hundreds"] = frame.bonus.round(-2)
    assert desk.table(frame, "sex", "hundreds", "mode").status == "pass"


@pytest.mark.parametrize("statistic", ["gini", "herfindahl", "lorenz"])
def test_concentration_of_a_column_about_one_person(tmp_path, statistic):
    desk, frame = opened(tmp_path, people())
    frame["own"] = frame.pay.where(frame.person == 5, 1.0)
    out = desk.concentration(frame.own, statistic, unit=frame.person)
    assert out.record.checks["few_others"]["verdict"] == "fail"
    desk.remove(out.record.uid)
    assert desk.concentration(frame.pay, statistic, unit=frame.person).status == "pass"


def written(tmp_path, few, fix, name):
    data = people()
    data["region"] = np.where(data.person < few, "Isles", np.where(data.person < 9, "N", data.region))
    folder = tmp_path / f"{name}{few}"
    folder.mkdir()
    desk, frame = opened(folder, data)
    frame.region.value_counts()
    desk.last.fix(fix)
    desk.finalise(folder / "out")
    record = json.loads((folder / "out/records.json").read_text())[0]
    events = [json.loads(line) for line in (folder / "out/trail.jsonl").read_text().splitlines()]
    return record["loss"], record["notes"], [e["facts"].get("loss") for e in events if e["what"] == "fixed"]


@pytest.mark.parametrize("fix", ["suppress", "round"])
def test_the_price_of_a_fix_does_not_tell_what_it_hides(tmp_path, fix):
    """Three or seven people behind the cell that goes: every word that is written is the same."""
    assert written(tmp_path, 3, fix, fix) == written(tmp_path, 4, fix, fix)


def test_a_fix_does_not_forget_that_units_are_strange(tmp_path):
    data = people(60).assign(region=lambda d: np.where(d.person < 4, "Isles", d.region), person=0)
    desk, frame = opened(tmp_path, data)
    frame["person"] = np.arange(60)
    frame.region.value_counts()
    assert desk.last.record.checks["unit"]["verdict"] == "review"
    for way in desk.last.suggest().to_dicts():
        assert way["status"] != "pass"
    assert desk.last.fix("merge").status == "review"


def test_fixes_that_leave_nothing_or_change_nothing_are_not_offered(tmp_path):
    desk, frame = opened(tmp_path, people(400))
    frame.sex.value_counts()
    known = frame[frame.person > 5]
    known.groupby("sex").size()
    assert desk.last.status == "fail"
    offered = desk.last.suggest()["fix"].to_list()
    assert "suppress" not in offered
    assert "merge" not in desk.last.suggest().filter(price_percent=0)["fix"].to_list()


def test_a_description_passes_with_its_end_values_replaced(tmp_path):
    desk, frame = opened(tmp_path, people())
    frame.pay.describe()
    assert desk.last.status == "fail"
    out = desk.last.fix("end_values")
    assert out.status == "pass", out.summary
    assert "std" in out.table().columns
    frame.bonus.describe()
    assert desk.last.fix("auto").status == "pass"


@pytest.mark.parametrize("order", [1, -1])
def test_a_difference_made_by_missing_values_is_told_with_its_remedy(tmp_path, order):
    data = people().assign(edu=lambda d: np.where(d.person < 7, None, np.where(d.person % 2, "low", "high")))
    desk, frame = opened(tmp_path, data)
    steps = [frame.sex.value_counts, lambda: desk.pandas.crosstab(frame.edu, frame.sex)]
    for step in steps[::order]:
        step()
    assert desk.last.status == "fail"
    assert "people without a value of 'edu'" in desk.last.summary
    assert "complete cases before the first table" in desk.last.summary
    assert "dropna=False" not in desk.last.summary  # a category of seven would be too small
    desk = Desk(unit="person")
    whole = desk.data(data.dropna())
    whole.sex.value_counts()
    desk.pandas.crosstab(whole.edu, whole.sex)
    assert [out.status for out in desk.outputs] == ["pass", "pass"]


def test_missing_values_are_no_reason_for_people_who_were_left_out(tmp_path):
    data = people().assign(edu=lambda d: np.where(d.person < 90, None, "low"))
    desk, frame = opened(tmp_path, data)
    frame.sex.value_counts()
    frame[frame.person != 300].sex.value_counts()
    assert desk.last.status == "fail"
    assert "without a value" not in desk.last.summary
