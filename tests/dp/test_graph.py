"""Private graphs: what the fast sampler draws has the law of noise on every pair, and the promise is audited."""

from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from scipy.stats import chi2_contingency

from dalenius.core.errors import DataError, OptionError
from dalenius.dp import Budget, audit
from dalenius.dp import graph as private
from dalenius.dp.graph import edge_rand, lapgraph, lapgraph_edge_retention, pair_numbers, pairs_of
from dalenius.dp.noise import add_laplace

# Share of true edges kept at ε = 1 … 10, of graphs with these nodes and edges (by formula, checked by simulation).
KEPT = {
    (6549, 112_666): [0.014, 0.037, 0.093, 0.217, 0.427, 0.647, 0.785, 0.869, 0.920, 0.951],
    (4385, 37_304): [0.010, 0.027, 0.071, 0.170, 0.355, 0.589, 0.749, 0.847, 0.907, 0.943],
    (2708, 5_278): [0.004, 0.010, 0.027, 0.070, 0.169, 0.354, 0.588, 0.749, 0.847, 0.907],
}


@pytest.mark.parametrize("size", KEPT)
def test_share_of_edges_kept(size):
    found = [lapgraph_edge_retention(*size, float(e)) for e in range(1, 11)]
    assert np.abs(np.array(found) - KEPT[size]).max() < 6e-4


def test_share_of_edges_kept_is_what_comes_out():
    rng = np.random.default_rng(1)
    edges = pairs_of(np.sort(rng.choice(1500 * 1499 // 2, 8000, replace=False)), 1500)
    true = set(pair_numbers(edges, 1500).tolist())
    for epsilon in (3.0, 7.0):
        kept = len(true & set(pair_numbers(lapgraph(edges, 1500, epsilon), 1500).tolist())) / 8000
        expected = lapgraph_edge_retention(1500, 8000, epsilon)
        assert abs(kept - expected) < 0.03


def dense(edges, nodes, epsilon):
    """Noise on every pair, written down in full."""
    pairs = nodes * (nodes - 1) // 2
    keys = pair_numbers(edges, nodes)
    number = int(add_laplace(np.array([len(keys)]), 1 / (private.SPLIT * epsilon))[0])
    noisy = np.zeros(pairs, np.int64)
    noisy[keys] = private.FINE
    noisy = add_laplace(noisy, private.FINE / ((1 - private.SPLIT) * epsilon))
    return np.sort(np.lexsort((np.arange(pairs), -noisy))[: min(max(number, 0), pairs)])


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", [30.0, 400.0])
def test_the_fast_sampler_has_the_law_of_the_full_noise(epsilon):
    """Six nodes, so that every outcome can be counted: two samples of graphs, compared by chi-square."""
    edges, draws = [(0, 1), (2, 3)], 1500
    fast = Counter(tuple(pair_numbers(lapgraph(edges, 6, epsilon), 6).tolist()) for _ in range(draws))
    full = Counter(tuple(dense(edges, 6, epsilon).tolist()) for _ in range(draws))
    table = [[fast[k], full[k]] for k in fast.keys() | full.keys() if fast[k] + full[k] >= 10]
    table.append([2 + draws - sum(r[0] for r in table), 2 + draws - sum(r[1] for r in table)])
    assert chi2_contingency(np.array(table))[1] > 1e-5


@pytest.mark.slow
def test_values_below_the_first_cut_are_drawn_by_the_same_law(monkeypatch):
    """A cut that is far too high has to be lowered again and again: single pairs must still be as likely as others."""
    monkeypatch.setattr(private, "_below_the_cut", lambda *_: 30 * private.FINE)
    edges, draws = [(0, 1), (2, 3)], 600
    fast, full = np.zeros(15), np.zeros(15)
    for _ in range(draws):
        np.add.at(fast, pair_numbers(lapgraph(edges, 6, 5.0), 6), 1)
        np.add.at(full, dense(edges, 6, 5.0), 1)
    total = np.array(
        [
            [fast[[0, 9]].sum(), np.delete(fast, [0, 9]).sum()],
            [full[[0, 9]].sum(), np.delete(full, [0, 9]).sum()],
        ]
    )
    assert total.min() > 100
    assert chi2_contingency(total)[1] > 1e-5


def test_randomised_response_turns_pairs_round_as_often_as_it_says():
    edges = pairs_of(np.arange(0, 4950, 3), 100)
    flips = [
        len(np.setxor1d(pair_numbers(edges, 100), pair_numbers(edge_rand(edges, 100, 1.0), 100)))
        for _ in range(30)
    ]
    chance = 1 / (1 + np.e)
    assert abs(np.mean(flips) - 4950 * chance) < 5 * np.sqrt(4950 * chance * (1 - chance) / 30)


def _sees_the_edge(with_edge: bool) -> float:
    """Whether the edge (0, 1) is in what is released; half of ε pays for the number of edges, so that it shows."""
    edges = [(0, 1), (2, 3), (4, 5)] if with_edge else [(2, 3), (4, 5)]
    return float(0 in pair_numbers(lapgraph(edges, 6, 1.0, split=0.5), 6))


@pytest.mark.slow
def test_the_promise_is_not_refuted():
    assert not audit(_sees_the_edge, 1.0, runs=2000).refuted


@pytest.mark.slow
def test_a_quarter_of_the_noise_is_refuted(monkeypatch):
    real = private._largest
    monkeypatch.setattr(
        private, "_largest", lambda keys, pairs, number, scale: real(keys, pairs, number, scale / 4)
    )
    assert audit(_sees_the_edge, 1.0, runs=2000).refuted


def test_numbers_of_pairs_go_both_ways():
    every = list(itertools.combinations(range(9), 2))
    assert pair_numbers(every, 9).tolist() == list(range(36))
    assert pairs_of(np.arange(36), 9).tolist() == [list(p) for p in every]


def test_every_release_is_paid_for():
    budget = Budget(3.0)
    lapgraph([(0, 1)], 50, 2.0, budget=budget)
    with pytest.raises(OptionError, match="budget"):
        lapgraph([(0, 1)], 50, 2.0, budget=budget)
    assert budget.spent == 2.0


@pytest.mark.parametrize(
    ("edges", "epsilon", "words"),
    [
        ([(0, 1)], 0.0, "positive"), ([(0, 1)], float("nan"), "positive"), ([(0, 0)], 1.0, "to itself"),
        ([(0, 1), (1, 0)], 1.0, "twice"), ([(0, 7)], 1.0, "outside"), ([(0.5, 1)], 1.0, "node numbers"),
    ],
)  # fmt: skip
def test_bad_graphs_are_refused(edges, epsilon, words):
    for release in (lapgraph, edge_rand):
        with pytest.raises((DataError, OptionError), match=words):
            release(edges, 5, epsilon)


def test_a_graph_that_would_be_noise_is_refused():
    with pytest.raises(OptionError, match="epsilon above"):
        edge_rand([(0, 1)], 10_000, 0.5)
