"""Ghost columns: whatever pins a masked value much more narrowly than the mask alone does not leave with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from dalenius import synthesize
from dalenius.data import examples
from dalenius.data.table import Table
from dalenius.mask.ghosts import find_ghosts
from dalenius.mask.trail import Trail

ROWS = 800
DRAW = np.random.default_rng(0)
AGE, SEX = DRAW.integers(18, 90, ROWS), DRAW.choice(["f", "m"], ROWS)
PAY = DRAW.lognormal(10, 0.6, ROWS).round(2)
CODE = DRAW.integers(0, 5, ROWS)
BASE = {
    "sex": SEX,
    "age": AGE,
    "pay": PAY,
    "code": [f"c{i}" for i in CODE],
    "ill": DRAW.choice(["a", "b"], ROWS),
}
WRONG, ABSENT = DRAW.random(ROWS) < 0.2, DRAW.random(ROWS) < 0.7
DECADES, ROUND = (
    {"do": "recode", "column": "age", "width": 10},
    {"do": "round", "column": "pay", "base": 1000},
)

GHOSTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "last digit": ({"b": AGE % 10}, DECADES),
    "two remainders": ({"b": AGE % 7, "c": AGE % 5}, {**DECADES, "width": 20}),
    "wrong in a fifth": ({"born": np.where(WRONG, DRAW.integers(1900, 2000, ROWS), 2024 - AGE)}, DECADES),
    "there for a third": ({"born": np.where(ABSENT, np.nan, 2024 - AGE)}, DECADES),
    "other bands": ({"band": (AGE + 3) // 5}, DECADES),
    "one more or less": ({"born": 2024 - AGE + DRAW.integers(-1, 2, ROWS)}, DECADES),
    "a code with another": ({"b": (AGE + 3 * CODE) % 10}, DECADES),
    "a remainder with decimals": ({"b": (PAY % 1000).round(2)}, ROUND),
    "a remainder the other way": ({"b": (1007 - PAY % 1000).round(2)}, ROUND),
    "a remainder with noise": ({"b": PAY % 1000 + np.random.default_rng(1).normal(0, 10, ROWS)}, ROUND),
    "tax by sex": ({"tax": (np.where(SEX == "f", 0.3, 0.25) * PAY).round(2)}, ROUND),
    "tax with a kink": ({"tax": np.where(PAY > 20000, 0.3 * PAY - 1000, 0.2 * PAY).round(2)}, ROUND),
    "net above the top": (
        {"net": (PAY * DRAW.uniform(0.68, 0.72, ROWS)).round(2)},
        {"do": "limit-values", "column": "pay", "high": 30000},
    ),
    "beside noise": ({"tax": (0.3 * PAY).round(2)}, {"do": "add-noise", "variables": ["pay"], "amount": 0.5}),
    "beside gaps": ({"born": 2024 - AGE}, {"do": "suppress", "keys": ["sex", "age"], "k": 3}),
}  # fmt: skip


@pytest.mark.parametrize("case", GHOSTS)
def test_ghosts_do_not_leave(case: str) -> None:
    columns, step = GHOSTS[case]
    made = synthesize({**BASE, **columns}, "recipe", keys=["sex", "age"], steps=[step], seed=1)
    assert list(made) == list(BASE)


@pytest.mark.parametrize("case", ["last digit", "tax by sex"])
def test_a_trail_drops_them_and_says_so(case: str) -> None:
    columns, step = GHOSTS[case]
    trail = Trail.of({**BASE, **columns}, ["sex", "age"]).do(
        step["do"], **{k: v for k, v in step.items() if k != "do"}
    )
    assert trail.table.names == list(BASE)
    (ghost,) = columns
    assert any(f"'{ghost}' was dropped: it gives" in note for note in trail.logged[-1].notes)
    assert f"{ghost}&#x27; was dropped" in trail._repr_html_()
    assert ghost in trail.masked.lens.dropped
    assert ghost in replace(trail, ghosts=False).table.names
    follow = trail.do("drop-column", column=ghost)
    assert follow.table.names == list(BASE)
    assert trail.undo().table.names == [*BASE, ghost]


@pytest.mark.parametrize(
    "steps",
    [
        [DECADES, ROUND],
        [{"do": "suppress", "keys": ["sex", "age", "code"], "k": 3}],
        [{"do": "add-noise", "variables": ["pay", "age"], "amount": 0.2}],
        [{"do": "drop-column", "column": "pay"}],
    ],
)
def test_what_tells_little_stays(steps: list[dict[str, Any]]) -> None:
    related = {
        "wealth": PAY * DRAW.lognormal(0, 0.5, ROWS),
        "visits": DRAW.poisson(AGE / 20),
        "lame": DRAW.random(ROWS) < AGE / 100,
        "any": np.random.default_rng(2).uniform(0, 1000, ROWS).round(2),
    }
    made = synthesize({**BASE, **related}, "recipe", keys=["sex", "age"], steps=steps, seed=1)
    gone = {step["column"] for step in steps if step["do"] == "drop-column"}
    assert set(made) == {*BASE, *related} - gone


def test_surveys_keep_what_is_only_related() -> None:
    table = Table.from_frame(examples.survey(1500, seed=1), examples.survey_schema())
    some = table.select(
        ["region", "sex", "age", "marital", "education", "income", "wealth", "hours", "bmi", "visits"]
    )
    trail = Trail.of(some, ["region", "sex", "age"]).do("recode", column="age", width=10)
    trail = trail.do("round", column="income", base=500).do("suppress", k=3, keys=["region", "sex", "age"])
    assert find_ghosts(some, trail._whole.table, trail._whole.lens) == {}
