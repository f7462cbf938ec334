"""Two linked tables against SDV's HMA, and how time and memory grow with the number of parents.

``python bench/relations.py [PEER_PYTHON] [most parents]``: 1,000 households of `examples.population`.
SDV runs in an environment of its own (``bench/relations_peer.py``); without it the ratio is left out.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

import dalenius
from dalenius.counts.database_pair import DatabasePair
from dalenius.data import Database, Link, examples
from dalenius.utility.relations import cardinality_kept, parent_child, sibling_trends

MEASURES = {"cardinality": cardinality_kept, "parent-child": parent_child, "siblings": sibling_trends}


def two_tables(homes: int, seed: int = 1) -> Database:
    """Households and their members."""
    whole = examples.population(int(2.6 * homes) + 20, seed=seed)
    chosen = whole["household_id"].unique(maintain_order=True).head(homes)
    people = whole.filter(pl.col("household_id").is_in(chosen.implode()))
    above = people.unique("household_id", maintain_order=True).select(
        "household_id", "region", "district", "longitude"
    )
    below = people.select("person_id", "household_id", "sex", "age", "marital", "bmi")
    return Database.of(
        {"homes": above, "people": below}, {"homes": "household_id", "people": "person_id"},
        [Link("homes", "household_id", "people", "household_id", "1-n")],
    )  # fmt: skip


def peer(python: str, base: Database) -> tuple[float, Database] | None:
    """CPU seconds of SDV's HMA and what it made."""
    with tempfile.TemporaryDirectory() as place:
        folder, out = Path(place) / "in", Path(place) / "out"
        folder.mkdir()
        for name, table in base.tables.items():
            table.to_frame("polars").write_parquet(folder / f"{name}.parquet")
        link = base.links[0]
        ends = {
            "parent_table_name": link.parent, "child_table_name": link.child, "parent_primary_key": link.parent_key,
            "child_foreign_key": link.child_key,
        }  # fmt: skip
        told = {
            "links": [ends],
            "ids": {n: base.key_columns(n) for n in base.tables},
            "keys": dict(base.keys),
        }
        (folder / "facts.json").write_text(json.dumps(told))
        command = [python, str(Path(__file__).with_name("relations_peer.py")), "hma", str(folder), str(out)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print("SDV did not run:", done.stderr.strip().splitlines()[-1:])
            return None
        took = json.loads(done.stdout.strip().splitlines()[-1])
        made = {f.stem: pl.read_parquet(f) for f in out.glob("*.parquet")}
        print(f"SDV HMA: fit {took['fit']:.2f}, sample {took['sample']:.2f} CPU s")
        return took["fit"] + took["sample"], Database.of(made, base.keys, base.links, orphans="keep")


def told(name: str, seconds: float, base: Database, made: Database, against: float | None) -> None:
    """One line: time, ratio, figures across tables."""
    pair = DatabasePair(base, made)
    figures = ", ".join(f"{word} {measure(pair).value:.3f}" for word, measure in MEASURES.items())
    ratio = "" if against is None else f", {against / seconds:.0f} times faster"
    print(f"{name}: {seconds:.3f} CPU s{ratio}; {figures}")


def main() -> None:
    """Print times, ratios, figures and growth."""
    python = sys.argv[1] if len(sys.argv) > 1 else ""
    most = int(float(sys.argv[2])) if len(sys.argv) > 2 else 100_000
    base = two_tables(1000)
    print(base)
    other = peer(python, base) if python else None
    if other is not None:
        told("SDV HMA", other[0], base, other[1], None)
    for method in ("conditional", "hma"):
        dalenius.synthesize(base, method, seed=0)  # compiled code is loaded once
        start = time.process_time()
        made = dalenius.synthesize(base, method, seed=1)
        told(method, time.process_time() - start, base, made, other[0] if other else None)
    sizes, times = [], []
    homes = 1000
    while homes <= most:
        base = two_tables(homes)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        start = time.process_time()
        dalenius.synthesize(base, seed=1)
        sizes.append(homes)
        times.append(time.process_time() - start)
        held = sum(t.nbytes for t in base.tables.values()) / 1e6
        after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
        print(
            f"{homes:,} parents: {times[-1]:.2f} CPU s; tables {held:.0f} MB, memory {before:.0f} to {after:.0f} MB"
        )
        homes *= 10
    if len(sizes) > 1:
        print(f"exponent {np.polyfit(np.log(sizes), np.log(times), 1)[0]:.2f}")


if __name__ == "__main__":
    main()
