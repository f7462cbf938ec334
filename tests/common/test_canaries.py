"""Planted records come out of no method, in no form; a method registered later is searched without a new test."""

from __future__ import annotations

import dataclasses
import json
import logging
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import dalenius  # noqa: F401 (registers everything)
from dalenius.cli import app
from dalenius.core.errors import DataError
from dalenius.data import Table
from dalenius.release import read_plan, run_plan, write_pack
from dalenius.synth import METHODS, Method
from dalenius.synth.base import make_method
from dalenius.synth.independent import Independent, IndependentModel
from dalenius.synth.syndiffix import BucketStore, TableSet, plan_tables
from tests.exit.canaries import (
    DOMAIN,
    FRAMES,
    INDEX,
    TEXT,
    as_table,
    canary_frame,
    canary_schema,
    outputs_of,
    sightings,
)

NAMES = [name for name in METHODS if not METHODS[name].info.masks]
COPIED = {"number", "day", "moment"}
"""What a method that copies rows gives out by its nature; it is marked, and never offered for release."""


def made(name: str, declared: bool = False) -> Method:
    """A method with the options of its example; with a budget, up to three records of a firm are covered."""
    kind = METHODS[name]
    given = {} if declared else dict(kind.info.example_options)
    known = {option.name for option in dataclasses.fields(kind)} if dataclasses.is_dataclass(kind) else set()
    if "salt" in known:
        given["salt"] = "a secret of mine"
    method = make_method(name, **given)
    if not method.private:
        return method
    if (
        "epsilon" in known
    ):  # so large that noise alone does not make the number of rows look like the large firm's
        given["epsilon"] = 8.0
    return make_method(name, **given, contribution=3)


@pytest.mark.parametrize("name", NAMES)
def test_no_canary_in_anything_a_method_gives_out(name, tmp_path):
    synthesizer = made(name)
    seen = sightings(outputs_of(synthesizer, as_table("polars"), tmp_path))
    if synthesizer.info.copies_rows:
        assert {what for _, what in seen} == COPIED, "the search sees what a bootstrap copies"
        return
    assert seen == set()


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("name", NAMES)
def test_no_canary_in_any_type_of_frame(name, kind, tmp_path):
    synthesizer = made(name)
    seen = sightings(outputs_of(synthesizer, as_table(kind), tmp_path, files=False))
    assert {what for _, what in seen} <= (COPIED if synthesizer.info.copies_rows else set())


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("name", [name for name in NAMES if made(name).private])
def test_no_canary_in_any_type_of_frame_under_a_declared_domain(name, kind, tmp_path):
    outputs = outputs_of(made(name, True), as_table(kind, True), tmp_path, files=kind == "pandas")
    assert sightings(outputs) == set()


def test_no_canary_in_stores_and_families_of_tables(tmp_path):
    table = Table.from_frame(canary_frame(), canary_schema())
    store = BucketStore.build(table, width=2, salt="a secret of mine")
    store.save(tmp_path / "store")
    drawn = BucketStore.open(tmp_path / "store").draw(["area", "remark", "income", "born"], seed=1)
    outputs = {
        "model": (tmp_path / "store").read_bytes(),
        "table": drawn,
        "rows": drawn.rows,
        "repr": repr(store),
    }
    assert sightings(outputs) == set()
    names = ["area", "grade", "remark", "income"]
    tables = TableSet.build(table, plan_tables(names, width=2), salt="a secret of mine", seed=1)
    for made_table in tables.tables.values():
        assert (
            sightings({"table": made_table, "frame": made_table.to_frame(), "rows": made_table.rows}) == set()
        )


def test_no_canary_on_the_command_line(tmp_path):
    canary_frame().write_csv(tmp_path / "people.csv")
    canary_schema().to_yaml(tmp_path / "schema.yaml")
    words = ["synth", "people.csv", "-m", "cart", "--schema", "schema.yaml", "--seed", "1", "-o", "out.csv"]
    words = [str(tmp_path / w) if "." in w else w for w in words]
    done = CliRunner().invoke(app, [*words, "--save-model", str(tmp_path / "model")])
    assert done.exit_code == 0, done.output
    outputs = {"screen": done.output, "csv": (tmp_path / "out.csv").read_bytes()}
    assert sightings(outputs | {"model": (tmp_path / "model").read_bytes()}) == set()


