"""Output checking: statbarns in the researcher's own notebook, and a checker who decides."""

from dalenius.outputs.desk import Desk
from dalenius.outputs.evidence import Evidence, collect
from dalenius.outputs.judge import Judged, judge
from dalenius.outputs.output import Output
from dalenius.outputs.policy import Policy
from dalenius.outputs.query import Dimension, Query
from dalenius.outputs.record import Record
from dalenius.outputs.register import Place, Register, Statbarn, register

__all__ = [
    "Desk", "Dimension", "Evidence", "Judged", "Output", "Place", "Policy", "Query", "Record", "Register", "Statbarn",
    "collect", "judge", "register",
]  # fmt: skip
