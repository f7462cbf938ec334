"""Sequential synthesis: one column after another, each drawn from a model of it given the columns before.

The engine (`engine`, `model`, `column`) knows visit sequences, predictors, missing cells, special codes, rules, strata
and partial synthesis; a conditional model of one column (`fitted`) is one class in one file: trees (`cart`), draws from
the margin (`marginal`) and others. The tree engine is `_kernels`.
"""

from dalenius.synth.sequential.cart import Bagging, Cart, ConditionalTree, Forest
from dalenius.synth.sequential.fitted import METHODS
from dalenius.synth.sequential.marginal import Sample
from dalenius.synth.sequential.synthesizers import CartSynthesizer, Sequential

__all__ = ["METHODS", "Bagging", "Cart", "CartSynthesizer", "ConditionalTree", "Forest", "Sample", "Sequential"]
