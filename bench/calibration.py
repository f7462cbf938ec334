"""Margins of households and people at once, beside populationsim's list balancer on one example.

``python bench/calibration.py [PEER_PYTHON]``: 4,000 households of `examples.population`, 13 totals of both levels drawn
from a population in which weights differ. populationsim runs in an environment of its own.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

from dalenius.data import examples
from dalenius.synth.population.calibration import Margin, calibrate

PEER = """
import sys, time, numpy as np, pandas as pd
from populationsim.balancing.single_balancer import ListBalancer
from pathlib import Path
held = np.load(sys.argv[1])
design = pd.DataFrame(held["design"].astype(float))
start = pd.Series(held["start"])
def run():
    heavy = np.full(design.shape[1], 1e6)
    return ListBalancer(design, start, held["goal"], heavy, None, None, 0, 10000, True, "float64").balance()
run()
begin = time.process_time()
found = run()
spent = time.process_time() - begin
weights = (found[1] if isinstance(found, tuple) else found)["final"].to_numpy()
np.savez(sys.argv[2], weights=weights, seconds=spent)
"""


def main() -> None:
    """Print the largest deviation, the distance from the old weights and CPU seconds of both."""
    people = examples.population(9000, seed=1).with_columns(
        weight=pl.lit(20.0), size=pl.len().over("household_id").clip(None, 4)
    )
    homes = people.unique("household_id", maintain_order=True)
    true = 20 * np.exp(0.3 * np.random.default_rng(1).standard_normal(homes.height))
    truth = people.join(
        homes.select("household_id", true=pl.Series(true)), on="household_id", maintain_order="left"
    )
    heads = truth.unique("household_id")
    total = pl.col("true").sum().alias("total")
    margins = [
        Margin(("size",), heads.group_by("size").agg(total), "households"),
        Margin(("region",), heads.group_by("region").agg(total), "households"),
        Margin(("sex",), truth.group_by("sex").agg(total)),
    ]
    calibrate(people, margins, household="household_id")
    begin = time.process_time()
    ours = calibrate(people, margins, household="household_id")
    spent = time.process_time() - begin
    mine = people.with_columns(w=ours).unique("household_id", maintain_order=True)["w"].to_numpy()
    columns, goal = [np.ones(homes.height)], [float(true.sum())]
    for margin in margins:
        name = margin.columns[0]
        for level, total in margin.totals.select(name, "total").iter_rows():
            own = people.group_by("household_id", maintain_order=True).agg(
                (pl.col(name) == level).sum().alias("n")
            )["n"]
            columns.append(own.to_numpy() if margin.level == "people" else (own.to_numpy() > 0).astype(float))
            goal.append(total)
    design, aim = np.column_stack(columns).astype(float), np.array(goal)
    _told("calibrate", design, aim, mine, spent)
    if len(sys.argv) > 1:
        with tempfile.TemporaryDirectory() as place:
            source, out, script = (Path(place) / n for n in ("in.npz", "out.npz", "peer.py"))
            script.write_text(PEER)
            np.savez(source, design=design, start=np.full(homes.height, 20.0), goal=aim)
            subprocess.run([sys.argv[1], str(script), str(source), str(out)], check=True)
            held = np.load(out)
            _told("populationsim", design, aim, held["weights"], float(held["seconds"]))
            print(f"weights of both differ by at most {np.abs(held['weights'] / mine - 1).max():.2e}")


def _told(name: str, design: np.ndarray, goal: np.ndarray, weights: np.ndarray, seconds: float) -> None:
    off = np.abs(design.T @ weights / goal - 1).max()
    apart = float((weights * np.log(weights / 20) - weights + 20).sum() / len(weights))
    print(
        f"{name}: largest relative deviation {off:.1e}, distance from the old weights {apart:.4f}, {seconds:.3f} CPU s"
    )


if __name__ == "__main__":
    main()
