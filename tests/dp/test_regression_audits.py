"""Private regressions are tried: as they are nothing is found, with less noise they are told apart from their promise.

Objective perturbation pays for its noise with half of ε and for its curvature with the other half, and no record uses
both up at once. Its law is known in closed form for one coefficient, so what *any* audit could find is computed.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special, stats

from dalenius import dp
from dalenius.dp.accounting import rho_of_epsilon
from dalenius.dp.regression import (
    Box,
    Check,
    LogLoss,
    Reach,
    adaptive_fit,
    descents,
    drawn_fit,
    gradient_norm,
    perturbed_fit,
    stochastic_fit,
    stochastic_noise,
)
from dalenius.dp.regression import perturbed as perturbing
from dalenius.dp.regression.gradient_norm import grid_scores
from dalenius.dp.regression.moments import noisy_moments, scale_for
from tests.dp.test_audits import SURE

ALONE = Reach(1.0, neighbours="add-remove")
AT = np.linspace(-60, 60, 24_001)
GUESSES = (-40.0, -5.0, -2.0, -1.0, 0.0, 1.0, 2.0, 5.0, 40.0)
LOSSES = {
    "median": Check(0.5, 0.5),
    "quantile 0.95": Check(0.95, 0.5),
    "median, Epanechnikov": Check(0.5, 0.5, "epanechnikov"),
    "yes or no": LogLoss(),
}


def push_at(loss, response, theta, guess, epsilon):
    """The push b that makes θ the minimum, and its slope in θ; no response: nobody is in the file."""
    ridge = perturbing.ridge_needed(loss, ALONE, epsilon)
    if response is None:
        return -ridge * (theta - guess), np.full_like(theta, ridge)
    said = np.full_like(theta, response)
    return -(loss.slope(said, theta) + ridge * (theta - guess)), loss.curvature(said, theta) + ridge


def largest_ratio(loss, epsilon, factor, response=1.0):
    """Largest |log| of the ratio of the densities with and without one person: the ε that the law really has."""
    scale, found = factor * perturbing.noise_scale(loss, ALONE, epsilon), 0.0
    for guess in GUESSES:
        with_him, without = (push_at(loss, y, AT, guess, epsilon) for y in (response, None))
        ratio = (np.abs(without[0]) - np.abs(with_him[0])) / scale + np.log(with_him[1] / without[1])
        found = max(found, float(np.abs(ratio).max()))
    return found


def test_the_law_is_the_one_that_is_drawn():
    loss, guess = Check(0.95, 0.5), np.array([2.0])
    scale = perturbing.noise_scale(loss, ALONE, 1.0)
    drawn = np.array([
        perturbed_fit(np.ones((1, 1)), np.ones(1), loss, ALONE, epsilon=1.0, centre=guess)[0] for _ in range(1500)
    ])  # fmt: skip

    def below(theta):  # θ falls as b rises
        return stats.laplace(scale=scale).sf(push_at(loss, 1.0, np.asarray(theta), 2.0, 1.0)[0])

    assert stats.kstest(drawn, below).pvalue > 1e-7


@pytest.mark.parametrize("epsilon", [0.25, 1.0, 4.0])
def test_of_objective_perturbation_the_median_keeps_its_promise_with_half_of_the_noise(epsilon):
    """ε·t + ln(1 + ε/2·(1 - t²)), t = tanh(z/2), grows to ε at t = 1: nobody can refute it. A third breaks it."""
    found = {factor: largest_ratio(LOSSES["median"], epsilon, factor) for factor in (1.0, 0.5, 1 / 3)}
    assert found[1.0] < 0.62 * epsilon
    assert 0.999 * epsilon < found[0.5] <= epsilon * (1 + 1e-9)
    assert found[1 / 3] == pytest.approx(1.5 * epsilon)


@pytest.mark.parametrize("epsilon", [0.25, 1.0])
@pytest.mark.parametrize("name", ["quantile 0.95", "median, Epanechnikov", "yes or no"])
def test_other_losses_keep_their_promise_and_break_it_with_half_of_the_noise(name, epsilon):
    assert largest_ratio(LOSSES[name], epsilon, 1.0) <= epsilon
    assert 1.05 * epsilon < largest_ratio(LOSSES[name], epsilon, 0.5) < 1.2 * epsilon


def hidden_delta(loss, epsilon, delta, factor):
    """The δ that the law with Gaussian noise really has at ε."""
    scale, worst = factor * perturbing.noise_scale(loss, ALONE, epsilon, delta), 0.0
    for guess in GUESSES:
        with_him, without = (push_at(loss, y, AT, guess, epsilon) for y in (1.0, None))
        laws = [stats.norm.pdf(push, scale=scale) * bend for push, bend in (with_him, without)]
        for one, other in (laws, laws[::-1]):
            worst = max(worst, float(np.trapezoid(np.maximum(one - math.exp(epsilon) * other, 0.0), AT)))
    return worst


@pytest.mark.parametrize("name", LOSSES)
def test_gaussian_pushes_keep_their_promise_with_half_of_the_noise_and_break_it_with_a_third(name):
    """Their noise is that of Kifer et al.'s proof, more than twice what the exact law needs."""
    found = [hidden_delta(LOSSES[name], 1.0, 1e-6, factor) for factor in (1.0, 0.5, 1 / 3)]
    assert found[0] <= found[1] <= 1e-6 < found[2]


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1.0, 0.25])
def test_draws_are_not_refuted_and_are_with_a_quarter_of_the_noise(factor, monkeypatch):
    """Two files that differ in one record as much as they can."""
    scale = perturbing.noise_scale
    monkeypatch.setattr(perturbing, "noise_scale", lambda *args: factor * scale(*args))
    x, loss, reach = np.ones((4, 1)), Check(0.5, 0.5), Reach(1.0)
    files = {False: np.array([0.0, 0.0, 0.0, -50.0]), True: np.array([0.0, 0.0, 0.0, 50.0])}
    seen = dp.audit(
        lambda more: float(perturbed_fit(x, files[more], loss, reach, epsilon=1.0)[0]), 1.0, runs=4000,
        confidence=SURE if factor == 1 else 0.99,
    )  # fmt: skip
    assert seen.refuted is (factor < 1)


