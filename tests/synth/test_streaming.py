"""Synthetic files from rows that stream by: the same models as from rows in memory, written in parts."""

from __future__ import annotations

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import dalenius
from dalenius.cli import app
from dalenius.core.errors import DaleniusError, DataError, FileError, OptionError
from dalenius.counts import survey as surveying
from dalenius.counts.batches import ArrowStream, open_stream
from dalenius.counts.survey import survey
from dalenius.data.files.chunks import write_in_chunks
from dalenius.data.grouping import _breaks, breaks_of_counted
from dalenius.data.schema import Column, Kind, Schema
from dalenius.data.table import Table
from dalenius.synth import make_synthesizer
from dalenius.synth.streaming import fit_stream, forecast_file, from_counts, synthesize_file

PRIVATE = {"domain": "from-data", "neighbours": "replace", "epsilon": 50.0}


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    return dalenius.examples.survey(3000, seed=1).select("sex", "region", "age", "smoker", "income")


@pytest.fixture(scope="module")
def shared(people) -> pl.DataFrame:
    """Numbers that enough people hold, so that the exit draws none of them anew."""
    coarse = people.with_columns(
        pl.col("age") // 10 * 10, (pl.col("income") // 2000 * 2000).clip(0, 40_000).cast(pl.Int64)
    )
    assert all(coarse[name].value_counts()["count"].min() >= 3 for name in coarse.columns)
    return coarse


def drawn(model, rows=1500):
    return model.sample(rows, seed=5).to_frame("polars")


SYNDIFFIX = pytest.param("syndiffix", marks=pytest.mark.slow)


@pytest.mark.parametrize("method", ["independent", "saturated", "loglinear", "poisson", "network", SYNDIFFIX])
@pytest.mark.parametrize("batch", [77, 100_000])
def test_model_of_a_stream_is_that_of_the_rows(shared, method, batch):
    options = {"salt": "a secret of mine"} if method == "syndiffix" else {}
    made = make_synthesizer(method, **options)
    whole = made.fit(shared, seed=3)
    streamed = fit_stream(made, ArrowStream(shared.to_arrow(), rows=batch), seed=3)
    assert streamed.rows == whole.rows
    assert streamed.schema == whole.schema
    assert drawn(streamed).equals(drawn(whole))


@pytest.mark.parametrize("method", ["mst", "aim"])
def test_private_methods_measure_the_true_counts(people, method):
    made = make_synthesizer(method, **PRIVATE)
    streamed = fit_stream(made, ArrowStream(people.to_arrow(), rows=500), seed=3)
    table = streamed.sample(3000, seed=1).to_frame("polars")
    # noise at ε = 50 is a few records, and the chance of drawing has a deviation of at most 23
    true, got = (dict(frame["region"].value_counts().iter_rows()) for frame in (people, table))
    assert all(abs(true[level] - got[level]) < 170 for level in true)
    assert streamed.ledger


def test_declared_columns_are_read_by_their_declaration(people):
    schema = Schema(
        (
            Column("sex", Kind.CATEGORICAL, levels=("female", "male")),
            Column("age", Kind.INTEGER, bounds=(0, 120)),
        )
    ).declare()
    table = people.select("sex", "age").to_arrow()
    model = fit_stream(make_synthesizer("mst", epsilon=1.0), ArrowStream(table), schema=schema)
    assert set(model.sample(50, seed=1).to_frame("polars")["sex"].drop_nulls()) <= {"female", "male"}


def test_rare_levels_and_numbers_do_not_come_out():
    rng = np.random.default_rng(1)
    jobs = np.where(np.arange(500) < 2, "astronaut", rng.choice(["baker", "nurse"], 500))
    pay = np.where(np.arange(500) == 7, 9_999_999, rng.integers(0, 50, 500) * 100)
    stream = ArrowStream(pa.table({"job": jobs, "pay": pay}), rows=60)
    for method in ("independent", "saturated"):
        out = drawn(fit_stream(make_synthesizer(method), stream, seed=1), 3000)
        assert "astronaut" not in set(out["job"])
        assert out["pay"].max() < 9_999_999


def test_numbers_with_too_many_values_are_known_by_a_sample(people, monkeypatch):
    monkeypatch.setattr(surveying, "MOST_VALUES", 200)
    monkeypatch.setattr(surveying, "SAMPLE", 1000)
    stream = ArrowStream(people.to_arrow(), rows=500)
    seen = survey(stream)
    assert seen.values["income"].coder is None
    assert len(seen.values["income"].times) == 1000
    model = fit_stream(make_synthesizer("loglinear"), stream)
    assert any("income" in note and "sample" in note for note in model.notes)
    exact = drawn(make_synthesizer("loglinear").fit(people, seed=3))["income"].mean()
    assert drawn(model)["income"].mean() == pytest.approx(exact, rel=0.2)
    cut = fit_stream(
        make_synthesizer("syndiffix", salt="a secret of mine", precision={"income": 2048.0}), stream
    )
    assert any("cut" in note for note in cut.notes)
    assert drawn(cut)["income"].mean() == pytest.approx(exact, rel=0.2)


