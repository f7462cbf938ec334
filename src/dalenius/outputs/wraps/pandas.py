"""pandas, worn by a desk: the same calls, the same objects back, every table checked and written down."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from dalenius.outputs.query import ALL
from dalenius.outputs.wraps.asked import as_shares, each, edges_laid, taken
from dalenius.outputs.wraps.columns import dimension
from dalenius.outputs.wraps.frames import CheckedSeries, bare_class, beside, frame_class, of_people, taken_in
from dalenius.outputs.wraps.grids import Grid
from dalenius.outputs.wraps.sources import (
    aligned,
    by_unit,
    functions,
    keyed,
    listed,
    name_of,
    named,
    stat_of,
    unit_rows,
    units_of,
)
from dalenius.outputs.wraps.tables import grid_query
from dalenius.outputs.wraps.traced import bare

if TYPE_CHECKING:
    from dalenius.outputs.desk import Desk

READERS = (
    "read_csv", "read_parquet", "read_excel", "read_stata", "read_spss", "read_sas", "read_table", "read_feather",
    "read_json",
)  # fmt: skip
"""What opens files: their rows are data."""
CUTS = ("cut", "qcut")
"""What makes bins of numbers: rows stay those of their people."""
MAKERS = ("DataFrame", "concat", "merge", "json_normalize")
"""What makes frames at the desk."""


class PandasWrap:
    """pandas with the tables checked; everything else is pandas itself."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self.frame_class = frame_class(desk)

    def __getattr__(self, name: str) -> Any:
        found = getattr(pd, name)
        if name in CUTS:
            return _cutting(found)
        if name not in (*READERS, *MAKERS):
            return found

        def opened(*given: Any, **options: Any) -> Any:
            made = found(*given, **options)
            if not isinstance(made, pd.DataFrame):
                return made
            return taken_in(self._desk, bare(made), sure=name in READERS)

        return {"concat": self._concat, "merge": self._merge}.get(name, opened)

    def _concat(self, objs: Any, *given: Any, **options: Any) -> Any:
        parts = list(objs.values()) if isinstance(objs, dict) else list(objs)
        made = pd.concat(objs if isinstance(objs, dict) else parts, *given, **options)
        if not isinstance(made, pd.DataFrame):
            return made
        axis = options.get("axis", given[0] if given else 0)
        if axis in (1, "columns"):
            return beside(self._desk, parts, made)
        return of_people(frame_class(self._desk)(made), parts)

    def _merge(self, left: Any, right: Any, *given: Any, **options: Any) -> Any:
        return frame_class(self._desk)(left).merge(right, *given, **options)

    def crosstab(
        self, index: Any, columns: Any, values: Any = None, rownames: Any = None, colnames: Any = None,
        aggfunc: Any = None,
        margins: bool = False, margins_name: str = ALL, dropna: bool = True, normalize: Any = False, *,
        structural_zeros: Any = None, fix: str | None = None,
    ) -> Any:  # fmt: skip
        """``pandas.crosstab``, checked."""
        desk = self._desk
        rows, cols = listed(index), listed(columns)
        names = named([*rows, *cols], [*listed(rownames), *listed(colnames)])
        stats = ["count"] if aggfunc is None else [stat_of(f) for f in functions(aggfunc)]
        dims = [
            dimension(s, n, keep_missing=not dropna)
            for s, n in zip(aligned([*rows, *cols], values), names, strict=True)
        ]
        source = values if values is not None else rows[0]
        told = f"crosstab({', '.join(names)}" + (
            f"; {'/'.join(stats)} of {name_of(values)})" if values is not None else ")"
        )
        unit, notes = units_of(desk, source)
        query = grid_query(
            desk,
            dims,
            values,
            None if values is None else name_of(values),
            stats,
            unit,
            len(dims[0].codes),
            told,
            margins,
        )
        if normalize is not False:  # shares add up to a number everybody knows
            ways = {"index": range(len(rows), len(dims)), 0: range(len(rows), len(dims)), "columns": range(len(rows)),
                    1: range(len(rows))}  # fmt: skip
            query = as_shares(
                query, ways.get(normalize if normalize is not True else "all", range(len(dims)))
            )
        quick = (
            len(rows) == len(cols) == len(stats) == 1 and stats[0] in ("count", "mean", "sum") and not normalize
            and dropna and not (margins and margins_name != ALL)
        )  # fmt: skip

        def usual() -> Any:
            return pd.crosstab(
                index, columns, values, rownames, colnames, aggfunc, margins, margins_name, dropna, normalize
            )

        grid = Grid(query, len(rows), margins_name, None if quick else usual())
        return taken(desk, query, stats, grid, structural_zeros, fix, notes, shares=bool(normalize))

    def pivot_table(
        self, data: Any, values: Any = None, index: Any = None, columns: Any = None, aggfunc: Any = "mean",
        fill_value: Any = None,
        margins: bool = False, dropna: bool = True, margins_name: str = ALL, *, fix: str | None = None, **options: Any,
    ) -> Any:  # fmt: skip
        """``pandas.pivot_table``, checked; one output for each column of values."""
        desk, rows, cols = self._desk, listed(index), listed(columns)
        raw = pd.pivot_table(
            pd.DataFrame(data), values=values, index=index, columns=columns, aggfunc=aggfunc, fill_value=fill_value,
            margins=margins, dropna=dropna, margins_name=margins_name, **options,
        )  # fmt: skip
        stats = [stat_of(f) for f in functions(aggfunc)]
        wanted = listed(values) or [
            c for c in data.select_dtypes("number").columns if c not in (*rows, *cols, desk.unit)
        ]
        keys = keyed(data, [*rows, *cols])
        if keys is None:
            desk.declare("table by computed groups", command="pivot_table")
            return raw
        if unit_rows(desk, data, keys):
            return by_unit(desk, raw)
        return each(
            desk, data, keys, wanted, stats, raw, len(rows), "pivot_table", fix, margins_name if margins else None,
            gaps=not dropna,
        )  # fmt: skip


def _cutting(found: Any) -> Any:
    """``cut`` or ``qcut``, whose bins are a column of the frame that their numbers come from."""

    def cut(x: Any, *given: Any, **options: Any) -> Any:
        made = found(bare_class(x), *given, **options)
        series, *edges = made if isinstance(made, tuple) else (made,)
        if not isinstance(x, CheckedSeries) or not isinstance(series, pd.Series):
            return made
        series = type(x)(series).__finalize__(x)
        by_data = found is pd.qcut or not hasattr(given[0] if given else options.get("bins"), "__len__")
        if isinstance(series.dtype, pd.CategoricalDtype):
            edges_laid(x._desk, x, series.cat.categories, by_data)
        return (series, *edges) if edges else series

    cut.__name__, cut.__doc__ = found.__name__, f"``{found.__name__}``; rows stay those of their people."
    return cut
