"""Evaluation: all figures about one protected file, about several side by side, or about methods tried on a file."""

from dalenius.evaluation.benchmarking import Benchmark, ablation, benchmark
from dalenius.evaluation.comparing import HEADLINES, Comparison, averaged, compare
from dalenius.evaluation.measuring import Evaluation, evaluate, evaluate_files, evaluate_pair
from dalenius.evaluation.plotting import compare_plot
from dalenius.evaluation.policy import DEFAULT_POLICY, Rule, copies_nobody, refusals
from dalenius.evaluation.subgroups import subgroup_table, subgroups
from dalenius.evaluation.sweeping import sweep

__all__ = [
    "DEFAULT_POLICY",
    "HEADLINES",
    "Benchmark",
    "Comparison",
    "Evaluation",
    "Rule",
    "ablation",
    "averaged",
    "benchmark",
    "compare",
    "compare_plot",
    "copies_nobody",
    "evaluate",
    "evaluate_files",
    "evaluate_pair",
    "refusals",
    "subgroup_table",
    "subgroups",
    "sweep",
]
