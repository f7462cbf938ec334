"""Ways round a check that look like everyday work: weights, scaling, declared limits, a lax policy, edited folders."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pandas as plain
import pytest
from typer.testing import CliRunner

from dalenius.cli import app
from dalenius.core.errors import DataError, FileError
from dalenius.outputs import Desk
from dalenius.outputs.pack import read_pack, verify_outputs


@pytest.fixture
def desk(tmp_path):
    return Desk(unit="person", memory=tmp_path / "memory")


def people(desk, n=600):
    rng = np.random.default_rng(1)
    return desk.pandas.DataFrame({
        "person": np.arange(n), "sex": rng.choice(["f", "m"], n), "pay": rng.gamma(3, 1000, n).round(),
        "ill": rng.choice(["y", "n"], n, p=[0.2, 0.8]), "region": rng.choice(["N", "S", "E", "W"], n),
    })  # fmt: skip


@pytest.mark.parametrize("formula", ["pay ~ 1", "pay ~ C(sex)"])
def test_a_saturated_model_with_weights_on_one_person(desk, formula):
    frame = people(desk)
    desk.smf.wls(formula, frame, weights=np.linspace(1, 2, 600)).fit()
    assert desk.last.status == "review"
    desk.smf.wls(formula, frame, weights=np.where(frame.person == 5, 1e9, 1.0)).fit()
    assert desk.last.record.checks["weights"]["verdict"] == "fail"


@pytest.mark.parametrize("formula", ["pay ~ 1", "pay ~ C(sex)"])
def test_a_saturated_quantile_regression_is_a_quantile(desk, formula):
    frame = people(desk)
    desk.smf.quantreg(formula, frame).fit(q=0.5)
    assert desk.last.status == "review", desk.last.summary
    desk.smf.quantreg(formula, frame).fit(q=0.999)
    assert desk.last.record.checks["tail_count"]["verdict"] == "fail"


def by_largest(pay):
    return pay / pay.max()


def by_smallest(pay):
    return pay - pay.min()


def by_range(pay):
    return (pay - pay.min()) / (pay.max() - pay.min())


def turned(pay):
    return pay.max() - pay


@pytest.mark.parametrize("scaled", [by_largest, by_smallest, by_range, turned])
@pytest.mark.parametrize("order", [1, -1])
def test_a_column_divided_or_moved_by_its_end(desk, scaled, order):
    frame = people(desk)
    frame["scaled"] = scaled(plain.Series(frame.pay))
    for name in ["pay", "scaled"][::order]:
        desk.table(frame, "sex", name, "mean")
    assert [out.status for out in desk.outputs] == ["pass", "fail"]
    assert "divided or moved" in desk.last.record.conflicts[0]


def test_a_column_in_other_units_is_no_secret(desk):
    frame = people(desk)
    frame["thousands"], frame["yearly"] = frame.pay / 1000, frame.pay * 12
    frame["moved"] = (frame.pay + 2980) / 1700
    for name in ("pay", "thousands", "yearly", "moved"):
        assert desk.table(frame, "sex", name, "mean").status == "pass"


def test_declared_limits_are_told(desk, tmp_path):
    frame = people(desk)
    top = plain.DataFrame(frame).groupby("sex").pay.max().tolist()
    out = desk.table(frame, "sex", "pay", "max", structural_limits=top)
    assert out.status == "review"  # whether everybody knows them, nobody can tell by the data
    assert "everybody knows" in out.record.checks["endpoints"]["sentence"]
    assert desk.table(frame, "sex", "pay", "max", structural_limits=top[:1]).status == "fail"
    desk.remove(desk.last.record.uid)
    assert "said to be known to everybody" in out.record.notes[-1]
    out.exception("the scale ends there")
    desk.finalise(tmp_path / "out")
    assert "said to be known to everybody" in (tmp_path / "out/checklist.md").read_text()
    assert any('"limits"' in line for line in desk.trail.lines)


def test_a_lax_policy_is_told_wherever_outputs_are(tmp_path):
    desk = Desk({"threshold": 1, "endpoints": False}, unit="person", memory=tmp_path / "memory")
    people(desk).sex.value_counts()
    desk.finalise(tmp_path / "out")
    words = "weaker than the usual one in 'threshold', 'endpoints'"
    assert words in read_pack(tmp_path / "out").warning
    assert words in (tmp_path / "out/checklist.md").read_text()
    assert any('"weaker"' in line for line in desk.trail.lines)
    for command in ("list", "verify"):
        told = CliRunner().invoke(app, ["outputs", command, str(tmp_path / "out")])
        assert words in " ".join(told.output.split())
    strict = Desk({"threshold": 20}, unit="person", memory=tmp_path / "strict")
    people(strict).sex.value_counts()
    strict.finalise(tmp_path / "strictly")
    assert read_pack(tmp_path / "strictly").warning == ""


def test_that_the_last_step_ends_at_the_longest_time_is_told(desk):
    frame = people(desk)
    out = desk.survival(frame.pay, frame.ill == "y", unit=frame.person, fix="merge_steps")
    assert out.status == "pass", out.summary
    assert "ends at the longest time" in out.record.notes[-1]
    shared = Desk().survival(np.append(np.arange(20.0), [30.0] * 12), np.ones(32), fix="merge_steps")
    assert not any("longest" in note for note in shared.record.notes)


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (
            lambda p: (p / "checksums/records.json.txt").write_text("00"),
            "checksums/records.json.txt was changed",
        ),
        (lambda p: (p / "checksums/records.json.txt").unlink(), "checksums/records.json.txt is missing"),
        (lambda p: (p / "pay_9507").mkdir(), "pay_9507 is an empty folder"),
        (lambda p: linked(p / "output_0_0.csv"), "output_0_0.csv is a link, not a file"),
    ],
)
def test_what_verify_finds_besides(desk, tmp_path, harm, told):
    people(desk).sex.value_counts()
    desk.finalise(tmp_path / "out")
    assert verify_outputs(tmp_path / "out") == []
    harm(tmp_path / "out")
    assert verify_outputs(tmp_path / "out") == [told]


def linked(path):
    shutil.move(path, path.parent.parent / "away.csv")
    path.symlink_to(path.parent.parent / "away.csv")


def test_errors_that_came_raw(desk, tmp_path):
    frame = people(desk)
    with pytest.raises(DataError, match="weights are numbers of 0 or more"):
        desk.smf.wls("pay ~ 1", frame, weights=np.linspace(-1, 1, 600))
    (tmp_path / "file").write_text(json.dumps({}))
    with pytest.raises(FileError, match="this is a file"):
        Desk(memory=tmp_path / "file")
