"""SynDiffix on the command line: one table, and a bucket store that is built once and drawn from later."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from dalenius.cli import app
from dalenius.synth.syndiffix.salt import SALT_FILE

runner = CliRunner()


def run(*words: object, code: int = 0) -> str:
    result = runner.invoke(app, [str(word) for word in words])
    assert result.exit_code == code, result.output + str(result.exception)
    return result.output


@pytest.fixture
def events(tmp_path, monkeypatch):
    """400 people with two rows each, and one with 900; a salt of its own."""
    monkeypatch.setenv(SALT_FILE, str(tmp_path / "salt"))
    rng = np.random.default_rng(1)
    pid = np.concatenate([np.repeat(np.arange(1, 401), 2), np.zeros(900, int)])
    a = rng.integers(0, 6, len(pid))
    a[pid == 0] = 9
    frame = pl.DataFrame(
        {
            "who": [f"p{i:03d}" for i in pid],
            "a": a,
            "b": a // 2 + rng.integers(0, 2, len(pid)),
            "c": rng.choice(["u", "v", "w"], len(pid)),
            "y": np.where(a > 2, "high", "low"),
        }
    )
    path = tmp_path / "events.csv"
    frame.write_csv(path)
    return path


def test_synth_takes_columns_target_and_entity(events, tmp_path):
    out = tmp_path / "out.csv"
    told = run(
        "synth",
        events,
        "-m",
        "syndiffix",
        "--columns",
        "a,b,y",
        "--option",
        "syndiffix.target=y",
        "--entity",
        "who",
        "-o",
        out,
    )
    made = pl.read_csv(out)
    assert made.columns == ["a", "b", "y"]
    assert 9 not in set(made["a"]), "900 rows of one person are one person"
    assert "together" in told
    plain = tmp_path / "plain.csv"
    run("synth", events, "-m", "syndiffix", "--columns", "a,b,y", "-o", plain)
    assert 9 in set(pl.read_csv(plain)["a"]), "without --entity every row is somebody"


def test_unknown_columns_and_unfit_options_are_told(events, tmp_path):
    assert "nope" in run("synth", events, "-m", "syndiffix", "--entity", "nope", code=2)
    assert "nope" in run("synth", events, "-m", "syndiffix", "--option", "target=nope", code=2)
    assert "target" in run("synth", events, "-m", "bootstrap", "--option", "bootstrap.target=y", code=2)
    assert not list(tmp_path.glob("*.synthetic.csv"))


def test_a_store_is_built_listed_and_drawn_from(events, tmp_path):
    store, out = tmp_path / "events.buckets", tmp_path / "drawn.csv"
    told = run("syndiffix", "build", events, "-o", store, "--width", 2, "--also", "a,b,y", "--entity", "who")
    assert "11 bucket sets over 4 columns" in " ".join(told.split()), "lines break where the path is long"
    listed = run("syndiffix", "contents", store).split("\n")
    assert "a, b, y" in listed
    assert "who" not in "".join(listed)
    run("syndiffix", "draw", store, "--columns", "a,y", "-n", 50, "-o", out, "--seed", 3)
    made = pl.read_csv(out)
    assert made.shape == (50, 2)
    assert 9 not in set(made["a"])
    again = tmp_path / "again.csv"
    run("syndiffix", "draw", store, "--columns", "a,y", "-n", 50, "-o", again, "--seed", 3)
    assert again.read_bytes() == out.read_bytes()
    everything = tmp_path / "all.csv"
    run("syndiffix", "draw", store, "-o", everything)
    assert pl.read_csv(everything).columns == ["a", "b", "c", "y"]


def test_what_is_no_store_is_refused(events, tmp_path):
    assert "damaged" in run("syndiffix", "contents", events, code=2)
    store = tmp_path / "s.buckets"
    run("syndiffix", "build", events, "-o", store, "--width", 1)
    assert "'nope'" in run("syndiffix", "draw", store, "--columns", "nope", "-o", tmp_path / "x.csv", code=2)


def test_no_rows_are_told_as_asked(events, tmp_path):
    out = tmp_path / "made.csv"
    call = ("synth", events, "-m", "independent", "-o", out, "--json", "--quiet")
    told = json.loads(run(*call, "--rows", 0, "--seed", 7))
    assert told["rows"] == 0
    assert pl.read_csv(out).height == 0
