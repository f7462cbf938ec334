"""Patients and visits: time of a million events, and how far gaps and transitions are off beside three holdouts.

``python bench/events.py [patients] [PEER_PYTHON]``; 200,000 patients have about a million visits. With the Python of an
environment that has SDV, its PAR is fitted to 300 patients beside ours.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import polars as pl

import dalenius
from dalenius.counts.database_pair import DatabasePair
from dalenius.data import Database, examples
from dalenius.data.relations_rules import broken_share, parse_crossing
from dalenius.utility.relations import event_order


def main() -> None:
    """Print CPU seconds, broken rules, and the figure of events beside three holdouts."""
    patients = int(sys.argv[1]) if len(sys.argv) > 1 else 200_000
    base = examples.visits(patients, seed=1)
    start = time.process_time()
    made = dalenius.synthesize(base, seed=1)
    used = time.process_time() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{base['visits'].rows:,} events: {used:.1f} CPU s, {memory:.2f} GB; {made['visits'].rows:,} made")
    broken = [broken_share(made, rule) for rule in parse_crossing(base.rules, base.links)]
    print("before birth, after death:", broken)
    few = examples.visits(min(patients, 5000), seed=1)
    ours = event_order(DatabasePair(few, dalenius.synthesize(few, seed=1))).value
    others = [
        event_order(DatabasePair(few, examples.visits(min(patients, 5000), seed=s))).value for s in (2, 3, 4)
    ]
    print(
        f"gaps and transitions (1 is the same): made {ours:.4f}, three holdouts {[round(o, 4) for o in others]}"
    )
    if len(sys.argv) > 2:
        beside_par(sys.argv[2])


def beside_par(python: str, patients: int = 300) -> None:
    """Ours and SDV's PAR on the same few patients: time, broken rules, gaps and transitions."""
    base = examples.visits(patients, seed=1)
    dalenius.synthesize(base, seed=0)  # compiled code is loaded once
    start = time.process_time()
    made = dalenius.synthesize(base, seed=1)
    files = {"ours": (time.process_time() - start, made)}
    with tempfile.TemporaryDirectory() as place:
        folder, out = Path(place) / "in", Path(place) / "out"
        folder.mkdir()
        for name, table in base.tables.items():
            table.to_frame("polars").write_parquet(folder / f"{name}.parquet")
        command = [python, str(Path(__file__).with_name("relations_peer.py")), "par", str(folder), str(out)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            print("SDV PAR did not run:", done.stderr.strip().splitlines()[-1:])
        else:
            took = json.loads(done.stdout.strip().splitlines()[-1])
            tables = {f.stem: pl.read_parquet(f) for f in out.glob("*.parquet")}
            dates = [pl.col(pl.Datetime).cast(pl.Date)]
            tables = {n: t.with_columns(dates) for n, t in tables.items()}
            peer = Database.of(
                tables, base.keys, base.links, order=base.order, rules=base.rules, orphans="keep"
            )
            files["SDV PAR"] = (took["fit"] + took["sample"], peer)
    for name, (seconds, other) in files.items():
        broken = [round(broken_share(other, rule), 4) for rule in parse_crossing(base.rules, base.links)]
        kept = event_order(DatabasePair(base, other)).value
        print(
            f"{name}, {patients} patients: {seconds:.2f} CPU s, before birth and after death {broken}, order {kept:.4f}"
        )


if __name__ == "__main__":
    main()
