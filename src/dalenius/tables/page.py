"""A protected table as a page of its own: the audit first, then table, relations, hierarchies, picture and cost."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import numpy as np

from dalenius.core.pictures import picture
from dalenius.core.style import FONT
from dalenius.tables.explain import cell_label, faults
from dalenius.tables.formats.tablefile import UNCHECKED, UNSAFE
from dalenius.tables.graph import relations_svg
from dalenius.tables.loss import information_loss
from dalenius.tables.render import CSS, cross_table_html
from dalenius.tables.suppression import Suppression

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dalenius.tables.audit import Audit
    from dalenius.tables.hierarchy import Hierarchy
    from dalenius.tables.ways import Ways

PAGE = f"""
body {{ margin: 0; font: 15px/1.5 {FONT}; color: #1B1F24; background: #FFF; }}
main {{ max-width: 76em; margin: 0 auto; padding: 1em 1.5em 3em; }}
h1 {{ font-size: 1.6em; }} h2 {{ font-size: 1.2em; margin-top: 1.8em; }} h3 {{ font-size: 1em; margin: 1em 0 .3em; }}
svg, img {{ max-width: 100%; height: auto; }}
@media print {{ main {{ max-width: none; padding: 0; }} h2 {{ break-after: avoid; }}
  @page {{ size: A4 landscape; margin: 12mm; }} }}
"""
STYLE = """
.audit { padding: .7em 1em; border-left: 6px solid; color: #1B1F24; }
.audit.safe { border-color: #1E7B4F; background: #EEF7F2; }
.audit.partly { border-color: #B7791F; background: #FDF6E7; }
.audit.unsafe { border-color: #A93226; background: #FBEDEB; }
.alarm { position: sticky; top: 0; z-index: 9; margin: 0; padding: .5em 1.5em; background: #A93226; color: #FFF;
  font-weight: 700; }
.drawing { overflow-x: auto; background: #FFF; color: #1B1F24; }
ul.tree, ul.tree ul { list-style: none; padding-left: 1.1em; margin: 0; }
ul.tree li { border-left: 1px solid #B8C0C8; padding-left: .6em; position: relative; }
ul.tree li::before { content: ""; position: absolute; left: 0; top: .8em; width: .5em; border-top: 1px solid #B8C0C8; }
figure { margin: 1em 0; } figure svg { background: #FFF; max-width: 100%; height: auto; }
@media print { .alarm { position: static; } }
"""
MOST_DRAWN = 3
MOST_CODES = 150
FEW_CODES = 30


def table_page(
    result: Suppression, found: Audit | None = None, title: str = "", *, internal: bool = True,
    parts: Mapping[str, Suppression] | None = None, rows: str | None = None, columns: str | None = None,
) -> str:  # fmt: skip
    """HTML text of a page that needs nothing else. It shows no value of a suppressed cell.

    Parameters
    ----------
    result, found
        The table and its audit (by default the one it went through).
    title
        Heading; by default what is counted or added up, by which dimensions.
    parts
        The tables by name, where several are linked.
    rows, columns
        Dimensions that run down and across.
    internal
        Whether the page tells primary from secondary cells, names the cells at risk and draws relations. A page for
        the public shows the table only.

    Examples
    --------
    >>> from dalenius.tables import define, protect, SmallCount
    >>> result = protect(define({"a": ["x", "y", "z"], "n": [1, 7, 9]}, by="a", freq="n"), SmallCount(3))
    >>> page = table_page(result)
    >>> page.startswith("<!doctype html>"), "2 of 4 cells" in page
    (True, True)
    """
    style, title = f"{PAGE}{STYLE}", title or _title(result)
    body = table_parts(result, found, internal=internal, parts=parts, rows=rows, columns=columns)
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{html.escape(title)}</title><style>{style}</style></head><body><main>"
        f"<h1>{html.escape(title)}</h1>{body}</main></body></html>\n"
    )


def _title(result: Suppression) -> str:
    """What the table holds: "Protected table: counts by region × sex"."""
    what = "sums" if result.model.is_magnitude else "counts"
    return f"Protected table: {what} by {' × '.join(result.model.names)}"


def table_parts(
    result: Suppression, found: Audit | None = None, *, internal: bool = True,
    parts: Mapping[str, Suppression] | None = None, rows: str | None = None, columns: str | None = None,
) -> str:  # fmt: skip
    """What stands on the page below its title, for pages that have a frame of their own.

    Examples
    --------
    >>> from dalenius.tables import define, protect, SmallCount
    >>> result = protect(define({"a": ["x", "y", "z"], "n": [1, 7, 9]}, by="a", freq="n"), SmallCount(3))
    >>> table_parts(result).startswith("<h2>Audit</h2>")
    True
    """
    checked = result.checked if found is None else found
    warning = UNCHECKED if checked is None else "" if checked.passed else UNSAFE
    alarm = f"<p class='alarm' role='alert'>{warning}</p>" if warning else ""
    tables = _tables({"": result} if parts is None else parts, internal, rows, columns)
    if not internal:
        return alarm + tables
    inside = "<p>Internal: tells cells that a rule asks for from those that protect them.</p>"
    body = [alarm, _audit(result, checked), "<h2>Table</h2>", inside, tables]
    body += [_relations(result, checked), _hierarchies(result), _picture(result), _cost(result)]
    return "".join(body)


def _tables(parts: Mapping[str, Suppression], internal: bool, rows: str | None, columns: str | None) -> str:
    """Every table under its name; of a linked one only the dimensions that it crosses."""
    shown = []
    for name, part in parts.items():
        crossed = [d.name for d in part.model.dimensions if part.model.cells[d.name].n_unique() > 1]
        down, across = (None if name and side not in crossed else side for side in (rows, columns))
        if name and down is None:
            down, across = crossed[0] if crossed else None, crossed[1] if len(crossed) > 1 else None
        heading = f"<h3>{html.escape(name)}</h3>" if name else ""
        shown.append(heading + cross_table_html(part, down, across, internal=internal))
    return "".join(shown)


def _audit(result: Suppression, audit: Audit | None) -> str:
    """The verdict, and the cells at fault with one sentence each."""
    if audit is None:
        return f"<h2>Audit</h2><p class='audit unsafe'>{UNCHECKED}</p>"
    # What was not looked at is no green light.
    kind = "unsafe" if not audit.passed else "safe" if audit.unions.complete else "partly"
    text = f"<h2>Audit</h2><p class='audit {kind}'>{html.escape(str(audit))}</p>"
    if audit.passed:
        return text
    why = faults(result, audit)["why"].to_list() if len(audit.table.cells) == len(result.primary) else []
    left = len(audit.failing) - len(why)
    more = f"<li>and {left:,} more</li>" if left > 0 else ""
    return f"{text}<ul>{''.join(f'<li>{html.escape(line)}</li>' for line in why)}{more}</ul>"


def _relations(result: Suppression, audit: Audit | None) -> str:
    """The sums around the cells at risk, or around the first primary cells."""
    asked = np.flatnonzero(result.primary) if audit is None or audit.passed else audit.failing
    drawn = [int(p) for p in asked if result.model.sizes[p]][:MOST_DRAWN]
    if not drawn:
        return ""
    names = {p: html.escape(cell_label(result, p), quote=True) for p in drawn}
    parts = [f"<h3>{name}</h3><div class='drawing' tabindex='0' role='region' aria-label='Sums around {name}'>"
             f"{relations_svg(result, p)}</div>" for p, name in names.items()]  # fmt: skip
    legend = (
        "<p>A line joins a sum (left) with its parts (right). Striped: a rule asks for it. Dotted: suppressed to "
        "protect others. White: published. Bold frame: the cell itself.</p>"
    )
    return f"<h2>What hangs together</h2>{legend}{''.join(parts)}"


def _hierarchies(result: Suppression) -> str:
    """Every dimension with groups, as a tree."""
    trees = [
        (d.name, d.hierarchy)
        for d in result.model.dimensions
        if len(d.hierarchy.leaves) < len(d.hierarchy.codes) - 1
    ]
    if not trees:
        return ""
    drawn = []
    for name, tree in trees:
        shown = " open" if len(tree.codes) <= FEW_CODES else ""
        drawn.append(
            f"<details{shown}><summary>{html.escape(name)}: {len(tree.codes):,} codes</summary>{_tree(tree)}</details>"
        )
    return f"<h2>Hierarchies</h2>{''.join(drawn)}"


def _tree(tree: Hierarchy) -> str:
    nearest = {c: min(up, key=lambda p: len(tree.parts[p]), default=None) for c, up in tree.parents.items()}
    below: dict[str | None, list[str]] = {}
    for code, near in list(nearest.items())[:MOST_CODES]:
        below.setdefault(near, []).append(code)

    def branch(code: str) -> str:
        inside = "".join(branch(child) for child in below.get(code, ()))
        return f"<li>{html.escape(code)}{f'<ul>{inside}</ul>' if inside else ''}</li>"

    left = len(nearest) - MOST_CODES
    more = f"<p>{left:,} further codes are not drawn.</p>" if left > 0 else ""
    return f"<ul class='tree'>{branch(tree.total)}</ul>{more}"


def _picture(result: Suppression) -> str:
    chart = result.chart()
    words = str(chart.to_dict()["description"])
    return f"<h2>Picture</h2><figure>{picture(chart, words)}</figure>"


def _cost(result: Suppression) -> str:
    loss = information_loss(result.model, {"suppression": result}).row(0, named=True)
    return (
        f"<h2>What it costs</h2><p>{loss['cells_lost']:,} cells ({loss['cells_lost_percent']:.1f} %) and "
        f"{loss['value_lost_percent']:.1f} % of what the inner cells hold are not shown.</p>"
    )


def ways_page(ways: Ways, title: str = "Ways to protect a table") -> str:
    """The map of loss and risk with its figures, as a page of its own.

    Examples
    --------
    >>> from dalenius.tables import compare_ways, define, SmallCount
    >>> model = define({"a": ["x", "y", "z"], "n": [1, 7, 9]}, by="a", freq="n")
    >>> "Loss and risk" in ways_page(compare_ways(model, SmallCount(3), ways=["suppression"]))
    True
    """
    chart = ways.chart()
    words = str(chart.to_dict()["description"])
    heads = "".join(
        f"<th scope='col'>{html.escape(name.replace('_', ' '))}</th>" for name in ways.table.columns
    )
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(_cell(value))}</td>" for value in row) + "</tr>"
        for row in ways.table.iter_rows()
    )
    return (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{html.escape(title)}</title>"
        f"<style>{PAGE}{STYLE}{CSS}</style></head><body><main><h1>{html.escape(title)}</h1><h2>Loss and risk</h2>"
        f"<figure>{picture(chart, words)}</figure>"
        "<div class='dalenius-scroll' tabindex='0' role='region' aria-label='Figures'>"
        f"<table class='dalenius-table'><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
        "</main></body></html>\n"
    )


def _cell(value: object) -> str:
    return "" if value is None else f"{value:,.3g}" if isinstance(value, float) else str(value)
