"""Reports: charts, verdict sentences and the HTML page."""

from dalenius.report.provenance import Provenance
from dalenius.report.render import render_report
from dalenius.report.story import Story
from dalenius.report.words import verdict
from dalenius.report.write import write_report

__all__ = ["Provenance", "Story", "render_report", "verdict", "write_report"]
