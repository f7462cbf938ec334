"""Tables of people with several rows tell as much as so many people, not as so many rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import dalenius
from dalenius import Pair
from dalenius.data import Schema
from dalenius.utility.yardstick import held_out


def people(first: int, count: int, rows: int) -> pl.DataFrame:
    rng = np.random.default_rng(first)
    sex = rng.choice(["f", "m"], count)
    facts = pl.DataFrame({
        "who": [f"P{first + i}" for i in range(count)],
        "sex": sex,
        "age": rng.integers(18, 80, count),
        "job": np.where(rng.random(count) < 0.5, sex, rng.choice(["a", "b", "c"], count)),
    })  # fmt: skip
    return pl.concat([facts] * rows)


def evaluated(rows: int, protected: pl.DataFrame | None = None) -> Any:
    schema = Schema.infer(people(0, 300, 2)).with_roles(entity="who")
    other = people(5000, 300, rows).drop("who") if protected is None else protected
    return dalenius.evaluate(
        people(0, 300, rows), other, schema, measures=["two-way-utility", "one-way-utility", "column-shapes"],
        holdout=people(9000, 300, rows),
    )  # fmt: skip


def test_fresh_people_are_as_good_as_their_yardstick_however_often_their_rows_are_said():
    once, often = evaluated(1), evaluated(20)
    for name in ("two-way-utility", "one-way-utility"):
        assert often.results[name].value == pytest.approx(once.results[name].value, rel=0.05)
        assert often.results[name].yardsticks == pytest.approx(once.results[name].yardsticks, rel=0.05)
        assert "People have several rows" in often.results[name].sentence
        assert "several rows" not in once.results[name].sentence
    tables = [each.results["column-shapes"].table["S_pMSE"].to_list() for each in (once, often)]
    assert tables[1] == pytest.approx(tables[0], rel=0.05)


def test_lost_relations_are_still_seen():
    original = people(0, 300, 20)
    lost = dalenius.synthesize(original.drop("who"), "independent", seed=1)
    assert (
        evaluated(20, lost).results["two-way-utility"].value > evaluated(20).results["two-way-utility"].value
    )


def test_rows_of_homes_and_of_few_units_count_as_they_are():
    data = people(0, 300, 4)
    role = {"household": Schema.infer(data).with_roles(entity=[], household="who")}
    few = data.with_columns(who=pl.Series([i % 10 for i in range(data.height)]))
    role["few"] = Schema.infer(few).with_roles(entity="who")
    for schema, frame in zip(role.values(), (data, few), strict=True):
        result = dalenius.evaluate(
            frame, people(5000, 300, 4).drop("who"), schema, measures=["one-way-utility"]
        )
        assert "several rows" not in result.results["one-way-utility"].sentence


def test_the_yardstick_draws_people_with_their_rows():
    held = people(9000, 300, 10).with_columns(number=pl.Series(range(3000)))
    original = people(0, 300, 10).with_columns(number=pl.lit(0))
    schema = Schema.infer(original).with_roles(entity="who")
    beside = held_out(Pair(original, original[:400].drop("who"), held, schema=schema))
    assert beside is not None
    drawn = np.asarray(beside.protected["number"].values) % 300
    assert len(np.unique(drawn)) == 40
    assert beside.units.count == 300
