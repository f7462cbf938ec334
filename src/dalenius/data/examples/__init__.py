"""Example data with a known truth: a population, a survey of it, and companies, all invented.

Every function is deterministic (same n and seed, same frame), and ``docs/examples.md`` says how each column
depends on the others, which rules hold and what is missing.

Examples
--------
>>> from dalenius.data import examples
>>> examples.population(3).select("region", "sex", "age").shape
(3, 3)
"""

from dalenius.data.examples.codes import DIAGNOSES, INDUSTRIES, OCCUPATIONS
from dalenius.data.examples.columns import COMPANY_COLUMNS, POPULATION_COLUMNS
from dalenius.data.examples.companies import companies
from dalenius.data.examples.histories import histories
from dalenius.data.examples.labour import panel
from dalenius.data.examples.population import population, population_chunks
from dalenius.data.examples.registers import REGISTER_RULES, benefit_registers
from dalenius.data.examples.rules import HOUSEHOLD_RULES, POPULATION_RULES, violations
from dalenius.data.examples.schemas import population_schema, survey_schema
from dalenius.data.examples.survey import survey
from dalenius.data.examples.two_columns import DESIGNS, two_columns
from dalenius.data.examples.visits import visits

__all__ = [
    "COMPANY_COLUMNS",
    "DESIGNS",
    "DIAGNOSES",
    "HOUSEHOLD_RULES",
    "INDUSTRIES",
    "OCCUPATIONS",
    "POPULATION_COLUMNS",
    "POPULATION_RULES",
    "REGISTER_RULES",
    "benefit_registers",
    "companies",
    "histories",
    "panel",
    "population",
    "population_chunks",
    "population_schema",
    "survey",
    "survey_schema",
    "two_columns",
    "violations",
    "visits",
]
