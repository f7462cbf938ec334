"""Sequential synthesis: one column after another, each drawn from a model of it given the columns before.

The engine (`engine`, `model`, `column`) knows visit sequences, predictors, missing cells, special codes, rules, strata,
survey weights and partial synthesis. A conditional model of one column (`fitted`) is one class: trees (`cart`,
`survival`), regressions (`regression`: `linear`, and `discrete` with its `likelihood`), cells (`saturated`), margins
(`marginal`). The tree engine is `trees`, which searches `splits` and adds `nodes`.
"""

from dalenius.synth.sequential.cart import Bagging, Cart, ConditionalTree, Forest
from dalenius.synth.sequential.discrete import Logistic, Multinomial, ProportionalOdds
from dalenius.synth.sequential.fitted import COLUMN_METHODS
from dalenius.synth.sequential.linear import (
    CubeRootNormal,
    LogNormal,
    MeanMatching,
    Normal,
    NormalRank,
    SqrtNormal,
)
from dalenius.synth.sequential.marginal import Sample
from dalenius.synth.sequential.saturated import SaturatedCells
from dalenius.synth.sequential.survival import SurvivalTree
from dalenius.synth.sequential.synthesizers import (
    CartSynthesizer,
    ConditionalTreeSynthesizer,
    ForestSynthesizer,
    ParametricSynthesizer,
    Sequential,
)

__all__ = [
    "COLUMN_METHODS",
    "Bagging",
    "Cart",
    "CartSynthesizer",
    "ConditionalTree",
    "ConditionalTreeSynthesizer",
    "CubeRootNormal",
    "Forest",
    "ForestSynthesizer",
    "LogNormal",
    "Logistic",
    "MeanMatching",
    "Multinomial",
    "Normal",
    "NormalRank",
    "ParametricSynthesizer",
    "ProportionalOdds",
    "Sample",
    "SaturatedCells",
    "Sequential",
    "SqrtNormal",
    "SurvivalTree",
]
