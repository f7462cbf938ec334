"""CSV: what is read is what was written, and what cannot be read is explained in one line without a value."""

from __future__ import annotations

import csv
import datetime as dt
import io
import zipfile
from pathlib import Path

import numpy as np
import polars as pl
import polars.testing
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dalenius.data.files.cells as files_cells
from dalenius.core.errors import DataError, FileError, OptionError, SchemaError
from dalenius.data import Column, Kind, Schema, Table, read, write
from dalenius.data.files import Dialect, read_csv, sniff_csv


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "data.csv"


def put(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def cells(path: Path, **options: object) -> dict[str, list[object]]:
    return read(path, **options).to_frame("dict")


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_separators_and_line_endings(file: Path, separator: str, newline: str) -> None:
    lines = [["name", "n", "x"], ["a", "1", "1.50"], [f'"b{separator}c"', "2", ""], ["d", "", "2.25"]]
    put(file, newline.join(separator.join(line) for line in lines) + newline)
    dialect = sniff_csv(file)
    assert (dialect.separator, dialect.newline) == (separator, newline)
    table = read(file)
    assert table.to_frame("dict") == {
        "name": ["a", f"b{separator}c", "d"],
        "n": [1, 2, None],
        "x": [1.5, None, 2.25],
    }
    assert table.schema["x"].decimals == 2


def test_decimal_comma_and_apostrophes(file: Path) -> None:
    put(file, "a;b\n'x;y';1,50\nz;-2,25\n")
    dialect = sniff_csv(file)
    assert (dialect.decimal, dialect.quote) == (",", "'")
    table = read(file)
    assert table.to_frame("dict") == {"a": ["x;y", "z"], "b": [1.5, -2.25]}
    write(table, file, dialect=dialect)
    assert file.read_text() == "a;b\n'x;y';1,50\nz;-2,25\n"


@pytest.mark.parametrize(
    ("encoding", "said"),
    [
        ("utf-8", "UTF-8"),
        ("utf-8-sig", "mark"),
        ("utf-16", "mark"),
        ("cp1252", "cp1252 assumed"),
        ("utf-32", "mark"),
    ],
)
def test_encodings(file: Path, encoding: str, said: str) -> None:
    put(file, "navn,by\nBjørk,Tromsø\nZoë,Ålesund\n".encode(encoding))
    assert said in str(sniff_csv(file))
    table = read(file)
    assert table.to_frame("dict") == {"navn": ["Bjørk", "Zoë"], "by": ["Tromsø", "Ålesund"]}
    before = file.read_bytes()
    write(table, file, dialect=sniff_csv(file))
    assert file.read_bytes() == before


def test_latin_1_where_cp1252_has_no_letter(file: Path) -> None:
    put(file, b"a,b\nx\x81,\xe9\ny,z\n")
    assert sniff_csv(file).encoding == "latin-1"
    assert read(file).rows == 2


def test_mixed_encodings_are_refused_with_the_line(file: Path) -> None:
    lines = [f"{i},Zoë".encode() for i in range(50)]
    lines[20] = "20,Zoë".encode("cp1252")
    put(file, b"id,name\n" + b"\n".join(lines) + b"\n")
    with pytest.raises(FileError, match=r"line 22 is not UTF-8, unlike the rest.*encoding='cp1252'"):
        read(file)
    assert read(file, encoding="cp1252").rows == 50
    put(file, b"id,name\n" + b"\n".join("1,Zoë".encode("cp1252") for _ in range(4)) + "\n5,Zoë\n".encode())
    with pytest.raises(FileError, match="line 6 is UTF-8, unlike the rest"):
        read(file)


def test_wrong_encoding_given(file: Path) -> None:
    put(file, "a,b\n1,2\n3,é\n".encode("cp1252"))
    with pytest.raises(FileError, match="line 3 is not valid utf-8"):
        read(file, encoding="utf-8")
    with pytest.raises(FileError, match="line 3 is not valid ascii"):
        read(file, dialect=Dialect(encoding="ascii"))
    with pytest.raises(OptionError, match="'klingon' is not known"):
        read(file, encoding="klingon")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
        ("a,b,a\n1,2,3\n", "column name 'a' appears more than once"),
        ("a,,c,\n1,2,3,4\n", "columns 2, 4 have no name"),
        ("a,b\n1,2\nsecret,2,3\n4,5\n", r"line 3 has 3 fields where 2 are expected; quote"),
        ("a,b,c\n1,2,3\n" + '"x\ny",2,3\n' + "secret,2\n", r"line 5 has 2 fields where 3 are expected; add"),
        ("a,b\n1,2\nsecret\0,3\n", "line 3 holds a NUL byte"),
        ("a,b\n".encode("utf-16-le") + "1,2\n".encode("utf-16-le"), "give encoding='utf-16-le'"),
        ('a,b\n1,"secret\n2,3\n4,5\n', "a quote opened on line 2 is never closed"),
    ],
)
def test_faulty_files(file: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(FileError, match=message) as caught:
        read(put(file, content))
    assert str(file) in str(caught.value)
    assert "secret" not in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_small_files(file: Path) -> None:
    assert read(put(file, "a,b\n")).rows == 0
    assert read(put(file, "a,b")).names == ["a", "b"]
    assert read(put(file, "a\n")).rows == 0
    assert cells(put(file, "a\n1\n\n3\n")) == {"a": [1, None, 3]}
    assert cells(put(file, "a,b\n1,x")) == {"a": [1], "b": ["x"]}
    assert cells(put(file, "a,b\n1,x\n\n\n2,y\n\n")) == {"a": [1, 2], "b": ["x", "y"]}
    assert cells(put(file, "a,b\n,\n,\n")) == {"a": [None, None], "b": [None, None]}
    assert cells(put(file, '"a\nb",c\n"x\ny",1\n')) == {"a\nb": ["x\ny"], "c": [1]}
    assert cells(put(file, 'a,b\n5" pipe,1\nx,2\n')) == {"a": ['5" pipe', "x"], "b": [1, 2]}


def test_what_is_a_number(file: Path) -> None:
    columns = {
        "whole": (["1", "-2", "0"], "integer"),
        "zeros": (["007", "1", "2"], "text"),
        "money": (["1.50", "2", "-0.25"], "float"),
        "small": (["1e-5", "2E3", "5"], "float"),
        "ends": (["inf", "-inf", "1.5"], "float"),
        "long": (["12345678901234567890", "1", "2"], "text"),
        "plus": (["+1", "2", "3"], "float"),
        "blank": ([" 1", "2", "3"], "text"),
        "words": (["many", "1", "2"], "text"),
        "gaps": (["NA", "1", "2"], "integer"),
        "under": (["1_0", "2", "3"], "text"),
        "dates": (["2020-01-01", "2020-02-30", "x"], "text"),
    }
    rows = zip(*(values for values, _ in columns.values()), strict=True)
    put(file, ",".join(columns) + "\n" + "\n".join(",".join(row) for row in rows) + "\n")
    frame = read(file).to_frame("polars")
    kinds = {"integer": (pl.Int64,), "float": (pl.Float64, pl.Int64), "text": (pl.String,)}
    for name, (_, storage) in columns.items():
        assert frame[name].dtype in kinds[storage], name
    assert frame["long"][0] == "12345678901234567890"
    kept = read(file, missing_strings=("",)).schema["gaps"].note
    assert "'NA' looks like a code for missing" in kept


def test_missing_strings(file: Path) -> None:
    put(file, 'a,b\n1,x\nNA,"NA"\n3,\n')
    assert cells(file) == {"a": [1, None, 3], "b": ["x", None, None]}
    assert cells(file, missing_strings=("",))["a"] == ["1", "NA", "3"]
    assert cells(file, missing_strings=("", "NA")) == {"a": [1, None, 3], "b": ["x", None, None]}
    assert cells(file, missing_strings=("NA",))["b"] == ["x", None, ""]


def test_schema_is_honoured(file: Path) -> None:
    put(file, "zip,income,day,ok,band,when\n1067,-8,31/12/2020,1,2,2020-01-02T03:04:05\n80331,NA,,0,1,\n")
    schema = Schema(
        (
            Column("zip", Kind.TEXT),
            Column("income", Kind.INTEGER, missing=("NA",), not_applicable=(-8,)),
            Column("day", Kind.DATETIME, format="%d/%m/%Y"),
            Column("ok", Kind.BOOLEAN, levels=(False, True)),
            Column("band", Kind.ORDERED, levels=("1", "2", "3"), domain="declared"),
            Column("when", Kind.DATETIME),
        )
    )
    table = read(file, schema)
    assert table["income"].state.tolist() == [4, 3]
    frame = table.to_frame()
    assert frame["zip"].to_list() == ["1067", "80331"]
    assert frame["ok"].to_list() == [True, False]
    assert frame["when"].to_list() == [dt.datetime(2020, 1, 2, 3, 4, 5), None]
    assert table["band"].levels == ("1", "2", "3")
    write(table, file)
    text = file.read_text().splitlines()
    assert text[1] == "1067,-8,31/12/2020,true,2,2020-01-02T03:04:05"
    assert text[2] == "80331,NA,,false,1,"
    again = read(file, schema)
    assert again.to_frame().equals(frame)
    assert again["income"].state.tolist() == [4, 3]


def test_all_mismatches_at_once_without_values(file: Path) -> None:
    put(file, "a,b,c,extra\nsecret,hidden,2020-01-01,1\n2,x,private,2\n")
    schema = Schema(
        (
            Column("a", Kind.INTEGER),
            Column("b", Kind.CATEGORICAL, levels=("x",)),
            Column("c", Kind.DATETIME, format="%Y-%m-%d"),
        )
    )
    with pytest.raises(SchemaError, match="'extra' is not in the schema"):
        read(file, schema)
    put(file, "a,b,c\nsecret,hidden,2020-01-01\n2,x,private\n")
    with pytest.raises(SchemaError) as caught:
        read(file, schema)
    assert len(caught.value.faults) == 3
    assert not any(word in str(caught.value) for word in ("secret", "hidden", "private"))


def test_null_nan_and_empty_text_with_a_schema(file: Path) -> None:
    frame = pl.DataFrame({"x": [1.5, None, float("nan"), float("inf")], "t": ["a", None, "", "a"]})
    table = Table.from_frame(frame)
    write(table, file)
    assert file.read_text() == 'x,t\n1.5,a\n,\nNaN,""\ninf,a\n'
    polars.testing.assert_frame_equal(read(file, table.schema).to_frame(), frame)


NUMBERS = st.floats(allow_nan=False).filter(lambda v: abs(v) < 1e300)
TEXTS = st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_round_trip_with_the_schema(tmp_path: Path, data: st.DataObject) -> None:
    rows = data.draw(st.integers(0, 8))
    names = data.draw(st.lists(TEXTS.filter(lambda t: t.strip() != ""), unique=True, min_size=1, max_size=4))
    kinds = [
        (pl.Int64, st.integers(-(2**63), 2**63 - 1)),
        (pl.Float64, NUMBERS),
        (pl.String, TEXTS),
        (pl.Boolean, st.booleans()),
        (pl.String, st.sampled_from(["01", "1", "1.0", "true", "NA", "-"])),
        (pl.Datetime("us"), st.datetimes(dt.datetime(1600, 1, 1), dt.datetime(2500, 1, 1))),
        (pl.Enum(["b", "a"]), st.sampled_from(["b", "a"])),
    ]
    columns = []
    for name in names:
        dtype, values = data.draw(st.sampled_from(kinds))
        gaps = st.none() if len(names) > 1 else values
        columns.append(
            pl.Series(name, data.draw(st.lists(st.one_of(gaps, values), min_size=rows, max_size=rows)), dtype)
        )
    frame = pl.DataFrame(columns)
    table = Table.from_frame(frame)
    separator = data.draw(st.sampled_from([",", ";", "\t", "|"]))
    decimal = data.draw(st.sampled_from([".", ","])) if separator != "," else "."
    newline = data.draw(st.sampled_from(["\n", "\r\n"]))
    dialect = Dialect(separator, decimal=decimal, newline=newline, mark=data.draw(st.booleans()))
    path = tmp_path / "r.csv"
    write(table, path, dialect=dialect)
    first = path.read_bytes()
    back = read(path, table.schema, dialect=dialect)
    # A column of whole floats is written and read as whole numbers: CSV has no types of its own.
    made = back.to_frame().with_columns(
        pl.col(s.name).cast(pl.Float64) for s in frame if s.dtype == pl.Float64
    )
    polars.testing.assert_frame_equal(made, frame, check_exact=True)
    write(back, path, dialect=dialect)
    assert path.read_bytes() == first


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=200))
def test_any_bytes_give_a_table_or_one_line(tmp_path: Path, content: bytes) -> None:
    path = put(tmp_path / "b.csv", content)
    message = ""
    try:
        read(path)
    except FileError as error:
        message = str(error)
    assert "\n" not in message


