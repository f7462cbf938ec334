"""Knobs: the few options of each method that a steward may want to turn, in plain words.

A method may have dozens of options (``dalenius methods`` lists them, the plan takes them all). These are the ones that
trade protection against usefulness, with what turning them does; the page offers them and the plan template names them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from dalenius.core.errors import OptionError


@dataclass(frozen=True)
class Knob:
    """One option: its name in the plan, what to call it, what turning it does.

    Examples
    --------
    >>> MINBUCKET.read("5, 20")
    [5, 20]
    >>> MINBUCKET.read("many")
    Traceback (most recent call last):
    ...
    dalenius.core.errors.OptionError: 'Smallest group' (minbucket) takes whole numbers from 1 to 10000
    """

    name: str
    title: str
    meaning: str
    default: Any
    kind: Literal["whole number", "number", "choice"] = "whole number"
    low: float = 0
    high: float = 10_000
    choices: Mapping[str, str] = field(default_factory=dict)
    """Values with what they mean in words; only for choices."""

    def read(self, text: str) -> list[Any]:
        """Values from what a person typed: one, or several with commas, each of which makes a candidate."""
        parts = [part.strip() for part in text.split(",") if part.strip()]
        return [self._value(part) for part in parts]

    def _value(self, part: str) -> Any:
        if self.kind == "choice":
            if part not in self.choices:
                raise OptionError(f"'{self.title}' ({self.name}) is one of {', '.join(self.choices)}")
            return part
        try:
            number = int(part) if self.kind == "whole number" else float(part)
        except ValueError:
            number = float("nan")
        if not self.low <= number <= self.high:
            raise OptionError(
                f"'{self.title}' ({self.name}) takes {self.kind}s from {self.low:g} to {self.high:g}"
            )
        return number

    @property
    def shown(self) -> str:
        """The default as a person would type it."""
        return "" if self.default is None else str(self.default)


MINBUCKET = Knob(
    "minbucket", "Smallest group",
    "Fewest real people behind any answer the method draws from. More: safer, less detail.",
    5, low=1,
)  # fmt: skip
DIVERSITY = Knob(
    "diversity", "Different answers in a group",
    "A group that holds fewer different answers than this is made larger, so that nobody can be sure of one. 1: off.",
    1, low=1, high=50,
)  # fmt: skip
GROUPS = Knob(
    "groups", "Groups of a number",
    "Numbers such as age or income are put into this many groups first. Fewer: safer, coarser.",
    5, low=2, high=100,
)  # fmt: skip
PRIOR = Knob(
    "prior", "Weight of combinations nobody has",
    "Adds made-up weight to combinations of answers that no real person gave. More: safer, further from the data.",
    1.0, "number", high=1e6,
)  # fmt: skip
EPSILON = Knob(
    "epsilon", "Privacy budget (ε)",
    "How much one person may change the result. Below 1 is strong, 1 to 10 is usual, above 10 promises little.",
    1.0, "number", low=1e-3, high=1e3,
)  # fmt: skip
MAYBE_EPSILON = Knob(
    "epsilon", "Privacy budget (ε), or empty",
    "Empty: no noise and no mathematical promise. A number adds noise: below 1 is strong, 1 to 10 is usual.",
    None, "number", low=1e-3, high=1e3,
)  # fmt: skip
DOMAIN = Knob(
    "domain", "Where the list of possible answers comes from",
    "The mathematical promise holds only if the list of possible answers is public knowledge.",
    "declared", "choice",
    choices={
        "declared": "it is public and written in the schema",
        "from-data": "read it off the data (weakens the promise)",
    },
)  # fmt: skip
SEQUENTIAL = (MINBUCKET, DIVERSITY)
KNOBS: Mapping[str, tuple[Knob, ...]] = {
    "cart": SEQUENTIAL,
    "ctree": (
        *SEQUENTIAL,
        Knob(
            "alpha", "How sure before splitting",
            "A group is split only if chance alone would give such a difference less often than this. Less: coarser.",
            0.05, "number", low=1e-6, high=1,
        ),
    ),
    "forest": (
        *SEQUENTIAL,
        Knob("trees", "Trees", "Trees grown for each column. More: smoother, slower.", 10, low=1, high=500),
    ),
    "parametric": (),
    "loglinear": (GROUPS, PRIOR, MAYBE_EPSILON, DOMAIN),
    "saturated": (GROUPS, PRIOR, MAYBE_EPSILON, DOMAIN),
    "poisson": (
        GROUPS,
        Knob(
            "alpha", "Weight of combinations nobody has",
            "Added to every count before a random count is drawn around it. More: safer, further from the data.",
            0.0, "number", high=1e6,
        ),
    ),
    "mst": (EPSILON, GROUPS, DOMAIN),
    "aim": (EPSILON, GROUPS, DOMAIN),
    "syndiffix": (),
    "independent": (),
}  # fmt: skip
"""Knobs by method; a method that is not listed is offered as it is."""


def knobs_of(method: str) -> tuple[Knob, ...]:
    """Knobs of a method, none for methods that are offered as they are.

    Examples
    --------
    >>> [knob.name for knob in knobs_of("cart")]
    ['minbucket', 'diversity']
    """
    return KNOBS.get(method, ())


def options_from(method: str, typed: Mapping[str, str]) -> dict[str, Any]:
    """Options of a method from what a person typed by knob; one value, or a list that makes a candidate each.

    What was left as it was is not written down, so that a plan shows what somebody decided.

    Examples
    --------
    >>> options_from("cart", {"minbucket": "5, 20", "diversity": "1"})
    {'minbucket': [5, 20]}
    """
    found: dict[str, Any] = {}
    for knob in knobs_of(method):
        values = list(dict.fromkeys(knob.read(typed.get(knob.name, ""))))
        if values and values != [knob.default]:
            found[knob.name] = values[0] if len(values) == 1 else values
    return found
