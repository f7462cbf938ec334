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

from .conftest import PLAN, make_plan

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
