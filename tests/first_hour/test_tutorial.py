"""The tutorial notebook runs, and its pages show every text whole in a real browser."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import pytest

NOTEBOOK = Path(__file__).parents[2] / "docs" / "tutorial.ipynb"

# Text of a picture lies within it, and nothing that a cell shows is wider than its place.
CUT = r"""() => {
  const faults = [];
  for (const svg of document.querySelectorAll('.jp-OutputArea-output svg')) {
    const box = svg.getBoundingClientRect();
    for (const text of svg.querySelectorAll('text')) {
      const own = text.getBoundingClientRect();
      if (own.width && (own.left < box.left - 0.5 || own.right > box.right + 0.5 || own.top < box.top - 0.5
          || own.bottom > box.bottom + 0.5)) faults.push('picture: ' + text.textContent);
    }
  }
  for (const place of document.querySelectorAll('.jp-OutputArea-output'))
    if (place.scrollWidth > place.clientWidth) faults.push('cell: ' + place.innerText.slice(0, 60));
  for (const cell of document.querySelectorAll('.jp-OutputArea-output :is(td, th)'))
    for (const part of cell.childNodes)
      for (const word of (part.nodeType === 3 ? part.textContent : '').matchAll(/\S+/g)) {
        const range = document.createRange();
        range.setStart(part, word.index);
        range.setEnd(part, word.index + word[0].length);
        const tops = new Set([...range.getClientRects()].map(box => Math.round(box.top)));
        if (tops.size > 1) faults.push('broken: ' + word[0]);
      }
  if (document.documentElement.scrollWidth > window.innerWidth) faults.push('the page scrolls sideways');
  return faults;
}"""


def test_the_notebook_is_stored_without_outputs() -> None:
    nbformat = pytest.importorskip("nbformat")
    book = nbformat.read(NOTEBOOK, as_version=4)
    nbformat.validate(book)
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    assert len(code) > 5
    assert all(not cell.outputs and cell.execution_count is None for cell in code)


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> Path:
    """The notebook after a run, as a page."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    nbconvert = pytest.importorskip("nbconvert")
    book = nbformat.read(NOTEBOOK, as_version=4)
    folder = tmp_path_factory.mktemp("tutorial")
    # the templates are beside the package, also where one environment looks into another
    beside = Path(nbconvert.__file__).parents[4] / "share" / "jupyter"
    with warnings.catch_warnings(), pytest.MonkeyPatch.context() as patch:
        warnings.simplefilter("ignore")  # those of Jupyter's own parts
        patch.setenv("JUPYTER_PATH", str(beside))
        client = nbclient.NotebookClient(
            book, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
        )
        said, heard = [], client.process_message

        def listen(message, *place):
            if message["msg_type"] == "update_display_data":  # lines that are gone when the cell ends
                said.append(message["content"]["data"]["text/plain"])
            return heard(message, *place)

        client.process_message = listen
        client.execute()
        text, _ = nbconvert.HTMLExporter().from_notebook_node(book)
    assert any("measuring cart: " in text for text in said), "the notebook says how far it is"
    assert any(re.search(r"\d of 7 columns", text) for text in said)
    file = folder / "tutorial.html"
    # no network: the page itself must show everything
    file.write_text(re.sub(r'<script[^>]*src="http[^>]*></script>', "", text), encoding="utf-8")
    return file


@pytest.mark.slow
@pytest.mark.parametrize("width", [1366, 900])
def test_nothing_of_the_tutorial_is_cut(page, browsing, width) -> None:
    with browsing("file:", width=width, height=900) as seen:
        seen.page.goto(page.as_uri())
        pictures = seen.page.locator(".jp-OutputArea-output svg").count()
        tables = seen.page.locator(".jp-OutputArea-output table").count()
        shown = seen.page.locator(".jp-OutputArea").all_inner_texts()
        cut, faults = seen.page.evaluate(CUT), seen.faults(".jp-OutputArea-output")
    assert pictures >= 3
    assert tables >= 4
    assert "f64" not in shown[-1], "the release shows a table of ours"
    assert "is the most useful" in shown[-1], "the tutorial ends with a file that may be released"
    assert not any("/tmp/" in text or "Traceback" in text for text in shown)
    assert cut == []
    assert faults == []
