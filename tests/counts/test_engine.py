from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import polars as pl
import pytest

from dalenius.core.errors import DataError, FileError, OptionError
from dalenius.counts import Counts, count, count_all
from dalenius.counts.pushdown import count_pushed
from dalenius.counts.sources import LazySource
from dalenius.data import Column, Grouping, Kind, Schema, Table
from dalenius.data.files import read_csv
from dalenius.data.vector import MISSING_LABEL, NAN_LABEL

NAMES = ["sex", "code", "age", "size", "born", "seen", "adult", "empty"]


def people(rows: int = 2000, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)

    def holes(values: list[Any], share: float = 0.1) -> list[Any]:
        return [None if hole else value for value, hole in zip(values, rng.random(rows) < share, strict=True)]

    ages = rng.integers(0, 90, rows)
    ages[rng.random(rows) < 0.05] = -8  # looks like a code for "not applicable"
    return pl.DataFrame(
        {
            "sex": holes(rng.choice(["f", "m", "x"], rows).tolist()),
            "code": rng.choice(["007", "07", "12"], rows).tolist(),
            "age": holes(ages.tolist()),
            "size": rng.choice([0.5, 1.25, -0.0, 0.0], rows).tolist(),
            "born": holes(
                [dt.date(2000, 1, 1) + dt.timedelta(days=int(d)) for d in rng.integers(0, 40, rows)]
            ),
            "seen": rng.choice(["2020-01-01", "2021-05-03"], rows).tolist(),
            "adult": holes(rng.choice([True, False], rows).tolist()),
            "empty": pl.Series([None] * rows, dtype=pl.String),
            "w": rng.integers(1, 50, rows) / 4,
        }
    )


def parquet(frame: pl.DataFrame, folder: Path) -> Any:
    frame.write_parquet(folder / "people.parquet")
    return folder / "people.parquet"