def test_many_ids_and_many_categories(file: Path) -> None:
    rows = 200_000
    ids = [f"P{i:06d}" for i in range(rows)]
    frame = pl.DataFrame({"id": ids, "many": [f"c{i % 10_000}" for i in range(rows)], "one": ["x"] * rows})
    frame.write_csv(file)
    table = read(file)
    assert table.schema.by_role("identifier") == ["id"]
    assert len(table["many"].levels) == 10_000
    polars.testing.assert_frame_equal(table.to_frame(), frame)


@pytest.mark.slow
def test_a_million_rows(file: Path) -> None:
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {"a": rng.integers(0, 10**6, 10**6), "b": rng.normal(size=10**6).round(3), "c": ["x"] * 10**6}
    )
    frame.write_csv(file)
    polars.testing.assert_frame_equal(read(file).to_frame(), frame)


def test_writing(file: Path, tmp_path: Path) -> None:
    write({"a": [1, None]}, file)
    assert file.read_text() == 'a\n1\n""\n'
    assert cells(file) == {"a": [1, None]}
    write({"a": [1], "b": ["x\ty"]}, tmp_path / "a.tsv")
    assert (tmp_path / "a.tsv").read_text() == 'a\tb\n1\t"x\ty"\n'
    assert cells(tmp_path / "a.tsv") == {"a": [1], "b": ["x\ty"]}
    with pytest.raises(DataError, match="without columns"):
        write({}, file)
    with pytest.raises(FileError, match="line 3 has a character that cp1252 cannot express"):
        write({"a": ["x", "漢"], "b": [1, 2]}, file, dialect=Dialect(encoding="cp1252"))
    assert cells(file) == {"a": [1, None]}  # the old file stands
    with pytest.raises(OptionError):
        Dialect(separator=",", decimal=",")


