"""Files larger than memory: all tables of two columns, and the figures of two files, as the rows grow.

    python bench/scale.py [--rows 1000000 10000000] [--jobs stream duck evaluate mst syndiffix …] [--folder FOLDER]

Data are made in a temporary folder and removed, or in a folder that is kept, and then made once. CPU seconds and peak
memory are those of a process of its own per line; the exponent is the slope of the CPU seconds between sizes.
"""

from __future__ import annotations

import argparse
import json
import math
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np

COLUMNS = 15
BLOCK = 1_000_000
HERE = Path(__file__)


def make(path: Path, rows: int, seed: int) -> None:
    """Six texts, five whole numbers, two numbers, a truth value and a date, with gaps."""
    import pyarrow as pa
    from pyarrow import parquet

    writer = None
    for block in range(0, rows, BLOCK):
        rng = np.random.default_rng([seed, block])
        n = min(BLOCK, rows - block)
        age = rng.integers(0, 100, n)
        texts = {
            f"text{size}": pa.DictionaryArray.from_arrays(
                pa.array(
                    ((age // 10 + rng.integers(0, size, n)) % size).astype(np.int32),
                    mask=rng.random(n) < 0.02,
                ),
                [f"level {i}" for i in range(size)],
            ).cast(pa.string())
            for size in (2, 3, 5, 8, 20, 50)
        }
        numbers = {
            "age": age.astype(np.int16),
            "children": rng.poisson(1.2, n).astype(np.int8),
            "year": (1950 + rng.integers(0, 70, n)).astype(np.int32),
            "occupation": rng.integers(1000, 1400, n),
            "hours": rng.integers(0, 60, n).astype(np.int16),
            "income": np.exp(rng.normal(10, 0.7, n) + age / 200),
            "weight": rng.normal(70, 12, n),
            "employed": rng.random(n) < 0.6,
            "day": pa.array(rng.integers(18_000, 18_365, n).astype(np.int32)).cast(pa.date32()),
        }
        table = pa.table({**texts, **numbers})
        writer = writer or parquet.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table)
    if writer is not None:
        writer.close()


def grouping_of(path: Path):
    import polars as pl

    from dalenius.data.grouping import Grouping
    from dalenius.data.schema import Schema
    from dalenius.data.table import Table

    head = pl.scan_parquet(path).head(100_000).collect()
    schema = Schema.infer(head)
    loose = tuple(
        replace(column, levels=None, bounds=None) for column in schema
    )  # later rows have other values
    schema = Schema(loose)
    return schema, Grouping.fit(Table.from_frame(head, schema), columns=["income", "weight"])


def stream(path: Path, *_):
    from dalenius.counts import count_all

    schema, grouping = grouping_of(path)
    return len(count_all(path, 2, schema=schema, grouping=grouping))


def _cut(names, grouping):
    return {name: list(grouping.breaks[name][1:-1]) for name in ("income", "weight")}


def polars_streaming(path: Path, *_):
    from itertools import combinations

    import polars as pl

    _, grouping = grouping_of(path)
    cuts = _cut(None, grouping)
    frame = pl.scan_parquet(path).with_columns(pl.col(n).cut(c) for n, c in cuts.items())
    names = frame.collect_schema().names()
    queries = [frame.group_by(list(pair)).len() for pair in combinations(names, 2)]
    return len(pl.collect_all(queries, engine="streaming"))


def duck(path: Path, *_):
    from itertools import combinations

    import duckdb

    _, grouping = grouping_of(path)
    cuts = _cut(None, grouping)
    with duckdb.connect() as connection:
        relation = connection.read_parquet(str(path))
        shown = [
            f"CASE {' '.join(f'WHEN {n} < {c} THEN {i}' for i, c in enumerate(cuts[n]))} ELSE 99 END AS {n}"
            if n in cuts
            else n
            for n in relation.columns
        ]
        sets = ", ".join(f"({a}, {b})" for a, b in combinations(relation.columns, 2))
        found = relation.project(", ".join(shown)).aggregate(
            f"{', '.join(relation.columns)}, count(*) AS n", f"GROUPING SETS ({sets})"
        )
        return found.to_arrow_table().num_rows


def evaluate(path: Path, other: Path):
    from dalenius.evaluation import evaluate_files

    return len(evaluate_files(path, other).results)


def _synthesized(path: Path, method: str, columns: list[str] | None, **options):
    from dalenius.synth.streaming import synthesize_file

    made = path.with_name(f"{path.stem}.{method}.parquet")
    try:
        return synthesize_file(path, made, method, columns=columns, **options).rows
    finally:
        made.unlink(missing_ok=True)


def mst(path: Path, *_):
    return _synthesized(path, "mst", None, domain="from-data", neighbours="replace")


def syndiffix(path: Path, *_):
    return _synthesized(
        path, "syndiffix", ["text5", "text8", "age", "children", "employed"], salt="of the bench"
    )


JOBS = {f.__name__: f for f in (stream, polars_streaming, duck, evaluate, mst, syndiffix)}


def run_one(job: str, path: Path, other: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, str(HERE), "--job", job, str(path), str(other)],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        return {"error": float("nan"), "what": done.stderr.strip().splitlines()[-1][:100]}  # type: ignore[dict-item]
    return json.loads(done.stdout.splitlines()[-1])


def child(job: str, path: Path, other: Path) -> None:
    import resource
    import time

    import duckdb  # noqa: F401

    import dalenius.evaluation  # noqa: F401

    grouping_of(path)  # what is loaded is not counted, nor where numbers are cut
    before, begin = time.process_time(), time.perf_counter()
    JOBS[job](path, other)
    use = resource.getrusage(resource.RUSAGE_SELF)
    print(
        json.dumps(
            {
                "cpu": time.process_time() - before,
                "wall": time.perf_counter() - begin,
                "peak": use.ru_maxrss / 1024,
            }
        )
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--jobs", nargs="+", default=["stream", "polars_streaming", "duck"])
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--job", nargs=3)
    args = parser.parse_args()
    if args.job:
        child(args.job[0], Path(args.job[1]), Path(args.job[2]))
        return
    with tempfile.TemporaryDirectory(prefix="dalenius-scale-") as folder:
        every(args.rows, args.jobs, args.folder or Path(folder))


def every(sizes: list[int], jobs: list[str], folder: Path) -> None:
    before: dict[str, tuple[int, float]] = {}
    for rows in sizes:
        power = f"{math.log10(rows):g}"
        paths = folder / f"a{power}.parquet", folder / f"b{power}.parquet"
        for path, seed in zip(paths, (1, 2), strict=True):
            if not path.exists() and (seed == 1 or "evaluate" in jobs):
                make(path, rows, seed)
        print(f"{rows:,} rows × {COLUMNS} columns, {paths[0].stat().st_size / 1e6:,.0f} MB of Parquet")
        for job in jobs:
            found = run_one(job, *paths)
            if "error" in found:
                print(f"  {job:18} failed: {found['what']}")
                continue
            slope = ""
            if job in before:
                old, cpu = before[job]
                slope = f", exponent {math.log(found['cpu'] / cpu) / math.log(rows / old):.2f}"
            before[job] = rows, found["cpu"]
            print(
                f"  {job:18} {found['cpu']:8.1f} CPU s, {found['wall']:8.1f} s on the clock, "
                f"{found['peak']:7,.0f} MB{slope}",
                flush=True,
            )


if __name__ == "__main__":
    main()
