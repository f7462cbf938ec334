"""Copula, network and adversarial forest beside cart on Adult: CPU, utility, risk; SDV's copula where it is installed.

Run: ``python bench/generators.py ADULT.parquet``: 32,561 rows, the 14 columns without the survey weight, as in the
wheel of python-synthpop. SDV (``pip install sdv``, in an environment of its own) is timed too if it is there.
``--curves`` instead of a file: flow beside cart and a fresh sample on six continuous columns that lie on curves.
``--deep`` after the file: the methods that train with torch, a minute each; an epoch of ctgan beside one of the
ctgan package, where it is installed (torch on one thread).
"""

from __future__ import annotations

import importlib.util
import sys

import numpy as np
import polars as pl

import dalenius
from _shared import cpu

DEEP = {"ctgan": 35, "tvae": 120, "ddpm": 60}
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


def curved(rows: int, seed: int) -> pl.DataFrame:
    """Six continuous columns: a wave, two rings, a skew one and a product."""
    rng = np.random.default_rng(seed)
    a, ring, angle = rng.normal(size=rows), rng.choice([1, 2], rows), rng.uniform(0, 2 * np.pi, rows)
    wave, far = np.sin(2 * a) + 0.3 * rng.normal(size=rows), ring + 0.1 * rng.normal(size=rows)
    skew, product = np.exp(0.5 * a + 0.3 * rng.normal(size=rows)), a * wave + 0.2 * rng.normal(size=rows)
    columns = {"a": a, "b": wave, "x": far * np.cos(angle), "y": far * np.sin(angle), "e": skew, "f": product}
    return pl.DataFrame(columns).with_columns(pl.all().round(4))


def on_curves() -> None:
    real, outside = curved(5000, 1), curved(5000, 2)
    files = {"a fresh sample": (0.0, curved(5000, 3))}
    for method in ("cart", "flow"):
        files[method] = cpu(lambda m=method: dalenius.synthesize(real, m, seed=1))
    for name, (seconds, made) in files.items():
        found = dalenius.evaluate(real, made, holdout=outside, measures=["detection-auc", "dcr"])
        figures = (f"{m} {found[m].value:.3f}" for m in ("detection-auc", "dcr"))
        print(f"{name:16s} {seconds:6.1f} s", *figures, flush=True)


def deep(people: pl.DataFrame) -> None:
    for name, epochs in DEEP.items():
        seconds, made = cpu(lambda m=name, e=epochs: dalenius.synthesize(people, m, epochs=e, seed=1))
        judged(f"{name}, {epochs} epochs", seconds, people, made)
    began, _ = cpu(lambda: dalenius.synthesize(people, "ctgan", epochs=1, seed=1))
    seconds, _ = cpu(lambda: dalenius.synthesize(people, "ctgan", epochs=5, seed=1))
    ours = (seconds - began) / 4
    if importlib.util.find_spec("ctgan") is None:
        print(f"ctgan: {ours:.1f} s an epoch; the package is not installed here")
        return
    import torch
    from ctgan import CTGAN

    torch.set_num_threads(1)
    frame = people.to_pandas()
    labels = [name for name in people.columns if people[name].dtype == pl.String]
    times = [cpu(lambda e=e: CTGAN(epochs=e, enable_gpu=False).fit(frame, labels))[0] for e in (1, 5)]
    theirs = (times[1] - times[0]) / 4
    print(f"ctgan: {ours:.1f} s an epoch; the package {theirs:.1f} s: {theirs / ours:.1f} × faster")


def main() -> None:
    if sys.argv[1] == "--curves":
        on_curves()
        return
    people = pl.read_parquet(sys.argv[1])
    if "--deep" in sys.argv:
        deep(people)
        return
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