def test_zoned_moments(file: Path) -> None:
    moment = dt.datetime(2020, 1, 1, 1, tzinfo=dt.UTC)
    table = Table.from_frame(pl.DataFrame({"t": [moment, None], "i": [1, 2]}))
    write(table, file)
    assert file.read_text() == "t,i\n2020-01-01T01:00:00Z,1\n,2\n"
    assert read(file, table.schema)["t"].data.tolist() == table["t"].data.tolist()


def test_dialect_says_what_was_assumed(file: Path) -> None:
    put(file, "a;b\n1,5;x\n")
    assert str(sniff_csv(file)) == "semicolon-separated, decimal comma, UTF-8"
    assert str(sniff_csv(file, separator=",")).startswith("comma")
    assert read_csv(file, dialect=sniff_csv(file)).to_frame("dict") == {"a": [1.5], "b": ["x"]}


def test_numbers_that_a_float_cannot_hold_stay_text(file: Path) -> None:
    assert cells(put(file, "a\n1e400\n1\n")) == {"a": ["1e400", "1"]}


def test_zero_is_not_written_as_minus_zero(file: Path) -> None:
    write({"a": [-0.0, 0.0, 2.5]}, file)
    assert file.read_text() == "a\n-0.0\n0.0\n2.5\n"


@pytest.mark.parametrize("separator", ["", ",,"])
def test_a_separator_is_one_character(file: Path, separator: str) -> None:
    with pytest.raises(OptionError, match="one character"):
        read(put(file, "a,b\n1,2\n"), separator=separator)


