"""Attribute inference with growing knowledge: fractions of each training file (Slokom et al. 2024, section 4.3).

Slokom, Agrawal, Krol and de Wolf (PSD 2024): the same people are attacked with models trained on real data that does
not hold them, and on each synthetic file; the majority class is the baseline a model must beat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError
from dalenius.core.random import Seed, generator
from dalenius.counts.pair import Pair
from dalenius.data.grouping import Grouping
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray
from dalenius.risk.attack.models import fit_and_predict
from dalenius.risk.attack.trained import Attack
from dalenius.risk.sampling import SEED

FRACTIONS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0)
BASELINES = ("majority", "stratified")


def attribute_inference(
    training: Mapping[str, Any],
    people: Any,
    sensitive: str,
    known: Sequence[str],
    *,
    models: Sequence[str] = ("naive-bayes", "tree", "boosted"),
    fractions: Sequence[float] = FRACTIONS,
    repeats: int = 10,
    groups: int = 20,
    real: str | None = "real",
    seed: Seed = SEED,
) -> pl.DataFrame:
    """Attack the same people with models trained on fractions of several files.

    Parameters
    ----------
    training
        Files by name: real data without the people attacked (the upper reference), and the synthetic ones.
    people
        Who is attacked: their known columns and, to count successes, the sensitive one.
    repeats
        New subsamples and model seeds; mean and standard deviation are over them.
    groups
        Quantile groups that known numbers are put into.
    real
        Name of the real file among ``training``; ``relative`` places the others between the majority (0) and it (1).

    Returns
    -------
    One row per file, model and fraction: macro F1 and Matthews correlation (mean and sd), ``gain`` over the majority
    class, ``relative``. Two baselines are listed as models: ``majority`` and ``stratified`` (guesses drawn from the
    shares of the classes).

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> def draw(n):
    ...     age = rng.integers(20, 80, n)
    ...     return {"age": age, "ill": np.where(rng.random(n) < age / 100, "yes", "no")}
    >>> found = attribute_inference({"real": draw(500)}, draw(300), "ill", ["age"], models=["tree"], fractions=[1.0],
    ...                             repeats=2)
    >>> found.select("model", "fraction").rows()
    [('majority', 1.0), ('stratified', 1.0), ('tree', 1.0)]
    """
    if repeats < 1 or not fractions or not all(0 < f <= 1 for f in fractions):
        raise OptionError("an attack needs at least one repeat, and fractions above 0 and at most 1")
    if not training:
        raise OptionError("there is no file to train on; give at least one, as in {'synthetic': file}")
    targets = Table.from_frame(people)
    grouping = Grouping.fit(targets, groups=groups)
    rows: list[dict[str, Any]] = []
    for name, file in training.items():
        attack = Attack(Pair(targets, file, grouping=grouping), known, sensitive, most=None, seed=seed)
        for fraction in fractions:
            rows += _runs(attack, name, (*BASELINES, *models), fraction, repeats, seed)
    return _judged(pl.DataFrame(rows), real)


def _runs(
    attack: Attack, name: str, models: Sequence[str], fraction: float, repeats: int, seed: Seed
) -> list[dict[str, Any]]:
    total = len(attack.train)
    size = max(1, round(fraction * total))
    rows = []
    for model in models:
        found = []
        for repeat in range(repeats):
            rng = generator(seed, name, str(fraction), repeat)
            train = attack.train[np.sort(rng.choice(total, size, replace=False))]
            found.append(scores(attack.members[:, -1], _guess(attack, train, model, rng)))
        row: dict[str, Any] = {"training": name, "model": model, "fraction": fraction}
        for score in ("macro F1", "MCC"):
            values = np.array([f[score] for f in found])
            row |= {score: float(values.mean()), f"{score} sd": float(values.std(ddof=min(1, repeats - 1)))}
        rows.append(row)
    return rows


def _guess(attack: Attack, train: AnyArray, model: str, rng: np.random.Generator) -> AnyArray:
    people, classes = attack.members, train[:, -1]
    constant = len(np.unique(classes)) < 2
    if model == "majority" or (constant and model not in BASELINES):
        return np.full(len(people), int(np.argmax(np.bincount(classes))))
    if model == "stratified":
        return np.asarray(rng.choice(classes, len(people)))
    state = int(rng.integers(2**31))
    return fit_and_predict(model, train[:, :-1], classes, people[:, :-1], attack.sizes[:-1], state)


def _judged(table: pl.DataFrame, real: str | None) -> pl.DataFrame:
    """Add the gain over the majority class, and how much of the real data's gain it is."""
    base = table.filter(pl.col("model") == "majority").select(
        "training", "fraction", pl.col("macro F1").alias("base")
    )
    table = table.join(base, on=["training", "fraction"], maintain_order="left")
    table = table.with_columns((pl.col("macro F1") - pl.col("base")).alias("gain")).drop("base")
    upper = table.filter(pl.col("training") == (real or "")).select(
        "model", "fraction", pl.col("gain").alias("upper")
    )
    table = table.join(upper, on=["model", "fraction"], how="left", maintain_order="left")
    relative = pl.when(pl.col("upper") > 0).then(pl.col("gain") / pl.col("upper"))
    return table.with_columns(relative.alias("relative")).drop("upper")


def scores(truth: AnyArray, guess: AnyArray) -> dict[str, float]:
    """Macro F1 (mean of the classes' F1, a class never met counts 0) and Matthews correlation.

    Examples
    --------
    >>> majority = scores(np.array([1] * 96 + [0] * 4), np.ones(100))
    >>> round(majority["macro F1"], 6), majority["MCC"]
    (0.489796, 0.0)
    """
    classes = np.unique(truth)
    parts = []
    for c in classes:
        both = float(np.sum((truth == c) & (guess == c)))
        total = float(np.sum(truth == c) + np.sum(guess == c))
        parts.append(2 * both / total if total else 0.0)
    every = np.unique(np.concatenate([truth, guess]))
    table = np.array([[float(np.sum((truth == a) & (guess == b))) for b in every] for a in every])
    n, right, t, g = table.sum(), np.trace(table), table.sum(axis=1), table.sum(axis=0)
    spread = np.sqrt((n**2 - (g**2).sum()) * (n**2 - (t**2).sum()))
    return {"macro F1": float(np.mean(parts)), "MCC": float((right * n - t @ g) / spread) if spread else 0.0}
