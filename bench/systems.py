"""The masking systems of six papers: speed against the best peer there is, and the papers' own figures.

Run: ``python bench/systems.py [spectral …]``. CPU seconds throughout; the first call of each piece of work, which
loads code, is not counted.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl

from _shared import cpu
from dalenius.data.table import Table
from dalenius.mask.geo.donut import Donut, donut
from dalenius.mask.geo.grid import quad_tree
from dalenius.mask.robin_hood import RobinHood, num_to_mask
from dalenius.mask.safepub import SafePub
from dalenius.mask.safepub_k import beta_max, gamma, min_k, tails
from dalenius.mask.series import cell_sensitivity, choose_k, example_homes, group_series, merge_until_safe
from dalenius.mask.spectral import anonymised
from dalenius.mask.spectral_attack import sign_attack
from dalenius.tables.rules import PPercent


def spectral() -> None:
    """Turning by normal draws against turning by whole orthogonal matrices, the way of the paper."""
    x = np.random.default_rng(1).normal(size=(1000, 6)) * np.sqrt(np.arange(6, 0, -1))
    anonymised(x, seed=1)
    ours = cpu(lambda: anonymised(x, seed=1), 20)[0]
    theirs = cpu(lambda: anonymised(x, seed=1, exact_matrix=True))[0]
    print(
        f"spectral, 1,000 x 6, turned: {ours:.4f} s; by whole matrices {theirs:.2f} s: {theirs / ours:,.0f} times"
    )
    big = np.random.default_rng(1).normal(size=(1_000_000, 6))
    print(f"spectral, 1,000,000 x 6: {cpu(lambda: anonymised(big, seed=1))[0]:.2f} s")
    sign_patterns()


OTHER = {(3, 100): 39, (3, 400): 42, (6, 100): 42, (6, 400): 33}
"""Rows found by signs in % by another implementation, one figure for each number of columns and rows."""


def sign_patterns(files: int = 300) -> None:
    """The attack on signs over many files: mean, standard error, and where another's figure stands among them."""
    means, errors, off = [], [], []
    for (width, rows), other in OTHER.items():
        told = []
        for way in ("sign", "permutation", "orthogonal"):
            found = np.empty(files)
            for turn in range(files):
                rng = np.random.default_rng((width, rows, turn))
                axes = np.linalg.qr(rng.normal(size=(width, width)))[0]
                y = rng.normal(size=(rows, width)) * np.sqrt(np.arange(width, 0, -1)) @ axes.T
                found[turn] = sign_attack(anonymised(y, way, seed=turn)[0], y).value
            spread = found.std(ddof=1)
            told.append(f"{way} {found.mean():.2f} +- {spread / np.sqrt(files):.2f}")
            if way == "sign":
                means.append(found.mean())
                errors.append(spread / np.sqrt(files))
                off.append((other - found.mean()) / spread)
                told[-1] += f" (one file +- {spread:.1f}; the other's {other}, {off[-1]:+.1f} of them away)"
        print(
            f"  rows found in %, p = {width}, n = {rows}: {', '.join(told)}; guessing {100 / rows:g}",
            flush=True,
        )
    error = np.sqrt(np.sum(np.square(errors))) / len(errors)
    print(f"  over the four: {np.mean(means):.1f} +- {error:.1f} %; the other's {np.mean(list(OTHER.values())):.1f}; "
          f"as single files these are {np.sum(np.square(off)):.1f} in chi square on 4")  # fmt: skip


def robin_hood() -> None:
    """A million records, against the same greedy plan with a data frame for each class, as the paper's authors do."""
    rng = np.random.default_rng(1)

    def people(rows: int) -> pl.DataFrame:
        return pl.DataFrame(
            {
                "age": rng.integers(20, 80, rows).astype(str), "sex": rng.choice(["f", "m"], rows),
                "race": rng.choice(["a", "b", "c"], rows, p=[0.9, 0.09, 0.01]),
            }
        )  # fmt: skip

    step = RobinHood(("age", "sex", "race"), fairness="race", k=30)
    small = people(20_000)
    table = Table.from_frame(small)
    step.apply(table, 1)
    ours = cpu(lambda: step.apply(table, 1), 3)[0]
    theirs = cpu(lambda: framewise(small.to_pandas(), 30))[0]
    print(
        f"robin-hood, 20,000 rows: {ours:.4f} s; class by class in pandas {theirs:.3f} s: {theirs / ours:.0f} times"
    )
    big = Table.from_frame(people(1_000_000))
    print(f"robin-hood, 1,000,000 rows: {cpu(lambda: step.apply(big, 1))[0]:.2f} s")


