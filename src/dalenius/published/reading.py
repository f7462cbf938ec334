"""Making `Margin`s of tables as they are handed over: labels become codes, totals tables of their own."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np

from dalenius.core.errors import OptionError, names, no_column
from dalenius.data.rules import Rule
from dalenius.data.table import Table
from dalenius.published.arrays import Bools, Floats, Ints
from dalenius.published.entry import Entry
from dalenius.published.margin import NO_LIMIT, Margin, known_range, reach_of
from dalenius.published.totals import totals_of

UNLIKELY = 1e-3
"""A chance below which counts that all are multiples of a number are told."""

DOMAINS = "name values that no table shows in the list (domains: {column: [...]})"
Domains = Mapping[str, tuple[str, ...]]
MARKS = ("x", "×", ":", ":c", "c", "*", ".", "..", "-", "suppressed", "")
"""What stands in place of a count that is not shown."""
FLAGS = ("flag", "status", "obs_status", "conf_status", "primary", "suppressed")
"""Columns that say something of a cell and cross nothing."""
MOST_SHARE = 100
"""Whole numbers up to this may be shares in per cent."""
BELOW = re.compile(r"(<|<=|≤|under |below )\s*(\d+)")
"""A count of which only is said that it is small."""
WRITE = "write 1204 for a count, ':c' or nothing for one that is not shown, <5 for one that is only said to be small"
MOST_CELLS = 2**62


def texts(table: Table, name: str) -> list[str]:
    """A column as text, gaps and special codes as their labels."""
    groups = table[name].categories
    labels = [str(label) for label in groups.labels]
    return [labels[code] for code in np.asarray(groups.codes).tolist()]


def columns_of(entry: Entry) -> tuple[str, ...]:
    """The columns a table crosses."""
    if entry.by is not None:
        return entry.by
    return tuple(name for name in entry.table.names if name != entry.value)


def settled(entry: Entry, remarks: list[str], doubts: list[str]) -> Entry:
    """The table with the labels of its sums, where nobody named them; what is not sure is a doubt."""
    by = [name for name in columns_of(entry) if name in entry.table]
    doubts += [
        f"Column {name!r} of {entry.name!r} adds nothing to what tells its rows apart and is taken for a figure: say "
        f"in a list what people are counted by (by: [{', '.join(by)}], or with {name})."
        for name in entry.unsure
    ]
    if entry.value in entry.table:
        doubts += [*_given_away(entry, by), *_not_rounded(entry)]
        remarks += _perhaps_rounded(entry)
    if entry.total is not None or entry.value not in entry.table:
        return entry
    labels = {name: texts(entry.table, name) for name in by}
    found = totals_of(labels, counts_of(entry)[0], exact=entry.kind == "exact")
    remarks += [
        f"{label!r} in column {name!r} of {entry.name!r} is taken for a total: it equals the sum of the others."
        for name, label in found.by_counts
    ]
    doubts += [
        f"{label!r} in column {name!r} of {entry.name!r} equals the sum of the others, as far as they are printed, and "
        f"may be a total: say so in a list (total: {label}), or that it is none (total: [])."
        for name, label in found.unsure
    ]
    return replace(entry, total=found.labels)


def beside(table: Table, counts: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Columns of figures that stand beside the counts and cross nothing: those that surely do, and those that may.

    Sure are flags and numbers with fractions. Whole numbers may be sums: where the other columns tell all rows apart
    without them, nobody is counted by them.

    Examples
    --------
    >>> pay = {"town": ["A", "B"], "n": [3, 4], "mean": [2.5, 3.0], "sum": ["75", ":c"], "year": [2025, 2025]}
    >>> beside(Table.from_frame(pay), ["n"])
    (('mean',), ('sum',))
    """
    rest = [name for name in table.names if name not in counts]
    printed = {name: texts(table, name) for name in rest}
    numbers = {name: np.array([_number(t.strip().removesuffix("%")) for t in printed[name]]) for name in rest}
    flags = [name for name in rest if name.lower() in FLAGS]
    known = {name: value[~np.isnan(value)] for name, value in numbers.items() if name not in flags}
    figures = {name: value for name, value in known.items() if len(value) and np.isfinite(value).all()}
    sure = [name for name, value in figures.items() if (value != np.rint(value)).any()]
    others = [name for name in rest if name not in figures and name not in flags]
    apart = len(set(zip(*(printed[name] for name in others), strict=True))) == table.rows if others else False
    maybe = [n for n in figures if n not in sure and apart and len(set(printed[n])) > 1]
    return (*flags, *sure), tuple(maybe)


