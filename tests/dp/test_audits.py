"""Privacy is tried, not claimed: neighbouring tables are told apart as well as can be, and never better than stated.

Each path is also run with half of the noise it should have: then the audit must notice, or it would prove nothing.
"""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.core.errors import OptionError
from dalenius.data import Column, Kind, Schema, Table
from dalenius.dp import add_gaussian, add_laplace, audit, choose, rho_of_epsilon
from dalenius.synth.joint import AIM, MST, LogLinear, Saturated, base, measured

EPSILON, ONE = 2.0, 1.0
SCHEMA = Schema(
    (
        Column("a", Kind.CATEGORICAL, levels=("x", "y"), domain="declared"),
        Column("b", Kind.CATEGORICAL, levels=("u", "v"), domain="declared"),
    )
)
ROWS = [("x", "u")] * 20 + [("y", "v")] * 20 + [("y", "u")] * 20 + [("x", "v")] * 20


def table(rows: list[tuple[str, str]]) -> Table:
    return Table.from_frame({"a": [r[0] for r in rows], "b": [r[1] for r in rows]}, SCHEMA)


ORIGINAL = table(ROWS)
REMOVED = table(ROWS[1:])
REPLACED = table([("y", "v"), *ROWS[1:]])


def telling(model) -> float:
    """How much fuller the cell that lost a record looks than the one that may have got it."""
    held = model.strata[0].table
    drawn = held.sample(2000, np.random.default_rng(0)) if hasattr(held, "mergings") else None
    shares = []
    for code in (0, 1):
        if drawn is not None:
            shares.append(float(np.mean((drawn[0] == code) & (drawn[1] == code))))
        elif hasattr(held, "weights"):
            where = (np.asarray(held.codes[0]) == code) & (np.asarray(held.codes[1]) == code)
            shares.append(float(held.weights[where].sum()))
        else:
            shares.append(float(held.margin((0, 1))[code, code]))
    return shares[0] - shares[1]


def lost(model) -> float:
    """The noisy count of the cell that lost a record."""
    held = model.strata[0].table
    return float(held.weights[(np.asarray(held.codes[0]) == 0) & (np.asarray(held.codes[1]) == 0)].sum())


def halve_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "add_laplace", lambda t, scale: add_laplace(t, scale / 2))
    monkeypatch.setattr(base, "add_gaussian", lambda t, scale: add_gaussian(t, scale / 2))
    monkeypatch.setattr(
        measured, "choose", lambda s, sensitivity, epsilon: choose(s, sensitivity, 2 * epsilon)
    )


# With add-remove neighbours the number of records is private too, unless it is said to be public. Clipping the full
# table never uses it; the other repairs do, so they are tried on replaced records, where it is the same.
REPLACE = {"neighbours": "replace", "domain": "from-data"}
PATHS = {
    "saturated, clipped": (Saturated(epsilon=EPSILON), REMOVED, lost),
    "saturated, noised total": (Saturated(epsilon=EPSILON, total="noised", adjust="simplex"), REMOVED, lost),
    "saturated, simplex": (Saturated(epsilon=EPSILON, **REPLACE, adjust="simplex"), REPLACED, telling),
    "loglinear, clipped": (
        LogLinear(epsilon=EPSILON, **REPLACE, adjust="clip", max_iter=3), REPLACED, telling,
    ),
    "loglinear, simplex": (
        LogLinear(epsilon=EPSILON, **REPLACE, adjust="simplex", max_iter=3), REPLACED, telling,
    ),
    "loglinear, consistent": (LogLinear(epsilon=EPSILON, **REPLACE, max_iter=3), REPLACED, telling),
    "loglinear, several margins": (
        LogLinear(epsilon=EPSILON, **REPLACE, margins=[("a",), ("b",), ("a", "b")], max_iter=3),
        REPLACED, telling,
    ),
    "mst": (MST(epsilon=EPSILON, delta=0.0, **REPLACE), REPLACED, telling),
    "aim": (AIM(epsilon=EPSILON, delta=0.0, **REPLACE, rounds=2, max_iter=2), REPLACED, telling),
}  # fmt: skip


HALVED = [
    p for p in PATHS if p not in ("saturated, noised total", "loglinear, several margins", "mst", "aim")
]


