"""A recipe in a plan: everybody stays, it is judged again on all records, and the pack says masked."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import polars as pl
import pytest

from dalenius.data import examples
from dalenius.release import read_plan, run_plan, verify_pack, write_pack
from dalenius.release.jobs import job_path

from .test_killed import RUN, digests

COLUMNS = ["region", "sex", "age", "marital", "education", "diagnosis"]
PLAN = """
input: people.csv
scenarios: {neighbour: {keys: [region, sex, age, marital], targets: [diagnosis]}}
candidates:
  decades:
    method: recipe
    keys: [region, sex, age, marital]
    steps:
      - {do: recode, column: age, width: 20}
      - {do: recode, column: marital, groups: {widowed: alone, divorced: alone, single: alone}}
      - {do: generalise, keys: [region, sex, age, marital], k: 3, limit: 0.2}
  independent: {}
measures: [replicated-uniques, disco, two-way-utility, identical-matches]
policy: [repU <= 1 %, k >= 3]
choose: two-way-utility
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("masked")
    examples.survey(400, seed=3).select(COLUMNS).write_csv(where / "people.csv")
    (where / "plan.yaml").write_text(PLAN)
    return where


def test_everybody_stays_and_the_pack_says_masked(folder: Path) -> None:
    release = run_plan(read_plan(folder / "plan.yaml"), workers=1)
    judged = {j.candidate.name: j for j in release.judged}
    assert judged["decades"].safe
    assert {f.scenario for f in judged["decades"].findings} == {"neighbour", "neighbour, all records"}
    assert release.chosen is judged["decades"]
    assert not judged["decades"].made_up
    pack = write_pack(release)
    (data,) = (pack / "public").glob("*.csv")
    assert data.name == "people.masked.csv"
    assert pl.read_csv(data).height == 400, "nobody is lost to the holdout"
    public = (pack / "public" / "report.html").read_text()
    assert "real people" in public
    assert "recode of age" in public
    assert "cells of" not in public, "counts of what was changed stay inside"
    assert "not real people" not in (pack / "public" / "limits.md").read_text()
    inside = (pack / "internal" / "report.html").read_text()
    assert "expected re-identifications" in inside
    found = verify_pack(pack)
    assert found.accepted, found.faults


def test_the_lens_stays_inside(folder: Path) -> None:
    plan = read_plan(folder / "plan.yaml")
    release = run_plan(plan, workers=1)
    assert job_path(release.work, plan.candidates[0], 0).with_suffix(".lens").is_file()
    names = {path.name for path in plan.output.rglob("*")}
    assert not [name for name in names if "lens" in name]
    text = json.dumps(json.loads((plan.output / "internal" / "results.json").read_text()))
    assert "links" not in text


@pytest.mark.slow
def test_kills_change_nothing(tmp_path: Path, folder: Path) -> None:
    """A real process is killed at random moments and started again; the pack is the same to the byte."""
    kills, draw = int(os.environ.get("DALENIUS_KILLS", "2")), random.Random(3)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for place in (whole, killed):
        place.mkdir()
        for name in ("people.csv", "plan.yaml"):
            shutil.copyfile(folder / name, place / name)
    command = [*RUN, "release", "plan.yaml", "-q", "--workers", "1"]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1760000000"}
    subprocess.run(command, cwd=whole, env=environment, check=True)
    done = 0
    while done < kills:
        process = subprocess.Popen(command, cwd=killed, env=environment)
        time.sleep(draw.uniform(0.5, 5))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            done += 1
        elif process.returncode == 0:
            shutil.rmtree(killed / ".release-work")
            shutil.rmtree(killed / "release")
        process.wait()
    subprocess.run(command, cwd=killed, env=environment, check=True)
    assert digests(killed / "release") == digests(whole / "release")


def test_coarse_recoding_is_not_the_most_useful_by_default(tmp_path: Path) -> None:
    """Through the lens a recoded file has no fault; in the original's detail a good synthesizer is nearer."""
    examples.survey(400, seed=3).select("sex", "age", "education").write_csv(tmp_path / "people.csv")
    plan = """
input: people.csv
scenarios: {neighbour: {keys: [sex, age], targets: [education]}}
candidates:
  coarse: {method: recipe, steps: [{do: recode, column: age, width: 80}, {do: drop-column, column: education}]}
  cart: {}
measures: [two-way-utility]
policy: [mean S_pMSE <= 1000000]
"""
    for place, (more, wanted) in enumerate((("", "cart"), ("choose: two-way-utility\n", "coarse"))):
        (tmp_path / "plan.yaml").write_text(f"{plan}{more}output: out{place}\n")
        release = run_plan(read_plan(tmp_path / "plan.yaml"), workers=1)
        assert release.chosen is not None, release.why
        assert release.chosen.candidate.name == wanted, release.why
    assert "The mask took away" in release.why
