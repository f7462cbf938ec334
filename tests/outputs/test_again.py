"""What comes a second time in another dress: models under new names, curves with other events, gaps in files."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.outputs import Desk
from dalenius.outputs.folder import check_folder


@pytest.fixture
def desk(tmp_path):
    return Desk(unit="person", memory=tmp_path / "memory")


def people(desk):
    rng = np.random.default_rng(5)
    return desk.pandas.DataFrame(
        {
            "pay": rng.normal(3000, 400, 300),
            "age": rng.integers(18, 66, 300).astype(float),
            "size": rng.normal(0, 1, 300),
            "bmi": rng.normal(25, 3, 300),
            "person": np.arange(300),
        }
    )


def test_a_model_under_new_names_with_further_columns(desk):
    frame = people(desk)
    desk.smf.ols("pay ~ age", frame).fit()
    assert desk.last.status == "pass"
    other = frame[frame.person != 7].rename(columns={"pay": "y", "age": "x", "size": "z"})
    desk.smf.ols("y ~ x + z", other).fit()
    assert desk.last.status == "review"
    assert "it is an earlier output" in desk.last.summary
    other["y"].mean()
    assert desk.last.status != "pass"
    desk.smf.ols("bmi ~ z", other).fit()  # another outcome, a few people less
    assert desk.last.status == "pass", desk.last.summary
    whole = frame.rename(columns={"pay": "y", "age": "x", "size": "z"})
    for uid in ("output_1", "output_2", "output_3"):
        desk.remove(uid)
    desk.smf.ols("y ~ x + z", whole).fit()  # the same people
    assert desk.last.status == "pass", desk.last.summary


def test_events_that_changed_between_two_curves(desk):
    rng = np.random.default_rng(2)
    frame = desk.pandas.DataFrame(
        {
            "time": np.repeat([1.0, 2, 3, 4], 50),
            "event": rng.integers(0, 2, 200).astype(float),
            "person": range(200),
        }
    )
    desk.survival(frame.time, frame.event)
    assert desk.last.status == "pass", desk.last.summary
    desk.survival(frame.time, frame.event)
    assert desk.last.status == "pass", desk.last.summary
    flipped = frame.assign(event=np.where(frame.person == 7, 1 - frame.event, frame.event))
    desk.survival(flipped.time, flipped.event)
    assert desk.last.status == "fail"
    assert "differencing" in desk.last.summary


def test_few_events_in_a_step_are_no_difference(desk):
    event = np.zeros(200)
    event[::25] = 1.0
    frame = desk.pandas.DataFrame(
        {"time": np.repeat([1.0, 2, 3, 4], 50), "event": event, "person": range(200)}
    )
    frame["time"].value_counts()
    desk.survival(frame.time, frame.event)
    assert desk.last.status == "pass", desk.last.summary


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("region,f,m,Total\nN,,,60\nS,,25,40\nTotal,45,55,100\n", "3 missing cells follow"),
        ("Gebiet,f,m,Insgesamt\nN,30,,60\nS,25,35,60\n", "1 missing cell follows"),
        (
            "region,sex,n\nN,f,31\nN,m,\nN,both sexes,60\nS,f,25\nS,m,35\nS,both sexes,60\n",
            "1 missing cell follows",
        ),
        ("region,f,m,Total\nN,,,60\nS,,,40\nTotal,45,55,100\n", ""),
        ("region,f,m\nN,,40\nS,25,35\n", ""),
    ],
)
def test_missing_cells_that_follow_through_several_rows(tmp_path, text, told):
    (tmp_path / "t.csv").write_text(text)
    found = check_folder(tmp_path)[0]
    assert (found.status == "fail") == bool(told), found.seen
    assert any(told in seen for seen in found.seen) if told else not any("follow" in s for s in found.seen)


@pytest.mark.parametrize(
    ("text", "status", "said"),
    [
        ("town,n,pct\nA,60,95.2\nB,3,4.8\n", "fail", "1 count below 10"),
        ("town,n,mean\nA,20,3000.5\nB,1,1234.5\n", "fail", "1 count below 10"),
        ("town,n\nA, 3 \nB,30\n", "fail", "1 count below 10"),
        ('town,n\nA,"3*"\nB,30\n', "fail", "1 count below 10"),
        ('town,n\nA,"3,0"\nB,"30,0"\n', "fail", "1 count below 10"),
        ('town,n\nA,"1,204"\nB,30\n', "review", ""),
        ("term,coef,df\nx,0.25,3\ny,1.5,3\n", "review", "figures that are no counts"),
        ("town,said\nA,many\nB,few\n", "review", "no figures that can be read"),
    ],
)
def test_counts_in_files_however_they_are_written(tmp_path, text, status, said):
    (tmp_path / "t.csv").write_text(text)
    found = check_folder(tmp_path)[0]
    assert found.status == status
    assert said in "; ".join(found.seen)
