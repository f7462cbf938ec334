"""Spectral anonymisation: exact facts for every seed, the corrected limit, match rates, and the attack on signs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from dalenius.core.errors import DataError, OptionError
from dalenius.data.table import Table
from dalenius.mask.spectral import Spectral, Way, anonymised, asymptotic_cov, variance_inflation
from dalenius.mask.spectral_attack import match_rate, nearest_distance, relative_error, sign_attack

WAYS: tuple[Way, ...] = ("permutation", "sign", "orthogonal")


def rotated(rows: int, width: int, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    turn = np.linalg.qr(rng.normal(size=(width, width)))[0]
    return 3 + rng.normal(size=(rows, width)) * np.sqrt(np.arange(width, 0, -1)) @ turn.T


def scores(values: np.ndarray, x: np.ndarray) -> np.ndarray:
    return (values - x.mean(axis=0)) @ np.linalg.svd(x - x.mean(axis=0), full_matrices=False)[2].T


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("way", WAYS)
def test_what_holds_for_every_seed(way: Way, seed: int) -> None:
    x = rotated(200, 4, seed)
    y = anonymised(x, way, seed=seed)[0]
    assert np.linalg.norm(y - x.mean(axis=0)) == pytest.approx(np.linalg.norm(x - x.mean(axis=0)), rel=1e-12)
    if way == "permutation":
        np.testing.assert_allclose(y.mean(axis=0), x.mean(axis=0), atol=1e-10)
        assert np.trace(np.cov(y.T)) == pytest.approx(np.trace(np.cov(x.T)), rel=1e-12)
        np.testing.assert_allclose(np.sort(scores(y, x), axis=0), np.sort(scores(x, x), axis=0), atol=1e-10)
    if way == "sign":
        np.testing.assert_allclose(np.abs(scores(y, x)), np.abs(scores(x, x)), atol=1e-10)


def test_limits() -> None:
    plain, changed = (asymptotic_cov(np.diag([3.0, 2.0]), "cov", way) for way in (None, "orthogonal"))
    assert plain.tolist() == [
        [pytest.approx(18), 0, 0, 0],
        [0, pytest.approx(6), pytest.approx(6), 0],
        [0, pytest.approx(6), pytest.approx(6), 0],
        [0, 0, 0, pytest.approx(8)],
    ]
    wanted = plain.copy()
    wanted[1:3, 1:3] *= 2
    np.testing.assert_allclose(changed, wanted)
    first = [
        [8.978, 2.589, 2.589, 0.302],
        [2.589, 3.022, 3.022, 2.211],
        [2.589, 3.022, 3.022, 2.211],
        [0.302, 2.211, 2.211, 2.978],
    ]
    sigma = np.array([[2, 0.8], [0.8, 1]])
    for way in WAYS:
        np.testing.assert_allclose(asymptotic_cov(sigma, "cov", way), first, atol=6e-4)
    assert asymptotic_cov(sigma, "mean", "permutation").tolist() == sigma.tolist()
    assert asymptotic_cov(sigma, "mean", "sign").tolist() == (2 * sigma).tolist()
    np.testing.assert_allclose(variance_inflation(np.diag([3.0, 1.0])), [[1, 2], [2, 1]])
    with pytest.raises(OptionError, match="square symmetric"):
        asymptotic_cov(np.array([[1.0, 2.0]]))


def test_exact_matches_as_often_as_theory_says() -> None:
    rows = 40
    found = {
        way: np.mean(
            [match_rate(anonymised(x, way, seed=s)[0], x) for s, x in enumerate(files(rows, 2, 200))]
        )
        for way in WAYS
    }
    assert found["sign"] == pytest.approx(1 / 4, abs=0.03)  # 2^-p of 8,000 rows
    assert found["permutation"] == pytest.approx(1 / rows, abs=0.012)
    assert found["orthogonal"] == 0


def files(rows: int, width: int, count: int) -> list[np.ndarray]:
    return [rotated(rows, width, 1000 + i) for i in range(count)]


def test_distances_are_ordered() -> None:
    some = list(enumerate(files(100, 3, 60)))
    gaps = {
        way: np.mean([nearest_distance(anonymised(x, way, seed=s)[0], x).mean() for s, x in some])
        for way in WAYS
    }
    assert gaps["orthogonal"] > gaps["permutation"] > gaps["sign"]
    assert [gaps[way] for way in WAYS] == pytest.approx([0.642, 0.564, 0.676], abs=0.05)


@pytest.mark.parametrize(("width", "rows"), [(3, 100), (6, 100)])
def test_the_attack_links_signs_and_nothing_else(width: int, rows: int) -> None:
    some = list(enumerate(files(rows, width, 12)))
    found = {
        way: np.mean([sign_attack(anonymised(x, way, seed=s)[0], x).value for s, x in some]) for way in WAYS
    }
    assert found["sign"] > 25
    assert max(found["permutation"], found["orthogonal"]) < 4  # guessing finds 1 %


def test_turning_by_whole_matrices_is_the_same_in_distribution() -> None:
    x = rotated(30, 2)
    both = [
        np.array([anonymised(x, seed=s, exact_matrix=exact)[0][0] for s in range(150)])
        for exact in (True, False)
    ]
    np.testing.assert_allclose(both[0].mean(axis=0), both[1].mean(axis=0), atol=6 * x.std() / np.sqrt(75))
    np.testing.assert_allclose(both[0].std(axis=0), both[1].std(axis=0), rtol=0.3)


def test_covariances_on_average_and_without_bias() -> None:
    x = rotated(10, 2)
    made = {
        debias: np.mean([_moments(anonymised(x, seed=s, debias=debias)[0]) for s in range(1000)], axis=0)
        for debias in (False, True)
    }
    np.testing.assert_allclose(np.trace(made[False]), 0.9 * np.trace(_moments(x)), rtol=0.03)
    np.testing.assert_allclose(np.trace(made[True]), np.trace(_moments(x)), rtol=0.03)


def _moments(values: np.ndarray) -> np.ndarray:
    return np.cov(values.T, bias=True)


def test_wide_sparse_and_flat_data() -> None:
    wide = np.random.default_rng(1).normal(size=(20, 50))
    y, notes = anonymised(wide, seed=1)
    assert y.shape == wide.shape
    assert np.linalg.matrix_rank(y - y.mean(axis=0)) <= 19
    assert "19 directions" in notes[0]
    thin = sparse.random(300, 200, 0.02, random_state=1, format="csr")
    first = anonymised(thin, "permutation", seed=1, components=3)[0]
    dense = anonymised(thin.toarray(), "permutation", seed=1, components=3)[0]
    assert np.linalg.norm(first - thin.toarray()) == pytest.approx(
        np.linalg.norm(dense - thin.toarray()), rel=0.2
    )
    assert np.linalg.norm(first - thin.toarray()) < np.linalg.norm(thin.toarray())
    flat = np.ones((5, 2))
    assert anonymised(flat, seed=1)[0].tolist() == flat.tolist()
    mixed = np.column_stack([np.arange(50.0), np.full(50, 7.0)])
    np.testing.assert_allclose(anonymised(mixed, seed=1)[0][:, 1], 7.0)


def people(rows: int = 300) -> Table:
    x = rotated(rows, 2)
    return Table.from_frame(
        {"a": x[:, 0], "b": x[:, 1], "n": np.arange(rows) % 30, "s": ["x", "y", "z"] * (rows // 3)}
    )


def test_the_step() -> None:
    table = people()
    made = Spectral(("a", "b", "n"), scale="standard", limits=True).apply(table, 1)
    assert made.lens.perturbed == {"a", "b", "n"}
    assert made.table["n"].data.dtype == table["n"].data.dtype
    assert made.table["a"].data.max() <= table["a"].data.max()
    assert made.figures["rows found by signs in %"] < 5
    assert "guessing" in made.notes[-1]
    loose = Spectral(("a", "n"), exact=True).apply(table, 1).table["n"]
    assert loose.column.kind.value == "continuous"
    assert made.table["a"].data.tobytes() == Spectral(("a", "b", "n"), scale="standard", limits=True).apply(
        table, 1
    ).table["a"].data.tobytes()  # fmt: skip


def test_signs_must_be_asked_for_in_words() -> None:
    with pytest.raises(OptionError, match="accept='rows-can-be-linked'"):
        Spectral(("a",), method="sign")
    made = Spectral(("a", "b"), method="sign", accept="rows-can-be-linked").apply(people(), 1)
    assert made.figures["rows found by signs in %"] > 15
    assert any("not for release" in note for note in made.notes)


def test_faults() -> None:
    table = Table.from_frame({"a": [1.5, None, 3.5], "b": [1.5, 2.25, float("inf")], "s": ["x", "y", "x"]})
    with pytest.raises(DataError, match="2 faults"):
        Spectral(("a", "b", "s")).apply(table)
    with pytest.raises(DataError, match="'a' has 1 cell without a number"):
        Spectral(("a",)).apply(table)
    with pytest.raises(DataError, match="two or more"):
        Spectral(("a",)).apply(table.take(np.array([0])))
    with pytest.raises(DataError, match="the same rows"):
        sign_attack(np.zeros((3, 2)), np.zeros((4, 2)))


@pytest.mark.slow
def test_simulated_precision() -> None:
    """Relative errors of the limits, 3,000 files of 100 rows, within the noise of 0.06."""
    sigma, rows, files_ = np.diag([2.0, 1.0]), 100, 3000
    rng = np.random.default_rng(5)
    for way in WAYS:
        means, moments = [], []
        for s in range(files_):
            y = anonymised(3 + rng.normal(size=(rows, 2)) * np.sqrt([2, 1]), way, seed=s)[0]
            means.append(np.sqrt(rows) * (y.mean(axis=0) - 3))
            moments.append(np.sqrt(rows) * (_moments(y) - sigma).ravel())
        assert relative_error(np.cov(np.array(means).T), asymptotic_cov(sigma, "mean", way)) < 0.08
        assert relative_error(np.cov(np.array(moments).T), asymptotic_cov(sigma, "cov", way)) < 0.16
