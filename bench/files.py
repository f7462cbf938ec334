"""Reading and writing files against pandas and Polars, and the memory it takes: run as a script.

python bench/files.py [rows]
"""

from __future__ import annotations

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


def survey(rows: int) -> pl.DataFrame:
    """Fifteen columns as surveys have them: ids, codes, amounts, dates, coordinates, answers."""
    rng = np.random.default_rng(1)
    days = (np.datetime64("2020-01-01") + rng.integers(0, 900, rows)).astype("datetime64[D]")
    return pl.DataFrame(
        {
            "id": [f"P{i:07d}" for i in range(rows)],
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


def peak(path: Path) -> float:
    """Resident memory that one read adds, measured in a fresh process, in bytes (Linux)."""
    import subprocess

    code = (
        "import sys\nfrom dalenius.data import read\n"
        "def high():\n"
        "    return 1024 * int(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])\n"
        "before = high()\ntable = read(sys.argv[1])\nprint(high() - before)"
    )
    out = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    return float(out.stdout)


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
        taken = peak(file)
        estimate = memory_needed(file)
        print(
            f"  peak memory of reading {file.suffix}: {taken / 1e6:.0f} MB, estimate {estimate / 1e6:.0f} MB"
        )


def _categories(frame: Any) -> Any:
    """What pandas needs to hold the text columns the way a Table does."""
    texts = frame.select_dtypes(["object", "string"]).columns
    return frame.astype(dict.fromkeys(texts, "category"))


if __name__ == "__main__":
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    print(f"{psutil.cpu_count()} cores, {psutil.virtual_memory().total / 2**30:.0f} GB")
    with tempfile.TemporaryDirectory() as name:
        for size in (largest // 100, largest // 10, largest):
            compare(size, Path(name))
