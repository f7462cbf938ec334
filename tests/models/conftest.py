"""People, models fitted on them, and strangers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from dalenius.models import ModelCase

NAMES = [f"x{i}" for i in range(6)]


def people(rows: int, seed: int, labels: float = 0.3) -> dict[str, Any]:
    """Records whose outcome depends on two columns, with so much noise that a tree which learns it has memorised it."""
    rng = np.random.default_rng(seed)
    made: dict[str, Any] = {name: rng.normal(size=rows) for name in NAMES}
    chance = 1 / (1 + np.exp(-(made["x0"] - made["x1"])))
    y = rng.random(rows) < chance
    made["y"] = np.where(y ^ (rng.random(rows) < labels), "yes", "no")
    return made


def fit(model: Any, data: dict[str, Any]) -> Any:
    return model.fit(np.column_stack([data[name] for name in NAMES]), data["y"])


def case(model: Any, rows: int = 500, seed: int = 1, **more: Any) -> ModelCase:
    """A case whose strangers are of the same population."""
    train = people(rows, seed)
    return ModelCase.of(fit(model, train), train, people(rows, seed + 100), target="y", **more)


@pytest.fixture(scope="session")
def make_case():
    return case
