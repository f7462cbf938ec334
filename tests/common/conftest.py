"""Files every measure is tried on: an original, a copy, a fresh sample, shuffled columns, a holdout."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from dalenius.data import Schema, Table, examples

KEYS = ["sex", "age", "region"]
TARGETS = ["diagnosis", "health"]
COLUMNS = [
    "region",
    "sex",
    "age",
    "marital",
    "education",
    "income",
    "health",
    "smoker",
    "bmi",
    "diagnosis",
    "visits",
]
ROWS = 600


def survey_schema() -> Schema:
    return examples.survey_schema().select(COLUMNS).with_roles(keys=KEYS, targets=TARGETS)


def shuffled(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return frame.select(pl.col(name).gather(rng.permutation(frame.height)) for name in frame.columns)


@pytest.fixture(scope="session")
def files() -> dict[str, pl.DataFrame]:
    people = examples.survey(3 * ROWS, seed=11).select(COLUMNS).sample(fraction=1, shuffle=True, seed=2)
    original = people[:ROWS]
    return {
        "original": original,
        "copy": original,
        "fresh": people[ROWS : 2 * ROWS],
        "holdout": people[2 * ROWS :],
        "shuffled": shuffled(original, 3),
    }


@pytest.fixture(scope="session")
def original_table(files: dict[str, pl.DataFrame]) -> Table:
    return Table.from_frame(files["original"], survey_schema())
