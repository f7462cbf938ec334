"""Private statistics: right on average, as accurate as they say, paid for, and blind to what is not declared."""

from __future__ import annotations

import datetime as dt
import json
import math
from functools import partial

import numpy as np
import polars as pl
import pytest
from scipy import stats
from typer.testing import CliRunner

from dalenius import dp
from dalenius.cli import app
from dalenius.core.errors import DataError, OptionError
from dalenius.data import Column, Kind, Role, Schema, Table
from dalenius.dp.accuracy import gaussian_within, laplace_within

LEVELS = tuple(f"l{i}" for i in range(100))
SCHEMA = Schema(
    (
        Column("group", Kind.CATEGORICAL, levels=LEVELS),
        Column("age", Kind.INTEGER, bounds=(0, 100)),
        Column("pay", Kind.CONTINUOUS, decimals=2),
    )
).declare()


def people(rows: int = 2000) -> dict[str, list]:
    rng = np.random.default_rng(1)
    return {
        "group": rng.choice(LEVELS, rows).tolist(),
        "age": rng.integers(0, 90, rows).tolist(),
        "pay": np.round(rng.lognormal(7, 0.5, rows), 2).tolist(),
    }


@pytest.fixture(scope="module")
def table() -> Table:
    return Table.from_frame(people(), SCHEMA.blind())


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("query", ["count", "sum", "mean", "table"])
def test_what_is_said_about_accuracy_holds(query, delta, table):
    """In 95 % of draws, or a little more of whole numbers; the bench draws more."""
    options = {"epsilon": 0.2, "delta": delta}
    inside: list[bool] = []
    if query == "table":
        truth = np.bincount(table["group"].data, minlength=len(LEVELS) + 1)
        for _ in range(20):
            made = dp.table(table, ["group"], **options).table
            inside += (np.abs(made["count"].to_numpy() - truth) <= made["within"].to_numpy()).tolist()
    else:
        truth = {"count": 2000, "sum": table["age"].data.sum(), "mean": table["age"].data.mean()}[query]
        for _ in range(320):
            made = getattr(dp, query)(table, *(["age"] if query != "count" else []), **options)
            inside.append(abs(made.value - truth) <= made.values["within"])
    # By chance alone so few are inside in one of 10^8 runs, and none is outside in one of 10^7.
    assert stats.binom.ppf(1e-8, len(inside), 0.95) <= np.sum(inside) < len(inside)


def test_laws_of_the_noise_give_the_bounds_exactly():
    for scale in (0.3, 1.0, 7.5, 40.0):
        places = np.arange(-2000, 2001)
        for within, chances in (
            (laplace_within(scale), np.exp(-np.abs(places) / scale)),
            (gaussian_within(scale), np.exp(-(places**2) / (2 * scale**2))),
        ):
            share = chances[np.abs(places) <= within].sum() / chances.sum()
            less = chances[np.abs(places) <= within - 1].sum() / chances.sum() if within else 0.0
            assert less < 0.95 <= share + 1e-12


def test_quantiles_keep_to_their_ranks(table):
    ages = np.sort(table["age"].data)
    for share in (0.1, 0.5, 0.9):
        off = []
        for _ in range(15):
            made = dp.quantile(table, "age", share, epsilon=0.5)
            low, high = np.searchsorted(ages, made.value, "left"), np.searchsorted(ages, made.value, "right")
            off.append(max(low - share * len(ages), share * len(ages) - high, 0))
        # 95 % or more, so that fewer than 8 of 15 is a matter of one in 10^7; the tail beyond falls as e^-x.
        assert np.sum(np.array(off) <= made.values["rank within"]) >= 8
        assert max(off) <= 3 * made.values["rank within"]


def test_bounds_that_are_not_declared_are_private_and_paid_for(table):
    # In one of two hundred draws an empty interval stands out and the bounds are far too wide; not in five of nine.
    means = [dp.mean(table, "pay", epsilon=2.0).value for _ in range(9)]
    assert np.median(means) == pytest.approx(table["pay"].data.mean(), rel=0.1)
    ledger = dp.Budget(5.0)
    dp.sum(table, "pay", epsilon=2.0, ledger=ledger)
    assert ledger.spent == pytest.approx(2.0)
    few = Table.from_frame({n: v[:3] for n, v in people().items()}, SCHEMA.blind())
    ask = partial(dp.mean, few, "pay", epsilon=0.01)
    with pytest.raises(DataError, match="too little budget to find its bounds"):
        [ask() for _ in range(5)]  # four draws may have seen something in the noise


def test_a_unit_with_many_records_is_bounded():
    schema = Schema((Column("who", Kind.CATEGORICAL, roles=("entity",)), *SCHEMA))
    data = {"who": ["p"] * 500 + [f"q{i}" for i in range(500)], **{n: v[:1000] for n, v in people().items()}}
    with pytest.raises(OptionError, match="give contribution"):
        dp.count(data, epsilon=1.0, schema=schema)
    made = dp.count(data, epsilon=5.0, schema=schema, contribution=2)
    assert abs(made.value - 502) < 20
    assert made.values["within"] == laplace_within(2 / 5.0)


def test_nothing_undeclared_and_nothing_out_of_domain_is_an_error_of_the_data():
    said = set()
    for data in (people(), {**people(50), "group": ["?"] * 50}):
        with pytest.raises(DataError) as caught:
            dp.table(data, ["group"], epsilon=1.0)
        said.add(str(caught.value))
    assert len(said) == 1
    odd = {"group": ["l0", "?", None, 7], "age": [5, 1000, -3, "x"], "pay": [1.0, math.inf, math.nan, "y"]}
    assert dp.table(odd, ["group"], epsilon=1.0, schema=SCHEMA).table.height == 101
    assert dp.mean(odd, "age", epsilon=1.0, schema=SCHEMA).value <= 100


