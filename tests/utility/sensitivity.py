"""Damage of known size, and who sees it: the table of docs/utility.md is printed by ``python -m`` this file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from dalenius.counts.measure import MEASURES
from dalenius.counts.pair import Pair
from dalenius.data.schema import Column, Kind, Role, Schema

ROWS = 5000
SCHEMA = Schema(
    (
        Column("home", Kind.CATEGORICAL, roles=(Role.HOUSEHOLD,)),
        Column("region", Kind.CATEGORICAL),
        Column("sex", Kind.CATEGORICAL),
        Column("grade", Kind.ORDERED, levels=("low", "middle", "high")),
        Column("age", Kind.INTEGER),
        Column("married", Kind.CATEGORICAL),
        Column("income", Kind.CONTINUOUS),
    ),
    rules=("age < 21 -> married == 'no'",),
)
QUICK = (
    "one-way-utility", "two-way-utility", "three-way-utility", "propensity-logit", "propensity-tree", "column-shapes",
    "coverage", "missingness", "pair-trends", "associations", "conditionals", "k-marginal", "pca", "slopes",
    "model-agreement", "prediction", "rules", "households",
)  # fmt: skip
SLOW = ("detection-auc", "learning-penalty")
REPLICATES = 6
OPTIONS: dict[str, dict[str, Any]] = {
    "slopes": {"y": "income", "x": "age", "by": "grade"},
    "model-agreement": {
        "models": {"income ~ age + grade + sex": "gaussian", "married ~ age + sex": "binomial"}
    },
    "prediction": {"models": {"income ~ age + grade + sex": "gaussian", "married ~ age + sex": "binomial"}},
    "learning-penalty": {"targets": ["income", "grade"]},
}


def original() -> pl.DataFrame:
    """Region and sex stand alone; grade, age, income and marriage go together; the young often give no income."""
    rng = np.random.default_rng(77)
    age = rng.integers(18, 80, ROWS)
    grade = np.clip((age / 30 + rng.normal(0, 0.5, ROWS)).round() - 1, 0, 2).astype(int)
    income = np.round(np.exp(7 + 0.35 * grade + 0.015 * age + rng.normal(0, 0.3, ROWS)), 1)
    silent = rng.random(ROWS) < np.where(age < 30, 0.3, 0.05)
    frame = pl.DataFrame(
        {
            "home": np.sort(rng.integers(0, ROWS // 2, ROWS)).astype(str),
            "region": rng.choice(["n", "s", "e", "w", "isle"], ROWS, p=[0.3, 0.3, 0.2, 0.14, 0.06]),
            "sex": rng.choice(["f", "m"], ROWS),
            "grade": np.array(["low", "middle", "high"])[grade],
            "age": age,
            "married": np.where((age >= 21) & (rng.random(ROWS) < age / 90), "yes", "no"),
            "income": income,
        }
    )
    return frame.with_columns(income=pl.when(pl.Series(silent)).then(None).otherwise("income"))


def resampled(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    """What a perfect model would give: homes drawn again with all who live there, incomes moved a little."""
    rng = np.random.default_rng(seed)
    homes = frame["home"].to_numpy()
    names, first, size = np.unique(homes, return_index=True, return_counts=True)
    drawn = rng.integers(0, len(names), len(names))
    rows = np.concatenate([np.arange(first[i], first[i] + size[i]) for i in drawn])
    made = frame[rows.tolist()].with_columns(
        home=pl.Series(np.repeat(np.arange(len(drawn)), size[drawn]).astype(str))
    )
    return made.with_columns(
        (pl.col("income") * pl.Series(np.exp(rng.normal(0, 0.002, made.height)))).round(1)
    )


def damaged(frame: pl.DataFrame, damage: str, seed: int) -> pl.DataFrame:
    """One kind of damage done to a good file."""
    rng = np.random.default_rng(1000 + seed)
    n = frame.height
    if damage == "column permuted":
        return frame.with_columns(income=frame["income"].gather(rng.permutation(n)))
    if damage == "pair decorrelated":
        # Grades are exchanged among people of one age: grade and age stay as they go together, grade and income do not.
        place = np.lexsort((rng.random(n), frame["age"].to_numpy()))
        plain = np.lexsort((np.arange(n), frame["age"].to_numpy()))
        grade = frame["grade"].to_numpy().copy()
        grade[plain] = grade[place]
        return frame.with_columns(grade=pl.Series(grade))
    if damage == "category dropped":
        return frame.with_columns(
            region=pl.when(pl.col("region") == "isle").then(pl.lit("n")).otherwise("region")
        )
    if damage == "2 % outliers":
        hit = pl.Series(rng.random(n) < 0.02)
        return frame.with_columns(income=pl.when(hit).then(pl.col("income") * 20).otherwise("income"))
    if damage == "gaps filled":
        known = frame["income"].drop_nulls()
        drawn = known.gather(rng.integers(0, len(known), n))
        return frame.with_columns(income=pl.coalesce("income", drawn))
    if damage == "rule broken":
        young = (pl.col("age") < 21) & pl.Series(rng.random(n) < 0.3)
        return frame.with_columns(married=pl.when(young).then(pl.lit("yes")).otherwise("married"))
    if damage == "homes torn":
        return frame.with_columns(home=pl.Series(rng.integers(0, n, n).astype(str)))
    return frame


DAMAGES = (
    "column permuted", "pair decorrelated", "category dropped", "2 % outliers", "gaps filled", "rule broken",
    "homes torn",
)  # fmt: skip


def figures(names: Sequence[str] = QUICK) -> dict[str, dict[str, list[float]]]:
    """Value of each measure for good files and for each damage, over replicates."""
    base = original()
    found: dict[str, dict[str, list[float]]] = {name: {} for name in names}
    for damage in ("none", *DAMAGES):
        for seed in range(REPLICATES):
            pair = Pair(base, damaged(resampled(base, seed), damage, seed), schema=SCHEMA)
            for name in names:
                found[name].setdefault(damage, []).append(MEASURES[name](pair, **OPTIONS.get(name, {})).value)
    return found


def moved(good: list[float], bad: list[float]) -> bool:
    """Whether every damaged file lies outside what good files show, by more than their range."""
    low, high = min(good), max(good)
    room = high - low
    return min(bad) > high + room or max(bad) < low - room


if __name__ == "__main__":
    import dalenius  # noqa: F401 (registers everything)

    table = figures(sys.argv[1:] or QUICK + SLOW)
    print("| measure | none | " + " | ".join(DAMAGES) + " |")
    print("|---|---|" + "---|" * len(DAMAGES))
    for name, row in table.items():
        cells = [f"{np.mean(row['none']):.3g}"]
        for damage in DAMAGES:
            text = f"{np.mean(row[damage]):.3g}"
            cells.append(f"**{text}**" if moved(row["none"], row[damage]) else text)
        print(f"| {name} | " + " | ".join(cells) + " |")
