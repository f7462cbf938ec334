"""Synthesizers: fit a model to a table, sample new rows from it."""

from dalenius.core.plugins import import_all
from dalenius.synth.base import METHODS, Method, Model, Synthesizer, make_synthesizer, register
from dalenius.synth.bootstrap import Bootstrap
from dalenius.synth.candidate import Candidate, synthesize
from dalenius.synth.independent import Independent
from dalenius.synth.joint import AIM, MST, LogLinear, PoissonCounts, Saturated
from dalenius.synth.made import Made
from dalenius.synth.model_file import load_model, save_model
from dalenius.synth.sequential import CartSynthesizer, Sequential
from dalenius.synth.syndiffix import SynDiffix

__all__ = [
    "AIM",
    "METHODS",
    "MST",
    "Bootstrap",
    "Candidate",
    "CartSynthesizer",
    "Independent",
    "LogLinear",
    "Made",
    "Method",
    "Model",
    "PoissonCounts",
    "Saturated",
    "Sequential",
    "SynDiffix",
    "Synthesizer",
    "load_model",
    "make_synthesizer",
    "register",
    "save_model",
    "synthesize",
]

import_all(__name__, __path__)
