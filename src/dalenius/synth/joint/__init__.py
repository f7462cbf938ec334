"""Joint models of categories: the whole table, or the margins it is known by, with or without differential privacy."""

from dalenius.synth.joint.aim import AIM
from dalenius.synth.joint.loglinear import LogLinear
from dalenius.synth.joint.mst import MST
from dalenius.synth.joint.poisson import PoissonCounts
from dalenius.synth.joint.saturated import Saturated

__all__ = ["AIM", "MST", "LogLinear", "PoissonCounts", "Saturated"]
