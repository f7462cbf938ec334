"""`Choices`: what a person chose on the set-up page, as it was typed; kept with the run and shown again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from dalenius.core.errors import OptionError
from dalenius.core.option import EACH, knobs
from dalenius.core.random import DEFAULT_SEED
from dalenius.counts.measure import MEASURES
from dalenius.evaluation.policy import SMALL_FILES, SMALL_FILES_IN_PART, Rule
from dalenius.release.plan import Scenario
from dalenius.synth import METHODS, Candidate
from dalenius.web.recipe_form import RecipeForm
from dalenius.web.structure_form import StructureForm
from dalenius.web.systems_form import SystemsForm

MOST_INTRUDERS = 12
LINES = {
    "copies": ("identical-matches", "1.5", "holdout"),
    "near": ("near-copies", "5", "holdout"),
    "parts": ("part-copies", "5", "holdout"),
    "dcr": ("dcr", "70", "fixed"),
    "DiSCO": ("DiSCO", "5", "holdout"),
    "repU": ("repU", "5", "holdout"),
    "membership": ("membership-distance", "0.65", "fixed"),
    "S_pMSE": ("mean S_pMSE", "10", "fixed"),
}
"""Policy lines the page asks for: the figure's name in a plan, the first limit, and what it is measured against."""
OF_FEW_LINES = {"copies": SMALL_FILES, "parts": SMALL_FILES_IN_PART}
"""What goes with a line: the same of a file with few lines, which is not asked for apart."""


@dataclass
class Intruder:
    """One intruder as typed: columns by name."""

    name: str
    about: str = ""
    share: str = "100"
    keys: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)

    def scenario(self) -> Scenario:
        """The scenario of the plan; faults are told by what is on the page."""
        said = self.name or "an intruder without a name"
        if not self.keys or not self.targets:
            raise OptionError(
                f"{said}: mark at least one column that is known (key) and one to be learnt (target)"
            )
        share = _number(self.share, f"{said}: the share of the population in the data", 0.0001, 100)
        return Scenario(self.name, tuple(self.keys), tuple(self.targets), self.about, share / 100)


@dataclass
class PolicyLine:
    """One limit as typed."""

    on: bool
    limit: str
    against: str

    def text(self, figure: str) -> str:
        """The line as a plan writes it."""
        limit = _number(self.limit, f"the limit of {figure}", 0, 1e6)
        if self.against == "holdout":
            return f"{figure} surely added <= {limit:g} points"
        line = f"{figure} <= {limit:g}"
        return line + (" %" if MEASURES[Rule.parse(line).measure].info.unit == "%" else "")


def _default_policy() -> dict[str, PolicyLine]:
    """Every line as the page shows it first."""
    return {name: PolicyLine(True, limit, by) for name, (_, limit, by) in LINES.items()}


