"""Secondary suppression and audit of simulated tables: time, memory, suppressed cells and growth.

Region × industry × size class (the largest with one dimension more), counts of simulated firms, counts up to 3 and
zeros protected. No Python package does this; the peer is R's GaussSuppression. With --r it runs on the same tables, if
Rscript and the package are installed, and its suppressed cells are compared with ours one by one.

--ways puts every way to protect on the same tables (one of counts, one of sums): time, loss, risk, audit. --years
prints what last year costs over 200 random pairs of years. --census FILE checks the checksums of R's test on the
census file (columns sex, age_l, age_m, age_h, lms_l, lms_h, hst_l, hst_m, hst_h, fst_l, fst_m, fst_h, freq) for
whoever has it.

Run: python bench/tables.py [--audit] [--exact] [--r] [--no-large] | --ways | --years | --census FILE
"""

from __future__ import annotations

import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from dalenius.tables import (
    FewContributors,
    PPercent,
    SmallCount,
    Suppression,
    TableModel,
    audit,
    compare_ways,
    define,
    protect,
    protect_years,
)

SIZES = {
    "5k": (((4, 5), (4, 6), (5,)), 90_000),
    "10k": (((4, 8), (5, 7), (5,)), 220_000),
    "20k": (((5, 8), (6, 8), (7,)), 540_000),
    "100k": (((5, 8), (6, 8), (7,), (4,)), 3_400_000),
}
NAMES = ("region", "industry", "size", "year")
R_SCRIPT = """
suppressMessages(library(GaussSuppression))
a <- commandArgs(TRUE)
d <- read.csv(a[1], colClasses = "character"); d$n <- as.integer(d$n)
by <- setdiff(names(d), "n")
t <- system.time(s <- SuppressSmallCounts(d, maxN = 3, dimVar = by, freqVar = "n", printInc = FALSE))
write.csv(s, a[2], row.names = FALSE); cat(t[[1]] + t[[2]])
"""


def tree(shape: tuple[int, ...], prefix: str) -> dict[str, list[str]]:
    """Level columns of a regular tree: leaf codes first."""
    leaves = int(np.prod(shape))
    columns = {}
    below = leaves
    for depth, parts in enumerate(shape):
        below //= parts
        columns[f"{prefix}{depth}"] = [f"{prefix}{depth}_{i // below:03d}" for i in range(leaves)]
    return dict(reversed(columns.items()))


def simulate(
    shapes: tuple[tuple[int, ...], ...], firms: int, seed: int = 1
) -> tuple[dict[str, list[str]], list[str]]:
    """Inner cells with counts: skewed margins, mild interaction, many zeros."""
    rng = np.random.default_rng(seed)
    levels = [tree(shape, name) for shape, name in zip(shapes, NAMES, strict=False)]
    sizes = [int(np.prod(shape)) for shape in shapes]
    share = np.ones(1)
    for size in sizes:
        share = np.outer(share, rng.gamma(0.9, 1.0, size) + 0.02).ravel()
    share *= rng.gamma(1.0, 1.0, len(share))
    counts = rng.multinomial(firms, share / share.sum())
    place = np.indices(sizes).reshape(len(sizes), -1)
    frame: dict[str, list] = {}
    for columns, index in zip(levels, place, strict=True):
        for name, codes in columns.items():
            frame[name] = np.array(codes, object)[index].tolist()
    names = list(frame)
    frame["n"] = counts.tolist()
    return frame, names


def in_r(frame: dict[str, list], result: Suppression, cpu: float) -> str:
    """The same table in R: seconds, and whether the suppressed cells are the same."""
    if shutil.which("Rscript") is None:
        return "R is not installed (apt-get install r-base-core, then install.packages('GaussSuppression'))"
    with tempfile.TemporaryDirectory() as folder:
        given, made = Path(folder, "in.csv"), Path(folder, "out.csv")
        pl.DataFrame(frame).write_csv(given)
        done = subprocess.run(
            ["Rscript", "-e", R_SCRIPT, str(given), str(made)], capture_output=True, text=True, check=False
        )
        if done.returncode:
            return "R runs, but not the package: install.packages('GaussSuppression')"
        theirs = pl.read_csv(made, infer_schema=False)
    names = result.model.names
    hidden = theirs.filter(pl.col("suppressed") == "TRUE").select(names)
    ours = result.model.cells.filter(pl.Series(result.suppressed)).select(names)
    common = len(ours.join(hidden, on=names))
    return (
        f"R {float(done.stdout.split()[-1]):.1f} CPU s ({float(done.stdout.split()[-1]) / cpu:.0f} ×), {len(hidden):,} "
        f"suppressed, {common:,} of them in common"
    )


