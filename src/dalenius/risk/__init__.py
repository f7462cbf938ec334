"""Disclosure risk: what an intruder could learn from the protected file."""

from dalenius.risk.attribution import dcap, disco, multi_target, tolerance_disco
from dalenius.risk.identity import replicated_rows, replicated_uniques, unique_exact_matches, uniques
from dalenius.risk.tabular.disclosure import Disclosure, disclosure, specific_risk
from dalenius.risk.tabular.exclusions import Exclusions

__all__ = [
    "Disclosure",
    "Exclusions",
    "dcap",
    "disclosure",
    "disco",
    "multi_target",
    "replicated_rows",
    "replicated_uniques",
    "specific_risk",
    "tolerance_disco",
    "unique_exact_matches",
    "uniques",
]
