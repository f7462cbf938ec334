"""What published figures give away: rebuilt people, links to outside files, rankings and their audit."""

from dalenius.core.plugins import import_all
from dalenius.risk.reconstruction.areas import AreaTables
from dalenius.risk.reconstruction.attacked import Attack, attack
from dalenius.risk.reconstruction.census import census_workload
from dalenius.risk.reconstruction.checks import agreement, verify
from dalenius.risk.reconstruction.differencing import Differences, averaged_noise, differencing
from dalenius.risk.reconstruction.guesses import Guesses, guess
from dalenius.risk.reconstruction.holding import holds_for
from dalenius.risk.reconstruction.links import (
    Putative,
    confirm,
    expected_rates,
    guessers,
    non_modal,
    putative,
    reidentification,
    unique_share,
)
from dalenius.risk.reconstruction.projection import rebuild
from dalenius.risk.reconstruction.ranking import (
    Ranking,
    attribute_test,
    audit_ranking,
    prototype_profile,
    shares_of_counts,
)
from dalenius.risk.reconstruction.rebuilt import Rebuilt, reconstruct_arithmetic, reconstruct_exact
from dalenius.risk.reconstruction.workload import Workload

__all__ = [
    "AreaTables",
    "Attack",
    "Differences",
    "Guesses",
    "Putative",
    "Ranking",
    "Rebuilt",
    "Workload",
    "agreement",
    "attack",
    "attribute_test",
    "audit_ranking",
    "averaged_noise",
    "census_workload",
    "confirm",
    "differencing",
    "expected_rates",
    "guess",
    "guessers",
    "holds_for",
    "non_modal",
    "prototype_profile",
    "putative",
    "rebuild",
    "reconstruct_arithmetic",
    "reconstruct_exact",
    "reidentification",
    "shares_of_counts",
    "unique_share",
    "verify",
]

import_all(__name__, __path__)
