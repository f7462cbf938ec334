"""Lines of a policy: both ways round, and never met by a figure that is not trusted."""

from __future__ import annotations

import pytest

from dalenius import Result
from dalenius.evaluation.policy import Rule


def result(value: float, trusted: bool = True) -> Result:
    return Result("x", value, "", unit="%", yardsticks={"holdout": 10.0}, trusted=trusted)


@pytest.mark.parametrize(
    ("line", "met", "missed"),
    [
        ("repU <= 5 %", 5.0, 5.1),
        ("repU < 5 %", 4.9, 5.0),
        ("DiSCO <= holdout + 2 points", 12.0, 12.1),
        ("k-marginal >= 800", 800.0, 799.0),
        ("k-marginal > 800", 801.0, 800.0),
    ],
)
def test_both_ways(line, met, missed):
    rule = Rule.parse(line)
    assert rule.met_by(result(met))
    assert not rule.met_by(result(missed))
    assert not rule.met_by(result(met, trusted=False))
