"""Cell keys for sums: the law of the noise, the same noise in every table, and attackers who average."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dalenius.core.errors import DataError, OptionError
from dalenius.tables import PTable, define, perturb_sums
from dalenius.tables.sumkeys import noise_factors, table_noise

KEY = b"a secret of the test"


def many_cells(cells=4000, seed=1):
    """One contributor a cell, so that every cell has its own factor."""
    rng = np.random.default_rng(seed)
    data = {
        "a": [f"c{i}" for i in range(cells)],
        "firm": [f"F{i}" for i in range(cells)],
        "v": rng.lognormal(5, 1, cells),
    }
    return define(data, by="a", value="v", contributor="firm")


def test_the_law_of_the_noise():
    """d s: the sign by a fair coin, the size uniform between 1 − w and 1 + w; twenty classes, chi-square."""
    factors = noise_factors(many_cells(), key=KEY, spread=0.4)[1:]
    assert len(factors) == 4000
    assert (np.abs(factors) >= 0.6 - 1e-6).all()
    assert (np.abs(factors) <= 1.4 + 1e-6).all()
    signed = np.where(factors > 0, 10, 0) + np.minimum(((np.abs(factors) - 0.6) / 0.08).astype(int), 9)
    seen = np.bincount(signed, minlength=20)
    assert stats.chisquare(seen).pvalue > 1e-3


def test_a_wrong_law_would_be_seen():
    """The same test on noise that is not uniform fails: it has power."""
    rng = np.random.default_rng(2)
    factors = np.sign(rng.random(4000) - 0.5) * (1 + 0.4 * (rng.beta(2, 2, 4000) * 2 - 1))
    signed = np.where(factors > 0, 10, 0) + np.clip(((np.abs(factors) - 0.6) / 0.08).astype(int), 0, 9)
    assert stats.chisquare(np.bincount(signed, minlength=20)).pvalue < 1e-6


def test_magnitudes_by_hand():
    """One cell of 100, 50 and 10: noise is ±0.6·100·s1 ± 0.3·50·s2 ± 0.1·10·s3."""
    data = {"a": ["x"] * 3, "firm": list("ABC"), "v": [100.0, 50.0, 10.0]}
    model = define(data, by="a", value="v", contributor="firm")
    exact = perturb_sums(model, key=KEY, spread=0.0).values[1] - 160.0
    assert (
        min(abs(exact - sum(s)) for s in _signs((60.0, 15.0, 1.0))) < 0.6
    )  # rounded to whole units, as the data


def _signs(sizes):
    from itertools import product

    return [
        [s * v for s, v in zip(signs, sizes, strict=True)] for signs in product((-1, 1), repeat=len(sizes))
    ]


def survey(rows=400, seed=3):
    rng = np.random.default_rng(seed)
    return {"region": rng.choice(list("NSEW"), rows), "branch": rng.choice(list("abc"), rows),
            "firm": [f"F{i}" for i in rng.integers(0, 120, rows)], "v": np.round(rng.lognormal(3, 1.2, rows), 1),
            "other": rng.choice(list("uvwxyz"), rows)}  # fmt: skip


def test_the_same_cell_has_the_same_noise_in_every_table():
    data = survey()
    wide = define(data, by=["region", "branch", "other"], value="v", contributor="firm")
    narrow = define(data, by=["branch", "region"], value="v", contributor="firm", total="All")
    renamed = define({**data, "land": data["region"]}, by=["land"], value="v", contributor="firm")
    one, two, three = (perturb_sums(m, key=KEY).values for m in (wide, narrow, renamed))
    for region in "NSEW":
        for branch in "abc":
            a = one[wide.find(region=region, branch=branch)][0]
            assert a == two[narrow.find(region=region, branch=branch)][0]
        assert one[wide.find(region=region)][0] == three[renamed.find(land=region)][0]
    assert perturb_sums(wide, key=b"another").values.tolist() != one.tolist()


@pytest.mark.slow
def test_averaging_over_a_thousand_tables_gains_nothing():
    """The attacker splits one cell in a thousand ways, adds up the published parts and averages.

    The direction of the largest contributor never changes, so its noise stays: the average is no nearer to the truth
    than the noise of a single table is on average over secrets.
    """
    rng = np.random.default_rng(5)
    values = np.sort(rng.lognormal(4, 1.3, 30))[::-1]
    truth = values.sum()
    names = [f"F{i}" for i in range(30)]
    single, averaged = [], []
    for trial in range(25):
        key = f"secret {trial}".encode()
        whole = define({"a": ["x"] * 30, "firm": names, "v": values}, by="a", value="v", contributor="firm")
        single.append(abs(perturb_sums(whole, key=key).values[1] - truth))
        guesses = []
        for _ in range(40):  # 25 secrets × 40 splits = 1,000 tables
            part = rng.integers(0, 3, 30)
            table = define(
                {"a": [f"p{i}" for i in part], "firm": names, "v": values},
                by="a",
                value="v",
                contributor="firm",
            )
            guesses.append(perturb_sums(table, key=key).values[1:].sum())
        averaged.append(abs(np.mean(guesses) - truth))
    assert np.mean(averaged) > 0.8 * np.mean(single)
    assert np.mean(single) > 0.02 * truth


def test_asking_for_the_same_cell_again_gives_the_same_number():
    data = survey()
    published = set()
    for k in range(20):
        turned = {**data, "o": np.roll(data["other"], k)}
        model = define(turned, by=["region", "o"], value="v", contributor="firm")
        published.add(float(perturb_sums(model, key=KEY).values[model.find(region="N")][0]))
    assert len(published) == 1


def test_zeros_stay_and_bad_input_is_refused():
    model = define({"a": ["x", "y"], "v": [0.0, 5.0]}, by="a", value="v")
    assert perturb_sums(model, key=KEY).values[1] == 0
    with pytest.raises(DataError, match="magnitude"):
        perturb_sums(define({"a": ["x"]}, by="a"), key=KEY)
    for wrong in ({"magnitudes": ()}, {"magnitudes": (-1,)}, {"spread": 1.0}, {"key": b""}):
        with pytest.raises(OptionError):
            perturb_sums(model, **{"key": KEY, **wrong})


HANDBOOK = PTable(1, np.array([[0, 1, 0], [0.5, 0, 0.5], [0, 0.8, 0.2], [0.3, 0.4, 0.3]]))
"""The perturbation table of the handbook's examples (Hundepool et al. 2024, section 5.4)."""


