"""Schemas: YAML and back, every fault at once, conformity without values."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dalenius.core.errors import DataError, FileError, SchemaError
from dalenius.data import Column, Kind, Role, Schema, Table
from dalenius.data.schema import typed

TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=8)
LEVEL = st.one_of(
    TEXT,
    st.sampled_from(
        ["yes", "no", "null", "1", "1.0", "~", "2020-01-01", " a ", "a: b", "# c", "-", "", "\n", "é"]
    ),
    st.integers(-(2**70), 2**70),
    st.booleans(),
    st.floats(allow_nan=False),
    st.dates(dt.date(1, 1, 1), dt.date(9999, 12, 31)),
    st.datetimes(dt.datetime(1000, 1, 1), dt.datetime(9999, 1, 1)).map(lambda m: m.replace(fold=0)),
    st.decimals(-(10**9), 10**9, places=3),
)
NUMBER = st.one_of(st.integers(-(10**9), 10**9), st.floats(allow_nan=False, allow_infinity=False))


@st.composite
def columns(draw: st.DrawFn, name: str) -> Column:
    kind = draw(st.sampled_from(list(Kind)))
    pool = draw(st.lists(LEVEL, unique_by=typed, max_size=8))
    cut = sorted(draw(st.tuples(st.integers(0, len(pool)), st.integers(0, len(pool)))))
    levels = tuple(pool[cut[1] :]) if kind in (Kind.CATEGORICAL, Kind.ORDERED) else None
    bounds: tuple[object, object] | None = None
    if kind is Kind.DATETIME and draw(st.booleans()):
        bounds = ("2020-01-01", "2020-12-31")
    elif kind.is_number and kind is not Kind.DATETIME and draw(st.booleans()):
        bounds = tuple(sorted(draw(st.tuples(NUMBER, NUMBER))))
    return Column(
        name,
        kind,
        tuple(draw(st.lists(st.sampled_from(list(Role)), unique=True, max_size=3))),
        levels if draw(st.booleans()) else None,
        bounds,
        draw(st.sampled_from(["from-data", "declared"])),
        tuple(pool[: cut[0]]),
        tuple(pool[cut[0] : cut[1]]),
        draw(st.one_of(st.none(), st.integers(0, 15))),
        draw(st.one_of(st.none(), st.just("%d/%m/%Y"), TEXT.filter(bool))),
        draw(TEXT),
        draw(st.dictionaries(LEVEL, TEXT, max_size=3)),
        note=draw(TEXT),
    )


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    names = draw(
        st.lists(
            st.one_of(TEXT, st.sampled_from(["yes", "1", "null", "a b", "<<", "?", "ü"])),
            unique=True,
            max_size=4,
        )
    )
    made = [draw(columns(name)) for name in names]
    if len(made) > 1:
        made[0] = replace(made[0], parent=made[1].name, partner=made[1].name)
    return Schema(tuple(made), tuple(draw(st.lists(TEXT, max_size=2))), draw(TEXT))


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(schemas())
def test_yaml_round_trip(schema: Schema) -> None:
    again = Schema.from_yaml(schema.to_yaml())
    assert again == schema
    for one, other in zip(again, schema, strict=True):
        assert [typed(v) for v in (*(one.levels or ()), *one.special)] == [
            typed(v) for v in (*(other.levels or ()), *other.special)
        ]
        assert [typed(v) for v in one.value_labels] == [typed(v) for v in other.value_labels]
    assert again.to_yaml() == schema.to_yaml()


def test_yaml_is_commented_and_readable(tmp_path: Path) -> None:
    schema = Schema.infer({"code": ["01", "02"] * 15, "income": [1200.5, 8.25, 0.5] * 10})
    text = schema.to_yaml(tmp_path / "s.yaml")
    assert text.startswith("# Dalenius schema")
    assert "text of digits with leading zeros" in text
    assert 'levels: ["01", "02"]' in text
    assert (tmp_path / "s.yaml").read_text() == text
    assert Schema.from_yaml(tmp_path / "s.yaml") == schema


def test_a_person_may_write_it_briefly() -> None:
    schema = Schema.from_yaml(
        "columns:\n  age: {kind: integer, role: key, missing: -9}\n  sex:\n    kind: categorical\n    levels: [f, m]\n"
    )
    assert schema["age"].missing == (-9,)
    assert schema["age"].roles == (Role.KEY,)
    assert schema["sex"].levels == ("f", "m")


def test_every_fault_at_once() -> None:
    text = """\
