"""Generated data for comparing with SDMetrics, made the same way wherever they are needed."""

from __future__ import annotations

from typing import Any

import numpy as np


def quality_data(seed: int = 7, rows: int = 600) -> tuple[dict[str, list[Any]], dict[str, list[Any]]]:
    """An original and a damaged copy: numbers with gaps, a column with a new level, pairs that go together."""
    made = []
    for shift, size in ((0.0, rows), (0.3, rows - 120)):
        rng = np.random.default_rng(seed + int(10 * shift))
        age = rng.integers(16, 90, size)
        income = np.round(np.exp(rng.normal(9 + shift + 0.01 * age, 0.6)), 2)
        height = np.round(rng.normal(170 - 20 * shift, 9, size), 1)
        levels = ["north", "south", "east", "west", "isles"][: 4 + int(shift > 0)]
        region = rng.choice(levels, size)
        weight = np.round(0.9 * height - 80 + rng.normal(0, 6 + 10 * shift, size), 1)
        zone = np.where(rng.random(size) < 0.8 - shift, np.char.str_len(region) > 4, rng.random(size) < 0.5)
        smoker = np.where(rng.random(size) < 0.2 + shift / 3, "yes", "no")
        made.append(
            {
                "age": age.tolist(),
                "income": [
                    None if u < 0.1 else float(x) for u, x in zip(rng.random(size), income, strict=True)
                ],
                "height": height.tolist(),
                "region": [
                    None if u < 0.05 else str(x) for u, x in zip(rng.random(size), region, strict=True)
                ],
                "weight": weight.tolist(),
                "zone": np.where(zone, "long", "short").tolist(),
                "smoker": smoker.tolist(),
            }
        )
    return made[0], made[1]


SDTYPES = {
    "age": "numerical",
    "income": "numerical",
    "height": "numerical",
    "region": "categorical",
    "weight": "numerical",
    "zone": "categorical",
    "smoker": "categorical",
}


Columns = dict[str, list[Any]]


def with_ids(original: Columns, protected: Columns) -> tuple[Columns, Columns]:
    """The same files with a key: whole in the original; in the other one some are used twice and some are empty."""
    made = []
    for step, frame in ((1, original), (9, protected)):
        rows = len(frame["age"])
        ids = [f"p{i - (i % step == 8)}" for i in range(rows)]
        made.append({"id": [None if step > 1 and i % 50 == 3 else key for i, key in enumerate(ids)], **frame})
    return made[0], made[1]
