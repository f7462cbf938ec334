"""The lattice search on UCI Adult: the two cases that ARX and trying everything agree on, and 12,960 nodes.

    python bench/lattice.py [--peer python-of-a-venv-with-anjana]

CPU seconds, the first run (which compiles) and the least of the others. The peer, anjana, runs in an environment of its
own: it stops at the first generalisation that passes.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import polars as pl

from _shared import adult_file, cpu
from dalenius.data.table import Table
from dalenius.mask.lattice.criteria import parse_all
from dalenius.mask.lattice.ladder import Ladder
from dalenius.mask.lattice.search import Found, Lattice

KEYS = ["age", "sex", "race", "marital.status", "native.country", "education", "workclass", "occupation"]
AGE = [5, 10, 20, "all"]
HIGH = ("9th", "10th", "11th", "12th", "HS-grad")
SCHOOL = {
    "Undergraduate": ("Bachelors", "Some-college"),
    "High School": (*HIGH, "7th-8th"),
    "Professional Education": ("Prof-school", "Assoc-acdm", "Assoc-voc"),
    "Graduate": ("Masters", "Doctorate"),
    "Primary School": ("1st-4th", "5th-6th", "Preschool"),
}
WIDER = {
    "Undergraduate": "Higher",
    "Graduate": "Higher",
    "Professional Education": "Higher",
    "High School": "Secondary",
    "Primary School": "Primary",
}
WORK = {
    "Non-Government": ("Private", "Self-emp-not-inc", "Self-emp-inc"),
    "Government": ("Federal-gov", "Local-gov", "State-gov"),
    "Unemployed": ("Without-pay", "Never-worked"),
}
JOB = {
    "Technical": ("Tech-support", "Craft-repair", "Prof-specialty", "Machine-op-inspct"),
    "Nontechnical": ("Sales", "Exec-managerial", "Handlers-cleaners"),
}
MARRIED = {"spouse present": ("Married-civ-spouse", "Married-AF-spouse")}
AMERICA = (
    "United-States",
    "Canada",
    "Mexico",
    "Cuba",
    "Puerto-Rico",
    "Jamaica",
    "Honduras",
    "Nicaragua",
    "Haiti",
)
EUROPE = (
    "England",
    "Germany",
    "Italy",
    "Poland",
    "Portugal",
    "France",
    "Ireland",
    "Greece",
    "Scotland",
    "Hungary",
)


def groups(table: Table, column: str, named: dict[str, tuple[str, ...]], rest: str) -> dict[str, str]:
    """Which category becomes which; what is in no group becomes the rest."""
    of = {code: group for group, codes in named.items() for code in codes}
    return {str(level): of.get(str(level), rest) for level in table[column].levels}


def wide(table: Table) -> list[Ladder]:
    """Nine columns with 12,960 nodes, the levels of ARX's own example."""
    school = groups(table, "education", SCHOOL, "other")
    levels: dict[str, Any] = {
        "age": AGE,
        "workclass": [groups(table, "workclass", WORK, "Unknown"), "all"],
        "education": [school, {code: WIDER[group] for code, group in school.items()}, "all"],
        "occupation": [groups(table, "occupation", JOB, "Other"), "all"],
        "race": None,
        "sex": None,
        "native.country": [
            groups(table, "native.country", {"America": AMERICA, "Europe": EUROPE}, "Other"),
            "all",
        ],
        "marital.status": [groups(table, "marital.status", MARRIED, "spouse not present"), "all"],
        "income": None,
    }
    return [Ladder.of(table, name, level) for name, level in levels.items()]


def search(ladders: list[Ladder], k: int, limit: float) -> Found:
    """The best node."""
    return Lattice(ladders, parse_all([f"k >= {k}"]), limit=limit).search()


PEER = """
import sys, time
import pandas as pd, numpy as np
import anjana.anonymity as an
data = pd.read_csv(sys.argv[1])
keys = "age,sex,race,marital.status,native.country,education,workclass,occupation".split(",")
ranges = {}
for c in keys:
    values = np.unique(data[c].values)
    ranges[c] = {0: values, 1: np.array(["*"] * len(values))}
    if c == "age":
        wide = {i + 1: np.array([f"{v // w * w}" for v in values]) for i, w in enumerate((5, 10, 20))}
        ranges[c] = {0: values, **wide, 4: np.array(["*"] * len(values))}
start = time.process_time()
out = an.k_anonymity(data[keys].copy(), [], keys, 5, 5, ranges)
n = len(data)
heights = {c: max(r) for c, r in ranges.items()}
level = {c: next(i for i, v in ranges[c].items() if set(out[c].astype(str)) <= set(map(str, v))) for c in keys}
loss = (sum(level[c] / heights[c] for c in keys) / len(keys) * len(out) + n - len(out)) / n
print(f"{time.process_time() - start:.1f} CPU s, loss {loss:.6f}, levels {level}, {n - len(out)} suppressed")
"""


def main() -> None:
    """Print the three cases, and the peer's."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--peer", type=Path)
    given = arguments.parse_args()
    file = adult_file()
    if file is None:
        return
    frame = pl.read_csv(file)
    table = Table.from_frame(frame.select(*KEYS, "income"))
    for count, k, limit in ((5, 3, 0.01), (8, 5, 0.05)):
        ladders = [Ladder.of(table, name, AGE if name == "age" else None) for name in KEYS[:count]]
        cold = cpu(lambda ladders=ladders, k=k, limit=limit: search(ladders, k, limit))
        warm = cpu(lambda ladders=ladders, k=k, limit=limit: search(ladders, k, limit), 3)
        print(f"{count} keys, k = {k}, {limit:.0%}: {warm[1]}; cold {cold[0]:.2f} s, warm {warm[0]:.3f} s")
    whole = cpu(lambda: search(wide(table), 5, 0.02))
    warm = cpu(lambda: search(wide(table), 5, 0.02), 3)
    print(f"12,960 nodes: {warm[1]}; first {whole[0]:.2f} s, warm {warm[0]:.3f} s (with the ladders)")
    if given.peer is not None:
        with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
            script.write(PEER)
            script.flush()
            done = subprocess.run(
                [str(given.peer), script.name, str(file)], capture_output=True, text=True, check=False
            )
            print("anjana, 8 keys, k = 5, 5 %:", done.stdout or done.stderr[-500:])


if __name__ == "__main__":
    main()
