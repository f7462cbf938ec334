"""Evaluation: all figures about one protected file, about several side by side, or about methods tried on a file."""

from dalenius.evaluation.comparing import HEADLINES, Comparison, averaged, compare
from dalenius.evaluation.measuring import Evaluation, evaluate, evaluate_pair

__all__ = ["HEADLINES", "Comparison", "Evaluation", "averaged", "compare", "evaluate", "evaluate_pair"]