@pytest.mark.parametrize(("share", "published"), [(0.5, 400.0), (0.6, 360.0)])
def test_the_examples_of_the_handbook(share, published):
    """Section 4.6: a cell of 300 with a largest contribution of 200 and a cell key of 0.8 (just below, for us)."""
    noise = table_noise(np.array([300.0]), np.array([200.0]), np.array([0.8 - 1e-9]), HANDBOOK, share)
    assert 300.0 + noise[0] == pytest.approx(published)


def test_the_law_of_the_perturbation_table():
    """One contributor a cell and steps of a quarter: row 4, whose probabilities the deviations follow (chi-square)."""
    model, table = many_cells(), PTable.make(2, 1.0)
    noise = perturb_sums(model, key=KEY, table=table, share=0.25).values - model.amount
    steps = np.rint(noise[1:] / (0.25 * model.amount[1:])).astype(int)
    np.testing.assert_allclose(noise[1:], 0.25 * steps * model.amount[1:], atol=10.0**-model.decimals)
    seen, law = np.bincount(steps + 2, minlength=5), table.probabilities[-1]
    assert stats.chisquare(seen, law * seen.sum()).pvalue > 1e-3


def test_the_perturbation_table_gives_the_same_noise_in_every_table_and_no_negative_sum():
    data, table = survey(), PTable.make(3, 2.0)
    wide = define(data, by=["region", "branch", "other"], value="v", contributor="firm")
    narrow = define(data, by=["branch", "region"], value="v", contributor="firm", total="All")
    one, two = (perturb_sums(m, key=KEY, table=table, share=0.5).values for m in (wide, narrow))
    for region in "NSEW":
        assert one[wide.find(region=region)][0] == two[narrow.find(region=region)][0]
    assert (one >= 0).all()
    with pytest.raises(OptionError, match="share"):
        perturb_sums(wide, key=KEY, table=table, share=0.0)
