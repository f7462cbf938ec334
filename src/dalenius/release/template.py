"""A first plan for a file: commented, with sensible candidates, to be read and corrected by a person."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dalenius.counts.measure import MEASURES
from dalenius.data import Kind, Table
from dalenius.synth.base import NEVER_SYNTHESIZED, SYNTHESIZERS

PREFERRED = ("cart", "loglinear", "saturated", "syndiffix", "independent", "ctree", "parametric", "forest")
"""From close to the data to far from it; a board sees what more protection costs."""
MEASURED = (
    "replicated-uniques",
    "disco",
    "two-way-utility",
    "univariate-utility",
    "propensity-cart",
    "propensity-tree",
)
POLICY = ("repU <= holdout + 5 points", "DiSCO <= holdout + 5 points", "mean S_pMSE <= 10")
MANY_VALUES = 200


def template(
    data: Path, table: Table, schema: Path | None = None, *, methods: Sequence[str] | None = None,
    title: str = "", keys: Sequence[str] | None = None, targets: Sequence[str] | None = None,
    policy: Sequence[str] = POLICY, replicates: int = 2, output: str = "release",
) -> str:  # fmt: skip
    """A commented plan for a file, with roles, methods and a first policy to correct.

    Examples
    --------
    >>> table = Table.from_frame({"sex": ["f", "m"] * 20, "age": [1, 2] * 20})
    >>> print(template(Path("people.csv"), table).splitlines()[0])
    # Release plan. Read it aloud to the board, correct it, keep it with the release.
    """
    known, wanted = roles(table)
    chosen = list(methods) if methods is not None else sensible_methods(table)
    measures = [name for name in MEASURED if name in MEASURES]
    lines = [
        "# Release plan. Read it aloud to the board, correct it, keep it with the release.",
        "version: 1",
        f"title: {_text(title or f'Protected version of {data.stem}')}",
        'audience: ""        # who will get the file, under which conditions',
        f"input: {_text(str(data))}",
        f"schema: {_text(str(schema))}"
        if schema
        else "# schema: schema.yaml   # from 'dalenius schema', corrected",
        "holdout: 0.2         # share of the records no method may see; it tells a leak from general knowledge",
        "seed: 1",
        "",
        "# Who might try what: keys are what an intruder may know, targets what would hurt if learnt.",
        "scenarios:",
        "  acquaintance:",
        '    about: "somebody who knows a few facts about a person from daily life"',
        f"    keys: {_text(list(keys) if keys is not None else known)}",
        f"    targets: {_text(list(targets) if targets is not None else wanted)}",
        "    population_share: 1   # part of the population in the data; 1: he knows that the person took part",
        "",
        "# Ways to make the file. A list of values makes one candidate for each, for example minbucket: [5, 20].",
        "candidates:",
    ]
    for name in chosen:
        lines += [f"  # {SYNTHESIZERS[name].info.meaning}", f"  {name}: {_options(name)}"]
    lines += [
        "",
        "# What a candidate must meet before it may be chosen, each time it is made.",
        "# 'holdout' is the same figure for people who are not in the data: what anybody could have guessed.",
        "policy:",
        *(f"  - {_text(line)}" for line in policy),
        "",
        f"measures: {_text(measures)}",
        f"replicates: {replicates}        # how often each candidate is made, to see the spread",
        "choose: two-way-utility   # the best of those that meet the policy, by this measure",
        f"output: {_text(output)}",
        "",
    ]
    return "\n".join(lines)


def _text(value: Any) -> str:
    """A value as JSON, which is YAML too and hides no surprises."""
    return json.dumps(value, ensure_ascii=False)


def _options(name: str) -> str:
    return _text({"method": name, **_plain(SYNTHESIZERS[name].info.example_options)})


def _plain(options: Mapping[str, Any]) -> dict[str, Any]:
    return json.loads(json.dumps(dict(options), default=str))


def roles(table: Table) -> tuple[list[str], list[str]]:
    """Keys and targets: by role, or a first guess (never an identifier, a weight or free text).

    Examples
    --------
    >>> people = {"pid": [f"x{i}" for i in range(40)], "sex": ["f", "m"] * 20, "ill": [True, False] * 20}
    >>> roles(Table.from_frame(people))
    (['sex'], ['ill'])
    """
    usable = [
        name
        for name in table.names
        if not any(table.schema[name].has(role) for role in (*NEVER_SYNTHESIZED, "weight"))
        and table[name].column.kind is not Kind.TEXT
    ]
    targets = [name for name in table.schema.by_role("target") if name in usable]
    keys = [name for name in table.schema.by_role("key") if name in usable]
    if not keys:
        few = [
            n for n in usable if n not in targets and table.shape.levels[table.names.index(n)] <= MANY_VALUES
        ]
        keys = few[: min(4, max(1, len(few) - 1))]
    if not targets:
        targets = [name for name in usable if name not in keys][-3:]
    return keys[:6], targets[:5]


def sensible_methods(table: Table, most: int = 5) -> list[str]:
    """Up to five methods that fit the table and never copy whole rows."""
    fitting = [
        name
        for name in PREFERRED
        if name in SYNTHESIZERS
        and not SYNTHESIZERS[name].info.copies_rows
        and len(table.names) <= (SYNTHESIZERS[name].info.max_columns or len(table.names))
    ]
    return fitting[:most]
