"""Reports in a real browser: charts draw, nothing overlaps or overflows, no errors or requests, axe finds no fault."""

from __future__ import annotations

from pathlib import Path

import pytest

from dalenius.data import Table, examples
from dalenius.evaluation import compare
from dalenius.release import read_plan, run_plan, write_pack
from dalenius.report import write_report
from dalenius.synth import synthesize
from dalenius.tables import SmallCount, define, protect

COLUMNS = ["region", "sex", "age", "income", "diagnosis"]

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
PLAN = """\
title: "Survey of health"
input: people.csv
scenarios:
  neighbour: {about: "somebody next door", keys: [sex, age, region], targets: [diagnosis]}
  employer: {keys: [sex, age], targets: [diagnosis], population_share: 0.05}
candidates: {independent: {}, cart: {}}
measures: [replicated-uniques, disco, two-way-utility]
policy: ["repU <= 100 %"]
"""


OPEN = "[...document.querySelectorAll('.chart')].filter(c => c.checkVisibility())"
"""Charts that lie open, wherever on the page."""


@pytest.fixture(scope="module")
def reports(tmp_path_factory) -> dict[str, Path]:
    """The report of a comparison with a protected table, and the internal and public report of a release."""
    folder = tmp_path_factory.mktemp("reports")
    schema = examples.survey_schema().select(COLUMNS).with_roles(keys=["sex", "age"], targets=["diagnosis"])
    survey = Table.from_frame(examples.survey(500, seed=1).select(COLUMNS), schema)
    made = {name: synthesize(survey, name, seed=1) for name in ("cart", "independent")}
    counts = survey.to_frame("polars").group_by("region").len("n").sort("region")
    table = protect(define(counts, by="region", freq="n"), SmallCount(30))
    compared = compare(survey, made, measures=["disco", "replicated-uniques", "two-way-utility", "pca"])
    write_report(compared, folder / "report.html", tables={"People by region": table})
    examples.survey(400, seed=2).select(COLUMNS).write_csv(folder / "people.csv")
    (folder / "plan.yaml").write_text(PLAN)
    pack = write_pack(run_plan(read_plan(folder / "plan.yaml"), workers=1))
    inside, outside = (pack / part / "report.html" for part in ("internal", "public"))
    return {"comparison": folder / "report.html", "internal": inside, "public": outside}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [
        ("comparison", 1366, "light"),
        ("comparison", 800, "dark"),
        ("internal", 1366, "dark"),
        ("public", 1366, "light"),
    ],
)
def test_report_in_a_browser(reports, browsing, name, width, scheme):
    with browsing("file:", width=width, height=900, scheme=scheme) as seen:
        page = seen.page
        page.goto(reports[name].as_uri())
        assert page.evaluate(f"{OPEN}.length") > 2
        page.wait_for_function(f"{OPEN}.every(c => c.dataset.drawn === 'yes')")  # nobody has scrolled
        page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
        page.evaluate(
            "document.querySelectorAll('.chart').forEach(draw)"
        )  # otherwise when they come near the window
        seen.drawn()
        charts, drawn = page.locator(".chart").count(), page.locator(".chart svg").count()
        layout = page.evaluate(LAYOUT) + seen.overlaps()
        faults = seen.faults()
        questions = [head.lower() for head in page.locator(".answer h2").all_inner_texts()]
        words = [place.get_attribute("aria-label") for place in page.locator(".chart").all()]
        bottom = page.locator(".answer .short").first.bounding_box()["y"]
    assert seen.noise == []
    assert drawn == charts > 4
    assert layout == []
    assert all(len(text) > 20 and "Vega" not in text for text in words), "charts keep their words"
    assert faults == []
    assert len(questions) == 4
    assert bottom < 900, "the first answer is on the first screen"


@pytest.mark.slow
def test_a_cell_of_the_map_leads_to_its_two_tables(reports, browsing, tmp_path):
    with browsing("file:", width=1366, height=900) as seen:
        page = seen.page
        page.goto(reports["comparison"].as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(part => { part.open = true; })")
        page.evaluate("document.querySelectorAll('.chart').forEach(draw)")
        seen.drawn()
        file = page.locator("#file-1")
        part = file.locator("details.behind")
        first = part.locator("table").first.inner_text()
        page.evaluate("document.querySelector('#file-1 details.behind').open = false")
        cells = file.locator('.chart path[aria-label^="x: "], .chart path[aria-label*="pair: "]')
        cells.last.click(force=True)
        page.wait_for_selector("#file-1 details.behind[open] table")
        chosen = part.locator("select option:checked").inner_text()
        named = cells.last.get_attribute("aria-label").split("pair: ")[1].split(";")[0]
        assert named == chosen or "not among" in part.locator(".said").inner_text()
        assert chosen.replace(" × ", " \\ ") in part.locator("table").first.inner_text()
        part.locator("select").select_option(index=1)
        assert part.locator("table").first.inner_text() != first
        assert part.locator("table").count() == 2
        shares = [float(text) for text in part.locator("table").first.locator("td").all_inner_texts() if text]
        assert 10 < sum(shares) <= 100.6
        part.screenshot(path=tmp_path / "behind.png")
        assert seen.faults() == []
    assert seen.noise == []
    assert "details.behind" in reports["public"].read_text()  # the script is the same
    assert 'class="more behind"' not in reports["public"].read_text()
