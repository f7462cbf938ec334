"""Parquet, Feather, Excel, SPSS, Stata and SAS: round trips within what each format can express."""

from __future__ import annotations

import builtins
import datetime as dt
import sys
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import polars.testing
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dalenius.core.errors import DaleniusError, DataError, FileError, MissingExtraError, OptionError
from dalenius.data import Column, Kind, Schema, Table, read, write
from dalenius.data.files import check_memory, excel_sheets, memory_needed, scan_file

LIGHT = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
WORDS = st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), max_size=6)
EVERYTHING = [
    (pl.Int8, st.integers(-128, 127)),
    (pl.Int64, st.integers(-(2**63), 2**63 - 1)),
    (pl.UInt64, st.integers(0, 2**64 - 1)),
    (pl.Float32, st.floats(width=32)),
    (pl.Float64, st.floats()),
    (pl.Boolean, st.booleans()),
    (pl.String, WORDS),
    (pl.Categorical, st.sampled_from(["b", "a"])),
    (pl.Enum(["c", "b", "a"]), st.sampled_from(["b", "a"])),
    (pl.Decimal(20, 2), st.decimals(-(10**9), 10**9, places=2).map(lambda d: d + 0)),
    (pl.Date, st.dates()),
    (
        pl.Datetime("us", "Europe/Oslo"),
        st.datetimes(dt.datetime(1950, 1, 1)).map(lambda m: m.replace(tzinfo=dt.UTC)),
    ),
    (pl.Datetime("ns"), st.datetimes(dt.datetime(1950, 1, 1), dt.datetime(2200, 1, 1))),
    (pl.Duration("us"), st.timedeltas(dt.timedelta(-999), dt.timedelta(999))),
    (pl.Time, st.times()),
]


@st.composite
def frames(
    draw: st.DrawFn, kinds: list[tuple[object, st.SearchStrategy[object]]], least: int = 0
) -> pl.DataFrame:
    rows = draw(st.integers(least, 6))
    columns = []
    for i in range(draw(st.integers(1, 4))):
        dtype, values = draw(st.sampled_from(kinds))
        cells = draw(st.lists(st.one_of(st.none(), values, values), min_size=rows, max_size=rows))
        columns.append(pl.Series(f"c{i}", cells, dtype=dtype, strict=True))
    return pl.DataFrame(columns)


@LIGHT
@given(frames(EVERYTHING), st.sampled_from(["a.parquet", "a.feather", "a.arrow"]))
def test_columnar_files_keep_everything(tmp_path: Path, frame: pl.DataFrame, name: str) -> None:
    write(frame, tmp_path / name)
    first = (tmp_path / name).read_bytes()
    back = read(tmp_path / name)
    assert back.to_frame().schema == frame.schema
    polars.testing.assert_frame_equal(back.to_frame(), frame, check_exact=True)
    write(back, tmp_path / name)
    assert (tmp_path / name).read_bytes() == first


@pytest.mark.parametrize("ending", [".parquet", ".feather", ".csv", ".xlsx", ".sav", ".dta", ".xpt"])
@pytest.mark.parametrize("backend", ["pandas", "pyarrow", "duckdb", "dict", "polars-lazy"])
def test_every_frame_can_be_written(tmp_path: Path, ending: str, backend: str) -> None:
    table = Table.from_frame({"a": [1, 2, None], "b": ["x", None, "y"], "c": [1.5, 2.5, 3.25]})
    frame = table.to_frame(backend)
    write(frame, tmp_path / f"a{ending}")
    assert read(tmp_path / f"a{ending}").to_frame("dict") == table.to_frame()


def test_pandas_categories_and_zero_columns_in_parquet(tmp_path: Path) -> None:
    frame = pd.DataFrame({"o": pd.Categorical(["lo", "hi", None], ["lo", "mid", "hi"], ordered=True)})
    frame.to_parquet(tmp_path / "p.parquet")
    table = read(tmp_path / "p.parquet")
    assert table.schema["o"].kind is Kind.ORDERED
    assert table["o"].levels == ("lo", "mid", "hi")
    write(pl.DataFrame(), tmp_path / "z.parquet")
    assert read(tmp_path / "z.parquet").names == []


EXCEL = [
    (pl.Int64, st.integers(-(2**53) + 1, 2**53 - 1)),
    (pl.Float64, st.floats(-1e15, 1e15, allow_nan=False).map(lambda v: round(v, 3) + 0.0)),
    (pl.Boolean, st.booleans()),
    (pl.String, st.text(alphabet="abcü=+-1 漢", min_size=1, max_size=6)),
    (pl.Date, st.dates(dt.date(1900, 3, 1), dt.date(2200, 1, 1))),
    (
        pl.Datetime("us"),
        st.datetimes(dt.datetime(1900, 3, 1), dt.datetime(2200, 1, 1)).map(
            lambda m: m.replace(microsecond=0, fold=0)
        ),
    ),
]


