"""Know your data, know your generator: what will go wrong before synthesis, and what went wrong after it."""

from dalenius.data.recipe import Recipe
from dalenius.preparation.after import check_protected
from dalenius.preparation.checking import check
from dalenius.preparation.finding import Finding, Findings

__all__ = ["Finding", "Findings", "Recipe", "check", "check_protected"]
