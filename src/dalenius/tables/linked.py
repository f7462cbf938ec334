"""Linked tables: several tables from the same microdata, protected together.

``"global"`` treats all tables as one system of equations. The others give each table inner cells of its own and differ
in how they coordinate common cells, which are the same sum of inner cells whatever they are called. None of them sees
what follows from all tables together, so every way ends in an audit over all of them, and what fails is repaired.
Names and meanings are those of the R package GaussSuppression.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import polars as pl
import scipy.sparse as sp

from dalenius.core.errors import OptionError, names
from dalenius.published.enough import Requirement
from dalenius.tables.blocks import Blocks, side_by_side
from dalenius.tables.gauss import CONTRIBUTOR, ELSEWHERE, Progress, gauss_suppress
from dalenius.tables.model import Bools, Ints, TableModel
from dalenius.tables.options import SingletonRules
from dalenius.tables.order import candidate_order
from dalenius.tables.part_rules import protections_of, rules_within
from dalenius.tables.protect import (
    owners_of,
    protect,
    singleton_rules,
    small_method,
    small_rows,
    suppress,
    zeros_matter,
)
from dalenius.tables.protected import first_of_kind, signatures
from dalenius.tables.protection import PrimaryRule, joined_differences
from dalenius.tables.repair import repaired
from dalenius.tables.rules import Manual, default_rules
from dalenius.tables.suppression import Suppression

Linking = Literal[
    "global", "local", "local-bdiag", "back-tracking", "consistent", "super-consistent", "chained"
]

EVERYWHERE = ("small", "singleton", "secondary_zeros", "used_marking", "progress")
TABLE_BY_TABLE = (*EVERYWHERE, "singleton_zeros")
"""Options of `protect` that linked tables take: in one elimination, and where each is protected by itself."""


@dataclass(frozen=True, eq=False)
class LinkedSuppression:
    """Linked tables after protection.

    Attributes
    ----------
    combined
        All cells of all tables once; a cell is suppressed if it is suppressed in any table.
    tables
        The outcome table by table.
    disagreeing
        Common cells with different status in different tables (only possible with "local").
    """

    combined: Suppression
    tables: Mapping[str, Suppression]
    disagreeing: int

    def __str__(self) -> str:
        parts = "; ".join(
            f"{name}: {int(t.suppressed.sum())} of {len(t.primary)}" for name, t in self.tables.items()
        )
        odd = (
            f" {self.disagreeing} common cells have different status in different tables."
            if self.disagreeing
            else ""
        )
        return f"{self.combined} By table: {parts}.{odd}"


def protect_linked(
    model: TableModel,
    *rules: PrimaryRule,
    how: Linking = "global",
    repair: bool = True,
    unions: bool = True,
    requirement: Requirement | None = None,
    **options: Any,
) -> LinkedSuppression:
    """Protect the tables of a model made with ``define(..., tables=…)``.

    Parameters
    ----------
    model
        The tables.
    rules
        Primary rules.
    how
        "global": one system. "local": each table alone ("local-bdiag": the same in one run). "back-tracking": each
        table alone, again and again, until common cells have the same status. "consistent": all tables side by side;
        a common cell is published only if that is safe in every table, and once suppressed stays protected in all of
        them. "super-consistent": all tables side by side, and an intruder knows that common cells have the same
        value. "chained": the tables appear one after the other; what an earlier table published stays published and
        what it suppressed stays protected (time series).
    repair, requirement
        All tables are audited together, and further cells are suppressed until no protected cell can be computed; the
        notes tell the price. ``repair=False`` is the bare way of linking, as R's package does it.
    unions
        As in `protect`, over all tables together.
    options
        As in `protect`; those that name single cells or their order only with "global".

    Examples
    --------
    >>> from dalenius.tables import define, protect_linked, SmallCount
    >>> data = {"sex": list("ffmm"), "job": list("abab"), "age": list("yooy"), "n": [2, 9, 8, 7]}
    >>> model = define(data, tables={"jobs": ["sex", "job"], "ages": ["sex", "age"]}, freq="n")
    >>> print(protect_linked(model, SmallCount(3), how="consistent"))
    8 of 15 cells are suppressed: 2 because a rule asks for it (small count 2), 6 to protect them. By table:
    jobs: 4 of
    9; ages: 4 of 9.
    """
    if not model.tables:
        raise OptionError("the model has one table; name several with define(..., tables=...)")
    if how not in get_args(Linking):
        raise OptionError(f"unknown way {how!r} to link tables; there are: {', '.join(get_args(Linking))}")
    rules = rules or default_rules(model)
    if how == "global":
        whole = protect(model, *rules, repair=repair, unions=unions, requirement=requirement, **options)
        return _collect(model, {name: _part(whole, mask) for name, mask in model.tables.items()}, whole)
    _check_options(how, options)
    if how == "chained":
        return _chained(
            model, rules, {"repair": repair, "unions": unions, "requirement": requirement, **options}
        )
    parts = {name: table_of(model, mask) for name, mask in model.tables.items()}
    own = {name: rules_within(model, rules, mask) for name, mask in model.tables.items()}
    if how == "local":
        tables = {name: protect(part, *own[name], repair=False, **options) for name, part in parts.items()}
    elif how == "back-tracking":
        tables = _back_tracking(model, parts, own, options)
    else:
        tables = _in_blocks(model, parts, own, how, **options)
    outcome = _collect(model, tables, rules=rules)
    asked = {"requirement": requirement or Requirement(), "unions": unions}
    return _made_safe(outcome, how, asked, options) if repair else outcome


def _made_safe(
    outcome: LinkedSuppression, how: str, asked: Mapping[str, Any], options: Mapping[str, Any]
) -> LinkedSuppression:
    """Audit all tables together; what was suppressed stays so, and more goes where that is not enough."""
    before = outcome.combined
    alike = _alike(before.model, before.suppressed)
    price = int(alike.sum()) - int(before.suppressed.sum())
    checked = replace(before, secondary=alike & ~before.primary).audit(**asked)
    if checked.passed and not price:
        tables = {name: replace(part, checked=checked) for name, part in outcome.tables.items()}
        return replace(outcome, combined=replace(before, checked=checked), tables=tables)
    if checked.passed:
        whole = replace(before, secondary=alike & ~before.primary, checked=checked)
        whole = replace(whole, cause=np.where(whole.secondary & ~before.secondary, ELSEWHERE, whole.cause))
    else:
        rules = before.rules
        kept = {name: value for name, value in options.items() if name != "progress"}
        whole = repaired(
            lambda *more, sums=None: suppress(before.model, (*rules, *more), taken=alike, sums=sums, **kept),
            rules,
            **asked,
        )
        whole = replace(whole, notes=(*before.notes, *(n for n in whole.notes if "still at risk" in n)))
        price = int(whole.suppressed.sum()) - int(before.suppressed.sum())
    note = (
        f"All tables together asked for {price:,} further cells; {how!r} alone had suppressed "
        f"{int(before.suppressed.sum()):,}."
    )
    whole = replace(whole, notes=(*whole.notes, note))
    model = before.model
    return _collect(model, {name: _part(whole, mask) for name, mask in model.tables.items()}, whole)


def _alike(model: TableModel, suppressed: Bools) -> Bools:
    """The suppressed cells and those that are the same sum of inner cells under another name."""
    place = first_of_kind(signatures(model.matrix))
    hit = np.zeros(len(suppressed), np.bool_)
    hit[place[suppressed]] = True
    return np.asarray(hit[place] & ((model.sizes > 0) | suppressed))


def _check_options(how: Linking, options: Mapping[str, Any]) -> None:
    """Options that single tables cannot take are refused rather than read as something else."""
    known = TABLE_BY_TABLE if how in ("local", "back-tracking", "chained") else EVERYWHERE
    odd = [name for name in options if name not in known]
    if odd:
        raise OptionError(
            f"how={how!r} does not take {names(odd)}, only {names(known)}; how='global' takes all"
        )


def table_of(model: TableModel, mask: Bools) -> TableModel:
    """One of the linked tables with inner cells of its own: inner cells it cannot tell apart are merged.

    Examples
    --------
    >>> from dalenius.tables import define
    >>> data = {"sex": ["f", "f", "m"], "job": ["a", "b", "a"]}
    >>> model = define(data, tables={"sexes": ["sex"], "jobs": ["job"]})
    >>> table_of(model, model.tables["sexes"])
    TableModel(3 cells of 2 inner cells: sex × job)
    """
    matrix = sp.csr_matrix(model.matrix[:, np.flatnonzero(mask)])
    place = first_of_kind(signatures(matrix.T))
    heads, group = np.unique(place, return_inverse=True)
    keep = np.diff(matrix.indptr)[heads] > 0
    renumber = np.where(keep, np.cumsum(keep) - 1, -1)
    group = renumber[group]
    inside = group >= 0
    heads = heads[keep]
    counts = np.bincount(group[inside], model.counts[inside], len(heads)).astype(np.int64)
    values = None
    if model.values is not None:
        values = np.asarray(np.bincount(group[inside], model.values[inside], len(heads)), np.float64)
    records = model.records
    if records is not None:
        covered = inside[records.inner]
        records = records.of(covered, group[records.inner[covered]])
    return TableModel(
        model.dimensions, model.cells.filter(pl.Series(mask)), model.inner[heads], sp.csc_matrix(matrix[heads]), counts,
        values, records, perhaps=model.perhaps,
    )  # fmt: skip


def _part(whole: Suppression, mask: Bools) -> Suppression:
    """The outcome of one table out of that of all."""
    places = np.cumsum(mask) - 1
    cause = whole.cause[mask]
    known = (cause >= 0) & mask[np.maximum(cause, 0)]
    cause = np.where(cause >= 0, np.where(known, places[np.maximum(cause, 0)], CONTRIBUTOR), cause)
    order = whole.order[mask[whole.order]]
    return replace(
        whole,
        model=table_of(whole.model, mask),
        primary=whole.primary[mask],
        secondary=whole.secondary[mask],
        forced=whole.forced[mask],
        hidden=whole.hidden[mask],
        unsafe=whole.unsafe[mask],
        marks={name: m[mask] for name, m in whole.marks.items()},
        cause=cause,
        order=places[order],
        differences=None,
    )


def _collect(
    model: TableModel,
    tables: Mapping[str, Suppression],
    whole: Suppression | None = None,
    rules: tuple[PrimaryRule, ...] = (),
) -> LinkedSuppression:
    cells = len(model.cells)
    votes, seen = np.zeros(cells, np.int64), np.zeros(cells, np.int64)
    primary, forced, hidden, unsafe = (np.zeros(cells, np.bool_) for _ in range(4))
    marks: dict[str, Bools] = {}
    cause = np.full(cells, np.iinfo(np.int64).min)
    for name, mask in model.tables.items():
        part = tables[name]
        places = np.flatnonzero(mask)
        seen[places] += 1
        votes[places] += part.suppressed
        for total, own in (
            (primary, part.primary),
            (forced, part.forced),
            (hidden, part.hidden),
            (unsafe, part.unsafe),
        ):
            total[places] |= own
        for rule, own in part.marks.items():
            marks.setdefault(rule, np.zeros(cells, np.bool_))[places] |= own
        cause[places] = np.where(
            part.secondary,
            np.where(part.cause >= 0, places[np.maximum(part.cause, 0)], part.cause),
            cause[places],
        )
    if whole is None:
        notes = next(iter(tables.values())).notes
        whole = Suppression(model, primary, (votes > 0) & ~primary, forced, hidden, unsafe, marks, cause,
                            candidate_order(model), notes, rules, _all_differences(model, rules))  # fmt: skip
    return LinkedSuppression(whole, tables, int(((votes > 0) & (votes < seen)).sum()))


def _all_differences(model: TableModel, rules: tuple[PrimaryRule, ...]) -> Any | None:
    """The differences that every table by itself must not give away, over the inner cells of the model."""
    asked = [
        protections_of(model.restrict(mask), rules_within(model, rules, mask))
        for mask in model.tables.values()
    ]
    return joined_differences(each for own in asked for each in own.values())


def _chained(
    model: TableModel, rules: tuple[PrimaryRule, ...], options: Mapping[str, Any]
) -> LinkedSuppression:
    """Release after release, each protected together with everything that is already out."""
    out, kept = np.zeros(len(model.cells), np.bool_), np.zeros(len(model.cells), np.bool_)
    seen = np.zeros(len(model.cells), np.bool_)
    asked = protections_of(model, rules)
    primary = np.logical_or.reduce([each.mask for each in asked.values()])
    notes: list[str] = []
    for name, mask in model.tables.items():
        now = seen | mask
        out, kept = _alike(model, out), _alike(model, kept)
        part = model.restrict(now)
        given = Manual(kept[now], "suppressed earlier")
        result = protect(part, *rules_within(model, rules, now), given, forced=out[now], **options)
        notes += [f"{name}: {note}" for note in result.notes]
        places = np.flatnonzero(now)
        new = mask[now] & ~seen[now]
        kept[places[new & result.suppressed]] = True
        out[places[new & ~result.suppressed]] = True
        seen = now
        last = result
    marks = {label: each.mask for label, each in asked.items()}
    none = np.zeros(len(model.cells), np.bool_)
    whole = Suppression(model, primary & kept, kept & ~primary, none, none, last.unsafe, marks,
                        np.full(len(kept), ELSEWHERE), candidate_order(model), tuple(notes), rules,
                        joined_differences(asked.values()))  # fmt: skip
    if options["repair"]:
        whole = replace(
            whole, checked=whole.audit(requirement=options["requirement"], unions=options["unions"])
        )
    return _collect(model, {name: _part(whole, mask) for name, mask in model.tables.items()}, whole)


def _back_tracking(
    model: TableModel,
    parts: Mapping[str, TableModel],
    rules: Mapping[str, tuple[PrimaryRule, ...]],
    options: Mapping[str, Any],
) -> dict[str, Suppression]:
    """Protect table by table; what one suppresses is primary in the others; stop when nothing changes."""
    suppressed = np.zeros(len(model.cells), np.bool_)
    while True:
        before = int(suppressed.sum())
        results = {}
        for name, mask in model.tables.items():
            given = Manual(suppressed[mask], "suppressed in another table")
            results[name] = protect(parts[name], *rules[name], given, repair=False, **options)
            suppressed[np.flatnonzero(mask)[results[name].suppressed]] = True
            suppressed = _alike(model, suppressed)
        if int(suppressed.sum()) == before:
            return {name: result.under(rules[name]) for name, result in results.items()}


def _in_blocks(
    model: TableModel,
    parts: Mapping[str, TableModel],
    rules: Mapping[str, tuple[PrimaryRule, ...]],
    how: Linking,
    *,
    small: str = "auto",
    singleton: SingletonRules | str | None = None,
    secondary_zeros: bool = False,
    used_marking: str = "early",
    progress: Progress | None = None,
) -> dict[str, Suppression]:
    """One elimination over all tables; how common cells hang together is what the ways differ in."""
    blocks = Blocks.of(model, parts)
    single = singleton_rules(model, singleton)
    asked = {name: protections_of(part, rules[name]) for name, part in parts.items()}
    marks = {name: {label: each.mask for label, each in own.items()} for name, own in asked.items()}
    primary = {name: np.logical_or.reduce(list(own.values())) for name, own in marks.items()}
    differences = {name: joined_differences(own.values()) for name, own in asked.items()}
    zeros = secondary_zeros or any(own is not None for own in differences.values())
    closed = zeros_matter(model, [each for own in asked.values() for each in own.values()])
    if how == "local-bdiag":
        tried = np.concatenate([
            blocks.places[name].start + candidate_order(part, secondary_zeros=zeros)
            for name, part in parts.items()
        ])  # fmt: skip
    else:
        rank = np.argsort(candidate_order(model, secondary_zeros=zeros))
        tried = np.argsort(rank[blocks.cell], kind="stable")
    result = gauss_suppress(
        blocks.matrix,
        tried,
        np.concatenate(list(primary.values())),
        small_rows=np.concatenate([small_rows(part, zeros or closed) for part in parts.values()]),
        small=small_method(model, small, zeros, closed),
        used_marking=used_marking,
        owners=_owners(parts, primary) if single.active else None,
        singleton=single,
        extra=side_by_side(differences.values()),
        known=blocks.differences if how == "super-consistent" else None,
        groups=blocks.common + 1 if how == "consistent" else None,
        progress=progress,
    )
    secondary, unsafe = np.zeros(len(blocks.cell), np.bool_), np.zeros(len(blocks.cell), np.bool_)
    secondary[result.secondary] = True
    unsafe[result.unsafe] = True
    cause = np.full(len(blocks.cell), ELSEWHERE)
    cause[result.secondary] = result.cause
    rank = np.argsort(tried)
    return {
        name: _of_block(
            parts[name], marks[name], secondary[at], unsafe[at], _inside(cause[at], at), np.argsort(rank[at]),
            result.notes, rules[name], differences[name],
        )
        for name, at in blocks.places.items()
    }  # fmt: skip


def _inside(cause: Ints, at: slice) -> Ints:
    """Causes that are cells of the same block by their place in it; others are elsewhere."""
    own = (cause >= at.start) & (cause < at.stop)
    return np.where(own, cause - at.start, np.where(cause >= 0, ELSEWHERE, cause))


def _of_block(
    part: TableModel,
    marks: dict[str, Bools],
    secondary: Bools,
    unsafe: Bools,
    cause: Ints,
    order: Ints,
    notes: tuple[str, ...],
    rules: tuple[PrimaryRule, ...],
    differences: Any | None,
) -> Suppression:
    none = np.zeros(len(secondary), np.bool_)
    primary = np.logical_or.reduce(list(marks.values()))
    return Suppression(
        part, primary, secondary, none, none, unsafe, marks, cause, order, notes, rules, differences
    )


def _owners(parts: Mapping[str, TableModel], primary: Mapping[str, Bools]) -> Ints:
    """Single contributors of the inner cells of all tables; without contributor codes every record is its own."""
    owners: list[Ints] = []
    for name, part in parts.items():
        own = owners_of(part, primary[name])
        if part.records is None or part.records.contributor is None:
            own = np.where(own > 0, own + max((int(o.max(initial=0)) for o in owners), default=0), 0)
        owners.append(own)
    return np.concatenate(owners)
