"""`FitPlan`: private regressions that may be released, and the limits they must keep.

It is a plan like any other, told apart by the entry ``formula``. What a fit costs is known before it is made, so a
candidate that the policy rules out by its ε is never made, and nothing is paid for it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

from dalenius.core.errors import DaleniusError, OptionError, names
from dalenius.core.option import EACH, grid
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.data.units import owner_column
from dalenius.dp import Budget, ledger_beside, ledger_path
from dalenius.dp.budget import Neighbours
from dalenius.dp.regression.design import Design, bounds_of, design_of, parse
from dalenius.dp.regression.fit import Family, accounting_of, check_options
from dalenius.evaluation.policy import Rule, described
from dalenius.release.jobs import file_digest, load
from dalenius.release.plan_file import PlanReader, load_entries

ENTRIES = {
    "version", "title", "audience", "input", "schema", "formula", "candidates", "policy", "output", "ledger",
    "neighbours", "contribution",
}  # fmt: skip
KINDS: Mapping[str, Family] = {"dp-quantile": "quantile", "dp-linear": "linear", "dp-logit": "logistic"}
OPTIONS = ("epsilon", "delta", "taus", "mechanism", "bandwidth", "kernel", "intervals")


@dataclass(frozen=True)
class FitCandidate:
    """One private fit that may be released.

    Examples
    --------
    >>> [c.name for c in FitCandidate.from_mapping({"epsilon": {"each": [1, 3]}}, "dp-quantile")]
    ['dp-quantile epsilon=1', 'dp-quantile epsilon=3']
    """

    name: str
    family: Family
    options: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_mapping(cls, body: Mapping[str, Any], name: str) -> list[FitCandidate]:
        """The candidates of one entry of a plan: values under ``each`` make several."""
        facts = dict(body)
        kind = str(facts.pop("fit", name))
        if kind not in KINDS:
            raise OptionError(f"unknown fit {kind!r}; there are {', '.join(KINDS)}")
        odd = [key for key in facts if key not in OPTIONS]
        if odd:
            raise OptionError(f"{kind} has no option {names(odd)}; it has {', '.join(OPTIONS)}")
        return [
            cls(
                f"{name} {label}".strip(),
                KINDS[kind],
                {k: tuple(v) if isinstance(v, list) else v for k, v in made.items()},
            )
            for label, made in grid(facts)
        ]

    @property
    def epsilon(self) -> float:
        """What it costs."""
        return float(self.options["epsilon"])

    @property
    def taus(self) -> tuple[float, ...]:
        """The quantiles it fits; none for a mean or a yes or no."""
        if self.family != "quantile":
            return ()
        given = self.options.get("taus", 0.5)
        return given if isinstance(given, tuple) else (given,)

    @property
    def slug(self) -> str:
        """The name as part of a file's name."""
        return re.sub(r"[^a-z0-9]+", "-", self.name.lower()).strip("-")

    def budget(self, neighbours: Neighbours, contribution: int | None, unit: str) -> Budget:
        """What it costs, as the ledger takes it."""
        delta, mechanism = float(self.options.get("delta", 0.0)), str(self.options.get("mechanism", "opm"))
        how = accounting_of(self.family, mechanism, delta)
        return Budget(self.epsilon, delta, neighbours, how, contribution or 1, unit)

    def faults(self, neighbours: str = "add-remove") -> list[str]:
        """What is wrong with the options."""
        if "epsilon" not in self.options:
            return ["epsilon is missing; say what the fit may cost"]
        numbers = {
            k: v for k, v in self.options.items() if k in ("epsilon", "delta", "bandwidth") and v is not None
        }
        numbers |= {f"taus {tau!r}": tau for tau in self.taus}
        odd = [k for k, v in numbers.items() if isinstance(v, bool) or not isinstance(v, (int, float))]
        if odd:
            several = f"; {EACH!r} tries several" if isinstance(self.options.get(odd[0]), tuple) else ""
            return [f"{odd[0]} must be a number{several}"]
        try:
            mechanism, delta = (
                str(self.options.get("mechanism", "opm")),
                float(self.options.get("delta", 0.0)),
            )
            bandwidth, kernel = self.options.get("bandwidth"), str(self.options.get("kernel", "logistic"))
            check_options(self.family, mechanism, delta, neighbours, self.taus, bandwidth, kernel)
            self.budget("add-remove", None, "record")
        except DaleniusError as error:
            return [str(error)]
        return []

    def asked(self) -> dict[str, Any]:
        """The options as `dalenius.dp.regress` takes them."""
        rest = {k: v for k, v in self.options.items() if k not in ("intervals", "taus")}
        rest |= {"taus": self.taus} if self.taus else {}
        more = {"with_intervals": bool(self.options["intervals"])} if "intervals" in self.options else {}
        return {**rest, **more, "family": self.family}


