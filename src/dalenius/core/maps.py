"""The risk–utility map: utility to the right, risk downwards, so the best corner is bottom right."""

from __future__ import annotations

import math
import textwrap
from typing import Any, Literal

import polars as pl

from dalenius.core.labels import Place, place_labels
from dalenius.core.later import altair as alt
from dalenius.core.result import Interval, Result
from dalenius.core.style import ORIGINAL, QUIET, RISK

ALLOWED = "#2E7D4F"
LABEL = "format(datum.value, ',')"
"""Plain numbers: a logarithmic axis would write 1e+1."""
MET, NOT_MET = " ✓", " ✗"


def risk_utility_map(points: pl.DataFrame, width: int = 620, height: int = 340) -> alt.TopLevelMixin:
    """Candidates as points with intervals; the ones nobody beats in both ways are filled and joined.

    Columns: candidate, risk, risk_low, risk_high, utility, risk_title, utility_title, utility_better, original_risk;
    of a release also utility_low, utility_high, safe, chosen, risk_limit, utility_limit. A limit that is the same for
    all candidates is drawn as a region; one that each candidate brings along (its own holdout figure) as a tick.
    """
    frame = Frame(points, width, height)
    marked = points.with_columns(pl.Series("best", frontier(points)), pl.Series("said", _said(points)))
    base = alt.Chart(marked.to_arrow()).properties(width=width, height=height)
    layers = [*_region(frame), *_limits(base, frame), *_original(frame)]
    line = base.transform_filter("datum.best").mark_line(color=RISK, strokeDash=[5, 4], opacity=0.5)
    layers.append(line.encode(x=frame.x("utility"), y=frame.y("risk"), order=alt.Order("utility:Q")))
    layers.append(
        base.mark_rule(color=QUIET).encode(
            x=frame.x("utility"), y=frame.y("risk_low"), y2=alt.Y2("risk_high:Q")
        )
    )
    if "utility_low" in points.columns:
        layers.append(
            base.mark_rule(color=QUIET).encode(
                x=frame.x("utility_low"), x2=alt.X2("utility_high:Q"), y=frame.y("risk")
            )
        )
    layers.append(
        base.mark_point(size=90, strokeWidth=2, opacity=1).encode(
            x=frame.x("utility"),
            y=frame.y("risk"),
            color=alt.condition("datum.best", alt.value(RISK), alt.value(QUIET)),
            fill=alt.condition("datum.best", alt.value(RISK), alt.value("white")),
            tooltip=[
                alt.Tooltip("candidate"),
                alt.Tooltip("risk:Q", format=".3g"),
                alt.Tooltip("utility:Q", format=".3g"),
            ],
        )
    )
    return alt.layer(*layers, *_labels(frame, marked))


def turned(value: float, top: float) -> float:
    """A figure of which more is better as a distance from the most there can be; its inverse where there is no most.

    Examples
    --------
    >>> turned(0.75, 1.0), turned(4.0, math.inf)
    (0.25, 0.25)
    """
    return top - value if math.isfinite(top) else 1 / max(value, 1e-9)


def risk_facts(result: Result) -> dict[str, Any]:
    """Where a result is on the risk axis: by what the file adds, or by its level where nobody outside was looked at.

    Less than nothing is drawn as nothing, so that chance does not rank files that add nothing.

    Examples
    --------
    >>> risk_facts(Result("demo", 22.0, "", outside=20.0))["risk"]
    2.0
    """
    title, unit = result.info.title if result.info else result.name, result.unit
    value, spread, original = result.value, result.interval, result.yardsticks.get("original")
    if result.added is not None:
        title, original, unit = f"{title}: what the file adds", None, result.added_unit
        value, spread = max(result.added, 0.0), result.added_interval
    elif result.info is not None and result.info.better == "higher":  # downwards is better on every map
        top = result.info.bounds[1]
        title = f"{title}, distance from {top:g}" if math.isfinite(top) else f"1 / {title}"
        value, original = turned(value, top), None
        spread = Interval(turned(spread.high, top), turned(spread.low, top)) if spread else None
    low, high = (max(spread.low, 0.0), max(spread.high, 0.0)) if spread else (None, None)
    return {
        "risk": value, "risk_low": low, "risk_high": high, "risk_title": title, "risk_unit": unit,
        "original_risk": original,
    }  # fmt: skip


