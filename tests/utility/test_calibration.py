"""For synthetic data from a correct model S_pMSE has mean 1, for tables, logistic and tree propensity."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.counts.pair import Pair
from dalenius.utility.propensity import learner_propensity, logit_propensity, pairs_null, tree_propensity
from dalenius.utility.tables import table_utility

SHAPE = (3, 4, 3, 2)
SIMULATIONS = 200


def drawn(rng: np.random.Generator, shares: np.ndarray, size: int) -> tuple[dict[str, list[str]], np.ndarray]:
    cells = rng.choice(len(shares), size, p=shares)
    codes = np.unravel_index(cells, SHAPE)
    return {name: code.astype(str).tolist() for name, code in zip("abcd", codes, strict=True)}, cells


def synthesized(seed: int, n: int, k: int, files: int = 1) -> list[Pair]:
    """An original from a random table, and syntheses from the model fitted to it (all cells: a correct model)."""
    rng = np.random.default_rng(seed)
    original, cells = drawn(rng, rng.dirichlet(np.full(int(np.prod(SHAPE)), 2.0)), n)
    fitted = np.bincount(cells, minlength=int(np.prod(SHAPE))) / n
    return [Pair(original, drawn(rng, fitted, k)[0]) for _ in range(files)]


def scores(pair: Pair, seed: int) -> dict[str, float]:
    """S_pMSE of one file by every measure that has one."""
    found = {
        f"{order}-way tables": float(table_utility(pair, order)["S_pMSE"].mean())  # type: ignore[arg-type]
        for order in (1, 2, 3)
    }
    found |= {f"logit, order {order}": logit_propensity(pair, order=order).S_pMSE for order in (0, 1)}
    found["tree, resampled null"] = tree_propensity(pair, repeats=5, seed=seed).S_pMSE
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("n", "k"), [(800, 800), (800, 500)])
def test_mean_is_one(n: int, k: int) -> None:
    found: dict[str, list[float]] = {}
    for seed in range(SIMULATIONS):
        for name, value in scores(synthesized(seed, n, k)[0], seed).items():
            found.setdefault(name, []).append(value)
    for name, values in found.items():
        assert 0.9 <= np.mean(values) <= 1.1, (name, np.mean(values))


@pytest.mark.slow
def test_boosted_trees_have_mean_one_too() -> None:
    found = [
        learner_propensity(synthesized(seed, 500, 500)[0], repeats=2, seed=seed).S_pMSE for seed in range(16)
    ]
    assert 0.85 <= np.mean(found) <= 1.15, np.mean(found)


@pytest.mark.slow
def test_null_of_pairs_is_halved() -> None:
    ratios = []
    for seed in range(40):
        files = synthesized(seed, 800, 800, files=4)
        mean = np.mean([tree_propensity(pair, repeats=0).figures.pMSE for pair in files])
        ratios.append(mean / pairs_null(files))
    assert 0.8 <= np.mean(ratios) <= 1.1, np.mean(ratios)  # without halving it would be near 0.5


def test_a_fresh_sample_gives_two() -> None:
    scores = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        shares = rng.dirichlet(np.full(int(np.prod(SHAPE)), 2.0))
        pair = Pair(drawn(rng, shares, 600)[0], drawn(rng, shares, 600)[0])
        scores.append(float(table_utility(pair, 2)["S_pMSE"].mean()))  # type: ignore[arg-type]
    assert np.mean(scores) == pytest.approx(2.0, abs=0.2)


if __name__ == "__main__":  # the table of docs/utility.md
    for sizes in ((800, 800), (800, 500)):
        simulated: dict[str, list[float]] = {}
        for seed in range(SIMULATIONS):
            one = synthesized(seed, *sizes)[0]
            permuted = {
                "tree, permutation null": tree_propensity(
                    one, null="permutation", repeats=5, seed=seed
                ).S_pMSE
            }
            for name, value in (scores(one, seed) | permuted).items():
                simulated.setdefault(name, []).append(value)
        for name, values in simulated.items():
            print(
                f"{sizes} {name}: {np.mean(values):.3f}, standard error {np.std(values) / len(values) ** 0.5:.3f}"
            )
