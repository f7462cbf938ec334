"""Benchmarks of the joint models: MST and AIM on UCI Adult, the peer `mbi` on the same bins, growth, trees.

Run ``python bench/joint.py [--adult adult.data] [--peer-python /venv/with/mbi/bin/python]``. Adult is in the wheel
`python-synthpop` (pip download --no-deps python-synthpop; datasets/adult/data/adult.data). `mbi` asks for packages of
its own, so it runs in an environment of its own (pip install mbi "jax[cpu]"). All times are CPU seconds.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

import dalenius.utility  # noqa: F401 (registers the measure)
from _shared import adult_file, cpu
from dalenius.counts.junction import JunctionTree
from dalenius.counts.measure import MEASURES
from dalenius.counts.pair import Pair
from dalenius.counts.tree_table import TreeTable, fit_tree
from dalenius.data import Table
from dalenius.dp import rho_of_epsilon
from dalenius.synth.joint import AIM, MST, LogLinear, Saturated
from dalenius.synth.joint.base import JointSynthesizer
from dalenius.synth.joint.coding import Coding, Groups

FORTY = [1, 10, 20, 30, 35, 40, 41, 46, 51, 61, 100]
DECADES = [*range(0, 100, 10), 100]
BREAKS: dict[str, list[float]] = {
    "education.num": list(range(1, 18)),
    "age": [*range(15, 95, 5), 95],
    "capital.gain": [0, 1, 2000, 4000, 6000, 8000, 10000, 20000, 50000, 100000],
    "capital.loss": [0, 1, 500, 1000, 1500, 2000, 2500, 3000, 3500, 4400],
    "hours.per.week": FORTY,
}
BASELINE = {"mst": (120.4, 41.7), "aim": (441.9, 31.4)}
"""private-pgm at commit 4d2b3c5 on this machine: CPU seconds and mean S_pMSE (shared/baselines/peers.md)."""


def adult(path: Path | None) -> Table | None:
    found = adult_file(path)
    if found is None:
        return None
    return Table.from_frame(pl.read_csv(found, infer_schema_length=50_000).drop("fnlwgt"))


def s_pmse(original: Table, made: Table) -> float:
    return MEASURES["two-way-utility"](Pair(original, made)).value


def coded(table: Table, breaks: dict[str, list[float]]) -> Coding:
    return Coding.from_data(table, Groups(breaks=breaks), keep_values=False)


def peer_mst(
    table: Table, breaks: dict[str, list[float]], python: str, iters: int, seed: int
) -> tuple[float, Table] | None:
    """One file by `mbi` on the same codes: CPU seconds of working (not of loading), and the file."""
    coding = coded(table, breaks)
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("codes.npz", "facts.json", "rows.npz")]
        np.savez(paths[0], **{f"c{i}": c for i, c in enumerate(coding.encode(table))})
        facts = {"sizes": list(coding.sizes), "rho": rho_of_epsilon(1.0, 1e-9), "iters": iters, "seed": seed}
        paths[1].write_text(json.dumps(facts))
        script = str(Path(__file__).with_name("joint_peer.py"))
        words = [python, "-W", "ignore", script, *map(str, paths)]
        ran = subprocess.run(words, capture_output=True, text=True, check=False)
        if ran.returncode:
            print(f"  mbi did not run: {(ran.stderr.strip() or 'no message').splitlines()[-1]}")
            return None
        spent = json.loads(ran.stdout.strip().splitlines()[-1])["work"]
        rows = np.load(paths[2])
        drawn = [rows[f"c{i}"].astype(np.int64) for i in range(len(coding.sizes))]
    return spent, Table.from_vectors(coding.decode(drawn, seed), len(drawn[0]), table.origin, table.schema)


def line(name: str, found: list[tuple[float, float]], note: str = "") -> None:
    cpu, score = np.mean(found, axis=0)
    worst = max(s for _, s in found)
    print(
        f"  {name:26s} {cpu:7.2f} s, S_pMSE {score:5.1f} (worst of {len(found)}: {worst:.1f}){note}",
        flush=True,
    )


def ours(table: Table, method: JointSynthesizer, runs: int) -> list[tuple[float, float]]:
    found = []
    for seed in range(runs):
        spent, made = cpu(lambda seed=seed: method.fit(table, seed=seed).sample(seed=seed))
        found.append((spent, s_pmse(table, made)))
    return found


def quality(table: Table, python: str | None, options: argparse.Namespace) -> None:
    print(f"\nAdult, {table.rows:,} rows, {len(table.names)} columns, epsilon 1, delta 1e-9")
    print(f"  baseline (CPU s, S_pMSE): private-pgm MST {BASELINE['mst']}, AIM {BASELINE['aim']}")
    if python is None:
        print("  mbi is needed: pip install mbi 'jax[cpu]' in an environment of its own, then --peer-python")
    for hours, what in ((FORTY, "40 hours a bin of its own"), (DECADES, "hours by decades")):
        breaks = {**BREAKS, "hours.per.week": hours}
        print(f" {what}")
        kept = {"domain": "from-data", "breaks": breaks}
        mine = ours(table, MST(**kept), options.runs)
        line("mst", mine)
        line("mst, the paper's (more=0)", ours(table, MST(**kept, more=0), options.runs))
        if python is not None:
            made = [peer_mst(table, breaks, python, options.iters, s) for s in range(options.peer_runs)]
            theirs = [(spent, s_pmse(table, rows)) for spent, rows in filter(None, made)]
            if theirs:
                ratio = np.mean([t for t, _ in theirs]) / np.mean([t for t, _ in mine])
                line(f"mbi, {options.iters} rounds", theirs, f": mst is {ratio:.0f} times faster")
        line("aim", ours(table, AIM(**kept), max(options.runs // 2, 1)))


def codes(rows: int, columns: int, levels: int = 8) -> Table:
    """A chain of dependent categories."""
    rng = np.random.default_rng(0)
    held = {"c0": rng.integers(0, levels, rows)}
    for i in range(1, columns):
        fresh = rng.integers(0, levels, rows)
        held[f"c{i}"] = np.where(rng.random(rows) < 0.6, held[f"c{i - 1}"], fresh)
    return Table.from_frame(
        pl.DataFrame({n: pl.Series(v).cast(pl.String).cast(pl.Categorical) for n, v in held.items()})
    )


def growth(largest: int) -> None:
    print("\nGrowth with columns (30,000 rows, 8 levels): fit, then sample, CPU s")
    for columns in (5, 10, 20, 40):
        table = codes(30_000, columns)
        line = [f"  {columns:3d} columns:"]
        for kind in (
            MST(domain="from-data"),
            LogLinear(margins=[(f"c{i}", f"c{i + 1}") for i in range(columns - 1)]),
        ):
            fit, model = cpu(lambda kind=kind, table=table: kind.fit(table, seed=1))
            draw, _ = cpu(lambda model=model: model.sample(seed=1))
            line.append(f"{kind.info.name} {fit:.2f} + {draw:.2f}")
        print("  ".join(line))
    print("\nGrowth with rows (8 columns, 8 levels): fit, then sample 10,000 rows, CPU s")
    rows = 10_000
    while rows <= largest:
        table = codes(rows, 8)
        line = [f"  {rows:11,d} rows:"]
        for kind in (
            MST(domain="from-data"),
            LogLinear(margins=[(f"c{i}", f"c{i + 1}") for i in range(7)]),
            Saturated(),
        ):
            fit, model = cpu(lambda kind=kind, table=table: kind.fit(table, seed=1))
            draw, _ = cpu(lambda model=model: model.sample(10_000, seed=1))
            line.append(f"{kind.info.name} {fit:.2f} + {draw:.2f}")
        print("  ".join(line), flush=True)
        rows *= 10


def trees() -> None:
    rng = np.random.default_rng(0)
    margins = [(int(rng.integers(0, v)), v) for v in range(1, 30)]
    targets = [rng.dirichlet(np.ones(100)).reshape(10, 10) for _ in margins]
    spent, fit = cpu(
        lambda: fit_tree(TreeTable.uniform(JunctionTree.of([10] * 30, margins)), margins, targets)
    )
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"\n30 columns of 10 levels, a tree of two-way margins: {spent:.3f} s, "
        f"{fit.table.tree.cells:,} cells, process peak {memory:.0f} MB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--adult", type=Path)
    parser.add_argument("--peer-python")
    parser.add_argument(
        "--iters", type=int, default=1000, help="rounds of mbi's mirror descent (its default)"
    )
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--peer-runs", type=int, default=2)
    parser.add_argument(
        "--largest", type=int, default=10_000_000, help="rows of the largest table; 0: no growth"
    )
    options = parser.parse_args()
    trees()
    table = adult(options.adult)
    if table is not None:
        MST(domain="from-data", breaks=BREAKS).fit(table)  # compile first
        quality(table, options.peer_python, options)
    if options.largest:
        growth(options.largest)


if __name__ == "__main__":
    main()