PLAN = """\
input: people.csv
schema: schema.yaml
scenarios: {neighbour: {keys: [sex, area, grade], targets: [income]}}
candidates: {CANDIDATE: OPTIONS}
measures: [replicated-uniques, two-way-utility]
policy: ["repU <= 100 %"]
output: out
"""


def packed(name: str, folder: Path) -> dict[str, Any]:
    """The public files of a release made by one method."""
    canary_frame().write_csv(folder / "people.csv")
    private = made(name).private
    canary_schema(declared=private).to_yaml(folder / "schema.yaml")
    options: dict[str, Any] = {"salt": "a secret of mine"} if name == "syndiffix" else {}
    if private:
        options = {"contribution": 3, "columns": [column.name for column in DOMAIN]}
    (folder / "plan.yaml").write_text(PLAN.replace("CANDIDATE", name).replace("OPTIONS", json.dumps(options)))
    release = run_plan(read_plan(folder / "plan.yaml"), workers=1)
    write_pack(release)
    return {p.name: p.read_bytes() for p in (release.plan.output / "public").rglob("*") if p.is_file()}


@pytest.mark.parametrize("name", [name for name in NAMES if not METHODS[name].info.copies_rows])
def test_no_canary_in_the_public_pack_of_any_method(name, tmp_path):
    try:
        files = packed(name, tmp_path)
    except DataError as refused:  # only a method from elsewhere may put halves of real people together
        if METHODS[name].__module__.startswith("dalenius.") or "lead back to people" not in str(refused):
            raise
        files = {"refusal": str(refused).encode()}
    assert sightings(files) == set()


class LeakyModel(IndependentModel):
    """Keeps the confidential table and lets something of it out, past the exit."""

    raw: Table
    way: str

    def sample(self, rows: int | None = None, *, seed: Any = None) -> Table:
        table, raw = super().sample(rows, seed=seed), self.raw
        if self.way == "log":
            logging.getLogger("dalenius").info("drew %s", raw["remark"].levels)
        if self.way == "rows":
            return super().sample(raw.rows, seed=seed)
        if self.way == "index":
            index = pd.Index([f"{INDEX}-{i}" for i in range(table.rows)])
            return replace(table, origin=replace(table.origin, index=index))
        if self.way == "dtype":
            return replace(table, origin=replace(table.origin, dtypes=raw.origin.dtypes))
        if self.way in raw.names:
            return table.with_vectors(raw[self.way].take(np.arange(table.rows)))
        return table

    def parts(self) -> Any:
        facts, arrays = super().parts()
        return (
            (facts | {"kept": list(self.raw["remark"].levels)}, arrays)
            if self.way == "model"
            else (facts, arrays)
        )

    def __repr__(self) -> str:
        return f"Leaky({self.raw['remark'].levels})" if self.way == "repr" else "Leaky()"


@dataclass(frozen=True)
class Leaky(Independent):
    """Independent columns, and one leak."""

    way: str = ""

    def fit(self, table: Table, *, seed: Any = None) -> Any:
        if self.way == "error" and table.schema["area"].domain == "declared":
            raise DataError(f"cannot read {table['remark'].levels}")
        model = super().fit(table, seed=seed)
        model.__class__ = LeakyModel
        model.raw, model.way = table, self.way
        if self.way == "notes":
            model.notes = [*model.notes, f"the rarest remark is {TEXT}"]
        return model


WAYS = {
    "index": "frame", "dtype": "frame", "remark": "frame", "area": "csv", "person": "frame", "income": "csv",
    "born": "frame", "seen": "parquet", "rows": "rows", "log": "log", "notes": "notes", "repr": "repr",
    "model": "model",
}  # fmt: skip


@pytest.mark.parametrize("way", list(WAYS))
def test_the_suite_catches_a_leaky_method(way, tmp_path):
    assert sightings(outputs_of(Leaky(), as_table("pandas"), tmp_path)) == set()
    seen = sightings(outputs_of(Leaky(way=way), as_table("pandas"), tmp_path))
    assert any(output == WAYS[way] for output, _ in seen), seen
