"""Frames and columns whose figures are checked: what `desk.pandas` hands out.

Each desk has a pair of classes of its own, so that whatever pandas makes of a frame (a filter, a copy, a join) still
knows its desk.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd
import polars as pl

from dalenius.outputs.wraps.asked import each, one_way
from dalenius.outputs.wraps.grids import described
from dalenius.outputs.wraps.grouped import Grouped
from dalenius.outputs.wraps.reductions import REDUCTIONS, aggregated, reduced
from dalenius.outputs.wraps.registered import registered
from dalenius.outputs.wraps.sources import indexed, kept, keyed, listed, name_of, units_of
from dalenius.outputs.wraps.tables import percentiles
from dalenius.outputs.wraps.traced import Traced, TracedDtype, bare, held, traced

if TYPE_CHECKING:
    from dalenius.outputs.desk import Desk


class CheckedSeries(pd.Series):  # type: ignore[misc,unused-ignore]
    """A column of a checked frame; it knows the frame it comes from."""

    _metadata = ["_name", "_source", "_people"]  # noqa: RUF012 (pandas asks for a list)
    _desk: ClassVar[Any]
    _wide: ClassVar[Any]

    @property
    def _constructor(self) -> Any:
        return type(self)

    @property
    def _constructor_expanddim(self) -> Any:
        return self._wide

    @property
    def values(self) -> Any:
        """The values; names of units as ordinary ones."""
        return bare(self._values) if isinstance(self.dtype, TracedDtype) else super().values

    def _set_axis(self, axis: Any, labels: Any) -> None:
        super()._set_axis(axis, labels if labels is self._mgr.axes[-1] else plain_index(labels))
        object.__setattr__(self, "_source", None)  # rows under new labels are not found again

    def value_counts(self, *given: Any, **options: Any) -> Any:
        """``value_counts``, checked."""
        raw = pd.Series(bare(self)).value_counts(*given, **options)
        said = dict(zip(("normalize", "sort", "ascending", "bins", "dropna"), given, strict=False)) | options
        gaps, shares = not said.get("dropna", True), bool(said.get("normalize", False))
        return one_way(self._desk, self, raw, gaps, shares, said.get("bins"))

    def describe(self, *given: Any, **options: Any) -> Any:
        """``describe``, checked."""
        return described(
            self._desk, pd.DataFrame({name_of(self): self}), units_of(self._desk, self),
            lambda: pd.Series(self).describe(*given, **options),
        )  # fmt: skip

    def quantile(self, q: Any = 0.5, interpolation: str = "linear") -> Any:
        """``quantile``, checked."""
        return aggregated(
            self._desk,
            self,
            percentiles(q),
            lambda: pd.Series(self).quantile(q, interpolation),
            interpolation,
        )

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
            pd.DataFrame.__setitem__(
                frame, self._desk.unit, pd.DataFrame.__getitem__(source, self._desk.unit).loc[self.index]
            )
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

    _metadata = ["_source", "_people"]  # noqa: RUF012 (pandas asks for a list)
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
            indexed(self._desk, found, self.index)
        return found

    def __setitem__(self, key: Any, value: Any) -> None:
        unit = self._desk.unit
        before = self._names() if isinstance(key, str) and key == unit else None
        super().__setitem__(key, bare(value))  # names of units are no such names in another place
        if before is not None:
            self._named_again(before)

    def insert(self, loc: int, column: Any, value: Any, *given: Any, **options: Any) -> None:
        """``insert``; names of units from elsewhere become ordinary values."""
        super().insert(loc, column, bare(value), *given, **options)

    def isetitem(self, loc: Any, value: Any) -> None:
        """``isetitem``; names of units from elsewhere become ordinary values."""
        super().isetitem(loc, bare(value))

    def astype(self, dtype: Any, *given: Any, **options: Any) -> Any:
        """``astype``; units that have the same names afterwards are the same."""
        made, before = super().astype(dtype, *given, **options), self._names()
        if before is not None and isinstance(made, CheckedFrame):
            made._named_again(before)
        return made

    def reset_index(self, *given: Any, **options: Any) -> Any:
        """``reset_index``; names of units that were the index are a column again."""
        made, unit = super().reset_index(*given, **options), self._desk.unit
        if isinstance(made, CheckedFrame) and unit in self.index.names and unit in made.columns:
            names = pd.Series(self.index.get_level_values(unit))
            if traced(names) and not options.get("names") and len(names) == len(made):
                made._named_again(names)
        return made

    def set_index(self, keys: Any, *given: Any, **options: Any) -> Any:
        """``set_index``; names of units of these rows stay known as an index."""
        made, unit = super().set_index(keys, *given, **options), self._desk.unit
        asked = isinstance(keys, str | list) and listed(keys) == [unit] and not given
        names = self._names() if asked and not options.get("append") else None
        whole = self if made is None else made
        if names is not None:
            indexed(self._desk, whole, pd.Index(names._values, name=unit))
        return made

    def pivot(self, *given: Any, **options: Any) -> Any:
        """``pivot``; rows that are units stay known."""
        raw = pd.DataFrame(self).pivot(*given, **options)
        made = type(self)(raw)
        return indexed(self._desk, made, raw.index) if self._names() is not None else made

    def merge(self, right: Any, *given: Any, **options: Any) -> Any:
        """``merge``; units stay known where their own rows are joined to something."""
        unit, own = self._desk.unit, [s for s in (self, right) if isinstance(s, pd.DataFrame)]
        if unit is None or any(unit not in s.columns for s in own):
            made = pd.DataFrame(self).merge(bare_class(right), *given, **options)
            return beside(self._desk, own, made)
        made = type(self)(pd.DataFrame(bare(self)).merge(bare_class(bare(right)), *given, **options))
        sure = [traced(pd.DataFrame.__getitem__(s, unit)) for s in own]
        how = options.get("how", given[0] if given else "inner")
        if unit in made.columns and (
            all(sure) or (how == "inner" and any(sure)) or (how == "left" and sure[0])
        ):
            pd.DataFrame.isetitem(
                made, list(made.columns).index(unit), Traced(held(pd.DataFrame(made)[unit]))
            )
        return made

    def join(self, other: Any, *given: Any, **options: Any) -> Any:
        """``join``; units stay known where their own rows are joined to something."""
        own = [self, *(other if isinstance(other, list | tuple) else [other])]
        return beside(self._desk, own, super().join(other, *given, **options))

    def _names(self) -> Any:
        """Names of the units that came with the data; None where they did not."""
        unit = self._desk.unit
        if unit is None or list(self.columns).count(unit) != 1:
            return None
        column = pd.DataFrame.__getitem__(self, unit)
        return column if traced(column) else None

    def _named_again(self, before: Any) -> None:
        """Trust names that are the same as before, if of another kind."""
        place = list(self.columns).index(self._desk.unit)
        now = bare(pd.DataFrame(self).iloc[:, place])
        if len(now) == len(before) and now.astype(str).tolist() == bare(before).astype(str).tolist():
            super().isetitem(place, Traced(held(now)))

    def _set_axis(self, axis: Any, labels: Any) -> None:
        own = axis == 0 or labels is self._mgr.axes[-1]
        super()._set_axis(axis, labels if own else plain_index(labels))
        if axis == 1:  # rows, as pandas counts its own axes
            object.__setattr__(self, "_source", None)

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

    def value_counts(self, subset: Any = None, normalize: bool = False, *given: Any, **options: Any) -> Any:
        """``value_counts``, checked."""
        keys = listed(subset) or [c for c in self.columns if c != self._desk.unit]
        raw = pd.DataFrame(self).value_counts(keys, normalize, *given, **options)
        options |= dict(zip(("sort", "ascending", "dropna"), given, strict=False))
        gaps, named = not options.get("dropna", True), keyed(self, keys) or []
        return each(
            self._desk, self, named, [None], ["count"], raw, len(keys), "value_counts", None, gaps=gaps,
            shares=range(len(keys)) if normalize else None,
        )  # fmt: skip

    def quantile(self, q: Any = 0.5, *given: Any, **options: Any) -> Any:
        """``quantile``, checked."""
        options.setdefault("numeric_only", True)
        way = options.get("interpolation", given[2] if len(given) > 2 else "linear")
        return self._columns(
            lambda: kept(self._desk, self).quantile(q, *given, **options), percentiles(q), str(way)
        )

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

    def _columns(
        self, usual: Callable[[], Any], stats: list[str] | None = None, interpolation: str = "linear"
    ) -> Any:
        owner = units_of(self._desk, self)
        return described(self._desk, self, owner, usual, stats, interpolation=interpolation)


def plain_index(labels: Any) -> Any:
    """Labels of rows as ordinary ones: names of units are no such names in another place."""
    if isinstance(labels, pd.MultiIndex):
        return labels.set_levels([bare(level) for level in labels.levels])
    return bare(labels)


def bare_class(given: Any) -> Any:
    """A checked frame or column as a plain one."""
    if isinstance(given, CheckedFrame):
        return pd.DataFrame(given)
    return pd.Series(given) if isinstance(given, CheckedSeries) else given


def beside(desk: Desk, parts: Sequence[Any], made: Any) -> Any:
    """Rows put side by side; whoever lost the unit of its rows does not get that of others."""
    whole = of_people(frame_class(desk)(made), parts)
    if desk.unit not in whole.columns:
        return whole
    for part in parts:
        owned = desk.unit in part.columns if part.ndim == 2 else part.name == desk.unit
        alone = owned and (part.ndim == 1 or part.shape[1] == 1)
        if alone or (not owned and getattr(part, "_people", False) and not _near(part, parts)):
            return frame_class(desk)(bare(whole))
    return whole


def of_people(made: Any, parts: Sequence[Any]) -> Any:
    """A frame that knows whether its rows are, or were, those of units."""
    object.__setattr__(made, "_people", any(getattr(part, "_people", False) for part in parts))
    return made


def _near(part: Any, parts: Sequence[Any]) -> bool:
    """Whether a part is made of columns of the frame that it is put beside, row by row."""
    source = getattr(part, "_source", None)
    return source is not None and any(p is source or p.index.equals(source.index) for p in parts)


def taken_in(desk: Desk, frame: Any, *, sure: bool) -> Any:
    """A frame as one of the desk's, with the units that came with it."""
    if isinstance(frame, pl.DataFrame):
        frame = frame.to_pandas()
    made = frame_class(desk)(frame)
    pd.DataFrame._set_axis(made, 1, plain_index(made.index))  # type: ignore[attr-defined,unused-ignore]
    column = pd.DataFrame.__getitem__(made, desk.unit) if list(made.columns).count(desk.unit) == 1 else None
    if column is None or not isinstance(column.dtype, TracedDtype):
        made = registered(desk, made, sure=sure)
    object.__setattr__(made, "_people", desk.unit in made.columns)
    return made


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