@dataclass(frozen=True)
class FitPlan:
    """A plan whose candidates are private fits, checked.

    Attributes
    ----------
    ledger
        What pays; by default the ledger beside the input, if there is one.
    seed
        Of no meaning: the noise is fresh each time. Every manifest names one.
    """

    title: str
    input: Path
    schema: Path
    formula: str
    candidates: tuple[FitCandidate, ...]
    policy: tuple[Rule, ...]
    output: Path
    ledger: Path | None = None
    neighbours: Neighbours = "add-remove"
    contribution: int | None = None
    audience: str = ""
    text: str = ""
    path: Path | None = None
    seed: int = 0

    @property
    def sources(self) -> dict[str, Path]:
        """The files the plan reads, by name."""
        return {path.name: path for path in (self.input, self.schema)}

    @property
    def text_digest(self) -> str:
        """Fingerprint of the plan as written."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def digest(self) -> str:
        """Fingerprint of what all fits share; not of the program: what is paid for is not made again."""
        facts = {
            "formula": self.formula, "neighbours": self.neighbours, "contribution": self.contribution,
            "inputs": {name: file_digest(path) for name, path in self.sources.items()},
        }  # fmt: skip
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()

    def mark(self, candidate: FitCandidate) -> str:
        """What tells one fit from every other: in the name of its file, and in the ledger."""
        # 1 and 1.0 are one price
        options = {k: float(v) if type(v) is int else v for k, v in candidate.options.items()}
        asked = json.dumps([self.digest, candidate.family, options], sort_keys=True)
        return hashlib.sha256(asked.encode()).hexdigest()[:16]

    @property
    def pays(self) -> Path | None:
        """The ledger that pays."""
        return self.ledger if self.ledger is not None else ledger_beside(self.input)

    def table(self) -> Table:
        """The records, read by their declarations alone."""
        return load(self.input, self.schema, blind=True)

    def unit(self) -> str:
        """Whom the fits protect."""
        if self.contribution is None:
            return "record"
        return owner_column(Schema.from_yaml(self.schema)) or "record"

    def design(self, family: Family) -> Design:
        """The formula's columns; an error where one is not declared as a fit needs it."""
        return design_of(self.table(), self.formula, yes_or_no=family == "logistic")

    def whole(self, family: Family) -> float:
        """The declared range of the response; 1 for a yes or no."""
        bounds = bounds_of(Schema.from_yaml(self.schema)[parse(self.formula)[0]])
        return 1.0 if family == "logistic" or bounds is None else bounds[1] - bounds[0]


def is_fit_plan(path: str | Path) -> bool:
    """Whether a plan is about private fits: it names a formula."""
    try:
        return "formula" in load_entries(Path(path))[1]
    except DaleniusError:
        return False


def read_fit_plan(path: str | Path) -> FitPlan:
    r"""Read and check a plan of private fits; all faults are reported at once.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "plan.yaml"
    >>> _ = path.write_text("input: nowhere.csv\nformula: pay ~ age\ncandidates: {dp-quantile: {epsilon: -1}}\n")
    >>> read_fit_plan(path)
    Traceback (most recent call last):
    ...
    dalenius.core.errors.SchemaError: ...plan.yaml: 4 faults: input nowhere.csv does not exist; no schema: name the
    file; candidate 'dp-quantile': epsilon must be a positive number, got -1.0; no policy: say what a fit may cost, such
    as 'fit-epsilon <= 2'
    """
    return replace(_Reader.read(Path(path)), path=Path(path).absolute())


class _Reader(PlanReader[FitPlan]):
    """Takes a plan of private fits apart."""

    def plan(self, text: str) -> FitPlan:
        self.faults += [
            f"unknown entry {n!r} in a plan of private fits" for n in self.content if n not in ENTRIES
        ]
        data, schema = self.file("input", needed=True), self.file("schema", needed=True)
        formula, neighbours = (
            str(self.content.get("formula") or ""),
            self.content.get("neighbours", "add-remove"),
        )
        try:
            parse(formula)
        except DaleniusError as error:
            self.faults.append(str(error))
        if neighbours not in ("add-remove", "replace"):
            self.faults.append("neighbours must be add-remove or replace")
        made = self.candidates("fit", FitCandidate.from_mapping, lambda c: c.faults(str(neighbours)))
        self.all_different([candidate.slug for candidate in made])
        ledger, own = self.file("ledger"), ledger_path(data or "")
        if ledger is not None and own.is_file() and not ledger.samefile(own):
            self.faults.append(
                f"ledger is {ledger.name}, and the data have one of their own, {own.name}: leave it out"
            )
        most = None if "contribution" not in self.content else int(self.number("contribution", 1, 1, 10**9))
        return FitPlan(
            title=str(self.content.get("title") or "Private fit"), audience=str(self.content.get("audience") or ""),
            input=data or Path(), schema=schema or Path(), formula=formula, candidates=tuple(made),
            policy=tuple(self._policy()), output=self.folder / str(self.content.get("output") or "release"),
            ledger=ledger, neighbours=cast("Neighbours", neighbours), contribution=most, text=text,
        )  # fmt: skip

    def _policy(self) -> list[Rule]:
        rules = []
        for line in self.lines("policy"):
            try:
                rule = Rule.parse(line)
                if described(rule.measure).subject != "fit":
                    self.faults.append(f"policy line {line!r}: {rule.measure} is not about private fits")
                rules.append(rule)
            except DaleniusError as error:
                self.faults.append(str(error))
        if not rules and not self.faults_of_policy():
            self.faults.append("no policy: say what a fit may cost, such as 'fit-epsilon <= 2'")
        return rules

    def faults_of_policy(self) -> bool:
        """Whether lines were given and could not be read: then that is the fault."""
        return bool(self.content.get("policy"))
