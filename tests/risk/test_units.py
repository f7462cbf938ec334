"""Where the schema names who owns the rows, every measure counts owners: saying a thing twice must change nothing."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from dalenius import DaleniusError, Pair, Schema, Table
from dalenius.counts.measure import MEASURES
from dalenius.data import examples
from dalenius.data.grouping import Grouping
from dalenius.risk import (
    apparent_matches,
    attack_number,
    disclosure,
    frequencies,
    k_anonymity,
    l_diversity,
    membership_density,
    msu_overlap,
    population_uniques,
    sample_risk,
    shadow_audit,
    suda,
    t_closeness,
    unexpected_disco,
)

COLUMNS = ["region", "sex", "age", "marital", "income", "health", "bmi"]
KEYS, TARGETS = ["region", "sex", "age", "marital"], ["health", "income"]
ROWS = 250
RISKS = [
    m.info.name
    for m in MEASURES.values()
    if m.info.family == "risk"
    and m.function.__module__.startswith("dalenius.risk")
    and m.info.compares  # those of the protected file alone have no record of the original to name
]
# measures whose limits for outliers come from rows
NEARLY = {"outlier-linkage": 12.0}


def people(seed: int) -> pl.DataFrame:
    frame = examples.survey(ROWS, seed=seed).select(COLUMNS)
    return frame.with_columns(pl.Series("person", [f"p{i}" for i in range(ROWS)]))


def repeated(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    times = np.random.default_rng(seed).integers(1, 4, frame.height)
    return frame[np.repeat(np.arange(frame.height), times)]


def schema(frame: pl.DataFrame) -> Schema:
    return Schema.infer(frame).with_roles(entity="person", keys=KEYS, targets=TARGETS)


@pytest.fixture(scope="module")
def pairs() -> tuple[Pair, Pair]:
    inside, outside = people(1), people(2)
    mixed = pl.concat([people(3).head(ROWS - 60), inside.head(60)]).drop("person")
    grouping = Grouping.fit(Table.from_frame(inside.select(COLUMNS)))
    options = {"schema": schema(inside), "keys": KEYS, "targets": TARGETS, "grouping": grouping}
    once = Pair(inside, mixed, outside, **options)
    often = Pair(repeated(inside, 1), mixed, repeated(outside, 2), **options)
    assert often.original.rows > 1.5 * once.original.rows
    return once, often


@pytest.mark.parametrize("name", RISKS)
def test_rows_said_twice_change_nothing(name: str, pairs: tuple[Pair, Pair]) -> None:
    once, often = (MEASURES[name](pair) for pair in pairs)
    assert often.value == pytest.approx(once.value, abs=NEARLY.get(name, 1e-9))
    if name in NEARLY:
        return
    assert dict(often.yardsticks) == pytest.approx(dict(once.yardsticks))
    assert once.interval is not None, (
        f"{name} has no interval: a risk figure comes with one (core/compared.py)"
    )
    assert often.interval.low == pytest.approx(once.interval.low)


def test_functions_that_are_not_registered_count_units_too(pairs: tuple[Pair, Pair]) -> None:
    for call in (
        lambda p: apparent_matches(p, KEYS, ["health"]).values["coverage"],
        lambda p: msu_overlap(p, KEYS, 3).value,
        lambda p: unexpected_disco(p, "health").value,
        lambda p: attack_number(p, "income", model="tree").value,
        lambda p: membership_density(p, margins=2).value,
        lambda p: disclosure(p, "health").caps["CAPd"],
        lambda p: disclosure(p, "health").caps["tcap_disclosive"],
    ):
        once, often = map(call, pairs)
        assert often == pytest.approx(once)


def test_figures_of_one_file_count_units() -> None:
    frame = people(1).drop_nulls()
    tables = [Table.from_frame(f, schema(f)) for f in (frame, repeated(frame, 1))]
    for call in (
        lambda t: k_anonymity(t, KEYS).values["unique rows"],
        lambda t: frequencies(t, KEYS).violations(3),
        lambda t: sample_risk(t, KEYS).expected,
        lambda t: t_closeness(t, ["region", "sex"], "health").value,
        lambda t: suda(t, KEYS).result().value,
        lambda t: population_uniques(t, KEYS, population=5000).sample_uniques,
        lambda t: l_diversity(t, ["region"], "health")["entropy"].max(),
    ):
        once, often = map(call, tables)
        assert often == pytest.approx(once)
    gaps = Table.from_frame(
        people(1).with_columns(pl.lit(None, pl.String).alias("region")), schema(people(1))
    )
    with pytest.raises(DaleniusError, match="complete keys"):
        frequencies(gaps, KEYS)


def test_a_person_of_many_kinds_counts_once() -> None:
    frame = {"person": ["a", "a", "b", "c"], "k": ["1", "2", "3", "3"], "t": ["x", "y", "x", "x"]}
    roles = Schema.infer(frame).with_roles(entity="person", keys=["k"], targets=["t"])
    pair = Pair(frame, {"k": ["1", "3"], "t": ["x", "x"]}, schema=roles)
    assert MEASURES["replicated-uniques"](pair).value == pytest.approx(100 / 3)
    assert MEASURES["disco"](pair).value == pytest.approx(100)
    assert pair.units.most_rows == 2
    assert len(pair.units.one_row_each(None, 1)) == 3
    assert len(pair.units.rows_of_some(3, 1)) == 4


def test_shadow_models_take_whole_people_in_and_out() -> None:
    frame = repeated(people(1).head(120), 1)
    audit = shadow_audit(Table.from_frame(frame, schema(frame)), lambda t, seed: t, runs=4, candidates=40)
    assert len(audit.rows) == 40
    assert len(set(frame["person"].to_numpy()[audit.rows].tolist())) == 40, "one row stands for each person"
    assert audit.curve.auc > 0.95
