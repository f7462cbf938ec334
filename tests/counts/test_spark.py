"""Spark counts like memory, in one job, in the caller's own session; runs where pyspark and Java are."""

from __future__ import annotations

import datetime as dt
import shutil
from collections.abc import Iterator
from typing import Any

import polars as pl
import pytest

from dalenius.core.errors import DataError
from dalenius.counts import count, count_all, spark

pyspark = pytest.importorskip("pyspark")
if shutil.which("java") is None:
    pytest.skip("no Java (Debian: default-jre-headless)", allow_module_level=True)
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]

NAMES = ["town", "age", "wage", "a`b", "day"]


def people(rows: int = 2000) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "town": [None if i % 11 == 0 else f"town {i % 7}" for i in range(rows)],
            "age": [i * 7 % 90 for i in range(rows)],
            "wage": [
                None if i % 13 == 0 else float("nan") if i % 17 == 0 else i % 9 / 2 for i in range(rows)
            ],
            "a`b": [i % 3 == 0 for i in range(rows)],
            "day": [dt.date(2020, 1, 1 + i % 28) for i in range(rows)],
            "w": [i % 5 / 4 for i in range(rows)],
        }
    )


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    from pyspark.sql import SparkSession

    quiet = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.host": "127.0.0.1",
    }
    builder = SparkSession.builder.master("local[2, 3]")
    for name, value in (quiet | {"spark.driver.bindAddress": "127.0.0.1"}).items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    yield made
    made.stop()


@pytest.mark.parametrize("weights", [None, "w"])
@pytest.mark.parametrize("partitions", [1, 5])
def test_spark_counts_like_memory(session: Any, weights: str | None, partitions: int):
    frame = people()
    held = session.createDataFrame(frame.to_arrow()).repartition(partitions)
    found = count_all(held, 2, NAMES, weights=weights)
    for names, expected in count_all(frame, 2, NAMES, weights=weights).items():
        assert found[names].same_as(expected, rtol=1e-12), names
    assert count(held, NAMES, weights=weights).same_as(count(frame, NAMES, weights=weights), rtol=1e-12)


def test_all_tables_are_one_job_and_the_session_is_left_running(session: Any):
    held = session.createDataFrame(people().to_arrow())
    session.sparkContext.setJobGroup("counting", "all pairs")
    count_all(held, 2, NAMES)
    jobs = session.sparkContext.statusTracker().getJobIdsForGroup("counting")
    session.sparkContext.setJobGroup("other", "")
    assert len(jobs) <= 2  # adaptive execution runs a query's last stage as a job of its own
    assert session.range(3).count() == 3


def test_too_many_cells_and_failures_are_told_without_values(session: Any, monkeypatch: pytest.MonkeyPatch):
    held = session.createDataFrame(people().to_arrow())
    monkeypatch.setattr(spark, "MOST_ROWS", 5)
    with pytest.raises(DataError, match="more than 5 cells"):
        count(held, ["age", "town"])
    monkeypatch.undo()
    with pytest.raises(DataError, match="weights must be numbers"):
        count(held, ["age"], weights="town")
    broken = held.selectExpr("raise_error(concat('secret ', town)) as town", "age")
    with pytest.raises(DataError, match="Spark cannot count the tables") as caught:
        count(broken, ["town", "age"])
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("text", "remedy"),
    [("[PYTHON_VERSION_MISMATCH] …", "PYSPARK_PYTHON"), ("[JAVA_GATEWAY_EXITED] …", "default-jre-headless")],
)
def test_what_is_lacking_is_named_with_its_remedy(text: str, remedy: str):
    with pytest.raises(DataError, match=remedy), spark.spark_told("count the tables"):
        raise RuntimeError(text)


@pytest.mark.parametrize("partitions", [1, 4])
def test_synthesis_by_strata_is_that_of_one_machine(session: Any, partitions: int):
    """The file depends on neither partitions nor the order of rows; a Spark frame comes back as one."""
    from dalenius.data.schema import Schema
    from dalenius.synth.strata import synthesize_strata

    frame = people(600).select("town", "age", "day").drop_nulls()
    schema = Schema.infer(frame)
    one = pl.DataFrame(synthesize_strata(frame.to_arrow(), ["town"], "cart", schema=schema, seed=3))
    shuffled = frame.sample(fraction=1, shuffle=True, seed=partitions)
    spread = session.createDataFrame(shuffled.to_arrow()).repartition(partitions)
    made = synthesize_strata(spread, ["town"], "cart", schema=schema, seed=3)
    assert spark.is_spark(made)
    many = pl.DataFrame(made.toArrow())
    order = ["town", "age", "day"]
    assert many.select(order).cast(one.select(order).schema).sort(order).equals(one.select(order).sort(order))


def test_a_killed_worker_is_survived(session: Any, tmp_path: Any):
    """The worker that counts a part is killed once; Spark runs the part again, and the counts are the same."""
    import os
    import signal

    frame = session.createDataFrame(people(500).select("town", "age").to_pandas()).repartition(2)
    flag = str(tmp_path / "killed")

    def dies_once(batches):
        if not os.path.exists(flag):
            with open(flag, "w"):
                pass
            os.kill(os.getpid(), signal.SIGKILL)
        yield from batches

    through = frame.mapInArrow(dies_once, frame.schema)
    got = count(through, ["town", "age"])
    assert os.path.exists(flag)
    assert got.same_as(count(people(500).select("town", "age"), ["town", "age"]))


CLUSTER = """
import itertools, os, sys
import polars as pl
import psutil
from pyspark.sql import SparkSession
from dalenius.counts import count_all

flag = sys.argv[1]
builder = SparkSession.builder.master("local-cluster[2,1,600]").config("spark.ui.enabled", "false")
for name, value in {
    "spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1", "spark.sql.shuffle.partitions": "2",
    "spark.executor.memory": "600m",
}.items():
    builder = builder.config(name, value)
session = builder.getOrCreate()
session.sparkContext.setLogLevel("OFF")
rows = 20_000
frame = pl.DataFrame({f"c{j}": [(i * (2 * j + 3) + i // 7) % (j + 3) for i in range(rows)] for j in range(10)})

def kills_its_executor_once(batches):
    try:
        os.close(os.open(flag, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        pass
    else:
        above = psutil.Process().parents()
        executor = next(p for p in above if "CoarseGrainedExecutorBackend" in " ".join(p.cmdline()))
        with open(flag + ".pid", "w") as note:
            note.write(str(executor.pid))
        executor.kill()
    yield from batches

held = session.createDataFrame(frame.to_arrow()).repartition(4)
found = count_all(held.mapInArrow(kills_its_executor_once, held.schema), 2)
known = count_all(frame, 2)
assert len(found) == 45 and all(found[names].same_as(known[names]) for names in known)
assert session.range(3).count() == 3
session.stop()
print("survived", open(flag + ".pid").read())
"""


def test_a_killed_executor_is_survived(tmp_path: Any):
    """One of two executors of a local cluster is killed by the part it works on; the 45 tables are those of memory."""
    import os
    import subprocess
    import sys

    script = tmp_path / "cluster.py"
    script.write_text(CLUSTER)
    done = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "killed")],
        capture_output=True, text=True, check=False, cwd=tmp_path, timeout=900,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_DIRS": str(tmp_path)},
    )  # fmt: skip
    assert done.stdout.startswith("survived"), done.stderr[-2000:]
