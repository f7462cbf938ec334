"""Every figure about a model points the same way: a memorising tree is worst, a constant best, larger leaves safer."""

from __future__ import annotations

from itertools import pairwise

import pytest
from sklearn.dummy import DummyClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from dalenius.evaluation.policy import described
from dalenius.models import MODEL_MEASURES, check_model
from tests.models.conftest import case

MODELS = {
    "memorising": DecisionTreeClassifier(random_state=1),
    "leaves of 15": DecisionTreeClassifier(min_samples_leaf=15, random_state=1),
    "leaves of 60": DecisionTreeClassifier(min_samples_leaf=60, random_state=1),
    "constant": DummyClassifier(),
    "neighbours": KNeighborsClassifier(1),
}
ALLOWED = 0.04
"""How much chance may move an AUC of a thousand people on each side: about three standard errors."""


@pytest.fixture(scope="module")
def found():
    return {name: check_model(case(model, 1000), runs=8).results for name, model in MODELS.items()}


def worse(name: str, results) -> float:
    info = MODEL_MEASURES[name]
    scale = info.bounds[1] if info.bounds[1] in (1.0, 100.0) else 1000.0
    return info.shortfall(results[name].value) / scale


ELSEWHERE = ("model-explanations", "model-links", "model-local-epsilon", "model-smallest-leaf")
MEASURED = [name for name in MODEL_MEASURES if name not in ELSEWHERE]


@pytest.mark.slow
@pytest.mark.parametrize("name", MEASURED)
def test_larger_leaves_are_safer_and_a_constant_is_safest(found, name):
    order = [worse(name, found[m]) for m in ("memorising", "leaves of 15", "leaves of 60", "constant")]
    for before, after in pairwise(order):
        assert before >= after - ALLOWED, order
    if name not in ("model-stored-records", "model-saturated-cells", "model-rare-values"):
        assert order[0] > order[-1] + ALLOWED, order


@pytest.mark.slow
def test_neighbours_carry_everybody(found):
    assert worse("model-stored-records", found["neighbours"]) == 1.0
    assert worse("model-membership", found["neighbours"]) > 0.7


@pytest.mark.parametrize("name", list(MODEL_MEASURES))
def test_policies_know_the_figure(name):
    info = described(name)
    assert info.subject == "model"
    assert info.family == "risk"
    assert info.dimension is not None


def test_every_figure_reads_itself(found):
    for results in found.values():
        for name, result in results.items():
            assert result.sentence.endswith("."), name
            assert result.yardsticks, name
            low, high = MODEL_MEASURES[name].bounds
            assert low <= result.value <= high, name
