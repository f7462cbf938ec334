"""A first plan for a file: commented, with sensible candidates, to be read and corrected by a person."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from dalenius.core.errors import DaleniusError, OptionError
from dalenius.core.option import declared, knobs, lacking
from dalenius.core.random import DEFAULT_SEED
from dalenius.core.registry import Registry
from dalenius.counts.pair import Pair
from dalenius.data import Kind, Table
from dalenius.data.exit import releasable, stays
from dalenius.evaluation.policy import DEFAULT_POLICY, Finding, Rule
from dalenius.evaluation.recoded import hardly_apart
from dalenius.release.plan import HOLDOUT_SHARE, Scenario
from dalenius.synth.base import METHODS, Method
from dalenius.synth.relational import RELATIONAL

PREFERRED = ("cart", "loglinear", "saturated", "syndiffix", "independent", "ctree", "parametric", "forest")
"""From close to the data to far from it; a board sees what more protection costs."""
MEASURED = ("replicated-uniques", "disco", "two-way-utility", "one-way-utility", "propensity-tree")
POLICY = DEFAULT_POLICY
MANY_VALUES = 200
KNOWN = re.compile(
    r"(?i)(?:^|[_\W])(?:sex|gender|age(?!n)|birth|born|dob(?![a-z])|region|county|district|municipalit|city(?![a-z])|town|post_?code|zip|marital|education|"
    r"occupation|nationality|admission|geschlecht|alter(?![a-z])|geburt|geb(?![a-z])|plz|postleitzahl|wohnort|gemeinde|ort(?![a-z])|"
    r"kreis|familienstand|bildung|beruf|staatsang|aufnahme)|birth_?(?:date|day|year)$|geburtsdatum$"
)
HURTS = re.compile(
    r"(?i)income|salary|wage|wealth|debt|diagnos|disease|illness|religio|crim|benefit|"
    r"einkommen|gehalt|lohn|verm.gen|schulden|krank"
)
"""Names that say what a column is good for to a neighbour, and what would hurt; only a first guess."""
ACQUAINTANCE = "somebody who knows a few facts about a person from daily life"


@dataclass(frozen=True)
class Draft:
    """Everything a plan says, before it is written down.

    ``candidates`` are options by name of the candidate, with the method under ``method`` where it is not the name.

    Examples
    --------
    >>> print(Draft(Path("a.csv"), (), {"cart": {}}).text().splitlines()[0])
    # Release plan. Read it aloud to the board, correct it, keep it with the release.
    """

    data: Path
    scenarios: Sequence[Scenario]
    candidates: Mapping[str, Mapping[str, Any]]
    schema: Path | None = None
    title: str = ""
    audience: str = ""
    policy: Sequence[str] = POLICY
    measures: Sequence[str] = MEASURED
    replicates: int = 2
    holdout_share: float = HOLDOUT_SHARE
    seed: int = DEFAULT_SEED
    output: str = "release"
    reading: Mapping[str, Any] = field(default_factory=dict)
    remark: str = ""
    """What who corrects the plan should know of its keys."""

    @property
    def kinds(self) -> Registry[Any]:
        """Methods that the candidates are of: those of several tables where the data hold several."""
        several = any(str(o.get("method", name)) in RELATIONAL for name, o in self.candidates.items())
        return RELATIONAL if several else METHODS

    def text(self) -> str:
        """The plan as commented YAML."""
        lines = [*self._head(), *self._intruders(), *self._methods(), *self._tail()]
        return "\n".join(lines)

    def _head(self) -> list[str]:
        schema = f"schema: {_text(str(self.schema))}" if self.schema else ""
        return [
            "# Release plan. Read it aloud to the board, correct it, keep it with the release.",
            "version: 1",
            f"title: {_text(self.title or f'Protected version of {self.data.stem}')}",
            f"audience: {_text(self.audience)}        # who will get the file, under which conditions",
            f"input: {_text(str(self.data))}",
            *([f"reading: {_text(dict(self.reading))}"] if self.reading else []),
            schema or "# schema: schema.yaml   # from 'dalenius schema', corrected",
            f"holdout_share: {self.holdout_share:g}   "
            "# share of the records no method may see; it tells a leak from general knowledge",
            f"seed: {self.seed}",
        ]

    def _intruders(self) -> list[str]:
        lines = [
            "",
            "# Who might try what: keys are what an intruder may know, targets what would hurt if learnt.",
            "# population_share: part of the population in the data; 1: he knows that the person took part.",
            *(f"# {line}" for line in textwrap.wrap(self.remark, 110)),
            "scenarios:",
        ]
        for scenario in self.scenarios:
            lines += [
                f"  {_text(scenario.name)}:",
                f"    about: {_text(scenario.about)}",
                f"    keys: {_text(list(scenario.keys))}",
                f"    targets: {_text(list(scenario.targets))}",
                f"    population_share: {scenario.population_share:g}",
            ]
        return lines

    def _methods(self) -> list[str]:
        lines = [
            "",
            "# Ways to make the file. To try several values, write for example minbucket: {each: [5, 20]}.",
            "candidates:",
        ]
        for name, options in self.candidates.items():
            kind = self.kinds[str(options.get("method", name))]
            lines += [f"  # {kind.info.meaning}"]
            lines += [f"  #   {k.name} ({k.shown or 'none'}): {k.option.meaning}" for k in knobs(kind)]
            lines += [f"  {_text(name)}: {_text(dict(options))}"]
        return lines

    def _tail(self) -> list[str]:
        masks = any(self.kinds[str(o.get("method", name))].info.masks for name, o in self.candidates.items())
        choose = "detail-utility" if masks else "two-way-utility"
        return [
            "",
            "# What a candidate must meet before it may be chosen, each time it is made.",
            "# Behind each line: what it limits. 'surely added': how many more people in the data than strangers",
            "# it happens to, less what chance explains (at least half of the difference counts).",
            "policy:" if self.policy else "policy: []",
            *(f"  - {_text(line)}{_explained(line)}" for line in self.policy),
            "",
            f"measures: {_text(list(self.measures))}",
            f"replicates: {self.replicates}        # how often each candidate is made, to see the spread",
            f"choose: {choose}   # the best of those that meet the policy, by this measure",
            f"output: {_text(self.output)}",
            "",
        ]


def template(
    data: Path, table: Table, schema: Path | None = None, *, methods: Sequence[str] | None = None,
    keys: Sequence[str] | None = None, targets: Sequence[str] | None = None, policy: Sequence[str] = POLICY,
    reading: Mapping[str, Any] | None = None,
) -> str:  # fmt: skip
    """A commented plan for a file, with roles, methods and a first policy to correct.

    Examples
    --------
    >>> table = Table.from_frame({"sex": ["f", "m"] * 20, "age": [1, 2] * 20})
    >>> print(template(Path("people.csv"), table).splitlines()[4])
    input: "people.csv"
    """
    known, wanted = roles(table)
    scenario = Scenario(
        "acquaintance",
        tuple(known if keys is None else keys),
        tuple(wanted if targets is None else targets),
        ACQUAINTANCE,
    )
    chosen = list(methods) if methods is not None else sensible_methods(table)
    candidates = {name: {"method": name, **METHODS[name].info.example_options} for name in chosen}
    return Draft(
        data,
        [scenario],
        candidates,
        schema,
        policy=policy,
        reading=reading or {},
        remark=weak_keys(table, scenario.keys),
    ).text()


def weak_keys(table: Table, keys: Sequence[str] | None = None) -> str:
    """That the keys a plan would name single hardly anybody out, for whoever corrects it; empty where they do."""
    return hardly_apart(Pair(table, table, keys=list(roles(table)[0] if keys is None else keys)))


def _explained(line: str) -> str:
    """What a policy line limits, for people who know none of the measures; nothing where the line is not understood.

    Examples
    --------
    >>> _explained("near-copies surely added <= 5 points")
    '   # real people whom a line comes closer to than anybody else does'
    """
    try:
        rule = Rule.parse(line)
    except DaleniusError:
        return ""
    return f"   # {Finding(rule, '', met=True, said='').about}"


def _text(value: Any) -> str:
    """A value as JSON, which is YAML too and hides no surprises."""
    return json.dumps(value, ensure_ascii=False, default=str)


def roles(table: Table) -> tuple[list[str], list[str]]:
    """Keys and targets: by role, or a first guess (never an identifier, a weight, free text or what all have alike).

    Examples
    --------
    >>> people = {"pid": [f"x{i}" for i in range(40)], "sex": ["f", "m"] * 20, "ill": [True, False] * 20}
    >>> roles(Table.from_frame(people))
    (['sex'], ['ill'])
    >>> days = [f"19{i}-01-01" for i in range(50, 90)]
    >>> roles(Table.from_frame({"country": ["no"] * 40, "admission": days, "birth": days, "disease": ["a", "b"] * 20}))
    (['birth'], ['disease'])
    """
    levels = dict(zip(table.names, table.shape.levels, strict=True))
    usable = [
        name
        for name in table.names
        if not (stays(table.schema[name]) or table.schema[name].has("weight"))
        and table[name].column.kind is not Kind.TEXT
    ]
    # who knows what everybody has in common knows nobody: every figure would be 0
    telling = [name for name in usable if levels[name] + (not table[name].present.all()) > 1]
    targets = [name for name in table.schema.by_role("target") if name in usable]
    keys = [name for name in table.schema.by_role("key") if name in usable]
    if not keys and not targets:
        keys, targets = ([n for n in telling if pattern.search(n)] for pattern in (KNOWN, HURTS))
        targets = [name for name in targets if name not in keys]
        keys = [name for name in keys if _shared(table, name)] or sorted(keys, key=_of_birth, reverse=True)[
            :1
        ]
    if not keys:
        free = [name for name in telling if name not in targets]
        few = [name for name in free if levels[name] <= MANY_VALUES] or free
        keys = few[: min(4, max(1, len(few) - 1))]
    if not targets:
        targets = [n for n in telling if n not in keys and table[n].column.kind is not Kind.DATETIME][-3:]
        targets = targets or [name for name in telling if name not in keys][-3:]
    return keys[:6], targets[:5]


def _shared(table: Table, name: str) -> bool:
    """Whether two people have each value on average: by a day of birth nobody is met in a file of other people."""
    return 2 * len(np.unique(table[name].categories.codes)) <= table.rows


def _of_birth(name: str) -> bool:
    return re.search(r"(?i)birth|geb|dob", name) is not None


def sensible_methods(table: Table, most: int = 5) -> list[str]:
    """Up to five methods that fit the table, are good for one of its shape, and never copy whole rows."""
    there, shape = fitting_methods(table), releasable(table).shape
    return [name for name in PREFERRED if name in there and METHODS[name].suits(shape)][:most]


def _asks_for_keys_alone(kind: type[Method]) -> bool:
    """Whether a masker can be done without being told of single columns: keys have their role."""
    if "keys" not in declared(kind) or lacking(kind, {}) or kind.info.name == "recipe":
        return False
    try:
        kind()
    except OptionError:  # an option that has a default must be given all the same
        return False
    return True


def fitting_methods(table: Table) -> list[str]:
    """Methods that fit the table, need no word about single columns or further package and never copy whole rows."""
    columns = len(releasable(table).names)
    infos = [kind.info for kind in METHODS.values() if not kind.info.masks or _asks_for_keys_alone(kind)]
    ready = [info for info in infos if not info.copies_rows and not info.packages]
    return [info.name for info in ready if columns <= (info.max_columns or columns)]
