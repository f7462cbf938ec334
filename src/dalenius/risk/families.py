"""Risk of families and of sequences of events, counted by the topmost parent and beside people outside the data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import numpy as np
import polars as pl

from dalenius.core.intervals import wilson
from dalenius.core.option import Option
from dalenius.core.random import generator
from dalenius.core.result import WHOLE, Result, figure
from dalenius.counts.database_pair import DatabasePair, database_measure, in_order
from dalenius.counts.pair import Pair
from dalenius.data.relations import Database, Link
from dalenius.data.schema import Kind, Role
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, BoolArray, IntArray


def _spelled(table: Table, columns: Sequence[str]) -> pl.DataFrame:
    """Cells as plain values, so that equal ones are equal in every file."""
    frame = table.select(columns).to_frame("polars")
    return frame.with_columns(pl.all().cast(pl.String).fill_null("(none)"))


def _chosen(pair: DatabasePair, link: Link) -> list[str]:
    """Columns of a child that an intruder may know: its keys by role, otherwise all but free text and weights."""
    table = pair.original.bare(link.child)
    shared = [n for n in table.names if n in pair.protected[link.child]]
    named = [n for n in table.schema.by_role(Role.KEY) if n in shared]
    never = (Role.WEIGHT, Role.IDENTIFIER, Role.ENTITY, Role.HOUSEHOLD)
    plain = [
        n
        for n in shared
        if table[n].column.kind is not Kind.TEXT and not any(table.schema[n].has(r) for r in never)
    ]
    return named or plain


def compositions(base: Database, link: Link, columns: Sequence[str]) -> AnyArray:
    """One number for each parent that is the same for families of the same members, in any order; 0 without any.

    Examples
    --------
    >>> base = Database.of({"a": {"id": [1, 2, 3]}, "b": {"a_id": [1, 1, 2, 2], "x": ["u", "v", "v", "u"]}})
    >>> found = compositions(base, base.links[0], ["x"])
    >>> bool(found[0] == found[1]), int(found[2])
    (True, 0)
    """
    places = base.places(link)
    rows = np.flatnonzero(places >= 0)
    words = _spelled(base[link.child], columns).select(pl.concat_str(pl.all(), separator="\x1f").hash(seed=7))
    hashed = words.to_series().to_numpy()[rows] | np.uint64(1)
    mixed = hashed * np.uint64(0x9E3779B97F4A7C15)
    order = np.argsort(places[rows], kind="stable")
    total = np.zeros(base[link.parent].rows, np.uint64)
    owners = places[rows][order]
    if len(owners):
        starts = np.flatnonzero(np.append(True, owners[1:] != owners[:-1]))
        total[owners[starts]] = np.add.reduceat(mixed[order], starts)
    return total


def _comes_out(people: AnyArray, made: AnyArray) -> tuple[BoolArray, BoolArray]:
    """Families that no other of their file is like, and those of them that the made file has."""
    _, inverse, times = np.unique(people, return_inverse=True, return_counts=True)
    alone = (times[inverse] == 1) & (people != 0)
    return alone, alone & np.isin(people, made)


def _result(name: str, hits: Sequence[tuple[int, int]], what: str, table: pl.DataFrame) -> Result:
    """A share of people in the data beside that of people outside."""
    shares = [100 * hit / base if base else 0.0 for hit, base in hits]
    outside = shares[1] if len(shares) > 1 else None
    said = f"{figure(shares[0], '%')} {what}"
    said += "" if outside is None else f"; of people who are not in the data {figure(outside, '%')}"
    return Result(
        name, shares[0], f"{said}.", unit="%", level=shares[0], outside=outside,
        yardsticks={} if outside is None else {"people outside the data": outside},
        interval=wilson(hits[0][0], hits[0][1], scale=100) if hits[0][1] else None,
        table=table, counts=WHOLE, trusted=outside is not None,
    )  # fmt: skip


@database_measure(
    name="family-copies", title="Families that come out again", family="risk", better="lower", bounds=(0, 100),
    unit="%",
    meaning="Per cent of the families that nobody else in the original is like (members and number) that the protected "
    "database has again.",
    reference="Thees, Novák, Templ 2024 (cloned compositions); replicated uniques, of families",
    needs=frozenset({"several children"}), dimension="copying", sees_spread=False,
)  # fmt: skip
def family_copies(pair: DatabasePair, columns: Sequence[str] | None = None) -> Result:
    """Unique compositions (all members with the columns an intruder may know) that come out again.

    Examples
    --------
    >>> base = Database.of({"a": {"id": [1, 2]}, "b": {"a_id": [1, 1, 2], "x": ["u", "v", "v"]}})
    >>> family_copies(DatabasePair(base, base)).value
    100.0
    """
    rows, hits = [], np.zeros((len(pair.sides) - 1, 2), int)
    for link in pair.links:
        if link.own or pair.original.cardinality(link) != "1-n":
            continue
        used = (
            [c for c in columns if c in pair.original[link.child]]
            if columns is not None
            else _chosen(pair, link)
        )
        if not used:
            continue
        sides = [compositions(base, link, used) for base in pair.sides]
        found = [_comes_out(people, sides[1]) for people in (sides[0], *sides[2:])]
        counted = [(int(again.sum()), int(alone.sum())) for alone, again in found]
        hits += np.array(counted)
        rows.append(
            {"families": f"{link.parent} with {link.child}", "unique": counted[0][1], "again": counted[0][0]}
        )
    table = pl.DataFrame(rows, schema={"families": pl.String, "unique": pl.Int64, "again": pl.Int64})
    words = "of the families that nobody is like come out again"
    return _result("family-copies", [(int(a), int(b)) for a, b in hits], words, table)


@database_measure(
    name="known-events", title="Singled out by known events", family="risk", better="lower", bounds=(0, 100), unit="%",
    meaning="Per cent of people with k events, known to somebody, whom exactly one made person fits.",
    reference="de Montjoye, Hidalgo, Verleysen, Blondel 2013 (points that single out a trace)",
    needs=frozenset({"an order"}), dimension="singling out", random=True,
)  # fmt: skip
def known_events(
    pair: DatabasePair,
    k: Annotated[int, Option(at_least=1)] = 2,
    seed: int = 0,
    columns: Sequence[str] | None = None,
) -> Result:
    """Take k events of each person at random; count those whom they fit one made person, and only one."""
    rows, hits = [], np.zeros((len(pair.sides) - 1, 2), int)
    for link in pair.links:
        if link.own or link.child not in pair.original.order:
            continue
        order = pair.original.order[link.child]
        used = list(dict.fromkeys([order, *(columns if columns is not None else _chosen(pair, link))]))
        made = _events(pair.protected, link, used)
        for i, base in enumerate([pair.original, *pair.sides[2:]]):
            known = _known(base, link, order, used, k, seed)
            fits = _fitting(known, made, k)
            hits[i] += (int((fits == 1).sum()), known["person"].n_unique())
        rows.append({"events": link.child, "known": k, "people": int(hits[0][1])})
    table = pl.DataFrame(rows, schema={"events": pl.String, "known": pl.Int64, "people": pl.Int64})
    words = f"of the people of whom {k} events are known are fitted by exactly one made person"
    return _result("known-events", [(int(a), int(b)) for a, b in hits], words, table)


def _events(base: Database, link: Link, columns: Sequence[str]) -> pl.DataFrame:
    places = base.places(link)
    words = _spelled(base[link.child], columns).select(
        pl.concat_str(pl.all(), separator="\x1f").alias("event")
    )
    return words.with_columns(person=pl.Series(places)).filter(pl.col("person") >= 0).unique()


def _known(base: Database, link: Link, order: str, columns: Sequence[str], k: int, seed: int) -> pl.DataFrame:
    """K events of each person who has as many, drawn at random."""
    rows = in_order(base, link, order)
    owners = base.places(link)[rows]
    turn = generator(seed, "known events", link.child).random(len(rows))
    shuffled = np.lexsort((turn, owners))
    rows, owners = rows[shuffled], owners[shuffled]
    starts = np.flatnonzero(np.append(True, owners[1:] != owners[:-1])[: len(owners)])
    sizes = np.diff(np.append(starts, len(owners)))
    place = np.arange(len(owners)) - np.repeat(starts, sizes)
    keep = (place < k) & (np.repeat(sizes, sizes) >= k)
    words = _spelled(base[link.child].take(rows[keep]), columns)
    return words.select(pl.concat_str(pl.all(), separator="\x1f").alias("event")).with_columns(
        person=pl.Series(owners[keep].astype(np.int64))
    )


def _fitting(known: pl.DataFrame, made: pl.DataFrame, k: int) -> IntArray:
    """How many made persons have all known events of each person who has any fit."""
    both = known.unique().join(made, on="event", how="inner", suffix="_made")
    wanted = known.unique().group_by("person").len("wanted")
    full = both.group_by("person", "person_made").len("met").join(wanted, on="person")
    return full.filter(pl.col("met") == pl.col("wanted")).group_by("person").len("n")["n"].to_numpy()


@database_measure(
    name="has-child", title="Whether somebody has a record in another table", family="risk", better="lower",
    bounds=(0, 100), unit="%",
    meaning="Per cent of people of whom the protected database tells rightly, from their other columns, whether they "
    "have a record in another table, where all made people like them agree and most others differ.",
    reference="Raab 2024 (disclosive in synthetic, correct in original), of a record as the secret",
    needs=frozenset({"parents without a child"}), dimension="attribution",
)  # fmt: skip
def has_child(pair: DatabasePair, columns: Sequence[str] | None = None) -> Result:
    """Parents whose combination of columns decides in the protected database whether there is a child, and rightly."""
    rows, hits = [], np.zeros((len(pair.sides) - 1, 2), int)
    for link in pair.links:
        sizes = [base.sizes(link) for base in pair.sides]
        if link.own or not (sizes[0] == 0).any() or not (sizes[0] > 0).any() or not len(sizes[1]):
            continue
        held = pair.table(link.parent)
        if held is None:
            continue
        used = [
            c for c in (columns if columns is not None else held.keys or held.columns) if c in held.columns
        ]
        if not used:
            continue
        cells = _cells(held, used)
        made = [
            np.bincount(cells[1], (sizes[1] > 0) == side, minlength=_top(cells)) for side in (False, True)
        ]
        rarer = bool((sizes[1] > 0).mean() <= 0.5)
        for i, (codes, own) in enumerate(zip([cells[0], *cells[2:]], [sizes[0], *sizes[2:]], strict=True)):
            sure = ((made[0] == 0) != (made[1] == 0))[codes]
            told = (made[1] > 0)[codes]
            right = sure & (told == (own > 0)) & (told == rarer)  # what most people are is no news
            hits[i] += (int(right.sum()), len(codes))
        rows.append({"secret": f"a record in {link.child}", "columns": ", ".join(used)})
    table = pl.DataFrame(rows, schema={"secret": pl.String, "columns": pl.String})
    words = "of the people are known rightly to have, or not to have, a record in another table"
    return _result("has-child", [(int(a), int(b)) for a, b in hits], words, table)


def _cells(pair: Pair, columns: Sequence[str]) -> list[AnyArray]:
    """Every row's combination of columns as one number, in all files alike."""
    joint: list[AnyArray] = []
    for name in columns:
        aligned = pair.categories(name)
        sides = [s for s in (aligned.original, aligned.protected, aligned.holdout) if s is not None]
        codes = [s.codes.astype(np.int64) for s in sides]
        if joint:
            mixed = [j * len(sides[0].labels) + c for j, c in zip(joint, codes, strict=True)]
            _, together = np.unique(np.concatenate(mixed), return_inverse=True)
            joint = list(np.split(together, np.cumsum([len(m) for m in mixed])[:-1]))
        else:
            joint = codes
    return joint


def _top(cells: Sequence[AnyArray]) -> int:
    return 1 + max(int(c.max(initial=0)) for c in cells)
