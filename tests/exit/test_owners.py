"""A column that said whose rows they are stays behind when another is named in its place, through every door."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import dalenius
from dalenius.cli import app
from dalenius.data import Schema, Table
from dalenius.synth import Candidate


def homes() -> pl.DataFrame:
    """Forty homes of three people with two rows each: every number of a home is held by three people."""
    rng = np.random.default_rng(4)
    rows = 240
    return pl.DataFrame({
        "pid": [f"P{i // 2:03}" for i in range(rows)],
        "hid": [f"H{i // 6:03}" for i in range(rows)],
        "sex": rng.choice(["f", "m"], rows),
        "age": rng.integers(18, 80, rows),
    })  # fmt: skip


def schema_of(**roles: str | list[str]) -> Schema:
    return Schema.infer(homes()).with_roles(entity=[], household=[], identifier=[]).with_roles(**roles)


@pytest.fixture
def files(tmp_path):
    homes().write_csv(tmp_path / "homes.csv")
    schema_of(entity="hid").to_yaml(tmp_path / "h.yaml")
    schema_of(entity="pid", household="hid").to_yaml(tmp_path / "b.yaml")
    return tmp_path


@pytest.mark.parametrize(("schema", "entity"), [("h.yaml", "pid"), ("b.yaml", "hid")])
@pytest.mark.parametrize("method", ["cart", "pram"])
def test_on_the_command_line(files, schema, entity, method):
    out = files / "out.csv"
    words = [
        "synth",
        files / "homes.csv",
        "--schema",
        files / schema,
        "--entity",
        entity,
        "-m",
        method,
        "-o",
        out,
    ]
    words += ["--option", "variables=sex"] if method == "pram" else []
    done = CliRunner().invoke(app, [*map(str, words)])
    assert done.exit_code == 0, done.output
    assert pl.read_csv(out).columns == ["sex", "age"]


def test_in_a_bucket_store(files):
    store, out = files / "s.zip", files / "out.csv"
    words = [
        "syndiffix",
        "build",
        files / "homes.csv",
        "--schema",
        files / "h.yaml",
        "--entity",
        "pid",
        "-o",
        store,
    ]
    assert CliRunner().invoke(app, [*map(str, words)]).exit_code == 0
    assert CliRunner().invoke(app, ["syndiffix", "draw", str(store), "-o", str(out)]).exit_code == 0
    assert set(pl.read_csv(out).columns) == {"sex", "age"}


def test_in_python_and_in_a_plan():
    schema = schema_of(entity="hid")
    assert dalenius.synthesize(homes(), "independent", schema=schema, entity="pid").columns == ["sex", "age"]
    (planned,) = Candidate.from_mapping(
        {"method": "bootstrap", "entity": "pid", "columns": ["hid", "sex"]}, "c"
    )
    assert planned.make(Table.from_frame(homes(), schema)).table.names == ["sex"]


def test_a_role_that_is_taken_back_leaves_no_mark():
    assert schema_of(entity="hid").with_roles(entity=[])["hid"].roles == ()
    assert schema_of(entity="hid", household="pid").with_roles(entity="pid")["pid"].roles == (
        "household",
        "entity",
    )
    assert schema_of(entity="pid", household="hid").with_roles(household="pid")["hid"].roles == (
        "identifier",
    )
