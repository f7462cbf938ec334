"""What a protected file may still hold that no figure looks at: names, numbers of people, their own words, new columns.

Measures compare columns that both files have, without identifiers and free text. Our own methods let neither out; a
file that somebody else made may hold both, under their own names or under others. A value is looked for in every column
of the file: one that identifies somebody in the data, or a text that fewer than `Schema.min_units` units have there, as
it is or spelt otherwise (`counts.respelt`). A column that may hold them and cannot be compared is told too.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dalenius.core.errors import names
from dalenius.counts.harmonising import Source
from dalenius.counts.respelt import (
    FEWEST,
    MOST,
    differs_everywhere,
    hidden,
    numbered_anew,
    numbers_of,
    respelt,
)
from dalenius.data.infer import infer_from_raws
from dalenius.data.relations import OWNER
from dalenius.data.schema import Column, Kind, Role
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, Vector

NAMES = (Role.IDENTIFIER, Role.ENTITY, Role.HOUSEHOLD)
"""Roles whose values say who somebody is."""
MANY_DIGITS = 100_000
"""Numbers from here on are looked for in columns of words too; smaller ones are everywhere."""
SAME = 0.99
"""Share of the rows in which a column must follow another one before it is called the same."""


def leftovers(
    original: Table, protected: Source, common: Table, texts: bool = True, made_here: bool = False
) -> list[str]:
    """Sentences about columns of a file that hold what identifies people, or what nothing can be said of.

    Parameters
    ----------
    original
        The original, whole.
    protected
        The file as it was given.
    common
        Its columns that are compared, encoded like the original's.
    texts
        Whether rare texts are looked for.
    made_here
        Whether a method of ours has just made the file: its texts and keys are made up, and need no doubt.

    Examples
    --------
    >>> from dalenius.data.schema import Schema
    >>> people = {"name": [f"Ann {i}" for i in range(40)], "age": list(range(40))}
    >>> file = Source({"age": list(range(40)), "who": people["name"]})
    >>> base = Table.from_frame(people, Schema.infer(people).with_roles(identifier="name"))
    >>> leftovers(base, file, base.select(["age"]))
    ["Column 'who' of the protected file holds values of 'name', which say who people in the data are: take it out."]
    """
    words = {name: _identifying(original, name, texts) for name in original.names}
    told, named = [], set()
    for name in (n for n in protected.names if n != OWNER):
        vector = common[name] if name in common else _read(protected, name, original)
        own = original.vectors.get(name)
        whose = [source for source, values in words.items() if _hit(vector, own, name == source, values)]
        doubt = "" if whose or made_here else _unlike_any(vector, own)
        if whose:
            told.append(_about(original, name, whose))
        elif doubt:
            told.append(f"Column {name!r} of the protected file {doubt}")
        named |= {name} if whose or doubt else set()
    # whose a row is stands beside the tables while they are measured, and never leaves
    known = {*original.names, *named, OWNER}
    new = [name for name in protected.names if name not in known]
    return told + _new_columns(original, protected, new)


def _about(original: Table, name: str, whose: list[str]) -> str:
    texts = all(not _says_who(original[source].column) for source in whose)
    what = (
        f"texts that fewer than {original.schema.min_units} units of the data have"
        if texts
        else "values that say who people in the data are"
        if whose == [name]
        else f"values of {names(whose)}, which say who people in the data are"
    )
    return f"Column {name!r} of the protected file holds {what}: take it out."


def _unlike_any(vector: Vector, own: Vector | None) -> str:
    """Why nothing can be said of a column of names or texts; empty where something can be, or it is compared."""
    if own is None or own.column.release == "as-is" or numbered_anew(vector):
        return ""
    take = "Take it out"
    if _says_who(own.column):
        share = len(np.unique(own.values)) / max(len(own.values), 1)  # several rows may be one unit's
        kinds = len(np.unique(vector.values))
        if kinds < FEWEST or kinds < MOST * share * len(vector.values):
            return ""
        what, take = "says who people are in the original", f"{take}, or number the rows"
    elif not vector.is_number and differs_everywhere(vector) and _unknown(vector, own):
        what = "holds texts"
    else:
        return ""
    return (
        f"{what} and has another value in nearly every row: no figure looks there, and whether these are people's own "
        f"in other words cannot be told. {take}."
    )


def _unknown(vector: Vector, own: Vector) -> bool:
    """Whether a column is not compared, or its values are hardly the original's."""
    if own.column.kind is Kind.TEXT or own.is_number:
        return True
    there = _texts(vector)
    return bool(np.isin(there.astype(str), _texts(own).astype(str)).mean() < MOST)


def _says_who(column: Column) -> bool:
    return any(column.has(role) for role in NAMES)


