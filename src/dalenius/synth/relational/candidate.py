"""`DatabaseCandidate`: one way to make a protected database, the same in Python, on the command line and in plans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dalenius.core.errors import DaleniusError
from dalenius.core.option import faults
from dalenius.core.random import DEFAULT_SEED, Seed
from dalenius.core.registry import MethodInfo
from dalenius.data.relations import Database
from dalenius.synth.candidate import Candidate
from dalenius.synth.relational.method import DEFAULT, RELATIONAL, MadeDatabase, make_relational

ALONE = ("columns", "entity", "rows", "then")
"""What a candidate of one table may say and one of several may not."""


@dataclass(frozen=True)
class DatabaseCandidate(Candidate):
    """A method of several tables with its options.

    Examples
    --------
    >>> homes = {"id": list(range(40)), "area": ["n", "s"] * 20}
    >>> base = Database.of({"homes": homes, "people": {"home_id": [i // 2 for i in range(80)], "age": [40, 9] * 40}})
    >>> DatabaseCandidate("conditional", {"minbucket": 10}).draw(base, seed=1).database["homes"].rows
    40
    """

    method: str = DEFAULT

    def __post_init__(self) -> None:
        RELATIONAL[self.method]  # a wrong name is told at once
        object.__setattr__(self, "name", self.name or self.method)

    def build(self) -> Any:
        """The method with its options."""
        return make_relational(self.method, **self.options)

    @classmethod
    def from_mapping(cls, facts: Mapping[str, Any], name: str = "") -> list[DatabaseCandidate]:  # type: ignore[override]
        """Candidates from an entry of a plan; see `Candidate.from_mapping`."""
        return super().from_mapping(facts, name)  # type: ignore[return-value]

    @property
    def info(self) -> MethodInfo:
        """What is known about the method."""
        return RELATIONAL[self.method].info

    def faults(self, table: Any = None) -> list[str]:
        """Everything wrong with the candidate by itself, and beside a database if there is one."""
        wrong = [
            f"{part} is for one table; several tables have their own" for part in ALONE if getattr(self, part)
        ]
        wrong += faults(RELATIONAL[self.method], self.options)
        if wrong or table is None:
            return wrong
        try:
            reasons: list[str] = self.build().faults_for(table)
        except DaleniusError as error:
            return [*error.faults]
        return reasons

    def draw(self, base: Database, *, seed: Seed = DEFAULT_SEED, first: int = 0) -> MadeDatabase:
        """Copy number ``first`` of a synthetic database."""
        made: MadeDatabase = self.build().make(base, seed=seed, first=first)
        return made