def framewise(frame: pd.DataFrame, k: int) -> pd.DataFrame:
    """The greedy plan on pandas frames: the only other way there is, since no package on PyPI has the method."""
    rng = np.random.default_rng(1)
    frame["masked"] = False
    for _, pool in frame.groupby(["age", "sex"]):
        sizes = pool["race"].value_counts().sort_values()
        large = pool[pool["race"].isin(sizes.index[sizes >= k])]
        for race, size in sizes[sizes < k].items():
            for own in range(1, size // 2 + 1):
                done = frame.loc[pool.index, "masked"].sum()
                more = max(0, num_to_mask(size, own, k) - done)
                free = large.index[~frame.loc[large.index, "masked"]]
                if more <= len(free):
                    mine = pool.index[pool["race"] == race]
                    frame.loc[rng.choice(mine, own, replace=False), "masked"] = True
                    frame.loc[rng.choice(free, more, replace=False), "masked"] = True
                    break
    return frame


def geo() -> None:
    """100,000 points in rings, against MaskMyPy 1.1.0; ``DALENIUS_MASKMYPY`` names the Python that has it."""
    rows = 100_000
    old = np.random.default_rng(1).random((rows, 2)) * 50_000 + 300_000
    donut(old, 100, 400, seed=1)
    ours, new = cpu(lambda: donut(old, 100, 400, seed=1), 5)
    east, north = np.abs(new - old).T
    angle = np.degrees(np.arctan2(north, east)).mean()
    turn = rows * abs(np.mean(np.exp(1j * np.arctan2(*(new - old).T[::-1])))) ** 2
    print(
        f"donut of {rows:,} points: {ours:.4f} s; mean angle in a quadrant {angle:.1f}; Rayleigh {turn:.1f}"
    )
    peer = os.environ.get("DALENIUS_MASKMYPY", "/tmp/peers/geo/bin/python")
    if Path(peer).exists():
        said = subprocess.run(
            [peer, "-c", MASKMYPY], capture_output=True, text=True, check=True
        ).stdout.split()
        theirs, bent = float(said[0]), float(said[1])
        print(f"  MaskMyPy: {theirs:.2f} s, mean angle {bent:.1f}: ours {theirs / ours:,.0f} times faster")
    table = Table.from_frame({"x": old[:, 0], "y": old[:, 1]})
    step = Donut("x", "y", unit="metres")
    print(f"  the whole step with its spatial k: {cpu(lambda: step.apply(table, 1))[0]:.2f} s")
    print(f"  quad-tree of the same points: {cpu(lambda: quad_tree(old, 8192, 6, 10))[0]:.2f} s")


MASKMYPY = """
import time, numpy as np, geopandas as gpd
from maskmypy import donut
p = np.random.default_rng(1).random((100_000, 2)) * 50_000 + 300_000
f = gpd.GeoDataFrame(geometry=gpd.points_from_xy(p[:, 0], p[:, 1]), crs="EPSG:25832")
b = time.process_time(); m = donut(f, low=100, high=400, seed=1); t = time.process_time() - b
d = np.abs(np.column_stack([m.geometry.x, m.geometry.y]) - p)
print(t, np.degrees(np.arctan2(d[:, 1], d[:, 0])).mean())
"""


def safepub() -> None:
    """The k by peaks of the tail against looking at every group size; a release of 30,000 records."""
    ours = cpu(lambda: [min_k(1e-4, beta_max(e), e) for e in (1, 2, 3, 4)])[0]

    def direct(epsilon: float) -> int:
        beta = beta_max(epsilon)
        g, k = gamma(beta, epsilon), 1
        rate = g * np.log(g / beta) - (g - beta)
        a = tails(range(1, int(np.log(1e4) / rate) + 3), beta, epsilon)
        while a[max(int(np.ceil(k / g - 1)), 1) - 1 :].max() > 1e-4:
            k += 1
        return k

    theirs, found = cpu(lambda: [direct(e) for e in (1, 2, 3, 4)])
    print(
        f"k for four ε: {ours:.4f} s; over all group sizes {theirs:.2f} s ({found}): {theirs / ours:.0f} times"
    )
    rng = np.random.default_rng(1)
    rows = 30_000
    table = Table.from_frame(
        {
            "age": np.clip(np.round(rng.normal(38, 13, rows)), 17, 90).astype(int),
            "sex": rng.choice(["f", "m"], rows, p=[0.32, 0.68]), "race": rng.choice(list("abcde"), rows),
            "work": rng.choice(list("abcdefg"), rows), "job": rng.choice(list("abcdefghijklmn"), rows),
        }
    )  # fmt: skip
    for beta in ("auto", "max"):
        step = SafePub(("age", "sex", "race", "work", "job"), levels={"age": [5, 10, 20, 40, 80, "all"]}, epsilon=3.0,
                       delta=1e-4, beta=beta)  # fmt: skip
        seconds, made = cpu(lambda step=step: step.apply(table))
        print(f"  {beta}: beta {step.share:.3f}, k {step.k}, {seconds:.2f} s; {made.notes[0].split(';')[0]}")


def series() -> None:
    """A year of half-hourly readings of 5,000 simulated homes: smallest safe k, sensitive cells, merged groups."""
    began = time.process_time()
    x = example_homes(5000, 365, seed=1)
    made = time.process_time() - began
    start = time.process_time()
    labels = group_series(x, 10, 48)
    marks = cell_sensitivity(x, labels, {"p %": PPercent(66)})
    print(
        f"k = 10: {int(marks.marks['p %'].sum()):,} of {marks.zero.size:,} cells sensitive, all of them named"
    )
    safe = merge_until_safe(x, labels, profile=48)
    left = cell_sensitivity(x, safe, {"p %": PPercent(66)}).marks["p %"].sum()
    best, tried = choose_k(x, ks=range(2, 201), profile=48)
    used = time.process_time() - start
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"  merged into {len(np.unique(safe))} groups, {left} sensitive cells left; smallest safe k {best}")
    print(f"  {len(tried)} values of k tried, the last {tried.rows()[-3:]}")
    print(f"series, 5,000 x 17,520: {used:.1f} s (simulating them {made:.1f} s), at most {most:.2f} GB")


WORK = {
    "spectral": spectral,
    "signs": sign_patterns,
    "robin-hood": robin_hood,
    "geo": geo,
    "safepub": safepub,
    "series": series,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or WORK:
        WORK[name]()
