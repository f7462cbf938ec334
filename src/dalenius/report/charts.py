"""Charts of a page: Vega-Lite specifications by name, and the library that draws them, out of vl-convert."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import vl_convert

from dalenius.core.plain import plain
from dalenius.core.style import configured


class Charts:
    """Charts of a page by name, drawn when they come into view.

    Examples
    --------
    >>> Charts().to_json()
    '{"shared":{},"charts":{}}'
    """

    def __init__(self) -> None:
        self.specs: dict[str, Any] = {}

    def add(self, chart: Any) -> str:
        """Keep a chart and return the name its place on the page must carry."""
        name = f"chart{len(self.specs) + 1}"
        self.specs[name] = _only_what_is_drawn(configured(chart).to_dict(validate=False))
        return name

    def to_json(self) -> str:
        """All specifications, safe inside a script element; five digits are more than an eye can see.

        What every chart says alike, such as fonts, stands once.
        """
        first: dict[str, Any] = next(iter(self.specs.values()), {})
        shared = {k: v for k, v in first.items() if all(spec.get(k) == v for spec in self.specs.values())}
        charts = {
            name: {k: v for k, v in spec.items() if k not in shared} for name, spec in self.specs.items()
        }
        exact = json.dumps(plain({"shared": shared, "charts": charts}), default=str, allow_nan=False)
        rounded = json.loads(exact, parse_float=lambda digits: float(f"{float(digits):.5g}"))
        return json.dumps(rounded, separators=(",", ":")).replace("<", "\\u003c").replace("\u2028", "\\u2028")


def _only_what_is_drawn(spec: dict[str, Any]) -> dict[str, Any]:
    """The specification without the fields of its data that it does not name: a page holds nothing nobody sees."""
    rest = {key: value for key, value in spec.items() if key != "datasets"}
    named = " ".join(_words(rest))
    datasets = {
        name: [{field: cell for field, cell in row.items() if _unescaped(field) in named} for row in rows]
        for name, rows in spec.get("datasets", {}).items()
    }
    return rest | ({"datasets": datasets} if datasets else {})


def _words(part: Any) -> Iterator[str]:
    if isinstance(part, str):
        yield _unescaped(part)
    elif isinstance(part, dict | list):
        for inner in part.values() if isinstance(part, dict) else part:
            yield from _words(inner)


def _unescaped(field: str) -> str:
    """Vega-Lite writes a point or a bracket in a field's name after a backslash."""
    return field.replace("\\", "")


@cache
def chart_library() -> str:
    """Script that draws charts, safe inside a script element."""
    script = str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"))
    return script.replace("</script", "<\\/script")
