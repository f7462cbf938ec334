"""The plain sentences at the top of a report. They compare figures; the decision stays with the people responsible."""

from __future__ import annotations

import math

import polars as pl

from dalenius.core.maps import frontier
from dalenius.core.result import Result, figure
from dalenius.counts.measure import MASKED, MEASURES
from dalenius.evaluation import Comparison, Evaluation, refusals
from dalenius.evaluation.policy import KEPT, KEPT_MEASURE, RISKS, Finding, worst_missed
from dalenius.report.story import Story, chances, joined, likely_lines, wrong_lines
from dalenius.report.uses import masked_lines, tables_of, use_lines
from dalenius.utility.tables import reading as table_reading

FEW = 0.05
"""Share of two-way tables that may be lost in a file that is still called usable."""
MANY = 0.5
"""Share of two-way tables that may be usable only in a file that is still called good."""


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
        "These figures speak of the intruders and analyses that were named here and of no others. Real people in "
        "disguise are looked for, but whoever makes a file to deceive can hide them: know how it was made. "
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
    keys, targets, people = some.pair.keys, some.pair.targets, some.pair.people
    lines = verdict(comparison)
    if len(evaluations) == 1:
        # how the file was made is not known here: that its records are nobody's is not for this page to say
        masked = bool(some.pair.lens)
        told = chances(_by_weight(some), keys, masked=masked)
        what = "masked records of real people" if masked else "records"
        released = [
            f"A file of {some.pair.protected.rows:,} {what}, '{some.name}', was compared with data about {people:,} "
            "real people.",
            f"The facts about each: {joined(some.pair.columns)}.",
            *masked_lines(_in_detail(some), str(some.pair.lens)),
            *([_taken_over(some)] if some.unchanged else []),
        ]
        likely, uses = likely_lines(told, 1.0), use_lines(tables_of(_in_detail(some)))
    else:
        told = []
        released = [
            f"{len(evaluations)} protected files were compared with data about {people:,} real people.",
            f"The facts about each: {joined(some.pair.columns)}.",
            *(f"'{name}': {_taken_over(e)}" for name, e in evaluations.items() if e.unchanged),
        ]
        likely, uses = _likely_by_file(comparison), _uses_by_file(comparison)
    if some.family("risk"):
        own = some.doubts[0] if some.doubts and len(evaluations) == 1 else ""
        doubt = some.pair.for_rows()[0].doubt or own
        # a chance that cannot be told is not drawn either
        likely, told = ([f"This cannot be told: {doubt}", *likely[1:]], []) if doubt else (likely, told)
    short = [] if len(evaluations) == 1 else _trade_off(comparison)
    return Story(
        released=released, wrong=wrong_lines(keys, targets), likely=likely, uses=uses, chances=told,
        decided=[*short, lines[-1]], why=" ".join(lines[:-1]), released_question="What was compared?",
        refused=refused_lines(comparison),
    )  # fmt: skip


def _by_weight(evaluation: Evaluation) -> list[Result]:
    return sorted(evaluation.family("risk"), key=lambda r: r.name != "disco")


def _likely_by_file(comparison: Comparison) -> list[str]:
    """What each file gives away beyond what strangers reach, the one that gives away most first."""
    told, doubtful = {}, []
    for name, evaluation in comparison.evaluations.items():
        likely = chances(_by_weight(evaluation), evaluation.pair.keys, masked=bool(evaluation.pair.lens))
        if likely and evaluation.doubts:
            doubtful.append(f"'{name}': this cannot be told, for what is said above.")
        elif likely:
            told[name] = max(likely, key=lambda chance: chance.added)
    if not told and not doubtful:
        return likely_lines([], 1.0)
    ordered = sorted(told, key=lambda name: -told[name].added)
    return [
        "It depends on the file.",
        *doubtful,
        *(f"'{name}': {_lower(told[name].short)}" for name in ordered),
    ]


def _upper(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:]


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


def _uses_by_file(comparison: Comparison) -> list[str]:
    results = {
        n: tables
        for n, e in comparison.evaluations.items()
        if (tables := tables_of(_in_detail(e))) is not None
    }
    lines = [
        "Learning, teaching, trying out programs, and first looks at a question; some files more than others."
    ]
    ordered = sorted(results, key=lambda name: results[name].value)
    if ordered:
        lines.append(
            "From the closest to the real data to the furthest, in tables of two facts at a time (1 is as close as "
            "chance allows, above 30 is too far to be used): "
            + joined([f"'{name}' {figure(results[name].value)}" for name in ordered])
            + "."
        )
    return [
        *lines,
        "Not for decisions about single people, not for rare groups, and not for finding anybody.",
    ]


