"""What is out in the world, and everything that fits it: cells, bounds, and who can compute what from them."""

from dalenius.core.plugins import import_all
from dalenius.published.entry import Entry
from dalenius.published.figures import Published, Statistic
from dalenius.published.fitting import Fit, fit
from dalenius.published.ledger import Ledger
from dalenius.published.margin import Margin
from dalenius.published.recipes import Recipe
from dalenius.published.walking import Walker

__all__ = ["Entry", "Fit", "Ledger", "Margin", "Published", "Recipe", "Statistic", "Walker", "fit"]

import_all(__name__, __path__)
