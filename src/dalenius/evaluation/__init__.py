"""Evaluation: all figures about one protected file, about several side by side, or about methods tried on a file."""

from dalenius.evaluation.benchmarking import Benchmark, ablation, benchmark
from dalenius.evaluation.comparing import HEADLINES, Comparison, averaged, compare
from dalenius.evaluation.measuring import Evaluation, evaluate, evaluate_pair
from dalenius.evaluation.sweeping import sweep_epsilon

__all__ = [
    "HEADLINES",
    "Benchmark",
    "Comparison",
    "Evaluation",
    "ablation",
    "averaged",
    "benchmark",
    "compare",
    "evaluate",
    "evaluate_pair",
    "sweep_epsilon",
]