FORMULAS = ["=HYPERLINK(A1)", "+cmd|'/C calc'!A0", "-2+3", "@SUM(1)", "\tx", "\rx", "'=1"]


def test_text_that_a_spreadsheet_would_run_is_marked_and_comes_back(file: Path) -> None:
    frame = pl.DataFrame({"=evil()": [*FORMULAS, "plain", "-8"], "n": [-1.5] * 9})
    write(frame, file)
    rows = list(csv.reader(io.StringIO(file.read_bytes().decode(), newline="")))
    assert rows[0] == ["'=evil()", "n"]
    assert [r[0] for r in rows[1:]] == [*(f"'{text}" for text in FORMULAS), "plain", "-8"]
    assert {r[1] for r in rows[1:]} == {"-1.5"}, "numbers are left alone"
    polars.testing.assert_frame_equal(read(file).to_frame(), frame)
    write(frame, file, formulas=True)
    assert "\n=HYPERLINK" in file.read_text()


def test_a_workbook_holds_no_formula(tmp_path: Path) -> None:
    path = tmp_path / "a.xlsx"
    write({"=evil()": [*FORMULAS, "plain"]}, path)
    with zipfile.ZipFile(path) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml")
    assert b"<f>" not in sheet


def test_two_names_that_differ_by_a_mark_stay_two(file: Path) -> None:
    put(file, "=a,'=a\n1,2\n")
    assert cells(file) == {"=a": [1], "'=a": [2]}


