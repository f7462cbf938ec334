"""SynDiffix against its reference implementation: CPU seconds, quality, growth, threads, memory.

Run ``python bench/syndiffix.py [--quick]``. The peer is `syndiffix` from PyPI in an environment of its own: make it
with ``python -m venv /tmp/venvs/syndiffix && /tmp/venvs/syndiffix/bin/pip install syndiffix==1.0.8 'pandas<3'`` or
name another with ``--peer``. UCI Adult comes out of the wheel of `python-synthpop`. Every measurement runs in a
process of its own, with kernels warm; compilation is reported apart.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from _shared import adult_file

ADULT = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours",
    "country",
    "income",
]
NUMBERS = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours")
FIVE = ["age", "workclass", "education", "occupation", "hours"]
SALT = "bench-salt"
PEER = """
import sys, time, json, resource
import pandas as pd
from syndiffix import Synthesizer
from syndiffix.common import AnonymizationParams
from syndiffix.clustering.strategy import SingleClustering
data = pd.read_csv(sys.argv[1], keep_default_na=False)
options = {"clustering": SingleClustering()} if sys.argv[3] == "single" else {}
begin = time.process_time()
out = Synthesizer(data, anonymization_params=AnonymizationParams(salt=b"bench-salt"), **options).sample()
cpu = time.process_time() - begin
out.to_csv(sys.argv[2], index=False)
print(json.dumps({"cpu": cpu, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))
"""


def continuous(rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    x = rng.normal(size=rows)
    return pl.DataFrame({"x": x, "y": np.exp(0.7 * x + 0.714 * rng.normal(size=rows))})


def categorical(rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(2)
    a = rng.normal(size=rows)
    b = 0.6 * a + 0.8 * rng.normal(size=rows)
    cut = [np.sort(rng.normal(size=n - 1)) for n in (20, 12)]
    names = [[f"{letter}{i:02d}" for i in range(20)] for letter in "ab"]
    return pl.DataFrame(
        {
            "a": np.array(names[0])[np.searchsorted(cut[0], a)],
            "b": np.array(names[1])[np.searchsorted(cut[1], b)],
        }
    )


def mixed(rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    x = rng.normal(size=rows)
    i = np.minimum(rng.exponential(50, rows) * np.exp(x / 2), 2000).astype(int)
    s = np.array([f"class {k}" for k in range(10)])[
        np.clip(np.round(x * 2 + rng.normal(size=rows) + 5), 0, 9).astype(int)
    ]
    return pl.DataFrame({"x": x, "i": i, "s": s})


def adult() -> pl.DataFrame | None:
    path = adult_file()
    if path is None:
        return None
    frame = pl.read_csv(path, has_header=False, skip_rows=1, new_columns=ADULT, infer_schema=False)
    frame = frame.with_columns(pl.all().str.strip_chars())
    return frame.with_columns(pl.col(list(NUMBERS)).cast(pl.Int64))


def ours(path: str, target: str, mode: str, threads: int) -> None:
    """One measurement of ours, in a fresh process: a warm-up on a few rows, then from frame to frame."""
    from dalenius.synth import synthesize

    frame = pl.read_parquet(path)
    options = {"salt": SALT, "clustering": mode, "threads": threads}
    begin = time.process_time()
    synthesize(frame[:500], "syndiffix", seed=0, **options)
    warm = time.process_time() - begin
    cpus, walls = [], []
    for _ in range(1 if len(frame) > 200_000 else 7):
        wall, cpu = time.perf_counter(), time.process_time()
        out = synthesize(frame, "syndiffix", seed=1, **options)
        cpus.append(time.process_time() - cpu)
        walls.append(time.perf_counter() - wall)
    out.write_parquet(target)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        json.dumps({"cpu": float(np.median(cpus)), "wall": float(np.min(walls)), "warm": warm, "peak": peak})
    )


def measure(
    frame: pl.DataFrame, mode: str, folder: Path, threads: int = 1
) -> tuple[dict[str, float], pl.DataFrame]:
    frame.write_parquet(folder / "in.parquet")
    command = [
        sys.executable,
        __file__,
        "--ours",
        str(folder / "in.parquet"),
        str(folder / "out.parquet"),
        mode,
        str(threads),
    ]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1]), pl.read_parquet(folder / "out.parquet")


def peer(
    frame: pl.DataFrame, mode: str, folder: Path, python: Path
) -> tuple[dict[str, float], pl.DataFrame] | None:
    if not python.exists():
        return None
    frame.write_csv(folder / "in.csv")
    command = [str(python), "-c", PEER, str(folder / "in.csv"), str(folder / "out.csv"), mode]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    out = pl.read_csv(folder / "out.csv", schema_overrides=frame.schema, null_values=None)
    return json.loads(done.stdout.splitlines()[-1]), out


def scores(real: pl.DataFrame, made: pl.DataFrame) -> tuple[list[float], list[float]]:
    """Column shapes (complement of KS or TV distance) and pair trends (correlation or contingency similarity).

    Numbers are cut at the edges of the real data.
    """
    from dalenius.counts.pair import Pair
    from dalenius.utility.distributions import shape_scores
    from dalenius.utility.trends import pair_trends_table

    pair = Pair(real, made)
    trends = pair_trends_table(pair, real.columns, own_edges=False)["score"].to_list()
    return list(shape_scores(pair, real.columns).values()), trends


def mean_scores(real: pl.DataFrame, made: pl.DataFrame) -> tuple[float, float]:
    shapes, pairs = scores(real, made)
    return float(np.mean(shapes)), float(np.mean(pairs))


def two_columns(python: Path, folder: Path) -> None:
    """Medians over the 24 simulated tables of two columns."""
    from dalenius.data import examples

    found: dict[str, tuple[list[float], list[float]]] = {"ours": ([], []), "reference": ([], [])}
    for rows in (7_000, 28_000):
        for design in examples.DESIGNS:
            real = examples.two_columns(design, rows, seed=1)
            other = peer(real, "auto", folder, python)
            made = {"ours": measure(real, "auto", folder)[1]} | ({"reference": other[1]} if other else {})
            for name, table in made.items():
                shapes, pairs = scores(real, table)
                found[name][0].extend(shapes)
                found[name][1].extend(pairs)
    for name, (shapes, pairs) in found.items():
        if pairs:
            middle = f"columns {np.median(shapes):.4f}, pairs {np.median(pairs):.4f}"
            print(f"24 simulated tables of two columns, {name}: medians {middle}", flush=True)


def against(cases: dict[str, tuple[pl.DataFrame, str]], python: Path, folder: Path) -> None:
    print(
        f"{'case':32s}{'ours s':>9s}{'peer s':>9s}{'ratio':>8s}   shapes ours/peer    pairs ours/peer   MB ours/peer"
    )
    for name, (frame, mode) in cases.items():
        mine, made = measure(frame, mode, folder)
        good = mean_scores(frame, made)
        other = peer(frame, mode, folder, python)
        if other is None:
            print(
                f"{name:32s}{mine['cpu']:9.3f}{'-':>9s}{'-':>8s}   {good[0]:.4f}             {good[1]:.4f}",
                flush=True,
            )
            continue
        theirs, table = other
        bad = mean_scores(frame, table)
        ratio = theirs["cpu"] / mine["cpu"]
        print(
            f"{name:32s}{mine['cpu']:9.3f}{theirs['cpu']:9.2f}{ratio:8.0f}   {good[0]:.4f} / {bad[0]:.4f}    "
            f"{good[1]:.4f} / {bad[1]:.4f}   {mine['peak']:.0f} / {theirs['peak']:.0f}", flush=True,
        )  # fmt: skip


def growth(folder: Path) -> None:
    before = 0.0
    for rows in (10_000, 100_000, 1_000_000):
        mine, _ = measure(mixed(rows), "auto", folder)
        factor = f", {mine['cpu'] / before:.1f} times the time" if before else ""
        print(
            f"mixed {rows:>9,} x 3: {mine['cpu']:.2f} CPU s, peak {mine['peak']:.0f} MB{factor}", flush=True
        )
        before = mine["cpu"]


def threads(label: str, frame: pl.DataFrame, mode: str, folder: Path) -> None:
    one, two = measure(frame, mode, folder, 1)[0], measure(frame, mode, folder, 2)[0]
    print(
        f"two threads, {label}: wall {one['wall']:.2f} -> {two['wall']:.2f} s, "
        f"{one['wall'] / two['wall']:.2f} times",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="leave out the cases in which the peer needs minutes"
    )
    parser.add_argument(
        "--only", default="", help="only the comparisons whose name holds this text, no growth"
    )
    parser.add_argument("--no-peer", action="store_true", help="measure ours only")
    parser.add_argument("--peer", type=Path, default=Path("/tmp/venvs/syndiffix/bin/python"))
    parser.add_argument("--ours", nargs=4, metavar=("IN", "OUT", "MODE", "THREADS"))
    chosen = parser.parse_args()
    if chosen.ours:
        ours(*chosen.ours[:3], int(chosen.ours[3]))
        return
    python = Path("/nowhere") if chosen.no_peer else chosen.peer
    if not python.exists():
        print(
            "no peer: it needs `pip install syndiffix==1.0.8` in an environment of its own; see the top of this file"
        )
    people = adult()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        mine, _ = measure(mixed(1000), "auto", folder)
        print(f"first use in a process, kernels from the cache: {mine['warm']:.2f} CPU s")
        cases = {
            "2 continuous x 28,000": (continuous(28_000), "auto"),
            "2 categories x 28,000": (categorical(28_000), "auto"),
        }
        if people is not None:
            cases["Adult, age and education"] = (people.select("age", "education"), "auto")
            if not chosen.quick:
                cases["Adult, 5 columns, one cluster"] = (people.select(FIVE), "single")
                cases["Adult, 15 columns"] = (people, "auto")
        against({name: case for name, case in cases.items() if chosen.only in name}, python, folder)
        if chosen.only:
            return
        two_columns(python, folder)
        growth(folder)
        if people is not None:
            threads("Adult, 6 columns, one cluster", people.select([*FIVE, "marital"]), "single", folder)
            threads("Adult, 15 columns", people, "auto", folder)


if __name__ == "__main__":
    main()
