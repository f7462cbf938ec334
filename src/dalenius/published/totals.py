"""Which labels of a table stand for sums: by what they are called, and by what their counts are.

A total that is taken for one more category hides that a suppressed cell follows from it. Offices call totals many
things; where the name says nothing, counts that equal the sum of all others, over and over, do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dalenius.published.arrays import Bools, Floats, Ints

# fmt: off
SURE = frozenset((
    "total", "totals", "grand total", "all", "sum", "overall", "_t", "both sexes", "both genders", "all ages",
    "all persons", "everybody", "everyone", "alle", "insgesamt", "gesamt", "zusammen", "summe", "ensemble", "tous",
    "toutes", "totale", "totaal", "totalt", "i alt", "suma", "razem", "ogółem", "celkem", "összesen", "yhteensä",
))
# fmt: on
"""What sums are called, in small letters."""
PERHAPS = re.compile(
    r"t|tot\.?|both|(total|all|both|alle|sum of|sum over)\b.*|.*\b(total|combined|insgesamt|zusammen)"
)
"""What may be a sum: taken for one unless its counts say otherwise."""
FEW = 9
"""People there are at most in a cell that is withheld for itself."""
CHANCE = 3.0
"""Powers of ten against chance from which counts alone make a total."""


@dataclass(frozen=True)
class Totals:
    """Labels of sums.

    Attributes
    ----------
    labels
        Those that are sums.
    by_counts
        Those of them that nothing but their counts gives away, with their columns.
    unsure
        Labels that equal the sum of the others too rarely to say, or may be their sum in every row as some of the
        others are withheld, with their columns.
    """

    labels: tuple[str, ...]
    by_counts: tuple[tuple[str, str], ...] = ()
    unsure: tuple[tuple[str, str], ...] = ()


def totals_of(columns: Mapping[str, Sequence[str]], counts: Floats, *, exact: bool = True) -> Totals:
    """Find the labels of sums in a table with one row a cell.

    Parameters
    ----------
    columns
        Labels of every row, by column.
    counts
        What is printed; NaN where nothing is.
    exact
        Whether counts are as they were counted; those that were rounded or moved do not add up and say nothing.

    Examples
    --------
    >>> sexes = {"sex": ["f", "m", "Persons"] * 3, "town": [t for t in "ABC" for _ in range(3)]}
    >>> totals_of(sexes, np.array([12.0, 13, 25, 20, 31, 51, 7, 9, 16]))
    Totals(labels=('Persons',), by_counts=(('sex', 'Persons'),), unsure=())
    """
    shown = {name: np.array([label.strip().lower() for label in labels]) for name, labels in columns.items()}
    summed = {name: np.isin(low, list(SURE)) for name, low in shown.items()}
    found = {label for name in columns for label in np.asarray(columns[name])[summed[name]].tolist()}
    by_counts: list[tuple[str, str]] = []
    unsure: list[tuple[str, str]] = []
    for name in columns:
        labels = np.asarray(columns[name])
        rest = _numbered([columns[other] for other in columns if other != name], len(counts))
        kinds = sorted(set(labels[~summed[name]].tolist()))
        for label in kinds:
            here = labels == label
            agrees, evidence, hides = _compared(here, ~summed[name] & ~here, rest, counts)
            if PERHAPS.fullmatch(label.strip().lower()):
                found |= {label} if agrees or not exact else set()
            elif exact and agrees and (evidence or hides) and len(kinds) > 2:
                (by_counts if evidence >= CHANCE else unsure).append((name, label))
    once = [(name, label) for name, label in by_counts if _only_here(columns, name, label)]
    unsure += [one for one in by_counts if one not in once]
    return Totals(tuple(sorted(found | {label for _, label in once})), tuple(once), tuple(unsure))


def _compared(here: Bools, others: Bools, rest: Ints, counts: Floats) -> tuple[bool, float, bool]:
    """Whether counts of a label never contradict that it sums the others, and how unlikely that is by chance.

    And whether nothing can contradict it, as some of the others are withheld throughout, and those that are printed
    make up nearly all of it: in half of the rows what is withheld would be a few people for each cell.
    """
    size = int(rest.max(initial=-1)) + 1
    known = np.nan_to_num(counts)
    parts = np.bincount(rest[others], known[others], size)
    gaps = np.bincount(rest[others], np.isnan(counts[others]), size)
    several = np.bincount(rest[others], known[others] > 0, size)
    place, shown = rest[here], counts[here]
    told = ~np.isnan(shown)
    place, shown = place[told], shown[told]
    whole = gaps[place] == 0
    near = np.isclose(shown, parts[place], rtol=1e-9, atol=1e-9)  # sums of decimals carry dust
    wrong = np.where(whole, ~near, (parts[place] > shown) & ~near)
    confirmed = whole & ~wrong & (several[place] > 1)
    near = (shown - parts[place] <= FEW * gaps[place]) & (parts[place] > 0)
    hides = bool(len(place) and not whole.any() and 2 * near.sum() >= len(place))
    return not bool(wrong.any()), float(np.log10(shown[confirmed]).sum()), hides


def _numbered(columns: Sequence[Sequence[str]], rows: int) -> Ints:
    """One number for every combination of labels."""
    held = np.zeros(rows, np.int64)
    for labels in columns:
        codes = np.unique(np.asarray(labels), return_inverse=True)[1].ravel()
        held = np.unique(held * (int(codes.max(initial=0)) + 1) + codes, return_inverse=True)[1].ravel()
    return held


def _only_here(columns: Mapping[str, Sequence[str]], name: str, label: str) -> bool:
    return not any(label in labels for other, labels in columns.items() if other != name)
