"""Runs that break: counts that were finished are used again, nothing is half-written, and the place is named."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import dalenius
from dalenius.cli import app
from dalenius.core.errors import DataError, FileError
from dalenius.counts import batches, count, kept
from dalenius.counts.batches import open_stream
from dalenius.counts.kept import KeptCounts
from dalenius.evaluation import evaluate_files

TABLES = [("sex", "age"), ("region",), ("day", "smoker")]


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    made = []
    for seed in (1, 2):
        people = dalenius.examples.survey(400, seed=seed).select("sex", "region", "age", "smoker")
        path = tmp_path / f"{seed}.parquet"
        dalenius.write(people.with_columns(day=dalenius_days(len(people))), path)
        made.append(path)
    return made[0], made[1]


def dalenius_days(rows):
    import datetime as dt

    import polars as pl

    days = [None if i % 9 == 0 else dt.date(2020, 1, 1 + i % 20) for i in range(rows)]
    return pl.Series("day", days)


def test_counts_are_used_again_while_the_file_is_the_same(files, tmp_path, monkeypatch):
    folder = tmp_path / "kept"
    first = KeptCounts(folder).count(open_stream(files[0]), TABLES)
    assert oct(folder.stat().st_mode & 0o777) == "0o700"
    monkeypatch.setattr(kept, "count_stream", lambda *_, **__: pytest.fail("counted again"))
    again = KeptCounts(folder)
    second = again.count(open_stream(files[0]), TABLES)
    assert again.reused == 1
    assert all(second[table].same_as(first[table]) for table in TABLES)
    assert [list(map(type, each)) for each in second["day", "smoker"].labels] == [
        list(map(type, each)) for each in first["day", "smoker"].labels
    ]
    monkeypatch.undo()
    dalenius.write(dalenius.read(files[1]), files[0])  # the same name, another content
    assert not KeptCounts(folder).count(open_stream(files[0]), TABLES)[TABLES[0]].same_as(first[TABLES[0]])
    for place in folder.iterdir():
        place.write_bytes(place.read_bytes()[:50])
    assert KeptCounts(folder).count(open_stream(files[1]), TABLES)  # damaged: counted again


KILLED = """
import os, signal, sys
from dalenius.counts import kept
from dalenius.evaluation import evaluate_files
whole, times = kept.count_stream, []
def count(*args, **how):
    times.append(1)
    if len(times) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return whole(*args, **how)
kept.count_stream = count
evaluate_files(sys.argv[1], sys.argv[2], measures=["two-way-utility"], keep=sys.argv[3])
"""


def test_a_killed_run_keeps_what_it_finished(files, tmp_path):
    folder = tmp_path / "kept"
    done = subprocess.run(
        [sys.executable, "-c", KILLED, *map(str, files), str(folder)], check=False, capture_output=True
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()[-500:]
    assert len(list(folder.glob("*.counts"))) == 1
    found = evaluate_files(*files, measures=["two-way-utility"], keep=folder)
    assert found.pair.kept.reused == 1
    assert (
        found["two-way-utility"].value
        == evaluate_files(*files, measures=["two-way-utility"])["two-way-utility"].value
    )


def test_the_command_keeps_counts(files, tmp_path):
    line = [
        "evaluate",
        *map(str, files),
        "--stream",
        "--measures",
        "two-way-utility",
        "--keep",
        str(tmp_path / "k"),
    ]
    said = CliRunner().invoke(app, line)
    assert said.exit_code == 0, said.output
    assert len(list((tmp_path / "k").glob("*.counts"))) == 2


def test_a_short_line_far_down_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(batches, "BLOCK", 1 << 12)
    path = tmp_path / "p.csv"
    lines = [f"{i % 3},{i % 7},secret{i % 5}" for i in range(20_000)]
    lines[15_000] = "1,secret"
    path.write_text("a,b,c\n" + "\n".join(lines) + "\n")
    with pytest.raises(FileError, match=r"p\.csv: row 15,002 \(the heading is row 1\)") as caught:
        count(path, ["a", "b"])
    assert "secret" not in str(caught.value)


LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[3]), int(sys.argv[3])))
from dalenius.core.errors import DaleniusError
try:
    exec(sys.argv[4])
except DaleniusError as error:
    print(type(error).__name__, error)
"""


def limited(tmp_path, files, size, code):
    """Run with files that may not grow beyond a size, as on a disk that is full."""
    line = [sys.executable, "-c", LIMITED, str(files[0]), str(tmp_path / "out.parquet"), str(size), code]
    done = subprocess.run(
        line, check=False, capture_output=True, text=True, env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    assert done.returncode == 0, done.stderr[-500:]
    return done.stdout


def test_a_full_disk_leaves_no_output(files, tmp_path):
    code = (
        "from dalenius.synth.streaming import synthesize_file\n"
        "synthesize_file(sys.argv[1], sys.argv[2], 'independent', rows=200_000)"
    )
    said = limited(tmp_path, files, 20_000, code)
    assert "FileError" in said
    assert "out.parquet: cannot write" in said
    assert not (tmp_path / "out.parquet").exists()
    assert not list(tmp_path.glob(".dalenius*"))


@pytest.mark.slow
def test_a_full_disk_while_spilling_is_told(files, tmp_path):
    import polars as pl

    rows = 3_000_000
    many = pl.DataFrame({"a": pl.int_range(rows, eager=True), "b": pl.int_range(rows, eager=True) * 7 % rows})
    many.write_parquet(tmp_path / "many.parquet")
    code = "from dalenius.counts import count\ncount(sys.argv[1], ['a', 'b'], memory_limit='60MB')"
    said = limited(tmp_path, (tmp_path / "many.parquet",), 1_000_000, code)
    assert "DataError" in said
    assert "disk is full" in said or "more memory than the limit" in said


def test_io_errors_of_duckdb_name_the_disk(monkeypatch):
    import duckdb

    from dalenius.counts.sources import DuckSource

    source = DuckSource(None, "p.parquet")
    with pytest.raises(DataError, match="disk is full"), source._safely():
        raise duckdb.IOException("could not write secret")
