"""Structural rules of the population: what can never be, as text and as a Polars expression."""

from __future__ import annotations

import polars as pl

from dalenius.data.examples.codes import ARMED_FORCES_INDUSTRY, FEMALE_ONLY, MALE_ONLY
from dalenius.data.examples.population import REFERENCE_YEAR
from dalenius.data.examples.traits import EDUCATION, EDUCATION_AGE
from dalenius.data.examples.work import EARLIEST_RETIREMENT, LATEST_STUDY

_c = pl.col
_always = pl.lit(True)
_working = _c("employment").is_in(["employed", "self-employed"])
_child = _c("age") < 16

# Text of the rule: (when it applies, what must then hold).
_Rules = dict[str, tuple[pl.Expr, pl.Expr]]

_PEOPLE: _Rules = {
    f"age == {REFERENCE_YEAR} - year(birth_date)": (
        _always,
        _c("age") == REFERENCE_YEAR - _c("birth_date").dt.year(),
    ),
    "region == prefix(district, 2)": (_always, _c("region") == _c("district").str.head(2)),
    "district == prefix(municipality, 5)": (_always, _c("district") == _c("municipality").str.head(5)),
    "age < 18 -> marital == 'single'": (_c("age") < 18, _c("marital") == "single"),
    "age < 16 -> employment == 'child'": (_child, _c("employment") == "child"),
    "age >= 16 -> employment != 'child'": (~_child, _c("employment") != "child"),
    "age < 16 -> income == -8": (_child, _c("income") == -8),
    "age >= 16 -> income >= 0": (~_child, _c("income") >= 0),
    "age < 16 -> wealth == -8": (_child, _c("wealth") == -8),
    "age >= 16 -> wealth != -8": (~_child, _c("wealth") != -8),
    "age < 16 -> smoker == 'no'": (_child, _c("smoker") == "no"),
    "smoker == 'no' -> cigarettes == -8": (_c("smoker") == "no", _c("cigarettes") == -8),
    "smoker == 'yes' -> cigarettes >= 1": (_c("smoker") == "yes", _c("cigarettes") >= 1),
    "employment in ('employed', 'self-employed') -> hours >= 1": (_working, _c("hours") >= 1),
    "employment not in ('employed', 'self-employed') -> hours == -8": (~_working, _c("hours") == -8),
    "employment in ('employed', 'self-employed') -> occupation != '-8'": (_working, _c("occupation") != "-8"),
    "employment not in ('employed', 'self-employed') -> occupation == '-8'": (
        ~_working,
        _c("occupation") == "-8",
    ),
    "employment in ('employed', 'self-employed') -> industry != '-8'": (_working, _c("industry") != "-8"),
    "employment not in ('employed', 'self-employed') -> industry == '-8'": (
        ~_working,
        _c("industry") == "-8",
    ),
    f"prefix(occupation, 1) == '0' -> industry == '{ARMED_FORCES_INDUSTRY}'": (
        _c("occupation").str.head(1) == "0",
        _c("industry") == ARMED_FORCES_INDUSTRY,
    ),
    f"employment == 'retired' -> age >= {EARLIEST_RETIREMENT}": (
        _c("employment") == "retired",
        _c("age") >= EARLIEST_RETIREMENT,
    ),
    f"employment == 'student' -> age <= {LATEST_STUDY}": (
        _c("employment") == "student",
        _c("age") <= LATEST_STUDY,
    ),
    f"sex == 'male' -> diagnosis not in {FEMALE_ONLY}": (
        _c("sex") == "male",
        ~_c("diagnosis").is_in(FEMALE_ONLY),
    ),
    f"sex == 'female' -> diagnosis != '{MALE_ONLY[0]}'": (
        _c("sex") == "female",
        ~_c("diagnosis").is_in(MALE_ONLY),
    ),
} | {
    f"age < {age} -> education < '{level}'": (
        _c("age") < age,
        # Compared as ranks, so that the rule also reads plain text from a file.
        _c("education").cast(pl.Enum(EDUCATION)).to_physical() < rank,
    )
    for rank, (level, age) in enumerate(zip(EDUCATION, EDUCATION_AGE, strict=True))
    if rank > 0
}


def _one_value(name: str) -> tuple[pl.Expr, pl.Expr]:
    return _always, _c(name) == _c(name).first().over("household_id")


_HOUSEHOLDS: _Rules = {
    "age < 18 -> max(age) over household_id >= 18": (
        _c("age") < 18,
        _c("age").max().over("household_id") >= 18,
    ),
    "one municipality per household_id": _one_value("municipality"),
    "one longitude per household_id": _one_value("longitude"),
    "one latitude per household_id": _one_value("latitude"),
}

POPULATION_RULES: tuple[str, ...] = tuple(_PEOPLE)
"""Rules that every single row follows: ``condition`` or ``condition -> condition``."""

HOUSEHOLD_RULES: tuple[str, ...] = tuple(_HOUSEHOLDS)
"""Rules between the rows of a household; a sample of persons need not follow the first one."""


def violations(frame: pl.DataFrame, *, households: bool = False) -> dict[str, int]:
    """Count the rows of a frame that break each structural rule of the population.

    A rule that needs a missing value is not broken. Rules on columns that the frame does not have are
    left out of the answer.

    Parameters
    ----------
    frame
        People with the columns of :func:`population`, or some of them.
    households
        Count the rules between members of a household as well.

    Returns
    -------
    dict
        For each rule, as its text, the number of rows that break it.

    Examples
    --------
    >>> from dalenius.data.examples import population
    >>> people = population(500)
    >>> sum(violations(people).values())
    0
    >>> older = people.with_columns(age=people["age"] + 1)
    >>> violations(older)["age == 2024 - year(birth_date)"]
    500
    """
    rules = _PEOPLE | _HOUSEHOLDS if households else _PEOPLE
    broken = [
        (when & ~then).fill_null(False).sum().alias(text)
        for text, (when, then) in rules.items()
        if set((when & then).meta.root_names()) <= set(frame.columns)
    ]
    return (
        {text: int(count) for text, count in frame.select(broken).row(0, named=True).items()}
        if broken
        else {}
    )
