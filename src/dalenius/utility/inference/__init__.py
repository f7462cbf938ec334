"""Inference from synthetic files: fit a model to m of them, combine, and compare with the original's fit.

`fit_synthetic` fits; `SyntheticFit.summary` combines by the rule that fits how the files were made;
`SyntheticFit.compare` gives interval overlap, standardised differences, a lack-of-fit test and a coefficient plot.
"""

from dalenius.utility.inference.combine import RULES, Combined, combine
from dalenius.utility.inference.estimates import Estimate, estimate
from dalenius.utility.inference.formula import Formula
from dalenius.utility.inference.models import Fit, fit_model
from dalenius.utility.inference.synthetic import SyntheticFit, ci_overlap, fit_synthetic, lack_of_fit

__all__ = [
    "RULES", "Combined", "Estimate", "Fit", "Formula", "SyntheticFit", "ci_overlap", "combine",
    "estimate", "fit_model", "fit_synthetic",
    "lack_of_fit",
]  # fmt: skip
