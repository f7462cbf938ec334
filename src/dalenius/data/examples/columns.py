"""The documented truth about every column of the example data sets."""

from __future__ import annotations

from typing import Any

from dalenius.data.examples.codes import DIAGNOSES, INDUSTRIES, OCCUPATIONS
from dalenius.data.examples.companies import SIZE_CLASSES
from dalenius.data.examples.draw import NOT_APPLICABLE
from dalenius.data.examples.geography import geography
from dalenius.data.examples.households import MARITAL
from dalenius.data.examples.population import SEXES, YES_NO
from dalenius.data.examples.traits import EDUCATION, HEALTH, SATISFACTION
from dalenius.data.examples.work import EMPLOYMENT


def _column(kind: str, description: str, missing_rate: float = 0.0, **facts: Any) -> dict[str, Any]:
    """Describe a column; `facts` are any of levels, not_applicable, roles, parent, partner, decimals."""
    empty: dict[str, Any] = {"levels": None, "not_applicable": (), "roles": ()}
    return {"kind": kind, "description": description, "missing_rate": missing_rate} | empty | facts


_CODE = (NOT_APPLICABLE,)
_TEXT_CODE = (str(NOT_APPLICABLE),)
_KEY = ("key",)
_TARGET = ("target",)
_PLACES = {
    "region": _column("categorical", "region, 6 codes", levels=geography().regions, roles=_KEY),
    "district": _column(
        "categorical",
        "district in a region, 34 codes",
        levels=geography().districts,
        roles=_KEY,
        parent="region",
    ),
}
"""Where people and firms are: the same codes in every file."""

POPULATION_COLUMNS: dict[str, dict[str, Any]] = {
    "person_id": _column("integer", "household_id * 10 + number in the household", roles=("identifier",)),
    "household_id": _column("integer", "people who live together", roles=("household",)),
    **_PLACES,
    "municipality": _column(
        "categorical",
        "municipality in a district, 303 codes of very unequal size",
        levels=geography().municipalities,
        roles=_KEY,
        parent="district",
    ),
    "longitude": _column("point", "degrees east of the home", decimals=5, roles=_KEY, partner="latitude"),
    "latitude": _column("point", "degrees north of the home", decimals=5, roles=_KEY, partner="longitude"),
    "sex": _column("categorical", "sex", levels=SEXES, roles=_KEY),
    "age": _column("integer", "age in full years at the end of 2024", roles=_KEY, bounds=(0, 99)),
    "birth_date": _column("datetime", "day of birth", roles=_KEY, bounds=("1925-01-01", "2024-12-31")),
    "marital": _column("categorical", "marital status", levels=MARITAL, roles=_KEY),
    "education": _column("ordered", "highest education completed", 0.010, levels=EDUCATION, roles=_KEY),
    "occupation": _column(
        "categorical",
        "occupation, 4 nested digits with leading zeros",
        0.009,
        levels=OCCUPATIONS,
        not_applicable=_TEXT_CODE,
        roles=_KEY,
    ),
    "industry": _column(
        "categorical", "industry, letter and 2 digits", 0.006, levels=INDUSTRIES, not_applicable=_TEXT_CODE
    ),
    "employment": _column("categorical", "employment status", levels=EMPLOYMENT, roles=_KEY),
    "income": _column("integer", "income of the year", 0.073, not_applicable=_CODE, roles=_TARGET),
    "wealth": _column("integer", "net wealth in whole hundreds", 0.095, not_applicable=_CODE, roles=_TARGET),
    "hours": _column("integer", "usual hours of work in a week", 0.012, not_applicable=_CODE),
    "health": _column("ordered", "self-rated health", 0.010, levels=HEALTH, roles=_TARGET),
    "smoker": _column("boolean", "smokes", 0.010, levels=YES_NO),
    "cigarettes": _column("integer", "cigarettes in a day", 0.017, not_applicable=_CODE),
    "bmi": _column("continuous", "body mass index", 0.094, decimals=1),
    "diagnosis": _column("categorical", "main diagnosis, 'none' for most", levels=DIAGNOSES, roles=_TARGET),
    "life_satisfaction": _column("ordered", "satisfaction with life", 0.037, levels=SATISFACTION),
    "visits": _column("integer", "visits to a doctor in the year", 0.015),
}
"""For each column of the population: kind, description, missing_rate, levels in order, not_applicable, roles.

Further facts where there are any: bounds, decimals, parent (the column this one is nested in) and partner
(the other coordinate of a point).
"""

COMPANY_COLUMNS: dict[str, dict[str, Any]] = {
    "firm_id": _column("integer", "firm", roles=("identifier",)),
    "holding": _column("text", "owner of several firms; null for the independent", 0.91, roles=("entity",)),
    "industry": _column("categorical", "industry, letter and 2 digits", levels=INDUSTRIES, roles=_KEY),
    **_PLACES,
    "size_class": _column("ordered", "class of employees", levels=SIZE_CLASSES, roles=_KEY),
    "employees": _column("integer", "employees, 0 where the owner works alone"),
    "turnover": _column("integer", "turnover of the year in thousands", roles=_TARGET),
    "investment": _column("integer", "investment in thousands, often zero", roles=_TARGET),
    "exports": _column("integer", "exports in thousands, a few negative corrections", roles=_TARGET),
    "weight": _column("continuous", "firms that the firm stands for", roles=("weight",)),
}
"""The same for each column of the companies."""
