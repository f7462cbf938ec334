"""The register: which statbarn a statistic belongs to, and what follows from it (Green, Ritchie and White 2024).

A statbarn is a group of statistics that share one class, one set of risks, one set of checks and one set of fixes. The
register is data (``register.yaml``); a name it does not know is for a person to look at, never a pass.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal

from ruamel.yaml import YAML

Class = Literal["unsafe", "safe", "open"]


@dataclass(frozen=True)
class Statbarn:
    """A group of statistics that are checked alike.

    Attributes
    ----------
    kind
        "unsafe": every output is inspected against the data; "safe": only its form is; "open": a person decides.
    risks, checks, fixes
        What may go wrong, what is looked at, what can be done about it.

    Examples
    --------
    >>> register().statbarns["d"].checks[:2]
    ('min_threshold', 'zero_cell')
    """

    id: str
    name: str
    kind: Class
    risks: tuple[str, ...]
    checks: tuple[str, ...]
    fixes: tuple[str, ...]
    members: tuple[str, ...]


@dataclass(frozen=True)
class Place:
    """Where a name was found: its statbarn, or None and the reason why a person must look.

    Examples
    --------
    >>> print(register().lookup("odds ratio"))
    odds ratio: Calculated odds and risk ratios (e), unsafe
    >>> print(register().lookup("horoscope"))
    horoscope: review; the register does not know this name
    """

    asked: str
    statbarn: Statbarn | None
    note: str = ""
    alternatives: tuple[str, ...] = ()
    rules: tuple[str, ...] = field(default=(), repr=False)

    def __str__(self) -> str:
        if self.statbarn is None:
            return f"{self.asked}: review; {self.note}"
        barn = self.statbarn
        return f"{self.asked}: {barn.name} ({barn.id}), {barn.kind}"


class Register:
    """All statbarns, found by the name of a statistic or one of its synonyms."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.statbarns: dict[str, Statbarn] = {}
        self.names: dict[str, str] = {}
        for one in data["statbarns"]:
            words = {key: tuple(one[key]) for key in ("risks", "checks", "fixes", "members")}
            self.statbarns[one["id"]] = Statbarn(one["id"], one["name"], one["class"], **words)
            self.names.update({spelled(name): one["id"] for name in (*one["members"], one["name"])})
        self.reviewed = {spelled(name): str(why) for name, why in data["review"].items()}
        self.rules = tuple((tuple(r["about"]), f"Rule {r['number']}: {r['text']}") for r in data["rules"])

    def lookup(self, name: str) -> Place:
        """The statbarn of a statistic.

        Examples
        --------
        >>> register().lookup("HerfindahlHirschmanIndex").statbarn.id, register().lookup("Max").statbarn.id
        ('k', 'c')
        >>> register().lookup("odds rato").alternatives
        ('odds ratio', 'odds ratios', 'odd ratios')
        """
        key = spelled(name)
        if key in self.reviewed:
            return Place(name, None, self.reviewed[key])
        barn = self.names.get(key)
        if barn is None:
            close = tuple(difflib.get_close_matches(key, self.names, n=3, cutoff=0.75))
            meant = f"; did you mean {' or '.join(repr(c) for c in close)}?" if close else ""
            return Place(name, None, f"the register does not know this name{meant}", close)
        told = tuple(text for about, text in self.rules if barn in about)
        return Place(name, self.statbarns[barn], rules=told)

    def search(self, words: str) -> list[tuple[str, Statbarn]]:
        """Names that contain all words, with their statbarns.

        Examples
        --------
        >>> [name for name, _ in register().search("odds ratio")][:2]
        ['odds ratio', 'odds ratios']
        """
        wanted = spelled(words).split()
        return [(n, self.statbarns[i]) for n, i in self.names.items() if all(w in n for w in wanted)]


def spelled(name: str) -> str:
    """A name in the register's spelling: lower case, words apart, no signs.

    Examples
    --------
    >>> spelled("Kolmogorov-SmirnovTest"), spelled("t-test")
    ('kolmogorov smirnov test', 't test')
    """
    apart = re.sub(
        r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])",
        " ",
        str(name).strip().replace("'", "").replace("’", ""),
    )
    return re.sub(r"[^a-z0-9]+", " ", apart.lower()).strip()


@cache
def register() -> Register:
    """The register that comes with Dalenius.

    Examples
    --------
    >>> len(register().statbarns), len(register().rules)
    (14, 6)
    """
    text = (Path(__file__).parent / "register.yaml").read_text(encoding="utf-8")
    return Register(YAML(typ="safe").load(text))
