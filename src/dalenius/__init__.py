"""Dalenius: turn confidential data into something that can be released, and show how safe and how useful it is.

>>> import dalenius
>>> survey = dalenius.examples.survey(500, seed=1)
>>> synthetic = dalenius.synthesize(survey, "independent", seed=1)
>>> evaluation = dalenius.evaluate(survey, synthetic, keys=["sex", "age", "region"], targets=["diagnosis"])
>>> evaluation["replicated-uniques"].value < 100
True

``__init__.pyi`` lists what is here and where it comes from; each name is loaded when it is first used.
"""

from dalenius.core.later import public_names

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = public_names(__name__, __file__)