ENGINES: dict[str, Callable[[pl.DataFrame, Path], Any]] = {
    "polars": lambda frame, folder: frame,
    "polars lazy": lambda frame, folder: frame.lazy(),
    "narwhals lazy": lambda frame, folder: nw.from_native(frame.lazy()),
    "polars scan": lambda frame, folder: pl.scan_parquet(parquet(frame, folder)),
    "duckdb relation": lambda frame, folder: duckdb.from_arrow(frame.to_arrow()),
    "duckdb through narwhals": lambda frame, folder: nw.from_native(duckdb.from_arrow(frame.to_arrow())),
    "arrow": lambda frame, folder: frame.to_arrow(),
    "parquet": parquet,
    "parquet as text": lambda frame, folder: str(parquet(frame, folder)),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("weights", [None, "w"])
def test_engines_agree(engine: str, weights: str | None, tmp_path: Path) -> None:
    frame = people()
    source = ENGINES[engine](frame, tmp_path)
    expected = count(Table.from_frame(frame), NAMES, weights=weights)
    found = count(source, NAMES, weights=weights)
    assert found.same_as(expected)
    assert expected.total == (2000 if weights is None else pytest.approx(frame["w"].sum()))
    assert MISSING_LABEL in expected.labels[0]
    assert -8 in expected.labels[2]
    pairs = count_all(source, 2, NAMES[:5], weights=weights)
    for names, table in count_all(frame, 2, NAMES[:5], weights=weights).items():
        assert pairs[names].same_as(table), names
        assert table.same_as(expected.margin(names))


def test_pandas_agrees() -> None:
    frame = people().drop("born", "empty")
    names = [name for name in NAMES if name in frame.columns]
    assert count(frame.to_pandas(), names).same_as(count(frame, names))


@pytest.mark.parametrize("separator", [",", ";"])
def test_csv_agrees_with_the_table_that_is_read_from_it(separator: str, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    people().write_csv(path, separator=separator)
    if separator == ";":
        path.write_text(path.read_text().replace(".", ","))
    expected = count(read_csv(path), NAMES, weights="w")
    found = count(path, NAMES, weights="w")
    assert found.same_as(expected)
    assert list(found.labels[1]) == ["007", "07", "12"]


def test_nan_and_missing_stay_apart(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": [1.5, float("nan"), None, 1.5, float("nan")], "y": [1, 2, 1, 1, 2]})
    expected = count(Table.from_frame(frame), ["x", "y"])
    assert expected.labels[0] == [1.5, MISSING_LABEL, NAN_LABEL]
    for engine in ENGINES.values():
        assert count(engine(frame, tmp_path), ["x", "y"]).same_as(expected)
    assert expected.margin(["x"]).counts.tolist() == [2, 1, 2]


def test_a_schema_fixes_levels_and_codes(tmp_path: Path) -> None:
    frame = people()
    schema = Schema(
        (
            Column("sex", Kind.CATEGORICAL, levels=("x", "m", "f", "never")),
            Column("age", Kind.INTEGER, not_applicable=(-8,)),
            Column("adult", Kind.BOOLEAN, levels=(True, False)),
        )
    )
    expected = count(frame, ["sex", "age", "adult"], schema=schema)
    assert list(expected.labels[0]) == ["x", "m", "f", "never", MISSING_LABEL]
    for engine in ENGINES.values():
        assert count(engine(frame, tmp_path), ["sex", "age", "adult"], schema=schema).same_as(expected)
    whole = Table.from_frame(frame.select("sex", "age", "adult"))
    assert count(whole, ["sex", "age", "adult"], schema=schema).same_as(expected)
    frame.write_csv(tmp_path / "p.csv")
    assert count(tmp_path / "p.csv", ["sex", "age", "adult"], schema=schema).same_as(expected)


def test_grouping_works_everywhere(tmp_path: Path) -> None:
    frame = people()
    grouping = Grouping.fit(Table.from_frame(frame), columns=["age"], groups=4)
    expected = count(frame, ["sex", "age"], grouping=grouping)
    assert len(expected.labels[1]) == 4 + 2
    for engine in ENGINES.values():
        assert count(engine(frame, tmp_path), ["sex", "age"], grouping=grouping).same_as(expected)
    wrong = Grouping({"sex": np.array([0.0, 1.0])})
    with pytest.raises(DataError, match="'sex' is categorical; only numbers can be grouped"):
        count(frame, ["sex"], grouping=wrong)


@pytest.mark.parametrize("engine", ["polars", "polars lazy", "duckdb relation", "parquet"])
def test_no_rows(engine: str, tmp_path: Path) -> None:
    frame = people().head(0)
    table = count(ENGINES[engine](frame, tmp_path), ["sex", "age"])
    assert len(table) == 0
    assert table.total == 0
    assert len(count_all(ENGINES[engine](frame, tmp_path), 2, ["sex", "age", "adult"])) == 3


def test_all_columns_but_the_weights_by_default() -> None:
    frame = people(50)
    assert count(frame, weights="w").columns == tuple(NAMES)
    assert count(frame.lazy(), weights="w").columns == tuple(NAMES)
    assert len(count_all(frame.drop("w"), 3)) == 56
    assert count({"a": [1, 2], "b": [1, 1]}).columns == ("a", "b")


@pytest.mark.parametrize("engine", [*ENGINES, "table"])
def test_bad_requests(engine: str, tmp_path: Path) -> None:
    frame = people(60).with_columns(
        minus=pl.Series([-1.0] + [1.5] * 59),
        hole=pl.Series([None, float("nan"), float("inf")] + [2.0] * 57),
        few=pl.Series([-1] + [1, 2, 3] * 19 + [1, 2]),
    )
    source = Table.from_frame(frame) if engine == "table" else ENGINES[engine](frame, tmp_path)
    with pytest.raises(DataError, match="no column 'nobody'"):
        count(source, ["sex", "nobody"])
    with pytest.raises(DataError, match="no column 'nobody'"):
        count(source, ["sex"], weights="nobody")
    with pytest.raises(OptionError, match="'sex' is asked for twice"):
        count(source, ["sex", "sex"])
    with pytest.raises(OptionError, match="at least one"):
        count(source, [])
    with pytest.raises(OptionError, match=r"write \['sex'\]"):
        count(source, "sex")
    with pytest.raises(DataError, match="column 'minus': 1 rows"):
        count(source, ["sex"], weights="minus")
    with pytest.raises(DataError, match="column 'few': 1 rows"):
        count_all(source, 1, ["sex", "age"], weights="few")
    with pytest.raises(DataError, match="column 'hole': 3 rows"):
        count(source, ["sex"], weights="hole")
    with pytest.raises(DataError, match="column 'code'"):
        count(source, ["sex"], weights="code")
    with pytest.raises(OptionError, match="order 3 is not possible with 2 columns"):
        count_all(source, 3, ["sex", "age"])


def test_few_distinct_weights_are_still_numbers() -> None:
    frame = pl.DataFrame({"a": ["x", "y"] * 30, "w": [1, 2, 3] * 20})
    assert Table.from_frame(frame)["w"].column.kind is Kind.ORDERED
    assert count(frame, ["a"], weights="w").counts.tolist() == [60.0, 60.0]


def test_bad_files_and_limits(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no such file"):
        count(tmp_path / "absent.parquet", ["a"])
    (tmp_path / "a.sav").write_bytes(b"x")
    with pytest.raises(FileError, match="only Parquet, CSV and Arrow"):
        count(tmp_path / "a.sav", ["a"])
    (tmp_path / "broken.parquet").write_bytes(b"not a parquet file")
    with pytest.raises(FileError, match=r"broken\.parquet: it cannot be opened"):
        count(tmp_path / "broken.parquet", ["a"])
    path = parquet(people(10), tmp_path)
    with pytest.raises(OptionError, match="'plenty' is not a size"):
        count(path, ["sex"], memory_limit="plenty")
    with pytest.raises(OptionError, match="memory_limit is for files"):
        count(people(10), ["sex"], memory_limit="1GB")
    assert count(path, ["sex"], memory_limit="200MB").total == 10
    (tmp_path / "latin.csv").write_bytes("name\nBjörk\nJürgen\n".encode("cp1252"))
    assert list(count(tmp_path / "latin.csv", ["name"]).labels[0]) == ["Björk", "Jürgen"]
    with pytest.raises(FileError, match="save the file as UTF-8"):
        count(tmp_path / "latin.csv", ["name"], memory_limit="1GB")


def test_errors_do_not_quote_values(tmp_path: Path) -> None:
    rows = "\n".join(f"{i},secret{i}" for i in range(30_000))
    (tmp_path / "ragged.csv").write_text(f"a,b\n{rows}\n1,secret,too,many,fields\n")
    with pytest.raises(FileError, match=r"row 30,002 \(the heading is row 1\) has too many") as caught:
        count(tmp_path / "ragged.csv", ["a"])
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_several_files_at_once(tmp_path: Path) -> None:
    for i in range(3):
        people(100, seed=i).write_parquet(tmp_path / f"part{i}.parquet")
    whole = pl.concat([people(100, seed=i) for i in range(3)])
    assert count(str(tmp_path / "part*.parquet"), NAMES).same_as(count(whole, NAMES))


def test_names_that_need_quotes(tmp_path: Path) -> None:
    frame = pl.DataFrame({'a "b"': ["x", "y"], "select": [1, 1], "c;d": [0, 1]})
    expected = count(Table.from_frame(frame))
    for engine in ENGINES.values():
        found: Counts = count(engine(frame, tmp_path))
        assert found.same_as(expected)


def test_many_sets_need_several_queries() -> None:
    frame = pl.DataFrame({f"c{i}": [i % 2, i % 3, None, 1] for i in range(14)})
    expected = count_all(frame, 2)
    for source in (duckdb.from_arrow(frame.to_arrow()), frame.lazy()):
        for names, table in count_all(source, 2).items():
            assert table.same_as(expected[names])


@pytest.mark.parametrize("weights", [None, "w"])
def test_any_lazy_frame_of_narwhals_can_count(weights: str | None) -> None:
    """The way Spark and others take: one grouped query per table, written in Narwhals alone."""
    frame = people()
    source = LazySource(nw.from_native(duckdb.from_arrow(frame.to_arrow())))
    tables = [("sex", "age"), ("born", "adult", "size")]
    found = count_pushed(source, tables, weights=weights)
    for names, table in found.items():
        assert table.same_as(count(frame, names, weights=weights))
    with pytest.raises(DataError, match="'code' holds String; weights must be numbers"):
        count_pushed(source, tables, weights="code")


@pytest.mark.slow
def test_a_million_rows_on_disk(tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    frame = pl.DataFrame(
        {name: rng.integers(0, size, 1_000_000) for name, size in zip("abc", (3, 50, 2000), strict=True)}
    )
    frame.write_parquet(tmp_path / "big.parquet")
    assert count(tmp_path / "big.parquet", memory_limit="256MB").same_as(count(frame))
