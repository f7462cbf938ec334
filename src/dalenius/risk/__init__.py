"""Disclosure risk: what an intruder could learn from the protected file."""

from dalenius.core.attack_terms import best_attack
from dalenius.core.plugins import import_all
from dalenius.counts.all_tables import all_tables
from dalenius.risk.apparent import apparent_matches
from dalenius.risk.attack.grid import attack_grid, attack_grid_chart
from dalenius.risk.attack.linkability import linkability
from dalenius.risk.attack.numbers import attack_number
from dalenius.risk.attack.outcome import Outcome
from dalenius.risk.attack.repeats import attribute_inference
from dalenius.risk.attack.secret import inference
from dalenius.risk.attack.singling_out import singling_out
from dalenius.risk.attack.trained import ATTACKERS, Attack, attacker
from dalenius.risk.attribution import (
    dcap,
    disco,
    multi_target,
    multi_target_chart,
    multi_target_of_several,
)
from dalenius.risk.cap.gcap import CapScores, cap_scores, gcap
from dalenius.risk.distance.adversarial import adversarial
from dalenius.risk.distance.closest import dcr, identical_matches, nndr
from dalenius.risk.distance.identifiability import epsilon_identifiability
from dalenius.risk.distance.near_copies import near_copies
from dalenius.risk.distance.new_rows import new_row_curve, new_rows
from dalenius.risk.distance.outlier_rules import find_outliers, outlier_limits
from dalenius.risk.distance.outliers import (
    check_links,
    compare_outliers,
    drop_links,
    link_outliers,
    outlier_linkage,
)
from dalenius.risk.distance.part_copies import part_copies
from dalenius.risk.distance.shared import shared_neighbour_identifiability, shared_neighbour_profile
from dalenius.risk.distance.space import Space
from dalenius.risk.epsilon import (
    attack_in_words,
    attack_table,
    best_attack_gaussian,
    best_attack_zcdp,
    epsilon_from_attack,
    epsilon_in_words,
    mu_from_attack,
    rho_from_attack,
)
from dalenius.risk.further import isolation_gain_of
from dalenius.risk.identity import replicated_rows, replicated_uniques, unique_exact_matches, uniques
from dalenius.risk.membership.attacks import membership_density, membership_distance
from dalenius.risk.membership.shadow import ShadowAudit, shadow_audit
from dalenius.risk.page import RiskPage, exposed_combinations, risk_page
from dalenius.risk.sample.anonymity import k_anonymity, l_diversity, t_closeness
from dalenius.risk.sample.fitting import rows_that_fit
from dalenius.risk.sample.frequencies import frequencies
from dalenius.risk.sample.individual import individual_risk, sample_risk
from dalenius.risk.sample.page import sample_page
from dalenius.risk.sample.population import population_uniques
from dalenius.risk.sample.suda import msu_overlap, suda
from dalenius.risk.split import train_control_risk
from dalenius.risk.tables import group_disclosure, table_risk, tcap_ratio, weap
from dalenius.risk.tabular.disclosure import Disclosure, disclosure, specific_risk
from dalenius.risk.tabular.exclusions import Exclusions
from dalenius.risk.tabular.expected import unexpected_disco
from dalenius.risk.tabular.scan import key_scan
from dalenius.risk.tabular.several import disclosure_of_several
from dalenius.risk.tabular.tolerance import tolerance_disco

__all__ = [
    "ATTACKERS",
    "Attack",
    "CapScores",
    "Disclosure",
    "Exclusions",
    "Outcome",
    "RiskPage",
    "ShadowAudit",
    "Space",
    "adversarial",
    "all_tables",
    "apparent_matches",
    "attack_grid",
    "attack_grid_chart",
    "attack_in_words",
    "attack_number",
    "attack_table",
    "attacker",
    "attribute_inference",
    "best_attack",
    "best_attack_gaussian",
    "best_attack_zcdp",
    "cap_scores",
    "check_links",
    "compare_outliers",
    "dcap",
    "dcr",
    "disclosure",
    "disclosure_of_several",
    "disco",
    "drop_links",
    "epsilon_from_attack",
    "epsilon_identifiability",
    "epsilon_in_words",
    "exposed_combinations",
    "find_outliers",
    "frequencies",
    "gcap",
    "group_disclosure",
    "identical_matches",
    "individual_risk",
    "inference",
    "isolation_gain_of",
    "k_anonymity",
    "key_scan",
    "l_diversity",
    "link_outliers",
    "linkability",
    "membership_density",
    "membership_distance",
    "msu_overlap",
    "mu_from_attack",
    "multi_target",
    "multi_target_chart",
    "multi_target_of_several",
    "near_copies",
    "new_row_curve",
    "new_rows",
    "nndr",
    "outlier_limits",
    "outlier_linkage",
    "part_copies",
    "population_uniques",
    "replicated_rows",
    "replicated_uniques",
    "rho_from_attack",
    "risk_page",
    "rows_that_fit",
    "sample_page",
    "sample_risk",
    "shadow_audit",
    "shared_neighbour_identifiability",
    "shared_neighbour_profile",
    "singling_out",
    "specific_risk",
    "suda",
    "t_closeness",
    "table_risk",
    "tcap_ratio",
    "tolerance_disco",
    "train_control_risk",
    "unexpected_disco",
    "unique_exact_matches",
    "uniques",
    "weap",
]

import_all(__name__, __path__)
