"""The tree engine: cells counted in a table or row by row give the same cuts; what a split must earn."""

from __future__ import annotations

import numpy as np
import pytest

import dalenius
from dalenius.counts.pair import Pair
from dalenius.data import Table
from dalenius.synth.sequential import CartSynthesizer, trees
from dalenius.synth.sequential._kernels.splits import scratch, split_class
from dalenius.synth.sequential._kernels.trees import Response
from dalenius.synth.sequential.design import Design
from dalenius.synth.sequential.fitted import Job, Target, Tuning
from dalenius.synth.sequential.trees import Tree, chance_gains
from dalenius.utility.tables import two_way_utility


@pytest.mark.slow
@pytest.mark.parametrize("unordered", [False, True])
def test_counted_in_a_table_or_row_by_row_the_cut_is_the_same(unordered):
    rng = np.random.default_rng(1)
    code = rng.integers(0, 12, 900).astype(np.uint8)
    y = ((code + rng.integers(0, 3, 900)) % 5).astype(np.uint8)
    whole = np.bincount(y, minlength=5).astype(float)
    s = scratch(12, 900, Response(np.zeros(0, np.float32), y, 5, np.zeros(0)), True)
    found = []
    for size in (12, 10_000):  # so many codes that a table would not pay: row by row
        found.append(
            split_class(
                code, size, y, np.zeros(0), unordered, 5, whole, np.arange(5), 5, 1, whole @ whole / 900, s
            )
        )
        assert not s.table.any()
    assert found[0] == found[1]
    score, cut, used = found[0]
    assert (cut > 0, used) == (True, 12)
    # The same score by hand, from the rows on both sides.
    left = np.isin(code, s.touched[:cut])
    by_hand = sum(np.sum(np.bincount(y[side]) ** 2.0) / side.sum() for side in (left, ~left))
    assert score == pytest.approx(by_hand)


def gains(values, classes):
    rows = np.arange(len(values))
    return chance_gains(
        Job(Target(np.asarray(values), classes), Design([], len(values)), (), rows, Tuning(), 0)
    )


def test_what_a_split_must_earn_grows_with_rare_levels():
    common = np.arange(10_000) % 4
    rare = np.where(np.arange(10_000) < 60, 4 + np.arange(10_000) % 3, common)
    assert gains(common, 4) == pytest.approx(1.0)  # a quarter of a chance gain for each level
    assert gains(rare, 7) > 4.5  # and a row for each of three levels that 20 people hold
    many = np.arange(3000) % 300  # only rare levels: half a level's rows at most
    assert gains(many, 300) == pytest.approx(5.0, rel=0.01)


def test_a_column_of_many_small_levels_is_still_told_apart():
    rng = np.random.default_rng(3)
    place = rng.integers(0, 200, 6000)
    frame = {"half": [f"h{p // 20}" for p in place], "place": [f"p{p}" for p in place]}
    out = CartSynthesizer().fit(Table.from_frame(frame), seed=1).sample(seed=2).to_frame()
    right = [int(h[1:]) == int(p[1:]) // 20 for h, p in zip(out["half"], out["place"], strict=True)]
    assert np.mean(right) > 0.95


def grown(job, large, monkeypatch, **how):
    monkeypatch.setattr(trees, "LARGE", large)
    return Tree.grow(job, **how)


def job_of(columns, values, classes, weights=None):
    """A job over ready codes."""
    design = Design([], len(values))
    design.codes = np.array(columns, np.uint16)
    design.sizes = design.codes.max(axis=1).astype(np.int64) + 1
    design.unordered = np.array([i % 2 == 1 for i in range(len(columns))])
    target = Target(values, classes, weights=weights)
    return Job(target, design, tuple(range(len(columns))), np.arange(len(values)), Tuning(), 0)


@pytest.mark.parametrize("kind", ["number", "class", "weighted"])
def test_rows_copied_together_give_the_same_tree(kind, monkeypatch):
    """Only the root is cut by a sample, of all rows but one, and its cut stands out: the rest is as in one piece."""
    rng = np.random.default_rng(4)
    n = 3000
    first = rng.integers(0, 2, n)
    columns = [first, rng.integers(0, 9, n), rng.integers(0, 40, n), rng.integers(0, 6, n)]
    noise = (columns[1] % 3 + columns[2] // 10) / 6
    if kind == "number":
        job = job_of(columns, 10.0 * first + noise + rng.normal(0, 0.2, n), 0)
    else:
        values = 3 * first + (3 * np.clip(noise / noise.max() * 0.9, 0, 0.99)).astype(np.int64)
        job = job_of(columns, values, 6, rng.random(n) + 0.5 if kind == "weighted" else None)
    whole, order = grown(job, 10**9, monkeypatch)
    parts, again = grown(job, n - 1, monkeypatch)
    assert len(whole.feature) > 20
    assert np.array_equal(order, again)
    leaves = [sorted(zip(t.first[t.feature < 0], t.last[t.feature < 0], strict=True)) for t in (whole, parts)]
    assert leaves[0] == leaves[1]
    rows = np.arange(n)
    begins = [t.first[t.leaves(job.design, rows)] for t in (whole, parts)]
    assert np.array_equal(*begins)


@pytest.mark.parametrize("how", [{}, {"tested": True}])
def test_many_rows_reach_the_leaves_they_are_in(how, monkeypatch):
    rng = np.random.default_rng(5)
    n = 20_000
    columns = [rng.integers(0, k, n) for k in (50, 30, 7, 4)]
    job = job_of(columns, columns[0] // 10 + rng.normal(0, 1, n) + columns[1] % 5, 0)
    tree, order = grown(job, 1000, monkeypatch, **how)
    assert sorted(order) == list(range(n))
    leaf = tree.leaves(job.design, order)
    place = np.arange(n)
    assert np.all((tree.first[leaf] <= place) & (place < tree.last[leaf]))
    sizes = (tree.last - tree.first)[tree.feature < 0]
    assert sizes.sum() == n
    assert sizes.min() >= job.tuning.minbucket
    assert sizes.max() <= 4000, "large nodes are cut and their parts too"


def test_what_a_sample_cannot_see_is_looked_for_in_all_rows(monkeypatch):
    rng = np.random.default_rng(6)
    group = rng.integers(0, 2, 40_000)
    job = job_of([group], (rng.random(40_000) < 0.5 + 0.02 * group).astype(np.int64), 2)
    tree, _ = grown(job, 100, monkeypatch)
    assert len(tree.feature) == 3


def test_cuts_by_samples_are_as_useful_as_exact_ones(monkeypatch):
    people = dalenius.examples.survey(12_000, seed=1).select(
        "sex", "age", "education", "income", "health", "smoker"
    )
    found = {}
    for large in (1000, 10**9):
        monkeypatch.setattr(trees, "LARGE", large)
        model = CartSynthesizer().fit(Table.from_frame(people), seed=1)
        found[large] = [
            two_way_utility(Pair(people, model.sample(seed=s).to_frame())).value for s in range(4)
        ]
    spread = np.std(found[10**9], ddof=1)
    assert abs(np.mean(found[1000]) - np.mean(found[10**9])) < 4 * spread + 0.05
