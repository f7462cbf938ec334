"""Primary rules from short texts, as the command line takes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from dalenius.core import plugins
from dalenius.core.errors import OptionError
from dalenius.tables.protection import PrimaryRule
from dalenius.tables.rules import Dominance, FewContributors, KDisclosure, PPercent, Request, SmallCount

R = TypeVar("R", bound=Callable[..., PrimaryRule])


def parse_rule(text: str) -> PrimaryRule:
    """A rule from its short text, such as ``freq:3`` or ``p:10``.

    There are ``freq:3``, ``freq0:3`` (zeros open), ``contributors:2``, ``nk:2,90`` (several pairs: ``nk:1,75,2,90``),
    ``p:10``, ``pq:10,60``, ``request:60`` and ``k:1``. Options follow the numbers: ``strict`` and ``zeros`` (zero sums
    are protected) for ``nk``; ``zeros`` and ``coalition=2`` for ``p``; ``tau-argus`` (sampling weights as τ-ARGUS uses
    them) for ``nk``, ``p``, ``pq`` and ``contributors``; ``sensitive=COLUMN`` and ``identifying=COLUMN`` for ``k``;
    ``ignore=CODE`` for contributors that do not count.

    Examples
    --------
    >>> parse_rule("p:10") == PPercent(10)
    True
    >>> parse_rule("nk:1,75,2,90,strict").pairs
    ((1, 75.0), (2, 90.0))
    """
    kind, _, rest = text.partition(":")
    words = [part.strip() for part in rest.split(",") if part.strip()]
    plain = [word for word in words if not word[0].isalpha()]
    named = [word.partition("=") for word in words if word[0].isalpha()]
    options = {name: [value for other, _, value in named if other == name] for name, _, _ in named}
    maker = MAKERS.get(kind)
    if maker is None and kind in further_rules():
        return _further(text, kind, plain, options)
    if maker is None:
        raise OptionError(
            f"unknown rule {text!r}; there are freq:N, freq0:N, contributors:N, nk:N,K, p:P, pq:P,Q, request:K and k:N"
        )
    unknown = [name for name in options if name not in maker[1]]
    if unknown:
        raise OptionError(f"rule {text!r}: {', '.join(unknown)} is not an option of {kind}")
    valued = [name for name in options if name in FLAGS and any(options[name])]
    if valued:
        raise OptionError(
            f"rule {text!r}: {', '.join(valued)} takes no value; leave it out if it is not wanted"
        )
    try:
        numbers = [float(part) for part in plain]
        if len(numbers) > MOST_NUMBERS.get(kind, 1):
            raise IndexError
        return maker[0](numbers, options)
    except (ValueError, IndexError) as error:
        raise OptionError(
            f"rule {text!r}: its numbers cannot be read; examples: freq:3, nk:2,90, p:10"
        ) from error


MOST_NUMBERS = {"nk": 99, "pq": 2, "request": 2}

FLAGS = ("strict", "tau-argus", "zeros")
"""Options that are given or not, without a value."""

RuleOptions = dict[str, list[str]]


def _count(number: float) -> int:
    if not number.is_integer():
        raise ValueError
    return int(number)


def _dominance(numbers: list[float], options: RuleOptions) -> PrimaryRule:
    if not numbers:
        raise IndexError
    pairs = [(_count(numbers[i]), numbers[i + 1]) for i in range(0, len(numbers), 2)]
    weighting = _weighting(options)
    ignored = tuple(options.get("ignore", ()))
    return Dominance(pairs, weighting, "strict" in options, ignored, "zeros" in options)


def _p_percent(numbers: list[float], options: RuleOptions) -> PrimaryRule:
    together = int(options.get("coalition", ["1"])[0])
    q = numbers[1] if len(numbers) > 1 else 100.0
    return PPercent(
        numbers[0], together, tuple(options.get("ignore", ())), "zeros" in options, q, _weighting(options)
    )


def _weighting(options: RuleOptions) -> str:
    return "tau-argus" if "tau-argus" in options else "default"


def _prior_posterior(numbers: list[float], options: RuleOptions) -> PrimaryRule:
    if len(numbers) != 2:
        raise IndexError
    return _p_percent(numbers, options)


def _k_disclosure(numbers: list[float], options: RuleOptions) -> PrimaryRule:
    sensitive, identifying = (tuple(options.get(name, ())) for name in ("sensitive", "identifying"))
    return KDisclosure(_count(numbers[0]), sensitive, identifying)


MAKERS: dict[str, tuple[Callable[[list[float], RuleOptions], PrimaryRule], tuple[str, ...]]] = {
    "freq": (lambda numbers, _: SmallCount(_count(numbers[0])), ()),
    "freq0": (lambda numbers, _: SmallCount(_count(numbers[0]), protect_zeros=False), ()),
    "contributors": (
        lambda numbers, options: FewContributors(
            _count(numbers[0]), tuple(options.get("ignore", ())), _weighting(options)
        ),
        ("ignore", "tau-argus"),
    ),
    "nk": (_dominance, ("strict", "tau-argus", "zeros", "ignore")),
    "p": (_p_percent, ("coalition", "zeros", "ignore", "tau-argus")),
    "pq": (_prior_posterior, ("coalition", "zeros", "ignore", "tau-argus")),
    "request": (lambda numbers, _: Request(numbers[0], numbers[1] if len(numbers) > 1 else None), ()),
    "k": (_k_disclosure, ("sensitive", "identifying")),
}
"""Short name → how the rule is made, and the options it knows."""

_REGISTERED: dict[str, Callable[..., PrimaryRule]] = {}


def rule(kind: str) -> Callable[[R], R]:
    """Give a rule its short text: a class decorated with ``@rule("towns")`` is made by ``towns:3,option=value``.

    What it is called with are the numbers, in order, and the options as texts. It must also work without any, so that
    the common checks of rules can try it.

    Examples
    --------
    >>> "towns" in further_rules()
    False
    """

    def keep(cls: R) -> R:
        _REGISTERED[kind] = cls
        return cls

    return keep


def further_rules() -> dict[str, Callable[..., PrimaryRule]]:
    """Rules with a text of their own beyond the usual: files of this room, and plugins (``dalenius.rules``)."""
    offered = {entry.name: thing for entry, thing in plugins.loaded("rules")}
    return {**offered, **_REGISTERED}


def _further(text: str, kind: str, plain: list[str], options: RuleOptions) -> PrimaryRule:
    try:
        numbers = [float(word) for word in plain]
        given = [int(number) if number.is_integer() else number for number in numbers]
        return further_rules()[kind](*given, **{name: values[-1] for name, values in options.items()})
    except (TypeError, ValueError) as error:
        raise OptionError(f"rule {text!r}: {kind} does not take these numbers or options") from error
