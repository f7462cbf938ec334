"""Rows on a condition: Dalenius beside SDV's GaussianCopula and CTGAN.

python bench/conditional.py [PEER [ctgan]]   (PEER: Python of an environment with sdv; without it Dalenius alone)

Each draws 2,000 rows on three conditions from a model of the same 2,000 people. Told are CPU seconds of fitting and of
drawing, rows that came back, rows that had to be drawn for them, and how many of those were thrown away.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROWS, WANTED = 2000, 2000
CONDITIONS = [
    {"sex": "female"},
    {"region": "east", "sex": "male"},
    {"mood": "bad", "region": "north", "sex": "female"},
]

PEER = """
import json, sys, time, warnings
warnings.filterwarnings("ignore")
import pandas as pd
from sdv.metadata import Metadata
from sdv.sampling import Condition
from sdv.single_table import CTGANSynthesizer, GaussianCopulaSynthesizer
data = pd.read_csv(sys.argv[1])
conditions, wanted = json.loads(sys.argv[2]), int(sys.argv[3])
told = []
drawn = [0]
def counting(sample):
    def counted(rows, *conditions):
        found = sample(rows, *conditions)  # models that cannot condition raise here and are asked again without
        drawn[0] += rows
        return found
    return counted
kinds = {"sex": "categorical", "region": "categorical", "mood": "categorical"}
metadata = Metadata.detect_from_dataframes({"people": data})
for name, kind in kinds.items():
    metadata.update_column(table_name="people", column_name=name, sdtype=kind)
for name, make in (("GaussianCopula", lambda: GaussianCopulaSynthesizer(metadata)),
                   ("CTGAN, 3 epochs", lambda: CTGANSynthesizer(metadata, epochs=3)))[: int(sys.argv[4])]:
    start = time.process_time()
    model = make()
    model.fit({'people': data})
    fit = time.process_time() - start
    model._sample = counting(model._sample)
    for given in conditions:
        drawn[0], start = 0, time.process_time()
        try:
            rows = len(model.sample_from_conditions([Condition(num_rows=wanted, column_values=given)])['people'])
        except Exception as error:
            rows = 0
            name += f" ({type(error).__name__})"
        told.append([name, given, fit, time.process_time() - start, rows, drawn[0]])
print("TOLD" + json.dumps(told))
"""


def people() -> dict[str, list[object]]:
    """Two thousand people: three categories and three numbers that go together."""
    import numpy as np

    rng = np.random.default_rng(1)
    region = rng.choice(["north", "south", "east", "west"], ROWS, p=[0.1, 0.4, 0.2, 0.3])
    sex = np.where(rng.random(ROWS) < np.where(region == "east", 0.6, 0.48), "female", "male")
    age = rng.integers(18, 95, ROWS)
    mood = np.where(
        rng.random(ROWS) < 0.05 + 0.1 * (age > 70), "bad", np.where(rng.random(ROWS) < 0.5, "fair", "good")
    )
    income = rng.lognormal(7 + 0.2 * (sex == "male"), 0.6, ROWS).round(-1)
    columns = {
        "region": region,
        "sex": sex,
        "age": age,
        "mood": mood,
        "income": income,
        "rent": (income * 0.3).round(),
    }
    return {name: column.tolist() for name, column in columns.items()}


def ours(data: dict[str, list[object]]) -> list[list[object]]:
    from dalenius.synth import make_synthesizer

    warm = make_synthesizer("cart").fit(data, seed=1)
    warm.sample(10, given=CONDITIONS[0], seed=1)
    start = time.process_time()
    model = make_synthesizer("cart").fit(data, seed=1)
    fit = time.process_time() - start
    told: list[list[object]] = []
    for given in CONDITIONS:
        start = time.process_time()
        drawn = model.conditioned(WANTED, given=given, seed=2)
        took = time.process_time() - start
        told.append(["Dalenius cart", given, fit, took, drawn.table.rows, drawn.drawn])
    return told


def main() -> None:
    data = people()
    told = ours(data)
    if len(sys.argv) > 1:
        import polars as pl

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "people.csv"
            pl.DataFrame(data).write_csv(path)
            words = [
                sys.argv[1],
                "-c",
                PEER,
                str(path),
                json.dumps(CONDITIONS),
                str(WANTED),
                str(1 + ("ctgan" in sys.argv)),
            ]
            done = subprocess.run(words, capture_output=True, text=True, check=True)
        told += json.loads(done.stdout.split("TOLD")[1])
    print("| model | condition | CPU s to fit | CPU s to draw | rows | drawn | rejected |")
    print("|---|---|---|---|---|---|---|")
    for name, given, fit, took, rows, drawn in told:
        said = ", ".join(f"{column} = {value}" for column, value in given.items())  # type: ignore[attr-defined]
        print(f"| {name} | {said} | {fit:.2f} | {took:.3f} | {rows} | {drawn} | {drawn - rows} |")  # type: ignore[operator]


if __name__ == "__main__":
    main()
