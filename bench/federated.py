"""Trees learnt together on Adult: local ε by column, accuracy beside the figures worked out from the paper, time.

Run as ``python bench/federated.py [adult.data]``.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path

import numpy as np
import polars as pl

from _shared import adult_file
from dalenius.data import Table
from dalenius.mask.pram import invariant, ldp_epsilon
from dalenius.models.federated import (
    Agreement,
    Attribute,
    federate,
    freedman_diaconis_bins,
    label_skew_partition,
)
from dalenius.models.federated.trees import leaves

KNOWN = {  # accuracy and F1 by depth, ten holders, worked out independently of this code
    (0.0, 2): (0.8118, 0.470), (0.0, 3): (0.8201, 0.508), (0.0, 4): (0.8230, 0.516), (0.0, 5): (0.8216, 0.518),
    (0.3, 2): (0.8118, 0.470), (0.3, 3): (0.8179, 0.507), (0.3, 4): (0.8198, 0.498), (0.3, 5): (0.8236, 0.514),
}  # fmt: skip
SEEDS = 5
EPSILON = {
    "sex": 1.552, "relationship": 5.376, "race": 7.195, "education-num": 9.237, "marital-status": 9.474,
    "occupation": 9.974, "workclass": 11.367, "age": 12.704, "native-country": 15.198, "hours-per-week": 15.367,
}  # fmt: skip


def agreement(frame: pl.DataFrame, theta: float, depth: int) -> Agreement:
    made = []
    for name in frame.columns[:-1]:
        if frame[name].dtype.is_numeric():
            made.append(Attribute(name, (float(frame[name].min()), float(frame[name].max()))))
        else:
            made.append(Attribute(name, levels=tuple(sorted(frame[name].unique()))))
    classes = tuple(sorted(frame[frame.columns[-1]].unique()))
    return Agreement(tuple(made), frame.columns[-1], classes, depth, theta, smallest=1)


def main() -> None:
    warnings.simplefilter("ignore")
    path = adult_file(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
    if path is None:
        return
    frame = pl.read_csv(path).select(pl.all().name.map(lambda n: n.strip().replace(".", "-")))
    frame = frame.with_columns(pl.col(pl.String).str.strip_chars())
    print(f"Adult, {frame.height:,} rows; local ε of invariant PRAM at θ = 0.3 on all rows")
    total = 0.0
    for name in (c for c in frame.columns[:-1] if c not in ("capital-gain", "capital-loss")):
        column = frame[name]
        if column.dtype.is_numeric():
            values = column.to_numpy().astype(float)
            bins = freedman_diaconis_bins(values, cap_distinct=False)
            low, high = values.min(), values.max()
            codes = np.clip(np.floor((values - low) / ((high - low) / bins)), 0, bins - 1).astype(int)
            counts = np.bincount(codes)
        else:
            counts = column.value_counts()["count"].to_numpy()
        epsilon = ldp_epsilon(invariant(counts[counts > 0].astype(float), 0.3))
        total += epsilon
        print(f"  {name:16} {epsilon:7.3f}  {EPSILON.get(name, float('nan')):7.3f}")
    print(f"  in all           {total:7.1f}    120.0")
    kept = frame.drop("capital-gain", "capital-loss")
    labels = kept[kept.columns[-1]].to_numpy()
    dealt = {
        seed: [Table.from_frame(kept[rows.tolist()]) for rows in label_skew_partition(labels, 10, seed=seed)]
        for seed in range(1, 1 + SEEDS)
    }
    print(f"ten holders, mean of {SEEDS} ways to deal people out and to set a fifth aside")
    for (theta, depth), (right, f1) in KNOWN.items():
        agreed, before = agreement(kept, theta, depth), time.process_time()
        runs = [federate(tables, agreed, seed=seed) for seed, tables in dealt.items()]
        cpu = (time.process_time() - before) / SEEDS
        scores = pl.concat([run.scores for run in runs if run.scores is not None])
        spread = pl.Series([run.scores["accuracy"].mean() for run in runs if run.scores is not None]).std()
        done = runs[-1]
        print(
            f"  θ {theta}, depth {depth}: accuracy {scores['accuracy'].mean():.4f} ± {spread:.4f} ({right}), F1 "
            f"{scores['F1'].mean():.3f} ({f1}), {len(leaves(done.tree))} leaves, {cpu:.1f} CPU s"
        )
    print(done.sentence)


if __name__ == "__main__":
    main()
