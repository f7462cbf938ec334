"""Isolation: what anybody could single out without the release, and what the release adds (spec psd01)."""

from dalenius.risk.isolation.attacks import (
    AdaptiveIsolation,
    Reconstructed,
    adaptive_isolation,
    class_isolation_attack,
    differencing_isolations,
    marginal_bootstrap,
    record_predicates,
)
from dalenius.risk.isolation.chance import (
    expected_isolations,
    expected_isolations_weights,
    finite_isolation_probability,
    guesses_needed,
    isolation_probability,
    max_isolation_probability,
    max_weight_for_uniqueness,
    misspecified_isolation_probability,
    population_unique_probability,
)
from dalenius.risk.isolation.empirical import EmpiricalGain, empirical_isolation_gain
from dalenius.risk.isolation.gain import (
    CellGain,
    Identification,
    cell_isolation_gain,
    identification,
    isolation_gain,
    noisy_cell_isolation_gain,
    release_isolation_gain,
)
from dalenius.risk.isolation.partition import (
    balanced_partition,
    hash_partition,
    partition_expectation,
    partition_lower_bound,
    partition_spread,
)
from dalenius.risk.isolation.predicate import Between, OneOf, Predicate, Where
from dalenius.risk.isolation.weights import (
    ExactWeights,
    FunctionWeights,
    MarginWeights,
    ReferenceWeights,
    WeightModel,
)

__all__ = [
    "AdaptiveIsolation",
    "Between",
    "CellGain",
    "EmpiricalGain",
    "ExactWeights",
    "FunctionWeights",
    "Identification",
    "MarginWeights",
    "OneOf",
    "Predicate",
    "Reconstructed",
    "ReferenceWeights",
    "WeightModel",
    "Where",
    "adaptive_isolation",
    "balanced_partition",
    "cell_isolation_gain",
    "class_isolation_attack",
    "differencing_isolations",
    "empirical_isolation_gain",
    "expected_isolations",
    "expected_isolations_weights",
    "finite_isolation_probability",
    "guesses_needed",
    "hash_partition",
    "identification",
    "isolation_gain",
    "isolation_probability",
    "marginal_bootstrap",
    "max_isolation_probability",
    "max_weight_for_uniqueness",
    "misspecified_isolation_probability",
    "noisy_cell_isolation_gain",
    "partition_expectation",
    "partition_lower_bound",
    "partition_spread",
    "population_unique_probability",
    "record_predicates",
    "release_isolation_gain",
]
