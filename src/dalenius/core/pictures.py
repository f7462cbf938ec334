"""A chart as a still picture inside HTML, for notebooks: drawn here, without a network or a front end."""

from __future__ import annotations

import json
from typing import Any

from dalenius.core.plain import plain
from dalenius.core.style import configured


def picture(chart: Any) -> str:
    """The chart as SVG text, with the look all charts share.

    Examples
    --------
    >>> import altair as alt
    >>> drawn = picture(alt.Chart(alt.Data(values=[{"a": 1}])).mark_point().encode(x="a:Q"))
    >>> drawn[:4]
    '<svg'
    """
    import vl_convert  # noqa: PLC0415 (half a second, and only when somebody looks)

    spec = json.dumps(plain(configured(chart).to_dict(validate=False)), default=str, allow_nan=False)
    return str(vl_convert.vegalite_to_svg(spec))
