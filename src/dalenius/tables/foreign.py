"""Tables somebody else suppressed: read them, check that they add up, audit them."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import scipy.sparse as sp

from dalenius.core.errors import DataError, TableError, names
from dalenius.data import Table
from dalenius.published.reading import MARKS
from dalenius.tables.disclosed import Disclosed
from dalenius.tables.foreign_totals import foreign_totals
from dalenius.tables.hierarchy import TOTAL, Hierarchy
from dalenius.tables.hierarchy_files import read_hierarchy
from dalenius.tables.inner import MAX_CELLS
from dalenius.tables.model import Bools, Floats

GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(,\d{3}|\s\d{3})+(\.\d*)?")


def read_suppressed(
    data: Any,
    by: Sequence[str],
    value: str,
    *,
    hierarchies: Mapping[str, Hierarchy | str | Path] | None = None,
    primary: str | None = None,
    total: str | Mapping[str, str] | None = None,
) -> Disclosed:
    """Read a published table with suppressed cells, ready for `audit`.

    Parameters
    ----------
    data
        One row a cell: dimension codes (totals included) and the value, empty or a mark such as ":c" or "x" where
        suppressed. Cells that are not listed are taken as not published.
    by, value
        Dimension columns and the value column.
    hierarchies
        Column → hierarchy or hierarchy file; otherwise every code but the total is a leaf.
    primary
        Column that is true or "u" for primary cells; without it all suppressed cells are treated as primary.
    total
        Code of the total, of all columns or by column ("" where a column has none). Without it totals are known by what
        they are called and by what they add up to (`foreign_totals`), and the audit says which code was taken. A column
        in which none is found is a fault: nothing could be computed in such a table, and the audit would pass.

    Examples
    --------
    >>> from dalenius.tables import audit
    >>> table = read_suppressed({"a": ["ALL", "x", "y"], "n": ["9", ":c", "4"]}, ["a"], "n")
    >>> print(audit(table))
    1 protected cells or differences can be computed exactly by anybody; 1 of 1 intervals are too narrow. Taken as
    totals: 'ALL' of column 'a'.
    """
    table = Table.from_frame(data)
    missing = [name for name in (*by, value, *([primary] if primary else [])) if name not in table]
    if missing:
        there = names([name for name in table.names if name not in by])
        raise TableError(
            "table", [f"no column {name!r}; besides the dimensions there are {there}" for name in missing]
        )
    if not by or not table.rows:
        raise DataError("a table to be audited needs at least one dimension column and one row")
    frame = pl.DataFrame({name: _texts(table, name) for name in by})
    amounts, suppressed, bad = _values(table, value)
    faults = [f"column {value!r}: {bad} values are neither numbers nor a mark of suppression"] if bad else []
    flat = [name for name in by if name not in (hierarchies or {})]
    found = foreign_totals(frame.select(flat), frame, amounts, total)
    faults += found.faults
    tops = {name: found.codes.get(name, TOTAL) for name in by}
    trees = {name: _tree(frame[name].to_list(), (hierarchies or {}).get(name), tops[name]) for name in by}
    faults += _code_faults(frame, trees)
    if faults:
        raise TableError("table", faults)
    matrix = _sums(frame, trees)
    faults = _additive(frame, trees, amounts)
    if faults:
        raise TableError("table", faults)
    sensitive = suppressed & _marked(table, primary) if primary else suppressed
    return Disclosed(
        frame, matrix, amounts, suppressed, sensitive, np.zeros(len(frame), np.bool_), np.zeros(len(frame)),
        notes=found.notes,
    )  # fmt: skip


def _code_faults(frame: pl.DataFrame, trees: Mapping[str, Hierarchy]) -> list[str]:
    """Codes that no hierarchy has, and cells that are named twice."""
    faults = []
    for name, tree in trees.items():
        unknown = [code for code in frame[name].unique(maintain_order=True) if code not in tree.parents]
        if unknown:
            faults.append(
                f"column {name!r}: {len(unknown)} codes are not in the hierarchy, the first is {unknown[0]!r}"
            )
    if frame.is_duplicated().any():
        faults.append(f"{int(frame.is_duplicated().sum())} rows name the same cell as another row")
    return faults


def _texts(table: Table, name: str) -> list[str]:
    groups = table[name].categories
    return [str(groups.labels[code]) for code in np.asarray(groups.codes).tolist()]


def _values(table: Table, name: str) -> tuple[Floats, Bools, int]:
    vector = table[name]
    if vector.is_number and not vector.column.special:
        numbers = vector.floats()
        return numbers, np.isnan(numbers), int(np.isinf(numbers).sum())
    numbers, bad = np.full(table.rows, np.nan), 0
    for i, (text, present) in enumerate(zip(_texts(table, name), vector.present | True, strict=True)):
        if not present or text.strip().lower() in (*MARKS, "missing", "nan", "none"):
            continue
        number = _number(text)
        if number is None:
            bad += 1
        else:
            numbers[i] = number
    return numbers, np.isnan(numbers), bad


def _number(text: str) -> float | None:
    """A finite number, with commas or blanks between thousands or not; "12,5" could be 125 or 12.5 and is refused."""
    plain = text.strip()
    if GROUPED.fullmatch(plain):
        plain = re.sub(r"[,\s]", "", plain)
    try:
        number = float(plain)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def _tree(codes: Sequence[str], given: Hierarchy | str | Path | None, total: str) -> Hierarchy:
    if isinstance(given, Hierarchy):
        return given
    if given is not None:
        return read_hierarchy(given, total)
    return Hierarchy.flat(sorted(set(codes) - {total}), total)


def _marked(table: Table, name: str) -> Bools:
    return np.array(
        [text.strip().lower() in ("u", "true", "1", "primary", "yes") for text in _texts(table, name)]
    )


def _sums(frame: pl.DataFrame, trees: Mapping[str, Hierarchy]) -> Any:
    """Leaf combinations × cells; only combinations below some listed cell."""
    places = sum(
        math.prod(len(tree.parts[code]) for code, tree in zip(row, trees.values(), strict=True))
        for row in frame.iter_rows()
    )
    if places > MAX_CELLS:
        raise DataError(f"the cells are sums of {places:,} inner cells in all; audit the table in parts")
    keys: list[np.ndarray[Any, Any]] = []
    columns: list[np.ndarray[Any, Any]] = []
    parts = {name: _leaf_lists(tree) for name, tree in trees.items()}
    for i, row in enumerate(frame.iter_rows()):
        key = np.zeros(1, np.int64)
        for code, (name, tree) in zip(row, trees.items(), strict=True):
            key = (key[:, None] * len(tree.leaves) + parts[name][code][None, :]).ravel()
        keys.append(key)
        columns.append(np.full(len(key), i))
    every, rows = np.unique(np.concatenate(keys), return_inverse=True)
    ones = np.ones(len(rows), np.int64)
    return sp.csc_matrix((ones, (rows, np.concatenate(columns))), shape=(len(every), len(frame)))


def _leaf_lists(tree: Hierarchy) -> dict[str, np.ndarray[Any, Any]]:
    place = {leaf: i for i, leaf in enumerate(tree.leaves)}
    return {
        code: np.array(sorted(place[leaf] for leaf in leaves), np.int64)
        for code, leaves in tree.parts.items()
    }


def _additive(frame: pl.DataFrame, trees: Mapping[str, Hierarchy], amounts: Floats) -> list[str]:
    """Published cells that differ from the sum of their published parts in one dimension."""
    at = {row: i for i, row in enumerate(frame.iter_rows())}
    wrong: list[str] = []
    for axis, (name, tree) in enumerate(trees.items()):
        single = all(len(above) <= 1 for above in tree.parents.values())
        for row, i in at.items():
            children = tree.children[row[axis]]
            if not children or np.isnan(amounts[i]) or not single:
                continue
            below = [at.get((*row[:axis], child, *row[axis + 1 :])) for child in children]
            if any(b is None or np.isnan(amounts[b]) for b in below):
                continue
            total = float(sum(amounts[b] for b in below if b is not None))
            if abs(total - amounts[i]) > 1e-6 * max(1.0, abs(amounts[i])):
                wrong.append(f"cell {' : '.join(row)} is not the sum of its parts by {name!r}")
    return wrong[:20] + ([f"and {len(wrong) - 20} more"] if len(wrong) > 20 else [])
