"""Attacks that isolate: on classes of a k-anonymous file, overlapping tables, differences, servers.

Examples of D'Acquisto et al. 2024, section 4.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray
from dalenius.risk.isolation.chance import max_isolation_probability
from dalenius.risk.isolation.partition import Splitter, record_hashes
from dalenius.risk.isolation.predicate import Condition, OneOf, Predicate


def class_isolation_attack(
    data: Any, classes: Sequence[int] | AnyArray, key: bytes = b"dalenius"
) -> pl.DataFrame:
    """Isolate somebody in each class of a k-anonymous file: of m people, those whose hash modulo m is 0.

    The intruder needs only the class and its size m; he succeeds about (1 - 1/m)^(m-1) of the time, more than 1/e,
    however the classes were made, as long as people in a class differ in something.

    Parameters
    ----------
    data
        The original records.
    classes
        Class of each record (for example the number of its generalised keys).

    Examples
    --------
    >>> found = class_isolation_attack({"x": list(range(1000))}, np.arange(1000) // 5)
    >>> 0.3 < found["isolates"].mean() < 0.5, round(found["expected"][0], 4)
    (True, 0.4096)
    """
    ids = np.unique(np.asarray(classes), return_inverse=True)[1]
    size = np.bincount(ids)
    chosen = record_hashes(Table.from_frame(data), key) % size[ids] == 0
    alone = np.bincount(ids, chosen, minlength=len(size)) == 1
    expected = [max_isolation_probability(int(m)) for m in size]
    return pl.DataFrame({"size": size, "isolates": alone, "expected": expected})


def record_predicates(release: Any, columns: Sequence[str] | None = None) -> Iterator[Predicate]:
    """Describe each released record that is alone by all its values: the plain microdata attack.

    Examples
    --------
    >>> [p.describe() for p in record_predicates({"a": ["x", "y", "y"]})]
    ['a in {x}']
    """
    table = Table.from_frame(release)
    used = list(columns) if columns is not None else table.names
    categories = [table[name].categories for name in used]
    codes = np.column_stack([c.codes.astype(np.int64) for c in categories])
    _, first, counts = np.unique(codes, axis=0, return_index=True, return_counts=True)
    for row in np.sort(first[counts == 1]).tolist():
        picked = zip(used, categories, codes[row].tolist(), strict=True)
        yield Predicate(tuple(OneOf(name, frozenset({c.labels[code]})) for name, c, code in picked))


@dataclass(frozen=True)
class Reconstructed:
    """A record pieced together from tables.

    ``start`` is the cell with one person it began with, ``ambiguous`` are columns whose tables contradict each other or
    are noisy, ``unknown`` those for which the table that is needed was not published.

    Examples
    --------
    >>> marginal_bootstrap({("sex",): {("f",): 1, ("m",): 3}, ("age",): {("30",): 4}})[0].unknown
    ('age',)
    """

    record: dict[str, Any]
    start: tuple[str, ...]
    ambiguous: tuple[str, ...]
    unknown: tuple[str, ...]


def marginal_bootstrap(
    tables: Mapping[tuple[str, ...], Mapping[tuple[Any, ...], int]],
) -> list[Reconstructed]:
    """Piece whole records together from overlapping tables, starting from cells with one person.

    Parameters
    ----------
    tables
        Columns of each published table -> its cells (values in the order of the columns) with their counts.

    Examples
    --------
    >>> one = {("f",): 1, ("m",): 3}
    >>> two = {("f", "ill"): 1, ("m", "well"): 3}
    >>> marginal_bootstrap({("sex",): one, ("sex", "health"): two})[0].record
    {'sex': 'f', 'health': 'ill'}
    """
    published = {frozenset(columns): (columns, cells) for columns, cells in tables.items()}
    everything = sorted(set().union(*published)) if published else []
    distinct: dict[tuple[tuple[str, Any], ...], Reconstructed] = {}
    for columns, cells in tables.items():
        for cell, count in cells.items():
            if count == 1:
                made = _extended(dict(zip(columns, cell, strict=True)), everything, published)
                distinct.setdefault(tuple(sorted(made.record.items(), key=lambda item: item[0])), made)
    return sorted(distinct.values(), key=lambda made: -len(made.record))


def _extended(
    start: dict[str, Any], columns: Sequence[str], published: Mapping[frozenset[str], Any]
) -> Reconstructed:
    record, ambiguous, unknown = dict(start), [], []
    for extra in columns:
        if extra in start:
            continue
        table = published.get(frozenset((*start, extra)))
        if table is None:
            unknown.append(extra)
            continue
        names, cells = table
        fitting = [
            (dict(zip(names, cell, strict=True))[extra], count)
            for cell, count in cells.items()
            if count != 0 and start.items() <= dict(zip(names, cell, strict=True)).items()
        ]
        if len(fitting) == 1 and fitting[0][1] == 1:
            record[extra] = fitting[0][0]
        else:
            ambiguous.append(extra)
    return Reconstructed(record, tuple(start), tuple(ambiguous), tuple(unknown))


def differencing_isolations(
    counts: Mapping[str, int], inside: Sequence[tuple[str, str]], n: int | None = None
) -> list[tuple[str, str]]:
    """Pairs (part, whole) of published regions whose counts differ by one: the rest isolates somebody.

    With ``n``, the rows of the file, a region that holds all but one of them isolates too.

    Examples
    --------
    >>> differencing_isolations({"all": 10, "women": 9}, [("women", "all")])
    [('women', 'all')]
    >>> differencing_isolations({"women": 9}, [], n=10)
    [('women', 'everybody')]
    """
    pairs = [(part, whole) for part, whole in inside if counts[whole] - counts[part] == 1]
    return pairs + [(name, "everybody") for name, m in counts.items() if n is not None and m == n - 1]


@dataclass(frozen=True)
class AdaptiveIsolation:
    """What an adaptive intruder found, and how many counts he asked for.

    Examples
    --------
    >>> people = Table.from_frame({"age": [20, 80]})
    >>> found = adaptive_isolation(lambda p: p.count(people), {"age": list(range(100))}, 20)
    >>> len(found.predicates), found.queries
    (2, 2)
    """

    predicates: tuple[Predicate, ...]
    queries: int


def adaptive_isolation(
    query: Callable[[Predicate], int], reference: Any, budget: int, columns: Sequence[str] | None = None
) -> AdaptiveIsolation:
    """Ask a server of exact counts about smaller and smaller regions until they hold one person.

    Regions are halved by a reference file, the heaviest column first; of two halves only one is asked for.

    Parameters
    ----------
    query
        Gives the number of people who fit a predicate.
    budget
        Counts that may be asked for.

    Examples
    --------
    >>> people = Table.from_frame({"age": [20, 21, 50, 80]})
    >>> found = adaptive_isolation(lambda p: p.count(people), {"age": list(range(100))}, 20)
    >>> all(p.isolates(people) for p in found.predicates), len(found.predicates)
    (True, 4)
    """
    if budget < 1:
        raise OptionError("a budget of queries is at least 1")
    table = Table.from_frame(reference)
    splitter = Splitter(table, list(columns) if columns is not None else table.names)
    asked = 1
    regions: list[tuple[tuple[Condition, ...], AnyArray, int]] = [
        ((), np.arange(table.rows), query(Predicate()))
    ]
    isolating = []
    while regions:
        conditions, rows, count = regions.pop()
        if count == 1:
            isolating.append(Predicate(conditions))
        if count < 2 or asked >= budget:
            continue
        parts = splitter.split(rows)
        if parts is None:
            continue
        (first, mine), (second, others) = parts
        inside = query(Predicate((*conditions, first)))
        asked += 1
        regions.append(((*conditions, first), mine, inside))
        regions.append(((*conditions, second), others, count - inside))
    return AdaptiveIsolation(tuple(isolating), asked)
