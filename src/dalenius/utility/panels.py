"""Panels and events: what follows what, how long a state lasts, and how much of a number is a person's own."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import polars as pl

from dalenius.core.result import WHOLE, Result, figure
from dalenius.counts.database_pair import BEFORE, DatabasePair, database_measure, in_order
from dalenius.data.relations import Database, Link
from dalenius.data.schema import Kind
from dalenius.data.spells import lasting
from dalenius.data.vector import AnyArray, IntArray
from dalenius.utility.distributions import ks_distance
from dalenius.utility.relations import held_figure
from dalenius.utility.tables import table_utility


def _ordered(pair: DatabasePair) -> list[Link]:
    return [link for link in pair.links if link.child in pair.original.order and not link.own]


def _shared(pair: DatabasePair, link: Link, numbers: bool) -> list[str]:
    """Columns of a child that both databases have, numbers or categories, but for keys, dates and texts."""
    table, other = pair.original.bare(link.child), pair.protected.bare(link.child)
    return [
        name for name in table.names
        if name in other and name != pair.original.order[link.child] and table[name].is_number is numbers
        and other[name].is_number is numbers and table[name].column.kind not in (Kind.TEXT, Kind.DATETIME)
    ]  # fmt: skip


def _result(
    name: str, pair: DatabasePair, rows: list[dict[str, object]], column: str, said: str,
    measured: Callable[[DatabasePair], Result],
) -> Result:  # fmt: skip
    """The mean over columns, beside the same figure of people who are not in the data."""
    table = pl.DataFrame(rows) if rows else pl.DataFrame({"column": [], column: []})
    known = table[column].cast(pl.Float64).drop_nulls().drop_nans()
    value = float(known.mean()) if len(known) else float("nan")  # type: ignore[arg-type]
    held = held_figure(pair, measured)
    beside = {} if held is None or np.isnan(held) else {"holdout": held}
    text = said.format(figure(value)) if len(known) else "There is no column of this kind to look at."
    return Result(name, value, text, table=table, counts=WHOLE, yardsticks=beside)


@database_measure(
    name="transitions", title="Transition tables", family="utility", better="lower", bounds=(0, None),
    meaning="S_pMSE of each category crossed with itself a row before, on average: about 1 where only chance differs "
    "and rows are people of their own; people with several rows make it larger, so read it beside the holdout.",
    reference="Raab, Nowok, Dibben 2021 (S_pMSE), of a row and the one before", needs=frozenset({"an order"}),
)  # fmt: skip
def transitions(pair: DatabasePair) -> Result:
    """Mean S_pMSE of the tables of each category with the one before of the same parent.

    Examples
    --------
    >>> from dalenius.data import examples
    >>> base = examples.visits(200)
    >>> transitions(DatabasePair(base, base)).value
    0.0
    """
    rows: list[dict[str, object]] = []
    for link in _ordered(pair):
        beside = pair.siblings(link)
        names = (
            [] if beside is None else [n for n in _shared(pair, link, numbers=False) if n in beside.columns]
        )
        if beside is not None and names:
            tables = table_utility(beside, [(f"{BEFORE}{name}", name) for name in names])
            rows += [
                {"table": link.child, "column": row["second"], "S_pMSE": row["S_pMSE"]}
                for row in tables.iter_rows(named=True)
            ]
    said = "What follows what is off by an S_pMSE of {} on average."
    return _result("transitions", pair, rows, "S_pMSE", said, transitions)


@database_measure(
    name="spell-lengths", title="Lengths of spells", family="utility", better="lower", bounds=(0, 1),
    meaning="How far apart the distributions of the lengths of spells are (rows one after the other with the same "
    "category, or from start to end; Kolmogorov–Smirnov), averaged over categories by their spells: 0 is the same.",
    reference="Kolmogorov–Smirnov distance, of spells", needs=frozenset({"an order"}),
)  # fmt: skip
def spell_lengths(pair: DatabasePair) -> Result:
    """Distance of the lengths of spells, over all categories of all columns.

    Examples
    --------
    >>> from dalenius.data import examples
    >>> base = examples.visits(200)
    >>> spell_lengths(DatabasePair(base, base)).value
    0.0
    """
    rows: list[dict[str, object]] = []
    for link in _ordered(pair):
        for name in _shared(pair, link, numbers=False):
            first, second = (
                _spells(base, link, pair.original.order[link.child], name) for base in pair.sides[:2]
            )
            labels = [label for label in first if label in second]
            parts = [ks_distance(first[label], second[label]) for label in labels]
            parts += [1.0 for label in first if label not in second]
            weights = [len(first[label]) for label in [*labels, *(k for k in first if k not in second)]]
            if parts:
                rows.append(
                    {
                        "table": link.child,
                        "column": name,
                        "distance": float(np.average(parts, weights=weights)),
                    }
                )
    said = "Lengths of spells are {} apart (0 is the same, 1 is nothing in common)."
    return _result("spell-lengths", pair, rows, "distance", said, spell_lengths)


def _spells(base: Database, link: Link, order: str, name: str) -> dict[str, AnyArray]:
    """How many rows in a row each spell of each category has, or how long it lasts where that is a column."""
    rows = in_order(base, link, order)
    categories = base[link.child][name].categories
    lasts = lasting(base[link.child])
    if lasts is not None:
        length = base[link.child][lasts]
        known = rows[length.present[rows]]
        kinds = categories.codes[known].astype(np.int64)
        return {str(categories.labels[c]): length.data[known][kinds == c] for c in np.unique(kinds)}
    owners, codes = base.places(link)[rows], categories.codes[rows].astype(np.int64)
    if not len(rows):
        return {}
    starts = np.flatnonzero(np.append(True, (owners[1:] != owners[:-1]) | (codes[1:] != codes[:-1])))
    lengths, kinds = np.diff(np.append(starts, len(rows))), codes[starts]
    return {str(categories.labels[code]): lengths[kinds == code] for code in np.unique(kinds)}


@database_measure(
    name="last-states", title="How histories end", family="utility", better="lower", bounds=(0, 1),
    meaning="How far apart the distributions of each category in a person's last row are (half the sum of the "
    "differences of shares), on average: 0 is the same.",
    reference="total variation distance, of last rows", needs=frozenset({"an order"}), sees_dependence=False,
)  # fmt: skip
def last_states(pair: DatabasePair) -> Result:
    """Distance of the states in which histories end, over all columns.

    Examples
    --------
    >>> from dalenius.data import examples
    >>> base = examples.visits(200)
    >>> last_states(DatabasePair(base, base)).value
    0.0
    """
    rows: list[dict[str, object]] = []
    for link in _ordered(pair):
        for name in _shared(pair, link, numbers=False):
            first, second = (
                _last(base, link, pair.original.order[link.child], name) for base in pair.sides[:2]
            )
            levels = {*first, *second}
            distance = sum(abs(first.get(k, 0.0) - second.get(k, 0.0)) for k in levels) / 2
            rows.append({"table": link.child, "column": name, "distance": float(distance)})
    said = "States in which histories end are {} apart (0 is the same, 1 is nothing in common)."
    return _result("last-states", pair, rows, "distance", said, last_states)


def _last(base: Database, link: Link, order: str, name: str) -> dict[str, float]:
    """Shares of the categories of a column in the last rows of all parents."""
    rows = in_order(base, link, order)
    owners = base.places(link)[rows]
    categories = base[link.child][name].categories
    codes = categories.codes[rows[np.append(owners[1:] != owners[:-1], True)[: len(rows)]]]
    kinds, times = np.unique(codes, return_counts=True)
    return {str(categories.labels[c]): n / len(codes) for c, n in zip(kinds, times, strict=True)}


@database_measure(
    name="within-person", title="What is a person's own", family="utility", better="lower", bounds=(0, 1),
    meaning="How far off the share of a number's variance is that lies between people rather than between the rows of "
    "one: 0 is the same.",
    reference="Fisher 1925 (intraclass correlation)", needs=frozenset({"an order"}),
)  # fmt: skip
def within_person(pair: DatabasePair) -> Result:
    """Mean difference of the intraclass correlations of all numbers.

    Examples
    --------
    >>> from dalenius.data import examples
    >>> base = examples.visits(200)
    >>> within_person(DatabasePair(base, base)).value
    0.0
    """
    rows: list[dict[str, object]] = []
    for link in _ordered(pair):
        for name in _shared(pair, link, numbers=True):
            shares = [_between(base[link.child][name].floats(), base.places(link)) for base in pair.sides[:2]]
            rows.append(
                {
                    "table": link.child, "column": name, "original": shares[0], "protected": shares[1],
                    "difference": abs(shares[1] - shares[0]),
                }
            )  # fmt: skip
    said = "The share of variance that is a person's own is off by {} on average."
    return _result("within-person", pair, rows, "difference", said, within_person)


def _between(values: AnyArray, owners: IntArray) -> float:
    """Share of the variance that lies between owners (one-way analysis of variance, groups of any size)."""
    known = (owners >= 0) & np.isfinite(values)
    values, codes = values[known], np.unique(owners[known], return_inverse=True)[1]
    groups, rows = int(codes.max(initial=-1)) + 1, len(values)
    if groups < 2 or rows <= groups:
        return float("nan")
    sizes = np.bincount(codes)
    means = np.bincount(codes, values) / sizes
    inside = float(np.sum((values - means[codes]) ** 2)) / (rows - groups)
    across = float(np.sum(sizes * (means - values.mean()) ** 2)) / (groups - 1)
    usual = (rows - float(np.sum(sizes**2)) / rows) / (groups - 1)
    part = max((across - inside) / usual, 0.0)
    return part / (part + inside) if part + inside > 0 else float("nan")
