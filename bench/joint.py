"""Benchmarks of the joint models: MST and AIM on UCI Adult, the peer `mbi` on the same noisy tables, growth, trees.

Run ``python bench/joint.py [--adult adult.data] [--peer-python /venv/with/mbi/bin/python]``. Adult is in the wheel
`python-synthpop` (pip download --no-deps python-synthpop; datasets/adult/data/adult.data). `mbi` asks for packages of
its own, so it runs in an environment of its own (pip install mbi "jax[cpu]"). All times are CPU seconds.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import dalenius.utility  # noqa: F401 (registers the measure)
from dalenius.counts.junction import JunctionTree
from dalenius.counts.measure import MEASURES
from dalenius.counts.pair import Pair
from dalenius.counts.tree_table import TreeTable, fit_tree
from dalenius.data import Table
from dalenius.synth.joint import AIM, MST, LogLinear, Saturated
from dalenius.synth.joint import mst as mst_module
from dalenius.synth.joint.measured import Measured

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

PEER = """
import json, sys, time
import numpy as np
began = time.process_time()
import jax
jax.config.update("jax_enable_x64", True)
import mbi
held = np.load(sys.argv[1])
facts = json.loads(sys.argv[2])
names = [f"c{i}" for i in range(len(facts["sizes"]))]
domain = mbi.Domain(names, facts["sizes"])
measured = [
    mbi.LinearMeasurement(held[f"t{i}"].ravel(), tuple(names[v] for v in m), float(np.sqrt(s)))
    for i, (m, s) in enumerate(zip(facts["margins"], facts["variances"]))
]
loaded = time.process_time()
model = mbi.estimation.MirrorDescent().estimate(domain, measured, known_total=facts["total"], iters=facts["iters"])
drawn = model.synthetic_data(rows=int(facts["total"])).to_dict()
np.savez(sys.argv[3], **{n: np.asarray(drawn[n]) for n in names})
print(json.dumps({"load": loaded - began, "work": time.process_time() - loaded}))
"""


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    made = work()
    return time.process_time() - start, made


def adult(path: Path | None) -> Table | None:
    if path is None:
        spec = importlib.util.find_spec("datasets")
        places = (
            [Path(p) / "adult" / "data" / "adult.data" for p in (spec.submodule_search_locations or [])]
            if spec
            else []
        )
        path = next((p for p in places if p.exists()), None)
    if path is None:
        print(
            "Adult is needed for the first part: pip install python-synthpop --no-deps, or --adult FILE; left out"
        )
        return None
    return Table.from_frame(pl.read_csv(path, infer_schema_length=50_000).drop("fnlwgt"))


def s_pmse(original: Table, made: Table) -> float:
    return MEASURES["two-way-utility"](Pair(original, made)).value


def quality(table: Table, runs: int) -> None:
    print(
        f"\nAdult, {table.rows:,} rows, {len(table.names)} columns, epsilon 1, delta 1e-9: mean of {runs} runs"
    )
    for kind, times in ((MST, runs), (AIM, max(runs // 2, 1))):
        name = kind.info.name
        for hours, what in ((FORTY, "40 hours a bin of its own"), (DECADES, "hours by decades")):
            found = []
            for turn in range(times):
                options = {"domain": "from-data", "breaks": {**BREAKS, "hours.per.week": hours}}
                spent, made = timed(
                    lambda kind=kind, options=options, turn=turn: (
                        kind(**options).fit(table, seed=turn).sample(seed=turn)
                    )
                )
                found.append((spent, s_pmse(table, made)))
            cpu, score = np.mean(found, axis=0)
            best_cpu, best_score = BASELINE[name]
            print(
                f"  {name} ({what}): {cpu:6.2f} s, S_pMSE {score:5.1f} (worst {max(s for _, s in found):.1f}); "
                f"private-pgm {best_cpu:.0f} s, {best_score}: {best_cpu / cpu:.0f} times faster"
            )


def beside_mbi(table: Table, python: str | None, iters: int) -> None:
    print("\nThe same noisy tables, fitted and sampled by us and by mbi")
    if python is None:
        print(
            "  mbi is needed: pip install mbi 'jax[cpu]' in an environment of its own, then --peer-python; left out"
        )
        return
    kept: list[Measured] = []
    whole = Measured.fit

    def keep(self: Measured, max_iter: int) -> TreeTable:
        kept.append(self)
        return whole(self, max_iter)

    Measured.fit = keep  # type: ignore[method-assign]
    try:
        model = mst_module.MST(domain="from-data", breaks=BREAKS).fit(table, seed=1)
    finally:
        Measured.fit = whole  # type: ignore[method-assign]
    measured = kept[-1]
    ours, made = timed(lambda: (measured.fit(20), model.sample(seed=1))[1])
    print(f"  ours: {ours:6.2f} s, S_pMSE {s_pmse(table, made):.1f}")
    with tempfile.TemporaryDirectory() as folder:
        tables, out = Path(folder) / "tables.npz", Path(folder) / "rows.npz"
        np.savez(tables, **{f"t{i}": t for i, t in enumerate(measured.tables.values())})
        facts = {
            "sizes": [int(s) for s in measured.sizes], "margins": [list(m) for m in measured.tables],
            "variances": [float(v) for v in measured.variances.values()],
            "total": float(measured.task.total), "iters": iters,
        }  # fmt: skip
        ran = subprocess.run(
            [python, "-W", "ignore", "-c", PEER, str(tables), json.dumps(facts), str(out)],
            capture_output=True,
            text=True,
            check=False,
        )
        if ran.returncode:
            print(f"  mbi did not run: {(ran.stderr.strip() or 'no message').splitlines()[-1]}")
            return
        spent = json.loads(ran.stdout.strip().splitlines()[-1])
        rows = np.load(out)
        rng = np.random.default_rng(1)
        codes = [m.unfold(rows[f"c{i}"].astype(np.int64), rng) for i, m in enumerate(measured.mergings)]
        theirs = Table.from_vectors(model.coding.decode(codes, 1), len(codes[0]), table.origin, table.schema)
    print(
        f"  mbi:  {spent['work']:6.2f} s after {spent['load']:.1f} s of loading ({iters} rounds), "
        f"S_pMSE {s_pmse(table, theirs):.1f}: "
        f"ours is {spent['work'] / ours:.0f} times faster"
    )


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
            fit, model = timed(lambda kind=kind, table=table: kind.fit(table, seed=1))
            draw, _ = timed(lambda model=model: model.sample(seed=1))
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
            fit, model = timed(lambda kind=kind, table=table: kind.fit(table, seed=1))
            draw, _ = timed(lambda model=model: model.sample(10_000, seed=1))
            line.append(f"{kind.info.name} {fit:.2f} + {draw:.2f}")
        print("  ".join(line), flush=True)
        rows *= 10


def trees() -> None:
    rng = np.random.default_rng(0)
    margins = [(int(rng.integers(0, v)), v) for v in range(1, 30)]
    targets = [rng.dirichlet(np.ones(100)).reshape(10, 10) for _ in margins]
    spent, fit = timed(
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
    parser.add_argument("--largest", type=int, default=10_000_000, help="rows of the largest table")
    options = parser.parse_args()
    trees()
    table = adult(options.adult)
    if table is not None:
        MST(domain="from-data", breaks=BREAKS).fit(table)  # compile first
        quality(table, options.runs)
        beside_mbi(table, options.peer_python, options.iters)
    growth(options.largest)


if __name__ == "__main__":
    main()
