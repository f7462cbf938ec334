"""The plain sentences at the top of a report. They compare figures; the decision stays with the people responsible."""

from __future__ import annotations

import math

from dalenius.core.maps import frontier
from dalenius.core.result import Result, figure
from dalenius.evaluation import Comparison, Evaluation
from dalenius.report.people import in_people, with_percent
from dalenius.report.story import Story, chances, joined, likely_lines, wrong_lines
from dalenius.report.uses import use_lines
from dalenius.utility.tables import reading as table_reading


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


def comparison_story(comparison: Comparison) -> Story:
    """The four answers about one or several protected files that nobody has chosen among yet.

    Examples
    --------
    >>> from dalenius.evaluation import compare
    >>> data = {"sex": ["f", "m"] * 20, "age": list(range(40))}
    >>> story = comparison_story(compare(data, {"copy": data}, keys=["age"], targets=["sex"]))
    >>> story.chances[0].value
    100.0
    """
    evaluations = comparison.evaluations
    some = next(iter(evaluations.values()))
    keys, targets, people = some.pair.keys, some.pair.targets, some.pair.original.rows
    lines = verdict(comparison)
    if len(evaluations) == 1:
        found = chances(_by_weight(some), keys)
        released = [
            f"A file about {some.pair.protected.rows:,} people who do not exist, '{some.name}', was compared with data "
            f"about {people:,} real people.",
            f"The facts about each: {joined(some.pair.columns)}.",
        ]
        likely, uses = likely_lines(found, 1.0), use_lines(some.results.get("two-way-utility"))
    else:
        found = []
        released = [
            f"{len(evaluations)} files about people who do not exist were compared with data about {people:,} real "
            "people.",
            f"The facts about each: {joined(some.pair.columns)}.",
        ]
        likely, uses = _likely_by_file(comparison), _uses_by_file(comparison)
    return Story(
        released=released, wrong=wrong_lines(keys, targets), likely=likely, uses=uses, chances=found,
        decided=lines[-1:], why=" ".join(lines[:-1]), released_question="What was compared?",
    )  # fmt: skip


def _by_weight(evaluation: Evaluation) -> list[Result]:
    return sorted(evaluation.family("risk"), key=lambda r: r.name != "disco")


def _likely_by_file(comparison: Comparison) -> list[str]:
    """How many people something could be read off about, file by file."""
    found = {n: e.results["disco"] for n, e in comparison.evaluations.items() if "disco" in e.results}
    if not found:
        return likely_lines([], 1.0)
    ordered = sorted(found, key=lambda name: found[name].value)
    held = next(iter(found.values())).yardsticks.get("holdout")
    lines = [
        f"It depends on the file: for {in_people(found[ordered[0]].value)} with '{ordered[0]}', for "
        f"{in_people(found[ordered[-1]].value)} with '{ordered[-1]}', somebody who knows the facts above could read "
        "something true off.",
        *(f"'{name}': {with_percent(found[name].value)}." for name in ordered),
    ]
    if held is not None:
        lines.append(
            f"For people who never took part it is {in_people(held)} or thereabouts: that much is general knowledge."
        )
    return lines


def _uses_by_file(comparison: Comparison) -> list[str]:
    found = {
        n: e.results["two-way-utility"]
        for n, e in comparison.evaluations.items()
        if "two-way-utility" in e.results
    }
    lines = [
        "Learning, teaching, trying out programs, and first looks at a question; some files more than others."
    ]
    ordered = sorted(found, key=lambda name: found[name].value)
    if ordered:
        lines.append(
            "From the closest to the real data to the furthest, in tables of two facts at a time (1 is as close as "
            "chance allows, above 30 is too far to be used): "
            + joined([f"'{name}' {figure(found[name].value)}" for name in ordered])
            + "."
        )
    return [
        *lines,
        "Not for decisions about single people, not for rare groups, and not for finding anybody.",
    ]


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
    return table_reading(result.value) if result.info.name == "two-way-utility" else ""


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
