"""The recipe on the set-up page: what is to become of each column, and hierarchies of the keys, as they were typed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dalenius.core.errors import OptionError

WAYS = {
    "": "stays as it is",
    "width": "numbers in groups so wide",
    "round": "numbers rounded to multiples of",
    "limit-values": "numbers above a limit set to it",
    "groups": "categories merged into groups",
    "coarsen-date": "dates as month, quarter, year or decade",
    "collapse": "one value for everybody",
    "drop-column": "dropped",
}
"""What can become of a column, in words."""
MOST = 4000
"""Letters that are read of one field."""


@dataclass
class RecipeForm:
    """A recipe as typed.

    Attributes
    ----------
    ways
        For each column what is to become of it, and the value typed beside it.
    levels
        For each key its levels, for the search: widths with commas, or groups as lines ``North: N1, N2``.
    k, limit
        Fewest records that look alike on the keys (empty: no search), and per cent of them that may be suppressed.

    Examples
    --------
    >>> form = RecipeForm(True, {"age": ("width", "10"), "job": ("groups", "law: judge, clerk")}, k="")
    >>> [step["do"] for step in form.steps(["age", "job"])]
    ['recode', 'recode']
    """

    on: bool = False
    ways: dict[str, tuple[str, str]] = field(default_factory=dict)
    levels: dict[str, str] = field(default_factory=dict)
    k: str = "3"
    limit: str = "5"

    @classmethod
    def from_form(cls, form: Any, columns: Sequence[str]) -> RecipeForm:
        """Read a sent form; columns are named by number."""
        ways, levels = {}, {}
        for n, name in enumerate(columns):
            way, value = str(form.get(f"r-{n}-way", "")), str(form.get(f"r-{n}-value", ""))[:MOST]
            typed = str(form.get(f"r-{n}-levels", "")).strip()[:MOST]
            if way in WAYS and way:
                ways[name] = (way, value.strip())
            if typed:
                levels[name] = typed
        k, limit = (str(form.get(f"r-{part}", usual)).strip() for part, usual in (("k", "3"), ("limit", "5")))
        return cls(form.get("r-on") is not None, ways, levels, k, limit)

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> RecipeForm:
        """Read back plain data."""
        return cls(**{**facts, "ways": {name: (w[0], w[1]) for name, w in facts["ways"].items()}})

    def steps(self, keys: Sequence[str]) -> list[dict[str, Any]]:
        """The steps of the recipe; every fault of what was typed is told at once."""
        made: list[dict[str, Any]] = []
        wrong: list[str] = []
        for name, (way, value) in self.ways.items():
            try:
                made.append(_step(name, way, value))
            except OptionError as error:
                wrong += error.faults
        if self.k:
            levels: dict[str, Any] = {}
            for name, text in self.levels.items():
                if name not in keys:
                    wrong.append(f"levels of {name}: it is no key of the first intruder")
                elif name not in self.ways:
                    levels[name] = read_levels(text)
            made.append(
                {
                    "do": "generalise", "keys": list(keys), "levels": levels, "k": int(_number(self.k, "k", wrong)),
                    "limit": _number(self.limit or "0", "suppressed records", wrong) / 100,
                }
            )  # fmt: skip
        if not made:
            wrong.append(
                "say what is to become of at least one column, or how many records are to look alike"
            )
        if wrong:
            raise OptionError.from_faults("recipe", wrong)
        return made


def _step(name: str, way: str, value: str) -> dict[str, Any]:
    if way in ("collapse", "drop-column"):
        return {"do": way, "column": name}
    if not value:
        raise OptionError(f"{name}: type a value beside '{WAYS[way]}'")
    if way == "groups":
        groups = {code: group for group, codes in read_groups(value).items() for code in codes}
        return {"do": "recode", "column": name, "groups": groups}
    if way == "coarsen-date":
        return {"do": way, "column": name, "to": value}
    wrong: list[str] = []
    number = _number(value, name, wrong)
    if wrong:
        raise OptionError(wrong[0])
    option = {"width": "width", "round": "base", "limit-values": "high"}[way]
    return {"do": "recode" if way == "width" else way, "column": name, option: number}


def read_levels(text: str) -> Any:
    r"""Levels as typed: numbers with commas are widths, words parts of a date, lines ``group: a, b`` a hierarchy.

    Examples
    --------
    >>> read_levels("5, 10, 20"), read_levels("North: N1, N2\nSouth: S1")
    ([5.0, 10.0, 20.0, 'all'], {'North': ['N1', 'N2'], 'South': ['S1']})
    """
    if ":" in text:
        return read_groups(text)
    parts = [part.strip() for part in text.replace("\n", ",").split(",") if part.strip()]
    made: list[Any] = []
    for part in parts:
        try:
            made.append(float(part))
        except ValueError:
            made.append(part)
    return made if made and made[-1] == "all" else [*made, "all"]


def read_groups(text: str) -> dict[str, list[str]]:
    """Groups as typed, one a line: ``North: Oslo, Bergen``.

    Examples
    --------
    >>> read_groups("North: Oslo, Bergen")
    {'North': ['Oslo', 'Bergen']}
    """
    found: dict[str, list[str]] = {}
    for line in text.replace(";", "\n").splitlines():
        group, _, codes = line.partition(":")
        if group.strip():
            found[group.strip()] = [code.strip() for code in codes.split(",") if code.strip()]
    return found


def _number(text: str, what: str, wrong: list[str]) -> float:
    try:
        return float(text)
    except ValueError:
        wrong.append(f"{what}: type a number")
        return 1.0
