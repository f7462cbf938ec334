"""Maskers that must be told which columns to change, on the set-up page: options as the command line has them."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dalenius.core.errors import OptionError
from dalenius.core.option import declared, parse
from dalenius.data.exit import releasable
from dalenius.data.places import place_columns
from dalenius.data.schema import Kind, Role
from dalenius.data.table import Table
from dalenius.release.template import fitting_methods
from dalenius.synth import METHODS
from dalenius.web.recipe_form import MOST, WAYS

RECODINGS = {"recipe", "recode", *WAYS}
"""What the recipe of the page does already."""
NUMBERS = 4
"""Columns that are suggested at most."""


@dataclass
class SystemsForm:
    """Which maskers are tried, and their options as typed.

    Examples
    --------
    >>> SystemsForm(["spectral"], {"spectral": "variables=income,hours"}).candidates()
    {'spectral': {'method': 'spectral', 'variables': ['income', 'hours']}}
    """

    on: list[str] = field(default_factory=list)
    typed: dict[str, str] = field(default_factory=dict)

    @classmethod
    def from_form(cls, form: Any) -> SystemsForm:
        """Read a sent form."""
        known = [kind.info.name for kind in METHODS.values() if kind.info.masks]
        typed = {name: str(form.get(f"m-{name}-options", "")).strip()[:MOST] for name in known}
        return cls([name for name in known if form.get(f"m-{name}-on") is not None],
                   {name: text for name, text in typed.items() if text})  # fmt: skip

    @classmethod
    def from_dict(cls, facts: Mapping[str, Any]) -> SystemsForm:
        """Read back plain data."""
        return cls(**facts)

    def candidates(self) -> dict[str, dict[str, Any]]:
        """Options by masker; every fault of what was typed is told at once."""
        made: dict[str, dict[str, Any]] = {}
        wrong: list[str] = []
        for name in self.on:
            try:
                said = shlex.split(self.typed.get(name, ""))
                made[name] = {"method": name, **parse(said, {name: METHODS[name]}).get(name, {})}
            except (OptionError, ValueError) as error:
                told = error.faults if isinstance(error, OptionError) else ["a quotation mark is not closed"]
                wrong += [f"{METHODS[name].info.title}: {fault}" for fault in told]
        if wrong:
            raise OptionError.from_faults("options", wrong)
        return made


def system_facts(table: Table, chosen: SystemsForm, keys: Sequence[str]) -> list[dict[str, Any]]:
    """What the page shows of each masker: words, options to choose from, and a first guess of them."""
    fitting = set(fitting_methods(table))
    return [
        {
            "info": kind.info,
            "on": kind.info.name in chosen.on,
            "typed": chosen.typed.get(kind.info.name, suggested(table, kind.info.name, keys)),
            "options": [(each.name, each.option.meaning) for each in declared(kind).values() if each.option.meaning],
        }
        for kind in METHODS.values()
        if kind.info.masks and kind.info.name not in RECODINGS | fitting and _has_place(table, kind.info.name)
    ]  # fmt: skip


def _has_place(table: Table, name: str) -> bool:
    """Points and households are there where a masker moves them."""
    if name in ("donut", "grid"):
        return all(place_columns(table.schema))
    return name != "swap-households" or bool(table.schema.by_role(Role.HOUSEHOLD))


def suggested(table: Table, name: str, keys: Sequence[str]) -> str:
    """First options of a masker: the columns of the kind that it changes.

    Examples
    --------
    >>> suggested(Table.from_frame({"pay": [1.5, 2.5, 4.5] * 6, "sex": ["f", "m"] * 9}), "spectral", ["sex"])
    'variables=pay'
    """
    known = declared(METHODS[name])
    held = releasable(table)
    numbers = [
        n for n, v in held.vectors.items()
        if v.column.kind in (Kind.INTEGER, Kind.CONTINUOUS) and v.present.all() and len(np.unique(v.values)) > 2
        and n not in keys and not v.column.has(Role.WEIGHT)
    ]  # fmt: skip
    if name == "average-series":
        numbers = [n for n in numbers if held[n].values.min(initial=0) >= 0]
    words = [n for n in keys if n in held and not held[n].is_number]
    if name == "robin-hood" and words:
        return f"keys={','.join(map(shlex.quote, words))} fairness={shlex.quote(words[-1])}"
    columns = words if name in ("pram", "random-response") else list(keys) if name == "safepub" else numbers
    columns = [shlex.quote(n) for n in columns[:NUMBERS]]
    for option in ("variables", "columns", "column"):
        if option in known and columns:
            return f"{option}={columns[0] if option == 'column' else ','.join(columns)}"
    return ""
