"""A chart as a still picture inside HTML, for notebooks: drawn here, without a network or a front end."""

from __future__ import annotations

import json
import re
from typing import Any

from dalenius.core.plain import plain
from dalenius.core.style import configured

UNDRAWABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
"""Characters that SVG cannot hold."""


def drawable(part: Any) -> Any:
    r"""A text, or a chart's specification, without characters that cannot be drawn.

    One of them in the name of a column would end the whole process that draws.

    Examples
    --------
    >>> drawable({"title": "a\x1bb"})
    {'title': 'a\\x1bb'}
    """
    if isinstance(part, str):
        return UNDRAWABLE.sub(lambda found: f"\\x{ord(found[0]):02x}", part)
    if isinstance(part, dict):
        return {drawable(key): drawable(value) for key, value in part.items()}
    return [drawable(value) for value in part] if isinstance(part, list) else part


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

    spec = json.dumps(
        drawable(plain(configured(chart).to_dict(validate=False))), default=str, allow_nan=False
    )
    return str(vl_convert.vegalite_to_svg(spec))
