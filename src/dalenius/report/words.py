"""The plain sentences at the top of a report. They compare figures; the decision stays with the people responsible."""

from __future__ import annotations

import math

from dalenius.core.maps import frontier
from dalenius.core.result import Result, figure
from dalenius.evaluation import Comparison, Evaluation


def verdict(comparison: Comparison) -> list[str]:
    """A few sentences that sum up a comparison for a board.

    Examples
    --------
    >>> from dalenius.evaluation import compare
    >>> data = {"sex": ["f", "m"] * 20, "age": list(range(40))}
    >>> print(verdict(compare(data, {"copy": data}, keys=["age"], targets=["sex"]))[0])
    One protected file, 'copy', was compared with the original of 40 records.
    """
    evaluations = comparison.evaluations
    some = next(iter(evaluations.values()))
    rows = f"the original of {some.pair.original.rows:,} records"
    shown = ", ".join(f"'{name}'" for name in evaluations)
    count = len(evaluations)
    lines = [
        f"One protected file, {shown}, was compared with {rows}."
        if count == 1
        else f"{count} protected files were compared with {rows}: {shown}."
    ]
    if count > 1 and some.family("risk") and some.family("utility"):
        lines += _trade_off(comparison)
    lines.append(
        "These figures speak of the intruders and analyses that were named here and of no others. "
        "Whether the data may be released is for the people responsible to decide."
    )
    return lines


def _trade_off(comparison: Comparison) -> list[str]:
    points = comparison.points()
    best = [name for name, kept in zip(points["candidate"], frontier(points), strict=True) if kept]
    first = points.row(0, named=True)
    low_risk = points.sort("risk").row(0, named=True)
    descending = first["utility_better"] == "higher"
    high_use = points.sort("utility", descending=descending).row(0, named=True)
    beaten = [name for name in points["candidate"] if name not in best]
    lines = [
        f"By {first['risk_title']}, '{low_risk['candidate']}' gives away least ({figure(low_risk['risk'], '%')}). "
        f"By {first['utility_title']}, '{high_use['candidate']}' is the most useful ({figure(high_use['utility'])})."
    ]
    if beaten:
        lines.append(
            f"{_joined(beaten)} {'is' if len(beaten) == 1 else 'are'} beaten on both counts by another file; "
            f"the choice is between {_joined(best)}."
        )
    return lines


def _joined(items: list[str]) -> str:
    quoted = [f"'{item}'" for item in items]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def reading(result: Result) -> str:
    """One of "good", "usable", "bad" or "" for the colour beside a figure; risks get no mark of their own."""
    if result.info is None or result.info.family != "utility" or math.isnan(result.value):
        return ""
    if result.info.name == "two-way-utility":
        return "good" if result.value < 10 else ("usable" if result.value < 30 else "bad")
    return ""


def cautions(evaluation: Evaluation) -> list[str]:
    """What a reader must know before believing the figures."""
    found = list(evaluation.pair.notes)
    if evaluation.pair.holdout is None:
        found.append(
            "No holdout was given: it cannot be told what an intruder would have learnt about people who are not in "
            "the data, so a risk figure may be general knowledge rather than a leak."
        )
    found += [f"{name} was not measured: it {why}." for name, why in evaluation.skipped.items()]
    found += [
        f"{r.name} must not be read as safe: {r.sentence}"
        for r in evaluation.results.values()
        if not r.trusted
    ]
    return found
