"""Ways out beside the values: names over the columns, metadata of frames and files, order of rows, error chains."""

from __future__ import annotations

import dataclasses
import datetime as dt
import decimal
import io
import math
import traceback
import warnings
import zipfile
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import dalenius
from dalenius.cli import app
from dalenius.core.errors import DaleniusError, DataError
from dalenius.data import Column, Kind, Schema, Table
from dalenius.synth import METHODS, Candidate
from tests.exit.canaries import FIRM, INDEX, PERSON, UNUSED, as_frame, canary_schema, sightings, written

WORD = "kanarie"
ROWS = 300


def people(rows: int = ROWS) -> dict[str, Any]:
    """A file in the order of its ages, which are that of its incomes too."""
    rng = np.random.default_rng(3)
    return {
        "sex": rng.choice(["f", "m"], rows).tolist(),
        "age": np.sort(rng.integers(18, 80, rows)).tolist(),
        "income": np.round(np.sort(rng.lognormal(7, 0.5, rows)), 2).tolist(),
        "born": [dt.date(1950, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 18_000, rows)],
    }


def options_of(name: str, column: str = "born") -> dict[str, Any]:
    """The options of a method's example, or what this file has for those it must be told."""
    options = dict(METHODS[name].info.example_options)
    known = {field.name for field in dataclasses.fields(METHODS[name])}
    if "salt" in known:
        options["salt"] = "a secret of mine"
    if "column" in known:
        options.setdefault("column", column)
    return options


def made(name: str, frame: Any) -> Any:
    return dalenius.synthesize(frame, name, seed=1, **options_of(name))


def fitting(frame: Any, schema: Schema | None = None) -> list[str]:
    """All synthesizers, and the masks whose example fits the file."""
    table = Table.from_frame(frame, schema)
    fit = {name for name in METHODS if not Candidate(name, options_of(name)).faults(table)}
    assert fit >= {name for name in METHODS if not METHODS[name].info.masks}
    return [name for name in METHODS if name in fit]


NAMES = fitting(people())


@pytest.mark.parametrize("name", NAMES)
def test_nothing_that_stood_over_a_pandas_frame_leaves(name):
    frame = pd.DataFrame(people())
    frame.attrs[WORD], frame.columns.name, frame.index.name = WORD, WORD, WORD
    out = made(name, frame)
    assert (out.attrs, out.columns.name, out.index.name) == ({}, None, None)
    assert out.index.equals(pd.RangeIndex(len(out)))


def test_levels_over_a_dropped_column_do_not_leave():
    data = people()
    frame = pd.DataFrame({("a", "sex"): data["sex"], ("a", "age"): data["age"]})
    frame[WORD, "name"] = [f"{WORD} {i}" for i in range(ROWS)]
    frame.columns.names = [WORD, "b"]
    out = made("cart", frame)
    assert out.columns.levels[0].tolist() == ["a"]
    assert list(out.columns.names) == [None, None]


@pytest.mark.parametrize("name", NAMES)
def test_metadata_of_arrow_do_not_leave(name):
    table = pa.table(people())
    fields = [field.with_metadata({b"note": WORD.encode()}) for field in table.schema]
    out = made(name, table.cast(pa.schema(fields, metadata={WORD.encode(): b"yes"})))
    assert out.schema.metadata is None
    assert all(field.metadata is None for field in out.schema)


def test_a_value_of_many_decimals_does_not_show_in_the_others():
    data = people()
    data["price"] = [decimal.Decimal("1.25") * (i % 7) for i in range(ROWS)]
    data["price"][5] = decimal.Decimal("98765432.123456")
    for frame in (data, pd.DataFrame(data)):
        assert all(price.as_tuple().exponent == -2 for price in made("cart", frame)["price"])


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_in_no_order_of_the_original(name):
    """Files are sorted by people's numbers; with 300 rows in any order the ranks go together by 0.35 once in 10^9."""
    out = made(name, pl.DataFrame(people()))
    kept = [column for column in ("age", "income") if column in out.columns and out[column].n_unique() > 1]
    if name == "safepub":  # at this size no two ages are told apart
        assert not kept
    else:
        assert kept  # a mask drops the one that gives the other back
    for column in kept:
        ranks = out[column].rank("dense").fill_null(0).to_numpy().astype(float)
        assert abs(np.corrcoef(np.arange(len(ranks)), ranks)[0, 1]) < 0.35


def masks() -> list[tuple[str, dict[str, Any]]]:
    """Masks with options that fit the file of canaries."""
    table = Table.from_frame(as_frame("polars"), canary_schema())
    kept = []
    for name in (name for name in METHODS if METHODS[name].info.masks):
        given = dict(METHODS[name].info.example_options)
        places = {"column": "born" if "date" in name else "income", "columns": ["income"]}
        options = given | {
            f.name: places[f.name] for f in dataclasses.fields(METHODS[name]) if f.name in places
        }
        if not Candidate(name, options).faults(table):
            kept.append((name, options))
    assert len(kept) >= 4
    return kept


@pytest.mark.parametrize(("name", "options"), masks())
@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_masked_rows_leave_without_index_identifiers_and_unused_categories(name, options, kind):
    """A mask keeps the values it is not told to change, and the figures judge them; these it never keeps."""
    frame = as_frame(kind)
    table = Candidate(name, options).make(Table.from_frame(frame, canary_schema(frame)), force=True).table
    seen = sightings({"table": table, "frame": table.to_frame(), **written(table)})
    assert not {what for _, what in seen} & {INDEX, UNUSED, PERSON, FIRM}


