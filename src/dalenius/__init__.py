"""Dalenius: turn confidential data into something that can be released, and show how safe and how useful it is.

>>> import dalenius
>>> survey = dalenius.examples.survey(500, seed=1)
>>> synthetic = dalenius.synthesize(survey, "independent", seed=1)
>>> evaluation = dalenius.evaluate(survey, synthetic, keys=["sex", "age", "region"], targets=["diagnosis"])
>>> evaluation["replicated-uniques"].value < 100
True
"""

__version__ = "0.1.0"

from dalenius.core.errors import DaleniusError
from dalenius.core.result import Interval, Result
from dalenius.counts.pair import Pair
from dalenius.data import Column, Grouping, Kind, Role, Schema, Table, examples
from dalenius.evaluation import Comparison, Evaluation, compare, evaluate
from dalenius.synth import load_model, make_synthesizer, save_model, synthesize

__all__ = [
    "Column",
    "Comparison",
    "DaleniusError",
    "Evaluation",
    "Grouping",
    "Interval",
    "Kind",
    "Pair",
    "Result",
    "Role",
    "Schema",
    "Table",
    "compare",
    "evaluate",
    "examples",
    "load_model",
    "make_synthesizer",
    "save_model",
    "synthesize",
]
