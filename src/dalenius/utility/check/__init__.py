"""Know your data, know your generator: what will go wrong before synthesis, and what went wrong after it."""

from dalenius.utility.check.after import check_protected
from dalenius.utility.check.audit import Audit, audit
from dalenius.utility.check.finding import Finding
from dalenius.utility.check.recipe import Recipe

__all__ = ["Audit", "Finding", "Recipe", "audit", "check_protected"]
