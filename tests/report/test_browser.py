"""The demo's report in a real browser: charts draw, nothing overlaps or overflows, no console errors, no requests."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dalenius.cli import app

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

# Boxes of sibling blocks must not overlap, and nothing may be wider than the page.
LAYOUT = """() => {
  const faults = [];
  const boxes = [...document.querySelectorAll('main > *')].map(e => e.getBoundingClientRect());
  for (let i = 1; i < boxes.length; i++)
    if (boxes[i].top < boxes[i - 1].bottom - 1) faults.push('block ' + i + ' overlaps the one before');
  const cells = [...document.querySelectorAll('.grid > div')];
  for (const a of cells) for (const b of cells) {
    if (a === b || a.parentElement !== b.parentElement) continue;
    const p = a.getBoundingClientRect(), q = b.getBoundingClientRect();
    if (p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 1 && q.top < p.bottom - 1)
      faults.push('small charts overlap');
  }
  for (const chart of document.querySelectorAll('.grid .chart'))
    if (chart.scrollWidth > chart.clientWidth + 1) faults.push('chart ' + chart.id + ' is cut off');
  if (document.documentElement.scrollWidth > window.innerWidth) faults.push('the page scrolls sideways');
  return faults;
}"""


@pytest.fixture(scope="module")
def report(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("demo")
    result = CliRunner().invoke(app, ["demo", "--rows", "500", "-o", str(folder), "-q"])
    assert result.exit_code == 0, result.output
    return folder / "report.html"


@pytest.mark.slow
@pytest.mark.skipif(BROWSER is None, reason="no chromium is installed on this machine")
@pytest.mark.parametrize("width", [1366, 800])
def test_report_in_a_browser(report, width, tmp_path):
    playwright = pytest.importorskip("playwright.sync_api", reason="the playwright package is not installed")
    noise: list[str] = []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=FLAGS)
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.on(
            "console",
            lambda message: noise.append(message.text) if message.type in ("error", "warning") else None,
        )
        page.on("pageerror", lambda error: noise.append(str(error)))
        page.on(
            "request",
            lambda request: (
                noise.append(request.url) if not request.url.startswith(("file:", "data:")) else None
            ),
        )
        page.goto(report.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
        page.wait_for_function(
            "[...document.querySelectorAll('.chart')].every(c => c.dataset.drawn === 'yes')", timeout=120_000
        )
        charts = page.locator(".chart").count()
        drawn = page.locator(".chart svg").count()
        faults = page.evaluate(LAYOUT)
        heading = page.locator("h1").inner_text()
        browser.close()
    assert noise == []
    assert charts > 10
    assert drawn == charts
    assert faults == []
    assert "Example survey" in heading
