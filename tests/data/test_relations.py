"""Databases: keys and links guessed, every fault told at once, the same kind back, whole or not at all."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import numpy as np
import polars as pl
import pytest

from dalenius.core.errors import DaleniusError, DataError, FileError, SchemaError
from dalenius.data import Schema, Table
from dalenius.data.atomic import replacing_folder
from dalenius.data.files.databases import ddl, read_database
from dalenius.data.relations import Database, Link
from dalenius.data.relations_yaml import read_relations


def clinic(patients: int = 30) -> dict[str, pl.DataFrame]:
    rng = np.random.default_rng(3)
    times = rng.integers(0, 4, patients)
    owner = np.repeat(np.arange(patients), times)
    return {
        "patients": pl.DataFrame({
            "patient_id": [f"P{i:05d}" for i in range(patients)], "sex": rng.choice(["f", "m"], patients),
            "mother": [None if i < 10 else f"P{i - 10:05d}" for i in range(patients)],
        }),
        "wards": pl.DataFrame({"ward": ["a", "b", "c"], "beds": [10, 20, 30]}),
        "visits": pl.DataFrame({
            "visit_id": np.arange(len(owner)) + 100, "patient_id": [f"P{i:05d}" for i in owner],
            "ward": rng.choice(["a", "b", "c"], len(owner)), "cost": np.round(rng.lognormal(3, 1, len(owner)), 2),
        }),
    }  # fmt: skip


def test_keys_links_and_cardinalities_are_guessed_and_explained():
    base = Database.of(clinic())
    assert dict(base.keys) == {"patients": "patient_id", "wards": "ward", "visits": "visit_id"}
    assert [str(link) for link in base.links] == [
        "patients.mother -> patients.patient_id (1-0..1)",
        "visits.patient_id -> patients.patient_id (1-n)",
        "visits.ward -> wards.ward (1-n)",
    ]
    assert all(link.note for link in base.links)
    assert base.main("visits").parent == "patients"
    assert base.sequence.index("patients") < base.sequence.index("visits")
    assert base.units("visits").column == "patients"


def test_cardinality_is_told_from_the_data():
    parents = {"id": [1, 2, 3], "x": [1.5, 2.5, 3.5]}
    links = [Link("a", "id", "b", "id")]
    for ids, kind in (([3, 1, 2], "1-1"), ([3, 1], "1-0..1"), ([3, 3, 1], "1-n")):
        base = Database.of({"a": parents, "b": {"id": ids, "y": ["u"] * len(ids)}}, {"a": "id"}, links)
        assert base.links[0].cardinality == kind


@pytest.mark.parametrize("kind", ["folder", "book.xlsx", "base.duckdb", "base.sqlite"])
def test_the_same_comes_back(tmp_path, kind):
    base = Database.of(clinic())
    base.write(tmp_path / kind)
    again = Database.read(tmp_path / kind)
    assert {n: t.rows for n, t in again.tables.items()} == {n: t.rows for n, t in base.tables.items()}
    assert {str(link) for link in again.links} == {str(link) for link in base.links}
    for name in base.tables:
        first, second = (b[name].to_frame("dict") for b in (base, again))
        assert first == second, name


def test_a_folder_keeps_its_endings_and_its_yaml_rules(tmp_path):
    (tmp_path / "in").mkdir()
    frames = clinic()
    frames["patients"].write_parquet(tmp_path / "in" / "patients.parquet")
    frames["visits"].write_csv(tmp_path / "in" / "visits.csv")
    frames["wards"].write_csv(tmp_path / "in" / "wards.csv")
    base = Database.read(tmp_path / "in")
    text = base.to_yaml().replace('cardinality: "1-0..1"', 'cardinality: "1-n"')
    (tmp_path / "in" / "database.yaml").write_text(text)
    again = Database.read(tmp_path / "in")
    assert again.links[0].cardinality == "1-n"
    again.write(tmp_path / "out")
    assert {f.name for f in (tmp_path / "out").iterdir()} == {
        "patients.parquet", "visits.csv", "wards.csv", "database.yaml", "schema.sql"
    }  # fmt: skip
    assert "P00003" not in base.to_yaml(), "a description lists nobody's key"


def test_ddl_makes_the_tables(tmp_path):
    base = Database.of(clinic())
    with closing(sqlite3.connect(":memory:")) as held:
        held.executescript(ddl(base))
        found = {row[0] for row in held.execute("select name from sqlite_master where type='table'")}
    assert found == set(base.tables)
    assert ddl(base).count("REFERENCES") == 3


def test_every_fault_is_told_at_once():
    frames = {
        "a": {"id": [1, 1, None], "x": [1, 2, 3]},
        "b": {"id": [7, 8], "a": ["p", "q"]},
        "c": {"b": [7, 9, 9]},
    }
    links = [
        Link("a", "id", "b", "a"), Link("b", "id", "c", "b", "1-1"), Link("b", "nr", "c", "b"),
        Link("z", "id", "c", "b"),
        Link("b", "id", "c", "b", "n-m"),  # type: ignore[arg-type]
    ]  # fmt: skip
    with pytest.raises(DataError) as error:
        Database.of(frames, {"a": "id", "b": "id", "d": "id"}, links, order={"c": "when"})
    text = str(error.value)
    for part in (
        "2 rows share a value of the key 'id'", "1 row without a value of the key 'id'", "key of 'd': no such table",
        "one key is numbers and the other text", "2 rows of 'c' belong to no row of 'b'", "no column 'nr'",
        "no table 'z'", "two links", "order of 'c'",
    ):  # fmt: skip
        assert part in text, part
    assert len(error.value.faults) >= 9


def test_links_that_go_round_are_refused():
    frames = {"a": {"id": [1], "b": [5]}, "b": {"id": [5], "a": [1]}}
    with pytest.raises(DataError, match="circle"):
        Database.of(frames, {"a": "id", "b": "id"}, [Link("a", "id", "b", "a"), Link("b", "id", "a", "b")])


def test_orphans_are_dropped_with_all_below_them_or_kept():
    frames = {"a": {"id": [1]}, "b": {"id": [10, 11], "a": [1, 2]}, "c": {"b": [10, 11, 11]}}
    links = [Link("a", "id", "b", "a"), Link("b", "id", "c", "b")]
    with pytest.raises(DataError, match="orphans='drop' or 'keep'"):
        Database.of(frames, {"a": "id", "b": "id"}, links)
    dropped = Database.of(frames, {"a": "id", "b": "id"}, links, orphans="drop")
    assert [dropped[n].rows for n in "abc"] == [1, 1, 1]
    kept = Database.of(frames, {"a": "id", "b": "id"}, links, orphans="keep")
    assert [kept[n].rows for n in "abc"] == [1, 2, 3]
    assert kept.units("c").count == 2


def test_thirty_tables_an_empty_child_and_a_parent_of_very_many():
    frames = {f"t{i}": {"id": [1, 2, 3], f"t{i - 1}_id": [1, 1, 2]} for i in range(30)}
    frames["t0"] = {"id": [1, 2, 3]}
    frames["many"] = {"t0_id": np.array([1] * 100_000 + [2])}
    frames["none"] = {"t0_id": pl.Series([], dtype=pl.Int64), "x": pl.Series([], dtype=pl.String)}
    links = [Link(f"t{i - 1}", "id", f"t{i}", f"t{i - 1}_id") for i in range(1, 30)]
    links += [Link("t0", "id", "many", "t0_id"), Link("t0", "id", "none", "t0_id")]
    base = Database.of(
        {n: pl.DataFrame(f) for n, f in frames.items()}, {f"t{i}": "id" for i in range(30)}, links
    )
    assert base.sizes(links[-2]).tolist() == [100_000, 1, 0]
    assert base.units("t29").column == "t0"
    assert base.cardinality(links[-1]) == "1-0..1"


def test_yaml_with_faults_names_them_all():
    text = "tables:\n  a: {key: id, columns: {id: {kind: whole}}}\n  b: {}\n"
    text += "links:\n  - {child: c.x, parent: a.id}\nx: 1\n"
    with pytest.raises(SchemaError) as error:
        read_relations(text)
    assert len(error.value.faults) == 4


def test_a_folder_of_somebody_else_is_not_overwritten(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("keep me")
    with pytest.raises(FileError, match="not empty"):
        Database.of(clinic()).write(tmp_path / "mine")
    assert (tmp_path / "mine" / "letter.txt").read_text() == "keep me"


def test_nothing_is_left_of_a_folder_that_failed(tmp_path):
    def fail() -> None:
        with replacing_folder(tmp_path / "out") as temporary:
            (temporary / "a").write_text("half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert list(tmp_path.iterdir()) == []


WRITER = """
import sys
from dalenius.data.relations import Database
tables = {f"t{i}": {"id": list(range(3000)), "text": ["%s" % sys.argv[2]] * 3000} for i in range(12)}
base = Database.of(tables, {}, [])
print("ready", flush=True)
while True:
    base.write(sys.argv[1])
