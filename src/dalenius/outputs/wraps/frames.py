"""Frames and columns whose figures are checked: what `desk.pandas` hands out.

Each desk has a pair of classes of its own, so that whatever pandas makes of a frame (a filter, a copy, a join) still
knows its desk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl

from dalenius.outputs.wraps.asked import each, one_way
from dalenius.outputs.wraps.grids import described
from dalenius.outputs.wraps.grouped import Grouped
from dalenius.outputs.wraps.reductions import REDUCTIONS, aggregated, reduced
from dalenius.outputs.wraps.sources import kept, keyed, listed, name_of, units_of

if TYPE_CHECKING:
    from dalenius.outputs.desk import Desk


class CheckedSeries(pd.Series):  # type: ignore[misc,unused-ignore]
    """A column of a checked frame; it knows the frame it comes from."""

    _metadata = ["_source"]  # noqa: RUF012 (pandas asks for a list)
    _desk: ClassVar[Any]
    _wide: ClassVar[Any]

    @property
    def _constructor(self) -> Any:
        return type(self)

    @property
    def _constructor_expanddim(self) -> Any:
        return self._wide

    def value_counts(self, *given: Any, **options: Any) -> Any:
        """``value_counts``, checked."""
        raw = pd.Series(self).value_counts(*given, **options)
        gaps = not options.get("dropna", given[4] if len(given) > 4 else True)
        return one_way(self._desk, self, raw, gaps)

    def describe(self, *given: Any, **options: Any) -> Any:
        """``describe``, checked."""
        return described(
            self._desk, pd.DataFrame({name_of(self): self}), units_of(self._desk, self),
            lambda: pd.Series(self).describe(*given, **options),
        )  # fmt: skip

    def quantile(self, q: Any = 0.5, interpolation: str = "linear") -> Any:
        """``quantile``, checked."""
        stats = [f"p{100 * x:g}" for x in np.atleast_1d(q)]
        return aggregated(self._desk, self, stats, lambda: pd.Series(self).quantile(q, interpolation))

    def agg(self, func: Any = None, *given: Any, **options: Any) -> Any:
        """``agg``, checked."""
        return reduced(self._desk, self, func, lambda: pd.Series(self).agg(func, *given, **options))

    aggregate = agg

    def groupby(self, by: Any = None, *given: Any, **options: Any) -> Any:
        """``groupby``, checked."""
        name = name_of(self)
        frame = self._wide({name: pd.Series(self)})
        source = getattr(self, "_source", None)
        if source is not None and self._desk.unit in source.columns and source.index.is_unique:
            frame[self._desk.unit] = pd.DataFrame.__getitem__(source, self._desk.unit).loc[self.index]
        groups = pd.DataFrame(frame).groupby(plain(by), *given, **options)[name]
        return Grouped(self._desk, frame, by, groups, [name])

    def corr(self, other: Any, *given: Any, **options: Any) -> Any:
        """``corr``, checked."""
        return _together(
            self, other, pd.Series(self).corr(pd.Series(other), *given, **options), "correlation"
        )

    def cov(self, other: Any, *given: Any, **options: Any) -> Any:
        """``cov``, checked."""
        return _together(self, other, pd.Series(self).cov(pd.Series(other), *given, **options), "covariance")


class CheckedFrame(pd.DataFrame):  # type: ignore[misc,unused-ignore]
    """A frame whose figures are checked; without the column of the unit it knows the frame it comes from."""

    _metadata = ["_source", "_retold"]  # noqa: RUF012 (pandas asks for a list)
    _desk: ClassVar[Any]
    _sliced: ClassVar[Any]

    @property
    def _constructor(self) -> Any:
        return type(self)

    @property
    def _constructor_sliced(self) -> Any:
        return self._sliced

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        owned = isinstance(found, CheckedFrame) and self._desk.unit in found.columns
        if isinstance(found, CheckedSeries | CheckedFrame) and not owned and len(found) == len(self):
            object.__setattr__(found, "_source", self if self._desk.unit in self.columns else self._from)
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        unit = self._desk.unit
        before = (
            pd.DataFrame(self)[unit].astype(str).tolist() if key == unit and unit in self.columns else None
        )
        super().__setitem__(key, value)
        if before is not None and pd.DataFrame(self)[unit].astype(str).tolist() != before:
            object.__setattr__(self, "_retold", True)

    @property
    def _from(self) -> Any:
        """The frame with the column of the unit that this one comes from."""
        return getattr(self, "_source", None)

    def groupby(self, by: Any = None, *given: Any, **options: Any) -> Any:
        """``groupby``, checked."""
        return Grouped(self._desk, self, by, pd.DataFrame(self).groupby(plain(by), *given, **options))

    def pivot_table(self, *given: Any, **options: Any) -> Any:
        """``pivot_table``, checked."""
        return self._desk.pandas.pivot_table(self, *given, **options)

    def describe(self, *given: Any, **options: Any) -> Any:
        """``describe``, checked."""
        return self._columns(lambda: kept(self._desk, self).describe(*given, **options))

    def value_counts(self, subset: Any = None, **options: Any) -> Any:
        """``value_counts``, checked."""
        keys = listed(subset) or [c for c in self.columns if c != self._desk.unit]
        raw = pd.DataFrame(self).value_counts(subset=keys, **options)
        gaps, named = not options.get("dropna", True), keyed(self, keys) or []
        return each(
            self._desk, self, named, [None], ["count"], raw, len(keys), "value_counts", None, gaps=gaps
        )

    def quantile(self, q: Any = 0.5, *given: Any, **options: Any) -> Any:
        """``quantile``, checked."""
        options.setdefault("numeric_only", True)
        stats = [f"p{100 * x:g}" for x in np.atleast_1d(q)]
        return self._columns(lambda: kept(self._desk, self).quantile(q, *given, **options), stats)

    def agg(self, func: Any = None, axis: Any = 0, *given: Any, **options: Any) -> Any:
        """``agg``, checked."""
        if axis in (1, "columns"):
            return pd.DataFrame(self).agg(func, axis, *given, **options)
        return reduced(
            self._desk, self, func, lambda: kept(self._desk, self).agg(func, axis, *given, **options)
        )

    aggregate = agg

    def info(self, *given: Any, **options: Any) -> None:
        """``info``: looked at on the screen like ``head``, so its counts of values are no outputs."""
        pd.DataFrame(self).info(*given, **options)

    def corr(self, *given: Any, **options: Any) -> Any:
        """``corr``, checked."""
        return self._paired("corr", *given, **options)

    def cov(self, *given: Any, **options: Any) -> Any:
        """``cov``, checked."""
        return self._paired("cov", *given, **options)

    def _paired(self, name: str, *given: Any, **options: Any) -> Any:
        from dalenius.outputs.wraps.statsmodels import correlations  # noqa: PLC0415 (models are another border)

        options.setdefault("numeric_only", True)
        made = getattr(kept(self._desk, self), name)(*given, **options)
        return correlations(self._desk, self, made, "correlation" if name == "corr" else "covariance")

    def _columns(self, usual: Callable[[], Any], stats: list[str] | None = None) -> Any:
        return described(self._desk, self, units_of(self._desk, self), usual, stats)


def plain(by: Any) -> Any:
    """What is grouped by, as plain pandas: a column of a class of its own would lose its name."""
    if isinstance(by, list | tuple):
        return [plain(key) for key in by]
    return pd.Series(by) if isinstance(by, CheckedSeries) else by


def _together(one: CheckedSeries, two: Any, figure: Any, statistic: str) -> Any:
    """A figure of two columns: two parameters, from the rows where both are there."""
    from dalenius.outputs.wraps.statsmodels import together  # noqa: PLC0415 (models are another border)

    pair = pd.concat([pd.Series(one), pd.Series(two)], axis=1, join="inner")
    pair.columns = pd.Index(
        [name_of(one), name_of(two) if name_of(two) != name_of(one) else f"{name_of(two)} (2)"]
    )
    (unit, ids), notes = units_of(one._desk, one)
    if len(pair) != len(one):  # only some rows are in both
        places = one.index.get_indexer(pair.index)
        unit, ids = (unit[places], ids) if unit is not None else (None, pair.index)
    told = pl.DataFrame({"statistic": [statistic], "value": [float(figure)]})
    together(one._desk, statistic, pair, unit, ids, told, figure, notes, call=statistic)
    return figure


def _reduction(kind: Any, name: str) -> Callable[..., Any]:
    usual = getattr(kind, name)

    def asked(self: Any, *given: Any, **options: Any) -> Any:
        """``asked``, checked."""
        if self.ndim == 2 and (
            options.get("axis") in (1, "columns") or (given and given[0] in (1, "columns"))
        ):
            return usual(pd.DataFrame(self), *given, **options)  # one figure a row: no output
        whole = pd.Series(self) if self.ndim == 1 else kept(self._desk, self)
        if self.ndim == 2 and name not in ("count", "nunique"):
            options.setdefault("numeric_only", True)
        return reduced(self._desk, self, name, lambda: usual(whole, *given, **options))

    asked.__name__, asked.__doc__ = name, f"``{name}``, checked."
    return asked


for _name in REDUCTIONS:
    setattr(CheckedSeries, _name, _reduction(pd.Series, _name))
    if hasattr(pd.DataFrame, _name) and _name not in ("idxmax", "idxmin"):
        setattr(CheckedFrame, _name, _reduction(pd.DataFrame, _name))


def frame_class(desk: Desk) -> Any:
    """A kind of frame whose figures are checked by this desk."""
    found = getattr(desk, "_frame_class", None)
    if found is None:
        found = type("CheckedFrame", (CheckedFrame,), {"_desk": desk})
        column = type("CheckedSeries", (CheckedSeries,), {"_desk": desk, "_wide": found})
        setattr(found, "_sliced", column)  # noqa: B010 (each names the other)
        desk._frame_class = found  # type: ignore[attr-defined]
    return found
