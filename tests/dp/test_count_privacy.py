"""The value tables of the paper on Poisson synthesis, its errata, and the exact values beside them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dalenius.core.errors import OptionError
from dalenius.dp.count_laws import NegativeBinomial, Poisson, PoissonInverseGaussian, draw_table
from dalenius.dp.count_privacy import (
    calibrate_alpha,
    delta,
    delta_by_count,
    delta_without_zeros,
    reading,
)
from tests.dp.comparators import (
    CountModel,
    DirichletMultinomial,
    GaussianTable,
    LaplaceTable,
    percent_difference,
)

EPSILONS = (1.5, 2.0, 2.5, 3.0)
PDP = {
    0.1: (0.300971, 0.300971, 0.300971, 0.300971),
    0.2: (0.337373, 0.337373, 0.337373, 0.120513),
    0.5: (0.191153, 0.191153, 0.065642, 0.065642),
    1.0: (0.142877, 0.052653, 0.016564, 0.016564),
}
DP = {
    0.1: (0.280002, 0.266399, 0.243971, 0.206994),
    0.2: (0.258840, 0.207894, 0.123898, 0.097445),
    0.5: (0.126672, 0.084842, 0.044303, 0.030460),
    1.0: (0.057778, 0.025610, 0.009325, 0.004629),
}


@pytest.mark.parametrize("alpha", PDP)
def test_probabilistic_values(alpha):
    assert [round(delta(e, alpha, kind="pdp"), 6) for e in EPSILONS] == list(PDP[alpha])


@pytest.mark.parametrize("alpha", DP)
def test_exact_values(alpha):
    assert [round(delta(e, alpha), 6) for e in EPSILONS] == list(DP[alpha])


@pytest.mark.parametrize(
    ("epsilon", "alpha", "value"),
    [
        (6.0, 0.1, 0.0996), (6.2, 0.1, 0.0257), (1.5, 2.0, 0.0335), (2.0, 2.0, 0.0119), (3.0, 2.0, 0.0011),
        (1.5, 0.05, 0.6501), (0.25, 5.0, 0.6788), (0.5, 5.0, 0.2513), (0.75, 5.0, 0.1013), (0.9, 5.0, 0.0451),
        (0.3, 0.1, 1.0), (0.9, 0.1, 1.0),
    ],
)  # fmt: skip
def test_more_probabilistic_values(epsilon, alpha, value):
    assert round(delta(epsilon, alpha, kind="pdp"), 4) == value


def test_more_exact_values():
    assert round(delta(0.5, 1.0), 5) == 0.19093
    assert round(delta(0.9, 5.0), 5) == 0.00894


@pytest.mark.parametrize("epsilon", [1.0, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("alpha", [0.05, 0.3, 1.0, 4.0])
def test_one_is_the_worst_count_from_epsilon_one_on(epsilon, alpha):
    for kind in ("pdp", "dp"):
        assert delta_by_count(epsilon, alpha, kind=kind).argmax() == 0


def test_one_is_not_the_worst_count_below():
    found = delta_by_count(0.5, 1.0, kind="pdp")
    assert [round(float(v), 4) for v in found[:2]] == [0.4587, 0.5519]
    assert [round(float(v), 4) for v in delta_by_count(0.5, 5.0, kind="pdp")[:2]] == [0.2147, 0.2513]


@pytest.mark.parametrize(
    ("epsilon", "jumps"), [(1.5, (0.08943, 0.40155, 0.76865, 1.15175)), (3.0, (0.01866, 0.15652, 0.35795))]
)
def test_delta_jumps_down_where_it_should(epsilon, jumps):
    for at in jumps:
        assert delta(epsilon, at + 1e-4, kind="pdp") < delta(epsilon, at - 1e-4, kind="pdp") - 0.01
        assert delta(epsilon, at + 0.02, kind="pdp") > delta(epsilon, at + 1e-4, kind="pdp"), (
            "it rises between jumps"
        )


@pytest.mark.parametrize(
    ("epsilon", "wanted", "first", "stable"),
    [
        (2.0, 0.05, 0.896, 1.217), (3.0, 0.05, 0.358, 0.582), (3.0, 0.01, 1.056, 1.056), (2.0, 0.01, 1.869, 2.528),
        (1.5, 0.05, 1.542, 2.330),
    ],
)  # fmt: skip
def test_calibration(epsilon, wanted, first, stable):
    assert calibrate_alpha(epsilon, wanted, kind="pdp", rule="first") == first
    assert calibrate_alpha(epsilon, wanted, kind="pdp", rule="stable") == stable
    exact = calibrate_alpha(epsilon, wanted)
    assert delta(epsilon, exact) <= wanted < delta(epsilon, exact - 0.002)
    assert exact <= stable, "the exact statement needs a smaller pseudo-count"


@pytest.mark.parametrize(
    ("smallest", "values"),
    [(1, (0.1429, 0.0527, 0.0166)), (2, (0.0335, 0.0119, 0.0011)), (5, (0.0036, 0.0002, 0.0))],
)
def test_without_empty_cells(smallest, values):
    found = [delta_without_zeros(smallest, e)["one person more"] for e in (1.5, 2.0, 3.0)]
    assert [round(v, 4) for v in found] == list(values)


def test_likelihood_ratio_of_the_illustration():
    law = Poisson()
    ratio = law.pmf(np.array(5), np.array(2.0)) / law.pmf(np.array(5), np.array(1.0))
    assert float(ratio) == pytest.approx(11.772, abs=5e-4)


def test_exact_is_never_above_probabilistic():
    for alpha in (0.1, 0.7, 2.0):
        exact, probable = ([delta(e, alpha, kind=k) for e in (0.5, 1.0, 2.0, 4.0)] for k in ("dp", "pdp"))
        assert all(a <= b + 1e-12 for a, b in zip(exact, probable, strict=True))
        assert exact == sorted(exact, reverse=True)
        assert min(exact) > 0, "no finite epsilon gives delta 0"


@pytest.mark.parametrize(
    ("sigma", "epsilon", "pdp", "dp"),
    [
        (1.0, 0.5, 0.658655, 0.238422), (1.0, 1.0, 0.375345, 0.126937), (2.0, 0.5, 0.332277, 0.052440),
        (2.0, 1.0, 0.052284, 0.006830),
    ],
)  # fmt: skip
def test_gaussian(sigma, epsilon, pdp, dp):
    assert round(GaussianTable(sigma).delta(epsilon, "pdp"), 6) == pdp
    assert round(GaussianTable(sigma).delta(epsilon), 6) == dp


def test_laplace_is_exact_by_summation():
    mine, epsilon = LaplaceTable(1.0), 0.4
    p = math.exp(-1.0)
    counts = np.arange(-200, 201)
    first = (1 - p) / (1 + p) * p ** np.abs(counts - 1)
    second = (1 - p) / (1 + p) * p ** np.abs(counts)
    assert mine.delta(epsilon) == pytest.approx(np.maximum(first - math.exp(epsilon) * second, 0).sum())
    assert mine.delta(1.0) == 0
    assert first[counts == 1] / second[counts == 1] == pytest.approx(math.e), (
        "erratum 3: also b = a tells e^ε"
    )


def test_dirichlet_needs_the_smallest_prior():
    fair = DirichletMultinomial.for_epsilon(1.0, 100)
    assert fair.alpha == pytest.approx(100 / (math.e - 1))
    assert fair.epsilon == pytest.approx(1.0)
    assert fair.delta(1.0) == 0
    # Worst case for replaced records: all m records in the one cell that differs.
    worst = sum(math.log((fair.alpha + i + 1) / (fair.alpha + i)) for i in range(100))
    assert worst == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(
    ("count", "alpha", "mean", "deviation"),
    [(1, 0.1, 10, 104.88), (1, 1, 100, 141.42), (5, 0.5, 10, 46.90), (10, 1, 10, 33.17)],
)
def test_percentage_differences(count, alpha, mean, deviation):
    found = percent_difference(count, alpha)
    assert found["mean"] == pytest.approx(mean)
    assert round(found["deviation"], 2) == deviation
    drawn = draw_table(np.full(20_000, count), Poisson(), alpha, np.random.default_rng(0))
    assert np.mean(100 * (drawn - count) / count) == pytest.approx(
        mean, abs=4 * deviation / math.sqrt(20_000)
    )
    assert np.mean(drawn == 0) == pytest.approx(found["vanishes"], abs=0.01)


@pytest.mark.parametrize("law", [NegativeBinomial(0.5), PoissonInverseGaussian(0.5)])
def test_other_laws(law):
    counts = np.arange(2000)
    chances = law.pmf(counts, np.array(4.0))
    assert chances.sum() == pytest.approx(1)
    assert (chances * counts).sum() == pytest.approx(4)
    assert (chances * counts**2).sum() - 16 == pytest.approx(law.variance(4.0))
    drawn = law.draw(np.full(50_000, 4.0), np.random.default_rng(1))
    assert drawn.mean() == pytest.approx(4, abs=0.1)
    assert np.mean(drawn == 2) == pytest.approx(chances[2], abs=0.01)
    assert delta(2.0, 1.0, law=law) < delta(2.0, 1.0), "more spread at the same mean hides more"
    assert delta(2.0, 1.0, law=type(law)(1e-4)) == pytest.approx(delta(2.0, 1.0), rel=0.01), (
        "no spread is Poisson"
    )


def test_the_law_can_be_calibrated_too():
    law = NegativeBinomial(0.5)
    alpha = calibrate_alpha(2.0, 0.02, law=law)
    assert delta(2.0, alpha, law=law) <= 0.02


def test_delta_is_what_simulation_finds():
    rng, epsilon, alpha = np.random.default_rng(3), 1.5, 0.5
    model = CountModel(alpha)
    drawn = model.draw(np.full(200_000, 1), rng)
    law = Poisson()
    telling = law.log_pmf(drawn, np.array(1 + alpha)) - law.log_pmf(drawn, np.array(alpha)) > epsilon
    assert telling.mean() == pytest.approx(model.delta(epsilon, "pdp"), abs=0.005)


def test_several_copies_are_one_larger_draw():
    assert delta(2.0, 1.0, copies=2) > delta(2.0, 1.0)
    assert delta(4.0, 1.0, copies=2, kind="pdp") <= 1 - (1 - delta(2.0, 1.0, kind="pdp")) ** 2 + 1e-12


def test_a_delta_that_is_no_guarantee_is_called_so():
    assert "no guarantee" in reading(2.0, 0.01)
    assert "no guarantee" not in reading(2.0, 1e-6)


@pytest.mark.parametrize(
    "call",
    [
        lambda: delta(0.0, 1.0),
        lambda: delta(1.0, 0.0),
        lambda: delta(1.0, -1.0),
        lambda: delta(1.0, 1.0, kind="other"),
        lambda: calibrate_alpha(1.0, 1.5),
        lambda: calibrate_alpha(0.5, 1e-12, largest_alpha=1.0),
        lambda: delta_without_zeros(0, 1.0),
        lambda: draw_table(np.array([-1]), Poisson(), 1.0, np.random.default_rng(0)),
        lambda: draw_table(np.array([1.5]), Poisson(), 1.0, np.random.default_rng(0)),
        lambda: draw_table(np.array([1]), Poisson(), -1.0, np.random.default_rng(0)),
        lambda: NegativeBinomial(0.0),
        lambda: DirichletMultinomial(0.0, 5),
        lambda: DirichletMultinomial.for_epsilon(0.0, 5),
        lambda: percent_difference(0, 1.0),
    ],
)
def test_bad_input(call):
    with pytest.raises(OptionError):
        call()
