"""Means, ratios, shares, indices and medians: shown only where their parts may be, and an intruder gets no further."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.core.errors import DaleniusError, OptionError
from dalenius.tables import PPercent, protect_statistic
from tests.tables.exact import computable


def firms(seed=1, size=90):
    rng = np.random.default_rng(seed)
    return {"region": rng.choice(list("NSEW"), size, p=[0.5, 0.3, 0.15, 0.05]), "branch": rng.choice(list("abc"), size),
            "firm": [f"F{i}" for i in rng.integers(0, 40, size)], "turnover": np.round(rng.lognormal(4, 1, size), 1),
            "staff": rng.integers(1, 60, size).astype(float)}  # fmt: skip


BY = ["region", "branch"]


@pytest.mark.parametrize("kind", ["mean", "ratio", "share", "index"])
def test_parts_cannot_be_computed_from_the_statistic(kind):
    data = firms()
    given = {"ratio": {"denominator": "staff"}, "index": {"base": firms(2)}}.get(kind, {})
    found = protect_statistic(data, BY, kind, value="turnover", contributor="firm", **given)
    assert found.is_safe
    assert 0 < found.suppressed.sum() < len(found.values)
    frame = found.to_frame()
    assert frame[kind].is_null().to_numpy()[found.suppressed].all()
    for part in found.parts.values():
        # Statistic × other parts gives this part wherever the statistic is shown: that must reveal nothing.
        assert (part.suppressed <= found.suppressed).all()
        at_stake = [j for j in np.flatnonzero(part.primary) if part.model.sizes[j]]
        assert not computable(part.model.matrix, ~found.suppressed, at_stake)


def test_values_by_hand():
    data = {"a": list("xxxxyyyy"), "v": [1.0, 2, 3, 6, 4, 4, 4, 8], "w": [2.0, 2, 2, 2, 1, 1, 1, 1]}
    assert protect_statistic(data, "a", "mean", PPercent(1), value="v").values.tolist() == [4.0, 3.0, 5.0]
    assert protect_statistic(data, "a", "ratio", PPercent(1), value="v", denominator="w").values.tolist() == [
        32 / 12, 1.5, 5.0,
    ]  # fmt: skip
    assert protect_statistic(data, "a", "share", PPercent(1), value="v").values.tolist() == [
        100.0,
        37.5,
        62.5,
    ]
    assert protect_statistic(data, "a", "median", value="v", least=2).values.tolist() == [4.0, 2.5, 4.0]
    base = {**data, "v": [2.0 * v for v in data["v"]]}
    assert (
        protect_statistic(data, "a", "index", PPercent(1), value="v", base=base).values.tolist() == [50.0] * 3
    )


def test_a_median_of_few_is_not_shown():
    data = {"a": list("xxxyyyyyyzzzzzz"), "v": list(map(float, range(15)))}
    found = protect_statistic(data, "a", "median", value="v", least=5)
    assert found.suppressed[1]
    assert found.suppressed.sum() >= 2  # the total minus the others would leave a few people


def test_bad_input_is_refused():
    for wrong in (
        {"statistic": "mode"},
        {"statistic": "ratio"},
        {"statistic": "index"},
        {"statistic": "mean", "denominator": "staff"},
    ):
        with pytest.raises(OptionError):
            protect_statistic(firms(), BY, value="turnover", **wrong)
    with pytest.raises(DaleniusError):
        protect_statistic(firms(), BY, "mean", value="nothing")
