"""The words of a release: what the first page of the internal and of the public report says."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from dalenius.core.registry import MethodInfo
from dalenius.core.result import Result, figure
from dalenius.counts.measure import MEASURES
from dalenius.data import Table
from dalenius.release.outcome import Judged, Release
from dalenius.release.plan import Plan
from dalenius.report.story import Intruder, PolicyRow, Story, likely_lines, wrong_lines
from dalenius.synth import SYNTHESIZERS
from dalenius.utility.tables import GOOD, USABLE


def internal_story(
    release: Release, chosen: Judged, original: Table, released: Table, threshold: int
) -> Story:
    """Everything: the choice, the policy, all intruders, ledgers and the plan."""
    plan = release.plan
    story = _common(plan, chosen, original, released)
    rare = rare_values(original, released, threshold)
    likely = [*story.likely, *_rare_lines(rare, threshold)]
    return Story(
        released=[*story.released, *_repeatable(chosen)],
        wrong=story.wrong,
        likely=likely,
        uses=story.uses,
        decided=[release.why, "Whether the file is released is for the people responsible to decide."],
        policy=[
            PolicyRow(j.candidate.name, f.rule.text, f.scenario, f.met, _found(f.said))
            for j in release.judged for f in j.findings
        ],
        intruders=[_intruder(release, n) for n in range(len(plan.scenarios))],
        ledgers=[(j.candidate.name, j.ledger) for j in release.judged if j.ledger],
        plan=plan.text,
    )  # fmt: skip


def public_story(release: Release, chosen: Judged, original: Table, released: Table) -> Story:
    """What users of the data may know: no limits of the policy, no options, no seeds, no other candidates."""
    plan = release.plan
    story = _common(plan, chosen, original, released)
    first = plan.scenarios[0]
    return Story(
        released=story.released,
        wrong=story.wrong,
        likely=story.likely,
        uses=story.uses,
        decided=[
            "This file met the release policy of the data holder. It holds made-up records, not people."
        ],
        intruders=[Intruder(s.name, s.about, s.keys, s.targets, s.population_share) for s in (first,)],
        ledgers=[(release_title(chosen), chosen.ledger)] if chosen.ledger else [],
    )


def release_title(chosen: Judged) -> str:
    """What the method of the chosen file is called."""
    return SYNTHESIZERS[chosen.candidate.method].info.title


def _common(plan: Plan, chosen: Judged, original: Table, released: Table) -> Story:
    info = SYNTHESIZERS[chosen.candidate.method].info
    scenario = plan.scenarios[0]
    figures = chosen.runs[0][scenario.name]
    risks = [r for r in figures.values() if MEASURES[r.name].info.family == "risk"]
    return Story(
        released=_released(plan, info, original, released),
        wrong=wrong_lines(scenario.keys, scenario.targets),
        likely=likely_lines(risks, scenario.keys, scenario.targets, scenario.population_share),
        uses=use_lines(figures.get("two-way-utility")),
    )


def _released(plan: Plan, info: MethodInfo, original: Table, released: Table) -> list[str]:
    dropped = [name for name in original.names if name not in released.names]
    lines = [
        f"{released.rows:,} made-up records with {len(released.names)} columns, made after the "
        f"pattern of {original.rows:,} real "
        f"ones by: {info.title}. {info.meaning}",
        f"What the method itself promises: {info.guarantee}.",
    ]
    if plan.audience:
        lines.append(f"For: {plan.audience}.")
    return lines + ([f"Left out altogether: {', '.join(dropped)}."] if dropped else [])


def _repeatable(chosen: Judged) -> list[str]:
    if chosen.candidate.repeatable:
        return []
    return [
        "Fresh noise is part of the method's guarantee: the file was made once and kept, and "
        "running the plan anew would "
        "give another file. The guarantee covers the file, not the choice among candidates, "
        "which looked at the real data."
    ]


def use_lines(tables: Result | None) -> list[str]:
    """What the file may be used for, from its two-way tables, column by column."""
    good, poor = readings(tables)
    lines = [
        "Learning, teaching, trying out programs and first looks at a question. Confirm every "
        "result that matters on the "
        "real data with the data holder.",
    ]
    if tables is not None:
        word = (
            "close to" if tables.value < GOOD else ("some way from" if tables.value < USABLE else "far from")
        )
        lines.append(
            f"Tables of two columns are on average {word} the original's (S_pMSE "
            f"{figure(tables.value)}; 1 is as close as chance allows)."
        )
    if good:
        lines.append(f"Relations found close to the original: {', '.join(good)}.")
    if poor:
        lines.append(f"Relations found far from the original, not to be relied on: {', '.join(poor)}.")
    return [
        *lines,
        "Not for decisions about single people, not for rare groups, and not for finding anybody.",
    ]


def readings(result: Result | None) -> tuple[list[str], list[str]]:
    """Columns whose two-way tables are good and those whose are bad, by the mean over their tables."""
    if (
        result is None
        or result.table is None
        or not {"first", "second", "S_pMSE"} <= set(result.table.columns)
    ):
        return [], []
    long = pl.concat(
        [result.table.select(pl.col(side).alias("column"), "S_pMSE") for side in ("first", "second")]
    )
    means = dict(long.group_by("column").agg(pl.col("S_pMSE").mean()).sort("column").iter_rows())
    return [c for c, v in means.items() if v < GOOD], [c for c, v in means.items() if v >= USABLE]


def _found(said: str) -> str:
    return said.split(": ", 1)[-1].rsplit(", ", 1)[0]


def _intruder(release: Release, number: int) -> Intruder:
    scenario = release.plan.scenarios[number]
    rows: list[tuple[str, str, str]] = []
    if number:  # the main figures of the report are about the first
        for judged in release.judged:
            for name, result in judged.figures[scenario.name].items():
                info = MEASURES[name].info
                if info.family == "risk" and info.needs & {"keys", "targets"}:
                    rows.append((judged.candidate.name, info.title, figure(result.value, result.unit)))
    return Intruder(
        scenario.name, scenario.about, scenario.keys, scenario.targets, scenario.population_share, rows
    )


def rare_values(original: Table, released: Table, threshold: int) -> dict[str, int]:
    """How many values that fewer than ``threshold`` original records have are in the released file, by column.

    Examples
    --------
    >>> source = Table.from_frame({"ill": ["no"] * 30 + ["rare"]})
    >>> rare_values(source, Table.from_frame({"ill": ["no"] * 30 + ["rare"]}), 10)
    {'ill': 1}
    """
    found = {}
    for name in released.names:
        if released[name].is_number:
            continue
        held = original[name].categories
        counts = np.bincount(held.codes.astype(np.int64), minlength=len(held.labels))
        rare = {str(held.labels[int(i)]) for i in np.flatnonzero((counts > 0) & (counts < threshold))}
        other = released[name].categories
        shown = {str(other.labels[int(i)]) for i in np.unique(other.codes)}
        if rare & shown:
            found[name] = len(rare & shown)
    return found


def _rare_lines(rare: dict[str, int], threshold: int) -> list[str]:
    if not rare:
        return [f"No category that fewer than {threshold} real records have is in the file."]
    listed = ", ".join(f"{name} ({count})" for name, count in rare.items())
    return [
        f"The file itself names categories that fewer than {threshold} real records have: "
        f"{listed}. Their presence says that "
        "somebody has them. Merge them in the source, or take the columns out, if that must not be known."
    ]


def results_rows(judged: Sequence[Judged]) -> list[dict[str, object]]:
    """One row per candidate, replicate, scenario and measure."""
    return [
        {
            "candidate": j.candidate.name, "replicate": n + 1, "scenario": scenario, "measure": name, "value": r.value,
            "unit": r.unit,
            "low": r.interval.low if r.interval else None, "high": r.interval.high if r.interval else None,
            "trusted": r.trusted, "meets_policy": j.safe,
        }
        for j in judged for n, run in enumerate(j.runs)
        for scenario, results in run.items() for name, r in results.items()
    ]  # fmt: skip
