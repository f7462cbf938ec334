"""The rule language: reads what it should, refuses what it must, and agrees with the example data's own checks."""

from __future__ import annotations

import contextlib

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius.core.errors import DaleniusError, DataError, SchemaError
from dalenius.data import examples
from dalenius.data.rules import Rule, parse_rules, rules_for
from dalenius.data.schema import Column, Kind, Schema
from dalenius.data.table import Table


def population_schema() -> Schema:
    columns = []
    for name, truth in examples.POPULATION_COLUMNS.items():
        levels = tuple(truth["levels"]) if truth["levels"] is not None else None
        columns.append(
            Column(name, Kind(truth["kind"]), levels=levels, not_applicable=tuple(truth["not_applicable"]))
        )
    return Schema(tuple(columns), rules=examples.POPULATION_RULES)


def shuffled(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return frame.select(frame[name].gather(rng.permutation(frame.height)) for name in frame.columns)


class TestPopulation:
    @pytest.mark.parametrize("seed", [0, 1])
    def test_agrees_with_the_examples_own_counts(self, seed: int) -> None:
        schema = population_schema()
        frame = shuffled(examples.population(3000, seed), seed)
        table = Table.from_frame(frame, schema)
        expected = examples.violations(frame)
        found = {rule.text: int(rule.violations(table).sum()) for rule in rules_for(schema)}
        assert found == expected
        assert min(found.values()) >= 0
        assert sum(found.values()) > 1000

    def test_without_declared_codes_too(self) -> None:
        frame = shuffled(examples.population(2000, 3), 3)
        table = Table.from_frame(frame)
        expected = examples.violations(frame)
        for rule in parse_rules(examples.POPULATION_RULES, table.schema):
            assert int(rule.violations(table).sum()) == expected[rule.text], rule.text

    def test_household_rules(self) -> None:
        frame = examples.population(2000, 1)
        table = Table.from_frame(frame, population_schema())
        rules = parse_rules(examples.HOUSEHOLD_RULES, table.schema)
        assert all(rule.holds(table).all() for rule in rules)
        mixed = Table.from_frame(shuffled(frame, 1), population_schema())
        assert all(rule.violations(mixed).any() for rule in rules)
        expected = examples.violations(shuffled(frame, 1), households=True)[examples.HOUSEHOLD_RULES[0]]
        assert int(rules[0].violations(mixed).sum()) == expected

    def test_assignments_are_found(self) -> None:
        rules = parse_rules(examples.POPULATION_RULES, population_schema())
        found = {r.as_assignment().column for r in rules if r.as_assignment() is not None}  # type: ignore[union-attr]
        assert found == {
            "marital", "employment", "income", "wealth", "smoker", "cigarettes", "hours", "occupation", "industry",
        }  # fmt: skip


def table(**columns: object) -> Table:
    return Table.from_frame(columns)


CASES = [
    ("0 <= a <= 5", {"a": [0, 5, 6, -1, None]}, [1, 1, 0, 0, 1]),
    ("a + b == c", {"a": [0.1, 1.0], "b": [0.2, 1.0], "c": [0.3, 3.0]}, [1, 0]),
    ("a <= b", {"a": [1, 2, None], "b": [2, 1, 0]}, [1, 0, 1]),
    ("x in ['u', 'v']", {"x": ["u", "w", None]}, [1, 0, 1]),
    ("x not in ['u', 'v']", {"x": ["u", "w", None]}, [0, 1, 1]),
    ("is_missing(a) -> x == 'u'", {"a": [1, None, None], "x": ["w", "u", "w"]}, [1, 1, 0]),
    ("not is_missing(a)", {"a": [1, None]}, [1, 0]),
    ("a == 1 or x == 'u'", {"a": [1, 2, None, None], "x": ["w", "w", "u", "w"]}, [1, 0, 1, 1]),
    ("x determines a", {"x": ["u", "u", "u", "w"], "a": [1, 1, 2, 9]}, [1, 1, 0, 1]),
    ("x, a determines b", {"x": ["u", "u"], "a": [1, 2], "b": [1, 2]}, [1, 1]),
    ("one a per x", {"x": ["u", "u", "u"], "a": [5, 5, 6]}, [1, 1, 0]),
    ("`my col` > 2", {"my col": [1, 3]}, [0, 1]),
    ("max(a, b) - min(a, b) < 2", {"a": [1, 1], "b": [2, 9]}, [1, 0]),
    ("sum(a) over x <= 5", {"x": ["u", "u", "w"], "a": [2, 4, 5]}, [0, 0, 1]),
    ("a / b == 2", {"a": [4, 4], "b": [2, 0]}, [1, 1]),
    ("x == 'a -> b'", {"x": ["a -> b", "c"]}, [1, 0]),
    ("day <= '2024-02-29'", {"day": ["2024-02-29", "2024-03-01"]}, [1, 0]),
    ("abs(a) == 2", {"a": [-2, 3]}, [1, 0]),
    ("length(x) == 2", {"x": ["uu", "u"]}, [1, 0]),
    ("boss in self.id", {"boss": [1, 7, None], "id": [1, 2, 3]}, [1, 0, 1]),
]


class TestMeaning:
    @pytest.mark.parametrize(("text", "columns", "expected"), CASES, ids=[c[0] for c in CASES])
    def test_holds(self, text: str, columns: dict[str, list[object]], expected: list[int]) -> None:
        kinds = {"day": Column("day", Kind.DATETIME, format="%Y-%m-%d")}
        inferred = Schema.infer(columns)
        schema = inferred.replace_columns(*[kinds[n] for n in columns if n in kinds])
        data = Table.from_frame(columns, schema)
        assert Rule.parse(text, data.schema).holds(data).astype(int).tolist() == expected

    def test_special_codes(self) -> None:
        schema = Schema(
            (Column("a", Kind.INTEGER, missing=(-9,), not_applicable=(-8,)), Column("b", Kind.INTEGER))
        )
        data = Table.from_frame({"a": [1, -8, -9, None], "b": [1, 1, 1, 1]}, schema)
        answers = {
            "a == -8": [0, 1, 1, 1],  # a missing code is no answer, so nothing is broken
            "a != -8": [1, 0, 1, 1],
            "a == -9": [0, 0, 1, 1],
            "a >= 0": [1, 0, 1, 1],
            "a + b == 2": [1, 1, 1, 1],
            "is_missing(a)": [0, 0, 1, 1],
            "is_not_applicable(a)": [0, 1, 0, 0],
        }
        for text, expected in answers.items():
            assert Rule.parse(text, schema).holds(data).astype(int).tolist() == expected, text

    def test_days_between_dates(self) -> None:
        import datetime as dt

        data = table(start=[dt.date(2024, 1, 1)] * 2, end=[dt.date(2024, 1, 31), dt.date(2024, 3, 1)])
        assert Rule.parse("end - start <= 30", data.schema).holds(data).tolist() == [True, False]
        assert Rule.parse("month(end) == 1", data.schema).holds(data).tolist() == [True, False]
        assert Rule.parse("day(end) == 31", data.schema).holds(data).tolist() == [True, False]

    def test_parent_table(self) -> None:
        rule = Rule.parse("hh in homes.hh")
        people, homes = table(hh=["a", "b", None]), table(hh=["a", "z"])
        assert rule.holds(people, {"homes": homes}).tolist() == [True, False, True]
        with pytest.raises(DataError, match="homes"):
            rule.holds(people)

    def test_not_applicable_alike_in_two_columns(self) -> None:
        schema = Schema(tuple(Column(n, Kind.INTEGER, not_applicable=(-8,)) for n in "ab"))
        data = Table.from_frame({"a": [-8, -8, 3], "b": [-8, 2, 3]}, schema)
        assert Rule.parse("a == b", schema).conclusion(data).true.tolist() == [True, False, True]
        assert Rule.parse("a != b", schema).conclusion(data).true.tolist() == [False, False, False]

    def test_empty_table(self) -> None:
        data = table(a=[1], x=["u"]).take(np.array([], dtype=np.int64))
        for text in ("a > 0 -> x == 'u'", "x determines a", "max(a) over x > 0"):
            assert Rule.parse(text, data.schema).holds(data).tolist() == []


class TestRefusal:
    @pytest.mark.parametrize(
        "text",
        ["__import__('os').system('x')", "a.__class__ == 1", "[a for a in b]", "lambda: 1", "a[0] == 1", "f'{a}' == 'x'",  # noqa: E501
         "a := 3", "print(a)", "a -> b -> c", "a ==", "a = 3", "a == None", "a in b", "year(a, b) == 1", "min(a) == 1",
         "a if b else c", "a ** 999999 == 1", "is_missing(1)", "prefix(a, n=1) == 'x'", "", "'" * 5],
    )  # fmt: skip
    def test_refused(self, text: str) -> None:
        with pytest.raises(SchemaError):
            Rule.parse(text)

    def test_all_faults_at_once(self) -> None:
        schema = Schema(
            (Column("a", Kind.INTEGER), Column("x", Kind.CATEGORICAL, levels=("u", "v"), domain="declared"))
        )
        with pytest.raises(SchemaError) as caught:
            parse_rules(["zz == 1 and a == 'text'", "x < 'u'", "x == 'w'", "x == 3"], schema)
        assert len(caught.value.faults) == 5
        assert all(name in str(caught.value) for name in ("'zz'", "'a'", "'x'"))

    @settings(max_examples=80, deadline=None)
    @given(st.text(alphabet="ab<>=!&|()[]'\"`->. 01+,inotr\x00é", max_size=25))
    def test_never_crashes(self, text: str) -> None:
        data = table(a=[1, None], b=["u", "v"])
        with contextlib.suppress(DaleniusError):
            Rule.parse(text, data.schema).holds(data)
