"""The report about a protected database: the tables and links drawn, then every figure with its sentence."""

from __future__ import annotations

import html
from pathlib import Path

from dalenius.core.result import Result
from dalenius.data.atomic import write_text
from dalenius.evaluation.databases import DatabaseEvaluation

STYLE = (
    "body{font-family:sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;line-height:1.5}"
    "table{border-collapse:collapse}td,th{padding:.2rem .6rem;text-align:left}svg.tables{max-width:100%;height:auto}"
)


def write_database_report(evaluation: DatabaseEvaluation, path: str | Path) -> None:
    """Write the report as one HTML file that needs nothing else.

    Examples
    --------
    >>> import tempfile
    >>> from dalenius.data import examples
    >>> from dalenius.evaluation.databases import evaluate_databases
    >>> base = examples.visits(150)
    >>> file = Path(tempfile.mkdtemp()) / "report.html"
    >>> write_database_report(evaluate_databases(base, base, measures=["cardinality"]), file)
    >>> "<svg" in file.read_text()
    True
    """
    parts = [f"<h1>{html.escape(evaluation.name)}: several tables</h1>", evaluation.picture()]
    parts += [f"<p>{html.escape(link)}: {html.escape(fault)}.</p>" for link, fault in evaluation.torn.items()]
    for family, title in (("risk", "How safe"), ("utility", "How useful")):
        chosen = [r for r in evaluation.results.values() if r.info is not None and r.info.family == family]
        parts += [f"<h2>{title}, across tables</h2>", *(_section(result) for result in chosen)]
    for name, held in evaluation.tables.items():
        parts += [
            f"<h2>Table {html.escape(name)}</h2>",
            *(_section(result) for result in held.results.values()),
        ]
    if evaluation.skipped:
        items = (f"<li>{html.escape(n)}: {html.escape(w)}</li>" for n, w in evaluation.skipped.items())
        parts.append(f"<h2>Not measured</h2><ul>{''.join(items)}</ul>")
    page = "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
    page += f"<title>{html.escape(evaluation.name)}</title><style>{STYLE}</style></head>"
    page += f"<body>{''.join(parts)}</body></html>"
    write_text(path, page)


def _section(result: Result) -> str:
    meaning = "" if result.info is None else f"<p><small>{html.escape(result.info.meaning)}</small></p>"
    beside = f" ({html.escape(result.beside)})" if result.beside else ""
    value = f"{result.value:.4g} {html.escape(result.unit)}".strip()
    title = html.escape(result.title)
    return f"<h3>{title}: {value}{beside}</h3><p>{html.escape(result.sentence)}</p>{meaning}"
