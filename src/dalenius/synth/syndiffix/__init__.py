"""SynDiffix: synthetic tables from anonymised buckets with sticky noise, one concept a file."""

from dalenius.synth.syndiffix.ground import Ground, Method
from dalenius.synth.syndiffix.model import SynDiffixModel
from dalenius.synth.syndiffix.options import Anonymity, Growth
from dalenius.synth.syndiffix.synthesizer import SynDiffix

__all__ = ["Anonymity", "Ground", "Growth", "Method", "SynDiffix", "SynDiffixModel"]
