"""Table protection: sensitivity rules, hierarchies, secondary suppression, audit, rounding and perturbation."""

from dalenius.core.errors import TableError
from dalenius.core.plugins import import_all
from dalenius.published.enough import Requirement
from dalenius.published.intervals import feasibility_intervals
from dalenius.tables.adjust import adjust
from dalenius.tables.altered import Altered
from dalenius.tables.audit import Audit, audit
from dalenius.tables.budgeted import noisy_table
from dalenius.tables.cellkey import PTable, inner_cell_keys, perturb, record_keys, small_count_noise
from dalenius.tables.define import define
from dalenius.tables.disclosed import Disclosed
from dalenius.tables.explain import faults
from dalenius.tables.fill import fill_in
from dalenius.tables.foreign import read_suppressed
from dalenius.tables.formats import (
    Apriori,
    TableFile,
    read_apriori,
    read_argus,
    read_jj,
    read_table_file,
    write_argus,
    write_jj,
    write_table_file,
)
from dalenius.tables.gauss import gauss_suppress
from dalenius.tables.hierarchy import Hierarchy
from dalenius.tables.hierarchy_files import read_hierarchy
from dalenius.tables.intruders import exposure
from dalenius.tables.linked import LinkedSuppression, protect_linked
from dalenius.tables.loss import information_loss
from dalenius.tables.model import TableModel
from dalenius.tables.needed import exposed_by_publishing
from dalenius.tables.optimal import protect_optimal
from dalenius.tables.options import SingletonRules
from dalenius.tables.protect import protect
from dalenius.tables.protection import PrimaryRule, Protection
from dalenius.tables.relations import relations
from dalenius.tables.rounding import (
    aggregate_runs,
    check_min_cases,
    controlled_round,
    recoverable_cells,
    round_table,
    stochastic_round,
)
from dalenius.tables.rule_text import parse_rule, rule
from dalenius.tables.rules import (
    Dominance,
    Except,
    FewContributors,
    KDisclosure,
    Manual,
    PPercent,
    Request,
    SmallCount,
    default_rules,
)
from dalenius.tables.statistics import ProtectedStatistic, protect_statistic
from dalenius.tables.sumkeys import perturb_sums
from dalenius.tables.suppression import Suppression
from dalenius.tables.ways import Ways, compare_ways
from dalenius.tables.years import TwoYears, protect_years

__all__ = [
    "Altered",
    "Apriori",
    "Audit",
    "Disclosed",
    "Dominance",
    "Except",
    "FewContributors",
    "Hierarchy",
    "KDisclosure",
    "LinkedSuppression",
    "Manual",
    "PPercent",
    "PTable",
    "PrimaryRule",
    "ProtectedStatistic",
    "Protection",
    "Request",
    "Requirement",
    "SingletonRules",
    "SmallCount",
    "Suppression",
    "TableError",
    "TableFile",
    "TableModel",
    "TwoYears",
    "Ways",
    "adjust",
    "aggregate_runs",
    "audit",
    "check_min_cases",
    "compare_ways",
    "controlled_round",
    "default_rules",
    "define",
    "exposed_by_publishing",
    "exposure",
    "faults",
    "feasibility_intervals",
    "fill_in",
    "gauss_suppress",
    "information_loss",
    "inner_cell_keys",
    "noisy_table",
    "parse_rule",
    "perturb",
    "perturb_sums",
    "protect",
    "protect_linked",
    "protect_optimal",
    "protect_statistic",
    "protect_years",
    "read_apriori",
    "read_argus",
    "read_hierarchy",
    "read_jj",
    "read_suppressed",
    "read_table_file",
    "record_keys",
    "recoverable_cells",
    "relations",
    "round_table",
    "rule",
    "small_count_noise",
    "stochastic_round",
    "write_argus",
    "write_jj",
    "write_table_file",
]

import_all(__name__, __path__)
