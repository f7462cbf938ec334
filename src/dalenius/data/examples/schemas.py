"""Schemas of the example data: what a steward would have written down about them."""

from __future__ import annotations

from typing import Any

from dalenius.data.examples.columns import POPULATION_COLUMNS
from dalenius.data.examples.rules import POPULATION_RULES
from dalenius.data.schema import Column, Kind, Role, Schema


def population_schema() -> Schema:
    """Schema of `population`, domains declared public and all rules included.

    Examples
    --------
    >>> population_schema()["income"].not_applicable
    (-8,)
    """
    columns = tuple(_column(name, facts) for name, facts in POPULATION_COLUMNS.items())
    return Schema(columns, tuple(POPULATION_RULES), title="Example population")


def survey_schema() -> Schema:
    """Schema of `survey`: the population's columns, the stratum and the weight.

    Examples
    --------
    >>> survey_schema().by_role("weight")
    ['weight']
    """
    whole = population_schema()
    design = (
        Column("stratum", Kind.CATEGORICAL, (Role.STRATUM,), label="sampling stratum, region by age band"),
        Column("weight", Kind.CONTINUOUS, (Role.WEIGHT,), label="inverse of the chance to be in the sample"),
    )
    return Schema((*whole.columns, *design), whole.rules, title="Example survey")


def _column(name: str, facts: dict[str, Any]) -> Column:
    known = "levels" if facts.get("levels") else ("bounds" if facts.get("bounds") else None)
    return Column(
        name,
        Kind(facts["kind"]),
        tuple(Role(role) for role in facts["roles"]),
        levels=tuple(facts["levels"]) if known == "levels" else None,
        bounds=facts["bounds"] if known == "bounds" else None,
        domain="declared" if known else "from-data",
        not_applicable=tuple(facts["not_applicable"]),
        decimals=facts.get("decimals"),
        parent=facts.get("parent"),
        partner=facts.get("partner"),
        label=facts["description"],
    )