def converted(tmp_path, ending: str) -> bytes:
    """What the command line makes of a statistical file whose maker said much in its labels."""
    pyreadstat = pytest.importorskip("pyreadstat")
    source, target = tmp_path / f"people{ending}", tmp_path / f"out{ending}"
    frame = pd.DataFrame(people()).replace({"sex": {"f": 1.0, "m": 2.0}}).astype({"sex": float})
    labels = {"sex": {1: "f", 2: "m", 77: f"{WORD}: the only one"}}
    more = {"note": WORD} if ending == ".sav" else {}
    write = pyreadstat.write_sav if ending == ".sav" else pyreadstat.write_dta
    write(frame, source, file_label=f"{WORD}'s patients", variable_value_labels=labels, **more)
    model = tmp_path / "model"
    words = ["synth", str(source), "-m", "cart", "-o", str(target), "--save-model", str(model)]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    with zipfile.ZipFile(model) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        kept = b"".join(archive.read(entry) for entry in archive.namelist())
    return target.read_bytes() + kept + done.output.encode()


@pytest.mark.parametrize("ending", [".sav", ".dta"])
def test_labels_of_a_file_and_of_values_nobody_has_do_not_leave(tmp_path, ending):
    assert WORD not in converted(tmp_path, ending).decode("latin-1").lower()


def test_metadata_of_parquet_do_not_leave(tmp_path):
    index = pd.Index([f"{WORD}-{i}" for i in range(ROWS)], name="number")
    table = pa.Table.from_pandas(pd.DataFrame(people(), index=index))
    table = table.replace_schema_metadata({**(table.schema.metadata or {}), b"maker": WORD.encode()})
    pq.write_table(table, tmp_path / "people.parquet")
    words = ["synth", str(tmp_path / "people.parquet"), "-m", "cart", "-o", str(tmp_path / "out.parquet")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert WORD not in done.output
    assert WORD.encode() not in (tmp_path / "out.parquet").read_bytes()
    assert pq.read_schema(tmp_path / "out.parquet").metadata is None


ODD = {
    "a word among numbers": (3, WORD),
    "a word among fractions": (3.5, WORD),
    "a word among dates": (dt.date(2020, 1, 1), WORD),
    "a huge number": (3, 98_765_432 * 10**30),
    "an exact number that is too long": (decimal.Decimal("1.2"), decimal.Decimal("98765432e60")),
    "half a character": ("a", f"\ud800{WORD}"),
    "bytes": ("a", WORD.encode()),
    "a set": ("a", {WORD}),
    "a zone among moments": (dt.datetime(2020, 1, 1), dt.datetime(9876, 5, 4, tzinfo=dt.UTC)),
    "an object": ("a", type("Odd", (), {"__repr__": lambda _: WORD})()),
}
KINDS = [None, Kind.INTEGER, Kind.CONTINUOUS, Kind.DATETIME, Kind.BOOLEAN, Kind.CATEGORICAL, Kind.TEXT]


@pytest.mark.parametrize("case", ODD)
@pytest.mark.parametrize("kind", ["dict", "pandas"])
def test_no_error_and_no_cause_of_one_quotes_a_cell(case, kind):
    """Whatever a cell holds and the schema says: a file, or an error of ours, without the cell in the whole chain."""
    usual, odd = ODD[case]
    data = {**{n: v[:60] for n, v in people().items()}, "x": [usual] * 59 + [odd]}
    frame = (
        pd.DataFrame({n: pd.Series(v, dtype=object) for n, v in data.items()}) if kind == "pandas" else data
    )
    for wanted in KINDS:
        schema = None if wanted is None else Schema((*Schema.infer(people()), Column("x", wanted)))
        said = io.StringIO()
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            try:
                said.write(str(dict(dalenius.synthesize(frame, "independent", schema=schema, seed=1))))
            except DaleniusError as error:
                for cause in traceback.format_exception(error):
                    said.write("\n".join(line for line in cause.splitlines() if not line.startswith("  ")))
        told = said.getvalue() + " ".join(str(each.message) for each in warned)
        assert not [mark for mark in (WORD, "98765432", "9876-05", "9876, 5") if mark in told], wanted


def test_numbers_of_128_bits_are_refused_by_name():
    frame = pl.DataFrame(people()).with_columns(pl.lit(98_765_432).cast(pl.Int128).alias("wide"))
    with pytest.raises(DataError, match="column 'wide' holds Int128 values") as error:
        made("cart", frame)
    assert "98765432" not in str(error.value)


def test_the_largest_float_of_a_type_says_nothing():
    data = people()
    data["income"][0] = math.inf
    out = made("cart", data)
    assert max(value for value in out["income"] if value is not None) < 20_000


def test_dates_far_from_now_beside_long_fractions_are_read(tmp_path):
    """Under a budget an error that a single odd cell makes would be a leak."""
    schema = Schema((Column("seen", Kind.DATETIME, bounds=("2020-01-01", "2021-01-01")),)).declare()
    schema.to_yaml(tmp_path / "schema.yaml")
    for odd in ("0292-04-18", "7.245350489755919e+77", "2020-01-01T00:00:00.123456789", "9999-12-31"):
        cells = ["2020-05-05"] * 30 + [odd, "0292-04-18", "2020-01-01T00:00:00.123456789"]
        (tmp_path / "people.csv").write_text("seen\n" + "\n".join(cells) + "\n")
        words = ["synth", str(tmp_path / "people.csv"), "--schema", str(tmp_path / "schema.yaml")]
        done = CliRunner().invoke(app, [*words, "-m", "mst", "-o", str(tmp_path / "out.csv")])
        assert done.exit_code == 0, done.output