def _identifying(original: Table, name: str, texts: bool) -> AnyArray:
    """The values of a column that must not leave; none of most columns."""
    vector, units = original[name], original.units
    none = np.array([], object)
    if _says_who(vector.column):
        return np.unique(vector.values) if vector.is_number else _texts(vector)
    if not texts or vector.column.kind is not Kind.TEXT or vector.column.release == "as-is":
        return none
    codes = np.where(vector.present, vector.data.astype(np.int64), len(vector.levels))
    held = units.owners(codes, len(vector.levels) + 1)[:-1]
    rare = (held > 0) & (held < original.schema.min_units)
    return np.array([str(vector.levels[i]) for i in np.flatnonzero(rare)], object)


def _texts(vector: Vector) -> AnyArray:
    """The different texts of a column."""
    used = np.unique(vector.values)
    return np.array([str(vector.levels[i]) for i in used], object)


def _hit(vector: Vector, own: Vector | None, same: bool, values: AnyArray) -> bool:
    """Whether a column of the file holds some of the values, and not because they are its own in the original."""
    if not len(values):
        return False
    numbers = values.dtype != object
    if vector.is_number:
        held = values if numbers else numbers_of(values.tolist())
        there = np.unique(vector.values)
        plain = (same or own is None) and len(held) > 0 and _numbered(there, held)
        return plain or (not same and hidden(there, held))
    there = _texts(vector)
    if numbers:
        values = np.array([f"{v:.15g}" for v in values[np.abs(values) >= MANY_DIGITS]], object)
    mine = np.array([], object) if own is None or same or own.is_number else _texts(own)
    strange, known = (list(set(side.tolist()) - set(mine.tolist())) for side in (there, values))
    return bool(set(strange) & set(known)) or respelt(strange, known)


def _numbered(there: AnyArray, values: AnyArray) -> bool:
    """Whether numbers are those of people: most of them are, and they do not just count the rows."""
    if len(there) < 2 or np.mean(np.isin(there, values)) < MOST:
        return False
    counted = there[0] in (0, 1) and np.array_equal(there, np.arange(len(there)) + there[0])
    chance = len(values) / max(float(values.max() - values.min()) + 1, 1.0)
    # of numbers that fill their range nearly any other column of numbers is a part
    return not counted and (chance < MOST or len(there) > MOST * len(values))


def _read(protected: Source, name: str, original: Table) -> Vector:
    """A column that is not compared, as it is in the file."""
    if protected.table is not None:
        return protected.table[name]
    raw = protected.raws[name]
    guessed = infer_from_raws([raw])[name]
    if name in original:
        column = original[name].column
        numeric = raw.levels is None and column.kind.is_number
        guessed = replace(guessed, kind=column.kind) if numeric else guessed
    return protected.encoded(replace(guessed, levels=None, bounds=None))


def _new_columns(original: Table, protected: Source, new: list[str]) -> list[str]:
    """Columns that the original has not: the same under another name, or unknown; not those that tell nothing."""
    renamed: list[str] = []
    unknown: list[str] = []
    told = []
    for name in new:
        vector = _read(protected, name, original)
        codes = _codes(vector)
        if len(np.unique(codes)) < 2 or (vector.is_number and _counts_rows(vector.floats())):
            continue  # a constant, or the number of the row
        same = len(codes) == original.rows and any(_follows(codes, original[n]) for n in original.names)
        (renamed if same else unknown).append(name)
    if renamed:
        told.append(
            f"Under other names the protected file holds columns of the original, row by row "
            f"({names(renamed, len(renamed))}): take them out."
        )
    if unknown:
        has = "has a column" if len(unknown) == 1 else "has columns"
        told.append(
            f"The protected file {has} that the original has not ({names(unknown, len(unknown))}): no figure looks "
            "there, so what this gives away is not known. Take it out, or give the original the same."
        )
    return told


def _counts_rows(numbers: AnyArray) -> bool:
    return numbers[0] in (0, 1) and np.array_equal(numbers, numbers[0] + np.arange(len(numbers)))


def _codes(vector: Vector) -> AnyArray:
    return np.unique(
        vector.categories.codes if not vector.is_number else vector.floats(), return_inverse=True
    )[1]


def _follows(codes: AnyArray, other: Vector) -> bool:
    """Whether one column tells the other in nearly every row, and the other way round, in the order of the rows."""
    theirs = _codes(other)
    kinds = int(theirs.max()) + 1
    if kinds < 2:
        return False
    both, size = np.unique(codes * kinds + theirs, return_counts=True)
    most = [np.zeros(int(side.max()) + 1, np.int64) for side in (codes, theirs)]
    np.maximum.at(most[0], both // kinds, size)
    np.maximum.at(most[1], both % kinds, size)
    if min(side.sum() for side in most) < SAME * len(codes):
        return False
    return bool(len(codes) - np.bincount(theirs).max() >= FEWEST)  # not nearly constant
