"""Files every measure is tried on: an original, a copy, a fresh sample, shuffled columns, a holdout, a constant one.

The tests of this folder run over everything registered: a case that only returns, whatever the reason, fails.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

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
EXTRA = {"households": "household_id", "identifiers": "person_id"}
"""Columns that only measures with such a need get: they would change whom the others count."""
ROWS = 600
_asserted: set[str] = set()


def pytest_assertion_pass(item: pytest.Item, lineno: int, orig: str, expl: str) -> None:
    """Told here alone: every assertion of a folder that is told is spelt out, which takes half as long again."""
    _asserted.add(item.nodeid)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    yield
    if item.nodeid not in _asserted:
        pytest.fail("this case asserted nothing; choose the cases of a test where they are listed")


def survey_schema(needs: Collection[str] = ()) -> Schema:
    columns = [*(column for need, column in EXTRA.items() if need in needs), *COLUMNS]
    return examples.survey_schema().select(columns).with_roles(keys=KEYS, targets=TARGETS)


def shuffled(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return frame.select(pl.col(name).gather(rng.permutation(frame.height)) for name in frame.columns)


@pytest.fixture(scope="session")
def files() -> dict[str, pl.DataFrame]:
    people = examples.survey(3 * ROWS, seed=11).select(*EXTRA.values(), *COLUMNS)
    people = people.sample(fraction=1, shuffle=True, seed=2)
    original = people[:ROWS]
    first = original.select(pl.all().mode().first())
    return {
        "original": original,
        "copy": original,
        "fresh": people[ROWS : 2 * ROWS],
        "holdout": people[2 * ROWS :],
        "shuffled": shuffled(original, 3),
        "constant": pl.concat([first] * ROWS),
    }


@pytest.fixture(scope="session")
def original_table(files: dict[str, pl.DataFrame]) -> Table:
    return Table.from_frame(files["original"].drop(EXTRA.values()), survey_schema())