@LIGHT
@given(frames(EXCEL, least=1))
def test_excel(tmp_path: Path, frame: pl.DataFrame) -> None:
    filled = frame.filter(pl.any_horizontal(pl.all().is_not_null()))  # an empty last row is no row in a sheet
    write(filled, tmp_path / "a.xlsx")
    first = (tmp_path / "a.xlsx").read_bytes()
    back = read(tmp_path / "a.xlsx").to_frame()
    for name, dtype in frame.schema.items():
        if filled[name].null_count() < filled.height:
            polars.testing.assert_series_equal(
                back[name].cast(dtype), filled[name], abs_tol=1e-9, rel_tol=1e-14
            )
        else:
            assert back[name].null_count() == filled.height
    write(filled, tmp_path / "a.xlsx")
    assert (tmp_path / "a.xlsx").read_bytes() == first


def test_excel_sheets_and_faults(tmp_path: Path) -> None:
    import xlsxwriter

    path = tmp_path / "book.xlsx"
    with xlsxwriter.Workbook(str(path)) as book:
        for name, rows in {
            "one": [["a"], [1]],
            "two": [["b", "c"], ["x", "007"]],
            "odd": [["a", "a", ""], [1, 2, 3]],
            "none": [],
        }.items():
            sheet = book.add_worksheet(name)
            for i, row in enumerate(rows):
                sheet.write_row(i, 0, row)
    assert excel_sheets(path) == ["one", "two", "odd", "none"]
    assert read(path).names == ["a"]
    assert read(path, sheet=2).to_frame("dict") == {"b": ["x"], "c": ["007"]}
    assert read(path, sheet="two").names == ["b", "c"]
    schema = Schema((Column("b", Kind.TEXT), Column("c", Kind.INTEGER)))
    assert read(path, schema, sheet="two").to_frame("dict")["c"] == [7]
    for sheet, message in (("odd", "'a' appears more than once"), ("none", "the sheet is empty")):
        with pytest.raises(FileError, match=message):
            read(path, sheet=sheet)
    for sheet in ("three", 9, 0):
        with pytest.raises(OptionError, match="no sheet"):
            read(path, sheet=sheet)
    with pytest.raises(FileError, match="infinite values, which Excel cannot"):
        write({"x": [1.5, float("inf")]}, path)
    with pytest.raises(FileError, match=r"beyond 2\^53"):
        write({"x": [2**60 + 1] * 3}, path)
    with pytest.raises(FileError, match="before 1900"):
        write({"x": [dt.date(1800, 1, 1)]}, path)
    assert read(path).names == ["a"]


STATISTICAL = [
    (pl.Int64, st.integers(-(2**31) + 1, 2**31 - 101)),
    (pl.Float64, st.floats(-1e60, 1e60, allow_nan=False).map(lambda v: float(f"{v:.6g}") + 0.0)),
    (pl.String, st.text(alphabet="abcü 漢", min_size=1, max_size=6).map(lambda t: f"x{t}x")),
    (pl.Date, st.dates(dt.date(1600, 1, 1), dt.date(2200, 1, 1))),
    (
        pl.Datetime("us"),
        st.datetimes(dt.datetime(1960, 1, 1), dt.datetime(2200, 1, 1)).map(
            lambda m: m.replace(microsecond=0, fold=0)
        ),
    ),
]


@LIGHT
@given(frames(STATISTICAL), st.sampled_from(["a.sav", "a.zsav", "a.dta", "a.xpt"]))
def test_statistical_files(tmp_path: Path, frame: pl.DataFrame, name: str) -> None:
    write(frame, tmp_path / name)
    back = read(tmp_path / name).to_frame()
    assert back.columns == frame.columns
    assert back.height == frame.height
    for column, dtype in frame.schema.items():
        if frame[column].null_count() < frame.height:
            polars.testing.assert_series_equal(back[column].cast(dtype), frame[column], rel_tol=1e-14)


def labelled() -> Table:
    schema = Schema(
        (
            Column(
                "sex",
                Kind.CATEGORICAL,
                levels=(1, 2),
                missing=(9,),
                label="Sex of person",
                value_labels={1: "man", 2: "woman", 9: "no answer"},
            ),
            Column("mood", Kind.ORDERED, levels=(1, 2, 3), value_labels={1: "bad", 2: "so-so", 3: "good"}),
            Column(
                "income",
                Kind.INTEGER,
                missing=(-9,),
                not_applicable=(-8,),
                value_labels={-9: "refused", -8: "not applicable"},
            ),
            Column("town", Kind.CATEGORICAL, levels=("A", "B"), label="Town"),
        )
    )
    frame = {
        "sex": [1, 2, 9, 1] * 10,
        "mood": [3, 1, 2, None] * 10,
        "income": [-8, -9, 1200, 3400, 5600] * 8,
        "town": ["A", "B", None, "A"] * 10,
    }
    return Table.from_frame(frame, schema)


