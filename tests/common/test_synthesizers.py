"""One battery for every registered method. A method registered later is checked without anybody writing a test.

A masker, which fits no model, is tried too: `Deranged`, the one of the architecture page.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from pathlib import Path

import numba
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dalenius  # noqa: F401 (registers everything)
from dalenius.core.cost import Cost, Shape
from dalenius.core.errors import DataError, OptionError
from dalenius.core.random import generator
from dalenius.core.registry import MethodInfo
from dalenius.data import Schema, Table, examples
from dalenius.data.exit import guard, releasable
from dalenius.data.vector import MISSING
from dalenius.synth import (
    METHODS,
    Candidate,
    Made,
    Method,
    Synthesizer,
    load_model,
    make_synthesizer,
    save_model,
    synthesize,
)

MODELS = [name for name in METHODS if issubclass(METHODS[name], Synthesizer)]
NAMES = [*(name for name in METHODS if not METHODS[name].info.masks), "deranged"]
ROWS = 300


@dataclass(frozen=True)
class Deranged(Method):
    info = MethodInfo("deranged", "Deranged columns", "Rows moved on.", "none", "folklore", keeps_joint=False)

    def make(self, table, copies=1, *, rows=None, seed=0, first=0, progress=None):
        kept = releasable(guard(table, seed=seed).table)
        wanted = table.rows if rows is None else rows
        if wanted and not table.rows:
            raise DataError("a table without rows cannot be made longer")
        tables = []
        for copy in range(first, first + copies):
            rng = generator(seed, "draw", copy)
            turned = [kept[name].take(rng.integers(0, max(table.rows, 1), wanted)) for name in kept.names]
            tables.append(Table.from_vectors(turned, wanted, kept.origin, kept.schema))
        return Made(tuple(tables), table.rows)

    def cost(self, shape):
        return Cost(seconds=1e-8 * shape.rows, bytes=9.0 * shape.rows)


@pytest.fixture(autouse=True)
def masker():
    METHODS.add(Deranged)
    yield
    METHODS.remove("deranged")


def info_of(name: str) -> MethodInfo:
    return Deranged.info if name == "deranged" else METHODS[name].info


def all_kinds(rows: int = ROWS, seed: int = 0) -> pl.DataFrame:
    """A column of every kind, with empty cells, NaN and special codes where the kind allows them."""
    rng = np.random.default_rng(seed)
    day = dt.date(2020, 1, 1)
    frame = pl.DataFrame(
        {
            "category": rng.choice(["a", "b", "ü x"], rows),
            "ordered": pl.Series(
                rng.choice(["low", "mid", "high"], rows), dtype=pl.Enum(["low", "mid", "high"])
            ),
            "integer": rng.integers(0, 500, rows),
            "coded": np.where(rng.random(rows) < 0.3, -8, rng.integers(0, 90, rows)),
            "decimal": np.round(rng.lognormal(3, 1, rows), 2),
            "truth": rng.random(rows) < 0.4,
            "day": [day + dt.timedelta(days=int(d)) for d in rng.integers(0, 900, rows)],
            "moment": [
                dt.datetime(2021, 5, 1) + dt.timedelta(minutes=int(m)) for m in rng.integers(0, 9000, rows)
            ],
        }
    )
    gaps = rng.random((rows, len(frame.columns))) < 0.1
    holes = [
        pl.when(pl.Series(gaps[:, i])).then(None).otherwise(pl.col(n)).alias(n)
        for i, n in enumerate(frame.columns)
    ]
    return frame.with_columns(holes).with_columns(
        pl.Series("constant", ["same"] * rows), pl.Series("empty", [None] * rows)
    )


def schema_of(frame: pl.DataFrame) -> Schema:
    return Schema.infer(frame)


def maker(name: str):
    return make_synthesizer(name, **METHODS[name].info.example_options)


def candidate(name: str) -> Candidate:
    return Candidate(name, METHODS[name].info.example_options)


def cut(name: str, frame: pl.DataFrame) -> pl.DataFrame:
    limit = METHODS[name].info.max_columns
    return frame if limit is None else frame.select(frame.columns[:limit])


def made(name: str, frame: object, rows: int | None = None, seed: int = 1) -> object:
    return synthesize(frame, name, rows=rows, seed=seed, **METHODS[name].info.example_options)


def same(first: Table, second: Table) -> bool:
    return first.to_frame("polars").equals(second.to_frame("polars"))


@pytest.mark.parametrize("name", NAMES)
def test_every_kind_comes_back_as_it_was(name):
    frame = cut(name, all_kinds())
    out = made(name, frame)
    assert out.schema == frame.schema
    assert out.columns == frame.columns
    assert out.height == frame.height
    for column in frame.columns:
        values = frame[column].drop_nulls()
        if values.dtype in (pl.String, pl.Boolean):
            assert set(out[column].drop_nulls()) <= set(values)
        elif values.dtype.is_numeric() and len(values):
            assert out[column].min() >= values.min(), column
            longer = 2 if column == "decimal" else 1  # a long tail goes on
            assert out[column].max() <= longer * values.max(), column


@pytest.mark.parametrize("name", NAMES)
def test_missingness_and_codes_survive(name):
    frame = cut(name, all_kinds(2000, seed=3))
    schema = schema_of(frame)
    table = Table.from_frame(frame, schema)
    out = candidate(name).make(table, seed=1).table
    for column in frame.columns:
        before, after = table[column], out[column]
        share = [0.0 if v.state is None else float(np.mean(v.state == MISSING)) for v in (before, after)]
        assert share[1] == pytest.approx(share[0], abs=0.08), column
        special = [0.0 if v.state is None else float(np.mean(v.state > MISSING + 1)) for v in (before, after)]
        assert special[1] == pytest.approx(special[0], abs=0.08), column


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("name", NAMES)
def test_tiny_tables(name, rows):
    frame = cut(name, all_kinds(rows))
    out = made(name, frame)
    assert out.columns == frame.columns
    kinds = [
        dtype.base_type() for dtype in out.dtypes
    ]  # an Enum has fewer values: nobody's, or too few people's
    assert kinds == [dtype.base_type() for dtype in frame.dtypes]


@pytest.mark.parametrize("name", NAMES)
def test_no_rows(name):
    frame = cut(name, all_kinds(5)[:0])
    assert made(name, frame).height == 0
    with pytest.raises(DataError, match="without rows"):
        made(name, frame, rows=1)


@pytest.mark.parametrize("kind", ["category", "integer", "decimal", "truth", "day"])
@pytest.mark.parametrize("name", NAMES)
def test_one_column(name, kind):
    frame = all_kinds().select(kind)
    assert made(name, frame).schema == frame.schema


@pytest.mark.parametrize("name", NAMES)
def test_odd_names(name):
    frame = pl.DataFrame(
        {
            "größe": [1, 2, 3, 4] * 5,
            "": ["a", "b"] * 10,
            "a b\n'\"%": ["x", "y"] * 10,
            "目標": [1.5, 2.5] * 10,
        }
    )
    out = made(name, cut(name, frame))
    assert out.columns == cut(name, frame).columns


@pytest.mark.parametrize("name", NAMES)
def test_many_levels(name):
    rng = np.random.default_rng(0)
    frame = pl.DataFrame(
        {"code": rng.integers(0, 2500, 8000).astype(str), "group": rng.choice(["a", "b"], 8000)}
    )
    frame = frame.with_columns(("c" + pl.col("code")).alias("code"))
    out = made(name, frame)
    assert out.height == frame.height
    assert set(out["code"].drop_nulls()) <= set(frame["code"])


@pytest.mark.parametrize("name", [name for name in NAMES if info_of(name).seedable])
def test_same_seed_same_rows_whatever_the_threads(name):
    table = Table.from_frame(cut(name, all_kinds()))
    threads = numba.get_num_threads()
    try:
        numba.set_num_threads(1)
        first = candidate(name).make(table, seed=4).table
    finally:
        numba.set_num_threads(threads)
    assert same(first, candidate(name).make(table, seed=4).table)
    assert not same(first, candidate(name).make(table, seed=5).table)


@pytest.mark.parametrize("name", [name for name in NAMES if info_of(name).seedable])
def test_a_copy_is_the_same_whoever_asks_for_it(name):
    table = Table.from_frame(cut(name, all_kinds()))
    three = candidate(name).make(table, 3, seed=4)
    assert not same(three.tables[0], three.tables[1])
    assert not same(three.tables[1], three.tables[2])
    assert same(three.tables[2], candidate(name).make(table, seed=4, first=2).table)


@pytest.mark.parametrize("name", MODELS)
def test_any_size(name):
    model = maker(name).fit(Table.from_frame(cut(name, all_kinds())), seed=0)
    for rows in (0, 1, 7, 3 * ROWS):
        assert model.sample(rows, seed=1).rows == rows
    with pytest.raises(OptionError):
        model.sample(-1)


@pytest.mark.parametrize("name", MODELS)
def test_saved_models_draw_the_same(name, tmp_path: Path):
    model = maker(name).fit(Table.from_frame(cut(name, all_kinds())), seed=0)
    save_model(model, tmp_path / "model")
    opened = load_model(tmp_path / "model")
    first, second = model.sample(50, seed=9), opened.sample(50, seed=9)
    for column in first.names:
        assert np.array_equal(first[column].data, second[column].data)
        assert first[column].levels == second[column].levels
    assert model.contents


@pytest.mark.parametrize("name", NAMES)
def test_the_callers_own_frame_type_comes_back(name):
    frame = cut(name, all_kinds().drop("empty", "moment"))
    assert isinstance(made(name, frame.lazy()), pl.LazyFrame)
    pandas = made(name, frame.to_pandas())
    assert isinstance(pandas, pd.DataFrame)
    assert list(pandas.dtypes) == list(frame.to_pandas().dtypes)
    arrow = made(name, frame.to_arrow())
    assert isinstance(arrow, pa.Table)
    assert arrow.schema == frame.to_arrow().schema
    assert isinstance(made(name, frame.to_dict(as_series=False)), dict)


@pytest.mark.parametrize("name", NAMES)
def test_identifiers_are_never_synthesized(name):
    frame = examples.survey(200, seed=1).select("person_id", "household_id", "sex", "age")
    schema = examples.survey_schema().select(frame.columns)
    out = synthesize(frame, name, schema=schema, seed=0, **METHODS[name].info.example_options)
    assert out.columns == ["sex", "age"]


@pytest.mark.parametrize("name", NAMES)
def test_margins_are_kept(name):
    frame = examples.survey(2000, seed=4).select("sex", "marital", "health")
    out = synthesize(
        frame,
        name,
        schema=examples.survey_schema().select(frame.columns),
        seed=2,
        **METHODS[name].info.example_options,
    )
    for column in frame.columns:
        before = frame[column].value_counts(normalize=True)
        after = dict(out[column].value_counts(normalize=True).iter_rows())
        assert all(
            after.get(value, 0.0) == pytest.approx(share, abs=0.06) for value, share in before.iter_rows()
        ), column


@pytest.mark.parametrize("name", NAMES)
def test_cost_grows_with_the_table(name):
    method = candidate(name).build()
    small, large = method.cost(Shape(1000, (2, 5, 90))), method.cost(Shape(1_000_000, (2, 5, 90)))
    assert 0 < small.seconds <= large.seconds
    assert 0 < small.bytes <= large.bytes


def test_a_file_that_memory_cannot_hold_is_refused_unless_forced(monkeypatch):
    table = Table.from_frame(all_kinds(20))
    monkeypatch.setattr(Cost, "check", lambda cost, what: (_ for _ in ()).throw(DataError("no memory")))
    with pytest.raises(DataError, match="no memory"):
        candidate("bootstrap").make(table)
    assert candidate("bootstrap").make(table, force=True).table.rows == 20


def test_a_frame_can_be_fitted_as_it_is():
    assert make_synthesizer("bootstrap").fit(all_kinds(20).to_pandas(), seed=1).sample(5).rows == 5


def test_metadata_is_complete():
    for kind in (METHODS[name] for name in MODELS):
        info = kind.info
        assert info.title
        assert info.meaning.endswith(".")
        assert info.guarantee
        assert info.reference
        assert kind.model.method in METHODS
        assert ">>>" in (kind.__doc__ or ""), "a synthesizer's docstring has a runnable example"
