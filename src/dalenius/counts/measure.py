"""`Measure`: a plain function from a `Pair` to a `Result`, registered with what a reader must know about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec

from dalenius.core.errors import DaleniusError, DataError, OptionError
from dalenius.core.option import check, declared
from dalenius.core.registry import MeasureInfo, Registry
from dalenius.core.result import Result
from dalenius.counts.pair import Pair
from dalenius.data.rules import rules_for
from dalenius.data.schema import Role

P = ParamSpec("P")
Facts = ParamSpec("Facts")


@dataclass(frozen=True, repr=False)
class Measure(Generic[P]):
    """A registered measure. Call it with a pair; what it needs, and its options, are checked before it runs.

    Examples
    --------
    >>> from dalenius.risk import replicated_uniques
    >>> replicated_uniques(Pair({"a": [1, 2]}, {"a": [1, 1]}))
    Traceback (most recent call last):
    ...
    dalenius.core.errors.DataError: Replicated uniques (repU) needs keys; name them in the schema or in the call
    """

    info: MeasureInfo
    function: Callable[Concatenate[Pair, P], Result]

    def __post_init__(self) -> None:
        # looks like the function it stands for: name, docstring (with its doctests), signature
        wearer: Any = _Wearer()
        update_wrapper(wearer, self.function)
        self.__dict__.update(wearer.__dict__)

    def __call__(self, pair: Pair, /, *args: P.args, **options: P.kwargs) -> Result:
        """Measure the pair; an error says what it lacks."""
        given = {**dict(zip(self.options, args, strict=False)), **options}
        self.check_options(given)
        lacking = self.lacks(pair, given)
        if lacking:
            raise DataError(f"{self.info.title} {needs(lacking)}; name them in the schema or in the call")
        read, told = self._read(pair)
        doubt = pair.for_rows()[0].doubt if self.info.family == "risk" else ""
        result = self.function(read, *args, **options)
        if self.info.family == "utility" and getattr(read, "designs", None) and not self.info.weighs:
            told = f"{told} {UNWEIGHTED}".strip()
        if told:
            result = replace(result, sentence=f"{result.sentence} {told}")
        return doubted(result, doubt).with_info(self.info, pair.threshold)

    def _read(self, pair: Pair) -> tuple[Pair, str]:
        """The pair that the measure reads, and a sentence about it."""
        return pair.for_rows() if self.info.reads == "rows" else (pair, "")

    def __repr__(self) -> str:
        return f"<measure {self.info.name}: {self.info.title}>"

    @property
    def options(self) -> list[str]:
        """Names of the options the measure takes."""
        return list(declared(self.function))

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Raise one error with everything that is wrong with the options."""
        check(self.info.name, self.function, options)

    def lacks(self, pair: Pair, options: Mapping[str, Any] | None = None) -> list[str]:
        """What the pair would need to have for this measure, and has not; keys and targets may be options."""
        read, _ = self._read(pair)
        return sorted(need for need in self.info.needs if not _has(read, need, options or {}))


UNWEIGHTED = "All rows count alike here, whatever their weights."
"""What is said of a figure that does not use the weights that are there."""
NEEDS = {
    "holdout": "a holdout",
    "rules": "rules, and the schema has no rules on these columns",
    "households": "households, and no column of both files has that role",
    "identifiers": "identifiers, and no column of both files has that role",
    "links": "the lens of a masked file, which tells whose row each row is",
}
"""What is said of a need beyond its name."""
ROLES = {"households": (Role.HOUSEHOLD,), "identifiers": (Role.IDENTIFIER,)}


def needs(lacking: Sequence[str]) -> str:
    """What is lacking, in words.

    Examples
    --------
    >>> needs(["holdout", "keys"])
    'needs a holdout and keys'
    """
    return f"needs {' and '.join(NEEDS.get(need, need) for need in lacking)}"


