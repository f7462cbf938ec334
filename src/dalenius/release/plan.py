"""`Plan`: what is to be released, from what, against whom, by which methods and under which policy.

A plan is a YAML file that a steward can read aloud. Every fault of it is reported at once.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import dalenius.evaluation  # noqa: F401 (registers the measures that policy lines name)
from dalenius.core.errors import DaleniusError, OptionError, names, no_column
from dalenius.core.random import DEFAULT_SEED
from dalenius.core.registry import Subject
from dalenius.counts.database_pair import DATABASE_MEASURES
from dalenius.counts.measure import MEASURES, full_name
from dalenius.data import Schema, read
from dalenius.data.files import READING, takes
from dalenius.data.files.databases import is_database
from dalenius.data.relations import Database
from dalenius.data.relations_view import named_columns
from dalenius.dp.budget import Neighbours
from dalenius.evaluation.policy import (
    ACROSS_TABLES,
    DEFAULT_POLICY,
    KEPT,
    KEPT_MEASURE,
    NEARNESS,
    Rule,
    described,
)
from dalenius.release.plan_file import PlanReader
from dalenius.release.several import files_of, load_base, possible, scenario_faults
from dalenius.release.tables_attack import TablesEntry
from dalenius.synth import Candidate
from dalenius.synth.relational.candidate import DatabaseCandidate

ENTRIES = {
    "version", "title", "audience", "input", "schema", "holdout", "holdout_share", "seed", "scenarios", "candidates",
    "measures", "replicates", "policy", "choose", "output", "formats", "formulas", "evaluation_epsilon",
    "choice_epsilon", "reading", "attack",
}  # fmt: skip
HOLDOUT_SHARE = 0.2
FORMATS = ("csv", "parquet", "xlsx", "sav", "dta")
FILE_NAME = re.compile(r"[\w][\w .-]*")
"""Names of tables that can be names of files."""


@dataclass(frozen=True)
class Scenario:
    """An intruder: what he knows and what he wants to learn.

    ``population_share`` is the part of the population that is in the data. An intruder who does not know who took part
    finds the person he looks for among the records only that often; 1 means that he knows.
    """

    name: str
    keys: tuple[str, ...]
    targets: tuple[str, ...]
    about: str = ""
    population_share: float = 1.0


@dataclass(frozen=True)
class Plan:
    """A release plan, checked.

    Attributes
    ----------
    holdout, holdout_share
        A file of records that no method sees; or the share of the input that is set aside as such, 0 for none.
    choose
        Utility measure by which the best of the safe candidates is picked.
    evaluation_epsilon
        What a public report of a file with a privacy budget may spend, on top, on figures about its use; 0 for none.
    choice_epsilon
        What a private choice among candidates with privacy budgets may spend, on top; 0 for an open choice by
        ``choose``.
    attack
        Tables that go out with the file, and what was out before; None for none.
    default_policy
        Whether the plan set no limits of its own, so that the default ones hold.
    reading
        How the input is read where that is not to be guessed: options of `dalenius.read`.
    """

    title: str
    input: Path
    scenarios: tuple[Scenario, ...]
    candidates: tuple[Candidate, ...]
    policy: tuple[Rule, ...]
    output: Path
    schema: Path | None = None
    audience: str = ""
    holdout: Path | None = None
    holdout_share: float = HOLDOUT_SHARE
    seed: int = DEFAULT_SEED
    measures: tuple[str, ...] = ()
    replicates: int = 1
    choose: str = "two-way-utility"
    formats: tuple[str, ...] = ("csv",)
    formulas: bool = False
    evaluation_epsilon: float = 0.0
    choice_epsilon: float = 0.0
    attack: TablesEntry | None = None
    text: str = ""
    path: Path | None = None
    default_policy: bool = False
    reading: Mapping[str, Any] = field(default_factory=dict)

    @property
    def several(self) -> bool:
        """Whether the input holds several tables: a folder, or the file of a database."""
        return is_database(self.input)

    @property
    def measured(self) -> list[str]:
        """Names of every measure the plan needs, those of the policy first."""
        near = [Rule.parse(line).measure for line in NEARNESS]
        wanted = [*(rule.measure for rule in self.about("pair")), self.choose, *near]
        usual = [*default_measures(), *(DATABASE_MEASURES if self.several else ())]
        return list(dict.fromkeys([*wanted, *(self.measures or usual)]))

    def limits_of_kept(self, kept: Sequence[str]) -> list[Rule]:
        """The limit for columns that a file takes over row by row, unless the policy has a line of its own."""
        own = any(rule.measure == KEPT_MEASURE for rule in self.policy)
        return [Rule.parse(KEPT)] if kept and not own else []

    def about(self, subject: Subject) -> list[Rule]:
        """Policy lines about the file (a pair), or about tables that are published with it."""
        return [rule for rule in self.policy if described(rule.measure).subject == subject]

    def seen(self, scenario: str | None = None) -> Scenario:
        """An intruder by name; the first without one."""
        return next((s for s in self.scenarios if s.name == scenario), self.scenarios[0])

    @property
    def sources(self) -> dict[str, Path]:
        """The files the plan reads, by name: the confidential ones, and tables that go out or are out."""
        held = [path for path in (self.input, self.schema, self.holdout) if path is not None]
        own = {name: file for path in held for name, file in files_of(path).items()}
        return own | (self.attack.files if self.attack else {})

    @property
    def digest(self) -> str:
        """Fingerprint of everything that decides the figures, but not of the policy or where they are written."""
        facts = {
            "version": version("dalenius"),
            "scenarios": [(s.name, s.keys, s.targets) for s in self.scenarios],
            "candidates": [asdict(c) for c in self.candidates],
            "holdout": [str(self.holdout), self.holdout_share],
            "seed": self.seed,
            "measures": sorted(self.measured),
            "replicates": self.replicates,
            **({"reading": dict(self.reading)} if self.reading else {}),
            **({"evaluation_epsilon": self.evaluation_epsilon} if self.evaluation_epsilon else {}),
            **({"choice_epsilon": self.choice_epsilon} if self.choice_epsilon else {}),
            **({"attack": [self.attack.same_people, self.attack.small_group]} if self.attack else {}),
        }
        return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()

    @property
    def text_digest(self) -> str:
        """Fingerprint of the plan as written: any edit changes it."""
        return hashlib.sha256(self.text.encode()).hexdigest()


def protection(candidate: Candidate) -> tuple[Neighbours, int | None]:
    """Whom a candidate's budget protects: who neighbours are, and the most records of a unit."""
    method = candidate.build()
    return getattr(method, "protects", "add-remove"), getattr(method, "contribution", None)


