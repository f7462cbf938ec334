"""Know your data, know your generator: what will go wrong before synthesis, and what went wrong after it."""

from dalenius.data.recipe import Recipe
from dalenius.preparation.after import check_protected
from dalenius.preparation.checking import Findings, check
from dalenius.preparation.finding import Finding

__all__ = ["Finding", "Findings", "Recipe", "check", "check_protected"]
