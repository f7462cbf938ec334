"""Reports: charts, verdict sentences and the HTML page."""

from dalenius.report.provenance import Provenance
from dalenius.report.render import render_report, write_report
from dalenius.report.story import Story
from dalenius.report.words import verdict

__all__ = ["Provenance", "Story", "render_report", "verdict", "write_report"]
