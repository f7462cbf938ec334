"""Runs of synthetic populations: rounded cells, persistence and overlap, the city of deaths, replication."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.stats import binom

from dalenius.core.errors import DataError, OptionError
from dalenius.mask.simulation import (
    AccessLevel,
    class_counts,
    rare_class_frequency,
    replication_audit,
    rounding_posterior,
    run_overlap,
    simulate_transitions,
    unit_persistence,
)
from dalenius.tables.rounding import stochastic_round


@pytest.mark.parametrize(
    ("mu", "zero", "hidden", "counts"),
    [(0.5, 0.8340, 0.2727, (0.6154, 0.3077, 0.0769)), (1.0, 0.6744, 0.4545, (0.4, 0.4, 0.2)),
     (2.0, 0.4060, 0.6667, (0.2, 0.4, 0.4))],
)  # fmt: skip
def test_what_a_rounded_cell_tells(mu: float, zero: float, hidden: float, counts: tuple[float, ...]) -> None:
    found = rounding_posterior(mu)
    assert found[:2] == pytest.approx((zero, hidden), abs=6e-5)
    assert found[2] == pytest.approx(counts, abs=6e-5)


def test_a_rare_class() -> None:
    chance = binom.pmf([1, 2], 40, 0.02).sum()
    assert chance == pytest.approx(0.5086, abs=5e-5)
    events = simulate_transitions(np.zeros(40, int), np.array([0.02]), 1000, seed=1)
    assert unit_persistence(events).value == pytest.approx(0.03, abs=0.012)
    assert run_overlap(events) == pytest.approx(0.02 / 1.98, abs=0.002)
    rare = rare_class_frequency(class_counts(events, np.zeros(40, int)))
    assert rare["rare"][0] == pytest.approx(chance, abs=0.09)
    sure = simulate_transitions(np.zeros(3, int), np.array([1.0]), 50, seed=1)
    assert unit_persistence(sure).values["units as good as certain"] == 3


def city() -> tuple[np.ndarray, np.ndarray]:
    """People and chances of death by sex and age 0 to 95."""
    age = np.arange(96)
    weight = np.select(
        [age < 20, age < 30, age < 65], [0.85, 1.9, 1.15], np.maximum(0.05, 1 - 0.03 * (age - 65))
    )
    weight[95] = 0.25
    people, chance = [], []
    for a, b, first, old in ((-11.2, 0.1025, 0.0029, 1.3), (-10.45, 0.0957, 0.0035, 0.75)):
        n = 55_000 * weight / weight.sum()
        people.append(np.round(np.where(age >= 70, n * old, n)).astype(int))
        q = 1 - np.exp(-(0.0002 + np.exp(a + b * age)))
        q[0] = first
        chance.append(q)
    return np.concatenate(people), np.concatenate(chance)


@pytest.mark.parametrize(
    ("k", "treated", "spread", "widest", "women", "men"),
    [
        (3, 40.12, 8.957, 0.0343, 53, 49),
        (5, 53.94, 16.050, 0.0648, 60, 56),
        (10, 75.42, 34.301, 0.1429, 69, 71),
    ],
)
def test_the_city_of_deaths_in_theory(
    k: int, treated: float, spread: float, widest: float, women: int, men: int
) -> None:
    n, q = city()
    assert n.sum() == 110_364
    assert n[[0, 20, 50, 80, 95]].tolist() == [500, 1118, 677, 421, 191]
    assert n[96 + np.array([0, 20, 50, 80, 95])].tolist() == [500, 1118, 677, 243, 110]
    assert (q[191], q[95]) == pytest.approx((0.2268, 0.2069), abs=6e-5)
    assert float(n @ q) == pytest.approx(1186.19, abs=0.01)
    z = np.arange(1, k)
    p = binom.pmf(z[:, None], n, q)
    assert p.sum() == pytest.approx(treated, abs=6e-3)
    variance = p * (z * (k - z))[:, None]
    assert np.sqrt(variance.sum()) == pytest.approx(spread, abs=6e-4)
    assert np.sqrt(variance.sum(axis=0).max() / 1000) == pytest.approx(widest, abs=6e-5)
    often = p.sum(axis=0) > 0.5
    assert [int(np.flatnonzero(sex).max()) for sex in (often[:96], often[96:])] == [women, men]


def test_means_over_runs_are_right() -> None:
    n, q = city()
    rng = np.random.default_rng(2)
    raw = rng.binomial(n, q, (300, len(n)))
    rounded = np.stack([stochastic_round(run, 3, seed=i).counts for i, run in enumerate(raw)])
    assert not np.isin(rounded, (1, 2)).any()
    variance = (raw * (3 - raw) * ((raw > 0) & (raw < 3))).sum(axis=0) / 300**2
    some = variance > 0
    z = (rounded.mean(axis=0) - raw.mean(axis=0))[some] / np.sqrt(variance[some])
    assert np.sqrt(np.mean(z**2)) == pytest.approx(1, abs=0.3)
    assert np.abs(z).max() < 5.5


def test_replication() -> None:
    rng = np.random.default_rng(3)

    def drawn(rows: int) -> pl.DataFrame:
        return pl.DataFrame(
            {"a": rng.integers(0, 40, rows), "b": rng.integers(0, 40, rows), "s": rng.integers(0, 3, rows)}
        )

    real, outside = drawn(300), drawn(300)
    fresh = [drawn(300) for _ in range(40)]
    honest = replication_audit(fresh, real, ["a", "b"], ["s"], holdout=outside)
    assert honest.verdict == "accidental"
    assert honest.attribute_match == pytest.approx(1 / 3, abs=0.12)
    assert honest.rate == pytest.approx(honest.baseline, abs=0.05)
    leaky = [pl.concat([run, real.head(5)]) for run in fresh]
    found = replication_audit(leaky, real, ["a", "b"], ["s"], holdout=outside)
    assert found.verdict == "systematic"
    flagged = found.table.filter(pl.col("verdict") == "systematic")["record"].to_list()
    assert set(flagged) <= {0, 1, 2, 3, 4}
    assert len(flagged) >= 4
    with pytest.raises(DataError, match="no column 'c'"):
        replication_audit(fresh, real, ["c"])


def test_access_levels() -> None:
    assert "replication audit" in AccessLevel("absolute").required_checks
    assert AccessLevel("formal").missing(AccessLevel("formal").required_checks) == []
    with pytest.raises(OptionError, match="there are formal, factual, absolute"):
        AccessLevel("open")
