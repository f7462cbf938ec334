"""Two files that stream by are compared as if they were in memory."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from dalenius.cli import app
from dalenius.counts.batches import ArrowStream, open_stream
from dalenius.counts.measure import MEASURES
from dalenius.counts.pair import Pair
from dalenius.counts.source_pair import SourcePair
from dalenius.counts.stream import count_stream
from dalenius.data import examples
from dalenius.evaluation import evaluate, evaluate_files

NAMES = ["sex", "region", "age", "income", "smoker", "diagnosis"]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("files")
    frame = examples.survey(4000, seed=1).select(NAMES)
    other = (
        examples.survey(3000, seed=2)
        .select(NAMES)
        .with_columns(
            pl.when(pl.int_range(3000) < 5)
            .then(pl.lit("elsewhere"))
            .otherwise(pl.col("region").cast(pl.String))
            .alias("region")
        )
    )
    frame.with_columns(pl.col(pl.Enum, pl.Categorical).cast(pl.String)).write_parquet(
        folder / "a.parquet", row_group_size=900
    )
    other.with_columns(pl.col(pl.Enum, pl.Categorical).cast(pl.String)).write_parquet(folder / "b.parquet")
    return folder / "a.parquet", folder / "b.parquet"


@pytest.mark.parametrize("name", [m.info.name for m in MEASURES.values() if m.info.reads == "counts"])
def test_figures_of_counts_are_those_of_all_rows(name: str, files: tuple[Path, Path]):
    frames = [pl.read_parquet(path) for path in files]
    streamed = evaluate_files(*files, measures=[name], sample=10_000)
    plain = evaluate(*frames, measures=[name], grouping=streamed.pair.grouping)
    assert streamed[name].value == pytest.approx(plain[name].value, rel=1e-12)
    assert streamed[name].sentence == plain[name].sentence
    assert streamed[name].yardsticks == plain[name].yardsticks
    few = evaluate_files(*files, measures=[name], sample=500)
    again = evaluate(*frames, measures=[name], grouping=few.pair.grouping)
    assert few[name].value == pytest.approx(again[name].value, rel=1e-12)
    assert "sample" not in few[name].sentence


def test_figures_of_rows_say_that_they_rest_on_a_sample(files: tuple[Path, Path]):
    found = evaluate_files(*files, keys=["sex", "age"], measures=["replicated-uniques"], sample=700)
    sentence = found["replicated-uniques"].sentence
    assert sentence.endswith("a sample of 700 of 4,000 original and 700 of 3,000 protected records.")
    assert found.to_dict()["original_rows"] == 4000
    assert (
        "sample of"
        not in evaluate_files(*files, keys=["sex"], measures=["replicated-uniques"])[
            "replicated-uniques"
        ].sentence
    )


def test_the_sample_depends_on_seed_and_rows_alone(files: tuple[Path, Path]):
    table = pl.read_parquet(files[0]).to_arrow()

    def sample(size: int, seed: int) -> pl.DataFrame:
        stream = ArrowStream(table, size)
        return SourcePair(stream, stream, sample=300, seed=seed).sample.original.to_frame()

    assert sample(7, 1).equals(sample(1000, 1))
    assert not sample(1000, 1).equals(sample(1000, 2))


def test_a_unit_is_drawn_with_all_its_rows():
    frame = pl.DataFrame({"who": [i // 4 for i in range(4000)], "a": [i % 7 for i in range(4000)]})
    schema = Pair(frame, frame).schema.with_roles(entity="who")
    stream = ArrowStream(frame.to_arrow(), 333)
    sample = SourcePair(stream, stream, schema=schema, sample=400).sample
    owned = pl.DataFrame(sample.original.to_frame()).group_by("who").len()["len"]
    assert set(owned) == {4}


def test_csv_codes_stay_codes(tmp_path: Path):
    (tmp_path / "a.csv").write_text("code,n\n" + "\n".join(f"0{i % 7},{i % 5}" for i in range(200)))
    (tmp_path / "b.csv").write_text("code,n\n" + "\n".join(f"0{i % 6},{i % 5}" for i in range(300)))
    pair = SourcePair(open_stream(tmp_path / "a.csv"), open_stream(tmp_path / "b.csv"))
    counted = pair.counts(["code", "n"])
    assert list(counted.original.labels[0]) == [f"0{i}" for i in range(7)]
    assert counted.protected.total == 300
    plain = Pair(
        *(
            {"code": [f"0{i % k}" for i in range(n)], "n": [i % 5 for i in range(n)]}
            for k, n in ((7, 200), (6, 300))
        )
    )
    assert counted.original.same_as(plain.counts(["code", "n"]).original)


def test_tables_are_counted_once(files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch):
    pair = SourcePair(*(open_stream(path) for path in files))
    passes = []

    def counting(*args: Any, **options: Any) -> Any:
        passes.append(args)
        return count_stream(*args, **options)

    monkeypatch.setattr("dalenius.counts.source_pair.count_stream", counting)
    for name in ("one-way-utility", "two-way-utility", "k-marginal"):
        MEASURES[name](pair)
    assert len(passes) == 2


def test_the_command_reads_in_batches(files: tuple[Path, Path]):
    asked = ["evaluate", *map(str, files), "--stream", "--measures", "two-way-utility,k-marginal", "--json"]
    answer = CliRunner().invoke(app, asked)
    assert answer.exit_code == 0, answer.output
    told = json.loads(answer.stdout)
    assert told["original_rows"] == 4000
    assert (
        told["results"]["k-marginal"]["value"]
        == evaluate_files(*files, measures=["k-marginal"])["k-marginal"].value
    )
    keyed = CliRunner().invoke(app, [*asked, "--keys", "sex,region"])  # keys are looked at for masks
    assert keyed.exit_code == 0, keyed.output
    refused = CliRunner().invoke(app, ["evaluate", *map(str, files), str(files[0]), "--stream"])
    assert refused.exit_code != 0


def test_default_measures_run_on_files(tmp_path):
    """Whatever a measure asks of a pair, a pair of streams has it."""
    import dalenius
    from dalenius.evaluation import evaluate_files

    for seed, name in ((1, "a"), (2, "b")):
        people = dalenius.examples.survey(600, seed=seed).select("sex", "region", "age", "smoker")
        dalenius.write(people, tmp_path / f"{name}.parquet")
    found = evaluate_files(
        tmp_path / "a.parquet", tmp_path / "b.parquet", keys=["sex", "age"], targets=["smoker"]
    )
    assert len(found.results) > 5
