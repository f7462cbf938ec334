"""Releases: a plan that a board can read, the run that carries it out, the pack that leaves the house."""

from dalenius.evaluation.policy import Rule
from dalenius.release.forecast import Forecast, forecast
from dalenius.release.outcome import Judged, Release, summary
from dalenius.release.pack import write_pack
from dalenius.release.plan import Plan, Scenario, read_plan
from dalenius.release.run import run_plan
from dalenius.release.template import template
from dalenius.release.verify import verify_pack

__all__ = [
    "Forecast",
    "Judged",
    "Plan",
    "Release",
    "Rule",
    "Scenario",
    "forecast",
    "read_plan",
    "run_plan",
    "summary",
    "template",
    "verify_pack",
    "write_pack",
]
