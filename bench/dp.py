"""Are accuracy statements true, and what does private counting cost? Run: python bench/dp.py [draws].

Coverage: in how many draws a count of 500 in a measured table of the released file is as near to the truth as the
model's notes say. Speed: a private table of one column beside OpenDP's own Polars context on the same rows.
"""

from __future__ import annotations

import sys
import time

import numpy as np
import polars as pl

from dalenius import dp
from dalenius.data import Column, Kind, Schema, Table
from dalenius.synth.base import make_method

SCHEMA = Schema(
    (
        Column("a", Kind.CATEGORICAL, levels=("x", "y", "z")),
        Column("b", Kind.CATEGORICAL, levels=("u", "v", "w")),
        Column("c", Kind.BOOLEAN),
    )
).declare()
METHODS = {
    "saturated": {"epsilon": 0.2},
    "loglinear": {"epsilon": 0.4},
    "mst": {"epsilon": 0.5},
    "aim": {"epsilon": 0.5, "rounds": 3, "max_iter": 5},
}


def people() -> Table:
    """Six thousand people; every cell of the whole table holds several hundred of them."""
    cells = [(a, b, c) for a in "xyz" for b in "uvw" for c in (True, False)]
    counts = np.full(len(cells), 500)
    rows = [cell for cell, times in zip(cells, counts, strict=True) for _ in range(times)]
    return Table.from_frame({n: [r[i] for r in rows] for i, n in enumerate("abc")}, SCHEMA.blind())


def coverage(method: str, draws: int, drawing: str = "even") -> float:
    """Share of the cells with 500 people (or more, in margins) that are as near as stated."""
    table, inside = people(), []
    for turn in range(draws):
        model = make_method(method, **METHODS[method], drawing=drawing).fit(table, seed=turn)
        made = model.sample(seed=turn).to_frame("polars")
        for line in (n for n in model.notes if n.startswith("a count of 500 in table")):
            what, within = line.split("table ")[1].split(" of the file is within ±")
            named = ["a", "b", "c"] if what == "of all columns" else what.split(" × ")
            counted = made.drop_nulls().group_by(named).len()
            truth = 500 * 18 / np.prod([{"a": 3, "b": 3, "c": 2}[n] for n in named])
            limit = float(within.split(" ")[0])
            inside += (np.abs(counted["len"].to_numpy() - truth) <= limit).tolist()
    return float(np.mean(inside))


def private_table(rows: int) -> tuple[float, float]:
    """CPU seconds of one private histogram here, and by OpenDP's context on a Polars frame."""
    import opendp.prelude as odp

    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.choice(["x", "y", "z"], rows)})
    schema = SCHEMA.select(["a"])
    begun = time.process_time()
    dp.table(frame, ["a"], epsilon=1.0, schema=schema)
    ours = time.process_time() - begun
    odp.enable_features("contrib")
    begun = time.process_time()
    context = odp.Context.compositor(
        data=frame.lazy(), privacy_unit=odp.unit_of(contributions=1), privacy_loss=odp.loss_of(epsilon=1.0),
        split_evenly_over=1, margins=[odp.polars.Margin(by=["a"], invariant="keys", max_groups=3, max_length=rows)],
    )  # fmt: skip
    context.query().group_by("a").agg(odp.len()).release().collect()
    return ours, time.process_time() - begun


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    for name in METHODS:
        print(f"{name:10} coverage {100 * coverage(name, wanted):.1f} % over {wanted} draws", flush=True)
    for size in (10_000, 100_000, 1_000_000):
        own, other = private_table(size)
        print(
            f"private table of {size:9,} rows: {own:.3f} s, OpenDP's context {other:.3f} s ({other / own:.1f} ×)"
        )
