"""Patients and visits: time of a million events, and how far gaps and transitions are off beside three holdouts.

``python bench/events.py [patients]``; 200,000 patients have about a million visits.
"""

from __future__ import annotations

import resource
import sys
import time

import dalenius
from dalenius.counts.database_pair import DatabasePair
from dalenius.data import examples
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


if __name__ == "__main__":
    main()
