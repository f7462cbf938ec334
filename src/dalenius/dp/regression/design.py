"""A formula's columns as bounded numbers, read by their declarations alone.

Numbers are moved and scaled so that their declared bounds lie at -1 and 1, categories become columns of 0 and 1 (the
first level is what the others are compared with). So every bound that the noise rests on is public, coefficients have
like sizes, and 0, the middle of all bounds, is the public guess. `Design.scale` brings coefficients back into the
units of the data.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

from dalenius.core.errors import DataError, OptionError
from dalenius.data.declared import declared_bounds
from dalenius.data.schema import Column, Kind
from dalenius.data.table import Table
from dalenius.dp.noise import FloatArray


@dataclass(frozen=True)
class Design:
    """Rows, responses, and how coefficients are brought back: in the data's units they are ``scale @ θ + shift``."""

    terms: tuple[str, ...]
    x: FloatArray
    y: FloatArray
    scale: FloatArray
    shift: FloatArray
    row: float
    """Length of a row at most."""
    reach: float
    """Half of the declared range of the response; 1 for a yes or no."""


def parse(formula: str) -> tuple[str, list[str]]:
    """Response and predictors of ``response ~ first + second``.

    Examples
    --------
    >>> parse("income ~ age + sex")
    ('income', ['age', 'sex'])
    """
    sides = [side.strip() for side in formula.split("~")]
    predictors = [term.strip() for term in sides[-1].split("+")] if len(sides) == 2 else []
    plain = [term for term in predictors if term not in ("", "1")]
    if (
        len(sides) != 2
        or not sides[0]
        or any(mark in formula for mark in "*:()^")
        or "" in predictors
        or not predictors
    ):
        raise OptionError(f"formula is {formula!r}; write it as 'response ~ first + second'")
    if len({sides[0], *plain}) != len(plain) + 1:
        raise OptionError(f"formula is {formula!r}; each column may stand in it once")
    return sides[0], plain


def design_of(table: Table, formula: str, *, yes_or_no: bool) -> Design:
    """The bounded columns of a formula; records with a missing value in one of them are left out."""
    response, predictors = parse(formula)
    faults = [fault for name in predictors if (fault := _fault(table.schema[name]))]
    faults += [fault] if (fault := _response_fault(table.schema[response], yes_or_no)) else []
    if faults:
        raise DataError("; ".join(faults))
    whole = np.ones(table.rows, dtype=bool)
    for name in (response, *predictors):
        state = table[name].state
        whole &= True if state is None else state == 0
    columns, terms, slopes, moved = [np.ones(int(whole.sum()))], ["intercept"], [1.0], [0.0]
    for name in predictors:
        for term, values, slope, middle in _coded(table, name, whole):
            columns.append(values)
            terms.append(term)
            slopes.append(slope)
            moved.append(middle)
    y, reach, centre = _response(table, response, whole)
    scale = reach * np.diag(1 / np.array(slopes))
    scale[0] -= reach * np.array(moved) / np.array(slopes)
    shift = np.array([centre] + [0.0] * (len(terms) - 1))
    return Design(
        tuple(terms), np.column_stack(columns), y, scale, shift, math.sqrt(1 + len(predictors)), reach
    )


def predict(coefficients: pl.DataFrame, frame: pl.DataFrame, *, rearranged: bool = True) -> pl.DataFrame:
    """Predictions of released coefficients for new records, one column for each quantile (or ``"mean"``).

    Quantiles that cross are put in order (Chernozhukov, Fernández-Val and Galichon 2010), which costs nothing.

    Examples
    --------
    >>> released = pl.DataFrame({"tau": [0.5, 0.5], "term": ["intercept", "age"], "estimate": [1.0, 2.0]})
    >>> predict(released, pl.DataFrame({"age": [10, 20]}))["0.5"].to_list()
    [21.0, 41.0]
    """
    levels = (
        coefficients["tau"].unique(maintain_order=True).to_list() if "tau" in coefficients.columns else [None]
    )
    made = {}
    for tau in levels:
        part = coefficients if tau is None else coefficients.filter(pl.col("tau") == tau)
        total = np.zeros(frame.height)
        for term, size in part.select("term", "estimate").iter_rows():
            total += size * _values(frame, term)
        made["mean" if tau is None else f"{tau:g}"] = total
    if rearranged and len(made) > 1:
        order = np.argsort([float(name) for name in made])
        values = np.sort(np.column_stack(list(made.values())), axis=1)
        made = {name: values[:, int(np.flatnonzero(order == i)[0])] for i, name in enumerate(made)}
    return pl.DataFrame(made)


def _values(frame: pl.DataFrame, term: str) -> FloatArray:
    if term == "intercept":
        return np.ones(frame.height)
    if term in frame.columns:
        return frame[term].cast(pl.Float64).to_numpy()
    name, _, level = term.partition("=")
    if name not in frame.columns:
        raise DataError(f"column {name!r} is in the fit and not in the data")
    return (frame[name].cast(pl.String) == level).cast(pl.Float64).to_numpy()


def _fault(column: Column) -> str:
    if column.kind.is_number and column.kind is not Kind.DATETIME:
        return "" if bounds_of(column) else f"column {column.name!r}: no bounds; declare them in the schema"
    if column.kind is Kind.BOOLEAN or column.levels is not None:
        return ""
    return f"column {column.name!r}: {column.kind} cannot be a predictor; use a number or categories"


def _response_fault(column: Column, yes_or_no: bool) -> str:
    if not yes_or_no:
        number = column.kind.is_number and column.kind is not Kind.DATETIME
        wanted = number and bounds_of(column)
        return "" if wanted else f"column {column.name!r}: the response must be a number with declared bounds"
    two = column.kind is Kind.BOOLEAN or (column.levels is not None and len(column.levels) == 2)
    return (
        "" if two else f"column {column.name!r}: the response must be yes or no, or have two declared levels"
    )


def bounds_of(column: Column) -> tuple[float, float] | None:
    """Declared bounds of a number that are not one point; None where there are none."""
    known = declared_bounds(column)
    return known if known is not None and known[0] < known[1] else None


def _coded(table: Table, name: str, whole: FloatArray) -> list[tuple[str, FloatArray, float, float]]:
    """Term, values, and (slope, middle) of the change of units, for each column that a predictor becomes."""
    vector = table[name]
    data = vector.data[whole]
    if vector.is_number:
        low, high = bounds_of(vector.column) or (-1.0, 1.0)
        half, middle = (high - low) / 2, (high + low) / 2
        return [(name, np.clip((data.astype(np.float64) - middle) / half, -1, 1), half, middle)]
    labels = [str(level) for level in vector.levels]
    return [
        (f"{name}={label}", (data == i).astype(np.float64), 1.0, 0.0) for i, label in enumerate(labels) if i
    ]


def _response(table: Table, name: str, whole: FloatArray) -> tuple[FloatArray, float, float]:
    vector = table[name]
    data = vector.data[whole].astype(np.float64)
    if not vector.is_number:
        return data, 1.0, 0.0
    low, high = bounds_of(vector.column) or (-1.0, 1.0)
    half, middle = (high - low) / 2, (high + low) / 2
    return np.clip((data - middle) / half, -1, 1), half, middle
