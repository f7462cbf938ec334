"""A protected table as a page of its own: picture, table, audit and what the protection costs."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from dalenius.core.pictures import picture
from dalenius.tables.loss import information_loss
from dalenius.tables.suppression import Suppression

if TYPE_CHECKING:
    from dalenius.tables.audit import Audit

STYLE = "body{max-width:70em;margin:2em auto;padding:0 1em;font:15px sans-serif}svg,img{max-width:100%;height:auto}"


def table_page(result: Suppression, found: Audit | None = None, title: str = "Protected table") -> str:
    """HTML text of a page that needs nothing else. It shows no value of a suppressed cell.

    Examples
    --------
    >>> from dalenius.tables import define, protect, SmallCount
    >>> result = protect(define({"a": ["x", "y", "z"], "n": [1, 7, 9]}, by="a", freq="n"), SmallCount(3))
    >>> page = table_page(result)
    >>> page.startswith("<!doctype html>"), "2 of 4 cells" in page
    (True, True)
    """
    loss = information_loss(result.model, {"suppression": result}).row(0, named=True)
    cost = (
        f"{loss['cells_lost']:,} cells ({loss['cells_lost_percent']:.1f} %) and {loss['value_lost_percent']:.1f} % of "
        "what the inner cells hold are not shown."
    )
    chart = result.chart()
    words = html.escape(str(chart.to_dict()["description"]), quote=True)
    checked = "" if found is None else f"<h2>Audit</h2><p>{html.escape(str(found))}</p>"
    return (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{html.escape(title)}</title>"
        f"<style>{STYLE}</style></head><body><h1>{html.escape(title)}</h1>{result._repr_html_()}"
        f"<h2>Picture</h2><figure role='img' aria-label='{words}'>{picture(chart)}</figure>"
        f"<h2>What it costs</h2><p>{cost}</p>{checked}</body></html>\n"
    )
