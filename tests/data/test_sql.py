"""Tables of databases are read where a file name is taken, without writing and without showing a password."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import polars as pl
import pytest
from typer.testing import CliRunner

import dalenius
from dalenius.cli import app
from dalenius.core.errors import FileError
from dalenius.counts import count
from dalenius.data import examples, read
from dalenius.data.files import Address, is_address

NAMES = ["sex", "age", "income"]


@pytest.fixture
def bases(tmp_path: Path) -> dict[str, str]:
    people = examples.survey(300, seed=1).select(NAMES).with_columns(pl.col("sex").cast(pl.String))
    with duckdb.connect(str(tmp_path / "people.duckdb")) as base:
        base.register("frame", people.to_arrow())
        base.execute('create table "the people" as select * from frame')
    with closing(sqlite3.connect(tmp_path / "people.db")) as base:
        base.execute('create table "the people" (sex text, age integer, income real)')
        base.executemany('insert into "the people" values (?, ?, ?)', people.rows())
        base.commit()
    people.write_parquet(tmp_path / "people.parquet")
    return {
        "duckdb": f"duckdb:{tmp_path / 'people.duckdb'}#the people",
        "sqlite": f"sqlite:{tmp_path / 'people.db'}#the people",
        "parquet": str(tmp_path / "people.parquet"),
    }


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_a_table_of_a_database_is_read_like_a_file_and_left_as_it_is(kind: str, bases: dict[str, str]):
    file = Path(Address.of(bases[kind]).place)
    before = file.read_bytes()
    expected, found = read(bases["parquet"]), read(bases[kind])
    assert found.to_frame("dict") == expected.to_frame("dict")
    assert dalenius.read(Path(bases[kind])).rows == 300
    assert count(bases[kind], ["sex"]).same_as(count(expected, ["sex"]))
    assert file.read_bytes() == before
    assert sorted(p.name for p in file.parent.iterdir()) == ["people.db", "people.duckdb", "people.parquet"]


def test_dates_of_a_database_stay_dates(tmp_path: Path):
    place = tmp_path / "days.duckdb"
    with duckdb.connect(str(place)) as base:
        base.execute("create table days as select date '2020-01-01' + i::int as day from range(40) r(i)")
    found = read(f"duckdb:{place}#days")
    assert found.to_frame("polars")["day"].dtype == pl.Date
    dalenius.write(found, tmp_path / "days.csv")
    assert (tmp_path / "days.csv").read_text(encoding="utf-8").splitlines()[1] == "2020-01-01"


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_commands_take_addresses(kind: str, bases: dict[str, str], tmp_path: Path):
    out = tmp_path / "synthetic.csv"
    made = CliRunner().invoke(app, ["synth", bases[kind], "-m", "independent", "-o", str(out), "--seed", "1"])
    assert made.exit_code == 0, made.output
    asked = ["evaluate", bases[kind], str(out), "--measures", "one-way-utility", "--json"]
    answer = CliRunner().invoke(app, asked)
    assert answer.exit_code == 0, answer.output
    assert json.loads(answer.stdout)["original_rows"] == 300


@pytest.mark.parametrize(
    "text",
    [
        "postgres://zoe:hush@localhost:1/census#people",
        "postgresql:/zoe:hush@localhost:1/census?password=hush#people",
    ],
)
def test_a_password_is_never_shown(text: str):
    assert is_address(text)
    address = Address.of(text)
    with pytest.raises(FileError) as caught:
        read(text)
    for shown in (str(caught.value), str(address), repr(address)):
        assert "hush" not in shown
        assert "zoe" not in shown
        assert "localhost:1/census#people" in shown
    assert caught.value.__cause__ is None
    answer = CliRunner().invoke(app, ["check", text])
    assert answer.exit_code != 0
    assert "hush" not in answer.output


def test_errors_say_what_to_do(bases: dict[str, str], tmp_path: Path):
    with pytest.raises(FileError, match="the address names no table; write sqlite:DATABASE#TABLE"):
        read("sqlite:people.db")
    with pytest.raises(FileError, match="no such file"):
        read(f"duckdb:{tmp_path / 'none.duckdb'}#people")
    with pytest.raises(FileError, match="check the database, the table's name"):
        read(f"sqlite:{tmp_path / 'people.db'}#nobody")
    with pytest.raises(FileError, match="check the database"):
        read(f"sqlite:{tmp_path / 'people.db'}#x; drop table people")
    assert not is_address("people.csv")
