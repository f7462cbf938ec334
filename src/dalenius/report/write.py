"""Writing a report: HTML, Markdown or JSON, by the ending of the file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from dalenius.core.errors import OptionError
from dalenius.data.atomic import write_text
from dalenius.evaluation import Comparison, Evaluation
from dalenius.report.markdown import render_markdown
from dalenius.report.provenance import Provenance
from dalenius.report.render import ProtectedTable, render_report

HTML, MARKDOWN, JSON = (".html", ".htm"), (".md", ".markdown"), (".json",)


def write_report(
    comparison: Comparison | Evaluation,
    path: str | Path,
    *,
    title: str = "Disclosure risk and utility report",
    inputs: Mapping[str, str] | None = None,
    seeds: Mapping[str, int] | None = None,
    tables: Mapping[str, ProtectedTable] | None = None,
    made: Mapping[str, str] | None = None,
) -> None:
    """Write the report of a comparison, as HTML, Markdown or JSON by the file's ending.

    Parameters
    ----------
    inputs
        Hashes of the input files, by name.
    tables
        Protected tables to show, by title (what `dalenius.tables.protect` gives).
    made
        A sentence on how each file was made, by its name (`Candidate.told`).

    Examples
    --------
    >>> import tempfile
    >>> from dalenius.evaluation import compare
    >>> data = {"sex": ["f", "m"] * 20, "age": list(range(40))}
    >>> compared = compare(data, {"copy": data}, keys=["age"], targets=["sex"])
    >>> folder = Path(tempfile.mkdtemp())
    >>> write_report(compared, folder / "report.html")
    >>> (folder / "report.html").read_text()[:15]
    '<!doctype html>'
    >>> write_report(compared, folder / "report.md", title="A copy")
    >>> (folder / "report.md").read_text()[:8]
    '# A copy'
    """
    shown = Comparison({comparison.name: comparison}) if isinstance(comparison, Evaluation) else comparison
    provenance = Provenance.now(inputs, seeds)
    ending = Path(path).suffix.lower()
    if ending in HTML:
        text = render_report(shown, provenance, title=title, tables=tables, made=made)
    elif ending in MARKDOWN:
        text = render_markdown(shown, provenance, title=title, tables=tables)
    elif ending in JSON:
        facts = {"title": title, "provenance": asdict(provenance), "files": shown.to_dict()}
        text = json.dumps(facts, ensure_ascii=False, indent=1, default=str) + "\n"
    else:
        raise OptionError(f"a report ends in .html, .md or .json, not in {ending or 'nothing'!r}")
    write_text(path, text)
