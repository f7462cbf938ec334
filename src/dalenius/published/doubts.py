"""Why an attack may see less than there is: columns, values and bands that tables write in different ways."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from dalenius.published.figures import Published

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