def test_the_law_of_draws_on_a_grid_breaks_the_promise_with_half_of_the_noise():
    """Chances are known exactly: no audit by draws can see more than their largest ratio."""
    x, loss, reach = np.ones((2, 1)), Check(0.5, 0.5), Reach(1.0)
    points = np.linspace(-1000, 1001, 2002)[:, None]

    def ratio(epsilon):
        laws = [
            grid_scores(x, y, loss, reach, points, epsilon)
            for y in (np.array([-1e3, 1e3]), np.array([1e3, 1e3]))
        ]
        one, other = (law - special.logsumexp(law) for law in laws)
        return np.abs(one - other).max()

    assert ratio(1.0) <= 1.0
    assert ratio(2.0) > 1.2  # half of the noise, sold as ε = 1


@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_draws_on_a_grid_are_refuted_with_half_of_the_noise(factor, monkeypatch):
    choose = gradient_norm.choose
    monkeypatch.setattr(
        gradient_norm, "choose", lambda scores, moved, eps: choose(scores, factor * moved, eps)
    )
    x, loss, box = np.ones((2, 1)), Check(0.5, 0.01), Box.of(-10, 1, 1)
    files = {False: np.array([-50.0, 0.5]), True: np.array([50.0, 0.5])}
    seen = dp.audit(
        lambda more: float(drawn_fit(x, files[more], loss, Reach(1.0), box, epsilon=1.0, points=12)[0]), 1.0,
        runs=3000, confidence=SURE if factor == 1 else 0.99,
    )  # fmt: skip
    assert seen.refuted is (factor < 1)


EPSILON, DELTA = 2.0, 0.2
"""No promise anybody would give; it is where the conversion from ρ leaves the audit most to see."""


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_gradients_of_an_adaptive_descent_are_refuted_with_half_of_the_noise(factor, neighbours, monkeypatch):
    """The whole ρ goes into one gradient, and that is listened to; choices of steps are `choose`'s, audited there."""
    told, draw = [], descents.gaussian

    def listened(values, scale):
        told.append(draw(values, factor * scale))
        return told[-1]

    monkeypatch.setattr(descents, "gaussian", listened)
    rows = {False: np.array([-50.0] if neighbours == "replace" else []), True: np.array([50.0])}

    def heard(more):
        adaptive_fit(
            np.ones((len(rows[more]), 1)), rows[more], Check(0.5, 0.5), Reach(1.0, neighbours=neighbours),
            rho=rho_of_epsilon(EPSILON, DELTA), clip_gradient=0.5, clip_objective=5.0, first=1.0,
        )  # fmt: skip
        return float(told.pop()[0])

    sure = SURE if factor == 1 else 0.99
    assert dp.audit(heard, EPSILON, delta=DELTA, runs=3000, confidence=sure).refuted is (factor < 1)