@pytest.mark.parametrize("ending", [".sav", ".zsav"])
def test_spss_keeps_labels_and_codes(tmp_path: Path, ending: str) -> None:
    table = labelled()
    write(table, tmp_path / f"a{ending}")
    back = read(tmp_path / f"a{ending}")
    assert back.to_frame("dict") == table.to_frame()
    for name in table.names:
        was, now = table.schema[name], back.schema[name]
        assert (now.kind, now.label, now.missing, now.not_applicable) == (
            was.kind,
            was.label,
            was.missing,
            was.not_applicable,
        )
        assert dict(now.value_labels) == dict(was.value_labels)
        assert was.kind.is_number or now.levels == was.levels
    assert back["income"].state is not None


def test_stata_keeps_labels_and_letters(tmp_path: Path) -> None:
    table = labelled()
    write(table, tmp_path / "a.dta")
    back = read(tmp_path / "a.dta")
    assert back.to_frame("dict") == table.to_frame()
    assert back.schema["sex"].label == "Sex of person"
    assert dict(back.schema["mood"].value_labels) == {1: "bad", 2: "so-so", 3: "good"}
    coded = Schema((Column("x", Kind.INTEGER, missing=("a", "b")),))
    import numpy as np

    from dalenius.data.frames import Origin, Raw

    raw = Raw("x", "mixed", np.arange(30) % 15, None, (*range(5, 18), "a", "b"))
    letters = Table.from_raws([raw], Origin(), coded)
    write(letters, tmp_path / "l.dta")
    again = read(tmp_path / "l.dta")
    assert again.schema["x"].missing == ("a", "b")
    assert again["x"].column.kind is Kind.INTEGER
    assert again["x"].state.tolist() == letters["x"].state.tolist()
    assert again["x"].values.tolist() == letters["x"].values.tolist()


def test_spss_ranges(tmp_path: Path) -> None:
    import pyreadstat

    frame = pd.DataFrame({"x": [1.0, 2, 3, 97, 98, 99] * 5, "s": ["a", "b", "z"] * 10})
    ranges = {"x": [{"lo": 97, "hi": 99}], "s": ["z"]}
    pyreadstat.write_sav(frame, str(tmp_path / "r.sav"), missing_ranges=ranges)
    table = read(tmp_path / "r.sav")
    assert table.schema["x"].missing == (97, 98, 99)
    assert table.schema["s"].missing == ("z",)
    many = Schema((Column("x", Kind.INTEGER, missing=(-1, -2, -3, -4)),))
    write(Table.from_frame({"x": [1, 5, -1, -4, -3]}, many), tmp_path / "m.sav")
    assert read(tmp_path / "m.sav").schema["x"].missing == (-4, -3, -1)
    apart = Schema((Column("x", Kind.INTEGER, missing=(-1, -2, -3, 9)),))
    with pytest.raises(FileError, match="column 'x' has 4 missing codes"):
        write(Table.from_frame({"x": [1, 5, -1, 9]}, apart), tmp_path / "m.sav")


def test_names_that_do_not_fit(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"'two words', '1st' cannot be a Stata name"):
        write({"two words": [1], "1st": [2]}, tmp_path / "a.dta")
    with pytest.raises(FileError, match="differ only in capitals"):
        write({"Age": [1], "age": [2]}, tmp_path / "a.sav")
    with pytest.raises(DataError, match="without columns"):
        write({}, tmp_path / "a.sav")


ENDINGS = [".csv", ".parquet", ".feather", ".xlsx", ".sav", ".dta", ".xpt", ".sas7bdat"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_files_that_cannot_be_opened(tmp_path: Path, ending: str) -> None:
    missing, folder, damaged = (tmp_path / f"{n}{ending}" for n in ("missing", "folder", "damaged"))
    with pytest.raises(FileError, match="no such file"):
        read(missing)
    folder.mkdir()
    with pytest.raises(FileError, match="is a folder"):
        read(folder)
    if ending != ".csv":
        damaged.write_bytes(b"secret," * 50)
        with pytest.raises(FileError, match="cannot be read as") as caught:
            read(damaged)
        assert "secret" not in str(caught.value)
        assert "\n" not in str(caught.value)
        damaged.write_bytes(b"")
        with pytest.raises(FileError):
            read(damaged)


def test_permission_denied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv"
    path.write_text("a\n1\n")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)  # the tests may run as root, whom no file refuses
    with pytest.raises(FileError, match="permission denied"):
        read(path)


