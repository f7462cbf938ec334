"""`Measure`: a plain function from a `Pair` to a `Result`, registered with what a reader must know about it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dalenius.core.errors import DataError
from dalenius.core.option import check, declared
from dalenius.core.registry import MeasureInfo, Registry
from dalenius.core.result import Result
from dalenius.counts.pair import Pair


class MeasureFunction(Protocol):
    """What a measure's function looks like: a pair, then options with defaults."""

    def __call__(self, pair: Pair, /, **options: Any) -> Result:
        """Measure the pair."""
        ...


@dataclass(frozen=True)
class Measure:
    """A registered measure; call it with a pair."""

    info: MeasureInfo
    function: Callable[..., Result]

    def __call__(self, pair: Pair, /, **options: Any) -> Result:
        """Measure the pair; an error says what it lacks."""
        lacking = self.lacks(pair, options)
        if lacking:
            raise DataError(
                f"{self.info.title} needs {' and '.join(lacking)}; name them in the schema or in the call"
            )
        return self.function(pair, **options).with_info(self.info)

    @property
    def options(self) -> list[str]:
        """Names of the options the measure takes."""
        return list(declared(self.function))

    def check_options(self, options: Mapping[str, Any]) -> None:
        """Raise one error with everything that is wrong with the options."""
        check(self.info.name, self.function, options)

    def lacks(self, pair: Pair, options: Mapping[str, Any] | None = None) -> list[str]:
        """What the pair would need to have for this measure, and has not; keys and targets may be options."""
        given = options or {}
        has = {
            "keys": bool(given.get("keys", pair.keys)),
            "targets": bool(given.get("targets", pair.targets)),
            "holdout": pair.holdout is not None,
        }
        return sorted(need for need in self.info.needs if not has[need])


MEASURES: Registry[Measure] = Registry("measure")


def chosen_measures(names: Sequence[str], options: Mapping[str, Mapping[str, Any]]) -> list[Measure]:
    """Measures of these names, and those that options are given for.

    Examples
    --------
    >>> chosen_measures([], {})
    []
    """
    found = [MEASURES[name] for name in dict.fromkeys([*names, *options])]
    for chosen in found:
        chosen.check_options(options.get(chosen.info.name, {}))
    return found


def measure(info: MeasureInfo) -> Callable[[Callable[..., Result]], Callable[..., Result]]:
    """Register a function as a measure; the function itself stays callable as it is."""

    def keep(function: Callable[..., Result]) -> Callable[..., Result]:
        MEASURES.add(Measure(info, function))
        return function

    return keep
