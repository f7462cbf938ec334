"""The column of the unit: trusted as it came with the data, looked at by a person wherever it did not."""

from __future__ import annotations

import numpy as np
import pandas as plain
import polars as pl
import pytest

from dalenius.outputs import Desk
from dalenius.outputs.trail import trail_faults
from dalenius.outputs.wraps.traced import Traced, bare, traced

KINDS = {
    "whole": np.arange(500),
    "text": [f"p{i}" for i in range(500)],
    "category": plain.Categorical([f"p{i}" for i in range(500)]),
    "nullable": plain.array(np.arange(500), dtype="Int64"),
}


@pytest.fixture
def desk(tmp_path):
    return Desk(unit="person", memory=tmp_path / "memory")


def people(desk, names=KINDS["whole"]):
    rng = np.random.default_rng(1)
    return desk.pandas.DataFrame(
        {
            "sex": np.tile(["f", "m"], 250),
            "region": np.repeat(["Isles", "North"], [8, 492]),
            "pay": rng.normal(3000, 400, 500).round(),
            "person": names,
        }
    )


def isles(desk, frame):
    return frame[frame.region == "Isles"]


def by_loc(pd, own, frame):
    q = pd.concat([own] * 5, ignore_index=True)
    q.loc[:, "person"] = np.arange(len(q))
    return q


def by_assign(pd, own, frame):
    return pd.concat([own.assign(person=own.person + 1000 * i) for i in range(5)])


def by_insert(pd, own, frame):
    q = pd.concat([own.drop(columns="person")] * 5, ignore_index=True)
    q.insert(0, "person", range(len(q)))
    return q


def by_names_of_others(pd, own, frame):
    q = pd.concat([own] * 5, ignore_index=True)
    q["person"] = frame.person.iloc[: len(q)].array
    return q


def by_explode(pd, own, frame):
    q = own.assign(other=[list(range(100 * i, 100 * i + 5)) for i in range(len(own))]).explode("other")
    return q.drop(columns="person").rename(columns={"other": "person"})


def by_index(pd, own, frame):
    return pd.concat([own.drop(columns="person")] * 5, ignore_index=True).reset_index(names="person")


def by_merge(pd, own, frame):
    keys = pd.DataFrame({"person": np.repeat(np.arange(500), 5), "k": np.arange(2500)})
    return own.merge(keys, on="person").drop(columns="person").rename(columns={"k": "person"})


def by_a_new_frame(pd, own, frame):
    return pd.DataFrame({"person": np.arange(5 * len(own)), "pay": np.tile(own.pay, 5)})


def by_a_new_frame_with_known_names(pd, own, frame):
    return pd.DataFrame({"person": frame.person[: 5 * len(own)], "pay": np.tile(own.pay, 5)})


def side_by_side(pd, own, frame):
    q = pd.concat([own.drop(columns="person")] * 5, ignore_index=True)
    return pd.concat([q, frame.person.iloc[: len(q)].reset_index(drop=True)], axis=1)


def crossed(pd, own, frame):
    return own.drop(columns="person").merge(frame[["person"]], how="cross")


def joined(pd, own, frame):
    q = pd.concat([own.drop(columns="person")] * 5, ignore_index=True)
    return q.join(frame[["person", "sex"]], rsuffix="_2")


def plain_and_back(pd, own, frame):
    q = plain.DataFrame(pd.concat([own] * 5, ignore_index=True))
    q["person"] = np.arange(len(q))
    return frame._desk.data(q)


FORGED = [
    by_loc, by_assign, by_insert, by_names_of_others, by_explode, by_index, by_merge, by_a_new_frame,
    by_a_new_frame_with_known_names, side_by_side, crossed, joined, plain_and_back,
]  # fmt: skip


@pytest.mark.parametrize("forged", FORGED)
def test_eight_people_are_not_forty(desk, forged):
    frame = people(desk)
    q = forged(desk.pandas, isles(desk, frame), frame)
    assert q["person"].nunique() > 8
    q["pay"].mean()
    assert desk.last.status != "pass", desk.last.summary
    q.pay.mean()
    assert desk.last.status != "pass", desk.last.summary
    assert "unit" in desk.last.record.checks
    desk.table(q, [], "pay", "mean")
    assert desk.last.status != "pass"
    desk.pandas.crosstab(q.pay > 0, (q.pay > 1).rename("more"))
    assert desk.last.status != "pass"
    desk.charts.histogram(q, "pay", bins=1)
    assert desk.last.status != "pass"


