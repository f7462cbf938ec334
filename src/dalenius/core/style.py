"""One look for every chart: the field's colours, readable in grey print and by colour-blind readers.

The original is always dark, the protected file light of the same hue; risk is red, utility is blue; heat runs from grey
to red (`../docs/architecture.md` says where these conventions come from).
"""

from __future__ import annotations

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


def configured(chart: Any) -> Any:
    """Apply the common font, grid and sizes to a finished Altair chart."""
    return (
        chart.configure(font=FONT, background="transparent")
        .configure_axis(gridColor="#E5E9ED", domainColor="#B0B8C0", tickColor="#B0B8C0", labelFontSize=11)
        .configure_view(stroke=None)
        .configure_legend(labelFontSize=11, titleFontSize=11)
        .configure_title(fontSize=13, anchor="start", fontWeight=600)
    )
