"""Compliance, prior and learned share: the worked examples of Slokom et al. 2024 and Aghaddar et al. 2024."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.core.errors import SchemaError
from dalenius.counts.pair import Pair
from dalenius.data import examples
from dalenius.data.derived import Derivation
from dalenius.data.table import Table
from dalenius.utility.rules import broken_rows, rule_table, rules_kept, violation_rates

FIRMS = {
    "a": [10, 4, 8, 0, 20],
    "b": [5, -1, 2, 0, 30],
    "total": [15, 3, 11, 0, 50],
    "total2": [15, 3, 11, 1, 50],
    "staff": [3, 2, 1, 0, 10],
    "fte": [2.5, 2.0, 1.5, 0.0, 9.0],
    "flag": [1, 0, 1, 0, 1],
    "amt": [7, 0, 0, 5, 12],
}
RULES = ["total == a + b", "a >= 0", "b >= 0", "total2 == total", "staff >= fte"]
IMPLIED = ["flag == 1 -> amt > 0", "flag == 0 -> amt == 0"]


def test_aghaddar_violations() -> None:
    table = Table.from_frame(FIRMS)
    assert violation_rates(table, RULES + IMPLIED) == {
        "summation": 20.0,
        "non-negative": 10.0,
        "equality": 20.0,
        "inequality": 20.0,
        "if-then": 40.0,
    }
    assert violation_rates(table, IMPLIED, denominator="all") == {"if-then": 20.0}


def test_slokom_prior_and_learned() -> None:
    flag = ["1"] * 959 + ["0"] * 41
    date: list[int | None] = [5] * 959 + [None] * 41
    original = Table.from_frame({"flag": flag, "date": date})
    shuffled = np.random.default_rng(1).permutation(1000)
    mixed = original.with_vectors(original["date"].take(shuffled))
    rules = ["flag == '0' -> is_missing(date)", "flag == '1' -> not is_missing(date)"]
    table = rule_table(original, {"copy": original, "mixed": mixed}, rules)
    assert table["prior"].to_list() == pytest.approx([4.1, 95.9])
    assert table["copy: learned"].to_list() == [1.0, 1.0]
    assert max(abs(x) for x in table["mixed: learned"].to_list()) < 0.15


def test_a_rule_that_applies_to_nobody_has_no_compliance() -> None:
    table = Table.from_frame({"a": [1, 2], "b": [1, 2]})
    assert rule_table(table, {"x": table}, ["a > 9 -> b > 0"])["x"].to_list() == [None]


def test_measure_on_the_population() -> None:
    schema = examples.schemas.population_schema() if hasattr(examples, "schemas") else None
    people = examples.population(1500, 1)
    shuffled = people.select(
        people[n].sample(fraction=1, shuffle=True, seed=i) for i, n in enumerate(people.columns)
    )
    rules = list(examples.POPULATION_RULES)
    kept = rules_kept(Pair(people, people, schema=schema), rules)
    broken = rules_kept(Pair(people, shuffled, schema=schema), rules)
    assert kept.value == 100.0
    assert kept.values["learned"] == pytest.approx(1.0)
    assert broken.value < 80
    assert abs(broken.values["learned"]) < 0.1


def test_aghaddar_derive() -> None:
    table = Table.from_frame(FIRMS)
    derivation = Derivation.of(table, RULES + IMPLIED)
    assert derivation.names == ["total", "total2"]
    restored = derivation.restore(derivation.drop(table))
    assert restored.names == table.names
    assert restored.to_frame()["total"] == restored.to_frame()["total2"] == [15, 3, 10, 0, 50]
    before, after = (violation_rates(t, RULES + IMPLIED) for t in (table, restored))
    assert after == {**before, "summation": 0.0, "equality": 0.0}


def test_rules_that_contradict_each_other_are_named() -> None:
    table = Table.from_frame(FIRMS)
    with pytest.raises(SchemaError, match="'total' is defined twice: 'total == a' and 'total == b'"):
        Derivation.of(table, ["total == a", "total == b"])
    with pytest.raises(SchemaError, match="by each other"):
        Derivation.of(table, ["total == total2", "total2 == total + a"])


def test_broken_rows_count_each_row_once() -> None:
    table = Table.from_frame(FIRMS)
    assert broken_rows(table, {"sums": RULES[:2], "all": RULES, "none": ["zzz > 0"]}) == {
        "sums": 1,
        "all": 3,
        "none": 0,
    }
