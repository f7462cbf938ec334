"""A chart as a still picture inside HTML, for notebooks: drawn here, without a network or a front end."""

from __future__ import annotations

import html
import json
import re
from dataclasses import dataclass
from typing import Any

from dalenius.core.plain import plain
from dalenius.core.style import FONT, styled

UNDRAWABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that SVG cannot hold."""
SPOKEN = re.compile(r' (?:role="graphics-[a-z]+"|aria-[a-z]+="[^"]*")')
"""What is said about single marks, some of which have no name; the words about the whole stand in their place."""
WIDEST = "DejaVu Sans, Verdana, sans-serif"
"""Texts get the room they need in the widest font a browser may choose for ours, so that none is cut."""


def drawable(part: Any) -> Any:
    r"""A text, or a chart's specification, without characters that cannot be drawn.

    One of them in the name of a column would end the whole process that draws.

    Examples
    --------
    >>> drawable({"title": "a\x1bb"})
    {'title': 'a\\x1bb'}
    """
    if isinstance(part, str):
        return UNDRAWABLE.sub(lambda match: f"\\x{ord(match[0]):02x}", part)
    if isinstance(part, dict):
        return {drawable(key): drawable(value) for key, value in part.items()}
    return [drawable(value) for value in part] if isinstance(part, list) else part


def picture(chart: Any, words: str) -> str:
    """The chart, or what a function draws, as SVG text in the common look; ``words`` are read out in its place.

    Examples
    --------
    >>> import altair as alt
    >>> drawn = picture(alt.Chart(alt.Data(values=[{"a": 1}])).mark_point().encode(x="a:Q"), "one point")
    >>> drawn[:40]
    '<svg role="img" aria-label="one point" x'
    """
    import vl_convert  # noqa: PLC0415 (half a second, and only when somebody looks)

    spec = drawable(plain(styled(chart)))
    spec["config"]["font"] = WIDEST
    drawn = str(vl_convert.vegalite_to_svg(json.dumps(spec, default=str, allow_nan=False)))
    drawn = SPOKEN.sub("", drawn).replace(
        "<svg ", f'<svg role="img" aria-label="{html.escape(drawable(words))}" ', 1
    )
    return drawn.replace(f'font-family="{WIDEST}"', f'font-family="{FONT}"')


@dataclass(frozen=True, eq=False)
class Figure:
    """A chart that a notebook shows as a still picture, with what it says in words for those who cannot see it.

    ``chart`` is the Altair chart, to be changed or combined.

    Examples
    --------
    >>> import altair as alt
    >>> figure = Figure(alt.Chart(alt.Data(values=[{"a": 1}])).mark_point().encode(x="a:Q"), "one point")
    >>> print(figure)
    one point
    """

    chart: Any
    words: str

    @property
    def svg(self) -> str:
        """The picture as SVG text."""
        return picture(self.chart, self.words)

    def __str__(self) -> str:
        return self.words

    def _repr_html_(self) -> str:
        return self.svg
