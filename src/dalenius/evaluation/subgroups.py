"""Who pays: how useful the file is, and how risky, for each group of people; small groups are not shown.

A file may be good on average and bad for the few. Utility is the mean S_pMSE of
all two-way tables among a group's own records, which is about 1 for a correct model whatever the size of the group;
risk is DiSCO of the target that the file gives away most of, for the group's people in the data and outside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import DataError, names, no_column
from dalenius.core.later import altair as alt
from dalenius.core.result import Result, figure
from dalenius.core.small_cells import withhold
from dalenius.core.style import ORIGINAL, QUIET, RISK, UTILITY
from dalenius.counts.measure import measure
from dalenius.counts.pair import Pair
from dalenius.data.units import Units
from dalenius.data.vector import AnyArray, BoolArray, IntArray
from dalenius.risk.attribution import disco
from dalenius.risk.tabular.by_unit import holdout_cells
from dalenius.risk.tabular.disclosure import disclosure
from dalenius.utility.tables import table_utility

MOST_GROUPS = 12
"""Levels up to which a category divides people into groups unasked."""
_SCHEMA = {
    "by": pl.String, "group": pl.String, "people": pl.Int64, "share, original": pl.Float64,
    "share, protected": pl.Float64, "S_pMSE": pl.Float64, "DiSCO": pl.Float64, "DiSCO outside": pl.Float64,
    "people outside": pl.Int64,
}  # fmt: skip


def default_groups(pair: Pair) -> list[str]:
    """Columns that divide people unasked: keys that are categories with few levels, otherwise the first such column.

    Examples
    --------
    >>> default_groups(Pair({"sex": ["f", "m"] * 9, "age": list(range(18))}, {"sex": ["f"], "age": [3]}))
    ['sex']
    """

    def divides(name: str) -> bool:
        vector = pair.original[name]
        return not vector.is_number and 1 < len(np.unique(vector.values)) <= MOST_GROUPS

    known = [name for name in pair.keys if divides(name)]
    return sorted(known) or sorted(name for name in pair.columns if divides(name))[:1]


def subgroup_table(pair: Pair, by: Sequence[str]) -> pl.DataFrame:
    """Figures of each group of each column; groups that rest on fewer people than the pair's threshold are left out.

    So is the next smallest where one group would follow from the others. Of people outside the data groups of fewer
    than the threshold have no figure.

    Examples
    --------
    >>> data = {"sex": ["f", "m"] * 30, "a": ["x", "y", "y"] * 20, "b": ["u", "v"] * 30}
    >>> subgroup_table(Pair(data, data), ["sex"]).select("group", "people", "S_pMSE").rows()
    [('f', 30, 0.0), ('m', 30, 0.0)]
    """
    absent = [name for name in by if name not in pair.columns]
    if absent:
        raise DataError(no_column(absent, pair.columns))
    flags = _read_off(pair)
    kept = []
    for name in by:
        table = pl.DataFrame([_figures(pair, name, code, flags) for code in _codes(pair, name)], _SCHEMA)
        kept.append(withhold(table, ["people"], pair.threshold))
    return pl.concat(kept) if kept else pl.DataFrame(schema=_SCHEMA)


def _codes(pair: Pair, name: str) -> list[int]:
    """Groups that somebody in the original is in."""
    return np.unique(pair.categories(name).original.codes).tolist()


def _read_off(pair: Pair) -> tuple[BoolArray, BoolArray | None] | None:
    """Rows of the original (and of the holdout) whose secret can be read off: of the target given away most."""
    if not pair.keys or not pair.targets:
        return None
    worst = disco(pair).table
    assert worst is not None  # it has a row for each target
    cells = disclosure(pair, str(worst["target"][0]), pair.keys).cells
    outside = None if pair.holdout is None else cells.pure_s[holdout_cells(pair, cells)]
    return cells.pure_s[cells.cell_of_row], outside


def _figures(
    pair: Pair, name: str, code: int, flags: tuple[BoolArray, BoolArray | None] | None
) -> dict[str, Any]:
    aligned = pair.categories(name)
    mine, made = (np.flatnonzero(side.codes == code) for side in (aligned.original, aligned.protected))
    row: dict[str, Any] = {
        "by": name,
        "group": str(aligned.original.labels[code]),
        "people": pair.units.subset(mine).count,
        "share, original": _share(mine, pair.designs.weights("original"), pair.original.rows),
        "share, protected": _share(made, pair.designs.weights("protected"), pair.protected.rows),
        "S_pMSE": _utility(pair, name, mine, made),
    }
    if flags is not None:
        row["DiSCO"] = pair.units.subset(mine).share(flags[0][mine])
        if flags[1] is not None and aligned.holdout is not None:
            theirs = np.flatnonzero(aligned.holdout.codes == code)
            row |= _outside(pair.holdout_units, flags[1], theirs, pair.threshold)
    return row


def _outside(units: Units, flags: BoolArray, rows: IntArray, threshold: int) -> dict[str, Any]:
    """The same share of people who are not in the data; none where they are too few to tell."""
    theirs = units.subset(rows)
    if theirs.count < threshold:
        return {}
    return {"DiSCO outside": theirs.share(flags[rows]), "people outside": theirs.count}


def _share(rows: IntArray, weights: AnyArray | None, total: int) -> float:
    return 100 * float(len(rows) if weights is None else weights[rows].sum()) / total


def _utility(pair: Pair, name: str, mine: IntArray, made: IntArray) -> float:
    """Mean S_pMSE of the two-way tables of a group's own records; infinite where the file has none of them."""
    if not len(made):
        return float("inf")
    whole = pair.original if pair.lens is not None else pair.unmasked
    part = Pair(whole.take(mine), pair.protected.take(made), grouping=pair.grouping, threshold=pair.threshold)
    used = [other for other in pair.columns if other != name]
    tables = table_utility(part, 2 if len(used) > 1 else 1, columns=used)["S_pMSE"].drop_nulls().drop_nans()
    return float(tables.mean()) if len(tables) else float("nan")  # type: ignore[arg-type]


