"""`LearntPlan`: services on a graph, or trees learnt together, that may be released, and the limits they must keep.

A plan like any other, told apart by the entry ``links`` (the links of a graph) or ``holders`` (their files).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from dalenius.core.errors import DaleniusError, OptionError
from dalenius.core.option import faults, grid
from dalenius.core.random import DEFAULT_SEED
from dalenius.evaluation.policy import Rule
from dalenius.models.federated.terms import Terms
from dalenius.models.graphs import Offer
from dalenius.release.jobs import file_digest
from dalenius.release.plan_file import PlanReader, load_entries

Kind = Literal["graph-service", "tree"]
KINDS: Mapping[Kind, type] = {"graph-service": Offer, "tree": Terms}
SHARED = {"version", "title", "audience", "class", "seed", "candidates", "policy", "output"}
OWN: Mapping[Kind, set[str]] = {
    "graph-service": {"links", "people", "id", "fitted_links", "fitted_people", "asked"},
    "tree": {"holders", "schema", "deal"},
}
FIGURES: Mapping[Kind, tuple[str, ...]] = {
    "graph-service": ("model-links",),
    "tree": ("model-local-epsilon", "model-smallest-leaf"),
}
"""What is found out about each; the first is on the map."""
DEFAULT_POLICY: Mapping[Kind, tuple[str, ...]] = {
    "graph-service": ("model-links <= 0.2",),
    "tree": ("model-smallest-leaf >= 10",),
}
"""Limits that hold where a plan sets none."""


@dataclass(frozen=True)
class LearntCandidate:
    """One service or tree that may be released.

    Examples
    --------
    >>> [c.name for c in LearntCandidate.from_mapping({"depth": {"each": [2, 3]}}, "tree", "tree")]
    ['tree depth=2', 'tree depth=3']
    """

    name: str
    kind: Kind
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_mapping(cls, body: Mapping[str, Any], name: str, kind: Kind) -> list[LearntCandidate]:
        """The candidates of one entry of a plan: values under ``each`` make several."""
        entries = dict(body)
        asked = str(entries.pop("model", name))
        if asked != kind:
            raise OptionError(f"unknown candidate {asked!r}; in this plan there is {kind}")
        return [cls(f"{name} {label}".strip(), kind, made) for label, made in grid(entries)]

    def faults(self) -> list[str]:
        """What is wrong with the options."""
        return faults(KINDS[self.kind], self.options)

    @property
    def slug(self) -> str:
        """The name as part of a file's name."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")


