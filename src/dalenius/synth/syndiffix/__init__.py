"""SynDiffix: synthetic tables from anonymised buckets with sticky noise, one concept a file."""

from dalenius.synth.syndiffix.gridded import ground_from_duckdb
from dalenius.synth.syndiffix.ground import Ground, Method
from dalenius.synth.syndiffix.model import SynDiffixModel
from dalenius.synth.syndiffix.options import Anonymity, Growth
from dalenius.synth.syndiffix.store import BucketStore
from dalenius.synth.syndiffix.synthesizer import SynDiffix
from dalenius.synth.syndiffix.tables import TableSet, plan_tables
from dalenius.synth.syndiffix.two_tables import stitch_tables

__all__ = [
    "Anonymity",
    "BucketStore",
    "Ground",
    "Growth",
    "Method",
    "SynDiffix",
    "SynDiffixModel",
    "TableSet",
    "ground_from_duckdb",
    "plan_tables",
    "stitch_tables",
]
