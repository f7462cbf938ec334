"""The tables that go out beside a file, attacked together with what was out before: the entry ``attack`` of a plan."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from dalenius.core.errors import DaleniusError
from dalenius.core.result import Result
from dalenius.data.atomic import write_text
from dalenius.evaluation.policy import Finding, Rule, described, judge
from dalenius.published import Published
from dalenius.release.attacking import files_read, read_both
from dalenius.risk.reconstruction import Attack, attack, holds_for
from dalenius.risk.reconstruction.attacked import ATTACKS, PATTERN

FILE = "attack.json"
KNOWN = ("published", "earlier", "same_people", "small_group")
SMALL_GROUP = 10
WHERE = "published tables"
"""What stands in place of an intruder where a policy line is about tables."""


@dataclass(frozen=True)
class TablesEntry:
    """What a plan says about tables.

    Attributes
    ----------
    published
        Tables that go out with the file: files, folders, lists or ledgers.
    earlier
        What was out before.
    same_people
        Whether tables of other dates speak of the same people.
    small_group
        Groups of fewer people are small.
    folder
        Where the plan lies: files have their name from there.
    """

    published: tuple[Path, ...]
    earlier: tuple[Path, ...] = ()
    same_people: bool = False
    small_group: int = SMALL_GROUP
    folder: Path | None = None

    @classmethod
    def read(cls, body: Any, folder: Path, faults: list[str]) -> TablesEntry | None:
        """Take the entry of a plan apart; faults are collected, none stops the reading of the rest."""
        if not isinstance(body, dict):
            faults.append("attack: write 'published: [tables]', and 'earlier: [...]' for what was out before")
            return None
        faults += [f"attack: unknown entry {name!r}" for name in body if name not in KNOWN]
        paths = {name: _paths(body.get(name), folder) for name in ("published", "earlier")}
        if not paths["published"]:
            faults.append("attack: no published: name the tables that go out")
        gone = [str(p.name) for held in paths.values() for p in held if not p.exists()]
        faults += [f"attack: {name} does not exist" for name in gone]
        same, small = body.get("same_people", False), body.get("small_group", SMALL_GROUP)
        if not isinstance(same, bool):
            faults.append("attack: same_people: write true or false")
        if isinstance(small, bool) or not isinstance(small, int) or small < 1:
            faults.append("attack: small_group must be a whole number of at least 1")
            small = SMALL_GROUP
        made = cls(paths["published"], paths["earlier"], same is True, small, folder)
        if not gone and made.published:
            faults += made.faults()
        return made

    def faults(self) -> list[str]:
        """Why the tables cannot be read; none where they can."""
        try:
            self.tables()
        except DaleniusError as error:
            return [f"attack: {error}"]
        return []

    def tables(self) -> tuple[Published, Published | None]:
        """What goes out, and what was out before."""
        return read_both(self.published, self.earlier)

    @cached_property
    def files(self) -> dict[str, Path]:
        """Every file that is read, by name."""
        paths = (*self.published, *self.earlier)
        return {name: file for path in paths for name, file in files_read(path, self.folder).items()}


def _paths(given: Any, folder: Path) -> tuple[Path, ...]:
    listed = [given] if isinstance(given, str) else given if isinstance(given, list) else []
    return tuple(folder / str(path) for path in listed)


@dataclass(frozen=True)
class TablesAttacked:
    """What came of it.

    Attributes
    ----------
    results
        Figures by name.
    patterns
        Lines of cells and people that are proved, bounded and open.
    recipes
        Small groups that follow, with how; they stay inside.
    hold
        Cells to hold back beside what was out before.
    findings
        What the policy says.
    """

    results: Mapping[str, Result]
    patterns: Sequence[Mapping[str, Any]]
    recipes: Sequence[str]
    hold: Sequence[str]
    remarks: Sequence[str]
    findings: Sequence[Finding]

    @property
    def refusal(self) -> str:
        """Why nothing may go out; empty where everything may."""
        missed = [f.said for f in self.findings if not f.met]
        parts = [f"the limits that they miss: {'; '.join(missed)}"] if missed else []
        if self.hold:
            parts.append(f"cells to hold back beside what is out already: {'; '.join(self.hold)}")
        unknown = missed and not all(result.trusted for result in self.results.values())
        what = (
            "What the tables give away cannot be said for certain"
            if unknown
            else "The tables give away more than they may"
        )
        parts += [remark.rstrip(".") for remark in self.remarks] if unknown else []
        return f"{what} ({'; '.join(parts)}), so nothing is released." if parts else ""


def attack_tables(entry: TablesEntry, seed: int, work: Path) -> None:
    """Attack the tables of a plan, unless that was done before; a killed attack goes on to the same bytes."""
    path = work / FILE
    if path.is_file():
        return
    new, before = entry.tables()
    both = new if before is None else before | new
    found = attack(both, threshold=entry.small_group, same_people=entry.same_people, seed=seed, keep=work)
    hold = (
        []
        if before is None
        else holds_for(before, new, threshold=entry.small_group, same_people=entry.same_people)
    )
    body = {
        "results": {name: result.to_dict() for name, result in found.results.items()},
        "patterns": found.patterns().to_dicts(),
        "recipes": recipes(found),
        "hold": hold,
        "remarks": list(found.remarks),
    }
    write_text(path, json.dumps(body, ensure_ascii=False, sort_keys=True) + "\n")


def recipes(found: Attack) -> list[str]:
    """How each small group follows, in words."""
    return [
        str(small.recipe) if small.recipe else f"{small.group} = {small.low}, without a short recipe"
        for small in found.differences.follows
    ]


def read_attacked(policy: Sequence[Rule], work: Path) -> TablesAttacked | None:
    """What was found of a plan's tables, judged; None where none were attacked."""
    path = work / FILE
    if not path.is_file():
        return None
    body = json.loads(path.read_text(encoding="utf-8"))
    results = {name: Result.from_dict(stored, ATTACKS[name]) for name, stored in body["results"].items()}
    lines = [rule for rule in policy if described(rule.measure).subject == "published"]
    findings = [judge(rule, WHERE, 1.0, [results.get(rule.measure)]) for rule in lines]
    patterns = [{name: line[name] for name in PATTERN} for line in body["patterns"]]
    return TablesAttacked(results, patterns, body["recipes"], body["hold"], body["remarks"], findings)