def test_breaks_of_counts_are_those_of_the_rows():
    rng = np.random.default_rng(2)
    for groups in (2, 5, 9):
        rows = rng.poisson(6, 997) / 7
        values, times = np.unique(rows, return_counts=True)
        for method in ("quantile", "equal-width", "jenks"):
            expected = _breaks(rows, method, groups)
            assert breaks_of_counted(values, times, method, groups).tolist() == expected.tolist()


@pytest.mark.parametrize("ending", ["parquet", "csv", "feather", "tsv"])
def test_files_written_in_parts_hold_all_rows(people, tmp_path, ending):
    table = Table.from_frame(people)
    with write_in_chunks(tmp_path / f"parts.{ending}") as add:
        for begin in range(0, 3000, 1000):
            add(table.take(np.arange(begin, begin + 1000)))
    dalenius.write(table, tmp_path / f"whole.{ending}")
    parts, whole = (
        dalenius.read(tmp_path / f"{name}.{ending}").to_frame("polars") for name in ("parts", "whole")
    )
    assert parts.equals(whole)
    assert len(list(tmp_path.iterdir())) == 2


def test_a_failure_leaves_no_file(people, tmp_path):
    def fail():
        with write_in_chunks(tmp_path / "out.csv") as add:
            add(Table.from_frame(people))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileError, match="not written in parts"), write_in_chunks(tmp_path / "out.xlsx"):
        pass


def test_blocks_have_seeds_of_their_own(people):
    model = make_synthesizer("loglinear").fit(people, seed=1)
    parts = [block.to_frame("polars") for block in model.blocks(2500, seed=1, size=1000)]
    assert [len(part) for part in parts] == [1000, 1000, 500]
    assert not parts[0].equals(parts[1])
    assert (
        next(model.blocks(900, seed=1, size=1000))
        .to_frame("polars")
        .equals(model.sample(900, seed=1).to_frame("polars"))
    )


def test_what_needs_rows_is_refused_at_once(people, tmp_path):
    stream = ArrowStream(people.to_arrow())
    with pytest.raises(OptionError, match="cart needs the rows in memory; from a stream: aim"):
        fit_stream(make_synthesizer("cart"), stream)
    schema = Schema.infer(people).with_roles(entity="region")
    strata = make_synthesizer("loglinear", strata=["sex"])
    with pytest.raises(DataError, match=r"(?s)strata.*'region' says whose rows"):
        fit_stream(strata, stream, schema=schema)
    with pytest.raises(DaleniusError, match="no rows"):
        fit_stream(make_synthesizer("independent"), ArrowStream(people.clear().to_arrow()))
    assert {"independent", "saturated", "loglinear", "poisson", "mst", "aim", "network", "syndiffix"} == set(
        from_counts()
    )


def test_command_line(people, tmp_path):
    source, target = tmp_path / "people.parquet", tmp_path / "made.csv"
    people.write_parquet(source, row_group_size=700)
    said = CliRunner().invoke(
        app, ["synth", str(source), "-m", "loglinear", "--stream", "-o", str(target), "--seed", "4"]
    )
    assert said.exit_code == 0, said.output
    made = synthesize_file(open_stream(source), tmp_path / "again.csv", "loglinear", seed=4)
    assert made.rows == 3000
    assert target.read_bytes() == (tmp_path / "again.csv").read_bytes()
    dry = CliRunner().invoke(
        app, ["synth", str(source), "-m", "mst", "--stream", "--dry-run", "-o", str(target)]
    )
    assert "nothing was written" in dry.output
    wrong = CliRunner().invoke(app, ["synth", str(source), "-m", "mst", "--stream", "--copies", "2"])
    assert wrong.exit_code != 0
    assert forecast_file(source, "mst").bytes > 0


def test_a_file_too_large_for_memory_is_refused_before_it_is_read(people, tmp_path, monkeypatch):
    from dalenius.data.files import forecast

    source = tmp_path / "people.parquet"
    people.write_parquet(source)
    monkeypatch.setattr(forecast, "free_bytes", lambda: 1000.0)
    for line in (["synth", str(source), "--dry-run"], ["evaluate", str(source), str(source)]):
        said = CliRunner().invoke(app, line)
        assert said.exit_code != 0
        assert "read it in parts" in " ".join(said.output.split())
    streamed = CliRunner().invoke(app, ["synth", str(source), "-m", "independent", "--stream", "--dry-run"])
    assert streamed.exit_code == 0, streamed.output
