"""What a privacy budget promises."""

from __future__ import annotations

import math

import pytest

from dalenius.core.errors import OptionError
from dalenius.risk.epsilon import bottom_up_noise, privacy_loss

RATIOS = {
    0.01: 1.0100501671, 0.1: 1.1051709181, 4.2: 66.686331041, 10.4: 32859.625674, 10.6: 40134.837431,
    10.61: 40538.199253, 19.41: 268940305.42, 19.6: 325215956.12, 19.61: 328484430.82, 39.91: 2.1512593592e17,
}  # fmt: skip


def test_ratios_of_the_paper():
    found = privacy_loss(list(RATIOS))
    assert found["e^ε"].to_list() == pytest.approx(list(RATIOS.values()), rel=1e-9)
    assert found["e^ε"].is_sorted()
    assert found["belief from 0.5"][-1] == pytest.approx(1)
    assert privacy_loss([math.inf])["belief from 0.01"][0] == 1
    assert privacy_loss([1.0], rho=True)["ε"][0] == pytest.approx(1 + 2 * math.sqrt(math.log(1e10)))
    with pytest.raises(OptionError):
        privacy_loss([-1])


def test_noise_of_a_table_added_up_from_the_bottom():
    assert bottom_up_noise(6_207_027, 2 * 103 * 63 * 2, 1.0)[0] == 161_109_592_812
