"""Private regressions: quantiles, means, yes or no; four mechanisms on one smoothed loss, and their intervals."""

from dalenius.dp.regression.bounds import Reach
from dalenius.dp.regression.descents import adaptive_fit, stochastic_cost, stochastic_fit, stochastic_noise
from dalenius.dp.regression.design import predict
from dalenius.dp.regression.fit import Regression, accounting_of, check_options, regress
from dalenius.dp.regression.gradient_norm import Box, drawn_fit, too_flat
from dalenius.dp.regression.lines import EXACT, PRIVATE, exact_lines, lines_chart
from dalenius.dp.regression.measures import FIT_MEASURES, fit_results
from dalenius.dp.regression.minimise import smoothed_quantile_regression
from dalenius.dp.regression.perturbed import perturbed_fit
from dalenius.dp.regression.smoothing import Check, LogLoss
from dalenius.dp.regression.study import quantile_study

__all__ = [
    "EXACT",
    "FIT_MEASURES",
    "PRIVATE",
    "Box",
    "Check",
    "LogLoss",
    "Reach",
    "Regression",
    "accounting_of",
    "adaptive_fit",
    "check_options",
    "drawn_fit",
    "exact_lines",
    "fit_results",
    "lines_chart",
    "perturbed_fit",
    "predict",
    "quantile_study",
    "regress",
    "smoothed_quantile_regression",
    "stochastic_cost",
    "stochastic_fit",
    "stochastic_noise",
    "too_flat",
]