def _trade_off(comparison: Comparison) -> list[str]:
    """Who keeps to the default limits, one in each dimension of risk, and who is beaten among them."""
    refused = {name: _missed(e) for name, e in comparison.evaluations.items()}
    kept = [name for name, missed in refused.items() if not missed]
    measured = any(e.pair.holdout is not None for e in comparison.evaluations.values())
    if not kept:
        why = "No file keeps" if measured else "Without a holdout no file can be said to keep"
        return [
            f"{why} to a limit in each dimension of risk (copying, attribution, singling out, membership)."
        ]
    if not all(e.family("utility") for e in comparison.evaluations.values()):
        return [
            f"{_joined(kept)} {'is' if len(kept) == 1 else 'are'} within the default limits of copying, attribution, "
            "singling out and membership. How useful was not measured, so nothing is on the short list; ask for "
            "two-way-utility too."
        ]
    points = comparison.points().filter(pl.col("candidate").is_in(kept))
    best = [name for name, stands in zip(points["candidate"], frontier(points), strict=True) if stands]
    lines = [f"{_joined(best)} {'is' if len(best) == 1 else 'are'} on the short list: within the default limits of "
             "copying, attribution, singling out and membership, and beaten by no other such file on both risk and "
             "usefulness."]  # fmt: skip
    beaten = [name for name in kept if name not in best]
    if beaten:
        lines.append(
            f"{_joined(beaten)} {'is' if len(beaten) == 1 else 'are'} within the limits too, but beaten."
        )
    return lines


def refused_lines(comparison: Comparison) -> list[str]:
    """One sentence for each file outside the default limits, as far as risk was looked at: what it misses by most."""
    lines: list[str] = []
    if not any(evaluation.family("risk") for evaluation in comparison.evaluations.values()):
        return lines
    for name, evaluation in comparison.evaluations.items():
        if evaluation.doubts:
            lines.append(f"'{name}' is not on the short list: {' '.join(evaluation.doubts)}")
            continue
        missed = worst_missed(_missed(evaluation))
        if missed is not None and len(comparison.evaluations) > 1:
            lines.append(f"'{name}' is not on the short list because of {missed.plainly}.")
        elif missed is not None:
            lines.append(_beyond(name, missed))
    return lines


def _beyond(name: str, missed: Finding) -> str:
    """Why a file that stands alone is not within the limits."""
    if missed.judged:
        return f"'{name}' is beyond the default limits because of {missed.plainly}."
    return f"Whether '{name}' keeps to the default limits cannot be told. {_upper(missed.plainly)}."


def _in_detail(evaluation: Evaluation) -> dict[str, Result]:
    """The figures, and of a masked file what the mask took away, asked for or not: as masked no table differs."""
    results = dict(evaluation.results)
    if evaluation.pair.lens is not None and tables_of(results) is not None:
        for name in MASKED:
            results[name] = results.get(name) or MEASURES[name](evaluation.pair)
    return results


def _missed(evaluation: Evaluation) -> list[Finding]:
    """The default limits that a file does not keep to; one more where columns of real people come out as they were."""
    if not evaluation.unchanged or evaluation.doubts:
        return refusals(evaluation.results)
    kept = MEASURES[KEPT_MEASURE](evaluation.pair, columns=list(evaluation.unchanged))
    return refusals({**evaluation.results, KEPT_MEASURE: kept}, (*RISKS, KEPT))


def _taken_over(evaluation: Evaluation) -> str:
    """Which columns of real people come out as they were, in a sentence; empty where none do."""
    if not evaluation.unchanged:
        return ""
    return (
        f"Taken over from the real people as they are: {joined(evaluation.unchanged)}. "
        "Each line holds facts of a real person."
    )


def _joined(items: list[str]) -> str:
    quoted = [f"'{item}'" for item in items]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"


def reading(result: Result) -> str:
    """One of "good", "usable", "bad" or "" for the colour beside a figure; risks get no mark of their own.

    A mean hides tables that are lost: with one bad table a file is usable at best, with more than a few it is bad;
    with more than half that are not good, a cell of theirs being lost, it is usable at best too.
    """
    if result.name not in ("two-way-utility", "detail-utility") or math.isnan(result.value):
        return ""
    counts = [result.values.get(f"{word} tables", 0.0) for word in ("good", "usable", "bad")]
    tables = sum(counts) or 1.0
    lost = counts[2] / tables
    word = table_reading(result.value)
    if lost > FEW:
        return "bad"
    hidden = bool(lost) or counts[1] / tables > MANY
    return "usable" if hidden and word == "good" else word


def marked(result: Result) -> dict[str, str] | None:
    """The mark beside a figure, and what it rests on where the figure itself lies within better limits.

    Examples
    --------
    >>> lost = {"good tables": 90.0, "bad tables": 10.0}
    >>> marked(Result("two-way-utility", 4.0, "", values=lost))
    {'word': 'bad', 'why': '10 of 100 tables are bad'}
    """
    word = reading(result)
    if not word:
        return None
    if word == table_reading(result.value):
        return {"word": word, "why": ""}
    counts = {name: result.values.get(f"{name} tables", 0.0) for name in ("good", "usable", "bad")}
    worse = "bad" if counts["bad"] else "usable"
    held = f"{counts[worse]:,.0f} of {sum(counts.values()):,.0f} tables are {worse}"
    return {"word": word, "why": held}


def cautions(evaluation: Evaluation) -> list[str]:
    """What a reader must know before believing the figures."""
    lines = list(evaluation.pair.notes)
    if evaluation.pair.holdout is None:
        lines.append(
            "No holdout was given: it cannot be told what an intruder would have learnt about people who are not in "
            "the data, so a risk figure may be general knowledge rather than a leak."
        )
    lines += [f"{name} was not measured: it {why}." for name, why in evaluation.skipped.items()]
    lines += [
        f"{r.name} must not be read as safe: {r.sentence}"
        for r in evaluation.results.values()
        if not r.trusted
    ]
    return lines
