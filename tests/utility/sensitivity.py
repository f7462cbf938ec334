"""Damage of known size, and who sees it: the table of docs/utility.md is printed by ``python -m`` this file."""

from __future__ import annotations

import numpy as np
import polars as pl

from dalenius.counts.measure import MEASURES
from dalenius.counts.pair import Pair
from dalenius.data.schema import Column, Kind, Schema

ROWS = 3000
SCHEMA = Schema(
    (
        Column("region", Kind.CATEGORICAL),
        Column("sex", Kind.CATEGORICAL),
        Column("grade", Kind.ORDERED, levels=("low", "middle", "high")),
        Column("age", Kind.INTEGER),
        Column("income", Kind.CONTINUOUS),
    )
)
MEASURED = (
    "one-way-utility", "two-way-utility", "propensity-logit", "propensity-tree", "column-shapes", "coverage",
    "pair-trends", "associations", "k-marginal", "pca",
)  # fmt: skip
REPLICATES = 6


def original() -> pl.DataFrame:
    """Region and sex stand alone; grade, age and income go together."""
    rng = np.random.default_rng(77)
    age = rng.integers(18, 80, ROWS)
    grade = np.clip((age / 30 + rng.normal(0, 0.5, ROWS)).round() - 1, 0, 2).astype(int)
    income = np.round(np.exp(7 + 0.35 * grade + 0.015 * age + rng.normal(0, 0.3, ROWS)), 1)
    return pl.DataFrame(
        {
            "region": rng.choice(["n", "s", "e", "w", "isle"], ROWS, p=[0.3, 0.3, 0.2, 0.14, 0.06]),
            "sex": rng.choice(["f", "m"], ROWS),
            "grade": np.array(["low", "middle", "high"])[grade],
            "age": age,
            "income": income,
        }
    )


def resampled(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    """What a perfect model would give: rows drawn again, numbers that occur once moved a little."""
    rng = np.random.default_rng(seed)
    drawn = frame[rng.integers(0, frame.height, frame.height).tolist()]
    return drawn.with_columns(
        (pl.col("income") * pl.Series(np.exp(rng.normal(0, 0.002, frame.height)))).round(1)
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
    return frame


DAMAGES = ("column permuted", "pair decorrelated", "category dropped", "2 % outliers")


def figures() -> dict[str, dict[str, list[float]]]:
    """Value of each measure for good files and for each damage, over replicates."""
    base = original()
    found: dict[str, dict[str, list[float]]] = {name: {} for name in MEASURED}
    for damage in ("none", *DAMAGES):
        for seed in range(REPLICATES):
            pair = Pair(base, damaged(resampled(base, seed), damage, seed), schema=SCHEMA)
            for name in MEASURED:
                found[name].setdefault(damage, []).append(MEASURES[name](pair).value)
    return found


def moved(good: list[float], bad: list[float]) -> bool:
    """Whether every damaged file lies outside what good files show, by more than their range."""
    low, high = min(good), max(good)
    room = high - low
    return min(bad) > high + room or max(bad) < low - room


if __name__ == "__main__":
    import dalenius  # noqa: F401 (registers everything)

    table = figures()
    print("| measure | none | " + " | ".join(DAMAGES) + " |")
    print("|---|---|" + "---|" * len(DAMAGES))
    for name, row in table.items():
        cells = [f"{np.mean(row['none']):.3g}"]
        for damage in DAMAGES:
            text = f"{np.mean(row[damage]):.3g}"
            cells.append(f"**{text}**" if moved(row["none"], row[damage]) else text)
        print(f"| {name} | " + " | ".join(cells) + " |")
