"""A private fit as typed on the page: what is fitted on what, what is public about it, and what it may cost."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from dalenius.core.errors import OptionError, names
from dalenius.data.schema import Column, Kind, Level, Schema

MOST_FITS, MOST_TAUS, LONGEST = 6, 9, 20_000
FAMILIES = {
    "dp-quantile": "quantiles of a number (0.5 is the median)",
    "dp-linear": "the mean of a number",
    "dp-logit": "the chance of a yes",
}
_RANGE = re.compile(r"^\s*(-?\d+(?:\.\d+)?)\s*(?:to|–|\.\.)\s*(-?\d+(?:\.\d+)?)\s*$")


@dataclass
class FitForm:
    r"""What was typed.

    Examples
    --------
    >>> schema = Schema((Column("pay", Kind.INTEGER), Column("sex", Kind.CATEGORICAL, levels=("f",))))
    >>> form = FitForm("dp-quantile", "pay", ["sex"], public="pay: 0 to 100\nsex: f, m")
    >>> made = form.schema(schema)
    >>> made["pay"].bounds, made["sex"].levels, made["sex"].domain, form.formula
    ((0, 100), ('f', 'm'), 'declared', 'pay ~ sex')
    """

    family: str = "dp-quantile"
    response: str = ""
    predictors: list[str] = field(default_factory=list)
    taus: str = "0.5"
    epsilons: str = "1, 2, 4"
    public: str = ""
    budget: str = ""
    contribution: str = ""
    title: str = ""

    @classmethod
    def from_form(cls, form: Any) -> FitForm:
        """Read a sent form."""
        words = {
            name: str(form.get(name, "")).strip()[:LONGEST]
            for name in (
                "family",
                "response",
                "taus",
                "epsilons",
                "public",
                "budget",
                "contribution",
                "title",
            )
        }
        return cls(**words, predictors=[str(name) for name in form.getlist("predictor")][:50])

    @classmethod
    def of(cls, schema: Schema) -> FitForm:
        """A new form: what the schema declares is public; of everything else nothing is guessed from the data."""
        told = [_line(column) for column in schema if column.domain == "declared"]
        return cls(public="\n".join(line for line in told if line))

    @property
    def formula(self) -> str:
        """Response and predictors as one line."""
        return f"{self.response} ~ {' + '.join(self.predictors)}"

    @property
    def total(self) -> float | None:
        """The budget of the whole data set, where one was typed."""
        return _numbers("the budget of the data set", self.budget, 1)[0] if self.budget else None

    @property
    def most(self) -> int | None:
        """Most records of one unit."""
        if not self.contribution:
            return None
        if not self.contribution.isdigit() or not 0 < int(self.contribution) < 10**6:
            raise OptionError("the most records of one person is a whole number from 1")
        return int(self.contribution)

    def plan(self) -> dict[str, Any]:
        """Candidates and policy of the plan; every fault is told."""
        if self.family not in FAMILIES:
            raise OptionError("choose what is fitted")
        if not self.response or not self.predictors:
            raise OptionError("choose what is fitted, and mark at least one column that it depends on")
        if self.response in self.predictors:
            raise OptionError(f"column {self.response!r} is fitted and cannot explain itself; unmark it")
        epsilons = _numbers("ε", self.epsilons, MOST_FITS)
        if any(not 0 < value <= 1000 for value in epsilons) or len(set(epsilons)) < len(epsilons):
            raise OptionError("each ε is a number above 0, and stands there once: 1, 2, 4")
        options: dict[str, Any] = {"epsilon": epsilons}
        if self.family == "dp-quantile":
            options["taus"] = _numbers("quantiles", self.taus, MOST_TAUS)
        # a list of one would name the candidate without its ε
        body = {f"ε = {value:g}": {**options, "epsilon": value, "fit": self.family} for value in epsilons}
        return {"candidates": body, "policy": [f"fit-epsilon <= {max(epsilons):g}"]}

    def schema(self, known: Schema) -> Schema:
        """The schema with what was typed as public; columns of the fit about which nothing is public are an error."""
        changed = {}
        for line in self.public.splitlines():
            if not line.strip():
                continue
            name = next(
                (n for n in sorted(known.names, key=len, reverse=True) if line.strip().startswith(f"{n}:")),
                None,
            )
            if name is None:
                raise OptionError(f"{line.strip()[:60]!r}: write COLUMN: 0 to 100, or COLUMN: first, second")
            changed[name] = _declared(known[name], line.strip()[len(name) + 1 :])
        made = known.replace_columns(*changed.values())
        unknown = [n for n in (self.response, *self.predictors) if n not in made]
        if unknown:
            raise OptionError("choose columns of the file")
        open_ones = [n for n in (self.response, *self.predictors) if made[n].domain != "declared"]
        if open_ones:
            raise OptionError(
                f"column {names(open_ones, len(open_ones))}: say what is public about it, in a line such as "
                "'age: 0 to 100' or 'sex: female, male'; nothing is read off the data"
            )
        return made

    def text(self) -> str:
        """Kept as plain data."""
        return json.dumps(asdict(self))


def _line(column: Column) -> str:
    if column.bounds is not None:
        return f"{column.name}: {column.bounds[0]} to {column.bounds[1]}"
    return f"{column.name}: {', '.join(map(str, column.levels))}" if column.levels else ""


def _declared(column: Column, text: str) -> Column:
    if column.kind.is_number:
        found = _RANGE.match(text)
        if found is None or column.kind is Kind.DATETIME:
            raise OptionError(f"column {column.name!r} is a number: write '{column.name}: 0 to 100'")
        low, high = (_number(found[n]) for n in (1, 2))
        if not low < high:
            raise OptionError(f"column {column.name!r}: the first bound must be below the second")
        return replace(column, bounds=(low, high), domain="declared", note="")
    if column.kind is Kind.TEXT:
        raise OptionError(f"column {column.name!r} is free text, which cannot be fitted; leave it out")
    typed: dict[str, Level] = {str(level): level for level in column.levels or ()}
    levels = [part.strip() for part in text.split(",") if part.strip()]
    if column.kind is Kind.BOOLEAN:
        return replace(column, domain="declared", note="")
    if len(levels) < 2 or len(set(levels)) < len(levels):
        raise OptionError(f"column {column.name!r}: list at least two different codes, with commas")
    return replace(column, levels=tuple(typed.get(x, x) for x in levels), domain="declared", note="")


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)


def _numbers(what: str, text: str, most: int) -> Sequence[float]:
    parts = [part.strip() for part in text.split(",") if part.strip()]
    try:
        found = [float(part) for part in parts]
    except ValueError:
        raise OptionError(f"{what}: numbers, separated by commas") from None
    if not 0 < len(found) <= most or not all(abs(value) < 1e9 for value in found):
        raise OptionError(f"{what}: 1 to {most} numbers, separated by commas")
    return found
