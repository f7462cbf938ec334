"""`released`: publish again what a repair closed and nobody needs closed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from dalenius.tables.audit import LEFT_OUT, Audit
from dalenius.tables.model import Bools, Ints
from dalenius.tables.protected import first_of_kind, signatures
from dalenius.tables.suppression import Suppression

MOST_AUDITS = 120
"""Audits of one search."""

Check = Callable[[Suppression], Audit]


def released(
    bare: Suppression, final: Suppression, checked: Audit, check: Check
) -> tuple[Suppression, Audit]:
    """Open cells that only the repair closed, the most useful first, as long as the audit passes.

    The elimination protects what a repair adds like primary cells, and one round may undo the need for what an earlier
    one added, so a repaired table has cells too many. What the elimination closed by itself (``bare``) stays closed:
    it also stands for what no audit sees. Cells are opened only where the audit looked at everything.

    Parameters
    ----------
    bare, final
        The outcome before and after the repair, under the same rules.
    checked
        The audit of ``final``, which passed.
    check
        Audits an outcome.
    """
    whole = _closed(bare, final, bare.secondary | final.secondary)
    search = _Search(whole, check)
    if not search.passes(whole):
        return final, checked
    search.open(_groups(bare, whole))
    best = search.best
    fewer = best.suppressed.sum() < final.suppressed.sum()
    return (best, search.audit) if fewer else (final, checked)


class _Search:
    """The best outcome so far, and its audit."""

    def __init__(self, whole: Suppression, check: Check) -> None:
        self.best, self.check, self.left = whole, check, MOST_AUDITS
        self.audit: Audit

    def passes(self, outcome: Suppression) -> bool:
        """Whether an outcome is safe, as far as an audit that leaves nothing out can tell; it is then the best."""
        self.left -= 1
        found = self.check(outcome)
        safe = found.passed and found.unions.complete and LEFT_OUT not in found.notes
        if safe:
            self.best, self.audit = outcome, found
        return safe

    def open(self, groups: Sequence[Ints]) -> None:
        """Open all of them at once, or each half by itself: what is needed stays needed when more is published."""
        if not groups or self.left <= 0:
            return
        secondary = self.best.secondary.copy()
        secondary[np.concatenate(groups)] = False
        if not self.passes(replace(self.best, secondary=secondary)) and len(groups) > 1:
            half = len(groups) // 2
            self.open(groups[:half])
            self.open(groups[half:])


def _closed(bare: Suppression, final: Suppression, secondary: Bools) -> Suppression:
    """The repaired outcome with these secondary cells, each with the reason it was closed for."""
    cause = np.where(final.secondary, final.cause, bare.cause)
    return replace(final, secondary=secondary, cause=cause)


def _groups(bare: Suppression, whole: Suppression) -> list[Ints]:
    """Cells that only the repair closed, those of the same content together, the most useful first."""
    kind = first_of_kind(signatures(whole.model.matrix))
    stays = np.zeros(len(kind), np.bool_)
    stays[kind[bare.suppressed]] = True
    rank = np.empty(len(kind), np.int64)
    rank[whole.order] = np.arange(len(whole.order))
    added = np.flatnonzero(whole.secondary & ~stays[kind])
    added = added[np.argsort(rank[added], kind="stable")]
    return [added[kind[added] == each] for each in dict.fromkeys(kind[added].tolist())]
