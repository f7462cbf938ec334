"""`Result`: a figure that reads itself.

A result is data first (value, interval, table) and text second (one plain sentence). A yardstick stands beside the
value wherever there is one, so that a reader can tell a good figure from a bad one.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from dalenius.core.pictures import picture
from dalenius.core.plain import plain
from dalenius.core.registry import MeasureInfo

if TYPE_CHECKING:
    import altair as alt


@dataclass(frozen=True)
class Interval:
    """An interval around a value, and what it is (95 % by default).

    Examples
    --------
    >>> print(Interval(0.012, 0.5))
    [0.012, 0.5]
    """

    low: float
    high: float
    level: float = 0.95
    kind: str = "confidence"

    def __str__(self) -> str:
        return f"[{figure(self.low)}, {figure(self.high)}]"


@dataclass(frozen=True)
class Result:
    """One measure's outcome.

    Attributes
    ----------
    value
        The figure itself; NaN when it cannot be computed (the sentence says why).
    sentence
        One plain sentence that reads the figure for a person who does not know the measure.
    yardsticks
        Named reference values in the same unit: the original's own value, the holdout's, the value under the null.
    values
        Further named figures of the same family.
    table
        Per-column, per-cell or per-target figures; safe to show to whoever may see the report.
    chart
        Function that draws the Altair chart when somebody looks at it.
    trusted
        False when the figure must not be read as "safe" (no holdout, baseline not beaten).
    records
        Per-record figures; confidential, only made on request and never part of a report.

    Examples
    --------
    >>> r = Result("demo", 12.5, "One in eight records can be singled out.", unit="%", yardsticks={"original": 25.0})
    >>> print(r)
    demo = 12.5 % (original 25 %): One in eight records can be singled out.
    """

    name: str
    value: float
    sentence: str
    unit: str = ""
    interval: Interval | None = None
    yardsticks: Mapping[str, float] = field(default_factory=dict)
    values: Mapping[str, float] = field(default_factory=dict)
    table: pl.DataFrame | None = None
    chart: Callable[[], alt.TopLevelMixin] | None = None
    trusted: bool = True
    records: pl.DataFrame | None = field(default=None, repr=False)
    info: MeasureInfo | None = None

    def __str__(self) -> str:
        beside = "".join(f" ({k} {figure(v, self.unit)})" for k, v in self.yardsticks.items())
        spread = f" {self.interval}" if self.interval else ""
        return f"{self.name} = {figure(self.value, self.unit)}{spread}{beside}: {self.sentence}"

    def with_info(self, info: MeasureInfo) -> Result:
        """The same result carrying its measure's description."""
        return replace(self, info=info, unit=self.unit or info.unit)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON: no chart, no per-record figures.

        Examples
        --------
        >>> Result("demo", 1.0, "As expected.").to_dict()["value"]
        1.0
        """
        spread = self.interval
        return {
            "name": self.name,
            "value": plain(self.value),
            "unit": self.unit,
            "interval": None if spread is None else {"low": plain(spread.low), "high": plain(spread.high)},
            "yardsticks": {k: plain(v) for k, v in self.yardsticks.items()},
            "values": {k: plain(v) for k, v in self.values.items()},
            "better": self.info.better if self.info else None,
            "trusted": self.trusted,
            "sentence": self.sentence,
            "table": None if self.table is None else plain(self.table.to_dicts()),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], info: MeasureInfo | None = None) -> Result:
        """Read back what `to_dict` wrote; the chart is gone.

        Examples
        --------
        >>> Result.from_dict(Result("demo", 1.0, "As expected.").to_dict()).value
        1.0
        """
        spread = data["interval"]
        return cls(
            name=data["name"],
            value=_number(data["value"]),
            sentence=data["sentence"],
            unit=data["unit"],
            interval=None if spread is None else Interval(_number(spread["low"]), _number(spread["high"])),
            yardsticks={k: _number(v) for k, v in data["yardsticks"].items()},
            values={k: _number(v) for k, v in data["values"].items()},
            trusted=data["trusted"],
            info=info,
        )

    def _repr_html_(self) -> str:
        title = html.escape(self.info.title if self.info else self.name)
        beside = "; ".join(f"{html.escape(k)} {figure(v, self.unit)}" for k, v in self.yardsticks.items())
        head = f"<h4>{title}: {figure(self.value, self.unit)}{f' <small>({beside})</small>' if beside else ''}</h4>"
        warning = "" if self.trusted else "<p><strong>Not trusted:</strong> see the sentence below.</p>"
        rows = "" if self.table is None else self.table.head(12)._repr_html_()
        drawn = "" if self.chart is None else picture(self.chart())
        return f"<section>{head}{warning}<p>{html.escape(self.sentence)}</p>{drawn}{rows}</section>"


def figure(value: float, unit: str = "") -> str:
    """Write a number for a person: three significant digits, no false precision.

    Examples
    --------
    >>> figure(0.123456), figure(1234.5, "%"), figure(float("nan"))
    ('0.123', '1,234 %', 'not available')
    """
    if math.isnan(value):
        return "not available"
    if math.isinf(value):
        return "infinite" if value > 0 else "minus infinite"
    text = f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
    return f"{text} {unit}" if unit else text


def _number(value: Any) -> float:
    return math.nan if value is None else float(str(value).replace("Infinity", "inf"))
