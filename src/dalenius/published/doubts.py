"""Why an attack may see less than there is: columns, values and bands that tables write in different ways."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from itertools import combinations

import numpy as np

from dalenius.data.rules import Rule
from dalenius.published.arrays import Bools
from dalenius.published.figures import Published
from dalenius.published.margin import Margin

BAND = re.compile(r"\s*(\d+)\s*(?:(?:-|–|to)\s*(\d+)|\+)\s*")
MOST_NAMED = 5
WHOLE = re.compile(r"([+-]?)0*(\d+)(?:\.0*)?")
"""A whole number, however it is written: 1, 01, 1.0."""
MARKS = re.compile(r"(?<!\d)[.,;:'’\"]|[.,;:'’\"](?!\d)")
"""Marks that say nothing; between two digits they may."""


def look_alikes(published: Published) -> list[str]:
    """Columns, and values of a column, that look alike: taken for two, they prove too little.

    They differ in capitals, spaces, marks such as a full stop, characters that nobody sees or the way a letter or a
    whole number is written, and in nothing else.

    Examples
    --------
    >>> look_alikes(Published.from_tables({"a": {"sex": ["f"], "n": [3]}, "b": {"Sex": ["f"], "n": [3]}}))
    ['Taken for different columns: Sex, sex. If they are one, name it the same in every table.']
    """
    said = [
        f"Taken for different columns: {', '.join(same)}. If they are one, name it the same in every table."
        for same in _alike(published.domains)
    ]
    for name, values in published.domains.items():
        same = _alike(values)
        if same:
            words = "; ".join(", ".join(group) for group in same[:MOST_NAMED])
            said.append(
                f"Taken for different values of {name!r}: {words}. If they are one, write it the same in every table."
            )
    return said


def overlapping_bands(published: Published) -> list[str]:
    """Columns whose bands of numbers overlap: tables of coarser and finer bands are not brought together by themselves.

    Examples
    --------
    >>> fine, coarse = {"age": ["0-5", "6-17"], "n": [2, 3]}, {"age": ["0-17"], "n": [5]}
    >>> overlapping_bands(Published.from_tables({"fine": fine, "coarse": coarse}))[0].split(".")[0]
    "Bands of 'age' overlap: 0-17 and 0-5"
    """
    said = []
    for name, values in published.domains.items():
        bands = [
            (int(m[1]), int(m[2]) if m[2] else 10**9, value)
            for value in values
            if (m := BAND.fullmatch(value))
        ]
        bands.sort(key=lambda band: (band[0], -band[1]))
        widest = None
        for band in bands:
            if widest is not None and band[0] < widest[1]:
                said.append(
                    f"Bands of {name!r} overlap: {widest[2]} and {band[2]}. They are taken for different people; say "
                    f"in a list of what the wider ones are made (groups: {{{name}: {{{widest[2]}: […]}}}})."
                )
                break
            widest = band if widest is None or band[1] > widest[1] else widest
    return said


def other_values(published: Published) -> list[str]:
    """Columns of which each of two tables shows somebody where the other has no cell, as bands laid otherwise do.

    Values are what they are called, so that people of two bands that overlap, or of a town and its county, would be
    counted twice. Where somebody said what values there are, they are different ones.

    Examples
    --------
    >>> one, two = {"age": ["[0, 18)", "[18, 120)"], "n": [41, 136]}, {"age": ["[0, 20)", "[20, 120)"], "n": [44, 133]}
    >>> other_values(Published.from_tables({"one": one, "two": two}))[0].split(",")[0]
    "Tables show different values of 'age': one [0"
    >>> known = {"age": ["[0, 18)", "[18, 120)", "[0, 20)", "[20, 120)"]}
    >>> other_values(Published.from_tables({"one": one, "two": two}, domains=known))
    []
    """
    said = []
    for name, values in published.domains.items():
        if name in published.declared:
            continue
        tables = [(m.name, *_shown(m, name)) for m in published.margins if _crosses(m, name)]
        for (one, here, cells), (two, there, others) in combinations(tables, 2):
            more, less = here & ~others, there & ~cells
            if more.any() and less.any():
                said.append(
                    f"Tables show different values of {name!r}: {one} {values[int(more.argmax())]}, and {two} "
                    f"{values[int(less.argmax())]}. They are taken for different people; say in a list what the wider "
                    f"ones are made of (groups), or that these are all values there are (domains: {{{name}: [...]}})."
                )
                break
    return said


def _crosses(margin: Margin, column: str) -> bool:
    return column in margin.columns and column not in (
        Rule.parse(margin.where).columns if margin.where else ()
    )


def _shown(margin: Margin, column: str) -> tuple[Bools, Bools]:
    """Values of a column that somebody may have in a table, and those it has cells of."""
    axis = margin.columns.index(column)
    codes = np.unravel_index(margin.keys, margin.shape)[axis]
    place = margin.maps[axis]
    listed = (place >= 0) if margin.complete else np.isin(place, codes)
    return np.isin(place, codes[margin.high > 0]), listed


def _alike(words: Iterable[str]) -> list[list[str]]:
    groups: dict[str, list[str]] = {}
    for word in words:
        groups.setdefault(_plain(word), []).append(word)
    return [sorted(group) for group in groups.values() if len(group) > 1]


def _plain(word: str) -> str:
    """A label as a reader sees it (Unicode Standard, annex 15: NFKC), without what makes no other word of it."""
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", word).casefold())
    kinds = [(letter, unicodedata.category(letter)) for letter in folded if not letter.isspace()]
    seen = "".join("-" if kind == "Pd" else letter for letter, kind in kinds if kind != "Cf")
    whole = WHOLE.fullmatch(seen)
    return f"{whole[1].strip('+')}{whole[2]}" if whole else MARKS.sub("", seen) or seen
