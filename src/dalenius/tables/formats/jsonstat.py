"""JSON-stat 2.0: one dataset, values in the order of the crossed codes, status "c" where confidential."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import DataError
from dalenius.tables.formats.tablefile import TableFile
from dalenius.tables.hierarchy import Hierarchy
from dalenius.tables.inner import keyed, unkeyed


def dataset(table: TableFile) -> dict[str, Any]:
    """The table as a JSON-stat dataset (json-stat.org/full).

    Examples
    --------
    >>> cells = pl.DataFrame({"a": ["Total", "x", "y"]})
    >>> found = dataset(TableFile(cells, np.array([9.0, np.nan, 4.0]), ["", "c", ""], "freq"))
    >>> found["value"], found["status"]
    ([9, None, 4], {'1': 'c'})
    """
    names = table.cells.columns
    codes = {name: table.cells[name].unique(maintain_order=True).to_list() for name in names}
    sizes = [len(codes[name]) for name in names]
    place = {name: {code: i for i, code in enumerate(codes[name])} for name in names}
    at = keyed(
        np.array([[place[n][c] for n, c in zip(names, row, strict=True)] for row in table.cells.iter_rows()]),
        sizes,
    )
    values: list[float | int | None] = [None] * prod(sizes)
    for i, value in zip(at.tolist(), table.values.tolist(), strict=True):
        if not np.isnan(value):
            values[i] = round(value) if table.decimals == 0 else round(value, table.decimals)
    return {
        "version": "2.0",
        "class": "dataset",
        "label": table.measure,
        "note": list(table.notes),
        "id": names,
        "size": sizes,
        "dimension": {name: _dimension(name, codes[name], table.hierarchies.get(name)) for name in names},
        "value": values,
        "status": {str(i): flag for i, flag in zip(at.tolist(), table.flags, strict=True) if flag},
        "extension": {
            "decimals": table.decimals,
            "cells": sorted(at.tolist()) if len(at) < prod(sizes) else None,
        },
    }


def _dimension(name: str, codes: list[str], tree: Hierarchy | None) -> dict[str, Any]:
    category: dict[str, Any] = {"index": codes, "label": {code: code for code in codes}}
    if tree is not None:
        known = set(codes)
        child = {
            c: [k for k in below if k in known] for c, below in tree.children.items() if c in known and below
        }
        category["child"] = {code: below for code, below in child.items() if below}
    return {"label": name, "category": category}


def table_of(data: dict[str, Any]) -> TableFile:
    """The table in a JSON-stat dataset: dense or sparse values, one status or many.

    Examples
    --------
    >>> table_of({"class": "dataset", "id": ["a"], "size": [2], "value": {"0": 5},
    ...           "dimension": {"a": {"category": {"index": {"x": 0, "y": 1}}}}, "status": {"1": "c"}}).flags
    ['', 'c']
    """
    if data.get("class") != "dataset":
        raise DataError("this JSON is not a JSON-stat dataset (its class is not 'dataset')")
    names, sizes = list(data["id"]), [int(s) for s in data["size"]]
    count, extension = prod(sizes), data.get("extension") or {}
    values, status = _spread(data["value"], count), _spread(data.get("status") or {}, count)
    listed = extension.get("cells")
    keep = range(count) if listed is None else listed
    codes = {name: _codes(data["dimension"][name]["category"]) for name in names}
    rows = unkeyed(np.asarray(list(keep), np.int64), sizes)
    cells = pl.DataFrame({name: [codes[name][i] for i in rows[:, k]] for k, name in enumerate(names)})
    trees = {name: tree for name in names if (tree := _tree(data["dimension"][name]["category"])) is not None}
    numbers = np.array([np.nan if values[i] is None else float(values[i]) for i in keep])
    shown = [repr(float(v)).partition(".")[2] for v in numbers if not np.isnan(v)]
    decimals = extension.get("decimals", max((len(t) for t in shown if t != "0"), default=0))
    flags = [status[i] or "" for i in keep]
    return TableFile(
        cells,
        numbers,
        flags,
        str(data.get("label") or "value"),
        int(decimals),
        trees,
        tuple(data.get("note") or ()),
    )


def _spread(given: Any, count: int) -> list[Any]:
    if isinstance(given, dict):
        return [given.get(str(i)) for i in range(count)]
    if isinstance(given, list):
        return given if len(given) == count else [*given, *[None] * (count - len(given))]
    return [given] * count


def _codes(category: dict[str, Any]) -> list[str]:
    index = category.get("index", category.get("label", {}))
    return (
        list(index)
        if isinstance(index, list)
        else sorted(index, key=lambda c: index[c] if isinstance(index[c], int) else 0)
    )


def _tree(category: dict[str, Any]) -> Hierarchy | None:
    child = category.get("child")
    if not child:
        return None
    above: dict[str, tuple[str, ...]] = dict.fromkeys(_codes(category), ())
    for parent, below in child.items():
        for code in below:
            above[code] = (*above[code], parent)
    return Hierarchy(above)