@dataclass
class Choices:
    """Everything on the set-up page, as it was typed.

    Examples
    --------
    >>> chosen = Choices(kinds={}, roles={"age": "key", "ill": "target"}, intruders=[], methods=["cart"])
    >>> chosen.policy_lines()
    ['identical-matches surely added <= 1.5 points', 'identical-matches(lines surely added) <= 5 %',
     'near-copies surely added <= 5 points', 'part-copies surely added <= 5 points',
     'part-copies(lines surely added) <= 10 %', 'dcr <= 70 %', 'DiSCO surely added <= 5 points',
     'repU surely added <= 5 points', 'membership-distance <= 0.65', 'mean S_pMSE <= 10']
    """

    kinds: dict[str, str]
    roles: dict[str, str]
    intruders: list[Intruder]
    methods: list[str]
    typed: dict[str, dict[str, str]] = field(default_factory=dict)
    policy: dict[str, PolicyLine] = field(default_factory=_default_policy)
    further: str = ""
    title: str = ""
    audience: str = ""
    replicates: str = "1"
    holdout_share: str = "20"
    seed: str = str(DEFAULT_SEED)
    recipe: RecipeForm = field(default_factory=RecipeForm)
    structure: StructureForm = field(default_factory=StructureForm)
    systems: SystemsForm = field(default_factory=SystemsForm)

    @classmethod
    def from_form(cls, form: Any, columns: Sequence[str]) -> Choices:
        """Read a sent form; columns are named by number, so that no name can play tricks."""
        kinds = {name: str(form.get(f"kind-{n}", "")) for n, name in enumerate(columns)}
        roles = {name: str(form.get(f"role-{n}", "")) for n, name in enumerate(columns)}
        methods = [str(m) for m in form.getlist("method") if m in METHODS]
        typed = {
            name: {k.name: str(form.get(f"o-{name}-{k.name}", k.shown)) for k in knobs(METHODS[name])}
            for name in METHODS
        }
        policy = {
            name: PolicyLine(
                form.get(f"p-{name}-on") is not None,
                str(form.get(f"p-{name}-limit", "")),
                str(form.get(f"p-{name}-against", "fixed")),
            )
            for name in LINES
        }
        words = {
            part: str(form.get(part, default)).strip()
            for part, default in (
                ("further", ""),
                ("title", ""),
                ("audience", ""),
                ("replicates", "1"),
                ("holdout_share", "20"),
                ("seed", str(DEFAULT_SEED)),
            )
        }
        intruders = _intruders(form, columns) or [_by_roles(roles)]
        recipe = RecipeForm.from_form(form, columns)
        structure = StructureForm.from_form(form, columns)
        return cls(
            kinds, roles, intruders, methods, typed, policy, **words, recipe=recipe, structure=structure,
            systems=SystemsForm.from_form(form),
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> Choices:
        """Read back what `to_dict` gave."""
        return cls(
            **{
                **facts,
                "intruders": [Intruder(**i) for i in facts["intruders"]],
                "policy": _default_policy() | {n: PolicyLine(**line) for n, line in facts["policy"].items()},
                "recipe": RecipeForm.from_dict(facts["recipe"]) if "recipe" in facts else RecipeForm(),
                "structure": StructureForm.from_dict(facts["structure"])
                if "structure" in facts
                else StructureForm(),
                "systems": SystemsForm.from_dict(facts["systems"]) if "systems" in facts else SystemsForm(),
            }
        )

    def policy_lines(self) -> list[str]:
        """The policy as a plan writes it; every line is understood, or its fault is told."""
        lines = []
        for name, (figure, *_) in LINES.items():
            if self.policy[name].on:
                lines += [
                    self.policy[name].text(figure),
                    *([OF_FEW_LINES[name]] if name in OF_FEW_LINES else []),
                ]
        lines += [line.strip() for line in self.further.splitlines() if line.strip()]
        for line in lines:
            Rule.parse(line)
        return lines

    def candidates(self) -> dict[str, dict[str, Any]]:
        """Options by candidate."""
        if not self.methods and not self.recipe.on and not self.systems.on:
            raise OptionError("choose at least one method")
        plain = {} if self.structure.keep else {"prepare": False}
        chosen = {m: {"method": m, **_options(m, self.typed.get(m, {})), **plain} for m in self.methods}
        if self.recipe.on:
            keys = self.intruders[0].keys if self.intruders else []
            trees = {name: lines for name, lines in self.structure.levels().items() if name in keys}
            recipe = replace(self.recipe, levels={**trees, **self.recipe.levels})
            chosen["recipe"] = {"method": "recipe", "steps": recipe.steps(keys), "keys": keys}
        chosen |= self.systems.candidates()
        wrong = [
            f"{METHODS[facts['method']].info.title}: {fault}"
            for name, facts in chosen.items()
            for candidate in Candidate.from_mapping(facts, name)
            for fault in candidate.faults()
        ]
        if wrong:
            raise OptionError.from_faults("options", list(dict.fromkeys(wrong)))
        return chosen

    def scenarios(self) -> list[Scenario]:
        """The intruders as a plan names them."""
        names = [intruder.name for intruder in self.intruders]
        if len(set(names)) < len(names) or not all(names):
            raise OptionError("give each intruder a different name")
        return [intruder.scenario() for intruder in self.intruders]

    def numbers(self) -> tuple[int, float, int]:
        """How often each candidate is made, the share kept out, and the seed."""
        replicates = int(_number(self.replicates, "how often each file is made", 1, 100))
        share = _number(self.holdout_share, "the share of records kept out", 0, 80) / 100
        return replicates, share, int(_number(self.seed, "the seed", 0, 2**53))


def _options(method: str, typed: Mapping[str, str]) -> dict[str, Any]:
    """Options of a method from what was typed by knob; ``each: 5, 20`` makes a candidate for each value.

    What was left as it was is not written down, so that a plan shows what somebody decided.

    Examples
    --------
    >>> _options("cart", {"minbucket": "each: 5, 20", "diversity": "1"})
    {'minbucket': {'each': [5, 20]}}
    """
    read = {
        k.name: (k, k.read(typed[k.name])) for k in knobs(METHODS[method]) if typed.get(k.name, "").strip()
    }
    return {
        name: value
        for name, (knob, value) in read.items()
        if value not in (knob.default, {EACH: [knob.default]})
    }


def _intruders(form: Any, columns: Sequence[str]) -> list[Intruder]:
    found = []
    known = {str(n): name for n, name in enumerate(columns)}
    for n in range(MOST_INTRUDERS):
        if form.get(f"s-{n}-name") is None:
            continue
        sides = {
            side: [known[c] for c in form.getlist(f"s-{n}-{side}") if c in known]
            for side in ("key", "target")
        }
        found.append(
            Intruder(
                str(form.get(f"s-{n}-name")).strip()[:60],
                str(form.get(f"s-{n}-about", "")).strip()[:300],
                str(form.get(f"s-{n}-share", "100")),
                sides["key"],
                sides["target"],
            )
        )
    return found


def _by_roles(roles: Mapping[str, str]) -> Intruder:
    """The intruder that the roles of the columns describe."""
    keys, targets = ([n for n, r in roles.items() if r == role] for role in ("key", "target"))
    return Intruder("acquaintance", "", "100", keys, targets)


def _number(text: str, what: str, low: float, high: float) -> float:
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not low <= value <= high:
        raise OptionError(f"{what} must be a number from {low:g} to {high:g}")
    return value
