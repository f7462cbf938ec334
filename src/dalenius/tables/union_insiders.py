"""Sums that a contributor can compute because some inner cells are all its own.

Firm B is alone in y. If x + z − y follows from published cells, though neither x nor z does, B adds its own y and has
x + z; if that is one other firm's, B knows it. What B learns are the combinations of published cells with B's inner
cells taken out, none of the others' taken away: the programs of `union_programs` over the other inner cells, with one
contributor less beside the largest, because that one is B.

A combination that takes away cells of several contributors gives nobody a bound: what is taken away is unknown and not
bounded from above. By the duality of linear programs every upper bound that follows is one of the sums looked at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from dalenius.tables.model import Floats, Ints, Records
from dalenius.tables.union_programs import Block, Budget, Concentration, Parts, blocks, is_broken, whole_sum


def insider_sums(records: Records, owners: Ints, seen: Any, rules: Sequence[Any]) -> tuple[Any, bool]:
    """Combinations of published cells from which a contributor reads another's value, and whether all were tried.

    Parameters
    ----------
    records
        The records by holding, if there are any.
    owners
        For every inner cell with one contributor its number (1 …), otherwise 0.
    seen
        Inner cells × published cells, without the inner cells that are known.
    rules
        Rules about contributors, as in `union_programs.searched`.
    """
    budget, found = Budget(), [sp.csc_matrix((seen.shape[0], 0), dtype=np.int64)]
    forms = _against_one(rules)
    for block in blocks(seen, budget):
        for who in np.unique(owners[block.rows]).tolist():
            own = owners[block.rows] == who
            if who and not own.all():
                found += _computed(block, own, _others(records, who), forms, budget)
    return sp.csc_matrix(sp.hstack(found), dtype=np.int64), budget.complete


def _against_one(rules: Sequence[Any]) -> list[Concentration]:
    """The rules with one contributor less beside the largest."""
    forms = [form for rule in rules for form in getattr(rule, "concentrations", ())]
    return [form._replace(beside=max(form.beside - 1, 0)) for form in forms]


def _others(records: Records, who: int) -> Records:
    """The records without those of one contributor; where each row is its own, they go with its inner cell."""
    if records.contributor is None:
        return records
    theirs = records.contributor != who - 1
    return records.of(theirs, records.inner[theirs])


def _computed(
    block: Block, own: Any, records: Records, forms: Sequence[Concentration], budget: Budget
) -> list[Any]:
    """The combinations of one contributor, as columns over all inner cells, its own included."""
    rest = replace(block, rows=block.rows[~own], seen=block.seen[~own])
    parts = Parts.of(records, rest.rows)
    found = []
    for mix in _mixes(rest, parts, forms, budget):
        sums, whole = np.maximum(rest.seen @ mix, 0.0), whole_sum(block.seen @ mix)
        budget.complete &= whole is not None
        if whole is not None and _fails(parts, np.where(sums > 1e-9, sums, 0.0), forms):
            found.append(block.column(whole))
    return found


def _mixes(rest: Block, parts: Parts, forms: Sequence[Concentration], budget: Budget) -> Iterator[Floats]:
    """For every contributor who may be the largest: the published cells that show it best."""
    for lead in range(parts.held.shape[1]):
        held = parts.held[:, lead]
        for form in forms:
            weight = form.lead * held - form.share * parts.total + parts.beside(lead, form.beside)
            asked = not form.kind or parts.asked[lead] == form.kind
            if asked and ((weight > 0) & (held > 0)).any():
                mix = rest.mixed(weight, budget)
                if mix is not None:
                    yield mix


def _fails(parts: Parts, sums: Floats, forms: Sequence[Concentration]) -> bool:
    """Whether a sum of others' inner cells tells too much about one of them."""
    there = bool((sums @ parts.there > 0).any())
    return there and any(is_broken(parts, sums, form) for form in forms)
