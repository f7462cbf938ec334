"""Copula, network and adversarial forest beside cart on Adult: CPU, utility, risk; SDV's copula where it is installed.

Run: ``python bench/generators.py ADULT.parquet``: 32,561 rows, the 14 columns without the survey weight, as in the
wheel of python-synthpop. SDV (``pip install sdv``, in an environment of its own) is timed too if it is there.
"""

from __future__ import annotations

import importlib.util
import sys

import polars as pl

import dalenius
from _shared import cpu

KEYS, TARGETS = ["age", "sex", "race", "marital", "country"], ["occupation"]
MEASURES = ["two-way-utility", "detection-auc", "replicated-uniques", "disco"]
METHODS = {"cart": {}, "arf": {}, "network": {}, "network, one parent": {"parents": 1}, "copula": {}}


def judged(name: str, seconds: float, people: pl.DataFrame, made: pl.DataFrame) -> None:
    found = dalenius.evaluate(people, made, keys=KEYS, targets=TARGETS, measures=MEASURES)
    print(f"{name:22s} {seconds:7.2f} s", *(f"{m} {found[m].value:8.3f}" for m in MEASURES), flush=True)


def beside_sdv(people: pl.DataFrame, ours: float) -> None:
    if importlib.util.find_spec("sdv") is None:
        print("SDV is not installed here: its copula is left out")
        return
    from sdv.metadata import Metadata
    from sdv.single_table import GaussianCopulaSynthesizer

    frame = people.to_pandas()
    model = GaussianCopulaSynthesizer(Metadata.detect_from_dataframe(frame))
    seconds, made = cpu(lambda: (model.fit(frame), model.sample(len(frame)))[1])
    judged("SDV GaussianCopula", seconds, people, pl.from_pandas(made))
    print(f"copula: {seconds / ours:.0f} × faster")


def main() -> None:
    people = pl.read_parquet(sys.argv[1])
    ours = 0.0
    for name, options in METHODS.items():
        method = name.split(",")[0]
        dalenius.synthesize(people.head(200), method, seed=1, **options)  # loads what is needed
        seconds, made = cpu(lambda m=method, o=options: dalenius.synthesize(people, m, seed=1, **o))
        judged(name, seconds, people, made)
        ours = seconds
    beside_sdv(people, ours)
    for times in (10, 100):
        more = people.sample(len(people) * times // 10, with_replacement=True, seed=1)
        for method in ("copula", "network"):
            seconds, _ = cpu(lambda m=method, rows=more: dalenius.synthesize(rows, m, seed=1))
            print(f"{method}: {len(more):,} rows in {seconds:.2f} s")


if __name__ == "__main__":
    main()