def database_policy(base: Database) -> list[str]:
    """The default limits for several tables: those of one, and those across tables that can be looked at."""
    rules = [Rule.parse(line) for line in ACROSS_TABLES]
    there = possible(base, [rule.measure for rule in rules])
    return [*DEFAULT_POLICY, *(rule.text for rule in rules if rule.measure in there)]


def default_measures() -> list[str]:
    """Measures that are run when a plan names none."""
    return [m.info.name for m in MEASURES.values() if m.info.default]


def left_out(
    candidates: Sequence[Candidate], scenarios: Sequence[Scenario], known: Sequence[str]
) -> list[str]:
    r"""Candidates that name columns the file has not, or leave out one that an intruder looks at.

    Examples
    --------
    >>> only = Candidate("cart", columns=("sex", "town"))
    >>> print(*left_out([only], [Scenario("friend", ("sex", "age"), ())], ["sex", "age"]), sep="\n")
    candidate 'cart': no column 'town'; there are 'sex', 'age'
    candidate 'cart' leaves out 'age', which scenario 'friend' looks at; keep it, or take it out of the scenario
    """
    wrong = []
    for candidate in candidates:
        named = [*(candidate.columns or ()), *([candidate.entity] if candidate.entity else [])]
        absent = [name for name in named if name not in known]
        wrong += [f"candidate {candidate.name!r}: {no_column(absent, known)}"] if absent else []
        there = set(known if candidate.columns is None else candidate.columns) - {candidate.entity}
        for scenario in scenarios:
            gone = [n for n in (*scenario.keys, *scenario.targets) if n in known and n not in there]
            if gone:
                it = "it" if len(gone) == 1 else "them"
                wrong.append(
                    f"candidate {candidate.name!r} leaves out {names(gone)}, which scenario {scenario.name!r} looks "
                    f"at; keep {it}, or take {it} out of the scenario"
                )
    return wrong


def read_plan(path: str | Path) -> Plan:
    r"""Read and check a plan file; all faults are reported at once.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "plan.yaml"
    >>> _ = path.write_text("input: nowhere.csv\nseeds: 1\n")
    >>> read_plan(path)
    Traceback (most recent call last):
    ...
    dalenius.core.errors.SchemaError: ...plan.yaml: 4 faults: unknown entry 'seeds'; input nowhere.csv does not exist;
    no candidates: name at least one method; no scenarios: name at least one intruder with keys and targets
    """
    return replace(_Reader.read(Path(path)), path=Path(path).absolute())


