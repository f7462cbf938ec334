"""Registries: methods and measures are found by name, with what a steward must know about each.

A new method is one file with one decorated class or function; the command line, the report and the common test
batteries find it here.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, Literal, Protocol, TypeVar

from dalenius.core import plugins
from dalenius.core.errors import OptionError

Better = Literal["lower", "higher", "centre"]
Family = Literal["risk", "utility"]
Subject = Literal["pair", "published", "model", "fit"]
Dimension = Literal["copying", "attribution", "singling out", "membership"]
"""What a risk figure is about: rows that come out again, secrets read off, people found, the fact of taking part."""


@dataclass(frozen=True)
class MethodInfo:
    """What a steward must know about a synthesizer or masker before choosing it.

    ``meaning`` says what it does to somebody trained, ``plain`` to anybody; ``guarantee`` says what is promised ("none"
    is an answer), ``promise`` the same to people who get a file; ``kinds`` are the column kinds it takes;
    ``max_columns`` is where it stops being sensible. ``copies_rows`` and ``keeps_joint`` tell the report, and the
    common checks, what to expect: whole original rows come out, or the dependence between columns is modelled.
    ``masks`` is true where the rows of the file are those of the original, changed: each is somebody's, and risk is
    read through the mask (`Lens`). ``seedable`` is false where fresh noise is part of the guarantee, so that the same
    seed gives other rows.
    ``example_options`` are what the method needs to be shown on example data (demo, common checks). ``packages`` are
    what it needs beyond the base installation; such a method takes minutes and is made where it is asked for by name.

    Examples
    --------
    >>> MethodInfo("shuffle", "Shuffle", "Permutes a column.", guarantee="none", reference="folklore").copies_rows
    False
    """

    name: str
    title: str
    meaning: str
    guarantee: str
    reference: str
    plain: str = ""
    promise: str = "The method itself promises nothing; how safe the file is was measured."
    kinds: tuple[str, ...] = ()
    copies_rows: bool = False
    keeps_joint: bool = True
    masks: bool = False
    max_columns: int | None = None
    seedable: bool = True
    example_options: Mapping[str, Any] = field(default_factory=dict)
    packages: tuple[str, ...] = ()

    @property
    def installed(self) -> bool:
        """Whether the packages it needs are there."""
        return all(importlib.util.find_spec(package) is not None for package in self.packages)


@dataclass(frozen=True)
class MeasureInfo:
    """What a reader must know about a figure: its meaning, its range and which way is better.

    ``better`` is "lower", "higher", or "centre" for a figure that is best at ``centre`` and worse on both sides of it.
    ``dimension`` is what a risk figure is about: a verdict needs one of each. ``covered`` is true where the range of a
    risk figure has been seen to hold its mean about 95 times in 100 with people and file drawn again (the bench
    ``risk_coverage``); other ranges are not called intervals. ``added_covered`` is true where that holds of what is
    added, or it is held more often still, as ranges of rare events must be. ``compares`` is false for a risk figure
    that nobody outside the data stands beside. ``needs`` names what the pair must have
    ("keys", "targets", "holdout", "households", "identifiers", "rules", "links" of a mask); ``default`` says whether
    ``evaluate`` runs it unasked. ``reads`` is "counts" for a figure made of the pair's counts alone: files larger than
    memory have it from all rows; one that reads "rows" has it from a sample of them. ``subject`` is what it looks at:
    a pair of files, what is published, a fitted model, or a private fit. ``weighs`` is true for a figure of utility
    whose rows count with the weights of a survey; of others the result says that they do not.

    The common checks ask four more facts: ``sees_spread`` is false for figures that only look whether values are
    allowed, which a file of one repeated row passes; ``sees_dependence`` is false for figures that look at one column
    at a time and cannot notice shuffled columns; ``sees_copy`` is false for figures about one file alone, which
    cannot tell a copy of the original from a fresh sample; ``random`` is true where an attack draws at random, so
    that reordering rows moves the figure a little.

    Examples
    --------
    >>> info = MeasureInfo("x", "X", "utility", "…", better="centre", centre=0.5, bounds=(0, 1), reference="…")
    >>> info.best, info.shortfall(0.25)
    ('0.5 is best', 0.25)
    """

    name: str
    title: str
    family: Family
    meaning: str
    better: Better
    bounds: tuple[float, float]
    reference: str
    unit: str = ""
    needs: frozenset[str] = frozenset()
    default: bool = True
    sees_spread: bool = True
    sees_dependence: bool = True
    sees_copy: bool = True
    random: bool = False
    dimension: Dimension | None = None
    centre: float | None = None
    covered: bool = False
    reads: Literal["counts", "rows"] = "rows"
    subject: Subject = "pair"
    added_covered: bool = False
    compares: bool = True
    weighs: bool = False

    def __post_init__(self) -> None:
        if (self.better == "centre") != (self.centre is not None):
            raise OptionError(f"measure {self.name!r}: a centre belongs to better='centre', and only there")

    @property
    def best(self) -> str:
        """Which way is better, in words."""
        return f"{self.better} is better" if self.centre is None else f"{self.centre:g} is best"

    def shortfall(self, value: float) -> float:
        """A figure turned so that smaller is better, whichever way the measure points: what rankings compare."""
        if self.centre is not None:
            return abs(value - self.centre)
        return value if self.better == "lower" else -value

    @property
    def axis(self) -> tuple[str, Literal["lower", "higher"]]:
        """Title and better way of an axis that shows the figure; around a centre it shows the distance."""
        if self.better == "centre":
            return f"{self.title}, distance from {self.centre:g}", "lower"
        return self.title, self.better

    def on_axis(self, value: float) -> float:
        """Where a figure is on its axis."""
        return value if self.centre is None else self.shortfall(value)


class _Registered(Protocol):
    @property
    def info(self) -> MethodInfo | MeasureInfo: ...


T = TypeVar("T", bound=_Registered)


class Registry(Generic[T]):
    """Things by name, in the order they were registered.

    Examples
    --------
    >>> import dalenius.utility
    >>> from dalenius.counts.measure import MEASURES
    >>> MEASURES["two-way-utilty"]
    Traceback (most recent call last):
    ...
    dalenius.core.errors.OptionError: unknown measure 'two-way-utilty'; did you mean 'two-way-utility'?
    """

    def __init__(self, noun: str, group: plugins.Group | None = None, rooms: Sequence[str] = ()) -> None:
        self.noun = noun
        self._rooms = list(rooms)
        self._items: dict[str, T] = {}
        self._waiting = group

    @property
    def _all(self) -> dict[str, T]:
        """What is registered; the first look brings in what higher rooms and other packages offer."""
        rooms, self._rooms = self._rooms, []
        for room in rooms:
            importlib.import_module(room)
        group, self._waiting = self._waiting, None
        for entry, item in plugins.loaded(group) if group else ():
            if item not in self._items.values():  # most have registered themselves while they were loaded
                plugins.attempt(entry, partial(self.add, item))
        return self._items

    def add(self, item: T) -> T:
        """Register ``item`` under its name; a name is taken once, but its own file may be loaded again."""
        name = item.info.name
        if name in self._items and home(self._items[name]) != home(item):
            raise OptionError(f"{self.noun} {name!r} is registered twice; give one of them another name")
        self._items[name] = item
        return item

    def remove(self, name: str) -> None:
        """Forget a name: for a trial in a notebook that should leave no trace."""
        self._items.pop(name, None)

    def __getitem__(self, name: str) -> T:
        if name in self._all:
            return self._all[name]
        close = difflib.get_close_matches(name, self._all, n=1)
        some = ", ".join(list(self._all)[:8]) + (" …" if len(self._all) > 8 else "")
        hint = f"did you mean {close[0]!r}?" if close else f"there are: {some} ('dalenius methods' lists all)"
        raise OptionError(f"unknown {self.noun} {name!r}; {hint}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._all)

    def __contains__(self, name: object) -> bool:
        return name in self._all

    def __len__(self) -> int:
        return len(self._all)

    def values(self) -> list[T]:
        """All registered things, in order."""
        return list(self._all.values())


def home(item: Any) -> tuple[str, str]:
    """File and name of what is registered: a test runner may load one file under two module names.

    Examples
    --------
    >>> home(Registry)[1]
    'Registry'
    """
    thing = inspect.unwrap(item)
    if not (inspect.isroutine(thing) or inspect.isclass(thing)):
        return "", str(id(thing))
    try:
        return inspect.getfile(thing), thing.__qualname__
    except (OSError, TypeError):  # typed into a session
        return thing.__module__, thing.__qualname__
