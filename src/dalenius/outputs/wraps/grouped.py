"""`Grouped`: a grouping of a checked frame whose results are checked."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dalenius.outputs.wraps.asked import each
from dalenius.outputs.wraps.figures import figure_of_frame
from dalenius.outputs.wraps.sources import by_unit, functions, keyed, listed, stat_of, unit_rows
from dalenius.outputs.wraps.tables import percentiles

if TYPE_CHECKING:
    from dalenius.outputs.desk import Desk

CHECKED = ("mean", "sum", "count", "size", "median", "min", "max", "std", "var", "nunique", "first", "last")
UNCHECKED = ("apply", "prod", "sem", "skew", "kurt", "idxmax", "idxmin", "corr", "cov", "nlargest",
             "nsmallest", "unique", "ohlc", "any", "all", "corrwith", "mode", "nth", "head", "tail")  # fmt: skip
"""Calls of a grouping that make figures without a check of their own."""
ANY_KIND = ("size", "count", "first", "last", "nunique")
"""Calls that texts can answer too."""


class Grouped:
    """A grouping whose results are checked; what it does not know goes to pandas."""

    def __init__(self, desk: Desk, frame: Any, by: Any, groups: Any, chosen: list[Any] | None = None) -> None:
        self._desk, self._frame, self._by, self._groups, self._chosen = desk, frame, by, groups, chosen

    def __getitem__(self, columns: Any) -> Grouped:
        return Grouped(self._desk, self._frame, self._by, self._groups[columns], listed(columns))

    def __len__(self) -> int:
        return len(self._groups)

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        for label, part in self._groups:
            yield label, self._checked(part)

    def get_group(self, name: Any) -> Any:
        """One group, checked like the whole."""
        return self._checked(self._groups.get_group(name))

    def _checked(self, part: Any) -> Any:
        """A part of the frame as one of the desk's own; a column knows the frame it comes from."""
        own = type(self._frame)
        if part.ndim == 2:
            return own(part)
        return own(self._frame.loc[part.index])[part.name] if part.name in self._frame else own._sliced(part)

    def __getattr__(self, name: str) -> Any:
        if name in self._frame.columns and not hasattr(type(self._groups), name):
            return self[name]
        found = getattr(self._groups, name)
        if name in UNCHECKED:
            return self._looked_at(name, found)
        if name not in CHECKED:
            return found

        def asked(*given: Any, **options: Any) -> Any:
            if name not in ANY_KIND and self._chosen is None:
                options.setdefault("numeric_only", True)
            return self._take(found(*given, **options), [name])

        return asked

    def _looked_at(self, name: str, found: Callable[..., Any]) -> Callable[..., Any]:
        """A call that makes figures nobody can check here: a person looks at them."""

        def asked(*given: Any, **options: Any) -> Any:
            raw = found(*given, **options)
            of = figure_of_frame(self._desk, self._frame, self._chosen)
            self._desk.declare(name, command=f"groupby({', '.join(self._told)}).{name}", of=of)
            return raw

        return asked

    @property
    def _told(self) -> list[str]:
        keys = keyed(self._frame, self._by)
        return ["computed groups"] if keys is None else [name for name, _ in keys]

    def agg(self, func: Any = None, *given: Any, **options: Any) -> Any:
        """``agg``, checked."""
        raw = self._groups.agg(func, *given, **options)
        named = func is None and all(isinstance(v, tuple) for v in options.values())
        if options and named:
            return self._by_column(raw, [(k, v[0], [v[1]]) for k, v in options.items()])
        if options and func is None:
            return self._take(raw, [stat_of(v) for v in options.values()])
        if isinstance(func, dict):
            return self._by_column(raw, [(c, c, functions(fs)) for c, fs in func.items()])
        return self._take(raw, [stat_of(f) for f in functions(func)])

    aggregate = agg

    def _by_column(self, raw: Any, asked: Sequence[tuple[Any, Any, Sequence[Any]]]) -> Any:
        """Figures that say of which column they are, one output a column: name in the table, column, functions."""
        if unit_rows(self._desk, self._frame, keyed(self._frame, self._by) or []):
            return by_unit(self._desk, raw)
        made, first = raw, raw.columns.get_level_values(0)
        for column in dict.fromkeys(c for _, c, _ in asked):
            own = [name for name, of, _ in asked if of == column]
            places = np.flatnonzero(first.isin(own))
            stats = [stat_of(f) for _, of, fs in asked if of == column for f in fs]
            part = raw.iloc[:, places]
            shown = self._take(part, list(dict.fromkeys(stats)), [column])
            if isinstance(shown, pd.DataFrame) and not shown.equals(part):
                made = made.copy() if made is raw else made
                for j, place in enumerate(places):
                    made.isetitem(int(place), shown.iloc[:, j])
        return made

    def quantile(self, q: Any = 0.5, **options: Any) -> Any:
        """``quantile``, checked."""
        raw, way = self._groups.quantile(q, **options), str(options.get("interpolation", "linear"))
        if not hasattr(q, "__len__"):
            return self._take(raw, percentiles(q), way=way)
        wide = raw.unstack()  # one column a quantile, as tables have it
        shown = self._take(wide, percentiles(q), way=way)
        return raw if shown.equals(wide) else shown.stack()

    def value_counts(self, *given: Any, **options: Any) -> Any:
        """``value_counts``, checked: a table by the groups and the column."""
        keys, name = keyed(self._frame, self._by), (self._chosen or [None])[0]
        if not keys or len(self._chosen or ()) != 1 or self._groups.ndim != 1:
            return self._looked_at("value_counts", self._groups.value_counts)(*given, **options)
        raw, whole = self._groups.value_counts(*given, **options), [*keys, (str(name), self._frame[name])]
        said = dict(zip(("normalize", "sort", "ascending", "bins", "dropna"), given, strict=False)) | options
        if said.get("bins") is not None:
            self._desk.declare("value counts of bins by groups", command=f"groupby({', '.join(self._told)})")
            return raw
        return each(
            self._desk, self._frame, whole, [None], ["count"], raw, len(whole), "groupby", None,
            gaps=not said.get("dropna", True), shares=(len(keys),) if said.get("normalize") else None,
        )  # fmt: skip

    def describe(self, **options: Any) -> Any:
        """``describe``, checked."""
        stats = ["count", "mean", "std", "min", "p25", "median", "p75", "max"]
        return self._take(self._groups.describe(**options), stats)

    def _take(
        self, raw: Any, stats: Sequence[str], columns: list[Any] | None = None, way: str = "linear"
    ) -> Any:
        keys = keyed(self._frame, self._by)
        if not keys:
            of = figure_of_frame(self._desk, self._frame, columns or self._chosen)
            self._desk.declare("table by computed groups", command="groupby", of=of)
            return raw
        if unit_rows(self._desk, self._frame, keys):
            return by_unit(self._desk, raw)
        names = [name for name, _ in keys]
        wanted: list[Any] = [None]
        if list(stats) != ["size"]:
            frame = self._frame if set(stats) <= set(ANY_KIND) else self._frame.select_dtypes("number")
            known = (
                columns or self._chosen or [c for c in frame.columns if c not in (*names, self._desk.unit)]
            )
            wanted = list(dict.fromkeys(known)) or [None]
        gaps = not getattr(self._groups, "dropna", True)
        return each(
            self._desk, self._frame, keys, wanted, stats, raw, len(keys), "groupby", None, gaps=gaps, way=way
        )
