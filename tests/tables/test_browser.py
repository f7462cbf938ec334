"""Pages of tables in a real browser: audit first, cells named, large tables scroll and print, axe finds no fault."""

from __future__ import annotations

import re

import numpy as np
import pytest

from dalenius.tables import SmallCount, define, protect
from dalenius.tables.page import table_page

pytestmark = pytest.mark.slow


def large(rows=500, columns=40):
    rng = np.random.default_rng(1)
    names = [(f"town {i:03d}", f"job {j:02d}") for i in range(rows) for j in range(columns)]
    data = {"town": [n[0] for n in names], "job": [n[1] for n in names], "n": rng.poisson(3, len(names)) + 1}
    return protect(define(data, by=["town", "job"], freq="n"), SmallCount(3, protect_zeros=False))


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    data = {
        "geo": ["N1", "N2", "S1", "S2"] * 2,
        "zone": list("NNSS") * 2,
        "sex": list("ffffmmmm"),
        "n": [1, 7, 9, 5, 8, 6, 2, 12],
    }
    model = define(data, by=["geo", "zone", "sex"], freq="n")
    safe = protect(model, SmallCount(3))
    unsafe = protect(model, SmallCount(3), forced=~SmallCount(3).protects(model).mask)
    made = {"safe": safe, "unsafe": unsafe, "large": large()}
    for name, result in made.items():
        (folder / f"{name}.html").write_text(table_page(result, title=f"People, {name}"), encoding="utf-8")
    (folder / "public.html").write_text(table_page(safe, internal=False), encoding="utf-8")
    return {path.stem: path for path in folder.iterdir()}


@pytest.mark.parametrize("name", ["safe", "unsafe", "public", "large"])
def test_page_in_a_browser(pages, browsing, name):
    with browsing("file:", width=1366, height=900) as seen:
        page = seen.page
        page.goto(pages[name].as_uri())
        heads = page.locator("h2").all_inner_texts()
        wide = page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        scrolls = page.evaluate(
            "() => { const e = document.querySelector('.dalenius-scroll'); e.scrollTo(9999, 9999);"
            " return [e.scrollTop > 0, e.scrollLeft > 0]; }"
        )
        text = page.locator("main").inner_text()
        faults = seen.faults()
        pdf = page.pdf(prefer_css_page_size=True, print_background=True) if name == "large" else b""
    assert seen.noise == []
    assert faults == []
    assert wide, "the page itself does not scroll sideways"
    if name != "public":
        assert heads[0] == "Audit"
    if name == "unsafe":
        assert "NOT SAFE" in text
        assert re.search(r"is .* and all of these are published", text)
    if name == "large":
        assert text.count("×") > 5000, (
            "half of the cells are patterned on the screen and must not be on paper"
        )
        assert scrolls == [True, True]
        assert len(re.findall(rb"/Type\s*/Page\b", pdf)) > 5
