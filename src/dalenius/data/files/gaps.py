"""Words that stand for "missing" in a text file: R's NA, SAS's point, a database's NULL.

NA may also be Namibia. A word is taken for a gap where all other values of a column are numbers; where that happened,
it is a gap in every column of the file, except among two-letter codes and where the schema declares it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl

from dalenius.data.frames import Raw
from dalenius.data.schema import Column
from dalenius.data.vector import MISSING, VALUE, compact

GAP_WORDS = ("na", "n/a", "#n/a", "<na>", "nan", "null", ".", "?")
"""In any capitals. Not "none" or "-", which may mean zero."""
NUMBER = r"^\s*[+-]?(?:[0-9]+(?:[.,'\s][0-9]*)*|[.,][0-9]+)(?:[eE][+-]?[0-9]+)?\s*$"
PEEK = 100
COUNTRY = r"^[A-Z]{2}$"


def words_for_gaps(texts: pl.Series) -> list[str]:
    """Those texts that may stand for "missing", as they are written.

    Examples
    --------
    >>> words_for_gaps(pl.Series(["800", "NA", "1200"]))
    ['NA']
    """
    return texts.filter(texts.str.strip_chars().str.to_lowercase().is_in(GAP_WORDS)).unique().to_list()


def gap_words(raw: Raw, column: Column | None = None) -> tuple[str, ...]:
    """Words for "missing" in a column whose other values are all numbers.

    Examples
    --------
    >>> from dalenius.data.frames import text_raw
    >>> gap_words(text_raw("income", pl.Series(["800", "NA", "1200"])))
    ('NA',)
    >>> gap_words(text_raw("country", pl.Series(["NO", "NA", "SE"])))
    ()
    """
    levels = raw.levels or ()
    peek = pl.Series([v for v in levels[:PEEK] if isinstance(v, str)], dtype=pl.String)
    if not (peek.str.contains(NUMBER) | peek.str.strip_chars().str.to_lowercase().is_in(GAP_WORDS)).all():
        return ()  # names, most often: a million of them need no second look
    texts = pl.Series([v for v in levels if isinstance(v, str)], dtype=pl.String)
    words = texts.filter(texts.str.strip_chars().str.to_lowercase().is_in(GAP_WORDS)).to_list()
    undeclared = tuple(word for word in words if word not in _declared(column))
    others = texts.filter(~texts.is_in(undeclared))
    numbers = len(raw.levels or ()) - len(texts)
    if not undeclared or (not len(others) and not numbers) or not others.str.contains(NUMBER).all():
        return ()
    return undeclared


def without(raw: Raw, words: tuple[str, ...], column: Column | None = None) -> Raw:
    """A text column in which these words are gaps; two-letter codes and declared values stay.

    Examples
    --------
    >>> from dalenius.data.frames import text_raw
    >>> without(text_raw("smokes", pl.Series(["yes", "NA", "no"])), ("NA",)).levels
    ('no', 'yes')
    """
    levels, kept_words = raw.levels or (), _declared(column)
    if raw.storage not in ("text", "mixed"):
        return raw
    gone = {i for i, v in enumerate(levels) if v in words and v not in kept_words}
    if not gone:
        return raw
    rest = [v for i, v in enumerate(levels) if i not in gone]
    if column is None and rest and pl.Series([str(v) for v in rest]).str.contains(COUNTRY).all():
        return raw
    state = np.full(len(raw.data), VALUE, np.uint8) if raw.state is None else raw.state.copy()
    state[np.isin(raw.data, sorted(gone)) & (state == VALUE)] = MISSING
    kept = np.array([i not in gone for i in range(len(levels))], bool)
    codes = np.where(state == VALUE, (np.cumsum(kept) - 1)[raw.data], 0)
    storage = raw.storage if rest else "null"
    return replace(raw, storage=storage, data=compact(codes, len(rest)), state=state, levels=tuple(rest))


def _declared(column: Column | None) -> tuple[object, ...]:
    return () if column is None else (*(column.levels or ()), *column.special)
