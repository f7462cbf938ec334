"""Secondary suppression and audit of simulated tables: time, memory, suppressed cells and growth.

Region × industry × size class (the largest with one dimension more), counts of simulated firms, counts up to 3 and
zeros protected. No Python package does this; the peer is R's GaussSuppression. With --r it runs on the same tables, if
Rscript and the package are installed, and its suppressed cells are compared with ours one by one.

Run: python bench/tables.py [--audit] [--exact] [--r] [--no-large]
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

from dalenius.tables import SmallCount, Suppression, TableModel, audit, define, protect

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
    result = protect(model, SmallCount(3))
    return model, result, middle - begin, time.process_time() - middle


def main() -> None:
    """Run all sizes."""
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
