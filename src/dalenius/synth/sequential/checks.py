"""Faults of the options that can be seen without data, all at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dalenius.synth.sequential.fitted import METHODS, Tuning

SMOOTHING = ("none", "auto", "density", "spline")
VISIT = ("given", "cardinality", "dependence")
WEIGHTING = ("column", "ignore", "predictor", "pseudo", "population")


def _names(value: Any) -> bool:
    return (
        isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(v, str) for v in value)
    )


def _by_column(inner: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: (
        isinstance(value, Mapping) and all(isinstance(k, str) and inner(v) for k, v in value.items())
    )


def _whole(least: int) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, int) and not isinstance(value, bool) and value >= least


def _share(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0


def _one_of(*words: str) -> Callable[[Any], bool]:
    return lambda value: value in words


def _text(value: Any) -> bool:
    return isinstance(value, str)


def _numbers(value: Any) -> bool:
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and all(isinstance(v, (int, float)) for v in value)
    )


def _or_none(inner: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: value is None or inner(value)


_ACCEPTS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "visit": (
        lambda v: v in VISIT if isinstance(v, str) else _names(v),
        f"{', '.join(VISIT)} or a list of columns",
    ),
    "predictors": (_by_column(_names), "columns, each with a list of columns"),
    "methods": (_by_column(lambda v: v in METHODS), "columns, each with one of the methods"),
    "minbucket": (_whole(1), "a whole number, at least 1"),
    "cp": (_share, "a number, at least 0"),
    "evidence": (_share, "a number, at least 0"),
    "depth": (_whole(1), "a whole number, at least 1"),
    "diversity": (_whole(1), "a whole number, at least 1"),
    "smoothing": (
        lambda v: v in SMOOTHING if isinstance(v, str) else _by_column(_one_of(*SMOOTHING))(v),
        f"{', '.join(SMOOTHING)}, or columns, each with one of them",
    ),
    "proper": (lambda v: isinstance(v, bool), "true or false"),
    "keep": (_names, "a list of columns"),
    "strata": (_names, "a list of columns"),
    "rules": (_or_none(_names), "a list of rules"),
    "spikes": (_by_column(_numbers), "columns, each with a list of numbers"),
    "passive": (_by_column(_text), "columns, each with an expression"),
    "nested": (_by_column(_text), "columns, each with the column it lies within"),
    "event": (_by_column(_text), "columns of times, each with its event column"),
    "weights": (_or_none(_text), "a column"),
    "weighting": (_one_of(*WEIGHTING), ", ".join(WEIGHTING)),
    "design_strata": (_or_none(_text), "a column"),
    "psu": (_or_none(_text), "a column"),
    "trees": (_whole(1), "a whole number, at least 1"),
    "alpha": (lambda v: _share(v) and 0 < v <= 1, "a number above 0 and at most 1"),
    "donors": (_whole(1), "a whole number, at least 1"),
    "ridge": (_share, "a number, at least 0"),
    "tuning": (_by_column(lambda v: isinstance(v, Mapping)), "columns, each with settings"),
    "threads": (_or_none(_whole(1)), "a whole number, at least 1"),
}
_NOT_BY_COLUMN = ("proper",)


def value_faults(options: Mapping[str, Any]) -> dict[str, list[str]]:
    """What is wrong with the value of each option, by option; an option without fault is not there.

    Examples
    --------
    >>> value_faults({"minbucket": 0, "depth": 3})
    {'minbucket': ['minbucket must be a whole number, at least 1']}
    """
    found: dict[str, list[str]] = {}
    for name, (accepts, words) in _ACCEPTS.items():
        if name in options and not accepts(options[name]):
            known = f" ({', '.join(sorted(METHODS))})" if name == "methods" else ""
            found[name] = [f"{name} must be {words}{known}"]
    tuning = options.get("tuning")
    if isinstance(tuning, Mapping) and "tuning" not in found:
        wrong = [fault for column, settings in tuning.items() for fault in _tuning_faults(column, settings)]
        if wrong:
            found["tuning"] = wrong
    return found


def _tuning_faults(column: str, settings: Mapping[str, Any]) -> list[str]:
    found = []
    for setting, value in settings.items():
        if setting not in Tuning.__dataclass_fields__ or setting in _NOT_BY_COLUMN:
            found.append(f"tuning of {column!r}: no setting {setting!r}")
        elif not _ACCEPTS[setting][0](value):
            found.append(f"tuning of {column!r}: {setting} must be {_ACCEPTS[setting][1]}")
    return found