def tried(path: str, runs: int):
    synthesizer, neighbour, read = PATHS[path]
    return audit(
        lambda side: read(synthesizer.fit(neighbour if side else ORIGINAL, seed=1)), EPSILON, runs=runs
    )


@pytest.fixture(autouse=True)
def _short_looks(monkeypatch):
    monkeypatch.setattr(measured, "LOOK", 400)


@pytest.mark.slow
@pytest.mark.parametrize("path", PATHS)
def test_no_path_tells_more_than_it_says(path):
    found = tried(path, runs=600)
    assert not found.refuted, str(found)


@pytest.mark.slow
@pytest.mark.parametrize("path", HALVED)
def test_half_the_noise_is_noticed(path, monkeypatch):
    halve_noise(monkeypatch)
    found = tried(path, runs=3000)
    assert found.refuted, str(found)


def test_laplace_noise_of_counts():
    honest = audit(lambda side: float(add_laplace(np.array([5 + side]), 1 / ONE)[0]), ONE, runs=8000)
    assert 0.6 < honest.lower <= ONE, "close to the truth, and not above it"
    assert audit(lambda side: float(add_laplace(np.array([5 + side]), 0.5)[0]), ONE, runs=4000).refuted


def test_gaussian_noise_of_counts():
    delta = 0.01
    sigma = float(np.sqrt(1 / (2 * rho_of_epsilon(ONE, delta))))
    honest = audit(
        lambda side: float(add_gaussian(np.array([5 + side]), sigma)[0]), ONE, delta=delta, runs=6000
    )
    assert not honest.refuted
    quarter = audit(
        lambda side: float(add_gaussian(np.array([5 + side]), sigma / 4)[0]), ONE, delta=delta, runs=6000
    )
    assert quarter.refuted, "the conversion from zCDP leaves room for half"


def test_exponential_mechanism():
    scores = np.zeros(10)
    moved = np.array([1.0] + [-1.0] * 9)

    def pick(epsilon: float):
        return lambda side: float(choose(moved if side else scores, 1.0, epsilon) == 0)

    assert not audit(pick(ONE), ONE, runs=3000).refuted
    assert audit(pick(2 * ONE), ONE, runs=3000).refuted


@pytest.mark.parametrize(("margins", "count"), [("two-way", 3), ([("a",), ("b",)], 3), ("one-way", 3)])
@pytest.mark.parametrize(("neighbours", "factor"), [("add-remove", 1), ("replace", 2)])
def test_noise_scale_is_the_number_of_margins_over_epsilon(margins, count, neighbours, factor, monkeypatch):
    scales: list[float] = []

    def keep(counts, scale):
        scales.append(scale)
        return add_laplace(counts, scale)

    monkeypatch.setattr(base, "add_laplace", keep)
    data = {"a": ["x", "y"] * 10, "b": ["u", "v", "v", "v"] * 5, "c": ["p", "q"] * 10}
    model = LogLinear(epsilon=0.5, margins=margins, neighbours=neighbours, domain="from-data").fit(
        Table.from_frame(data)
    )
    assert scales == pytest.approx([factor * count / 0.5] * count)
    assert f"scale {factor * count / 0.5:.4g}" in model.ledger


def test_an_uneven_split_spends_the_same_in_all():
    data = {"a": ["x", "y"] * 10, "b": ["u", "v", "v", "v"] * 5}
    synthesizer = LogLinear(epsilon=1.0, margins=[("a",), ("b",)], budget={("a",): 3.0}, domain="from-data")
    ledger = synthesizer.fit(Table.from_frame(data)).ledger
    assert "a: ε = 0.75" in ledger
    assert "b: ε = 0.25" in ledger
    assert "spent: ε = 1" in ledger


def test_too_few_runs_are_refused():
    with pytest.raises(OptionError, match="says nothing"):
        audit(lambda side: 0.0, 1.0, runs=10)


def test_strata_cost_the_largest_and_not_the_sum():
    data = {"s": ["n", "s"] * 20, "a": ["x", "y"] * 20, "b": ["u", "v", "v", "v"] * 10}
    model = LogLinear(epsilon=1.0, strata=["s"], domain="from-data").fit(Table.from_frame(data))
    assert model.ledger.count("ε = 1 (discrete Laplace, scale 1)") == 2
    assert model.ledger.endswith("spent: ε = 1")