class Frame:
    """The drawing area: data to pixels and back, so that labels can be placed before anything is drawn."""

    def __init__(self, points: pl.DataFrame, width: int, height: int) -> None:
        self.points, self.width, self.height = points, width, height
        self.first = points.row(0, named=True)
        limits = [_highest(points, name) for name in ("utility", "utility_high", "utility_limit")]
        self.far = 1.25 * max(*limits[:2], min(limits[2], 3 * limits[0]), 1.0)
        tops = [_highest(points, name) for name in ("risk", "risk_high", "original_risk")]
        # some room above nothing, so that chance does not look large; less where the scale itself ends below 1
        limit = _highest(points, "risk_limit")
        self.top = 1.25 * max(*tops, min(limit, 1.0) if limit > 0 else 1.0)
        self.reverse = self.first["utility_better"] == "lower"
        # distances from the original reach over powers of ten; shares that are right lie side by side near their most
        self.even = not self.reverse and str(self.first["utility_title"]).endswith("%")
        if self.even:
            self.far = min(1.1 * self.far / 1.25, 100.0) if self.far <= 125 else self.far

    def x(self, name: str) -> alt.X:
        """Utility, better to the right."""
        kind: Literal["linear", "symlog"] = "linear" if self.even else "symlog"
        scale = alt.Scale(type=kind, reverse=self.reverse, domain=[0, self.far])
        text = f"{self.first['utility_title']}  →  better"
        lines = textwrap.wrap(text, max(self.width // 6, 20))  # letters of a title are some six pixels wide
        title = lines if len(lines) > 1 else text
        if self.even:
            return alt.X(f"{name}:Q", title=title, scale=scale)
        return alt.X(
            f"{name}:Q", title=title, scale=scale, axis=alt.Axis(values=_ticks(self.far), labelExpr=LABEL)
        )

    def y(self, name: str) -> alt.Y:
        """Risk, better downwards."""
        scale = alt.Scale(type="symlog", domain=[0, self.top])
        axis = alt.Axis(values=_ticks(self.top), labelExpr=LABEL)
        title = textwrap.wrap(self.first["risk_title"], max(self.height // 8, 12))
        return alt.Y(f"{name}:Q", title=[*title, "↓ better"], scale=scale, axis=axis)

    def pixels(self, utility: float, risk: float) -> tuple[float, float]:
        """Where a point is drawn, from the top left."""
        across = utility / self.far if self.even else math.log1p(max(utility, 0)) / math.log1p(self.far)
        up = math.log1p(max(risk, 0)) / math.log1p(self.top)
        return (1 - across if self.reverse else across) * self.width, (1 - up) * self.height

    def values(self, x: float, y: float) -> tuple[float, float]:
        """Utility and risk at a pixel."""
        across = 1 - x / self.width if self.reverse else x / self.width
        up = 1 - y / self.height
        use = across * self.far if self.even else math.expm1(across * math.log1p(self.far))
        return use, math.expm1(up * math.log1p(self.top))


def _highest(points: pl.DataFrame, name: str) -> float:
    if name not in points.columns:
        return 0.0
    highest = points[name].drop_nulls().drop_nans().max()
    return float(highest) if isinstance(highest, (int, float)) else 0.0


def _common(points: pl.DataFrame, name: str) -> float | None:
    """The limit when it is one and the same for all candidates."""
    if name not in points.columns:
        return None
    limits = points[name].drop_nulls()
    same = len(limits) == len(points) and limits.max() == limits.min()
    return float(limits[0]) if same else None


def _said(points: pl.DataFrame) -> list[str]:
    names = points["candidate"].to_list()
    if "safe" not in points.columns:
        return names
    return [f"{name}{MET if safe else NOT_MET}" for name, safe in zip(names, points["safe"], strict=True)]


def _region(frame: Frame) -> list[alt.Chart]:
    """What the policy allows, where its limits are fixed numbers."""
    risk, use = _common(frame.points, "risk_limit"), _common(frame.points, "utility_limit")
    if risk is None and use is None:
        return []
    if risk is None and _highest(frame.points, "risk_limit"):
        return _edge(frame, use)  # each file has its own limit: an area would go on above the ticks
    top = frame.top if risk is None else min(risk, frame.top)
    low, high = (0.0, frame.far)
    if use is not None:
        low, high = (0.0, min(use, frame.far)) if frame.reverse else (min(use, frame.far), frame.far)
    data = pl.DataFrame({"low": [low], "high": [high], "bottom": [0.0], "top": [top]})
    box = alt.Chart(data.to_arrow()).mark_rect(fill=ALLOWED, fillOpacity=0.12)
    return [box.encode(x=frame.x("low"), x2=alt.X2("high:Q"), y=frame.y("bottom"), y2=alt.Y2("top:Q"))]


def _edge(frame: Frame, use: float | None) -> list[alt.Chart]:
    """The limit of usefulness alone, as a line."""
    if use is None or use > frame.far:
        return []
    line = alt.Chart(pl.DataFrame({"limit": [use]}).to_arrow()).mark_rule(color=ALLOWED, strokeWidth=3)
    return [line.encode(x=frame.x("limit"))]


def _limits(base: alt.Chart, frame: Frame) -> list[alt.Chart]:
    """Limits that differ by candidate, as a tick at each."""
    points = frame.points
    if "risk_limit" not in points.columns or not points["risk_limit"].drop_nulls().len():
        return []
    if _common(points, "risk_limit") is not None:
        return []
    tick = base.mark_tick(color=ALLOWED, thickness=3, size=26, orient="horizontal", clip=True)
    return [tick.encode(x=frame.x("utility"), y=frame.y("risk_limit"))]


def _original(frame: Frame) -> list[alt.Chart]:
    if frame.first["original_risk"] is None:
        return []
    base = alt.Chart(frame.points.head(1).to_arrow())
    word = base.mark_text(align="left", dx=5, color=ORIGINAL, text="original", clip=False)
    return [
        base.mark_rule(color=ORIGINAL, strokeDash=[2, 3]).encode(y=frame.y("original_risk")),
        word.encode(y=frame.y("original_risk"), x=alt.value(frame.width)),
    ]


def _labels(frame: Frame, marked: pl.DataFrame) -> list[alt.Chart]:
    """Names beside the points, moved apart where they would collide, with a thin line to the point when far."""
    spots = [frame.pixels(u, r) for u, r in marked.select("utility", "risk").iter_rows()]
    placed = place_labels(spots, marked["said"].to_list(), frame.width, frame.height)
    rows: list[dict[str, Any]] = []
    for said, place, (u, r) in zip(
        marked["said"], placed, marked.select("utility", "risk").iter_rows(), strict=True
    ):
        rows.append(_label(frame, said, place, u, r))
    base = alt.Chart(pl.DataFrame(rows).to_arrow())
    leader = base.transform_filter("datum.far").mark_rule(color=QUIET, strokeWidth=0.8)
    text = base.mark_text(align="left", baseline="middle", fontSize=12, fontWeight=600)
    return [
        leader.encode(x=frame.x("from_u"), y=frame.y("from_r"), x2=alt.X2("u:Q"), y2=alt.Y2("r:Q")),
        text.encode(x=frame.x("u"), y=frame.y("r"), text=alt.Text("said:N")),
    ]


def _label(frame: Frame, said: str, place: Place, utility: float, risk: float) -> dict[str, Any]:
    u, r = frame.values(place.x, place.y)
    return {"said": said, "u": u, "r": r, "from_u": utility, "from_r": risk, "far": place.far}


def frontier(points: pl.DataFrame) -> list[bool]:
    """Which candidates nobody beats in risk and utility at once.

    Examples
    --------
    >>> points = pl.DataFrame({"risk": [1, 2, 3], "utility": [9, 5, 6], "utility_better": ["lower"] * 3})
    >>> frontier(points)
    [True, True, False]
    """
    sign = 1 if points["utility_better"][0] == "lower" else -1
    pairs = [(float(r), sign * float(u)) for r, u in zip(points["risk"], points["utility"], strict=True)]
    return [not any(r <= mine[0] and u <= mine[1] and (r, u) != mine for r, u in pairs) for mine in pairs]


def _ticks(top: float) -> list[float]:
    """Round numbers that read well on a scale that is linear near zero and logarithmic beyond."""
    fine = (0.05, 0.1, 0.2, 0.5) if top < 1 else ()
    return [t for t in (0, *fine, 1, 3, 10, 30, 100, 300, 1000, 3000, 10_000, 100_000) if t <= top]
