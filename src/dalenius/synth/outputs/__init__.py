"""Files made from published outputs alone: teaching files, and unit records from aggregates."""

from dalenius.core.plugins import import_all
from dalenius.synth.outputs.copula import Marginal, latent_correlation, repaired
from dalenius.synth.outputs.macro import MacroData, MacroToMicro, match_categories
from dalenius.synth.outputs.making import (
    MadeFromOutputs,
    calibrated_weights,
    evolve,
    make_from_outputs,
    rounding_report,
    sweep_weights,
)
from dalenius.synth.outputs.risk import risk_from_outputs, tcap
from dalenius.synth.outputs.targets import CrossTab, Grouped, Metadata, Regression, Variable

__all__ = [
    "CrossTab",
    "Grouped",
    "MacroData",
    "MacroToMicro",
    "MadeFromOutputs",
    "Marginal",
    "Metadata",
    "Regression",
    "Variable",
    "calibrated_weights",
    "evolve",
    "latent_correlation",
    "make_from_outputs",
    "match_categories",
    "repaired",
    "risk_from_outputs",
    "rounding_report",
    "sweep_weights",
    "tcap",
]

import_all(__name__, __path__)
