"""Explanations: how they are made, how they are turned back into records, and what protects them."""

from dalenius.models.explanations.attacks import (
    ColumnAttack,
    LinearAttack,
    NearestQueries,
    RandomGuess,
    TreeAttack,
)
from dalenius.models.explanations.audit import (
    Audited,
    audit_defences,
    audit_explanations,
    defence_chart,
    defence_table,
)
from dalenius.models.explanations.defences import Agreement, Clip, Noise, Quantize, TopK, agreement
from dalenius.models.explanations.explain import Explanations, explain
from dalenius.models.explanations.grid import risk_grid
from dalenius.models.explanations.leak import LeakVerdict, additivity_index, linear_leak_check
from dalenius.models.explanations.network import NNAttack
from dalenius.models.explanations.rebuilding import Rebuilt, RecordReconstruction
from dalenius.models.explanations.shapley import coalition, exact_shapley, linear_shapley, permutation_shapley

__all__ = [
    "Agreement",
    "Audited",
    "Clip",
    "ColumnAttack",
    "Explanations",
    "LeakVerdict",
    "LinearAttack",
    "NNAttack",
    "NearestQueries",
    "Noise",
    "Quantize",
    "RandomGuess",
    "Rebuilt",
    "RecordReconstruction",
    "TopK",
    "TreeAttack",
    "additivity_index",
    "agreement",
    "audit_defences",
    "audit_explanations",
    "coalition",
    "defence_chart",
    "defence_table",
    "exact_shapley",
    "explain",
    "linear_leak_check",
    "linear_shapley",
    "permutation_shapley",
    "risk_grid",
]
