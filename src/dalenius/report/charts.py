"""Charts of a page: Vega-Lite specifications by name, and the library that draws them, out of vl-convert."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import vl_convert

from dalenius.core.later import altair as alt
from dalenius.core.plain import plain
from dalenius.core.style import styled


class Charts:
    """Charts of a page by name, drawn when they come into view.

    Examples
    --------
    >>> Charts().to_json()
    '{"shared":{},"forms":[],"charts":{}}'
    """

    def __init__(self) -> None:
        self.specs: dict[str, Any] = {}

    def add(self, chart: Any) -> str:
        """Keep a chart, or what a function draws, and return the name its place on the page must carry."""
        name = f"chart{len(self.specs) + 1}"
        with alt.data_transformers.enable("default", max_rows=None):
            self.specs[name] = _only_what_is_drawn(styled(chart))
        return name

    def to_json(self) -> str:
        """All specifications, safe inside a script element; five digits are more than an eye can see.

        What every chart says alike, such as fonts, stands once; so does the form of charts that differ in their rows
        alone. Rows stand as columns, and a word that many rows of a column have stands in it once.
        """
        first: dict[str, Any] = next(iter(self.specs.values()), {})
        shared = {k: v for k, v in first.items() if all(spec.get(k) == v for spec in self.specs.values())}
        charts = {
            name: {k: v for k, v in spec.items() if k not in shared} for name, spec in self.specs.items()
        }
        parts = {name: _apart(spec) for name, spec in charts.items()}
        forms = list(dict.fromkeys(form for form, _ in parts.values() if form))
        place = {form: i for i, form in enumerate(forms)}
        light = {
            name: {"form": place[form], "columns": columns} if form else charts[name]
            for name, (form, columns) in parts.items()
        }
        page = {"shared": shared, "forms": [json.loads(form) for form in forms], "charts": light}
        exact = json.dumps(plain(page), default=str, allow_nan=False)
        rounded = json.loads(exact, parse_float=lambda digits: float(f"{float(digits):.5g}"))
        return json.dumps(rounded, separators=(",", ":")).replace("<", "\\u003c").replace("\u2028", "\\u2028")


def chart_specs() -> str:
    """Script that puts the charts of `Charts.to_json` together again, for the report and for pages alike.

    Examples
    --------
    >>> "function spec(chart)" in chart_specs()
    True
    """
    return (Path(__file__).parent / "templates" / "specs.js").read_text(encoding="utf-8")


def _apart(spec: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The form of a chart that has one set of rows, as text, and the rows as columns; no form for another chart."""
    datasets = spec.get("datasets", {})
    if len(datasets) != 1:
        return "", {}
    ((name, rows),) = datasets.items()
    fields = list(dict.fromkeys(field for row in rows for field in row))
    rest = json.dumps({k: v for k, v in spec.items() if k != "datasets"}, sort_keys=True, default=str)
    columns = {field: _once([row.get(field) for row in rows]) for field in fields}
    return rest.replace(json.dumps(name), '"rows"'), columns


def _once(cells: list[Any]) -> Any:
    """A column of words as its different words and where they stand, if that is shorter; others as they are.

    Examples
    --------
    >>> _once(["original", "original", "protected", "protected"]), _once([1, 1])
    ({'of': ['original', 'protected'], 'at': [0, 0, 1, 1]}, [1, 1])
    """
    if not all(isinstance(cell, str) for cell in cells):
        return cells
    words = {word: i for i, word in enumerate(dict.fromkeys(cells))}
    coded = {"of": list(words), "at": [words[cell] for cell in cells]}
    return min(coded, cells, key=lambda held: len(json.dumps(held, separators=(",", ":"))))


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
