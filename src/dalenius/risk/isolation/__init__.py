"""Isolation: what anybody could single out without the release, and what the release adds (D'Acquisto et al. 2024).

The first names anybody needs; attacks, partitions, further weight models and formulas of chance are in the modules.
"""

from dalenius.risk.isolation.attacks import record_predicates
from dalenius.risk.isolation.chance import (
    guesses_needed,
    isolation_probability,
    max_isolation_probability,
    population_unique_probability,
)
from dalenius.risk.isolation.empirical import empirical_isolation_gain
from dalenius.risk.isolation.gain import cell_isolation_gain, identification
from dalenius.risk.isolation.predicate import Between, OneOf, Predicate
from dalenius.risk.isolation.weights import ReferenceWeights

__all__ = [
    "Between",
    "OneOf",
    "Predicate",
    "ReferenceWeights",
    "cell_isolation_gain",
    "empirical_isolation_gain",
    "guesses_needed",
    "identification",
    "isolation_probability",
    "max_isolation_probability",
    "population_unique_probability",
    "record_predicates",
]
