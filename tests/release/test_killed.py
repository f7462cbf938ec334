"""Runs that are killed, and two runs at once."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from dalenius.core.errors import DaleniusError
from dalenius.release import read_plan, run_plan, verify_pack
from dalenius.release.jobs import file_digest
from tests import LONG

from .conftest import PLAN, make_plan

BUSY = "dalenius: this plan is being run by another process; wait for it, or stop it\n"
RUN = [sys.executable, "-c", "from dalenius.cli import app; app()"]


def test_two_runs_at_once_are_refused(tmp_path):
    import fcntl

    from dalenius.release.run import work_folder

    plan = read_plan(make_plan(tmp_path, 100))
    work = work_folder(plan)
    work.mkdir(parents=True)
    with (work / "lock").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        with pytest.raises(DaleniusError, match="another process"):
            run_plan(plan, workers=1)


@pytest.mark.slow
@pytest.mark.parametrize(("rounds", "many"), [(1, 2), (50 if LONG else 2, 3)])
def test_runs_at_once_leave_one_pack_and_it_is_whole(tmp_path, rounds, many, key):
    """Real processes that start together: each one writes the whole pack, or is refused in one line."""
    make_plan(
        tmp_path,
        150,
        PLAN.replace("  saturated: {}\n  cart: {minbucket: {each: [5, 50]}}\n  loglinear: {}\n", ""),
    )
    command = [*RUN, "release", "plan.yaml", "-q", "--workers", "1", "--key", str(key)]
    for _ in range(rounds):
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        started = [
            subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) for _ in range(many)
        ]
        ended = [(p.communicate()[1], p.returncode) for p in started]
        assert any(code == 0 for _, code in ended)
        for said, code in ended:
            assert code == 0 or (code == 2 and said == BUSY), said
        assert verify_pack(tmp_path / "out", public_key=key.with_suffix(".pub")).accepted
        left = sorted(p.name for p in tmp_path.iterdir())
        assert left == [".out-work", "out", "people.csv", "plan.yaml", "schema.yaml"]


def digests(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): file_digest(p) for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.slow
@pytest.mark.parametrize("workers", ["1", "2"])
def test_twenty_kills_change_nothing(tmp_path, workers):
    """A real process is killed at random moments and started again; the pack is the same to the byte."""
    kills = int(os.environ.get("DALENIUS_KILLS", "3"))
    draw = random.Random(8)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
        make_plan(folder, 300, PLAN.replace("replicates: 1", "replicates: 2"))
    command = [*RUN, "release", "plan.yaml", "-q", "--workers"]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1760000000"}
    subprocess.run([*command, "1"], cwd=whole, env=environment, check=True)
    done = 0
    while done < kills:
        process = subprocess.Popen([*command, workers], cwd=killed, env=environment)
        time.sleep(draw.uniform(0.5, 6))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            done += 1
        elif process.returncode == 0:  # finished: start over, so that every kill hits a run
            shutil.rmtree(killed / ".out-work")
            shutil.rmtree(killed / "out")
        process.wait()
    subprocess.run([*command, workers], cwd=killed, env=environment, check=True)
    assert digests(killed / "out") == digests(whole / "out")
    assert verify_pack(killed / "out").accepted
