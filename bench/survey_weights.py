"""Synthesis of an informative sample: the simulation of Oganian, Drechsler, Iqbal (PSD 2024), shortened.

Run: python bench/survey_weights.py [repetitions]. Prints bias, in units of the variable, and coverage of nominal 95 %
intervals for the mean of each variable. The sample is drawn with chances proportional to M, so whoever ignores
the weights gets M too large by Var(M)/mean(M).
"""

from __future__ import annotations

import sys
import time

import numpy as np

from dalenius.data import Column, Kind, Schema, Table
from dalenius.data.schema import Role
from dalenius.synth.sequential import CartSynthesizer, ParametricSynthesizer, Sequential
from dalenius.utility.inference import combine

VARIABLES = ("M", "C1", "C2", "B1", "B2")
N, SAMPLE, FILES = 1_000_000, 1000, 10
SCHEMA = Schema(
    (
        *(Column(name, Kind.CONTINUOUS) for name in VARIABLES[:3]),
        *(Column(name, Kind.CATEGORICAL, levels=("no", "yes")) for name in VARIABLES[3:]),
        Column("w", Kind.CONTINUOUS, roles=(Role.WEIGHT,)),
    )
)
MODELS = {"C1": "norm", "C2": "norm", "B1": "logreg", "B2": "logreg"}
PREDICTORS = {"C1": ["M"], "C2": ["C1"], "B1": ["M"], "B2": ["B1"]}


def population(scenario: str, rows: int = N, seed: int = 0) -> np.ndarray:
    """The paper's population: columns M, C1, C2, B1, B2."""
    rng = np.random.default_rng(seed)
    low, high, a, b = (500, 600, 16, 0.03) if scenario == "linear" else (100, 900, 10, 0.02)
    m = rng.uniform(low, high, rows)
    c1 = rng.normal(0.8 * m, 15)
    c2 = rng.normal(0.8 * c1, 15)
    b1 = rng.random(rows) < 1 / (1 + np.exp(a - b * m))
    b2 = rng.random(rows) < 1 / (1 + np.exp(3 - 7 * b1))
    return np.column_stack([m, c1, c2, b1, b2])


def draw_sample(people: np.ndarray, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Systematic sample with chances proportional to M, and its weights."""
    chance = n * people[:, 0] / people[:, 0].sum()
    ends = np.cumsum(chance)
    chosen = np.searchsorted(ends, rng.random() + np.arange(n))
    chosen = np.minimum(chosen, len(people) - 1)
    return people[chosen], 1 / chance[chosen]


def as_table(rows: np.ndarray, weights: np.ndarray) -> Table:
    words = np.array(["no", "yes"])
    columns = {name: rows[:, i] for i, name in enumerate(VARIABLES[:3])}
    columns |= {name: words[rows[:, 3 + i].astype(int)] for i, name in enumerate(VARIABLES[3:])}
    return Table.from_frame(columns | {"w": weights}, SCHEMA)


def means(table: Table, weights: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Mean of every variable and its variance (weighted: linearised)."""
    values = np.column_stack([table[name].data.astype(float) for name in VARIABLES])
    k = len(values)
    if weights is None:
        return values.mean(axis=0), values.var(axis=0, ddof=1) / k
    share = weights / weights.sum()
    mean = share @ values
    return mean, k / (k - 1) * np.sum((share[:, None] * (values - mean)) ** 2, axis=0)


def methods() -> dict[str, tuple[Sequential, int, str]]:
    """Synthesizer, rows of a synthetic file per sampled row, and combining rule."""
    parametric = {"methods": MODELS, "predictors": PREDICTORS, "smoothing": "none", "threads": 1}
    tree = {"predictors": PREDICTORS, "smoothing": "none", "threads": 1, "evidence": 0.0}
    return {
        "weights ignored": (ParametricSynthesizer(**parametric, weighting="ignore"), 1, "complete"),
        "pseudo-likelihood, plug-in": (ParametricSynthesizer(**parametric, weighting="pseudo"), 1, "pseudo"),
        "pseudo-likelihood, replicates": (
            ParametricSynthesizer(**parametric, weighting="pseudo", proper=True), 5, "pseudo",
        ),
        "weighted trees, replicates": (CartSynthesizer(**tree, weighting="pseudo", proper=True), 5, "pseudo"),
        "weighted Bayesian bootstrap": (ParametricSynthesizer(**parametric, weighting="population"), 5, "pseudo"),
        "weight as last column (cart)": (CartSynthesizer(**tree | {"predictors": {}}), 1, "complete"),
    }  # fmt: skip


def run(
    scenario: str, repetitions: int, only: tuple[str, ...] = (), files: int = FILES
) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Bias and coverage of every method."""
    people = population(scenario)
    truth = people.mean(axis=0)
    chosen = {name: m for name, m in methods().items() if not only or name in only}
    bias = {name: [] for name in chosen} | {"original sample": []}
    hit = {name: [] for name in bias}
    for i in range(repetitions):
        rows, weights = draw_sample(people, SAMPLE, np.random.default_rng(i))
        table = as_table(rows, weights)
        mean, variance = means(table, weights)
        bias["original sample"].append(mean - truth)
        hit["original sample"].append(np.abs(mean - truth) <= 1.96 * np.sqrt(variance))
        for name, (synthesizer, factor, rule) in chosen.items():
            made = synthesizer.make(table, files, rows=factor * SAMPLE, seed=i)
            weighted = "w" in made.tables[0]
            found = [means(t, t["w"].data if weighted else None) for t in made]
            q, v = np.array([f[0] for f in found]), np.array([f[1] for f in found])
            done = combine(q, v, n=SAMPLE, k=factor * SAMPLE, rule=rule)
            low, high = done.interval()
            bias[name].append(done.estimates - truth)
            hit[name].append((low <= truth) & (truth <= high))
    return {name: (np.mean(bias[name], axis=0), np.mean(hit[name], axis=0)) for name in bias}


def main() -> None:
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for scenario in ("linear", "nonlinear"):
        start = time.process_time()
        found = run(scenario, repetitions)
        print(f"\n{scenario}, {repetitions} repetitions, {time.process_time() - start:.0f} CPU s")
        print(
            f"{'':32s}"
            + "".join(f"{'bias ' + v:>10s}" for v in VARIABLES)
            + "".join(f"{'cov ' + v:>8s}" for v in VARIABLES)
        )
        for name, (bias, hit) in found.items():
            print(f"{name:32s}" + "".join(f"{b:10.4f}" for b in bias) + "".join(f"{h:8.3f}" for h in hit))


if __name__ == "__main__":
    main()