"""


@pytest.mark.slow
def test_a_kill_leaves_one_whole_folder(tmp_path):
    target = tmp_path / "out"
    Database.of({f"t{i}": {"id": [1], "text": ["old"]} for i in range(12)}, {}, []).write(target)
    for turn in range(3):
        command = [sys.executable, "-c", WRITER, str(target), f"new{turn}"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as done:
            assert done.stdout is not None
            done.stdout.readline()
            time.sleep(0.15 + 0.11 * turn)
            done.send_signal(signal.SIGKILL)
        words = {pl.read_csv(f)["text"][0] for f in target.glob("*.csv")}
        assert len(words) == 1
        assert len(list(target.glob("*.csv"))) == 12
        read_database(target)


def test_a_value_is_never_quoted():
    frames = {"a": {"id": ["secret-1", "secret-1"]}, "b": {"a": ["secret-2"]}}
    with pytest.raises(DaleniusError) as error:
        Database.of(frames, {"a": "id"}, [Link("a", "id", "b", "a")])
    assert "secret" not in str(error.value)


def test_taking_families_keeps_them_whole():
    base = Database.of(clinic())
    some = base.take(np.arange(5))
    assert some["patients"].rows == 5
    assert some["wards"].rows == 3
    assert set(some["visits"].to_frame("dict")["patient_id"]) <= set(
        some["patients"].to_frame("dict")["patient_id"]
    )
    assert isinstance(some["visits"], Table)


def test_weights_and_strata_that_differ_within_a_household_are_told():
    homes = pl.DataFrame({"id": range(30), "w": [1.5 + i for i in range(30)], "area": ["n", "s"] * 15})
    people = pl.DataFrame(
        {"home_id": [i // 2 for i in range(60)], "w": [1.5 + i for i in range(60)], "area": ["n", "s"] * 30}
    )
    schemas = {
        name: Schema.infer(frame).with_roles(weight="w", stratum="area")
        for name, frame in (("homes", homes), ("people", people))
    }
    with pytest.raises(DataError) as error:
        Database.of({"homes": homes, "people": people}, {"homes": "id"}, [Link("homes", "id", "people", "home_id")],
                    schemas=schemas)  # fmt: skip
    assert len(error.value.faults) == 2
    assert "differs within 30 parents" in str(error.value)
