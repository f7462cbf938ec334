"""The words of a release: what the first page of the internal and of the public report says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dalenius.core.result import Result, figure
from dalenius.counts.measure import MEASURES
from dalenius.data import Table
from dalenius.evaluation.policy import open_dimensions
from dalenius.release.outcome import Judged, Release
from dalenius.release.plan import Plan
from dalenius.report.story import Intruder, PolicyRow, Story, chances, joined, likely_lines, wrong_lines
from dalenius.report.uses import use_lines
from dalenius.synth import METHODS

OPEN_CHOICE = (
    "The choice of this file was not private: it was compared with limits, or with other files, by looking at the real "
    "data, and no part of the privacy budget was spent on that."
)


def internal_story(
    release: Release, chosen: Judged, original: Table, released: Table, threshold: int
) -> Story:
    """Everything: the choice, the policy, all intruders, ledgers and the plan."""
    plan = release.plan
    story = _common(plan, chosen, original, released)
    rare = rare_values(original, released, threshold)
    return replace(
        story,
        released=[*story.released, *_repeatable(chosen)],
        likely=[*story.likely, *_others(plan, chosen), *_rare_lines(rare, threshold)],
        decided=_decided(release, chosen),
        refused=release.refusals,
        why=release.why,
        policy=[
            PolicyRow(j.candidate.name, f.rule.text, f.scenario, f.met, _found(f.said))
            for j in release.judged for f in j.findings
        ],
        intruders=[_intruder(release, n) for n in range(len(plan.scenarios))],
        ledgers=[(j.candidate.name, j.ledger) for j in release.judged if j.ledger],
        plan=plan.text,
    )  # fmt: skip


def _decided(release: Release, chosen: Judged) -> list[str]:
    made, safe = len(release.judged), sum(j.safe for j in release.judged)
    counted = f"All {made}" if safe == made else f"Of {made}"
    kept = "keep" if safe == made else (f", {safe} keeps" if safe == 1 else f", {safe} keep")
    many = (
        f"{counted} files that were made on trial {kept} to every limit that the people responsible have set. "
        f"{'It' if safe == 1 else 'The most useful of them'}, '{chosen.candidate.name}', was chosen."
    ).replace(" ,", ",")
    one = f"The file '{chosen.candidate.name}' keeps to every limit that the people responsible have set."
    said = one if made == 1 else many
    unset = open_dimensions(release.plan.policy)
    notes = [f"No limit was set against {joined(unset, 'or')}."] if unset else []
    if release.plan.default_policy:
        said = said.replace(
            "that the people responsible have set", "of the default policy, since the plan sets none"
        )
    return [said, *notes, "Whether it goes out is for the people responsible to decide."]


def public_story(release: Release, chosen: Judged, original: Table, released: Table) -> Story:
    """What users of the data may know: no limits of the policy, no options, no seeds, no other candidates."""
    plan = release.plan
    story = _common(plan, chosen, original, released)
    return replace(
        story,
        decided=[
            f"This file met {'default limits' if plan.default_policy else 'the limits the data holder has set'}."
            + (" It holds made-up records, not people." if chosen.made_up else ""),
        ],
        intruders=[
            Intruder(s.name, s.about, s.keys, s.targets, s.population_share) for s in plan.scenarios[:1]
        ],
        ledgers=[(release_title(chosen), chosen.ledger)] if chosen.ledger else [],
    )


def private_story(release: Release, chosen: Judged, released: Table, paid: Sequence[Result]) -> Story:
    """The first page about a file with a privacy budget: what was paid for, or is in the file itself, and nothing else.

    How safe and how useful the file was found to be against the real data stays inside: no budget covers that.
    """
    plan, method = release.plan, chosen.candidate.build()
    scenario = plan.scenarios[0]
    chosen_openly = len(release.judged) > 1 or bool(plan.policy)
    return Story(
        decided=[
            "This file holds made-up records, not people.",
            *([OPEN_CHOICE] if chosen_openly else []),
        ],
        released=[
            f"A file about {released.rows:,} people who do not exist, with {len(released.names)} facts about each.",
            f"A computer program made them up. {method.info.plain or method.info.meaning}",
            method.promise,
            f"The facts: {joined(released.names)}.",
            *([f"For: {plan.audience}."] if plan.audience else []),
            f"Name of the method, for experts: {release_title(chosen)}.",
        ],
        wrong=wrong_lines(scenario.keys, scenario.targets, scenario.about),
        likely=[
            "The privacy budget below bounds what anybody can learn about one person, whatever else he knows."
        ],
        uses=[r.sentence for r in paid]
        or ["How close it is to the real data is not told: no part of the privacy budget was spent on that."],
        intruders=[
            Intruder(
                scenario.name, scenario.about, scenario.keys, scenario.targets, scenario.population_share
            )
        ],
        ledgers=[(release_title(chosen), chosen.ledger)] if chosen.ledger else [],
    )


def release_title(chosen: Judged) -> str:
    """What the method of the chosen file is called."""
    return METHODS[chosen.candidate.method].info.title


def _common(plan: Plan, chosen: Judged, original: Table, released: Table) -> Story:
    scenario = plan.scenarios[0]
    figures = chosen.runs[0][scenario.name]
    share = scenario.population_share
    found = chances(_risks(figures), scenario.keys, share, chosen.made_up)
    return Story(
        released=_released(plan, chosen, original, released),
        wrong=wrong_lines(scenario.keys, scenario.targets, scenario.about),
        likely=likely_lines(found, share),
        uses=use_lines(figures.get("two-way-utility")),
        chances=found,
    )


def _risks(figures: Mapping[str, Result]) -> list[Result]:
    """Risk figures, what could be read off before who could be taken for somebody."""
    return sorted(
        (r for r in figures.values() if MEASURES[r.name].info.family == "risk"),
        key=lambda r: r.name != "disco",
    )


def _released(plan: Plan, chosen: Judged, original: Table, released: Table) -> list[str]:
    method = chosen.candidate.build()
    dropped = [name for name in original.names if name not in released.names]
    facts = f"with {len(released.names)} facts about each"
    lines = [
        f"A file about {released.rows:,} people who do not exist, {facts}."
        if chosen.made_up
        else f"A file of {released.rows:,} lines, {facts}; that some of them are real people was not ruled out.",
        f"A computer program made them after the pattern of {original.rows:,} real people. "
        + (method.info.plain or method.info.meaning),
        method.promise,
        f"The facts: {joined(released.names)}.",
    ]
    if dropped:
        lines.append(f"Left out altogether: {joined(dropped)}.")
    if plan.audience:
        lines.append(f"For: {plan.audience}.")
    return [*lines, f"Name of the method, for experts: {release_title(chosen)}."]


def _others(plan: Plan, chosen: Judged) -> list[str]:
    """The other intruders in one line each."""
    lines = []
    for scenario in plan.scenarios[1:]:
        found = chances(_risks(chosen.runs[0][scenario.name]), scenario.keys, scenario.population_share)
        if found:
            worst = max(found, key=lambda chance: chance.added).short
            who = f"Another intruder, '{scenario.name}', who knows {joined(scenario.keys)}"
            lines.append(f"{who}: {worst[:1].lower()}{worst[1:]}")
    return lines


def _repeatable(chosen: Judged) -> list[str]:
    if chosen.candidate.repeatable:
        return []
    return [
        "Fresh chance is part of the method's promise: the file was made once and kept, and running the plan anew "
        "would give another file. The promise covers the file, not the choice among candidates, which looked at the "
        "real data."
    ]


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