version: 2
colour: red
rules: 7
columns:
  a: {kind: number, role: boss, decimals: two}
  b: {kind: integer, levels: [1, 2], bounds: [5, 1]}
  c: 5
  d: {kind: categorical, levels: 3, value_labels: [1], size: 4}
  e: {kind: categorical, levels: [1, 1], missing: [9], not_applicable: [9], parent: nobody}
  f: {kind: integer, bounds: [1], domain: public, missing: {a: 1}}
  g: {kind: categorical, levels: [[1], {a: 2}]}
"""
    with pytest.raises(SchemaError) as caught:
        Schema.from_yaml(text)
    told = "; ".join(caught.value.faults)
    for part in (
        "version 2", "'colour'", "rules", "'number'", "'boss'", "'a': decimals", "'b': kind integer has no levels",
        "'b': lower bound is above", "'c': needs at least", "'d': levels", "'d': value_labels", "'size'",
        "'e': a level is listed twice", "'e': a code is both", "'e': parent 'nobody'", "'f': bounds", "'f': domain",
        "'f': missing", "'g': levels",
    ):  # fmt: skip
        assert part in told, part


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: [1\nb: 2\n", "line 2: not valid YAML"),
        ("just text\nmore\n", "needs a 'columns:' block"),
        ("columns: [a]\n", "needs a 'columns:' block"),
        ("columns:\n  a: {kind: text}\n  a: {kind: text}\n", "not valid YAML"),
        ("columns:\n  a: !!python/object:os.system {}\n", "column 'a'"),
    ],
)
def test_broken_yaml(text: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message) as caught:
        Schema.from_yaml(text)
    assert "\n" not in str(caught.value)


def test_schema_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="cannot read the schema"):
        Schema.from_yaml(tmp_path / "none.yaml")
    (tmp_path / "b.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileError, match="not UTF-8"):
        Schema.from_yaml(tmp_path / "b.yaml")
    (tmp_path / "e.yaml").write_text("")
    with pytest.raises(SchemaError, match="columns"):
        Schema.from_yaml(tmp_path / "e.yaml")


def test_roles_and_selection() -> None:
    schema = Schema(
        (Column("region", Kind.TEXT), Column("town", Kind.TEXT, parent="region"), Column("w", Kind.INTEGER))
    )
    schema = schema.with_roles(keys=["region", "town"], weight="w")
    assert schema.by_role("key") == ["region", "town"]
    assert schema.with_roles(keys=["w"]).by_role(Role.KEY) == ["w"]
    assert schema.select(["town"])["town"].parent is None
    with pytest.raises(DataError, match="no column 'x'"):
        schema.with_roles(keys="x")
    with pytest.raises(SchemaError, match="named twice"):
        Schema((Column("a", Kind.TEXT), Column("a", Kind.TEXT)))


def test_conformity_counts_and_never_quotes() -> None:
    table = Table.from_frame(
        {
            "age": [3, 200, 41, -5] * 10,
            "sex": ["f", "secret", "m", None] * 10,
            "day": [dt.datetime(2020, 1, 1), dt.datetime(2021, 1, 1)] * 20,
        }
    )
    schema = Schema(
        (
            Column("age", table.schema["age"].kind, bounds=None, levels=(3, 41)),
            Column("sex", Kind.CATEGORICAL, levels=("f", "m")),
            Column("day", Kind.DATETIME, bounds=("2020-06-01", "2020-12-31")),
            Column("gone", Kind.TEXT),
        )
    )
    with pytest.raises(SchemaError) as caught:
        schema.check(table)
    told = caught.value.faults
    assert any("'gone'" in fault for fault in told)
    assert any("'age': 10 rows with a missing code" in fault for fault in told)
    assert any("'sex': 10 rows" in fault for fault in told)
    assert any("'age': 10 rows with a value" in fault for fault in told)
    assert any("'day': 20 rows below" in fault for fault in told)
    assert any("'day': 20 rows above" in fault for fault in told)
    assert "secret" not in str(caught.value)
    table.schema.check(table)


def test_decimal_levels_keep_their_places() -> None:
    schema = Schema((Column("x", Kind.CATEGORICAL, levels=(Decimal("1.50"), Decimal("2"))),))
    assert str(Schema.from_yaml(schema.to_yaml())["x"].levels) == str(schema["x"].levels)
