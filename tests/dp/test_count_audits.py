"""Count models and comparators are tried like the private mechanisms: never worse than stated, or found out.

Each cell of a table is drawn on its own, so a table of many equal cells is as many runs.
"""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.data import Column, Kind, Schema, Table
from dalenius.dp import compare
from dalenius.dp.count_laws import NegativeBinomial, Poisson, PoissonInverseGaussian
from dalenius.dp.count_privacy import calibrate_alpha, delta
from dalenius.synth.joint import PoissonCounts
from tests.dp.comparators import CountModel, DirichletMultinomial, GaussianTable, LaplaceTable

SURE = 1 - 1e-7
CELLS = 40_000
EMPTY, ONE = np.zeros(CELLS, np.int64), np.ones(CELLS, np.int64)
FEW_EMPTY, FEW_ONE = EMPTY[:8000], ONE[:8000]
"""For noise of OpenDP, which costs more than a draw of NumPy."""
LAWS = {
    "poisson": Poisson(),
    "negative binomial": NegativeBinomial(0.5),
    "Poisson inverse Gaussian": PoissonInverseGaussian(0.5),
}


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("epsilon", [1.0, 2.0])
def test_count_laws_tell_no_more_than_they_say(law, epsilon):
    rng = np.random.default_rng(1)
    claimed = CountModel(1.0, LAWS[law])
    drawn = claimed.draw(EMPTY, rng), claimed.draw(ONE, rng)
    found = compare(*drawn, epsilon, delta=claimed.delta(epsilon), confidence=SURE)
    assert not found.refuted, str(found)


@pytest.mark.parametrize("law", LAWS)
def test_half_the_pseudo_count_is_noticed(law):
    rng = np.random.default_rng(2)
    claimed, drawn = CountModel(1.0, LAWS[law]), CountModel(0.5, LAWS[law])
    found = compare(drawn.draw(EMPTY, rng), drawn.draw(ONE, rng), 1.0, delta=claimed.delta(1.0))
    assert found.refuted, str(found)


def poisson_outcomes(alpha: float) -> tuple[np.ndarray, np.ndarray]:
    """Counts that a file drawn by the synthesizer has in cells with one record and in empty ones."""
    levels = tuple(f"{i:05d}" for i in range(20_000))
    schema = Schema((Column("a", Kind.CATEGORICAL, levels=levels, domain="declared"),))
    table = Table.from_frame({"a": list(levels[::2])}, schema)
    model = PoissonCounts(alpha=alpha, size="poisson").fit(table)
    whole = int(table.rows + alpha * len(levels))
    drawn = np.bincount(model.sample(whole, seed=3)["a"].data, minlength=len(levels))
    return drawn[1::2], drawn[::2]


def test_the_synthesizer_keeps_the_statement_of_its_law():
    alpha = calibrate_alpha(1.0, 0.1)
    assert not compare(*poisson_outcomes(alpha), 1.0, delta=0.1, confidence=SURE).refuted
    assert compare(*poisson_outcomes(alpha / 2), 1.0, delta=0.1).refuted


def test_laplace_comparator():
    rng = np.random.default_rng(0)
    for epsilon in (1.0, 0.5):  # its own, and a smaller one, for which its exact δ is stated
        stated = LaplaceTable(1.0)
        found = compare(
            stated.draw(EMPTY, rng),
            stated.draw(ONE, rng),
            epsilon,
            delta=stated.delta(epsilon),
            confidence=SURE,
        )
        assert not found.refuted, str(found)
    half = LaplaceTable(2.0)
    assert compare(half.draw(FEW_EMPTY, rng), half.draw(FEW_ONE, rng), 1.0).refuted


def test_gaussian_comparator():
    rng = np.random.default_rng(0)
    stated, half = GaussianTable(1.0), GaussianTable(0.5)
    claim = {"epsilon": 1.0, "delta": stated.delta(1.0)}
    assert not compare(
        stated.draw(FEW_EMPTY, rng), stated.draw(FEW_ONE, rng), **claim, confidence=SURE
    ).refuted
    assert compare(half.draw(FEW_EMPTY, rng), half.draw(FEW_ONE, rng), **claim).refuted


def dirichlet_outcomes(mechanism: DirichletMultinomial, runs: int = 6000) -> tuple[np.ndarray, np.ndarray]:
    """Synthetic count of a cell before and after a record was moved out of it (replaced)."""
    rng = np.random.default_rng(4)
    drawn = [
        np.array([mechanism.draw(np.array(table), rng)[0] for _ in range(runs)]) for table in ([0, 3], [1, 2])
    ]
    return drawn[0], drawn[1]


def test_dirichlet_comparator():
    stated = DirichletMultinomial.for_epsilon(1.0, records=1)
    assert not compare(*dirichlet_outcomes(stated), 1.0, confidence=SURE).refuted
    half = DirichletMultinomial(stated.alpha / 2, records=1)
    assert compare(*dirichlet_outcomes(half), 1.0).refuted


def test_the_statement_of_a_smaller_pseudo_count_is_weaker():
    assert delta(1.0, 0.5) > delta(1.0, 1.0) > delta(1.0, 2.0)