@dataclass(frozen=True)
class LearntPlan:
    """A plan of services on a graph, or of trees learnt together, checked.

    Attributes
    ----------
    files
        The files by their entry: ``links`` and ``people`` of a graph, and of another one that models are fitted on; or
        one of each holder, and the schema.
    label
        The column of the class.
    identifier, asked
        Column of the people's identifiers, and how many an attacker asks about: of a graph.
    deal
        Deal one file out to so many holders: for a trial.
    """

    title: str
    kind: Kind
    files: Mapping[str, Path]
    label: str
    candidates: tuple[LearntCandidate, ...]
    policy: tuple[Rule, ...]
    output: Path
    audience: str = ""
    seed: int = DEFAULT_SEED
    identifier: str = ""
    asked: int = 500
    deal: int | None = None
    text: str = ""
    path: Path | None = None

    @property
    def sources(self) -> dict[str, Path]:
        """The files the plan reads, by name."""
        return {path.name: path for path in self.files.values()}

    @property
    def text_digest(self) -> str:
        """Fingerprint of the plan as written."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @cached_property
    def digest(self) -> str:
        """Fingerprint of everything that decides the figures."""
        told = {
            "candidates": [[c.name, dict(c.options)] for c in self.candidates], "class": self.label,
            "seed": self.seed, "id": self.identifier, "asked": self.asked, "deal": self.deal,
            "files": {entry: file_digest(path) for entry, path in self.files.items()},
        }  # fmt: skip
        return hashlib.sha256(json.dumps(told, sort_keys=True, default=str).encode()).hexdigest()


def is_learnt_plan(path: str | Path) -> bool:
    """Whether a plan is about services on a graph or trees learnt together: it names links, or holders."""
    try:
        return bool({"links", "holders"} & set(load_entries(Path(path))[1]))
    except DaleniusError:
        return False


def read_learnt_plan(path: str | Path) -> LearntPlan:
    r"""Read and check such a plan; all faults are reported at once.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "plan.yaml"
    >>> _ = path.write_text("links: nowhere.csv\nclass: group\ncandidates: {graph-service: {layers: 0}}\n")
    >>> read_learnt_plan(path)
    Traceback (most recent call last):
    ...
    dalenius.core.errors.SchemaError: ...plan.yaml: 4 faults: links nowhere.csv does not exist; no people: name the
    file; candidate 'graph-service': layers is 0; use a whole number, 1 or more; no id: name the column of the
    people's identifiers
    """
    return replace(_Reader.read(Path(path)), path=Path(path).absolute())


class _Reader(PlanReader[LearntPlan]):
    """Takes such a plan apart."""

    def plan(self, text: str) -> LearntPlan:
        kind: Kind = "graph-service" if "links" in self.content else "tree"
        known = SHARED | OWN[kind]
        self.faults += [f"unknown entry {n!r} in a plan of {kind}s" for n in self.content if n not in known]
        files = self._graph() if kind == "graph-service" else self._holders()
        names, places = [path.name for path in files.values()], {path.resolve() for path in files.values()}
        if len(places) < len(files):
            self.faults.append("a file of the plan is named twice; name each once")
        elif len(set(names)) < len(names):
            self.faults.append("two files of the plan have the same name; rename one")
        made = self.candidates(
            kind, lambda body, name: LearntCandidate.from_mapping(body, name, kind), LearntCandidate.faults
        )
        self.all_different([candidate.slug for candidate in made])
        deal = None if "deal" not in self.content else self.whole("deal", 2, 2, 1000)
        if deal is not None and len(files) > 2:
            self.faults.append("deal takes one file; several files are several holders")
        return LearntPlan(
            title=str(self.content.get("title") or kind.capitalize().replace("-", " ")), kind=kind, files=files,
            audience=str(self.content.get("audience") or ""), label=self._named("class", "the class"),
            candidates=tuple(made), policy=tuple(self._policy(kind)),
            output=self.folder / str(self.content.get("output") or "release"),
            seed=self.whole("seed", DEFAULT_SEED, 0, 2**62),
            identifier=self._named("id", "the people's identifiers") if kind == "graph-service" else "",
            asked=self.whole("asked", 500, 2, 10**6), deal=deal, text=text,
        )  # fmt: skip

    def _named(self, entry: str, what: str) -> str:
        given = self.content.get(entry)
        if not isinstance(given, str) or not given:
            self.faults.append(f"no {entry}: name the column of {what}")
        return str(given or "")

    def _graph(self) -> dict[str, Path]:
        entries = (
            "links",
            "people",
            *(("fitted_links", "fitted_people") if "fitted_links" in self.content else ()),
        )
        held = {entry: self.file(entry, needed=True) for entry in entries}
        return {entry: path for entry, path in held.items() if path is not None}

    def _holders(self) -> dict[str, Path]:
        held = {f"holder {i + 1}": self.folder / name for i, name in enumerate(self.lines("holders"))}
        self.faults += [f"holder {path.name} does not exist" for path in held.values() if not path.is_file()]
        if not held:
            self.faults.append("no holders: name one file each, or one and 'deal'")
        schema = self.file("schema", needed=True)
        return {**held, **({"schema": schema} if schema else {})}

    def _policy(self, kind: Kind) -> list[Rule]:
        rules = []
        for line in self.lines("policy") or DEFAULT_POLICY[kind]:
            try:
                rule = Rule.parse(line)
                if rule.measure not in FIGURES[kind]:
                    known = ", ".join(FIGURES[kind])
                    self.faults.append(
                        f"policy line {line!r}: {rule.measure} is not found for {kind}s; there are {known}"
                    )
                rules.append(rule)
            except DaleniusError as error:
                self.faults.append(str(error))
        return rules
