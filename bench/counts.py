"""How fast tables are counted, against pandas and Polars in the same run, and how it grows.

    python bench/counts.py [--quick]

Times are the best of several warm runs; CPU time is that of the whole process.
"""

from __future__ import annotations

import argparse
import itertools
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from dalenius.counts import count, count_all
from dalenius.counts.memory import count_codes, count_codes_many, row_groups
from dalenius.data.vector import Categories, compact

SIZES = (2, 2, 3, 5, 7, 9, 12, 20, 30, 50, 80, 120, 200, 1000, 2000)
FILE_SIZES = (2, 7, 12, 50, 100, 400, 1000, 5000)
LIMIT = "512MB"


def best(run: Callable[[], Any], times: int = 3) -> tuple[float, float]:
    """Smallest wall and CPU time of a few runs after one that warms up."""
    run()
    walls, works = [], []
    for _ in range(times):
        wall, work = time.perf_counter(), time.process_time()
        run()
        walls.append(time.perf_counter() - wall)
        works.append(time.process_time() - work)
    return min(walls), min(works)


def columns(rows: int, sizes: tuple[int, ...] = SIZES) -> dict[str, Categories]:
    """Skewed, independent columns."""
    rng = np.random.default_rng(1)
    made = {}
    for i, size in enumerate(sizes):
        shares = rng.dirichlet(np.full(size, 0.7))
        made[f"c{i}"] = Categories(compact(rng.choice(size, rows, p=shares), size), list(range(size)))
    return made


def report(name: str, ours: tuple[float, float], theirs: tuple[float, float] | None = None) -> None:
    line = f"{name:<58} {ours[0]:9.3f} s wall {ours[1]:9.3f} s CPU"
    if theirs is not None:
        line += f"   ours is {theirs[0] / ours[0]:6.1f}× faster (wall), {theirs[1] / ours[1]:6.1f}× (CPU)"
    print(line, flush=True)


def peers() -> Iterator[tuple[str, Callable[[dict[str, Any]], Any], Callable[[Any, list[str]], Any]]]:
    """Ways to make a frame of codes and to count it."""
    try:
        import pandas as pd

        yield "pandas groupby.size", pd.DataFrame, lambda frame, names: frame.groupby(names).size()
    except ImportError:
        print("pandas is not installed: pip install pandas")
    yield "Polars group_by.len", pl.DataFrame, lambda frame, names: frame.group_by(names).len()


def pairs(rows: int, with_peers: bool) -> tuple[float, float]:
    held = columns(rows)
    tables = list(itertools.combinations(held, 2))
    ours = best(lambda: count_codes_many(held, tables), 5)
    report(f"{len(tables)} two-way tables, {rows:,} rows: Dalenius", ours)
    if not with_peers:
        return ours
    codes = {name: each.codes for name, each in held.items()}
    frame = pl.DataFrame(codes)
    report("   … from a Polars frame, encoding included", best(lambda: count_all(frame, 2), 2))
    for name, make, run in peers():
        other = make(codes)
        theirs = best(lambda other=other, run=run: [run(other, list(t)) for t in tables], 1)
        report(f"   … {name}", theirs)
        report("   … Dalenius against it", ours, theirs)
    return ours


def single(rows: int, sizes: tuple[int, ...], what: str) -> None:
    held = columns(rows, sizes)
    names = list(held)
    ours = best(lambda: count_codes(names, list(held.values())))
    cells = float(np.prod([float(size) for size in sizes]))
    report(f"{what} ({cells:.1g} cells), {rows:,} rows: Dalenius", ours)
    report("   … row_groups", best(lambda: row_groups(list(held.values())), 2))
    codes = {name: each.codes for name, each in held.items()}
    for name, make, run in peers():
        if name.startswith("pandas") and len(names) > 12:
            continue  # refuses products of sizes beyond 64 bits, or falls back to minutes of work
        other = make(codes)
        theirs = best(lambda other=other, run=run: run(other, names), 1)
        report(f"   … {name}", theirs)
        report("   … Dalenius against it", ours, theirs)


@contextmanager
def big_file(rows: int) -> Iterator[Path]:
    """A Parquet file written in pieces, never in memory as a whole."""
    piece = 2_000_000
    rng = np.random.default_rng(7)
    with tempfile.TemporaryDirectory(prefix="dalenius-bench-") as folder:
        path = Path(folder) / "big.parquet"
        fields = pa.schema([(f"c{i}", pa.int64()) for i in range(len(FILE_SIZES))])
        with pq.ParquetWriter(path, fields) as writer:
            for begin in range(0, rows, piece):
                width = min(piece, rows - begin)
                data = {f"c{i}": rng.integers(0, size, width) for i, size in enumerate(FILE_SIZES)}
                writer.write_table(pa.table(data, schema=fields))
        yield path


def measured(job: str, path: Path) -> None:
    """One counting job in a process of its own: its time and its peak memory."""
    out = subprocess.run(
        [sys.executable, __file__, "--job", job, str(path)], check=True, capture_output=True, text=True
    )
    print(f"{job:<58} {out.stdout.strip()}", flush=True)


def peak() -> float:
    """Most memory this process held, in MB (getrusage would report the parent's peak after a fork)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


def job(name: str, path: str) -> None:
    names = [f"c{i}" for i in range(len(FILE_SIZES))]
    warm = count({"a": [1, 2]}, ["a"])
    before, wall, work = peak(), time.perf_counter(), time.process_time()
    rows = 0
    if name.startswith("one table"):
        rows = int(count(path, names[1:5], memory_limit=LIMIT).total)
    elif name.startswith("all pairs"):
        rows = int(count_all(path, 2, memory_limit=LIMIT)["c0", "c1"].total)
    elif name.startswith("Polars"):
        lazy = pl.scan_parquet(path)
        rows = int(lazy.group_by(names[1:5]).len().collect(engine="streaming")["len"].sum())
    elif name.startswith("in memory"):
        rows = int(count(pl.read_parquet(path, columns=names[1:5]), names[1:5]).total)
    assert warm.total == 2
    spent = f"{time.perf_counter() - wall:7.2f} s wall {time.process_time() - work:7.2f} s CPU"
    print(f"{spent}  peak {peak():,.0f} MB (imports {before:,.0f} MB), {rows:,} rows")


def main(quick: bool) -> None:
    base = 100_000 if quick else 1_000_000
    small = pairs(base, True)
    large = pairs(10 * base, False)
    print(f"{'10× rows':<58} {large[0] / small[0]:9.1f}× wall {large[1] / small[1]:11.1f}× CPU")
    if not quick:
        huge = pairs(40 * base, False)
        print(f"{'40× rows':<58} {huge[0] / small[0]:9.1f}× wall {huge[1] / small[1]:11.1f}× CPU")
    single(base, (12, 50, 200, 1000), "one four-way table")
    single(base, (50,) * 20, "one table of 20 columns")
    rows = 2_000_000 if quick else 40_000_000
    with big_file(rows) as path:
        plain = rows * len(FILE_SIZES) * 8 / 1e6
        size = path.stat().st_size / 1e6
        print(
            f"\nParquet file, {rows:,} rows: {size:,.0f} MB on disk, {plain:,.0f} MB as columns; limit {LIMIT}"
        )
        measured("one table, 4 columns, DuckDB under the limit", path)
        measured("all pairs of 8 columns, DuckDB under the limit", path)
        measured("Polars streaming, 4 columns", path)
        measured("in memory, 4 columns, read and encoded first", path)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows and a small file")
    parser.add_argument("--job", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        job(*options.job)
    else:
        main(options.quick)
