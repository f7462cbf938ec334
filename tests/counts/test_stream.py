"""Rows that stream by are counted like rows in memory, whatever the batches and their order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet as pq
from tests import LONG

from dalenius.core.errors import DataError, FileError
from dalenius.counts import count, count_all, stream
from dalenius.counts.batches import ArrowStream, CsvStream, ParquetStream, PolarsStream, open_stream
from dalenius.counts.stream import count_stream
from dalenius.data.grouping import Grouping
from dalenius.data.schema import Schema
from dalenius.data.table import Table

NAMES = ["town", "age", "wage", "day", "code"]


def people(rows: int, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)

    def holes(values: np.ndarray[Any, Any]) -> list[Any]:
        return [
            None if gone else value
            for gone, value in zip(rng.random(rows) < 0.1, values.tolist(), strict=True)
        ]

    return pl.DataFrame(
        {
            "town": holes(rng.choice(["Oslo", "Bergen", "Tromsø", ""], rows)),
            "age": pl.Series(holes(rng.integers(0, 100, rows)), dtype=pl.Int16),
            "wage": holes(np.round(rng.normal(3, 1, rows), 1)),
            "day": pl.Series(holes(rng.integers(0, 50, rows)), dtype=pl.Int32).cast(pl.Date),
            "code": rng.integers(-3, 70_000, rows),
            "w": rng.integers(0, 50, rows) / 4,
        }
    )


@given(
    seed=st.integers(0, 10**6),
    rows=st.integers(0, 300),
    size=st.integers(1, 400),
    weights=st.sampled_from([None, "w"]),
    cells=st.sampled_from([1, 64, 1 << 22]),
)
@settings(max_examples=300 if LONG else 20)
def test_any_batches_give_the_counts_of_memory_and_duckdb(
    seed: int, rows: int, size: int, weights: str | None, cells: int
) -> None:
    frame = people(rows, seed)
    tables = [("town",), ("age", "town"), ("code", "age"), ("town", "wage", "day"), tuple(NAMES)]
    arrow = frame.to_arrow()
    shuffled = frame.sample(fraction=1, shuffle=True, seed=seed).to_arrow()
    before, stream.DENSE = stream.DENSE, cells  # small: tables leave their full arrays
    try:
        found = count_stream(ArrowStream(arrow, size), tables, weights=weights)
        other = count_stream(ArrowStream(shuffled, size), tables, weights=weights)
    finally:
        stream.DENSE = before
    relation = duckdb.from_arrow(arrow)
    for names in tables:
        expected = count(frame, names, weights=weights)
        assert found[names].same_as(expected)
        assert other[names].same_as(expected)
        assert count(relation, names, weights=weights).same_as(expected)


@pytest.mark.parametrize("source", ["parquet", "csv", "arrow", "lazy", "reader", "pattern"])
def test_every_source_counts_the_same(source: str, tmp_path: Path) -> None:
    frame = people(3000).with_columns(pl.col("town").replace({"": None}))
    schema = Schema.infer(frame)
    grouping = Grouping.fit(Table.from_frame(frame, schema), columns=["wage", "code"])
    frame.write_parquet(tmp_path / "p.parquet", row_group_size=700)
    frame.write_csv(tmp_path / "p.csv")
    frame.write_ipc(tmp_path / "p.arrow")
    for i in range(3):
        frame[i * 1000 : (i + 1) * 1000].write_parquet(tmp_path / f"part{i}.parquet")
    given: Any = {
        "parquet": tmp_path / "p.parquet",
        "csv": tmp_path / "p.csv",
        "arrow": tmp_path / "p.arrow",
        "lazy": frame.lazy(),
        "reader": frame.to_arrow().to_reader(),
        "pattern": str(tmp_path / "part*.parquet"),
    }[source]
    found = count_all(given, 2, NAMES, schema=schema, grouping=grouping)
    for names, expected in count_all(frame, 2, NAMES, schema=schema, grouping=grouping).items():
        assert found[names].same_as(expected), names


def test_levels_of_a_category_that_no_row_has_are_kept() -> None:
    frame = pl.DataFrame({"a": pl.Series(["low", None], dtype=pl.Enum(["low", "mid", "high"])), "b": [1, 2]})
    assert count(frame.lazy(), ["a", "b"]).same_as(count(frame, ["a", "b"]))
    assert list(count(frame.lazy(), ["a"]).labels[0])[:3] == ["low", "mid", "high"]


def test_counts_beyond_32_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "LIMIT", 10)
    frame = people(500)
    assert count_stream(ArrowStream(frame.to_arrow(), 7), [("age", "town")])["age", "town"].same_as(
        count(frame, ["age", "town"])
    )


def test_tables_larger_than_memory_are_counted_by_duckdb(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    frame = people(2000)
    frame.write_parquet(tmp_path / "p.parquet")
    monkeypatch.setattr(stream, "MOST", 100)
    assert count(tmp_path / "p.parquet", NAMES).same_as(count(frame, NAMES))
    with pytest.raises(DataError, match="more cells than fit in memory"):
        count(frame.lazy(), NAMES)


def test_a_broken_row_group_is_named_with_its_row(tmp_path: Path) -> None:
    path = tmp_path / "p.parquet"
    pq.write_table(
        pa.table({"a": np.arange(40_000), "b": np.arange(40_000) % 7}),
        path,
        row_group_size=10_000,
        compression="zstd",
    )
    group = pq.ParquetFile(path).metadata.row_group(2).column(0)
    data = bytearray(path.read_bytes())
    begin = group.dictionary_page_offset or group.data_page_offset
    data[begin : begin + group.total_compressed_size] = b"\xff" * group.total_compressed_size
    path.write_bytes(data)
    with pytest.raises(
        FileError, match=r"p\.parquet: after row 20,000, row group 3 of 4 cannot be read"
    ) as caught:
        count(path, ["a"])
    assert caught.value.__cause__ is None


def test_a_type_that_changes_between_files_is_named(tmp_path: Path) -> None:
    pl.DataFrame({"a": [1, 2], "b": ["x", "y"]}).write_parquet(tmp_path / "p1.parquet")
    pl.DataFrame({"a": ["one", "two"]}).write_parquet(tmp_path / "p2.parquet")
    with pytest.raises(
        FileError, match=r"p2\.parquet: column 'a' is .*string.* in the first file; column 'b' is not"
    ) as caught:
        count(str(tmp_path / "p*.parquet"), ["a", "b"])
    assert "one" not in str(caught.value)


def test_streams_know_their_columns(tmp_path: Path) -> None:
    frame = people(10)
    frame.write_parquet(tmp_path / "p.parquet")
    frame.write_csv(tmp_path / "p.csv")
    assert isinstance(open_stream(tmp_path / "p.parquet"), ParquetStream)
    assert isinstance(open_stream(tmp_path / "p.csv"), CsvStream)
    for each in (
        open_stream(tmp_path / "p.parquet"),
        open_stream(tmp_path / "p.csv"),
        PolarsStream(frame.lazy()),
    ):
        assert list(each.schema.names) == frame.columns
        assert sum(batch.num_rows for batch in each.batches(["town"])) == 10
    with pytest.raises(DataError, match="'nothing'"):
        count(tmp_path / "p.csv", ["nothing"])
