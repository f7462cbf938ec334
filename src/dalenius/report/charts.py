"""Charts of a page: Vega-Lite specifications by name, and the library that draws them, out of vl-convert."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import vl_convert

from dalenius.core.result import plain
from dalenius.core.style import configured


class Charts:
    """Charts of a page by name, drawn when they come into view.

    Examples
    --------
    >>> Charts().to_json()
    '{}'
    """

    def __init__(self) -> None:
        self.specs: dict[str, Any] = {}

    def add(self, chart: Any) -> str:
        """Keep a chart and return the name its place on the page must carry."""
        name = f"chart{len(self.specs) + 1}"
        self.specs[name] = configured(chart).to_dict(validate=False)
        return name

    def to_json(self) -> str:
        """All specifications, safe inside a script element; five digits are more than an eye can see."""
        exact = json.dumps(plain(self.specs), default=str, allow_nan=False)
        rounded = json.loads(exact, parse_float=lambda digits: float(f"{float(digits):.5g}"))
        return json.dumps(rounded, separators=(",", ":")).replace("<", "\\u003c").replace("\u2028", "\\u2028")


@cache
def chart_library() -> str:
    """Script that draws charts, safe inside a script element."""
    script = str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))
    return script.replace("</script", "<\\/script")
