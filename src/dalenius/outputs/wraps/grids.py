"""`Grid`: which cell of the evidence each place of a pandas table shows, so that changed figures can be put back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dalenius.outputs.evidence import collect
from dalenius.outputs.judge import judge
from dalenius.outputs.output import Values
from dalenius.outputs.query import Dimension, Floats, Ints, Query
from dalenius.outputs.wraps.columns import numbers
from dalenius.outputs.wraps.sources import noted
from dalenius.outputs.wraps.tables import form_facts, register_name

if TYPE_CHECKING:
    from dalenius.outputs.desk import Desk


class Grid:
    """A pandas table and the cells it shows: the first ``index`` dimensions in its rows, the others in its columns.

    Where it shows several columns of values, ``only`` are the places of those that are this output's.
    """

    def __init__(
        self, query: Query, index: int, margins_name: str, raw: Any | None, only: set[int] | None = None
    ) -> None:
        self.query, self.index, self.margins_name, self.raw, self.only = query, index, margins_name, raw, only

    def draw(self, values: Values) -> Any:
        """The pandas object with these figures; without an object of pandas it is made here."""
        if self.raw is None:
            return self._made(next(iter(values.values())), next(iter(values)))
        frame = self.raw.to_frame() if isinstance(self.raw, pd.Series) else self.raw.copy()
        where = self._where(frame)
        if self.only is not None:
            where[:, [j not in self.only for j in range(frame.shape[1])]] = -1
        stats = list(values)
        hidden = np.isnan(np.array(list(values.values()))).all(axis=0)
        changed = len(stats) == 1 and frame.shape[1] >= 1
        for j in range(frame.shape[1]):
            cells = where[:, j]
            there = cells >= 0
            column = (
                frame.iloc[:, j].to_numpy(dtype=np.float64, na_value=np.nan, copy=True)
                if pd.api.types.is_numeric_dtype(frame.dtypes.iloc[j])
                else None
            )
            if column is None or not there.any():
                continue
            before = column.copy()
            column[there & hidden[np.maximum(cells, 0)]] = np.nan
            if changed:
                column[there] = values[stats[0]][cells[there]]
            if not np.array_equal(before, column, equal_nan=True):
                frame.isetitem(j, column)
        return frame.iloc[:, 0].rename(self.raw.name) if isinstance(self.raw, pd.Series) else frame

    def read(self) -> Values:
        """The figures of the pandas object, cell by cell; one statistic a column label that is no category."""
        frame: Any = self.raw.to_frame() if isinstance(self.raw, pd.Series) else self.raw
        where = self._where(frame)
        found: dict[str, Floats] = {}
        cells = sum(self.query.size(over) for over in self.query.parts)
        for j, label in enumerate(frame.columns):
            if not pd.api.types.is_numeric_dtype(frame.dtypes.iloc[j]) or j not in (self.only or {j}):
                continue
            name = (
                " ".join(str(p) for p in _labels(label) if p not in self._column_labels)
                or self.query.statistic
            )
            column = found.setdefault(name, np.full(cells, np.nan))
            there = where[:, j] >= 0
            column[where[there, j]] = frame.iloc[:, j].to_numpy(np.float64, na_value=np.nan)[there]
        return found or {self.query.statistic: np.full(cells, np.nan)}

    @property
    def _column_labels(self) -> set[Any]:
        return {self.margins_name} | {v for d in self.query.dimensions[self.index :] for v in d.labels}

    def _where(self, frame: pd.DataFrame) -> Ints:
        """Cell of each place of the table; -1 where it shows none."""
        rows = [self._place(_labels(label), self.query.dimensions[: self.index]) for label in frame.index]
        columns = [
            self._place(_labels(label), self.query.dimensions[self.index :]) for label in frame.columns
        ]
        where = np.full(frame.shape, -1, np.int64)
        starts = _starts(self.query)
        inner = math_prod(self.query.shape[self.index :])
        simple = all(r is not None and None not in r for r in rows) and all(
            c is not None and None not in c for c in columns
        )
        if simple and rows and columns:
            left = np.array([_number(r, self.query.shape[: self.index]) for r in rows])
            right = np.array([_number(c, self.query.shape[self.index :]) for c in columns])
            return np.asarray(left[:, None] * inner + right[None, :], np.int64)
        for i, r in enumerate(rows):
            for j, c in enumerate(columns):
                if r is not None and c is not None:
                    where[i, j] = _cell(self.query, [*r, *c], starts)
        return where

    def _place(self, labels: Sequence[Any], dims: Sequence[Dimension]) -> list[int | None] | None:
        """Codes of a label in its dimensions; None for a margin; nothing where it is no label of these dimensions."""
        wanted = list(labels)[len(labels) - len(dims) :] if dims else []
        if len(wanted) < len(dims):
            wanted = [*wanted, *[""] * (len(dims) - len(wanted))]
        if wanted and wanted[0] != self.margins_name and self.margins_name in labels and not dims:
            return None
        found: list[int | None] = []
        total = self.margins_name in labels and self.query.margins
        for label, d in zip(wanted, dims, strict=True):
            if total and label in (self.margins_name, ""):
                found.append(None)
                continue
            places = _places(d)
            if label not in places and d.labels and pd.api.types.is_scalar(label) and pd.isna(label):
                label = next((v for v in ("no value", "missing") if v == d.labels[-1]), label)  # noqa: PLW2901
            if label not in places:
                if total:
                    found.append(None)
                    continue
                return None
            found.append(places[label])
        return found

    def _made(self, values: Floats, stat: str) -> Any:
        """What ``pandas.crosstab`` gives, from figures alone."""
        rows, columns = self.query.dimensions
        body = values[: self.query.cells].reshape(self.query.shape)
        frame = pd.DataFrame(
            body,
            index=pd.Index(rows.labels, name=rows.name),
            columns=pd.Index(columns.labels, name=columns.name),
        )
        if self.query.margins:
            starts = _starts(self.query)
            frame[self.margins_name] = values[starts[(1,)] : starts[(1,)] + len(rows.labels)]
            foot = values[starts[(0,)] : starts[(0,)] + len(columns.labels)]
            frame.loc[self.margins_name] = [*foot, values[starts[(0, 1)]]]
            frame.columns.name, frame.index.name = columns.name, rows.name
        if self.query.value is not None:
            frame = frame.dropna(axis=0, how="all").dropna(axis=1, how="all") if stat == "mean" else frame
        whole = np.array_equal(body, np.rint(body))
        return frame.astype(np.int64) if stat == "count" and whole and not np.isnan(values).any() else frame


_PLACES: dict[int, tuple[Dimension, dict[Any, int]]] = {}


def _places(dimension: Dimension) -> dict[Any, int]:
    return (
        {v: i for i, v in enumerate(dimension.labels)}
        if len(dimension.labels) < 50
        else _remembered(dimension)
    )


def _remembered(dimension: Dimension) -> dict[Any, int]:
    held = _PLACES.get(id(dimension))
    if held is None or held[0] is not dimension:
        _PLACES.clear()
        held = _PLACES[id(dimension)] = (dimension, {v: i for i, v in enumerate(dimension.labels)})
    return held[1]


def places_of(columns: Any, name: Any, wanted: Sequence[Any]) -> set[int]:
    """Places of a column of values among the columns of a table of several: by the level that names them all.

    Examples
    --------
    >>> columns = pd.MultiIndex.from_product([["max", "min"], ["pay", "max"]])
    >>> places_of(columns, "max", ["pay", "max"]), places_of(pd.Index(["a", "b"]), "pay", ["pay", "age"])
    ({1, 3}, {-1})
    """
    for level in range(columns.nlevels):
        found = columns.get_level_values(level)
        if set(wanted) <= set(found):
            return {j for j, label in enumerate(found) if label == name} or {-1}
    return {-1}


def _labels(label: Any) -> tuple[Any, ...]:
    return label if isinstance(label, tuple) else (label,)


def math_prod(sizes: Sequence[int]) -> int:
    """Product of sizes; 1 of none."""
    return int(np.prod(sizes)) if len(sizes) else 1


def _number(codes: Any, shape: Sequence[int]) -> int:
    place = 0
    for code, size in zip(codes, shape, strict=True):
        place = place * size + int(code)
    return place


def _starts(query: Query) -> dict[tuple[int, ...], int]:
    """Place of the first cell of each margin."""
    starts, place = {}, 0
    for over in query.parts:
        starts[over] = place
        place += query.size(over)
    return starts


def _cell(query: Query, codes: Sequence[int | None], starts: dict[tuple[int, ...], int]) -> int:
    over = tuple(i for i, code in enumerate(codes) if code is None)
    if over not in starts:
        return -1
    kept = [i for i in range(len(codes)) if i not in over]
    return starts[over] + _number([codes[i] for i in kept], [query.shape[i] for i in kept])


def described(
    desk: Desk,
    frame: pd.DataFrame,
    owner: tuple[tuple[Any, Any], tuple[str, ...]],
    usual: Callable[[], Any],
    stats: Sequence[str] | None = None,
    command: str = "",
    interpolation: str = "linear",
) -> Any:
    """``describe`` and the like of whole columns: one cell a column; ``owner`` is what `units_of` says of them."""
    raw, (unit, notes) = usual(), owner
    names = [c for c in frame.columns if c != desk.unit and pd.api.types.is_numeric_dtype(frame[c])]
    asked = (
        list(stats) if stats is not None else ["count", "mean", "std", "min", "p25", "median", "p75", "max"]
    )
    if not names:
        desk.declare(", ".join(stats or ["describe"]) + " of texts", command=command or "describe()")
        return raw
    values = np.concatenate([numbers(frame[c], str(c)) for c in names])
    codes = np.repeat(np.arange(len(names)), len(frame))
    again = None if unit[0] is None else np.tile(unit[0], len(names))
    ids = unit[1] if unit[0] is not None or unit[1] is None else np.tile(np.asarray(unit[1]), len(names))
    query = Query(
        ", ".join(register_name(s) for s in asked), (Dimension("column", codes, tuple(map(str, names))),),
        len(values), values, str(names[0]) if len(names) == 1 else None, again, ids,
        facts=form_facts(asked, interpolation), command=command or f"describe({', '.join(map(str, names))})",
    )  # fmt: skip
    evidence = collect(query, max(desk.policy.nk_n, 2), desk.policy.threshold)
    judged = judge(query, desk.policy, evidence)
    alone = tuple(
        f for f in judged.findings if f.check not in ("full_cell", "zero_cell")
    )  # columns are no categories
    judged = type(judged)(judged.places, evidence, (*alone, *noted(notes, evidence)), judged.notes)
    shown = {str(k): np.asarray(v, np.float64) for k, v in _by_column(raw, names, asked).items()}
    out = desk.take(query, judged=judged, values=shown, render=lambda v: _hidden(raw, names, v))
    return out.shown if out.shown is not None else raw


def _by_column(raw: Any, names: Sequence[Any], asked: Sequence[str]) -> dict[Any, Any]:
    if isinstance(raw, pd.DataFrame):
        return {
            label: [raw[c].loc[label] if c in raw.columns else np.nan for c in names] for label in raw.index
        }
    if isinstance(raw, pd.Series):
        return (
            {label: [value] for label, value in raw.items()}
            if len(names) == 1
            else {asked[0]: raw.reindex(names).to_numpy(np.float64, na_value=np.nan)}
        )
    return {asked[0]: [raw]}


def _hidden(raw: Any, names: Sequence[Any], values: Values) -> Any:
    """The described columns without those that a fix took out."""
    gone = [c for c, v in zip(names, next(iter(values.values())), strict=True) if np.isnan(v)]
    if isinstance(raw, pd.DataFrame):
        return raw.drop(columns=[c for c in gone if c in raw.columns])
    return raw if not gone else (raw * np.nan)
