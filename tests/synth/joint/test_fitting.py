"""IPF agrees with R, with closed forms, and on junction trees with the dense fit."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from dalenius.core.errors import DataError, OptionError
from dalenius.counts.ipf import fit_dense
from dalenius.counts.junction import JunctionTree
from dalenius.counts.tree_table import TreeTable, fit_tree, project

GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "ipf" / "ipf.json").read_text())["cases"]


def array(held) -> np.ndarray:
    return np.array(held["cells_first_dim_fastest"], float).reshape(np.atleast_1d(held["dims"]), order="F")


def margin_of(full: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    return full.sum(axis=tuple(i for i in range(full.ndim) if i not in axes))


@pytest.mark.parametrize("case", GOLDEN, ids=[c["id"] for c in GOLDEN])
def test_golden(case):
    margins = [[axis - 1 for axis in np.atleast_1d(axes).tolist()] for axes in case["target_list_1based"]]
    targets = [array(t) for t in case["targets"]]
    fit = fit_dense(array(case["seed"]), margins, targets, tol=case["tol"], max_iter=case["iter"])
    want = case["expected"]
    assert fit.table == pytest.approx(array(want["fitted"]), abs=1e-8)
    assert (fit.converged, fit.iterations) == (want["converged"], want["n_iterations"])
    assert np.array(fit.errors) == pytest.approx(np.atleast_1d(want["max_margin_error"]), abs=1e-8)


def test_consistent_margins_are_met():
    full = np.random.default_rng(0).gamma(1.0, size=(3, 4, 5))
    margins = [(0, 1), (0, 2), (1, 2)]
    fit = fit_dense(np.ones(full.shape), margins, [margin_of(full, m) for m in margins])
    assert fit.converged
    assert max(fit.errors) < 1e-8


def test_a_decomposable_model_is_its_closed_form():
    full = np.random.default_rng(1).gamma(0.5, size=(3, 4, 5)) + 0.01
    fit = fit_dense(np.ones(full.shape), [(0, 1), (1, 2)], [margin_of(full, (0, 1)), margin_of(full, (1, 2))])
    closed = (
        margin_of(full, (0, 1))[:, :, None]
        * margin_of(full, (1, 2))[None]
        / margin_of(full, (1,))[None, :, None]
    )
    assert fit.table == pytest.approx(closed, abs=1e-10)
    assert fit.iterations <= 2


MODELS = [
    [(0, 1), (1, 2), (2, 3)],
    [(0, 1), (1, 2), (2, 3), (3, 0)],
    [(0, 1, 2), (2, 3), (3, 4)],
    [(0, 1), (2, 3)],
    [(0, 1), (1, 2), (0, 2), (2, 3), (3, 4), (2, 4)],
    [(4,), (0, 3), (3, 1)],
    [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)],
]


@pytest.mark.parametrize("margins", MODELS)
@pytest.mark.parametrize("holes", [False, True])
def test_tree_and_dense_fits_agree(margins, holes):
    sizes = (3, 2, 4, 3, 2)
    full = np.random.default_rng(2).gamma(0.4, size=sizes) + 1e-3
    allowed = np.ones((3, 2))
    if holes:
        allowed[0, 1] = 0
        full[0, 1] = 0
    full /= full.sum()
    start = np.ones(sizes) * allowed[:, :, None, None, None]
    targets = [margin_of(full, m) if m == tuple(sorted(m)) else margin_of(full, m).T for m in margins]
    dense = fit_dense(start / start.sum(), margins, targets, tol=1e-13, max_iter=3000)
    tree = JunctionTree.of(sizes, [*margins, (0, 1)])
    made = fit_tree(TreeTable.uniform(tree, {(0, 1): allowed}), margins, targets, tol=1e-13, max_iter=3000)
    for clique, table in zip(tree.cliques, made.table.tables, strict=True):
        assert table == pytest.approx(project(dense.table, tuple(range(5)), clique), abs=1e-8)
    assert made.converged == dense.converged


def test_contradicting_margins_agree_too_when_met_in_the_same_order():
    sizes, margins = (3, 3, 3), [(0, 1), (1, 2)]
    rng = np.random.default_rng(3)
    targets = [rng.dirichlet(np.ones(9)).reshape(3, 3) for _ in margins]
    dense = fit_dense(np.ones(sizes) / 27, margins, targets, tol=1e-13)
    tree = JunctionTree.of(sizes, margins)
    made = fit_tree(TreeTable.uniform(tree), margins, targets, tol=1e-13)
    assert max(made.errors) == pytest.approx(max(dense.errors), abs=1e-10)
    assert max(made.errors) > 0.01


def test_thirty_columns_of_ten_levels():
    rng = np.random.default_rng(4)
    margins = [(int(rng.integers(0, v)), v) for v in range(1, 30)]
    chances = rng.dirichlet(np.ones(10))
    targets = []
    for _ in margins:
        noisy = np.outer(chances, chances) * rng.gamma(5, size=(10, 10))
        fit = fit_dense(noisy, [(0,), (1,)], [chances, chances], tol=1e-14)
        targets.append(fit.table)
    tree = JunctionTree.of([10] * 30, margins)
    assert tree.cells * 8 < 1e6, "30 columns of 10 levels in less than a megabyte"
    made = fit_tree(TreeTable.uniform(tree), margins, targets)
    assert made.converged
    assert max(made.errors) < 1e-10
    drawn = made.table.sample(20_000, np.random.default_rng(5))
    for (a, b), target in list(zip(margins, targets, strict=True))[:5]:
        seen = np.bincount(drawn[a] * 10 + drawn[b], minlength=100).reshape(10, 10) / 20_000
        assert np.abs(seen - target).max() < 0.02


def test_every_clique_path_is_a_tree():
    rng = np.random.default_rng(6)
    for _ in range(30):
        count = int(rng.integers(2, 9))
        margins = [
            tuple(rng.choice(count, 2, replace=False).tolist()) for _ in range(int(rng.integers(1, 12)))
        ]
        tree = JunctionTree.of(rng.integers(2, 4, count).tolist(), margins)
        assert set().union(*map(set, tree.cliques)) == set(range(count))
        for margin in margins:
            assert set(margin) <= set(tree.cliques[tree.home(margin)])
        # Running intersection: the cliques that hold a column hang together.
        for column in range(count):
            holders = [i for i, c in enumerate(tree.cliques) if column in c]
            tops = [i for i in holders if column not in tree.separators[i]]
            assert len(tops) == 1


def test_joining_two_columns_costs_hardly_more_than_was_said():
    rng = np.random.default_rng(7)
    for _ in range(30):
        count = int(rng.integers(3, 9))
        sizes = rng.integers(2, 5, count).tolist()
        margins = [
            tuple(sorted(rng.choice(count, 2, replace=False).tolist()))
            for _ in range(int(rng.integers(1, 9)))
        ]
        tree = JunctionTree.of(sizes, margins)
        for pair in combinations(range(count), 2):
            said = tree.cells_joining(*pair)
            together = any(set(pair) <= set(clique) for clique in tree.cliques)
            assert (said == tree.cells) == together
            # Some triangulation needs no more than said; the one that is found may miss it by a little.
            assert JunctionTree.of(sizes, [*margins, pair]).cells <= 1.5 * said


def test_bad_targets_are_refused():
    with pytest.raises(DataError, match="negative"):
        fit_dense(np.ones((2, 2)), [(0,)], [np.array([-1.0, 2.0])])
    with pytest.raises(OptionError, match="does not fit"):
        fit_dense(np.ones((2, 2)), [(0,)], [np.array([1.0, 2.0, 3.0])])
    with pytest.raises(DataError, match="no possible cell"):
        TreeTable.uniform(JunctionTree.of([2], [(0,)]), {(0,): np.zeros(2)})
