"""One look for every chart: the field's colours, readable in grey print and by colour-blind readers.

The original is always dark, the protected file light of the same hue; risk is red, utility is blue; heat runs from grey
to red (`../docs/architecture.md` says where these conventions come from).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

ORIGINAL = "#1A3C5A"
PROTECTED = "#4187BF"
FILES = (PROTECTED, "#D98B2B", "#6BA368")
"""Protected files side by side: told apart by colour-blind readers and, by lightness, in grey print."""
HOLDOUT = "#8A9BA8"
RISK = "#C0392B"
UTILITY = "#2166AC"
HEAT = ("#EBEBEB", "#E41A1C")
QUIET = "#9AA5B1"

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


LOOK: dict[str, Any] = {
    "font": FONT,
    "background": "transparent",
    "axis": {"gridColor": "#E5E9ED", "domainColor": "#B0B8C0", "tickColor": "#B0B8C0", "labelFontSize": 11},
    "view": {"stroke": None},
    "legend": {"labelFontSize": 11, "titleFontSize": 11},
    "title": {"fontSize": 13, "anchor": "start", "fontWeight": 600},
}
"""The common font, grid and sizes, as Vega-Lite has them."""


def configured(chart: Any) -> Any:
    """Apply the common look to a finished Altair chart."""
    parts = {key: value for key, value in LOOK.items() if isinstance(value, dict)}
    chart = chart.configure(**{key: value for key, value in LOOK.items() if key not in parts})
    for key, value in parts.items():
        chart = getattr(chart, f"configure_{key}")(**value)
    return chart


@dataclass(frozen=True)
class StoredChart:
    """Draws a chart that was kept in a file; whoever only wants its specification need not draw it.

    Examples
    --------
    >>> StoredChart({"mark": "point", "data": {"values": []}})().to_dict()["mark"]
    'point'
    """

    spec: Mapping[str, Any]

    def __call__(self) -> Any:
        """The Altair chart."""
        import altair as alt  # noqa: PLC0415 (charts are loaded when looked at)

        return alt.Chart.from_dict(dict(self.spec))


def specification(chart: Any) -> dict[str, Any]:
    """The Vega-Lite specification of an Altair chart, or of a function that draws one.

    Altair compares every part of a chart with a schema of 30,000 lines each time it is touched, which takes longer
    than all figures of a report. Our charts are compared in the tests, once; here they are taken as they are.

    Examples
    --------
    >>> specification(StoredChart({"mark": "point"}))
    {'mark': 'point'}
    """
    if isinstance(chart, StoredChart):
        return dict(chart.spec)
    from altair.utils.schemapi import debug_mode  # noqa: PLC0415

    with debug_mode(False):
        drawn = chart() if callable(chart) else chart
        spec: dict[str, Any] = drawn.to_dict(validate=False)
    return spec


def styled(chart: Any) -> dict[str, Any]:
    """The specification of a chart, or of a function that draws one, with the common look.

    Examples
    --------
    >>> styled(StoredChart({"mark": "point", "config": {"view": {"step": 9}}}))["config"]["view"]
    {'step': 9, 'stroke': None}
    """
    spec = specification(chart)
    own = spec.get("config", {})
    look = {k: {**own.get(k, {}), **v} if isinstance(v, dict) else v for k, v in LOOK.items()}
    return {**spec, "config": {**own, **look}}
