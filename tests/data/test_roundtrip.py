"""Any frame → Table → the same frame: type, dtypes, values, order, categories, missingness."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import polars.testing
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from dalenius.core.errors import DataError, SchemaError
from dalenius.data import Column, Kind, Schema, Table

SETTINGS = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
WORDS = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=6)
NAMES = st.text(alphabet=st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
FLOATS = st.floats(allow_nan=True, allow_infinity=True, width=64)
MOMENTS = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1)).map(lambda m: m.replace(fold=0))
DAYS = st.dates(dt.date(1000, 1, 1), dt.date(9999, 12, 31))
DECIMALS = st.decimals(-(10**12), 10**12, places=2, allow_nan=False).map(lambda d: d + 0)  # no minus zero
BIG_DECIMALS = st.integers(-(10**30), 10**30).map(lambda i: Decimal(i).scaleb(-4))
SPANS = st.integers(-(10**12), 10**12).map(lambda us: dt.timedelta(microseconds=us))
CLOCK = st.times().map(lambda t: t.replace(fold=0))

POLARS = [
    (pl.Int8, st.integers(-128, 127)),
    (pl.Int64, st.integers(-(2**63), 2**63 - 1)),
    (pl.Int64, st.sampled_from([-9, -8, 1, 2, 3])),
    (pl.UInt64, st.integers(0, 2**64 - 1)),
    (pl.UInt16, st.integers(0, 5)),
    (pl.Float64, FLOATS),
    (pl.Float64, st.sampled_from([1.0, 2.0, 5.0, -9.0])),
    (pl.Float32, st.floats(width=32)),
    (pl.Boolean, st.booleans()),
    (pl.String, WORDS),
    (pl.String, st.sampled_from(["2020-01-31", "2021-12-01", "1999-05-05"])),
    (pl.String, st.sampled_from(["007", "1", "12"])),
    (pl.Categorical, st.sampled_from(["b", "a", "", "ü"])),
    (pl.Enum(["b", "a", "", "c"]), st.sampled_from(["b", "a", ""])),
    (pl.Decimal(20, 2), DECIMALS),
    (pl.Decimal(38, 4), BIG_DECIMALS),
    (pl.Decimal(10, 0), st.integers(-5, 5).map(Decimal)),
    (pl.Date, DAYS),
    (pl.Datetime("us"), MOMENTS),
    (pl.Datetime("ms"), MOMENTS.map(lambda m: m.replace(microsecond=0))),
    (pl.Datetime("ns"), MOMENTS),
    (pl.Datetime("us", "Europe/Stockholm"), MOMENTS.map(lambda m: m.replace(tzinfo=dt.UTC))),
    (pl.Duration("us"), SPANS),
    (pl.Duration("ns"), st.sampled_from([dt.timedelta(1), dt.timedelta(2)])),
    (pl.Time, CLOCK),
    (pl.Null, st.none()),
]


@st.composite
def polars_frames(draw: st.DrawFn) -> pl.DataFrame:
    rows = draw(st.integers(0, 8))
    names = draw(st.lists(NAMES, unique=True, max_size=4))
    columns = []
    for name in names:
        dtype, values = draw(st.sampled_from(POLARS))
        filled = draw(st.lists(st.one_of(st.none(), values, values), min_size=rows, max_size=rows))
        columns.append(pl.Series(name, filled, dtype=dtype, strict=True))
    return pl.DataFrame(columns)


def same_polars(left: pl.DataFrame, right: pl.DataFrame) -> None:
    assert left.schema == right.schema
    polars.testing.assert_frame_equal(left, right, check_exact=True, categorical_as_str=False)


@SETTINGS
@given(polars_frames())
def test_polars(frame: pl.DataFrame) -> None:
    same_polars(Table.from_frame(frame).to_frame(), frame)


@SETTINGS
@given(polars_frames())
def test_polars_lazy(frame: pl.DataFrame) -> None:
    back = Table.from_frame(frame.lazy()).to_frame()
    assert isinstance(back, pl.LazyFrame)
    same_polars(back.collect(), frame)


def _plain_names(frame: pl.DataFrame) -> bool:
    return not any("\0" in name for name in frame.columns)  # Arrow's own interface stops at a NUL


@SETTINGS
@given(polars_frames())
def test_arrow(frame: pl.DataFrame) -> None:
    arrow = frame.to_arrow() if _plain_names(frame) else pa.table({})
    back = Table.from_frame(arrow).to_frame()
    assert isinstance(back, pa.Table)
    assert back.schema.equals(arrow.schema), (back.schema, arrow.schema)
    for name in arrow.column_names:
        if pa.types.is_dictionary(arrow.schema.field(name).type):
            assert back.column(name).to_pylist() == arrow.column(name).to_pylist()
        else:
            # Values compare as Polars sees them, for which NaN equals NaN.
            polars.testing.assert_series_equal(
                pl.from_arrow(back.column(name)), pl.from_arrow(arrow.column(name)), check_exact=True
            )


# DuckDB turns durations into calendar intervals, which we refuse, and times of day into microseconds.
ROUND = [
    dtype for dtype in POLARS if dtype[0] not in (pl.Time, pl.Duration("ns"), pl.Duration("us"), pl.Null)
]


@settings(SETTINGS, max_examples=25)
@given(st.data())
def test_duckdb(data: st.DataObject) -> None:
    rows = data.draw(st.integers(0, 6))
    columns = {}
    for i in range(data.draw(st.integers(1, 3))):
        dtype, values = data.draw(st.sampled_from(ROUND))
        filled = data.draw(st.lists(st.one_of(st.none(), values), min_size=rows, max_size=rows))
        columns[f"c{i}"] = pl.Series(filled, dtype=dtype)
    arrow = pl.DataFrame(columns).to_arrow()  # noqa: F841 (DuckDB reads the variable)
    relation = duckdb.sql("select * from arrow")
    back = Table.from_frame(relation).to_frame()
    assert isinstance(back, duckdb.DuckDBPyRelation)
    assert back.columns == relation.columns
    assert [str(t) for t in back.types] == [str(t) for t in relation.types]
    assert repr(back.to_arrow_table().to_pylist()) == repr(relation.to_arrow_table().to_pylist())


ZONED = MOMENTS.map(lambda m: pd.Timestamp(m, tz="UTC").tz_convert("America/New_York"))
MIXED = st.one_of(st.integers(-5, 5), WORDS, st.booleans(), st.sampled_from([1.5, 2.5]))
PANDAS = [
    ("int64", st.integers(-(2**63), 2**63 - 1), False),
    ("int16", st.sampled_from([1, 2, 3]), False),
    ("uint64", st.integers(0, 2**64 - 1), False),
    ("float64", FLOATS, False),
    ("float32", st.floats(width=32), False),
    ("bool", st.booleans(), False),
    ("Int64", st.integers(-(2**62), 2**62), True),
    ("Int8", st.sampled_from([1, 2]), True),
    ("UInt64", st.integers(0, 2**64 - 1), True),
    ("Float64", st.floats(allow_nan=False), True),
    ("boolean", st.booleans(), True),
    ("str", WORDS, True),
    ("string", WORDS, True),
    ("string[pyarrow]", WORDS, True),
    ("category", WORDS, True),
    ("category", st.integers(0, 5), True),
    (pd.CategoricalDtype(["b", "a", "c"], ordered=True), st.sampled_from(["b", "a"]), True),
    (pd.CategoricalDtype([3, 1, 2], ordered=True), st.sampled_from([3, 1]), True),
    (pd.CategoricalDtype(pd.interval_range(0, 3)), st.sampled_from(list(pd.interval_range(0, 3))), True),
    (
        pd.CategoricalDtype(pd.date_range("2020", periods=3)),
        st.sampled_from(list(pd.date_range("2020", periods=3))),
        True,
    ),
    ("object", MIXED, True),
    ("object", WORDS, True),
    ("object", st.integers(-(2**70), 2**70), True),
    ("object", DAYS, True),
    ("object", DECIMALS, True),
    ("datetime64[ns]", MOMENTS, True),
    ("datetime64[us]", MOMENTS, True),
    ("datetime64[s]", MOMENTS.map(lambda m: m.replace(microsecond=0)), True),
    ("datetime64[ns, America/New_York]", ZONED, True),
    ("timedelta64[ns]", SPANS, True),
    ("timedelta64[us]", st.sampled_from([dt.timedelta(1), dt.timedelta(2)]), True),
    (pd.ArrowDtype(pa.int32()), st.integers(-5, 50), True),
    (pd.ArrowDtype(pa.string()), WORDS, True),
    (pd.ArrowDtype(pa.float64()), st.floats(allow_nan=False), True),
    (pd.ArrowDtype(pa.timestamp("us", "UTC")), MOMENTS.map(lambda m: m.replace(tzinfo=dt.UTC)), True),
    (pd.ArrowDtype(pa.date32()), DAYS, True),
    (pd.ArrowDtype(pa.bool_()), st.booleans(), True),
    (pd.ArrowDtype(pa.decimal128(20, 2)), DECIMALS, True),
]
INDEXES = st.sampled_from(["range", "text", "dates", "multi", "shuffled"])


@st.composite
def pandas_frames(draw: st.DrawFn) -> pd.DataFrame:
    rows = draw(st.integers(0, 7))
    names = draw(st.lists(st.one_of(NAMES, st.integers(0, 99)), unique_by=str, max_size=4))
    columns = {}
    for name in names:
        dtype, values, gaps = draw(st.sampled_from(PANDAS))
        gap = draw(st.sampled_from([None, np.nan, pd.NA])) if str(dtype) == "object" else None
        cells = st.one_of(st.just(gap), values, values) if gaps else values
        columns[name] = pd.Series(draw(st.lists(cells, min_size=rows, max_size=rows)), dtype=dtype)
    frame = pd.DataFrame(columns, index=pd.RangeIndex(rows))
    frame.index = _index(draw(INDEXES), rows)
    return frame


def _index(sort: str, rows: int) -> pd.Index:
    if sort == "text":
        return pd.Index([f"r{i}" for i in range(rows)], name="who", dtype="str")
    if sort == "dates":
        return pd.date_range("2020", periods=rows)
    if sort == "multi":
        return pd.MultiIndex.from_arrays([list(range(rows)), ["x"] * rows], names=["a", None])
    return pd.RangeIndex(rows) if sort == "range" else pd.Index(np.arange(rows)[::-1] * 7)


def same_pandas(left: pd.DataFrame, right: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(left, right, check_exact=True, check_freq=False)
    for i in range(right.shape[1]):
        if right.dtypes.iloc[i].kind == "O" and right.dtypes.iloc[i].name == "object":
            for a, b in zip(left.iloc[:, i], right.iloc[:, i], strict=True):
                # An object column of whole and broken numbers is one column of numbers: 1 comes back as 1.0.
                assert type(a) is type(b) or {type(a), type(b)} == {int, float}, (a, b)


@settings(SETTINGS, max_examples=40)
@given(pandas_frames())
def test_pandas(frame: pd.DataFrame) -> None:
    before = frame.copy(deep=True)
    same_pandas(Table.from_frame(frame).to_frame(), frame)
    same_pandas(frame, before)  # the caller's frame is left alone


def test_pandas_keeps_nan_among_numbers_and_words() -> None:
    frame = pd.DataFrame({"a": pd.Series([np.nan, "", 1.5], dtype=object)})
    same_pandas(Table.from_frame(frame).to_frame(), frame)


NUMPY = [
    ("int32", st.integers(-9, 9)),
    ("uint64", st.integers(0, 2**64 - 1)),
    ("float64", FLOATS),
    ("float32", st.floats(width=32)),
    ("bool", st.booleans()),
    ("U5", st.text(alphabet="abcü", max_size=5)),
    ("datetime64[D]", DAYS),
    ("datetime64[ns]", MOMENTS),
    ("timedelta64[us]", SPANS),
    ("object", MIXED),
]
PLAIN = [
    WORDS,
    st.integers(-(2**70), 2**70),
    FLOATS,
    st.booleans(),
    MIXED,
    DAYS,
    MOMENTS,
    DECIMALS,
    SPANS,
    CLOCK,
]


@SETTINGS
@given(st.data())
def test_dict_of_lists_and_arrays(data: st.DataObject) -> None:
    rows = data.draw(st.integers(0, 6))
    frame: dict[object, object] = {}
    for name in data.draw(st.lists(st.one_of(NAMES, st.integers(0, 9)), unique_by=str, max_size=3)):
        if data.draw(st.booleans()):
            dtype, values = data.draw(st.sampled_from(NUMPY))
            cells = data.draw(st.lists(values, min_size=rows, max_size=rows))
            frame[name] = np.array(cells, dtype=dtype)
        else:
            values = data.draw(st.sampled_from(PLAIN))
            frame[name] = data.draw(st.lists(st.one_of(st.none(), values), min_size=rows, max_size=rows))
    back = Table.from_frame(frame).to_frame()
    assert list(back) == list(frame)
    for name, values in frame.items():
        assert type(back[name]) is type(values)
        if isinstance(values, np.ndarray):
            assert back[name].dtype == values.dtype
            assert [_shown(v) for v in back[name].tolist()] == [_shown(v) for v in values.tolist()]
        else:
            assert [_shown(v) for v in back[name]] == [_shown(v) for v in values]


def _shown(value: object) -> str:
    # A list of whole and broken numbers is one column of numbers: 1 comes back as 1.0.
    return repr(float(value)) if type(value) in (int, float) and abs(value) < 2**53 else repr(value)


@settings(SETTINGS, max_examples=40)
@given(polars_frames(), st.sampled_from(["polars", "pandas", "pyarrow", "duckdb", "dict"]))
def test_every_frame_can_become_every_other(frame: pl.DataFrame, backend: str) -> None:
    table = Table.from_frame(frame)
    assume(backend not in ("duckdb", "pyarrow") or (frame.width and _plain_names(frame)))
    made = table.to_frame(backend)
    again = Table.from_frame(made)
    assert (again.rows if frame.width else table.rows) == table.rows
    assert again.names == table.names


@pytest.mark.parametrize(
    "empty", [pl.DataFrame(), pd.DataFrame(), pa.table({}), {}, pd.DataFrame(index=[3, 4])]
)
def test_no_columns(empty: object) -> None:
    back = Table.from_frame(empty).to_frame()
    assert type(back) is type(empty)
    assert len(back) == len(empty)


def test_null_and_nan_stay_apart() -> None:
    frame = pl.DataFrame({"a": [1.5, None, float("nan"), 2.5]})
    table = Table.from_frame(frame)
    assert table["a"].state is not None
    assert table["a"].state.tolist() == [0, 1, 2, 0]
    same_polars(table.to_frame(), frame)
    masked = pd.DataFrame(
        {"a": pd.arrays.FloatingArray(np.array([1.5, np.nan, 3]), np.array([False, False, True]))}
    )
    back = Table.from_frame(masked).to_frame()
    assert np.isnan(back["a"].array._data[1])
    assert back["a"].isna().tolist() == masked["a"].isna().tolist()


def test_object_gaps_come_back_as_they_were() -> None:
    frame = pd.DataFrame(
        {"a": pd.Series(["x", np.nan, "y"], dtype=object), "b": pd.Series(["x", None, 3], dtype=object)}
    )
    back = Table.from_frame(frame).to_frame()
    assert isinstance(back["a"][1], float)
    assert back["b"][1] is None


def test_nanoseconds() -> None:
    frame = pd.DataFrame({"t": pd.Series(np.array([1, 2_000_000_001], "datetime64[ns]"))})
    same_pandas(Table.from_frame(frame).to_frame(), frame)


def test_column_index_name_and_levels_are_kept() -> None:
    frame = pd.DataFrame(
        [[1, 2], [3, 4]], columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2)], names=["x", "y"])
    )
    same_pandas(Table.from_frame(frame).to_frame(), frame)


def test_special_codes_come_back_as_they_went_in() -> None:
    values = [5, -8, None, 7, -9, 1200, 33, 41, 8, 2, 77, 61, 90, 91, 92] * 4
    for dtype in ("Int64", "Float64", "float64", pd.ArrowDtype(pa.int32())):
        frame = pd.DataFrame({"income": pd.array(values, dtype="Int64")}).astype(dtype)
        table = Table.from_frame(frame)
        assert table["income"].column.missing == (-9,)
        assert table["income"].column.not_applicable == (-8,)
        assert table["income"].values.min() == 2
        same_pandas(table.to_frame(), frame)


def test_ten_thousand_categories_and_a_constant() -> None:
    frame = pl.DataFrame({"many": [f"c{i % 10_000}" for i in range(30_000)], "one": ["x"] * 30_000})
    table = Table.from_frame(frame)
    assert len(table["many"].levels) == 10_000
    assert len(table["one"].levels) == 1
    same_polars(table.to_frame(), frame)


def test_arrow_dictionaries_with_gaps_inside_and_many_chunks() -> None:
    inside = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None]), pa.array(["a", None, "b"]))
    table = pa.table({"d": pa.chunked_array([inside, inside])})
    assert Table.from_frame(table).to_frame().column("d").to_pylist() == ["a", None, "b", None] * 2


def test_unsupported_things_say_so() -> None:
    with pytest.raises(DataError, match="cannot read a int as a table"):
        Table.from_frame(3)
    with pytest.raises(DataError, match=r"column 'a'.*list"):
        Table.from_frame(pl.DataFrame({"a": [[1], [2]]}))
    with pytest.raises(DataError, match="column 'a' holds lists"):
        Table.from_frame({"a": [[1], [2]]})
    with pytest.raises(DataError, match="appears more than once"):
        Table.from_frame(pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with pytest.raises(DataError, match="differ in length: 'b'"):
        Table.from_frame({"a": [1, 2], "c": [1, 2], "b": [1]})
    with pytest.raises(DataError, match="column 'a' holds complex"):
        Table.from_frame(pd.DataFrame({"a": [1 + 2j]}))


def test_with_schema_reads_again_when_codes_or_levels_change() -> None:
    table = Table.from_frame({"a": [1, 2, 3, 9] * 10})
    wanted = Schema((Column("a", table.schema["a"].kind, levels=(3, 2, 1), missing=(9,)),))
    again = table.with_schema(wanted)
    assert again["a"].levels == (3, 2, 1)
    assert again.to_frame() == table.to_frame()
    assert int(np.count_nonzero(again["a"].present)) == 30


def test_all_mismatches_at_once_and_no_value_in_the_message() -> None:
    schema = Schema(
        (Column("a", Kind.INTEGER), Column("b", Kind.CATEGORICAL, levels=("x",)), Column("c", Kind.DATETIME))
    )
    with pytest.raises(SchemaError) as caught:
        Table.from_frame({"a": ["secret", "2"], "b": ["x", "hidden"], "c": [1.5, 2.5]}, schema)
    assert len(caught.value.faults) == 3
    assert "secret" not in str(caught.value)
    assert "hidden" not in str(caught.value)


def test_text_codes_among_numbers_become_gaps_in_a_number_frame() -> None:
    schema = Schema((Column("a", Kind.INTEGER, missing=("NA",)),))
    from dalenius.data.frames import Origin, Raw

    raw = Raw("a", "mixed", np.array([0, 1]), None, (5, "NA"))
    table = Table.from_raws([raw], Origin("polars"), schema)
    assert table.to_frame()["a"].to_list() == [5, None]
    assert table.to_frame("pandas")["a"].isna().tolist() == [False, True]