def without_figures(entry: Entry) -> Entry:
    """The table with the columns it crosses, where nobody named them: all but figures beside the counts."""
    if entry.by is not None or entry.value is None or entry.value not in entry.table:
        return entry
    sure, unsure = beside(entry.table, [entry.value])
    by = tuple(name for name in entry.table.names if name not in (entry.value, *sure, *unsure))
    return replace(entry, by=by, unsure=unsure)


def _given_away(entry: Entry, by: Sequence[str]) -> list[str]:
    """Figures beside counts that are withheld or changed, which may tell them.

    A sum does only where the count is withheld; a share or mean of one row tells the count of another too.
    """
    hidden = np.isnan(counts_of(entry)[0])
    if entry.kind == "exact" and not hidden.any():
        return []
    said = []
    for name in entry.table.names:
        if name in by or name == entry.value or name.lower() in FLAGS:
            continue
        printed = np.array([_number(text.strip().removesuffix("%")) for text in texts(entry.table, name)])
        known = printed[np.isfinite(printed)]
        share = len(known) and bool((known != np.rint(known)).any() or known.max() <= MOST_SHARE)
        if share or np.isfinite(printed[hidden]).any():
            said.append(
                f"Column {name!r} of {entry.name!r} prints figures beside counts that are withheld or changed, and may "
                "give these away: leave it out."
            )
    return said


def _not_rounded(entry: Entry) -> list[str]:
    """Counts that are said to be rounded and cannot be: whoever takes them for rounded proves too little."""
    printed = counts_of(entry)[0]
    if (
        entry.kind not in ("rounded", "nearest")
        or not (printed[np.isfinite(printed)] % max(entry.base, 1)).any()
    ):
        return []
    return [
        f"Counts of {entry.name!r} are said to be rounded to {entry.base}, and some are no multiples of it: say how "
        "they were treated (kind: exact, or cellkey with the largest change as its base)."
    ]


def _perhaps_rounded(entry: Entry) -> list[str]:
    """Counts that nobody calls rounded but that all are multiples of 3 or more, which chance hardly does."""
    printed = counts_of(entry)[0]
    some = printed[(printed > 0) & (printed < NO_LIMIT)]
    if entry.kind != "exact" or (some != np.rint(some)).any():
        return []
    step = int(np.gcd.reduce(some.astype(np.int64), initial=0))
    if step < 3 or len(some) * np.log(step) < -np.log(UNLIKELY):
        return []
    return [
        f"All counts of {entry.name!r} are multiples of {step}: if they were rounded, say so (kind: rounded, or "
        f"nearest, base: {step}); what is proved here holds for exact counts."
    ]


def filled(entries: Sequence[Entry], doubts: list[str]) -> list[Entry]:
    """The tables that list any cell; one that lists none is a doubt, as nobody knows what it will say."""
    empty = [entry.name for entry in entries if not entry.table.rows and entry.value is not None]
    doubts += [
        f"Table {name!r} has no rows, so that nothing is known of it: fill it, or leave it out."
        for name in empty
    ]
    return [entry for entry in entries if entry.name not in empty]


def widened(domains: Domains, entries: Sequence[Entry]) -> dict[str, tuple[str, ...]]:
    """The values of every column: those that were given, and where none were, all that any table shows."""
    found = dict(domains)
    for entry in entries:
        for name in columns_of(entry):
            if name in domains or name not in entry.table:
                continue
            meant = entry.groups.get(name, {})
            shown = sorted(set(texts(entry.table, name)) - entry.totals)
            values = [v for label in shown for v in map(str, meant.get(label, [label]))]
            held = found.get(name, ())
            found[name] = (*held, *dict.fromkeys(v for v in values if v not in held))
    return found


