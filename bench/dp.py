"""Are accuracy statements true, and what does private counting cost? Run: python bench/dp.py [draws [mechanism …]].

Coverage: in how many draws counts of about 500 in the measured tables of a released file, and the answers of single
queries, are as near to the truth as is said. Speed: a private table of one column beside OpenDP's own chain of counting
and noise on the same rows, with the same budget and the same public keys.
"""

from __future__ import annotations

import sys
import time
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from dalenius import dp
from dalenius.data import Column, Kind, Schema, Table
from dalenius.synth import make_synthesizer

LEVELS = {"a": "xyz", "b": "uvw", "c": "pq"}
SCHEMA = Schema(
    (
        *(Column(name, Kind.CATEGORICAL, levels=tuple(levels)) for name, levels in LEVELS.items()),
        Column("age", Kind.INTEGER, bounds=(0, 100)),
    )
).declare()
NEAR = 350, 650
"""True counts for which the statement about a count of 500 is tried."""
MECHANISMS: dict[str, dict[str, Any]] = {
    "saturated": {"epsilon": 0.2},
    "saturated, even": {"epsilon": 0.2, "drawing": "even"},
    "saturated, simplex, Gaussian": {"epsilon": 0.2, "delta": 1e-6, "adjust": "simplex", "drawing": "even"},
    "loglinear": {"epsilon": 0.4},
    "loglinear, even": {"epsilon": 0.4, "drawing": "even"},
    "loglinear, Gaussian": {"epsilon": 0.4, "delta": 1e-6, "drawing": "even"},
    "mst": {"epsilon": 0.4},
    "mst, even": {"epsilon": 0.4, "drawing": "even"},
    "aim": {"epsilon": 0.4, "rounds": 4},
    "aim, even": {"epsilon": 0.4, "rounds": 4, "drawing": "even"},
}
QUERIES = ("count", "sum", "mean", "table")


def people(pairs: bool) -> Table:
    """Six or nine thousand people whose columns go together; most counts of the full (two-way) table are near 500."""
    rng = np.random.default_rng(1)
    rows: list[tuple[str, ...]] = []
    for a, b, c in product(*LEVELS.values()):
        alike = (a + b in ("xu", "yv", "zw")) + (b + c in ("up", "vq"))
        size = rng.integers(120, 180) * (1 + 1.2 * alike) if pairs else rng.integers(360, 480) + 80 * alike
        rows += [(a, b, c)] * int(size)
    frame = {name: [row[i] for row in rows] for i, name in enumerate(LEVELS)}
    frame["age"] = rng.integers(0, 90, len(rows)).tolist()
    return Table.from_frame(frame, SCHEMA.blind())


def coverage(mechanism: str, draws: int) -> tuple[float, float, int, float]:
    """Share of the counts that are as near as stated, its standard error, how many there were, and how far that is.

    Counts of one draw share its noise, so the error is that of the draws.
    """
    method = mechanism.partition(",")[0]
    table = people(pairs=method != "saturated").select(list(LEVELS))
    truth = table.to_frame("polars")
    shares: list[tuple[int, int]] = []
    limits: list[float] = []
    for turn in range(draws):
        inside: list[bool] = []
        model = make_synthesizer(method, **MECHANISMS[mechanism]).fit(table, seed=turn)
        made = model.sample(seed=turn).to_frame("polars")
        for line in (n for n in model.notes if n.startswith("a count of 500 in table")):
            what, said = line.split("table ")[1].split(" of the file is within ±")
            named = list(LEVELS) if what == "of all columns" else what.split(" × ")
            counts = (
                truth.group_by(named).len("true").join(made.group_by(named).len("made"), on=named, how="left")
            )
            near = counts.filter(pl.col("true").is_between(*NEAR)).fill_null(0)
            limits.append(float(said.split(" ")[0]))
            off = (near["made"].cast(pl.Int64) - near["true"].cast(pl.Int64)).abs()
            inside += (off <= limits[-1]).to_list()
        shares.append((sum(inside), len(inside)))
    held, counts = np.array(shares, np.float64).T
    share = held.sum() / counts.sum()
    error = np.sqrt(((held - share * counts) ** 2).sum()) / counts.sum()
    return float(share), float(error), int(counts.sum()), float(np.mean(limits))


def answers(query: str, draws: int, delta: float) -> float:
    """Share of the answers that are as near as stated."""
    table = people(pairs=True)
    if query == "table":
        truth = np.append(np.bincount(table["a"].data, minlength=3), 0)
        made = [dp.table(table, ["a"], epsilon=0.1, delta=delta).table for _ in range(draws)]
        off = [np.abs(m["count"].to_numpy() - truth) <= m["within"].to_numpy() for m in made]
        return float(np.mean(off))
    ages = table["age"].data
    right = {"count": table.rows, "sum": ages.sum(), "mean": ages.mean()}[query]
    asked = [] if query == "count" else ["age"]
    found = [getattr(dp, query)(table, *asked, epsilon=0.1, delta=delta) for _ in range(draws)]
    return float(np.mean([abs(each.value - right) <= each.values["within"] for each in found]))


def private_table(rows: int) -> tuple[float, float]:
    """CPU seconds of one private histogram here, and by OpenDP's own chain of counting and noise."""
    import opendp.prelude as odp

    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.choice(list(LEVELS["a"]), rows)})
    schema = SCHEMA.select(["a"])
    begun = time.process_time()
    dp.table(frame, ["a"], epsilon=1.0, schema=schema)
    ours = time.process_time() - begun
    odp.enable_features("contrib")
    begun = time.process_time()
    space = odp.vector_domain(odp.atom_domain(T=str)), odp.symmetric_distance()
    counted = space >> odp.t.then_count_by_categories(categories=list(LEVELS["a"]), MO=odp.L1Distance[int])
    (counted >> odp.m.then_laplace(scale=1.0))(frame["a"].to_list())
    return ours, time.process_time() - begun


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    for name in sys.argv[2:] or MECHANISMS:
        started = time.process_time()
        share, error, counted, limit = coverage(name, wanted)
        print(
            f"{name:30} coverage {100 * share:.1f} ± {100 * error:.1f} % of {counted:,} counts in {wanted:,} draws, "
            f"±{limit:.0f} ({time.process_time() - started:.0f} s)",
            flush=True,
        )
    for name in QUERIES:
        for extra, law in ((0.0, "Laplace"), (1e-6, "Gaussian")):
            share = answers(name, wanted, extra)
            print(
                f"{'dp.' + name + ', ' + law:30} coverage {100 * share:.1f} % of {wanted:,} draws", flush=True
            )
    for size in (10_000, 100_000, 1_000_000):
        own, other = private_table(size)
        print(
            f"private table of {size:9,} rows: {own:.3f} s, OpenDP's chain {other:.3f} s ({other / own:.1f} ×)"
        )