def test_choices_of_an_adaptive_descent_are_told_how_far_a_record_moves_them(monkeypatch):
    """No record, replaced or gone, moves a score by more than `choose` is told; and the ε is what the ρ buys."""
    asked = []
    monkeypatch.setattr(
        descents, "choose", lambda scores, moved, eps: asked.append((scores, moved, eps)) or 0
    )
    monkeypatch.setattr(
        descents, "gaussian", lambda values, scale: np.ones_like(values)
    )  # one direction for all
    rng, loss = np.random.default_rng(1), Check(0.9, 0.5)
    base = rng.normal(0, 3, 6)
    for last in (None, -80.0, -1.0, 0.0, 1.0, 80.0):
        y = base if last is None else np.append(base, last)
        adaptive_fit(
            np.ones((len(y), 1)), y, loss, Reach(1.0, neighbours="replace"), rho=0.5, clip_gradient=1.0,
            clip_objective=2.0, first=0.5,
        )  # fmt: skip
    directions = [scores for scores, _, _ in asked]
    moved = max(np.abs(a - b).max() for a in directions for b in directions)
    assert asked[0][1] == 2.0
    assert 1.0 < moved <= 2.0 + 1e-9
    assert {round(eps**2 / 8, 12) for _, _, eps in asked} == {0.25}


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_steps_of_a_stochastic_descent_are_refuted_with_half_of_the_noise(factor):
    multiplier = factor * stochastic_noise(1, 1, 1, EPSILON, DELTA)
    files = {False: np.array([-50.0]), True: np.array([50.0])}

    def told(more):
        return float(
            stochastic_fit(
                np.ones((1, 1)), files[more], Check(0.5, 0.5), Reach(1.0), epsilon=EPSILON, delta=DELTA, steps=1,
                batch=1, multiplier=multiplier,
            )[0]
        )  # fmt: skip

    sure, runs = (
        (SURE, 3000) if factor == 1 else (0.99, 10_000)
    )  # with 3,000 half of the noise is missed now and then
    assert dp.audit(told, EPSILON, delta=DELTA, runs=runs, confidence=sure).refuted is (factor < 1)


@pytest.mark.slow
@pytest.mark.parametrize("factor", [1.0, 0.5])
def test_the_promise_of_sums_of_products_is_refuted_with_half_of_the_noise(factor):
    """What linear fits and all intervals rest on; of one column, where one record uses all of the promise."""
    scale = factor * scale_for(1, 1, 1, 1.0, gaussian=False)

    def told(more):
        columns = np.ones((5 + more, 1))
        return float(noisy_moments(columns, np.ones(len(columns)), 1.0, scale, gaussian=False)[0, 0])

    seen = dp.audit(told, 1.0, runs=4000, confidence=SURE)
    assert seen.refuted is (factor < 1)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_lattice_of_the_noise_does_not_show(delta):
    """Noise of a computer lies on a lattice: who knows all records but one must not find it in the coefficients."""
    rng, fine = (
        np.random.default_rng(1),
        2**20,
    )  # the lattice that once was used, and is a part of every finer one
    x = np.column_stack([np.ones(200), rng.uniform(-1, 1, 200)])
    y = rng.uniform(-1, 1, 200)
    other = np.where(np.arange(200) == 0, -y, y)
    loss, reach = Check(0.5, h=0.1), Reach(2**0.5, 1.0)
    scale, ridge = perturbing.noise_scale(loss, reach, 1.0, delta), perturbing.ridge_needed(loss, reach, 1.0)
    step = perturbing.grid_step(loss, reach, 1.0, delta)

    def off(theta, outcome):
        noise = -(loss.slope(outcome, x @ theta) @ x + ridge * theta) / scale * fine
        places = noise if delta else np.linalg.norm(noise)
        return np.abs(places - np.round(places)).max()

    drawn = [perturbed_fit(x, y, loss, reach, epsilon=1.0, delta=delta) for _ in range(60)]
    assert (
        sum(off(theta, y) < off(theta, other) for theta in drawn) < 48
    )  # a coin is right in so many once in 10^6
    assert np.array_equal(np.array(drawn) / step, np.round(np.array(drawn) / step))
    assert (
        ridge * step / scale * perturbing._FINE > 2**20
    )  # points of the lattice that lead to one released value