class _Reader(PlanReader[Plan]):
    """Takes a plan of files apart."""

    may_be_folders = ("input", "holdout")

    def __init__(self, content: dict[str, Any], folder: Path) -> None:
        super().__init__(content, folder)
        self.several = False
        self.base: Database | None = None

    def plan(self, text: str) -> Plan:
        self.faults += [f"unknown entry {name!r}" for name in self.content if name not in ENTRIES]
        data = self.file("input", needed=True)
        schema = self.file("schema")
        self.several = data is not None and is_database(data)
        self.base = self._tables(data, schema) if self.several else None
        reading = self._reading(data)
        known = self._columns(data, schema, reading)
        candidates = tuple(self._candidates())
        scenarios = tuple(self._scenarios(known))
        if not self.several and known is not None:
            self.faults += left_out(candidates, scenarios, known)
        if self.base is not None and not self.faults:
            self.faults += scenario_faults(self.base, scenarios)
        return Plan(
            title=str(self.content.get("title") or "Release"),
            audience=str(self.content.get("audience") or ""),
            input=data or Path(),
            schema=schema,
            candidates=candidates,
            scenarios=scenarios,
            policy=tuple(self._policy(scenarios)),
            holdout=self.file("holdout"),
            holdout_share=self._holdout_share(),
            seed=self.whole("seed", DEFAULT_SEED, 0),
            measures=tuple(self._measures()),
            replicates=self.whole("replicates", 1, 1),
            choose=self._choose(candidates),
            output=self._output(),
            formats=self._formats(),
            formulas=self._yes_or_no("formulas"),
            evaluation_epsilon=float(self.number("evaluation_epsilon", 0.0, 0)),
            choice_epsilon=self._choice_epsilon(),
            attack=self._attack(),
            text=text,
            default_policy=not self.content.get("policy"),
            reading=reading,
        )

    def _choice_epsilon(self) -> float:
        epsilon = float(self.number("choice_epsilon", 0.0, 0))
        if not epsilon:
            return 0.0
        before = len(self.faults)
        candidates = self._candidates()
        del self.faults[before:]  # told already
        open_ones = [c.name for c in candidates if not c.faults() and not c.private]
        if open_ones:
            self.faults.append(
                f"choice_epsilon: {names(open_ones)} has no privacy budget, so nothing would be private"
            )
        elif len({protection(c) for c in candidates if not c.faults()}) > 1:
            self.faults.append(
                "choice_epsilon: all candidates must protect the same (neighbours, contribution)"
            )
        if self.content.get("choose") is not None:
            self.faults.append(
                "choice_epsilon goes by the share of records in wrong cells of two-way tables, which one person can "
                "hardly change; leave choose out"
            )
        return epsilon

    def _yes_or_no(self, entry: str) -> bool:
        given = self.content.get(entry, False)
        if not isinstance(given, bool):
            self.faults.append(f"{entry}: write true or false")
        return given is True

    def _formats(self) -> tuple[str, ...]:
        endings = tuple(str(ending).lstrip(".").lower() for ending in self.content.get("formats") or ["csv"])
        self.faults += [
            f"formats: {e!r} is none of {', '.join(FORMATS)}" for e in endings if e not in FORMATS
        ]
        # CSV is always there: it is what 'verify' reads.
        return tuple(dict.fromkeys(("csv", *endings)))

    def _output(self) -> Path:
        path = self.folder / str(self.content.get("output") or "release")
        held = [self.folder / str(self.content[e]) for e in ("input", "schema") if self.content.get(e)]
        if any(path.resolve() in (file.resolve(), *file.resolve().parents) for file in held):
            self.faults.append("output must be a folder of its own, not one that holds the input")
        elif any(file.is_dir() and file.resolve() in path.resolve().parents for file in held):
            self.faults.append("output must be a folder of its own, not one within the input")
        return path

    def _reading(self, data: Path | None) -> dict[str, Any]:
        given = self.content.get("reading") or {}
        if given and self.several:
            self.faults.append("reading is for one file; the tables of a folder are read by their schema")
            return {}
        if not isinstance(given, dict) or any(name not in READING for name in given):
            self.faults.append(f"reading takes {', '.join(READING)}")
            return {}
        odd = [name for name in given if data is not None and name not in takes(data)]
        self.faults += [f"reading: {name!r} is not for this type of file" for name in odd]
        words = given.get("missing_strings", [])
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            self.faults.append("reading: missing_strings must be a list of texts")
            return {}
        return {name: tuple(v) if isinstance(v, list) else v for name, v in given.items() if name not in odd}

    def _tables(self, data: Path | None, schema: Path | None) -> Database | None:
        """The tables of a folder; everything wrong with them is told with the plan's own faults."""
        try:
            base = None if data is None else load_base(data, schema)
        except DaleniusError as error:
            self.faults += [f"input {fault}" for fault in error.faults]
            return None
        odd = [name for name in (base.tables if base else ()) if not FILE_NAME.fullmatch(name)]
        self.faults += [f"table {name!r}: its name cannot be that of a file; rename it" for name in odd]
        only = ("evaluation_epsilon", "choice_epsilon", "attack", "formulas")
        self.faults += [f"{entry} is for one table only" for entry in only if self.content.get(entry)]
        return base

    def _columns(
        self, data: Path | None, schema: Path | None, reading: Mapping[str, Any]
    ) -> list[str] | None:
        if self.several:
            return None if self.base is None else named_columns(self.base)
        try:
            if schema is not None:
                return Schema.from_yaml(schema).names
            return read(data, **reading).names if data is not None else None
        except DaleniusError as error:
            self.faults.append(str(error))
            return None

    def _holdout_share(self) -> float:
        if self.content.get("holdout") is not None:
            if "holdout_share" in self.content:
                self.faults.append("give holdout (a file) or holdout_share, not both")
            return 0.0
        share = self.number("holdout_share", HOLDOUT_SHARE, 0)
        if share >= 0.9:
            self.faults.append("holdout_share must be below 0.9")
        return share

    def _candidates(self) -> list[Candidate]:
        kind = DatabaseCandidate if self.several else Candidate
        made = self.candidates("method", kind.from_mapping, self._wrong)
        self.all_different([candidate.name for candidate in made])
        return made

    def _wrong(self, candidate: Candidate) -> list[str]:
        wrong = candidate.faults(self.base)  # type: ignore[arg-type]  # a database for candidates of several tables
        if self.several and not wrong and candidate.private:
            return ["a plan of several tables takes no privacy budget yet; use 'dalenius synth'"]
        return wrong

    def _scenarios(self, known: list[str] | None) -> list[Scenario]:
        listed = self.content.get("scenarios")
        if not isinstance(listed, dict) or not listed:
            self.faults.append("no scenarios: name at least one intruder with keys and targets")
            return []
        scenarios = []
        for name, body in listed.items():
            facts = body if isinstance(body, dict) else {}
            keys, targets = (tuple(map(str, facts.get(part) or ())) for part in ("keys", "targets"))
            if not keys or not targets:
                self.faults.append(f"scenario {name!r}: needs keys and targets")
            absent = [c for c in (*keys, *targets) if known is not None and c not in known]
            self.faults += [f"scenario {name!r}: {no_column([c], known or [])}" for c in absent]
            self.faults += [f"scenario {name!r}: {c!r} is both key and target" for c in keys if c in targets]
            unknown = [part for part in facts if part not in ("about", "keys", "targets", "population_share")]
            self.faults += [f"scenario {name!r}: unknown entry {part!r}" for part in unknown]
            share = facts.get("population_share", 1.0)
            if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 < share <= 1:
                self.faults.append(f"scenario {name!r}: population_share must be above 0 and at most 1")
                share = 1.0
            scenarios.append(Scenario(str(name), keys, targets, str(facts.get("about") or ""), float(share)))
        return scenarios

    def _policy(self, scenarios: Sequence[Scenario]) -> list[Rule]:
        rules = []
        targets = {target for scenario in scenarios for target in scenario.targets}
        for line in self.lines("policy") or self._usual_policy():
            try:
                rule = Rule.parse(line)
                if described(rule.measure).subject == "published" and "attack" not in self.content:
                    raise OptionError(
                        f"policy line {rule.text!r} is about published tables: name them under 'attack: "
                        "{published: [...]}'"
                    )
                if described(rule.measure).subject in ("model", "fit"):
                    raise OptionError(
                        f"policy line {rule.text!r} is not about files: {rule.measure} is never measured here"
                    )
                if rule.part and "targets" in described(rule.measure).needs and rule.part not in targets:
                    raise OptionError(f"policy line {rule.text!r}: {rule.part!r} is a target of no scenario")
                rules.append(rule)
            except DaleniusError as error:
                self.faults.append(str(error))
        return rules

    def _usual_policy(self) -> Sequence[str]:
        if self.base is None:
            return DEFAULT_POLICY
        return database_policy(self.base)

    def _attack(self) -> TablesEntry | None:
        body = self.content.get("attack")
        return None if body is None else TablesEntry.read(body, self.folder, self.faults)

    def _measures(self) -> list[str]:
        found = [full_name(name) for name in self.lines("measures")]
        known = {*MEASURES, *(DATABASE_MEASURES if self.several else ())}
        self.faults += [f"unknown measure {name!r}" for name in found if name not in known]
        return found

    def _choose(self, candidates: tuple[Candidate, ...]) -> str:
        # through its lens a file that was only recoded has no fault: with maskers the original's own detail decides
        usual = "detail-utility" if any(c.info.masks for c in candidates) else "two-way-utility"
        name = str(self.content.get("choose") or usual)
        known = {*MEASURES, *(DATABASE_MEASURES if self.several else ())}
        if name not in known or described(name).family != "utility":
            self.faults.append(f"choose must be a utility measure, not {name!r}")
        return name