LATE = {
    "a code after many numbers": ("7", "0110", "text"),
    "a section of an industry": ("10.5", "01.11", "text"),
    "a sign in front": ("7", "+5", "integer"),
    "decimals after whole numbers": ("7", "2.50", "float"),
    "an exponent": ("7.5", "1e2", "float"),
    "a number longer than a double": ("7.5", "12345678901234567.5", "text"),
    "more digits than a double holds": ("7.5", "9007199254740.995", "float"),
    "a word for a gap": ("7", "NA", "integer"),
    "a zero with a minus": ("7.5", "-0.5", "float"),
    "an answer": ("7", "seven", "text"),
}


@pytest.mark.parametrize("case", LATE)
@pytest.mark.parametrize("few", [True, False], ids=["few values", "many values"])
def test_what_comes_late_in_a_long_file_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, case: str, few: bool
) -> None:
    usual, late, storage = LATE[case]
    cells = [usual] * 400 if few else [f"{i}{usual}" for i in range(1, 401)]
    path = tmp_path / "long.csv"
    path.write_text("id,x\n" + "".join(f"p{i:03},{c}\n" for i, c in enumerate([*cells, late, usual])))
    whole = read_csv(path)
    monkeypatch.setattr(files_cells, "PEEK", 50)
    monkeypatch.setattr(files_cells, "SHORT", 0)
    parts = read_csv(path)
    kept = parts.to_frame("polars")["x"]
    assert kept.to_list() == whole.to_frame("polars")["x"].to_list()
    assert parts.schema == whole.schema
    expected = {"text": pl.String, "integer": pl.Int64, "float": pl.Float64}[storage]
    assert kept.dtype == expected
    if storage == "text":
        assert kept[400] == late
    elif late == "NA":
        assert kept[400] is None
    else:
        assert kept[400] == float(late)


def test_numbers_at_the_edges_are_written_as_they_are_read(tmp_path: Path) -> None:
    edges = [-(2**63), 2**63 - 1, 0, -1, 10, 99, 100]
    path = tmp_path / "edges.csv"
    path.write_text("x\n" + "\n".join(map(str, edges)) + "\n")
    assert read_csv(path).to_frame("dict")["x"] == edges
    path.write_text("x\n" + "\n".join(["-0", *map(str, edges[2:])]) + "\n")
    assert read_csv(path).to_frame("polars")["x"].to_list()[1:] == [0, -1, 10, 99, 100]