@measure(
    name="subgroups",
    title="The group served worst",
    family="utility",
    meaning="Mean S_pMSE of the two-way tables among the records of each group, for the group where it is largest: "
    "about 1 where only chance differs. The table and the chart also say how many of each group the file "
    "has, and how many of its people are given away.",
    better="lower",
    bounds=(0, float("inf")),
    reference="Raab, Nowok, Dibben 2021 (S_pMSE) and Raab 2024 (DiSCO), by group",
    default=False,
    weighs=True,
)
def subgroups(pair: Pair, by: str | Sequence[str] | None = None) -> Result:
    """Utility and risk by group, small groups left out.

    Parameters
    ----------
    by
        Column or columns that divide people (numbers in five groups); default: keys that are categories with few
        levels.

    Examples
    --------
    >>> data = {"sex": ["f", "m"] * 30, "a": ["x", "y", "y"] * 20, "b": ["u", "v"] * 30}
    >>> subgroups(Pair(data, data), by=["sex"]).value
    0.0
    """
    chosen = default_groups(pair) if by is None else [by] if isinstance(by, str) else list(by)
    table = subgroup_table(pair, chosen)
    known = table.filter(pl.col("S_pMSE").is_not_nan() & pl.col("S_pMSE").is_not_null())
    if not len(known):
        why = (
            f"no group of {names(chosen)} is large enough to be shown"
            if chosen
            else "no column divides people"
        )
        return Result(
            "subgroups", float("nan"), f"Groups cannot be told apart here: {why}.", counts=("people",)
        )
    table = table.sort("S_pMSE", descending=True, nulls_last=True, maintain_order=True)
    worst, best = (known.sort("S_pMSE", maintain_order=True).row(at, named=True) for at in (-1, 0))
    return Result(
        name="subgroups",
        value=worst["S_pMSE"],
        sentence=_sentence(worst, best, len(table)) + _risk_sentence(table),
        values=_spread(known, table),
        table=table.drop([c for c in ("DiSCO", "DiSCO outside", "people outside") if not table[c].count()]),
        counts=("people",),
        chart=lambda: subgroup_chart(table),
    )


def _called(row: dict[str, Any]) -> str:
    return f"{row['by']} {row['group']}"


def _sentence(worst: dict[str, Any], best: dict[str, Any], groups: int) -> str:
    if worst["S_pMSE"] == float("inf"):
        return f"Of {groups} groups, the file has nobody of {_called(worst)}."
    return (
        f"Of {groups} groups, {_called(worst)} is served worst (S_pMSE {figure(worst['S_pMSE'])}) and {_called(best)} "
        f"best ({figure(best['S_pMSE'])})."
    )


