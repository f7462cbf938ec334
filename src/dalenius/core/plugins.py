"""Plugins: packages outside that add methods, masking steps, measures, rules, readers and commands by entry points.

A package says in its ``pyproject.toml`` what it offers::

    [project.entry-points."dalenius.measures"]
    my-measure = "my_package.measure:my_measure"

Nothing is loaded before somebody asks for what the group holds. A plugin that fails is named in one warning and left
out; it cannot take the rest down.
"""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

Group = Literal["methods", "steps", "measures", "rules", "readers", "commands"]


class PluginWarning(UserWarning):
    """A plugin could not be loaded."""


def offered(group: Group) -> list[EntryPoint]:
    """What installed packages offer in one group, by name.

    Examples
    --------
    >>> [entry.name for entry in offered("measures")]
    []
    """
    return sorted(entry_points(group=f"dalenius.{group}"), key=lambda entry: entry.name)


def package(entry: EntryPoint) -> str:
    """The distribution an entry point belongs to, with its version.

    Examples
    --------
    >>> package(EntryPoint("mine", "mine:thing", "dalenius.measures"))
    'mine'
    """
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.module.partition(".")[0]


def load(entry: EntryPoint) -> Any:
    """The thing itself, or None with a warning that names the package.

    Examples
    --------
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     print(load(EntryPoint("mine", "no_such_package:thing", "dalenius.measures")))
    None
    >>> print(told[0].message)
    plugin 'mine' of no_such_package is left out: ModuleNotFoundError: No module named 'no_such_package'
    """
    return attempt(entry, entry.load)


def attempt(entry: EntryPoint, what: Callable[[], Any]) -> Any:
    """Do something with a plugin; if that fails, say whose it is and go on."""
    try:
        return what()
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        leave_out(entry, f"{type(error).__name__}: {reason}")
        return None


def leave_out(entry: EntryPoint, reason: str) -> None:
    """Say that a plugin is left out, whose it is, and why."""
    text = f"plugin {entry.name!r} of {package(entry)} is left out: {reason}"
    warnings.warn(text, PluginWarning, stacklevel=4)


def loaded(group: Group) -> Iterator[tuple[EntryPoint, Any]]:
    """Every plugin of a group that loads."""
    for entry in offered(group):
        thing = load(entry)
        if thing is not None:
            yield entry, thing


def import_all(room: str, path: Iterable[str]) -> None:
    """Import every file of a room, so that what registers itself there is found without a list of names.

    Examples
    --------
    >>> import dalenius.counts
    >>> import_all("dalenius.counts", dalenius.counts.__path__)
    """
    for module in pkgutil.walk_packages(path, f"{room}."):
        importlib.import_module(module.name)