def margins_of(entry: Entry, domains: Domains, faults: list[str]) -> list[Margin]:
    """One margin for every set of columns over which a table does not give totals."""
    by = columns_of(entry)
    absent = [name for name in by if name not in entry.table]
    if absent:
        faults.append(f"table {entry.name!r}: {no_column(absent, entry.table.names)}")
        return []
    value, bad = counts_of(entry)
    faults += [f"table {entry.name!r}: {bad} counts are negative or no whole numbers; {WRITE}"] if bad else []
    large = int((np.abs(value) >= NO_LIMIT).sum() - np.isinf(value).sum())
    faults += [f"table {entry.name!r}: {large} counts are larger than any population"] if large else []
    top = tops_of(entry)
    labels = {name: texts(entry.table, name) for name in by}
    for name in by:
        meant = entry.groups.get(name, {})
        odd = {v for label in set(labels[name]) - entry.totals for v in map(str, meant.get(label, [label]))}
        unknown = sorted(odd - set(domains[name]))
        faults += [f"table {entry.name!r}: unknown codes in column {name!r}"] if unknown else []
    if faults:
        return []
    total = np.column_stack([np.isin(labels[name], list(entry.totals)) for name in by]) if by else None
    patterns = {()} if total is None else set(map(tuple, total.tolist()))
    made = []
    for pattern in sorted(patterns):
        rows = np.ones(entry.table.rows, np.bool_) if total is None else (total == pattern).all(axis=1)
        kept = [name for name, gone in zip(by, pattern, strict=True) if not gone]
        shown = {n: np.array(labels[n])[rows] for n in kept}
        made.append(_margin(entry, kept, shown, value[rows], top[rows], domains, faults))
    return made


def counts_of(entry: Entry) -> tuple[Floats, int]:
    """The printed counts, NaN where there is none, and how many are no counts."""
    if entry.value is None:
        return np.ones(entry.table.rows), 0
    if entry.value not in entry.table:
        raise OptionError(f"table {entry.name!r}: {no_column([entry.value], entry.table.names)}")
    vector = entry.table[entry.value]
    if vector.is_number and not vector.column.special:
        value = vector.floats()
    else:
        shown = texts(entry.table, entry.value)
        value = np.array([_number(text) for text in shown], np.float64)
    odd = np.isinf(value) | ((value != np.rint(value)) & (entry.kind != "noisy"))
    wrong = odd | ((value < 0) & (entry.kind != "noisy"))
    return value, int((wrong & ~np.isnan(value)).sum())


def tops_of(entry: Entry) -> Ints:
    """What counts are said to lie below ("<5"), as the largest each can be; `NO_LIMIT` where nothing is said.

    Examples
    --------
    >>> tops_of(Entry("t", Table.from_frame({"a": ["x", "y"], "n": ["<5", "7"]}))).tolist() == [4, NO_LIMIT]
    True
    """
    top = np.full(entry.table.rows, NO_LIMIT, np.int64)
    if entry.value is None or entry.kind == "noisy" or entry.table[entry.value].is_number:
        return top
    for row, text in enumerate(texts(entry.table, entry.value)):
        said = BELOW.fullmatch(text.strip().lower())
        if said:
            top[row] = max(int(said[2]) - (said[1] not in ("<=", "≤")), 0) + reach_of(entry.kind, entry.base)
    return top


def _number(text: str) -> float:
    plain = text.strip().lower()
    if plain in (*MARKS, "missing", "nan", "none") or BELOW.fullmatch(plain):
        return np.nan
    try:
        return float(plain.replace(",", ""))
    except ValueError:
        return np.inf


