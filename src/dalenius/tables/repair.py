"""`repair`: suppress further cells until the audit passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from dalenius.published.enough import Requirement
from dalenius.tables.audit import Audit, audit
from dalenius.tables.completion import completed
from dalenius.tables.model import Bools, Ints
from dalenius.tables.protected import without_repeats
from dalenius.tables.protection import PrimaryRule
from dalenius.tables.release import Check, released
from dalenius.tables.rules import Manual
from dalenius.tables.suppression import Suppression

MOST_ROUNDS = 60
MANY, MANY_SHARE = 3, 0.2
"""From so many further cells, and so large a part of those before, it is worth looking at other ways."""


def repaired(
    suppress: Callable[..., Suppression],
    rules: tuple[PrimaryRule, ...],
    requirement: Requirement,
    unions: bool = True,
) -> Suppression:
    """Suppress, audit and close further cells until nothing is at risk.

    In a small table integer programs choose the cells (`completed`). Otherwise, or where these do not help, each cell
    at risk gets in every round the least useful published cell that overlaps it, the elimination protects the added
    cells like primary ones, and sums of suppressed cells that are known and break a rule (``unions``) as sums. At the
    end added cells that are not needed are opened again (`released`). ``suppress`` takes further rules, and sums, and
    returns the outcome.
    """
    result = suppress()
    bare = result.under(rules)
    before = int(bare.suppressed.sum())

    def check(outcome: Suppression) -> Audit:
        return audit(outcome, requirement=requirement, unions=unions)

    final, found = completed(bare, check(bare), check)
    if not found.passed:
        final, found = _eliminated(suppress, result, rules, check)
    if found.passed and int(final.suppressed.sum()) > before:
        final, found = released(bare, final, found, check)
    price = int(final.suppressed.sum()) - before
    note = _told(price, before) if price else ""
    rest = (
        ""
        if found.passed
        else f"{len(found.failing):,} cells are still at risk and no published cell is left that would help."
    )
    notes = (*final.notes, *(text for text in (note, rest) if text))
    return replace(final, notes=notes, checked=found)


def _eliminated(
    suppress: Callable[..., Suppression], result: Suppression, rules: tuple[PrimaryRule, ...], check: Check
) -> tuple[Suppression, Audit]:
    """Cells next to those at risk are added and protected by the elimination like primary ones, round after round."""
    added = np.zeros(len(result.primary), np.bool_)
    sums = sp.csc_matrix((len(result.model.counts), 0), dtype=np.int64)
    for _ in range(MOST_ROUNDS):
        found = check(result.under(rules))
        more = np.zeros_like(added) if found.passed else _next_cells(result, found)
        fresh = _fresh(sums, found)
        if not more.any() and not fresh.shape[1]:
            break
        added |= more
        sums = sp.hstack([sums, fresh]).tocsc()
        result = suppress(
            *([Manual(added, "repair")] if added.any() else []), sums=sums if sums.shape[1] else None
        )
    else:
        found = check(result.under(rules))
    return result.under(rules), found


def _told(price: int, before: int) -> str:
    """What the repair cost, and where fewer cells may be had."""
    note = f"The audit asked for {price:,} further cells; the elimination alone had suppressed {before:,}."
    if price < MANY or price < MANY_SHARE * before:
        return note
    return f"{note} Other ways may need fewer: compare_ways (tables compare) shows what each costs."


def _fresh(sums: sp.spmatrix, found: Audit) -> sp.spmatrix:
    """Sums that are known and break a rule, and are not protected yet."""
    return without_repeats(found.unions.sums, sums) if found.unions.count else sums[:, :0]


def _next_cells(result: Suppression, found: Audit) -> Bools:
    """For every cell at risk the least useful open cell in the smallest group around it, or that group itself."""
    matrix = sp.csc_matrix(result.model.matrix)
    usefulness = np.empty(len(result.primary), np.int64)
    usefulness[result.order] = np.arange(len(result.order))[::-1]
    open_cells = ~result.suppressed & ~result.forced & ~result.hidden & (result.model.amount != 0)
    chosen = np.zeros(len(result.primary), np.bool_)
    overlap = sp.csc_matrix((matrix != 0).astype(np.int64))
    sizes = np.diff(overlap.indptr)
    at_risk = [*found.alone.tolist(), *_inside_differences(found)]
    for rows in (overlap[:, [cell]] if isinstance(cell, int) else cell for cell in at_risk):
        around, shared = _open(overlap.T @ rows, open_cells)
        whole = around[shared == rows.nnz]
        if len(whole):
            group = whole[np.lexsort((usefulness[whole], sizes[whole]))[0]]
            inside, shared = _open(overlap.T @ overlap[:, [group]], open_cells)
            around = inside[(shared == sizes[inside])]
            if len(around) > 1:
                around = around[around != group]
        if len(around):
            chosen[around[np.argmin(usefulness[around])]] = True
    return chosen


def _inside_differences(found: Audit) -> list[sp.spmatrix]:
    """The inner cells of sums that must stay unknown and do not."""
    sums = found.table.differences
    return (
        []
        if sums is None
        else [(sums[:, [i]] != 0).astype(np.int64) for i in np.flatnonzero(found.differences)]
    )


def _open(overlap: sp.spmatrix, open_cells: Bools) -> tuple[Ints, Ints]:
    """Open cells that overlap, and by how many inner cells."""
    column = sp.csc_matrix(overlap)
    keep = open_cells[column.indices]
    return np.asarray(column.indices[keep], np.int64), np.asarray(column.data[keep], np.int64)
