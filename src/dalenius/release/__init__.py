"""Releases: a plan that a board can read, the run that carries it out, the pack that leaves the house."""

from dalenius.release.pack import write_pack
from dalenius.release.plan import Plan, Scenario, read_plan, template
from dalenius.release.policy import Rule
from dalenius.release.run import Outcome, run_plan
from dalenius.release.verify import verify_pack

__all__ = [
    "Outcome",
    "Plan",
    "Rule",
    "Scenario",
    "read_plan",
    "run_plan",
    "template",
    "verify_pack",
    "write_pack",
]