def _margin(
    entry: Entry, by: list[str], labels: Mapping[str, Any], value: Floats, top: Ints, domains: Domains,
    faults: list[str],
) -> Margin:  # fmt: skip
    allowed = population(entry, domains, faults)
    every = [c for c in domains if c in by or not allowed[c].all()]
    groups, maps, codes = [], [], []
    for name in every:
        meant = entry.groups.get(name, {})
        # A table of some people alone is named after them.
        some = [domains[name][i] for i in np.flatnonzero(allowed[name])]
        shown = (
            sorted(set(labels[name])) if name in by else [" or ".join(some[:4]) + " or …" * (len(some) > 4)]
        )
        place = {v: i for i, v in enumerate(domains[name])}
        new = [np.full(len(place), -1, np.int64)]
        for g, label in enumerate(shown):
            parts = map(str, meant.get(label, [label])) if name in by else domains[name]
            new[0][[place[part] for part in parts]] = g
        if entry.complete and name in by:  # values that do not occur have empty cells of their own
            left = np.flatnonzero(new[0] < 0)
            new[0][left] = len(shown) + np.arange(len(left))
            shown = [*shown, *(domains[name][i] for i in left)]
        groups.append(tuple(shown))
        maps.append(np.where(allowed[name], new[0], -1))
        at = {label: g for g, label in enumerate(shown)}
        codes.append(
            np.array([at[x] for x in labels[name]], np.int64)
            if name in by
            else np.zeros(len(value), np.int64)
        )
    shape = tuple(map(len, groups))
    if np.prod([float(size) for size in shape]) > MOST_CELLS:
        raise OptionError(f"table {entry.name!r} crosses more cells than can be numbered")
    key = (
        np.ravel_multi_index(tuple(codes), shape).astype(np.int64)
        if every
        else np.zeros(len(value), np.int64)
    )
    return _listed(entry, tuple(every), tuple(groups), tuple(maps), key, value, top, faults)


def _listed(
    entry: Entry,
    columns: tuple[str, ...],
    groups: Any,
    maps: Any,
    key: Ints,
    value: Floats,
    top: Ints,
    faults: list[str],
) -> Margin:
    keys, first, times = np.unique(key, return_index=True, return_counts=True)
    if entry.value is None:
        printed = times.astype(np.float64)
    else:
        printed = value[first]
        if (times > 1).any():
            faults.append(f"table {entry.name!r}: {int((times > 1).sum())} cells are listed twice")
    low, high = known_range(printed, entry.kind, entry.base, entry.scale)
    high = np.minimum(high, top[first])
    scale = np.full(len(keys), entry.scale if entry.kind == "noisy" else 0.0)
    return Margin(
        entry.name, columns, groups, maps, keys, low, high, printed, scale, entry.complete, entry.source,
        str(entry.date), entry.where,
    )  # fmt: skip


def population(entry: Entry, domains: Domains, faults: list[str]) -> dict[str, Bools]:
    """For every column, the values of the people a table speaks of."""
    every = {name: np.ones(len(values), np.bool_) for name, values in domains.items()}
    if not entry.where:
        return every
    rule = Rule.parse(entry.where)
    unknown = [name for name in rule.columns if name not in domains]
    if unknown:
        faults.append(f"table {entry.name!r}: where: {no_column(unknown, list(domains))}; {DOMAINS}")
        return every
    combined = list(product(*(domains[name] for name in rule.columns)))
    frame = {name: [row[i] for row in combined] for i, name in enumerate(rule.columns)}
    held = rule.holds(Table.from_frame(frame)).reshape([len(domains[name]) for name in rule.columns])
    for axis, name in enumerate(rule.columns):
        every[name] = np.asarray(held.any(axis=tuple(a for a in range(held.ndim) if a != axis)))
    grid = np.ix_(*(every[name] for name in rule.columns))
    if not held.any():
        faults.append(
            f"table {entry.name!r}: where: it holds for no value of {names(rule.columns)} that a table shows; {DOMAINS}"
        )
    elif not held[grid].all():
        faults.append(
            f"table {entry.name!r}: where: join conditions on single columns ({names(rule.columns)}) by 'and'"
        )
    return every
