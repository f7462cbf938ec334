"""`repair`: suppress further cells until the audit passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from dalenius.tables.audit import Audit, audit
from dalenius.tables.enough import Requirement
from dalenius.tables.model import Bools, Ints
from dalenius.tables.rules import Manual, PrimaryRule
from dalenius.tables.suppression import Suppression

MOST_ROUNDS = 60


def repaired(
    suppress: Callable[..., Suppression], rules: tuple[PrimaryRule, ...], requirement: Requirement
) -> Suppression:
    """Suppress, audit, add cells next to those at risk, and suppress again, until nothing is at risk.

    In every round each cell at risk gets the least useful published cell that overlaps it; the elimination then
    protects the added cells like primary ones. ``suppress`` takes further rules and returns the outcome.
    """
    result = suppress()
    added = np.zeros(len(result.primary), np.bool_)
    for _ in range(MOST_ROUNDS):
        found = audit(result.under(rules), requirement=requirement)
        if found.passed:
            break
        more = _next_cells(result, found)
        if not more.any():
            break
        added |= more
        result = suppress(Manual(added, "repair"))
    final = result.under(rules)
    left = len(audit(final, requirement=requirement).failing)
    note = f"The audit asked for {int(added.sum())} further cells." if added.any() else ""
    rest = f"{left} cells are still at risk and no published cell is left that would help." if left else ""
    return replace(final, notes=(*final.notes, *(text for text in (note, rest) if text)))


def _next_cells(result: Suppression, found: Audit) -> Bools:
    """For every cell at risk the least useful open cell that shares inner cells with it, or with a cell around it."""
    matrix = sp.csc_matrix(result.model.matrix)
    usefulness = np.empty(len(result.primary), np.int64)
    usefulness[result.order] = np.arange(len(result.order))[::-1]
    open_cells = ~result.suppressed & ~result.forced & ~result.hidden & (result.model.amount != 0)
    chosen = np.zeros(len(result.primary), np.bool_)
    overlap = sp.csc_matrix((matrix != 0).astype(np.int64))
    for cell in found.failing.tolist():
        rows = overlap[:, [cell]]
        around = _open(overlap.T @ rows, open_cells)
        if not len(around):
            wider = (overlap @ (overlap.T @ rows) > 0).astype(np.int64)
            around = _open(overlap.T @ wider, open_cells)
        if len(around):
            chosen[around[np.argmin(usefulness[around])]] = True
    return chosen


def _open(overlap: sp.spmatrix, open_cells: Bools) -> Ints:
    touched = sp.csc_matrix(overlap).indices
    return np.asarray(touched[open_cells[touched]], np.int64)