@pytest.mark.parametrize("short", [1 << 20, 0], ids=["short", "long"])
def test_a_number_that_stands_for_a_gap_is_one_in_a_long_file_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short: int
) -> None:
    monkeypatch.setattr(files_cells, "SHORT", short)
    monkeypatch.setattr(files_cells, "PEEK", 2)
    path = tmp_path / "gaps.csv"
    path.write_text("x,y\n-9,1.5\n3,-9\n4,2.5\n")
    frame = read_csv(path, missing_strings=("", "-9")).to_frame("dict")
    assert frame == {"x": [None, 3, 4], "y": [1.5, None, 2.5]}


PIECES = ["a", "7", "-12", "0", "07", "1.50", ".5", "-0", "1e3", "NA", "", '"', '""', '"x"', '"a,b"', '"4"', "é", "'=1",
          "12345678901234567", "0.12345678901234567", "sixteen bytes are alike x", "sixteen bytes are alike y",
          ",", ",", "\n", "\n", "\r\n", "\n\n"]  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=40), st.booleans(), st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=100, deadline=None)
def test_a_long_file_is_read_as_a_short_one(
    tmp_path: Path, pieces: list[str], one_column: bool, guess: bool
) -> None:
    """Read by Python itself, by the kernel as text, and by the kernel with numbers guessed from two rows."""
    path = tmp_path / "any.csv"
    path.write_text(("x\n" if one_column else "x,y\n") + "".join(pieces), encoding="utf-8", newline="")
    seen = []
    for short, peek in ((1 << 20, 10_000), (0, 10_000), (0, 2)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(files_cells, "SHORT", short)
            patch.setattr(files_cells, "PEEK", peek)
            try:
                table = read_csv(path, missing_strings=None if guess else ("", "7"), separator=",")
                seen.append((table.to_frame("dict"), table.schema))
            except FileError as error:
                seen.append(str(error))
    assert repr(seen[0]) == repr(seen[1]) == repr(seen[2])


def test_texts_that_share_their_first_sixteen_bytes_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files_cells, "SHORT", 0)
    texts = ["sixteen letters!", "sixteen letters!!", "sixteen letters", "sixteen letters!?"] * 3
    path = put(tmp_path / "alike.csv", "a,b\n" + "".join(f"{text},{i}\n" for i, text in enumerate(texts)))
    assert cells(path)["a"] == texts


def test_a_hundred_thousand_names_stay_as_they_are(file: Path, tmp_path: Path) -> None:
    """Levels of a column whose texts all differ are not made one by one before somebody asks for them."""
    texts = [f"N{i * 7919 % 100_003:06d}" for i in range(100_003)]
    texts[5] = "=1+1"
    put(file, "name,sex\n" + "".join(f"{text},{'fm'[i % 2]}\n" for i, text in enumerate(texts)))
    table = read(file)
    held = table.schema["name"].levels
    assert not isinstance(held, tuple)
    assert len(held) == len(texts)
    assert table["name"].levels == tuple(sorted(texts)) == held
    assert table.to_frame("polars")["name"].to_list() == texts
    write(table, tmp_path / "again.csv")
    assert "'=1+1,m\n" in (tmp_path / "again.csv").read_text()
    assert read(tmp_path / "again.csv").to_frame("polars").equals(table.to_frame("polars"))


@given(
    st.lists(
        st.one_of(
            st.none(), st.floats(-1e9, 1e9), st.decimals(-999, 999, places=2).map(float), st.just(-0.0)
        ),
        min_size=1,
        max_size=30,
    ),
    st.integers(0, 6),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_numbers_are_written_with_their_decimals_as_python_writes_them(
    tmp_path: Path, numbers: list[float | None], decimals: int
) -> None:
    """Exact ones are written by Polars, others by their text; nobody sees which."""
    schema = Schema(
        (Column("x", Kind.CONTINUOUS, decimals=decimals), Column("y", Kind.INTEGER, missing=(-8,)))
    )
    whole = [-8 if i % 3 == 0 else i for i in range(len(numbers))]
    write(Table.from_frame({"x": numbers, "y": whole}, schema), tmp_path / "x.csv")
    wanted = ["" if number is None else f"{number:.{decimals}f}" for number in numbers]
    lines = (tmp_path / "x.csv").read_text().splitlines()[1:]
    assert lines == [f"{x},{y}" for x, y in zip(wanted, whole, strict=True)]