def audited(result: Suppression, exact: bool) -> str:
    """Time of the audit."""
    begin, wall = time.process_time(), time.perf_counter()
    asked = {"intervals": "exact", "cells": "suppressed"} if exact else {}
    found = audit(result, **asked)  # type: ignore[arg-type]
    cpu, clock = time.process_time() - begin, time.perf_counter() - wall
    kind = "exact bounds" if exact else "intervals checked"
    return (
        f"{kind} of {len(found.intervals.cells):,} cells: {found.intervals.solved:,} programs, {cpu:.1f} CPU s, "
        f"{clock:.1f} s on the clock; passed: {found.passed}"
    )


def timed(frame: dict[str, list], by: list[str]) -> tuple[TableModel, Suppression, float, float]:
    """Define and suppress, with the CPU seconds of each."""
    begin = time.process_time()
    model = define(frame, by=by, freq="n")
    middle = time.process_time()
    result = protect(model, SmallCount(3), repair=False)  # the elimination alone; --audit times the audit
    return model, result, middle - begin, time.process_time() - middle


CENSUS = {
    "t1": ("~ sex*(age_l+age_m+age_h)*(lms_l+lms_h)", (815, 1282693), (876, 1367202)),
    "t2": ("~ sex*(age_l+age_m+age_h)*(hst_l+hst_m+hst_h)", (1347, 2221804), (1509, 2440464)),
    "t3": ("~ sex*(age_l+age_m+age_h)*(fst_l+fst_m+fst_h)", (1836, 4755062), (2015, 5143007)),
    "t4": ("~ sex*(lms_l+lms_h)*(hst_l+hst_m+hst_h)", (120, 20531), (120, 20531)),
}
"""Formula, and suppressed cells with the sum of their places: without a rule for small counts, and with anySum."""
ALL_CENSUS = (
    "all four",
    " + ".join(f"({f.removeprefix('~')})" for f, *_ in CENSUS.values()),
    (4229, 21619689),
    (5131, 26316146),
)


def census(path: str) -> None:
    """Suppressed cells and checksums of R's test, beside ours."""
    frame = pl.read_csv(path, infer_schema=False).with_columns(pl.col("freq").cast(pl.Int64))
    # R counts a code once for every column it stands in: "SIN" of lms_l and "SIN" of lms_h are two cells
    levels = [name for name in frame.columns if name.endswith(("_l", "_m"))]
    frame = frame.with_columns(pl.format("{}{}", pl.lit(name[-1]), name).alias(name) for name in levels)
    for name, formula, *wanted in (*((k, *v) for k, v in CENSUS.items()), ALL_CENSUS):
        model = define(frame, formula=formula, freq="freq", extend0=False)
        for small, expected in zip(("none", "anysum"), wanted, strict=True):
            begin = time.process_time()
            result = protect(model, SmallCount(3, protect_zeros=False), small=small, repair=False)
            places = np.flatnonzero(result.suppressed) + 1
            ours = (len(places), int(places.sum()))
            cpu, same = time.process_time() - begin, "equal" if ours == expected else "DIFFERENT"
            figures = f"{ours[0]:,} / {ours[1]:,}, R {expected[0]:,} / {expected[1]:,}"
            print(f"{name} {small:>6}: {figures}: {same}, {cpu:.2f} CPU s", flush=True)