def _risk_sentence(table: pl.DataFrame) -> str:
    """Whose secrets are given away most, beyond what is known of strangers where there are any."""
    held = table.drop_nulls("DiSCO")
    if not len(held):
        return ""
    beside = held.drop_nulls("DiSCO outside")
    by = pl.col("DiSCO") - (pl.col("DiSCO outside") if len(beside) else 0)
    most = (beside if len(beside) else held).sort(by, maintain_order=True).row(-1, named=True)
    said = f" Most is given away of {_called(most)}: the secrets of {figure(most['DiSCO'], '%')} of them"
    return said + (
        f", of {figure(most['DiSCO outside'], '%')} of those not in the data." if len(beside) else "."
    )


def _spread(known: pl.DataFrame, table: pl.DataFrame) -> dict[str, float]:
    """How far groups are apart: in utility, in the share the file has of them, in what it adds to their risk."""
    finite = known.filter(pl.col("S_pMSE").is_finite())["S_pMSE"]
    ratio = (table["share, protected"] / table["share, original"]).drop_nulls().drop_nans()
    added = (table["DiSCO"] - table["DiSCO outside"]).drop_nulls()
    told = {"S_pMSE, worst less best": _range(finite), "smallest share of what it was": _least(ratio)}
    return told | ({"added risk, most less least (points)": _range(added)} if len(added) else {})


def _range(values: pl.Series) -> float:
    return float(values.max() - values.min()) if len(values) else float("nan")  # type: ignore[operator,arg-type]


def _least(values: pl.Series) -> float:
    return float(values.min()) if len(values) else float("nan")  # type: ignore[arg-type]


def subgroup_chart(table: pl.DataFrame) -> alt.TopLevelMixin:
    """One line a group: how useful the file is for it, and how many of it are given away, in the data and outside."""
    data = table.with_columns(
        pl.format("{} {}", "by", "group").alias("who"), pl.col("S_pMSE").clip(0.3, 1000).alias("utility")
    )
    order = data["who"].to_list()
    y = alt.Y("who:N", sort=order, title=None, axis=alt.Axis(labelLimit=200))
    high = 22 * len(order) + 10
    far = max(12.0, 1.2 * float(data["utility"].drop_nans().max() or 0.0))  # type: ignore[arg-type]
    scale = alt.Scale(type="log", domain=[0.3, far])
    points = alt.Chart(data.to_arrow()).mark_point(filled=True, size=60, color=UTILITY).encode(
        x=alt.X("utility:Q", title="S_pMSE (1: chance)", scale=scale), y=y,
        tooltip=[alt.Tooltip("who"), alt.Tooltip("S_pMSE:Q", format=".3g"), alt.Tooltip("people:Q")],
    )  # fmt: skip
    line = alt.Chart(pl.DataFrame({"one": [1.0]}).to_arrow()).mark_rule(color=QUIET, strokeDash=[3, 3])
    left = alt.layer(line.encode(x=alt.X("one:Q", scale=scale)), points).properties(width=230, height=high)
    if not table["DiSCO"].count():
        return left
    long = data.unpivot(["DiSCO", "DiSCO outside"], index="who", variable_name="of", value_name="read off")
    long = long.drop_nulls().with_columns(
        pl.col("of").replace_strict({"DiSCO": "in the data", "DiSCO outside": "not in it"})
    )
    ends = ["in the data", "not in it"]
    right = alt.Chart(long.to_arrow()).mark_point(filled=True, size=60).encode(
        x=alt.X("read off:Q", title="% whose secret is read off", scale=alt.Scale(zero=True)),
        y=alt.Y("who:N", sort=order, title=None, axis=alt.Axis(labels=False)),
        color=alt.Color("of:N", title=None, scale=alt.Scale(domain=ends, range=[RISK, ORIGINAL])),
        shape=alt.Shape("of:N", title=None, scale=alt.Scale(domain=ends, range=["square", "circle"])),
        tooltip=["who", "of", alt.Tooltip("read off:Q", format=".3g")],
    ).properties(width=190, height=high)  # fmt: skip
    return alt.hconcat(left, right)