def test_the_command_line_pays_from_the_ledger_beside_the_data(tmp_path):
    data, schema = tmp_path / "people.csv", tmp_path / "schema.yaml"
    pl.DataFrame(people(500)).write_csv(data)
    SCHEMA.to_yaml(schema)
    run = CliRunner().invoke
    begun = run(app, ["dp", "budget", str(data), "--epsilon", "1"])
    assert begun.exit_code == 0, begun.output
    for line in ("count", "histogram group", "table --by group", "sum age", "mean age", "quantile age"):
        words = line.split()
        argument = [words[0], str(data), *words[1:], "--schema", str(schema), "--epsilon", "0.1", "--json"]
        done = run(app, ["dp", *argument])
        assert done.exit_code == 0, done.output
        assert json.loads(done.stdout)["name"] == words[0]
    shown = run(app, ["dp", "budget", str(data)])
    assert "mean of age: ε = 0.1 → dalenius dp mean" in shown.output
    assert "spent: ε = 0.6" in shown.output
    refused = run(app, ["dp", "count", str(data), "--schema", str(schema), "--epsilon", "0.5"])
    assert refused.exit_code == 2
    assert "would cost 1.1 of a budget of 1" in " ".join(refused.output.split())


@pytest.mark.parametrize("rows", [10, 8000])
def test_sums_and_means_of_large_numbers_do_not_wrap_around(rows):
    wide = Schema(
        (
            Column("seen", Kind.DATETIME, bounds=("1900-01-01", "2025-01-01")),
            Column("big", Kind.INTEGER, bounds=(10**15, 10**15 + 10**6)),
        )
    ).declare()
    data = {"seen": [dt.datetime(2020, 1, 1)] * rows, "big": [10**15 + 7] * rows}
    made = dp.mean(data, "seen", epsilon=20.0, schema=wide)
    right = (dt.datetime(2020, 1, 1) - dt.datetime(1970, 1, 1)) // dt.timedelta(microseconds=1)
    assert abs(made.value - right) <= 5 * made.values["within"]
    assert made.values["within"] < 86_400e6 * 1e6 / rows
    assert "days of the truth" in made.sentence
    total = dp.sum(data, "big", epsilon=20.0, schema=wide)
    assert abs(total.value - sum(data["big"])) <= 5 * total.values["within"] + rows * 1e9
    assert dp.mean(data, "big", epsilon=50.0, schema=wide).value == pytest.approx(
        10**15 + 7, abs=10**6 / rows + 1
    )


def test_whoever_is_outside_of_the_breaks_is_counted_as_such(table):
    made = dp.histogram(table, "age", epsilon=1000.0, breaks=[10, 50]).table
    ages = table["age"].data
    said = dict(zip(made["age"], made["count"], strict=True))
    assert list(said) == ["0 to below 10", "10 to below 50", "50 to 100", "missing"]
    assert [*said.values()][:3] == pytest.approx(
        [(ages < 10).sum(), ((ages >= 10) & (ages < 50)).sum(), (ages >= 50).sum()], abs=1
    )
    free = dp.histogram(table, "pay", epsilon=1.0, breaks=[500, 1000]).table
    assert free["pay"].to_list() == ["below 500", "500 to below 1000", "1000 and more", "missing"]


def test_a_query_that_cannot_be_answered_is_not_paid(table):
    ledger = dp.Budget(2.0)
    many = tuple(f"l{i}" for i in range(1100))
    schema = Schema(
        (Column("a", Kind.CATEGORICAL, levels=many), Column("b", Kind.CATEGORICAL, levels=many))
    ).declare()
    with pytest.raises(OptionError, match="cross fewer columns"):
        dp.table({"a": ["l1"], "b": ["l2"]}, ["a", "b"], epsilon=1.0, schema=schema, ledger=ledger)
    with pytest.raises(DataError, match="a number is needed"):
        dp.sum(table, "group", epsilon=1.0, ledger=ledger)
    assert ledger.spent == 0


def test_records_of_one_household_are_not_said_to_be_protected_together(tmp_path):
    home = Column("home", Kind.INTEGER, roles=(Role.HOUSEHOLD,))
    schema = Schema((home, *SCHEMA.columns))
    pl.DataFrame({"home": [i // 4 for i in range(200)], **people(200)}).write_csv(tmp_path / "people.csv")
    schema.to_yaml(tmp_path / "schema.yaml")
    words = [
        "dp",
        "count",
        str(tmp_path / "people.csv"),
        "--schema",
        str(tmp_path / "schema.yaml"),
        "-e",
        "1",
    ]
    said = " ".join(CliRunner().invoke(app, words).output.split())
    assert "Each record is protected, not all records of column 'home' together" in said
    together = CliRunner().invoke(app, [*words, "--contribution", "4"]).output
    assert "not all records" not in " ".join(together.split())


def test_a_ledger_is_begun_for_a_file_that_is_there(tmp_path):
    nowhere = tmp_path / "nowhere.csv"
    done = CliRunner().invoke(app, ["dp", "budget", str(nowhere), "-e", "1"])
    assert done.exit_code == 2
    assert list(tmp_path.iterdir()) == []
