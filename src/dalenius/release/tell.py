"""The words of a release: what the first page of the internal and of the public report says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from dalenius.core.errors import counted
from dalenius.core.result import Result, figure
from dalenius.data import Table
from dalenius.data.vector import MISSING_LABEL, NAN_LABEL
from dalenius.evaluation.policy import Finding, described, open_dimensions
from dalenius.release.outcome import Judged, Release
from dalenius.release.plan import Plan, Scenario
from dalenius.report.attacked import AttackStory
from dalenius.report.story import (
    Chance,
    Intruder,
    PolicyRow,
    Story,
    chances,
    joined,
    likely_lines,
    wrong_lines,
)
from dalenius.report.uses import tables_of, use_lines

OPEN_CHOICE = (
    "The choice of this file was not private: it was compared with limits, or with other files, by looking at the real "
    "data, and no part of the privacy budget was spent on that."
)
PAID_CHOICE = (
    "This file was chosen among {} by a private choice, which cost ε = {:g} on top. That it meets the limits of the "
    "data holder was seen in the real data, and no part of the privacy budget was spent on that."
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
        ] + [
            PolicyRow("the tables", f.rule.text, f.scenario, f.met, _found(f.said))
            for f in (release.attacked.findings if release.attacked else ())
        ],
        attack=_attack(release, reveal=True),
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
    unset = unset_line(release.plan)
    notes = [unset] if unset else []
    if release.plan.default_policy:
        said = said.replace(
            "that the people responsible have set", "of the default policy, since the plan sets none"
        )
    return [
        said,
        *close_lines(chosen),
        *notes,
        "Whether it goes out is for the people responsible to decide.",
    ]


def close_lines(chosen: Judged, numbers: bool = True) -> list[str]:
    """The limits of the chosen file that lie within the range of what was measured: met, but chance had a say.

    Without ``numbers`` for readers who are not told the limits.
    """
    close: dict[str, Finding] = {}
    for finding in chosen.findings:
        if finding.crossed:  # of several intruders the one to whom most is told
            text = finding.rule.text
            close[text] = max(close.get(text, finding), finding, key=lambda f: f.over)
    if not close:
        return []
    listed = []
    for finding in sorted(close.values(), key=lambda f: not f.beyond):
        unit = "points" if finding.rule.added and finding.unit == "%" else finding.unit
        measured, bound = figure(finding.measured, unit), figure(finding.bound, unit)
        more = f" ({measured} measured, where {bound} is the limit)" if finding.beyond and numbers else ""
        listed.append(f"{finding.about}{more}")
    calls = "A close call" if len(close) == 1 else "Close calls"
    return [
        f"{calls}, where chance may have decided: {'; '.join(listed)}. Setting more people aside would tell."
    ]


def unset_line(plan: Plan) -> str:
    """The dimensions of risk that no limit of the plan is about, in one sentence; empty where there is none."""
    unset = open_dimensions(plan.policy)
    return f"No limit was set against {joined(unset, 'or')}." if unset else ""


def _met(plan: Plan) -> str:
    """What users are told about limits, without telling them the limits."""
    if plan.default_policy:
        return "This file met default limits."
    if open_dimensions(plan.policy):
        return "This file met the limits the data holder has set, which are not about every kind of risk."
    return "This file met the limits the data holder has set."


def public_story(release: Release, chosen: Judged, original: Table, released: Table) -> Story:
    """What users of the data may know: no limits of the policy, no options, no seeds, no other candidates."""
    plan = release.plan
    story = _common(plan, chosen, original, released)
    return replace(
        story,
        decided=[
            _met(plan) + (" It holds made-up records, not people." if chosen.made_up else ""),
            *close_lines(chosen, numbers=False),
        ],
        intruders=[_named(_worst(plan, chosen))],
        ledgers=[(release_title(chosen), chosen.ledger)] if chosen.ledger else [],
        attack=_attack(release),
    )


def _attack(release: Release, reveal: bool = False) -> AttackStory | None:
    """What the tables give away; it rests on published figures alone, so that no budget is spent by telling it."""
    found = release.attacked
    if found is None:
        return None
    return AttackStory.of(
        found.results, found.patterns, found.recipes, remarks=found.remarks, hold=found.hold, reveal=reveal
    )


def called_made_up(plan: Plan, chosen: Judged) -> bool:
    """Whether public pages call the records made up: one switch for all of them.

    What was measured against the real data is told by no page about a file with a privacy budget, not even by a word.
    """
    if not chosen.candidate.private:
        return chosen.made_up
    return not {"copying", "membership"} & set(open_dimensions(plan.policy)) and not chosen.candidate.kept


def private_story(release: Release, chosen: Judged, released: Table, paid: Sequence[Result]) -> Story:
    """The first page about a file with a privacy budget: what was paid for, or is in the file itself, and nothing else.

    How safe and how useful the file was found to be against the real data stays inside: no budget covers that. So
    whether its records are called made up is read off the plan: a file that left under limits against copying met them.
    """
    plan, method = release.plan, chosen.candidate.build()
    scenario = plan.scenarios[0]
    choice = [OPEN_CHOICE] if len(release.judged) > 1 or plan.policy else []
    if plan.choice_epsilon:
        choice = [PAID_CHOICE.format(len(plan.candidates), plan.choice_epsilon)]
    looked = called_made_up(plan, chosen)
    facts = f"with {len(released.names)} facts about each"
    return Story(
        decided=[
            "This file holds made-up records, not people."
            if looked
            else "The records of this file come out of a model with noise.",
            *choice,
        ],
        released=[
            f"A file about {released.rows:,} people who do not exist, {facts}."
            if looked
            else f"A file of {released.rows:,} lines, {facts}.",
            f"A computer program made them{' up' if looked else ''}. {method.info.plain or method.info.meaning}",
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
        intruders=[_named(scenario)],
        ledgers=[(release_title(chosen), chosen.ledger)] if chosen.ledger else [],
        attack=_attack(release),
    )


def release_title(chosen: Judged) -> str:
    """What the method of the chosen file is called."""
    return chosen.candidate.info.title


def _common(plan: Plan, chosen: Judged, original: Table, released: Table) -> Story:
    scenario = _worst(plan, chosen)
    figures, found = chosen.runs[0][scenario.name], _chances(scenario, chosen)
    return Story(
        released=_released(plan, chosen, original, released),
        wrong=wrong_lines(scenario.keys, scenario.targets, scenario.about),
        likely=likely_lines(found, scenario.population_share),
        uses=use_lines(tables_of(figures)),
        chances=found,
    )


def _chances(scenario: Scenario, chosen: Judged) -> list[Chance]:
    risks = _risks(chosen.runs[0][scenario.name])
    masked = "detail-lost" in chosen.runs[0][scenario.name]
    return chances(risks, scenario.keys, scenario.population_share, chosen.made_up, masked)


def _worst(plan: Plan, chosen: Judged) -> Scenario:
    """The intruder to whom the file adds most, whatever level he reaches; the first of equals."""
    return max(plan.scenarios, key=lambda s: max((c.added for c in _chances(s, chosen)), default=0.0))


def _risks(figures: Mapping[str, Result]) -> list[Result]:
    """Risk figures, what could be read off before who could be taken for somebody."""
    return sorted(
        (r for r in figures.values() if described(r.name).family == "risk"),
        key=lambda r: r.name != "disco",
    )


def _released(plan: Plan, chosen: Judged, original: Table, released: Table) -> list[str]:
    method = chosen.candidate.build()
    dropped = [name for name in original.names if name not in released.names]
    kept = [name for name in chosen.kept if name in released.names]
    facts = f"with {len(released.names)} facts about each"
    several = original.people < original.rows
    about = f"of {released.rows:,} records of" if several else f"about {released.rows:,}"
    lines = [
        _tables_line(chosen)
        if chosen.rows
        else f"A file {about} people who do not exist, {facts}."
        if chosen.made_up
        else f"A file {about} real people, {facts}."
        if method.info.masks
        else f"A file of {released.rows:,} lines, {facts}. Each line holds facts of a real person."
        if kept
        else f"A file of {released.rows:,} lines, {facts}; that some are real people was not ruled out.",
        (
            "They are real people's, changed. "
            if method.info.masks
            else "A computer program made them after the pattern of real tables that hang together. "
            if chosen.rows
            else f"A computer program made the rest of them after the pattern of {original.people:,} real people. "
            if kept
            else f"A computer program made them after the pattern of {original.people:,} real people{_aside(plan)}. "
        )
        + (method.info.plain or method.info.meaning),
        *([f"What was changed: {'; '.join(chosen.outline)}."] if chosen.outline else []),
        *([f"Taken over from the real people, row by row: {joined(kept)}."] if kept else []),
        method.promise,
        f"The facts: {joined(released.names)}.",
    ]
    if dropped:
        lines.append(f"Left out altogether: {joined(dropped)}.")
    if plan.audience:
        lines.append(f"For: {plan.audience}.")
    return [*lines, f"Name of the method, for experts: {release_title(chosen)}."]


def _aside(plan: Plan) -> str:
    """Why fewer people are spoken of than the data hold."""
    share = plan.holdout_share
    return (
        f" ({100 * share:g} % of all were set aside, to compare with)"
        if share and plan.holdout is None
        else ""
    )


def _tables_line(chosen: Judged) -> str:
    held = joined([f"{name} ({counted(rows, 'row')})" for name, rows in chosen.rows.items()])
    who = (
        "of people who do not exist"
        if chosen.made_up
        else "; that some rows are real people's was not ruled out"
    )
    keys = "Every key is new, and rows still belong to one another."
    return f"{len(chosen.rows)} tables {who}: {held}. {keys}".replace(" ;", ";")


def _others(plan: Plan, chosen: Judged) -> list[str]:
    """The other intruders in one line each."""
    lines = []
    told = _worst(plan, chosen)
    for scenario in plan.scenarios:
        found = _chances(scenario, chosen)
        if found and scenario != told:
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
                info = described(name)
                if info.family == "risk" and info.needs & {"keys", "targets"}:
                    rows.append((judged.candidate.name, info.title, figure(result.value, result.unit)))
    return replace(_named(scenario), figures=rows)


def _named(scenario: Scenario) -> Intruder:
    return Intruder(scenario.name, scenario.about, scenario.keys, scenario.targets, scenario.population_share)


def rare_values(original: Table, released: Table, threshold: int) -> dict[str, int]:
    """How many values that fewer than ``threshold`` original records have are in the released file, by column.

    Examples
    --------
    >>> source = Table.from_frame({"ill": ["no"] * 30 + ["rare"]})
    >>> rare_values(source, Table.from_frame({"ill": ["no"] * 30 + ["rare"]}), 10)
    {'ill': 1}
    >>> gap = Table.from_frame({"ill": ["no"] * 30 + [None]})
    >>> rare_values(gap, gap, 10)  # an empty cell is nobody's answer
    {}
    """
    found = {}
    for name in released.names:
        if released[name].is_number:
            continue
        held = original[name].categories
        counts = np.bincount(held.codes.astype(np.int64), minlength=len(held.labels))
        few = [held.labels[int(i)] for i in np.flatnonzero((counts > 0) & (counts < threshold))]
        rare = {str(label) for label in few if label not in (MISSING_LABEL, NAN_LABEL)}
        other = released[name].categories
        there = [other.labels[int(i)] for i in np.unique(other.codes)]
        shown = {str(label) for label in there if label not in (MISSING_LABEL, NAN_LABEL)}
        if rare & shown:
            found[name] = len(rare & shown)
    return found


def _rare_lines(rare: dict[str, int], threshold: int) -> list[str]:
    if not rare:
        return [f"No category that fewer than {threshold} real records have is in the file."]
    listed = ", ".join(
        f"{count} {'category' if count == 1 else 'categories'} of {name}" for name, count in rare.items()
    )
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
