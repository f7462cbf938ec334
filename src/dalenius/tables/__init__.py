"""Table protection: sensitivity rules, hierarchies, secondary suppression, audit, rounding and perturbation."""

from dalenius.tables.audit import Audit, Disclosed, Requirement, audit, exposed_by_publishing
from dalenius.tables.define import define
from dalenius.tables.errors import TableError
from dalenius.tables.foreign import read_suppressed
from dalenius.tables.hierarchy import Hierarchy
from dalenius.tables.hierarchy_files import read_hierarchy
from dalenius.tables.linked import LinkedSuppression, protect_linked
from dalenius.tables.model import TableModel
from dalenius.tables.options import SingletonRules
from dalenius.tables.protect import protect
from dalenius.tables.rules import (
    Dominance,
    Except,
    FewContributors,
    KDisclosure,
    Manual,
    PPercent,
    SmallCount,
    parse_rule,
)
from dalenius.tables.suppression import Suppression

__all__ = [
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
    "Requirement",
    "SingletonRules",
    "SmallCount",
    "Suppression",
    "TableError",
    "TableModel",
    "audit",
    "define",
    "exposed_by_publishing",
    "parse_rule",
    "protect",
    "protect_linked",
    "read_hierarchy",
    "read_suppressed",
]