@pytest.mark.parametrize("kind", ["whole", "text"])
def test_repeated_rows_are_the_same_people(desk, kind):
    frame = people(desk, KINDS[kind])
    q = desk.pandas.concat([isles(desk, frame)] * 5, ignore_index=True)
    q.pay.mean()
    assert desk.last.status == "fail"
    assert "min_threshold" in desk.last.summary


def test_names_that_were_changed_do_not_fool_the_memory(desk):
    frame = people(desk)
    frame.pay.mean()
    q = frame[frame.person != 7]
    q.loc[:, "person"] = q.person + 5000
    q.pay.mean()
    assert desk.last.status == "review"
    assert "did not come with them" in desk.last.summary


@pytest.mark.parametrize("kind", KINDS)
def test_everyday_work_leaves_units_known(desk, kind):
    pd, frame = desk.pandas, people(desk, KINDS[kind])
    areas = pd.DataFrame({"region": ["Isles", "North"], "rain": [900, 600]})
    made = [
        frame.sort_values("pay").reset_index(drop=True),
        frame[frame.pay > 0].copy(),
        frame.merge(areas, on="region"),
        frame.merge(areas, on="region", how="left"),
        pd.merge(frame, areas, on="region"),
        frame[["person", "pay"]].merge(frame[["person", "sex"]], on="person"),
        pd.concat([frame[frame.sex == "f"], frame[frame.sex == "m"]], ignore_index=True),
        pd.concat([frame, pd.get_dummies(frame.region)], axis=1),
        frame.assign(high=frame.pay > 3000, person=frame.person),
        frame.set_index("person").reset_index(),
        frame.astype({"person": str}),
        frame.melt(id_vars=["person", "sex"], value_vars="pay").rename(columns={"value": "pay"}),
        frame.drop(columns="region").dropna().drop_duplicates("person"),
        frame.query("pay > 0"),
        frame.groupby("sex").get_group("f"),
        frame.explode("pay"),
        frame.sample(400, random_state=1, ignore_index=True),
    ]
    for q in made:
        assert traced(q["person"]), q.columns
        q["pay"].std()
        assert "unit" not in desk.last.record.checks, desk.last.summary
        desk.remove(desk.last.record.uid)


def test_what_pandas_shows_of_units_is_what_it_shows_without_a_desk(desk):
    for names in KINDS.values():
        frame, usual = people(desk, names), plain.Series(names)
        assert frame.person.tolist() == usual.tolist()
        assert list(frame.person.values) == list(usual.values)
        assert frame.person.nunique() == 500
        assert frame.person.isin(usual[:3]).sum() == 3
        assert (frame.person == usual[4]).tolist() == (usual == usual[4]).tolist()
        assert frame.person.astype(str).str.len().max() == usual.astype(str).str.len().max()
        assert frame.to_csv(index=False) == bare(plain.DataFrame(frame)).to_csv(index=False)
        assert pl.from_pandas(plain.DataFrame(frame))["person"].len() == 500
        assert str(frame.head())
    texts = people(desk, KINDS["text"])
    assert type(texts.person.str[1:]) is type(texts.pay)  # still checked
    assert type(texts.sex.str.upper()) is type(texts.pay)
    numbers = people(desk)
    assert (numbers.person + 1).sum() == np.arange(1, 501).sum()
    assert (1000 - numbers.person).max() == 1000
    assert (numbers.person % 2 == 0).sum() == 250
    assert numbers[["person", "pay"]].to_numpy().dtype == np.float64


def test_a_column_is_not_found_by_labels_that_were_given_anew(desk):
    frame = people(desk)
    told = []
    for column in (
        frame.pay[frame.person > 300].reset_index(drop=True),
        frame.pay.sort_values(ignore_index=True).head(100),
        frame[["pay"]].sample(100, ignore_index=True, random_state=1).pay,
        frame.pay[frame.person > 300].set_axis(range(199)),
    ):
        column.mean()
        told.append(desk.last.summary)
    moved = frame.pay[frame.person > 300].copy()
    moved.index = range(199)
    moved.mean()
    told.append(desk.last.summary)
    assert all("was not found with these data" in text for text in told), told
    frame.pay[frame.person > 300].mean()
    assert desk.last.status == "pass"


