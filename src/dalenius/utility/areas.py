"""What a protection does to tables of small areas: what stays, what no longer fits together, who is counted wrongly.

Invariants by level of geography, areas whose people and households contradict each other, and errors by size of the
count, so that small groups are not hidden by the average (Muralidhar and Ruggles 2024).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import DataError, OptionError, no_column
from dalenius.data.rules import Rule
from dalenius.data.table import Table

SIZES = (0, 1, 10, 100, 1000)
"""Where classes of true counts begin."""
ROLES = ("people", "adults", "households", "in households", "group quarters", "land")


@dataclass(frozen=True, eq=False)
class PolicyImpact:
    """Effects of a protection on areas.

    Attributes
    ----------
    invariants
        By level and count: share of areas where it is kept exactly, mean and largest change.
    kept_from
        By count, the first level at which it is kept everywhere; None where it is kept nowhere.
    flags
        Contradictions between people and households: share of areas and of people, before and after.
    errors
        By level, count and class of the true count: bias, mean absolute error, mean absolute error in per cent.
    """

    invariants: pl.DataFrame
    kept_from: Mapping[str, str | None]
    flags: pl.DataFrame
    errors: pl.DataFrame

    def __str__(self) -> str:
        said = [
            f"{name} is kept from the level of {level} on" if level else f"{name} is kept at no level"
            for name, level in self.kept_from.items()
        ]
        more = self.flags.filter(pl.col("flag") == "any")
        if more.height:
            before, after = more.select("areas before %", "areas after %").row(0)
            said.append(f"{after:.1f} % of the areas contradict themselves, {before:.1f} % did before")
        return "; ".join(said) + "."


def area_counts(
    data: Any, geography: Sequence[str], counts: Mapping[str, str], weight: str | None = None
) -> pl.DataFrame:
    """A table of areas out of people: how many there are of each kind, in the language of rules.

    Examples
    --------
    >>> people = {"block": ["1", "1", "2"], "age": [30, 4, 70]}
    >>> area_counts(people, ["block"], {"people": "", "adults": "age >= 18"}).rows()
    [('1', 2, 1), ('2', 1, 1)]
    """
    table = Table.from_frame(data)
    missing = [name for name in (*geography, *([weight] if weight else [])) if name not in table]
    if missing:
        raise OptionError(no_column(missing, table.names))
    kinds = {
        name: Rule.parse(text, table.schema).holds(table) if text else np.ones(table.rows, np.bool_)
        for name, text in counts.items()
    }
    plain = table.to_frame("polars")
    size = plain[weight].cast(pl.Float64).to_numpy() if weight else np.ones(table.rows, np.int64)
    frame = plain.select(list(geography))
    frame = frame.with_columns(*(pl.Series(name, kind * size) for name, kind in kinds.items()))
    return frame.group_by(list(geography)).agg(pl.col(list(counts)).sum()).sort(list(geography))


def policy_impact(
    original: Any,
    released: Any,
    *,
    geography: Sequence[str],
    counts: Sequence[str],
    roles: Mapping[str, str] | None = None,
) -> PolicyImpact:
    """Compare two tables of areas: one row an area of the finest level.

    Parameters
    ----------
    geography
        Columns of the area, the finest first: ``["block", "tract", "county"]``.
    counts
        Columns of counts to be followed, such as everybody and people of 18 and over.
    roles
        Which columns are people, adults, households, people in households, in group quarters, and land area:
        contradictions are looked for among those that are named.

    Examples
    --------
    >>> before = {"block": ["1", "2"], "tract": ["A", "A"], "people": [10, 4], "adults": [7, 3]}
    >>> after = {"block": ["1", "2"], "tract": ["A", "A"], "people": [9, 5], "adults": [7, 0]}
    >>> found = policy_impact(before, after, geography=["block", "tract"], counts=["people", "adults"],
    ...                       roles={"people": "people", "adults": "adults"})
    >>> print(found)
    people is kept from the level of tract on; adults is kept at no level; 50.0 % of the areas contradict themselves,
    0.0 % did before.
    """
    roles = roles or {}
    unknown = [name for name in roles if name not in ROLES]
    if unknown:
        raise OptionError(f"unknown roles {', '.join(unknown)}; there are {', '.join(ROLES)}")
    needed = [*geography, *dict.fromkeys([*counts, *roles.values()])]
    first, second = (_frame(side, needed, geography) for side in (original, released))
    whole = first.join(second, on=list(geography), how="full", coalesce=True, suffix=" after")
    numbers = [name for name in needed if name not in geography]
    whole = whole.with_columns(pl.col([*numbers, *(f"{n} after" for n in numbers)]).fill_null(0))
    invariants, errors = [], []
    kept: dict[str, str | None] = {}
    for level, area in enumerate(geography):
        by = list(geography[level:])
        summed = whole.group_by(by).agg(pl.col([*counts, *(f"{c} after" for c in counts)]).sum())
        for count in counts:
            true, shown = (summed[name].to_numpy().astype(np.float64) for name in (count, f"{count} after"))
            invariants.append(_invariant(area, count, true, shown))
            errors += _errors(area, count, true, shown)
            kept[count] = (kept.get(count) or area) if (true == shown).all() else None
    return PolicyImpact(pl.DataFrame(invariants), kept, _flags(whole, roles), pl.DataFrame(errors))


def _frame(data: Any, needed: Sequence[str], geography: Sequence[str]) -> pl.DataFrame:
    frame = data if isinstance(data, pl.DataFrame) else Table.from_frame(data).to_frame("polars")
    missing = [name for name in needed if name not in frame.columns]
    if missing:
        raise OptionError(no_column(missing, frame.columns))
    chosen = frame.select(needed).with_columns(pl.col(list(geography)).cast(pl.String))
    if chosen.select(list(geography)).is_duplicated().any():
        raise DataError(f"an area has several rows; sum them first, one row for each {geography[0]}")
    return chosen


def _invariant(area: str, count: str, true: Any, shown: Any) -> dict[str, Any]:
    change = np.abs(shown - true)
    return {
        "level": area, "count": count, "areas": len(true), "kept %": 100 * float((change == 0).mean()),
        "mean change": float(change.mean()), "largest change": float(change.max(initial=0.0)),
    }  # fmt: skip


def _errors(area: str, count: str, true: Any, shown: Any) -> list[dict[str, Any]]:
    """Errors by class of the true count; per cent only where there is somebody to take them of."""
    lines = []
    place = np.searchsorted(SIZES, true, side="right") - 1
    for number, low in enumerate(SIZES):
        at = place == number
        if not at.any():
            continue
        off = shown[at] - true[at]
        high = SIZES[number + 1] - 1 if number + 1 < len(SIZES) else None
        lines.append({
            "level": area, "count": count, "true count": f"{low:,} and more" if high is None else
            (f"{low:,}" if high == low else f"{low:,} to {high:,}"),
            "areas": int(at.sum()), "bias": float(off.mean()), "mean absolute error": float(np.abs(off).mean()),
            "mean absolute error %": 100 * float(np.mean(np.abs(off) / true[at])) if low else None,
        })  # fmt: skip
    return lines


def _flags(whole: pl.DataFrame, roles: Mapping[str, str]) -> pl.DataFrame:
    """Areas whose people and households contradict each other; true data may hold some too."""

    def held(name: str, after: str) -> pl.Expr:
        return pl.col(f"{roles[name]}{after}")

    def wrong(after: str) -> dict[str, pl.Expr]:
        flags = {}
        if {"people", "land"} <= roles.keys():
            flags["people where there is no land"] = (held("people", after) > 0) & (held("land", "") <= 0)
        if {"people", "adults"} <= roles.keys():
            flags["people without anybody of age"] = (held("people", after) > 0) & (
                held("adults", after) <= 0
            )
        if {"people", "households"} <= roles.keys():
            quarters = held("group quarters", after) if "group quarters" in roles else pl.lit(0)
            flags["people without a household"] = (
                (held("people", after) > 0) & (held("households", after) <= 0) & (quarters <= 0)
            )
            flags["households without people"] = (held("households", after) > 0) & (
                held("people", after) <= 0
            )
        if {"in households", "households"} <= roles.keys():
            flags["fewer people than households"] = held("in households", after) < held("households", after)
        return flags

    before, after = wrong(""), wrong(" after")
    if before:
        before["any"], after["any"] = (pl.any_horizontal(*side.values()) for side in (before, after))
    lines = []
    for name in before:
        line: dict[str, Any] = {"flag": name}
        for word, side, mark in (("before", before, ""), ("after", after, " after")):
            hit = whole.select(side[name].alias("hit"))["hit"].to_numpy()
            line[f"areas {word} %"] = 100 * float(hit.mean()) if len(hit) else 0.0
            if "people" in roles:
                people = whole[f"{roles['people']}{mark}"].to_numpy().astype(np.float64)
                line[f"people {word} %"] = 100 * float(people[hit].sum() / max(people.sum(), 1))
        line["areas more"] = line["areas after %"] - line["areas before %"]
        lines.append(line)
    return pl.DataFrame(lines, schema=None if lines else {"flag": pl.String})
