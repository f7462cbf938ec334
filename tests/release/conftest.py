"""A small survey with a plan of fast candidates, released once for all tests that only read."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from dalenius.cli import app
from dalenius.data import examples
from dalenius.release import read_plan, run_plan, write_pack
from dalenius.release.jobs import file_digest
from dalenius.release.pack import checksums, digest_of
from dalenius.release.signing import new_key

COLUMNS = ["region", "sex", "age", "marital", "income", "diagnosis", "health"]
PLAN = """\
title: "Survey <b>&"
input: people.csv
schema: schema.yaml
holdout_share: 0.2
seed: 3
scenarios:
  neighbour: {about: "somebody next door", keys: [sex, age, region], targets: [diagnosis, health]}
  employer: {keys: [sex, age], targets: [health], population_share: 0.01}
candidates:
  independent: {}
  saturated: {}
  cart: {minbucket: {each: [5, 50]}}
  loglinear: {}
measures: [replicated-uniques, disco, two-way-utility]
policy: ["repU <= original + 0 points", "DiSCO <= holdout + 40 points", "mean S_pMSE <= 60", "expected repU <= 50 %"]
replicates: 1
output: out
formats: [csv, parquet]
"""


def invoke(*words: str):
    """The command line in this process."""
    return CliRunner().invoke(app, list(words))


def make_plan(folder: Path, rows: int = 400, text: str = PLAN) -> Path:
    frame = examples.survey(rows, seed=2).select(COLUMNS)
    frame.write_csv(folder / "people.csv")
    schema = (
        examples.survey_schema()
        .select(COLUMNS)
        .with_roles(keys=["sex", "age", "region"], targets=["diagnosis"])
    )
    schema.to_yaml(folder / "schema.yaml")
    (folder / "plan.yaml").write_text(text)
    return folder / "plan.yaml"


@pytest.fixture(scope="session")
def key(tmp_path_factory) -> Path:
    """The steward's private key; the public one is beside it."""
    place = tmp_path_factory.mktemp("keys") / "steward.key"
    new_key(place)
    return place


@pytest.fixture(scope="session")
def released(tmp_path_factory, key):
    path = make_plan(tmp_path_factory.mktemp("release"))
    release = run_plan(read_plan(path), workers=1)
    write_pack(release, key=key)
    return release


@pytest.fixture
def pack(released, tmp_path) -> Path:
    """A copy of the signed pack with its plan, inputs and kept candidates, to be spoilt."""
    shutil.copytree(released.plan.output.parent, tmp_path / "case")
    return tmp_path / "case" / "out"


def forge(pack: Path, **facts: Any) -> None:
    """Rewrite the manifest of a spoilt pack, hashes and all, as somebody without the key can."""
    manifest = json.loads((pack / "manifest.json").read_text())
    files = [p for part in ("public", "internal") for p in (pack / part).rglob("*") if p.is_file()]
    manifest["files"] = {str(p.relative_to(pack)): file_digest(p) for p in files}
    manifest |= facts
    manifest["digest"] = digest_of(manifest)
    (pack / "manifest.json").write_text(json.dumps(manifest))


def forged(pack: Path, copy: Path, change: Callable[[Path], object]) -> Path:
    """A copy of a pack in which something was changed and every hash rewritten."""
    shutil.copytree(pack, copy)
    change(copy)
    (copy / "public" / "checksums.txt").write_text(checksums(copy / "public"))
    forge(copy)
    return copy