def test_files_are_data_and_other_frames_say_where_they_come_from(desk, tmp_path):
    frame = people(desk)
    bare(plain.DataFrame(frame)).assign(pay=1.0 + np.arange(500)).to_csv(tmp_path / "two.csv", index=False)
    desk.pandas.read_csv(tmp_path / "two.csv").pay.mean()
    assert desk.last.status == "pass"
    other = plain.DataFrame({"person": np.arange(900, 960), "size": np.linspace(1, 2, 60)})
    desk.data(other)["size"].mean()
    assert desk.last.status == "review"
    desk.data(other, source="survey of firms, wave 2")["size"].mean()
    assert desk.last.status == "pass"
    assert any("wave 2" in line for line in desk.trail.lines)
    assert trail_faults(desk.trail.lines) == []
    desk.data(pl.DataFrame({"person": np.arange(500), "pay": bare(frame.pay).to_numpy()})).pay.std()
    assert desk.last.status == "pass"  # rows of data that the desk knows


def test_plain_frames_of_a_desk_without_data_are_data(desk):
    data = {"person": np.arange(60), "g": np.repeat(["a", "b"], 30)}
    assert desk.table(pl.DataFrame(data), "g").status == "pass"
    assert desk.table(data, "g").status == "pass"


def test_units_handed_over_beside_the_columns(desk):
    frame = people(desk)
    time, event = frame.pay.round(-2), frame.pay * 0 + 1
    desk.survival(time, event, unit=np.arange(500))
    assert desk.last.record.checks["unit"]["verdict"] == "review"
    desk.survival(time, event, unit=frame.person)
    assert "unit" not in desk.last.record.checks
    desk.concentration(frame.pay, "gini", unit=np.arange(500))
    assert desk.last.status == "review"


def test_an_array_of_units_knows_what_was_written_into_it():
    held = Traced(np.arange(5))
    copy = held.copy()
    copy[np.zeros(5, bool)] = 7
    assert copy.intact
    copy[2] = "x"
    assert not copy.intact
    assert held.intact
    assert copy.inner.tolist() == [0, 1, "x", 3, 4]
    assert not Traced._concat_same_type([held, Traced(np.arange(2), intact=False)]).intact
    assert held.take([0, -1], allow_fill=True).isna().tolist() == [False, True]
    assert not held.shift(1).intact


@pytest.mark.parametrize("door", [lambda c: c.values, lambda c: c.to_numpy(), np.asarray])
def test_names_cannot_be_written_through_their_numbers(desk, door):
    few = isles(desk, people(desk))
    with pytest.raises(ValueError, match="read-only"):
        door(few["person"])[:] = np.arange(len(few))


def written_over(pd, path):
    frame = pd.read_csv(path)
    frame["person"] = np.arange(60)
    return frame


def under_another_name(pd, path):
    frame = pd.read_csv(path)
    frame.columns = ["x", "pay"]
    frame["person"] = np.arange(60)
    return frame


def left_in_the_file(pd, path):
    frame = pd.read_csv(path, usecols=["pay"])
    frame["person"] = np.arange(60)
    return frame


def numbered_rows(pd, path):
    return pd.read_csv(path, usecols=["pay"]).reset_index(names="person")


def renamed_in_the_file(pd, path):
    frame = pd.read_csv(path, names=["x", "pay"], header=0)
    frame["person"] = np.arange(60)
    return frame


def dropped_from_the_index(pd, path):
    frame = pd.read_csv(path, index_col="person").reset_index(drop=True)
    frame["person"] = np.arange(60)
    return frame


@pytest.mark.parametrize(
    "forged",
    [
        written_over,
        under_another_name,
        left_in_the_file,
        numbered_rows,
        renamed_in_the_file,
        dropped_from_the_index,
    ],
)
def test_two_people_of_a_file_are_not_sixty(desk, tmp_path, forged):
    pay = np.random.default_rng(0).gamma(3, 1000, 60).round()
    plain.DataFrame({"person": [0] * 30 + [1] * 30, "pay": pay}).to_csv(tmp_path / "few.csv", index=False)
    forged(desk.pandas, tmp_path / "few.csv").pay.mean()
    assert desk.last.record.checks["unit"]["verdict"] == "review"


def test_units_that_are_the_index_of_a_file_are_known(desk, tmp_path):
    pay = np.random.default_rng(0).gamma(3, 1000, 60).round()
    plain.DataFrame({"person": np.arange(60), "pay": pay}).to_csv(tmp_path / "p.csv", index=False)
    desk.pandas.read_csv(tmp_path / "p.csv", index_col="person").reset_index().pay.mean()
    assert desk.last.status == "pass"
