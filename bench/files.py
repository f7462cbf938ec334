"""Reading and writing files against pandas and Polars, and the memory it takes: run as a script.

python bench/files.py [rows]
python bench/files.py --gigabyte [rows]    a CSV of 1 GB: CPU and memory, each reader in a process of its own
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import psutil

from dalenius.data import read, write
from dalenius.data.files import memory_needed


def survey(rows: int, seed: int = 1, first: int = 0) -> pl.DataFrame:
    """Fifteen columns as surveys have them: ids, codes, amounts, dates, coordinates, answers."""
    rng = np.random.default_rng(seed)
    days = (np.datetime64("2020-01-01") + rng.integers(0, 900, rows)).astype("datetime64[D]")
    return pl.DataFrame(
        {
            "id": [f"P{i:08d}" for i in range(first, first + rows)],
            "age": rng.integers(0, 99, rows),
            "income": rng.integers(0, 200_000, rows),
            "weight": rng.gamma(2, 100, rows).round(4),
            "bmi": rng.normal(25, 4, rows).round(1),
            "region": rng.choice(["north", "south", "east", "west"], rows),
            "zip": [f"{i:05d}" for i in rng.integers(0, 9999, rows)],
            "day": days.astype(str),
            "lat": rng.normal(50, 1, rows).round(6),
            "lon": rng.normal(10, 1, rows).round(6),
            "mood": rng.integers(1, 6, rows),
            "trust": rng.integers(1, 6, rows),
            "smokes": rng.choice(["yes", "no", ""], rows),
            "job": rng.choice([f"occupation {i}" for i in range(500)], rows),
            "born": rng.integers(1950, 2020, rows),
        }
    )


def seconds(task: Callable[[], Any], times: int = 3) -> tuple[float, float]:
    """Best wall-clock and CPU seconds of a few runs."""
    walls, cpus = [], []
    for _ in range(times):
        wall, cpu = time.perf_counter(), time.process_time()
        task()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    return min(walls), min(cpus)


def report(name: str, task: Callable[[], Any], yardstick: float | None = None) -> float:
    """Print one line; the ratio is CPU time against ours."""
    wall, cpu = seconds(task)
    ratio = "" if yardstick is None else f"  {cpu / yardstick:5.2f} x our CPU time"
    print(f"  {name:34s} {wall:6.2f} s  {cpu:6.2f} s CPU{ratio}", flush=True)
    return cpu


READERS = {
    "dalenius read (typed, schema)": "from dalenius.data import read",
    "polars.read_csv": "from polars import read_csv as read",
    "polars.read_csv, all text": "from polars import read_csv\n"
    "def read(path): return read_csv(path, infer_schema=False)",
    "pandas.read_csv": "from pandas import read_csv as read",
    "pandas.read_csv + astype(category)": "from pandas import read_csv\ndef read(path):\n    frame = read_csv(path)\n"
    "    return frame.astype(dict.fromkeys(frame.select_dtypes(['object', 'string']).columns, 'category'))",
}
"""What each reader needs before the clock runs."""
ALONE = """
import sys, time, polars
{0}
def high():
    return 1024 * int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])
read(sys.argv[2])  # libraries load on their first call
before, wall, cpu = high(), time.perf_counter(), time.process_time()
kept = read(sys.argv[1])
print(time.perf_counter() - wall, time.process_time() - cpu, high() - before)
"""


def alone(reader: str, path: Path) -> tuple[float, float, float]:
    """Seconds, CPU seconds and bytes of memory that one read adds at its peak, in a process of its own (Linux)."""
    small = path.with_name("small.csv")
    survey(200).write_csv(small)
    code = ALONE.format(READERS[reader])
    out = subprocess.run(
        [sys.executable, "-c", code, str(path), str(small)], capture_output=True, text=True, check=True
    )
    wall, cpu, peak = map(float, out.stdout.split())
    return wall, cpu, peak


def gigabyte(rows: int, folder: Path) -> None:
    """A long file, written in parts, and every reader on it."""
    path = folder / "long.csv"
    with path.open("wb") as stream:
        for number, start in enumerate(range(0, rows, 1_000_000)):
            part = survey(min(1_000_000, rows - start), number, start)
            part.write_csv(stream, include_header=number == 0)
    size = path.stat().st_size
    print(f"{rows:,} rows x 15 columns, CSV of {size / 1e6:.0f} MB")
    found = {reader: [alone(reader, path) for _ in range(3)] for reader in READERS}
    least = {name: [min(column) for column in zip(*runs, strict=True)] for name, runs in found.items()}
    yardstick = least["polars.read_csv"]
    for name, (wall, cpu, peak) in least.items():
        times, memory = cpu / yardstick[1], peak / size
        print(
            f"  {name:34s} {wall:6.2f} s {cpu:7.2f} s CPU {times:5.2f} x Polars "
            f"{peak / 1e6:7.0f} MB {memory:4.1f} x file"
        )


def compare(rows: int, folder: Path) -> None:
    frame = survey(rows)
    path = folder / f"survey{rows}.csv"
    frame.write_csv(path)
    print(f"{rows:,} rows x 15 columns, CSV of {path.stat().st_size / 1e6:.0f} MB")
    table = read(path)
    ours = report("dalenius read (typed, schema)", lambda: read(path))
    report("polars.read_csv", lambda: pl.read_csv(path), ours)
    report("polars.read_csv, all text", lambda: pl.read_csv(path, infer_schema=False), ours)
    try:
        import pandas as pd

        report("pandas.read_csv", lambda: pd.read_csv(path), ours)
        report("pandas.read_csv + astype(category)", lambda: _categories(pd.read_csv(path)), ours)
    except ImportError:
        print("  pandas is not installed: pip install pandas")
    ours = report("dalenius write CSV", lambda: write(table, folder / "out.csv"))
    report("polars write_csv", lambda: frame.write_csv(folder / "out2.csv"), ours)
    ours = report("dalenius write Parquet", lambda: write(table, folder / "out.parquet"))
    ours = report("dalenius read Parquet", lambda: read(folder / "out.parquet"))
    report("polars read_parquet", lambda: pl.read_parquet(folder / "out.parquet"), ours)
    for file in (path, folder / "out.parquet"):
        _, _, taken = alone("dalenius read (typed, schema)", file)
        estimate = memory_needed(file)
        print(
            f"  peak memory of reading {file.suffix}: {taken / 1e6:.0f} MB, estimate {estimate / 1e6:.0f} MB"
        )


def _categories(frame: Any) -> Any:
    """What pandas needs to hold the text columns the way a Table does."""
    texts = frame.select_dtypes(["object", "string"]).columns
    return frame.astype(dict.fromkeys(texts, "category"))


if __name__ == "__main__":
    large = "--gigabyte" in sys.argv
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    largest = numbers[0] if numbers else 10_000_000 if large else 1_000_000
    print(f"{psutil.cpu_count()} cores, {psutil.virtual_memory().total / 2**30:.0f} GB")
    with tempfile.TemporaryDirectory() as name:
        if large:
            gigabyte(largest, Path(name))
        else:
            for size in (largest // 100, largest // 10, largest):
                compare(size, Path(name))
