"""Further figures of NIST's benchmark: counts per value, slopes by subgroup, exact matches, improvement factors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError
from dalenius.core.result import Result, figure
from dalenius.core.small_cells import withhold
from dalenius.counts.counts import Counts, align
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.schema import Kind
from dalenius.data.table import Table
from dalenius.data.vector import MISSING_LABEL, NAN_LABEL, AnyArray, BoolArray
from dalenius.utility.charts import two_files
from dalenius.utility.conditionals import FEWEST
from dalenius.utility.trends import association_table

FEW_LEVELS = 8


def univariate_errors(
    pair: Pair,
    columns: Sequence[str] | None = None,
    *,
    rescale: bool | float = False,
    within: Mapping[str, str] | None = None,
) -> pl.DataFrame:
    """Error of the count of every value: absolute, relative (per cent) and the smaller of the two.

    Parameters
    ----------
    columns
        Which columns; default: all that can be compared.
    rescale
        Bring the protected counts to the original's number of rows (True), or multiply them by a number.
    within
        Columns that are counted inside the categories of another one, over the values that the original has there:
        ``{"industry": "sector"}``. Rows whose outer category is empty or a special code are left out.

    A value that the original does not have counts with its absolute error (Francis 2024).

    Examples
    --------
    >>> pair = Pair({"a": ["x"] * 10 + ["y"] * 5}, {"a": ["x"] * 13 + ["y"] * 5})
    >>> univariate_errors(pair)["composite"].to_list()
    [3.0, 0.0]
    """
    factor = float(rescale) if not isinstance(rescale, bool) else (
        pair.original.rows / pair.protected.rows if rescale else 1.0
    )  # fmt: skip
    frames = []
    for name in columns if columns is not None else pair.columns:
        outer = (within or {}).get(name)
        labels, d, s = _value_counts(pair, name) if outer is None else _inner_counts(pair, name, outer)
        scaled = s * factor
        absolute = np.abs(d - scaled)
        relative = np.where(d > 0, 100 * absolute / np.maximum(d, 1), np.inf)
        frames.append(
            pl.DataFrame(
                {
                    "column": [name] * len(d), "value": labels, "original": d, "protected": scaled,
                    "absolute": absolute, "relative": relative, "composite": np.minimum(absolute, relative),
                }
            )
        )  # fmt: skip
    return pl.concat(frames) if frames else pl.DataFrame()


def _value_counts(pair: Pair, name: str) -> tuple[list[str], AnyArray, AnyArray]:
    counted = pair.counts([name])
    keys, (d, s) = align(counted.original, counted.protected)
    return [str(counted.original.labels[0][key]) for key in keys.tolist()], d, s.astype(np.float64)


def _inner_counts(pair: Pair, name: str, outer: str) -> tuple[list[str], AnyArray, AnyArray]:
    """Counts of a column's values inside each category of another; the original's values only."""
    counted = pair.counts([outer, name])
    keys, (d, s) = align(counted.original, counted.protected)
    cells = Counts(counted.original.columns, counted.original.labels, keys, d).cells
    special = {str(code) for code in pair.original[outer].column.special}
    known = [
        isinstance(label, (str, int, float)) and str(label) not in special
        for label in counted.original.labels[0]
    ]
    keep = (d > 0) & np.array(known)[cells[:, 0]]
    labels = [
        " / ".join(str(names[code]) for names, code in zip(counted.original.labels, cell, strict=True))
        for cell in cells[keep].tolist()
    ]
    return labels, d[keep], s[keep].astype(np.float64)


def slope_errors(
    pair: Pair, y: str, x: str, groups: Mapping[str, Mapping[str, Sequence[object]]]
) -> pl.DataFrame:
    """Slopes of y on x in both files, for all rows and for subgroups given as {name: {column: values}}.

    Rows with a gap in x, y or a grouping column are left out; a group with fewer than two rows or one x has no slope.

    Examples
    --------
    >>> data = {"x": [1, 2, 3, 1, 2, 3], "y": [2, 4, 6, 1, 2, 3], "sex": ["f", "f", "f", "m", "m", "m"]}
    >>> slope_errors(Pair(data, data), "y", "x", {"men": {"sex": ["m"]}})["original"].round(3).to_list()
    [1.5, 1.0]
    """
    named = list(dict.fromkeys(column for group in groups.values() for column in group))
    rows = []
    for name, condition in {"all": {}, **groups}.items():
        slopes = []
        for table in (pair.original, pair.protected):
            keep = np.ones(table.rows, dtype=bool)
            for column in named:
                keep &= table[column].present
            a, b = table[x].amounts(), table[y].amounts()
            keep &= np.isfinite(a) & np.isfinite(b)
            for column, values in condition.items():
                keep &= _among(table, column, values)
            slopes.append((int(keep.sum()), _slope(a[keep], b[keep])))
        (n, first), (k, second) = slopes
        rows.append(
            {
                "group": name,
                "rows": n,
                "protected rows": k,
                "original": first,
                "protected": second,
                "error": abs(first - second),
            }
        )
    return pl.DataFrame(rows)


def _among(table: Table, column: str, values: Sequence[object]) -> BoolArray:
    vector = table[column]
    if vector.is_number:
        return np.isin(vector.data, np.asarray(list(values))) & vector.present
    wanted = {str(value) for value in values}
    lookup = np.array([str(level) in wanted for level in vector.levels] or [False])
    return np.asarray(lookup[vector.data] & vector.present)


def _slope(x: AnyArray, y: AnyArray) -> float:
    if len(x) < 2 or np.ptp(x) == 0:
        return float("nan")
    centred = x - x.mean()
    return float(centred @ (y - y.mean()) / (centred @ centred))


@measure(
    name="slopes",
    title="Slopes by subgroup",
    family="utility",
    meaning="Median difference between the files in the slope of one number on another, for everybody and in each "
    "subgroup, in standard deviations: 0 is the same.",
    better="lower",
    bounds=(0, float("inf")),
    reference="NIST SDNIST: linear regression; Francis 2024",
    default=False,
)
def slope_agreement(
    pair: Pair, y: str | None = None, x: str | None = None, by: Sequence[str] | str | None = None
) -> Result:
    """Slopes of y on x in both files; by default of the two numbers that go together most, by the first few levels.

    Subgroups of fewer than ten original rows are left out.

    Examples
    --------
    >>> data = {"pay": [1.5, 2.5, 3.5, 2.5, 4.5, 6.5] * 9, "age": [20, 30, 40] * 18, "sex": ["f"] * 27 + ["m"] * 27}
    >>> slope_agreement(Pair(data, data), "pay", "age", "sex").value
    0.0
    """
    if (y is None) != (x is None):
        raise OptionError("a slope needs two columns; name both y and x, or neither")
    chosen = (y, x) if y is not None and x is not None else _closest(pair)
    if chosen is None:
        return Result("slopes", float("nan"), "There are no two numbers whose slope could be compared.")
    groups = _subgroups(pair, [by] if isinstance(by, str) else by, chosen)
    table = slope_errors(pair, chosen[0], chosen[1], groups)
    spread = [_deviation(pair.original[name].amounts()) or 1.0 for name in chosen]
    errors = (table["error"] * (spread[1] / spread[0])).drop_nans()
    value = float(errors.median()) if len(errors) else float("nan")  # type: ignore[arg-type]
    drawn = withhold(table.fill_nan(None).drop_nulls("error"), ("rows",), pair.threshold)
    worst = drawn.sort("error", descending=True).head(1)
    text = (
        f"The slope of {chosen[0]!r} on {chosen[1]!r} differs by {figure(value)} standard deviations (median)"
    )
    text += f", most in {worst['group'][0]}." if len(worst) else "."
    if not len(errors):
        text = f"The slope of {chosen[0]!r} on {chosen[1]!r} cannot be had from both files."
    return Result(
        name="slopes",
        value=value,
        sentence=text,
        yardsticks={"the original itself": 0.0},
        values={"all rows": float(table["error"][0])},
        table=table,
        counts=("rows",),
        chart=lambda: two_files(drawn, "group", f"slope of {chosen[0]} on {chosen[1]}"),
    )


def _deviation(values: AnyArray) -> float:
    known = values[np.isfinite(values)]
    return float(known.std()) if len(known) else 0.0


def _closest(pair: Pair) -> tuple[str, str] | None:
    """The two numbers that go together most in the original."""
    numbers = [n for n in pair.columns if pair.original[n].column.kind in (Kind.INTEGER, Kind.CONTINUOUS)]
    table = association_table(pair, sorted(numbers)) if len(numbers) > 1 else pl.DataFrame()
    known = table.fill_nan(None).drop_nulls("original") if len(table) else table
    if not len(known):
        return None
    row = known.sort(pl.col("original").abs(), descending=True, maintain_order=True).row(0, named=True)
    return row["first"], row["second"]


def _subgroups(
    pair: Pair, by: Sequence[str] | None, used: tuple[str, str]
) -> dict[str, dict[str, list[object]]]:
    """Levels of one column, or of several crossed; by default of the smallest category column that varies.

    A group of few original rows is left out: its name would tell who is in it.
    """
    if by is None:
        few = [n for n in pair.columns if n not in used and not pair.original[n].is_number]
        few = [n for n in few if 2 <= len(pair.original[n].levels) <= FEW_LEVELS]
        by = sorted(few, key=lambda n: (len(pair.original[n].levels), n))[:1]
    if not by:
        return {}
    counted = pair.counts(by, grouped=False).original
    groups: dict[str, dict[str, list[object]]] = {}
    for codes, rows in zip(counted.cells.tolist(), counted.counts.tolist(), strict=True):
        cell = {name: names[code] for name, names, code in zip(by, counted.labels, codes, strict=True)}
        if rows >= FEWEST and all(_is_value(pair.original, name, level) for name, level in cell.items()):
            title = ", ".join(f"{name} {level}" for name, level in cell.items())
            groups[title] = {name: [level] for name, level in cell.items()}
    return groups


def _is_value(table: Table, column: str, label: object) -> bool:
    gap = label is MISSING_LABEL or label is NAN_LABEL
    return not gap and label not in table[column].column.special


def improvement_factor(other: float, reference: float, perfect: float = 0.0) -> float:
    """How many times worse (or, negative, better) another release is than a reference (Francis 2024).

    Examples
    --------
    >>> improvement_factor(0.10, 0.05), improvement_factor(0.025, 0.05), improvement_factor(0.05, 0.05)
    (2.0, -2.0, 1.0)
    """
    a, b = abs(perfect - other), abs(perfect - reference)
    if a == b:
        return 1.0
    if a > b:
        return a / b if b > 0 else float("inf")
    return -b / a if a > 0 else float("-inf")