def ways() -> None:
    """Every way to protect on the same table of counts, of sums, and on linked tables."""
    rng = np.random.default_rng(1)
    size = 4000
    data = {
        "region": rng.choice([f"r{i:02d}" for i in range(20)], size, p=np.arange(1, 21) / 210),
        "branch": rng.choice(list("abcdefghijkl"), size, p=np.arange(12, 0, -1) ** 2 / 650),
        "size": rng.choice(["small", "middle", "large"], size, p=[0.7, 0.25, 0.05]),
        "firm": [f"F{i}" for i in rng.integers(0, 1200, size)], "turnover": np.round(rng.lognormal(3, 1.3, size), 1),
    }  # fmt: skip
    counts = define(data, by=["region", "branch"])
    sums = define(data, by=["region", "branch"], value="turnover", contributor="firm")
    linked = define(data, tables={"one": ["region", "branch"], "two": ["region", "size"]})
    for name, model, rules in (
        ("counts", counts, (SmallCount(3),)),
        ("sums", sums, (FewContributors(2), PPercent(10))),
        ("linked", linked, (SmallCount(3),)),
    ):
        chosen = [
            f"linked: {how}" for how in ("global", "super-consistent", "consistent", "back-tracking", "local")
        ]
        some = chosen if name == "linked" else None
        found = compare_ways(model, *rules, key=b"bench", limit=200.0, time_limit=20, ways=some)
        print(f"{name}: {len(model.cells)} cells")
        for row in found.table.iter_rows(named=True):
            told = ((k, f"{v:.3g}" if isinstance(v, float) else v) for k, v in row.items() if v is not None)
            figures = "  ".join(f"{k} {v}" for k, v in told)
            print(f"  {figures}", flush=True)


def years() -> None:
    """What last year costs: 200 random pairs of years, six of ten inner cells unchanged."""
    alone = together = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        shape = int(rng.integers(2, 4)), int(rng.integers(3, 5))
        names = [(f"r{i}", f"c{j}") for i in range(shape[0]) for j in range(shape[1])]
        old = rng.integers(0, 14, len(names)) + 1
        new = np.where(
            rng.random(len(names)) < 0.6, old, np.maximum(0, old + rng.integers(-4, 5, len(names)))
        )
        frame = {"r": [n[0] for n in names], "c": [n[1] for n in names]}
        first, second = (define({**frame, "n": n.tolist()}, by=["r", "c"], freq="n") for n in (old, new))
        found = protect_years(protect(first, SmallCount(3)), second, SmallCount(3))
        assert found.checked.passed
        alone, together = alone + found.alone, together + int(found.now.suppressed.sum())
    print(f"200 pairs of years: {alone:,} cells suppressed by one year alone, {together:,} beside last year")


def main() -> None:
    """Run all sizes, or what was asked for."""
    if "--census" in sys.argv:
        return census(sys.argv[sys.argv.index("--census") + 1])
    if "--ways" in sys.argv:
        return ways()
    if "--years" in sys.argv:
        return years()
    protect(define({"a": ["x", "y"], "n": [1, 9]}, by="a", freq="n"), SmallCount(3))  # compile first
    before = None
    for name, (shapes, firms) in SIZES.items():
        if name == "100k" and "--no-large" in sys.argv:
            continue
        frame, by = simulate(shapes, firms)
        model, result, defined, cpu = timed(frame, by)
        cells, hidden = len(model.cells), int(result.suppressed.sum())
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        grown = (
            "" if before is None else f"; exponent {np.log(cpu / before[1]) / np.log(cells / before[0]):.2f}"
        )
        print(
            f"{name:>5}: {cells:>7,} cells of {len(model.counts):,} inner, {int(result.primary.sum()):,} primary, "
            f"{int(result.secondary.sum()):,} secondary ({100 * hidden / cells:.0f} % suppressed), define "
            f"{defined:.2f} s, suppress {cpu:.2f} CPU s, peak {peak:.0f} MB{grown}",
            flush=True,
        )
        before = (cells, cpu)
        if name != "100k":
            wanted = [exact for flag, exact in (("--audit", False), ("--exact", True)) if flag in sys.argv]
            lines = [audited(result, exact) for exact in wanted]
            lines += [in_r(frame, result, cpu)] if "--r" in sys.argv else []
            for line in lines:
                print(f"       {line}", flush=True)


if __name__ == "__main__":
    main()