def _texts(self: Any) -> Any:
    """Methods of texts; of names of units too."""
    plain_one = type(self)(bare(self)).__finalize__(self) if isinstance(self.dtype, TracedDtype) else self
    return pd.Series.__dict__["str"].__get__(plain_one, type(self))


setattr(CheckedSeries, "str", property(_texts))  # noqa: B010 (a name that types use)
for _name in REDUCTIONS:
    setattr(CheckedSeries, _name, _reduction(pd.Series, _name))
    if hasattr(pd.DataFrame, _name) and _name not in ("idxmax", "idxmin"):
        setattr(CheckedFrame, _name, _reduction(pd.DataFrame, _name))


RELABELLED = (
    "reset_index",
    "set_axis",
    "sort_values",
    "sort_index",
    "sample",
    "drop_duplicates",
    "explode",
    "rename",
)
"""Calls that may leave rows under other labels."""


def _relabelled(kind: Any, name: str) -> Callable[..., Any]:
    usual = getattr(kind, name)

    def called(self: Any, *given: Any, **options: Any) -> Any:
        made = usual(self, *given, **options)
        moved = options.get("ignore_index") or name in ("reset_index", "set_axis")
        moved = moved or (name == "rename" and (given or options.get("index") is not None))
        if moved and isinstance(made, CheckedSeries | CheckedFrame) and not _as_before(self, made, options):
            object.__setattr__(made, "_source", None)  # the row of a label is another one now
        return made

    called.__name__, called.__doc__ = (
        name,
        f"``{name}``; rows under other labels are not found again by them.",
    )
    return called


def _as_before(one: Any, two: Any, options: Any) -> bool:
    return not options.get("ignore_index") and bool(one.index.equals(two.index))


for _name in RELABELLED:
    setattr(CheckedSeries, _name, _relabelled(pd.Series, _name))
    setattr(CheckedFrame, _name, _relabelled(CheckedFrame if _name == "reset_index" else pd.DataFrame, _name))


def frame_class(desk: Desk) -> Any:
    """A kind of frame whose figures are checked by this desk."""
    found = getattr(desk, "_frame_class", None)
    if found is None:
        found = type("CheckedFrame", (CheckedFrame,), {"_desk": desk})
        column = type("CheckedSeries", (CheckedSeries,), {"_desk": desk, "_wide": found})
        setattr(found, "_sliced", column)  # noqa: B010 (each names the other)
        desk._frame_class = found  # type: ignore[attr-defined]
    return found
