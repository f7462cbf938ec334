"""`Result`: a figure that reads itself.

A result is data first (value, interval, table) and text second (one plain sentence). A yardstick stands beside the
value wherever there is one, so that a reader can tell a good figure from a bad one.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from dalenius.core.pictures import picture
from dalenius.core.plain import plain
from dalenius.core.registry import MeasureInfo
from dalenius.core.small_cells import THRESHOLD, withhold

if TYPE_CHECKING:
    import altair as alt


Redrawn = Literal["records", "people", "file", "model"]
"""What may be drawn again: the records looked at, the people in and outside the data, the file, the model."""


@dataclass(frozen=True)
class Interval:
    """A range around a value, what it is, and what is thought of as drawn again.

    ``kind`` is "confidence" only where the range has been seen to hold the expected value about as often as ``level``
    says, with everything in ``redrawn`` drawn again; otherwise it says in words what the range shows.

    Examples
    --------
    >>> print(Interval(0.012, 0.5))
    [0.012, 0.5]
    >>> Interval(0.012, 0.5, redrawn=("people", "file")).words
    '95 % interval, people and file redrawn'
    >>> Interval(0.012, 0.5, kind=SPREAD).words
    'spread over records'
    """

    low: float
    high: float
    level: float = 0.95
    kind: str = "confidence"
    redrawn: tuple[Redrawn, ...] = ("records",)

    def __str__(self) -> str:
        return f"[{figure(self.low)}, {figure(self.high)}]"

    @property
    def words(self) -> str:
        """What the range is, for a reader."""
        if self.kind != "confidence":
            return self.kind
        return f"{100 * self.level:.3g} % interval, {' and '.join(self.redrawn)} redrawn"

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {"low": plain(self.low), "high": plain(self.high), "level": self.level, "kind": self.kind,
                "redrawn": list(self.redrawn)}  # fmt: skip

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Interval:
        """Read back what `to_dict` wrote."""
        return cls(
            _number(data["low"]), _number(data["high"]), data["level"], data["kind"], tuple(data["redrawn"])
        )


WHOLE: tuple[str, ...] = ()
"""Counts of a table in which every row is about the whole file, a whole column or the protected file alone."""
SPREAD = "spread over records"
"""Kind of a range that says how far chance among the records looked at would move a figure, and nothing more."""


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
    level, outside
        The figure for people in the data (the value, unless said) and for people who are not; `added` is the
        difference, ``added_interval`` its range.
    table
        Per-column, per-cell or per-target figures, whole: for the people who hold the data. `shown` is what leaves
        their hands.
    counts
        Columns of the table that say how many original records a row rests on; `WHOLE` where every row is about the
        whole file or a whole column. A table whose measure says neither is not shown.
    threshold
        Rows that rest on fewer records are not shown.
    chart
        Function that draws the Altair chart when somebody looks at it.
    trusted
        False when the figure must not be read as "safe" (no holdout, baseline not beaten).
    doubt
        Why it must not, where something about the files is the reason and no figure can be trusted.
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
    level: float | None = None
    outside: float | None = None
    added_interval: Interval | None = None
    table: pl.DataFrame | None = field(default=None, repr=False)
    counts: tuple[str, ...] | None = None
    threshold: int = THRESHOLD
    chart: Callable[[], alt.TopLevelMixin] | None = None
    trusted: bool = True
    doubt: str = ""
    records: pl.DataFrame | None = field(default=None, repr=False)
    info: MeasureInfo | None = None

    def __str__(self) -> str:
        beside = "".join(f" ({k} {figure(v, self.unit)})" for k, v in self.yardsticks.items())
        spread = f" {self.interval}" if self.interval else ""
        return f"{self.name} = {figure(self.value, self.unit)}{spread}{beside}: {self.sentence}"

    @property
    def title(self) -> str:
        """The measure's title; the name where it is no measure's."""
        return self.info.title if self.info else self.name

    @property
    def told(self) -> str:
        """The figure with its range, and whether it can be trusted, for a line of a table."""
        trust = "" if self.trusted else " (not trusted)"
        return figure(self.value, self.unit) + (f" {self.interval}" if self.interval else "") + trust

    @property
    def beside(self) -> str:
        """The yardsticks, for a line of a table."""
        return "; ".join(f"{name} {figure(value, self.unit)}" for name, value in self.yardsticks.items())

    @property
    def added(self) -> float | None:
        """What being in the data adds to the risk: the level inside minus the level outside, more is worse.

        None where nobody outside the data was looked at.

        Examples
        --------
        >>> Result("demo", 22.0, "As it is.", outside=20.0).added
        2.0
        """
        return self.beyond(self.value if self.level is None else self.level)

    @property
    def added_unit(self) -> str:
        """Unit of what is added: the difference of two percentages is in points."""
        return "points" if self.unit == "%" else self.unit

    def beyond(self, level: float) -> float | None:
        """By how much a level is worse than that of people outside the data."""
        if self.outside is None or (self.info is not None and self.info.family != "risk"):
            return None
        turned = (lambda x: x) if self.info is None else self.info.shortfall
        inside, outside = turned(level), turned(self.outside)
        # equal levels may have come about in different orders of adding up: the last bit is no difference
        return 0.0 if math.isclose(inside, outside, rel_tol=1e-12) else inside - outside

    @property
    def part(self) -> str:
        """The target that the figure is about, where it is the worst of several; empty where there are no several.

        Examples
        --------
        >>> rows = pl.DataFrame({"target": ["b", "a"], "x": [3.0, 2.0]})
        >>> Result("demo", 3.0, "As it is.", values={"a": 2.0, "b": 3.0}, table=rows).part
        'b'
        """
        if self.table is None or "target" not in self.table.columns or not len(self.table):
            return ""
        first = str(self.table["target"][0])
        return first if len(self.values) > 1 and self.values.get(first) == self.value else ""

    @property
    def shown(self) -> pl.DataFrame | None:
        """The table as it may be shown: nothing that rests on fewer original records than the threshold."""
        if self.table is None or self.counts is None:
            return None
        return withhold(self.table, self.counts, self.threshold)

    def with_info(self, info: MeasureInfo, threshold: int | None = None) -> Result:
        """The same result carrying its measure's description, and what is shown of it."""
        outside = self.yardsticks.get("holdout") if self.outside is None else self.outside
        return replace(
            self, info=info, unit=self.unit or info.unit, outside=outside,
            interval=_called(self.interval, info), added_interval=_called(self.added_interval, info),
            threshold=self.threshold if threshold is None else threshold,
        )  # fmt: skip

    def at_threshold(self, threshold: int) -> Result:
        """The same result for readers who may see less; a chart that was drawn with more is left out."""
        drawn = None if self.counts and threshold > self.threshold else self.chart
        return replace(self, threshold=threshold, chart=drawn)

    def to_dict(self, whole: bool = False) -> dict[str, Any]:
        """Plain data for JSON: no chart, no per-record figures; ``whole`` is for the data holder's own files.

        Examples
        --------
        >>> Result("demo", 1.0, "As expected.").to_dict()["value"]
        1.0
        """
        table = self.table if whole else self.shown
        return {
            "name": self.name,
            "value": plain(self.value),
            "unit": self.unit,
            "interval": None if self.interval is None else self.interval.to_dict(),
            "yardsticks": {k: plain(v) for k, v in self.yardsticks.items()},
            "values": {k: plain(v) for k, v in self.values.items()},
            "level": plain(self.value if self.level is None else self.level),
            "outside": plain(self.outside),
            "added": plain(self.added),
            "added_interval": None if self.added_interval is None else self.added_interval.to_dict(),
            "better": self.info.better if self.info else None,
            "trusted": self.trusted,
            **({"doubt": self.doubt} if self.doubt else {}),
            "sentence": self.sentence,
            "table": None if table is None else plain(table.to_dicts()),
            "counts": None if self.counts is None else list(self.counts),
            "threshold": self.threshold,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], info: MeasureInfo | None = None) -> Result:
        """Read back what `to_dict` wrote; the chart is gone, and so is what was not shown.

        Examples
        --------
        >>> Result.from_dict(Result("demo", 1.0, "As expected.").to_dict()).value
        1.0
        """
        spread, added, rows = data["interval"], data["added_interval"], data["table"]
        return cls(
            name=data["name"],
            value=_number(data["value"]),
            sentence=data["sentence"],
            unit=data["unit"],
            interval=None if spread is None else Interval.from_dict(spread),
            yardsticks={k: _number(v) for k, v in data["yardsticks"].items()},
            values={k: _number(v) for k, v in data["values"].items()},
            level=_number(data["level"]),
            outside=None if data["outside"] is None else _number(data["outside"]),
            added_interval=None if added is None else Interval.from_dict(added),
            table=pl.DataFrame(rows, infer_schema_length=None) if rows else None,
            counts=None if data["counts"] is None else tuple(data["counts"]),
            threshold=data["threshold"],
            trusted=data["trusted"],
            doubt=data.get("doubt", ""),
            info=info,
        )

    def _repr_html_(self) -> str:
        from dalenius.core.small_table import small_table  # noqa: PLC0415 (it writes figures as this file does)

        best = self.info.best if self.info else ""
        title, beside = html.escape(self.title), html.escape("; ".join(filter(None, (best, self.beside))))
        head = f"<h4>{title}: {figure(self.value, self.unit)}{f' <small>({beside})</small>' if beside else ''}</h4>"
        warning = "" if self.trusted else "<p><strong>Not trusted:</strong> see the sentence below.</p>"
        rows = "" if self.shown is None else small_table(self.shown)
        drawn = "" if self.chart is None else picture(self.chart, self.sentence)
        return f"<section>{head}{warning}<p>{html.escape(self.sentence)}</p>{drawn}{rows}</section>"


def _called(spread: Interval | None, info: MeasureInfo) -> Interval | None:
    """A range under its right name: an interval only where it was seen to hold what it says."""
    if spread is None or spread.kind != "confidence" or info.family != "risk" or info.covered:
        return spread
    return replace(spread, kind=SPREAD)


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
