"""Columns that are left out: what hangs on them still works, and the notes say what was done."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from dalenius import Candidate, Schema, Table
from dalenius.cli import app
from dalenius.core.errors import OptionError
from dalenius.data import read
from dalenius.synth import METHODS
from dalenius.synth.syndiffix import BucketStore, SynDiffix
from dalenius.synth.syndiffix.tables import TableSet

SALT = "a salt for tests"


def nested() -> Table:
    """Districts within regions, and somebody's number."""
    rng = np.random.default_rng(1)
    district = rng.integers(0, 6, 300)
    data = {
        "region": [f"r{d // 2}" for d in district],
        "district": [f"d{d}" for d in district],
        "sex": rng.choice(["f", "m"], 300).tolist(),
        "who": [f"p{i}" for i in range(300)],
    }
    schema = Schema.infer(data).with_roles(identifier="who")
    column = replace(schema["district"], parent="region")
    return Table.from_frame(data, schema.replace_columns(column))


@pytest.mark.parametrize("method", [m for m in METHODS if not METHODS[m].info.masks])
def test_a_column_outlives_its_parent(method):
    options = dict(METHODS[method].info.example_options)
    if method == "syndiffix":
        options["salt"] = SALT
    made = Candidate(method, options, columns=("district", "sex")).make(nested(), seed=1)
    assert made.table.names == ["district", "sex"]
    assert made.table.rows > 200
    assert made.table.schema["district"].parent is None
    assert any("'district'" in note and "left out" in note for note in made.notes)


def test_stores_and_sets_of_tables_outlive_a_parent():
    table = nested()
    made = TableSet.build(table, [("district", "sex"), ("district",)], salt=SALT, seed=1)
    assert made.get(["district"]).rows > 200
    store = BucketStore.build(table, width=2, salt=SALT)
    assert store.model(["district", "sex"]).sample(50, seed=1).names == ["district", "sex"]
    assert SynDiffix(salt=SALT).fit(table.drop(["region"])).sample(50, seed=1).rows == 50


def test_the_command_line_says_what_was_left_out(tmp_path):
    table = nested()
    table.to_frame("polars").write_csv(tmp_path / "people.csv")
    table.schema.to_yaml(tmp_path / "schema.yaml")
    call = ["synth", str(tmp_path / "people.csv"), "--schema", str(tmp_path / "schema.yaml"), "--columns"]
    result = CliRunner().invoke(app, [*call, "district,sex", "-o", str(tmp_path / "out.csv")])
    assert result.exit_code == 0, result.output
    assert "drawn without the column it lies within" in result.stderr
    assert pl.read_csv(tmp_path / "out.csv").columns == ["district", "sex"]
    whole = Candidate("independent").make(read(tmp_path / "people.csv", table.schema), seed=1)
    assert "left out of the file: who" in whole.notes


def test_small_strata_are_told():
    rng = np.random.default_rng(2)
    region = np.repeat(["north", "south", "isle"], [300, 280, 20])
    table = Table.from_frame(
        {"region": region, "sex": rng.choice(["f", "m"], 600), "age": rng.integers(20, 60, 600)}
    )
    made = Candidate("cart", {"strata": ["region"]}).make(table, seed=1)
    assert "strata: 1 of 3 have fewer than 200 rows and are drawn from the model of all rows" in made.notes
    large = Candidate("cart", {"strata": ["sex"]}).make(table, seed=1)
    assert not [note for note in large.notes if note.startswith("strata")]


def test_columns_that_there_are_not_are_told_with_the_rest():
    wrong = Candidate("cart", {"minbucket": 0}, columns=("nose",), entity="chin")
    with pytest.raises(OptionError, match=r"cart: 2 faults: minbucket is 0.*no column 'nose', 'chin'"):
        wrong.make(nested())