def test_endings_and_options(tmp_path: Path) -> None:
    for name in ("a.doc", "a"):
        with pytest.raises(FileError, match=r"supported: \.csv, .*\.sas7bdat"):
            read(tmp_path / name)
    with pytest.raises(FileError, match="cannot be written"):
        write({"a": [1]}, tmp_path / "a.sas7bdat")
    write({"a": [1]}, tmp_path / "a.parquet")
    with pytest.raises(OptionError, match="'sheet' is not for this type of file"):
        read(tmp_path / "a.parquet", sheet=1)
    (tmp_path / "d.csv").mkdir()
    with pytest.raises(FileError, match="is a folder"):
        write({"a": [1]}, tmp_path / "d.csv")


@pytest.mark.parametrize("package", ["pyreadstat", "fastexcel", "xlsxwriter"])
def test_missing_extras_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    ending = ".sav" if package == "pyreadstat" else ".xlsx"
    path = tmp_path / f"a{ending}"
    path.write_bytes(b"x")
    monkeypatch.delitem(sys.modules, package, raising=False)
    original = builtins.__import__

    def refuse(name: str, *args: object, **kwargs: object) -> object:
        if name.split(".", maxsplit=1)[0] == package:
            raise ImportError
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(MissingExtraError, match=rf"install {package}: pip install 'dalenius\[files\]'"):
        write({"a": [1]}, path) if package == "xlsxwriter" else read(path)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".feather", ".xlsx", ".sav", ".dta", ".xpt"])
def test_a_failing_write_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    path = tmp_path / f"a{ending}"
    write({"a": [1, 2]}, path)
    before = path.read_bytes()

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(FileError, match="No space left"):
        write({"a": [3, 4, 5]}, path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_writing_where_nobody_may(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(FileError, match="the folder to write it to is not there"):
        write({"a": [1]}, tmp_path / "file" / "a.csv")


def test_scanning_and_memory(tmp_path: Path) -> None:
    frame = {"zip": ["01067", "80331"], "n": [1, 2]}
    for name in ("a.csv", "a.parquet"):
        write(frame, tmp_path / name)
        relation = scan_file(tmp_path / name)
        assert isinstance(relation, duckdb.DuckDBPyRelation)
        assert relation.columns == ["zip", "n"]
        assert relation.fetchall()[0][0] == "01067"
        assert memory_needed(tmp_path / name) > 0
        check_memory(tmp_path / name)
        with pytest.raises(FileError, match=r"takes about .* GB and .* GB are free; use scan_file"):
            check_memory(tmp_path / name, free=1)
    own = duckdb.connect()
    assert scan_file(tmp_path / "a.parquet", own).count("*").fetchall() == [(2,)]
    write(frame, tmp_path / "a.xlsx")
    with pytest.raises(FileError, match="only CSV and Parquet"):
        scan_file(tmp_path / "a.xlsx")
    with pytest.raises(FileError, match="convert it to Parquet"):
        check_memory(tmp_path / "a.xlsx", free=1)
    (tmp_path / "w.csv").write_bytes("a;b\né;1\n".encode("cp1252"))
    with pytest.raises(FileError, match="convert the file to UTF-8"):
        scan_file(tmp_path / "w.csv")


def test_memory_is_checked_before_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write({"a": [1]}, tmp_path / "a.csv")
    monkeypatch.setattr("dalenius.data.files.scan.SHARE", 0.0)
    with pytest.raises(DaleniusError, match="memory_check=False"):
        read(tmp_path / "a.csv")
    assert read(tmp_path / "a.csv", memory_check=False).rows == 1


def test_nested_parquet_is_refused_by_name(tmp_path: Path) -> None:
    pa.parquet.write_table(pa.table({"a": [[1], [2]]}), tmp_path / "n.parquet")
    with pytest.raises(DataError, match="column 'a' holds list"):
        read(tmp_path / "n.parquet")


@pytest.mark.parametrize("ending", ["sav", "dta", "xpt"])
def test_truth_values_come_back_with_their_schema(tmp_path, ending):
    table = Table.from_frame({"b": [True, False, None], "k": [1, 2, 3]})
    write(table, tmp_path / f"a.{ending}")
    assert read(tmp_path / f"a.{ending}", table.schema).to_frame("dict")["b"] == [True, False, None]


@pytest.mark.parametrize("ending", ["sav", "zsav", "xpt"])
def test_texts_too_long_for_a_format_are_refused_by_name(tmp_path, ending):
    with pytest.raises(FileError, match="'long' has texts beyond"):
        write({"long": ["x" * 70_000, "y"]}, tmp_path / f"a.{ending}")


def test_numbers_too_large_for_sas_transport_are_refused_by_name(tmp_path):
    with pytest.raises(FileError, match="'a' has numbers beyond"):
        write({"a": [1e76, 1.5]}, tmp_path / "a.xpt")
