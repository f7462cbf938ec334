"""SafePub is audited like every other private path: with half of its k it is refuted, as it is nothing is found."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from dalenius.data import Column, Kind, Schema, Table
from dalenius.dp import audit
from dalenius.mask import safepub as module
from dalenius.mask.safepub import SafePub
from dalenius.mask.safepub_k import min_k

EPSILON, DELTA, BETA, RUNS = 2.7, 1e-3, 0.9, 9000
SURE = 1 - 1e-7
"""Confidence of the audits that must not find anything."""


def alike(rows: int, more: bool) -> Table:
    """Records that all look alike, and one of them more."""
    return Table.from_frame({"sex": ["f"] * (rows + more)}, Schema((Column("sex", Kind.CATEGORICAL),)))


def refuted(step: SafePub, rows: int, confidence: float, runs: int = RUNS) -> bool:
    tables = [alike(rows, more) for more in (False, True)]
    shown = lambda more: float(step.apply(tables[more]).table.rows)  # noqa: E731
    return audit(shown, EPSILON, delta=DELTA, runs=runs, confidence=confidence).refuted


def whole() -> SafePub:
    return SafePub(("sex",), levels={"sex": []}, epsilon=EPSILON, delta=DELTA, beta=BETA, fixed={"sex": 0})


@pytest.mark.slow
def test_half_of_k_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group of 33 beside one of 32: all of it is drawn in 3 of 100 releases, and only the larger can show 33."""
    assert whole().k == 66
    monkeypatch.setattr(module, "min_k", lambda *_: 33)
    assert refuted(whole(), 32, 0.99)


@pytest.mark.slow
@pytest.mark.parametrize(("rows", "runs"), [(32, 1000), (72, RUNS)])
def test_at_the_same_parameters_nothing_speaks_against_k(rows: int, runs: int) -> None:
    """The same records, and a group around k, of which more could be told than of smaller or larger ones."""
    assert not refuted(whole(), rows, SURE, runs)


def told(n: int, k: int) -> float:
    """What the counts of n and n − 1 alike tell beyond ε, exactly: the hockey-stick divergence, the worse way."""
    j = np.arange(k, n + 1)
    p, q = (np.append(binom.pmf(j, m, BETA), binom.cdf(k - 1, m, BETA)) for m in (n, n - 1))
    grown = math.exp(EPSILON)
    return max(np.maximum(p - grown * q, 0).sum(), np.maximum(q - grown * p, 0).sum())


def test_k_keeps_delta_and_half_of_it_does_not() -> None:
    """The law itself at every group size: no draw is needed to see it."""
    k = min_k(DELTA, BETA, EPSILON)
    assert max(told(n, k) for n in range(k, 400)) <= DELTA
    assert max(told(n, k // 2) for n in range(k // 2, 400)) > 20 * DELTA