def _has(pair: Pair, need: str, given: Mapping[str, Any]) -> bool:
    option = {"households": "household", "identifiers": "columns"}.get(need, need)
    if given.get(option) is not None:
        return bool(given[option])
    if need == "rules":
        return any(rule.can_read(pair.original.names) for rule in rules_for(pair.schema))
    if need == "links":
        return pair.lens is not None
    if need in ROLES:
        return any(name in pair.original for role in ROLES[need] for name in pair.schema.by_role(role))
    return pair.holdout is not None if need == "holdout" else bool(getattr(pair, need))


def doubted(result: Result, doubt: str) -> Result:
    """A figure whose yardstick is none, with the reason; as it is where there is no doubt.

    Examples
    --------
    >>> print(doubted(Result("disco", 0.0, "Nobody.", unit="%"), "The holdout is no yardstick.").sentence)
    Nobody. The holdout is no yardstick.
    """
    if not doubt:
        return result
    return replace(result, trusted=False, doubt=result.doubt or doubt, sentence=f"{result.sentence} {doubt}")


class _Wearer:
    """Takes on the attributes of a function."""


MEASURES: Registry[Measure[...]] = Registry(
    "measure", "measures", rooms=("dalenius.mask", "dalenius.evaluation")
)

MASKED = ("detail-lost", "detail-utility")
"""Of a masked file also this is measured unasked, and what needs its links."""


def masked_measures() -> list[str]:
    """Names of what is measured unasked where a file was masked, and only there.

    Examples
    --------
    >>> import dalenius.utility
    >>> masked_measures()
    ['own-row-found', 'interval-disclosure', 'value-loss', 'detail-lost', 'detail-utility']
    """
    return [*(m.info.name for m in MEASURES.values() if "links" in m.info.needs), *MASKED]


def measure_functions() -> dict[str, Callable[..., Result]]:
    """What declares the options of each measure, by name."""
    return {each.info.name: each.function for each in MEASURES.values()}


SHORT_NAMES = {
    "repu": "replicated-uniques",
    "s_pmse": "two-way-utility",
    "mean s_pmse": "two-way-utility",
    "identical rows": "identical-matches",
    "k": "k-anonymity",
    "l": "l-diversity",
}
"""What papers, boards and policy lines call some measures."""


def full_name(name: str) -> str:
    """The name of a measure as it is registered, whatever its short name and capitals.

    Examples
    --------
    >>> [full_name(name) for name in ("repU", "DiSCO", "mean S_pMSE", "dcr")]
    ['replicated-uniques', 'disco', 'two-way-utility', 'dcr']
    """
    plain = " ".join(name.lower().split())
    return SHORT_NAMES.get(plain, plain if plain in MEASURES else name)


def chosen_measures(names: Sequence[str], options: Mapping[str, Mapping[str, Any]]) -> list[Measure[...]]:
    """Measures of these names, and those that options are given for.

    Examples
    --------
    >>> chosen_measures([], {})
    []
    """
    chosen: list[Measure[...]] = []
    wrong: list[DaleniusError] = []
    for name in dict.fromkeys(map(full_name, [*names, *options])):
        try:
            chosen.append(MEASURES[name])
            chosen[-1].check_options(options.get(name, {}))
        except DaleniusError as error:
            wrong.append(error)
    if len(wrong) > 1:
        raise OptionError.from_faults("measures", [str(error) for error in wrong])
    if wrong:
        raise wrong[0]
    return chosen


@dataclass(frozen=True)
class Registering:
    """Registers a function as a measure and puts the checked `Measure` in its place."""

    info: MeasureInfo

    def __call__(self, function: Callable[Concatenate[Pair, P], Result]) -> Measure[P]:
        """Register the function."""
        made = Measure(self.info, function)
        MEASURES.add(made)
        return made


def _describing(info: Callable[Facts, MeasureInfo]) -> Callable[Facts, Registering]:
    return lambda *args, **facts: Registering(info(*args, **facts))


measure = _describing(MeasureInfo)
"""Decorator of a measure; it takes what `MeasureInfo` takes."""
