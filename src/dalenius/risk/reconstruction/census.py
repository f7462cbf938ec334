"""The tables a census prints for blocks and tracts, as questions: a preset of `Workload`.

The tables are those of the 2010 census (Summary File 1) that Dick et al. (2023) rebuild people from: P tables for every
block, PCT tables for every tract. A race is a set of one to six groups, written with their letters: ``W`` alone, ``WB``
in combination.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from dalenius.core.errors import DataError, OptionError, names, no_column
from dalenius.data.table import Table
from dalenius.published.reading import texts
from dalenius.risk.reconstruction.workload import Workload, encoded

GROUPS = "WBIAPO"
"""White, Black, American Indian and Alaska Native, Asian, Native Hawaiian and Pacific Islander, some other race."""
RACES = tuple("".join(chosen) for size in range(1, 7) for chosen in combinations(GROUPS, size))
OLDEST = 115
BANDS = (0, 5, 10, 15, 18, 20, 21, 22, 25, 30, 35, 40, 45, 50, 55, 60, 62, 65, 67, 70, 75, 80, 85)
"""First ages of the 23 bands of P12."""
YEARS = (*range(100), 100, 105, 110)
"""First ages of the 103 groups of PCT12."""
BLOCK_TABLES = ("P1", "P6", "P7", "P9", "P11", "P12", *(f"P12{letter}" for letter in "ABCDEFGHI"))
TRACT_TABLES = ("PCT12", *(f"PCT12{letter}" for letter in "ABCDEFGHIJKLMN"))
TABLES = (*BLOCK_TABLES, *TRACT_TABLES)
Question = dict[str, Sequence[str]]


def _ages(starts: Sequence[int]) -> list[Question]:
    ends = [*starts[1:], OLDEST + 1]
    return [{"age": [str(year) for year in range(a, b)]} for a, b in zip(starts, ends, strict=True)]


def _alone(group: str) -> Question:
    return {"race": [group]}


def _several(least: int = 2, most: int = 6) -> Question:
    return {"race": [race for race in RACES if least <= len(race) <= most]}


def _within() -> list[Question]:
    return [{"race": [race for race in RACES if group in race]} for group in GROUPS]


def _detail() -> list[Question]:
    """P9: everybody, Hispanic people, and of the others one race or several, each race and each combination."""
    found: list[Question] = [_several(1, 1), *map(_alone, GROUPS), _several()]
    for size in range(2, 7):
        found += [_several(size, size), *(_alone(race) for race in RACES if len(race) == size)]
    return [{}, {"hispanic": ["yes"]}, {"hispanic": ["no"]}, *({**q, "hispanic": ["no"]} for q in found)]


def _people(letter: str) -> Question:
    """Of whom a table with a letter speaks."""
    if letter == "H":
        return {"hispanic": ["yes"]}
    if letter == "G":
        return _several()
    if letter in "ABCDEF":
        return _alone(GROUPS["ABCDEF".index(letter)])
    return {**_alone(GROUPS["IJKLMN".index(letter)]), "hispanic": ["no"]}


def _by_sex(starts: Sequence[int], only: Question, as_coded: bool = False) -> list[Question]:
    sexes = ["male", "male" if as_coded else "female"]
    return [only] + [{**only, "sex": [sex], **band} for sex in sexes for band in ({}, *_ages(starts))]


def cells_of(table: str, as_coded: bool = False) -> list[Question]:
    """The cells of one table, as what each counts by column.

    Examples
    --------
    >>> [len(cells_of(name)) for name in ("P1", "P6", "P7", "P9", "P12", "PCT12")]
    [1, 7, 15, 73, 49, 209]
    """
    adults: Question = {"age": [str(year) for year in range(18, OLDEST + 1)]}
    if table == "P1":
        return [{}]
    if table == "P6":
        return [{}, *_within()]
    if table == "P7":
        origins: list[Question] = [{"hispanic": ["no"]}, {"hispanic": ["yes"]}]
        return [{}, *({**origin, **race} for origin in origins for race in ({}, *_within()))]
    if table in ("P9", "P11"):
        return [{**q, **adults} for q in _detail()] if table == "P11" else _detail()
    stem, starts = ("PCT12", YEARS) if table.startswith("PCT12") else ("P12", BANDS)
    letter = table.removeprefix(stem)
    return _by_sex(starts, _people(letter) if letter else {}, as_coded and stem == "P12" and not letter)


def census_workload(
    data: Any,
    *,
    block: str = "block",
    sex: str = "sex",
    age: str = "age",
    race: str = "race",
    hispanic: str = "hispanic",
    tract: Mapping[str, str] | None = None,
    tables: Sequence[str] = TABLES,
    as_coded: bool = False,
) -> Workload:
    """What a census prints of people, as questions.

    Parameters
    ----------
    data
        People with a block, ``sex`` (male, female), ``age`` in years up to 115, ``race`` and ``hispanic`` (yes, no).
    tract
        The tract of every block; without it all blocks are of one.
    as_coded
        Leave out what the public code of the attack leaves out: women in P12, and PCT12A to N.

    Examples
    --------
    >>> people = {"block": ["1", "1", "2"], "sex": ["male", "female", "male"], "age": [30, 4, 70],
    ...           "race": ["W", "WB", "A"], "hispanic": ["no", "no", "yes"]}
    >>> census_workload(people, tables=["P1", "P6"])
    Workload(14 questions about 3 rows, 58,464 combinations)
    """
    given = {"block": block, "sex": sex, "age": age, "race": race, "hispanic": hispanic}
    table = Table.from_frame(data)
    missing = [name for name in given.values() if name not in table]
    if missing:
        raise OptionError(no_column(missing, table.names))
    unknown = [name for name in tables if name not in TABLES]
    if unknown:
        raise OptionError(f"no census table {names(unknown)}; there are {', '.join(TABLES)}")
    blocks = tuple(sorted(set(texts(table, block))))
    domains = {
        block: blocks, sex: ("male", "female"), age: tuple(str(year) for year in range(OLDEST + 1)),
        race: RACES, hispanic: ("no", "yes"),
    }  # fmt: skip
    codes, known = encoded(table, list(given.values()), domains)
    if tract is not None and set(blocks) - set(map(str, tract)):
        raise DataError("some blocks have no tract; name the tract of every block")
    wanted = [name for name in tables if not (as_coded and name in TRACT_TABLES[1:])]
    places = {given[name]: {value: i for i, value in enumerate(known[given[name]])} for name in given}
    questions = [
        {given[name]: [places[given[name]][value] for value in values] for name, values in question.items()}
        for question in _questions(wanted, blocks, tract, as_coded)
    ]
    return Workload.ask(codes, known, questions)


def _questions(
    tables: Sequence[str], blocks: Sequence[str], tract: Mapping[str, str] | None, as_coded: bool
) -> Iterator[Question]:
    of = {str(b): str(t) for b, t in (tract or dict.fromkeys(blocks, "")).items()}
    tracts = [[b for b in blocks if of[b] == name] for name in sorted({of[b] for b in blocks})]
    for name in tables:
        areas = tracts if name in TRACT_TABLES else [[b] for b in blocks]
        for area in areas:
            for cell in cells_of(name, as_coded):
                yield {**cell, "block": area}
