"""Looking back: one new output beside all earlier ones, as a finding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from dalenius.core.errors import names as listed
from dalenius.outputs.beside_rows import beside_rows, own_cells
from dalenius.outputs.checks import Finding, finding
from dalenius.outputs.comparison import Comparison, inside
from dalenius.outputs.policy import Policy
from dalenius.outputs.told import Told

if TYPE_CHECKING:
    from dalenius.outputs.memory import Earlier, Memory
    from dalenius.outputs.output import Output


def compared(memory: Memory, out: Output, policy: Policy) -> Finding:
    """Compare an output with all earlier ones."""
    evidence = out.judged.evidence
    flagged = np.zeros(len((out.merged or out.query).frame()), np.bool_)
    earlier = memory.earlier(out.record.uid)
    alone = out.merged is None and bool(out.hidden.any())
    stacked = (out.merged or out.query).cells > 1 and out.query.ids is not None
    if not earlier and not alone and not stacked:
        return finding("differencing", evidence, flagged, "")
    part = memory.partition(out)
    if part is None:
        words = "records cannot be told again in earlier outputs; name the column of the unit"
        return finding("differencing", evidence, np.ones(1, np.bool_), words, verdict="review")
    looked = Comparison(memory, out, part, policy, flagged)
    if alone:
        looked.by_itself()
    own = own_cells(looked)
    for each in earlier:
        looked.with_one(each)
    looked.all_together()
    looked.beside(earlier)
    beside_rows(looked, earlier)
    gaps = without_values(looked, earlier)
    if not looked.lines and looked.doubts:
        words = (
            looked.reason
            or f"without fewer than {policy.threshold} people it is an earlier output: take the same people in both"
        ) + gaps
        found = finding("differencing", evidence, np.ones(1, np.bool_), words, verdict="review")
        object.__setattr__(found.result, "sentence", "\n".join(dict.fromkeys(looked.doubts)))
        return found
    words = f"together with earlier outputs what belongs to fewer than {policy.threshold} can be computed"
    if looked.groups:
        words = "together with earlier outputs what everybody of a group has can be computed"
    if own:
        words = f"cells of it differ by fewer than {policy.threshold} people, and what these have follows"
    words += gaps
    found = finding("differencing", evidence, flagged, words)
    if not looked.lines:
        return replace(found, sentence=looked.extent(len(earlier)))
    lines = "\n".join(dict.fromkeys(looked.lines))
    sentence = found.sentence if flagged.any() else f"{words[0].upper()}{words[1:]}."
    told = Finding("differencing", "fail", flagged, sentence, found.result)
    object.__setattr__(told.result, "sentence", lines)
    return told


def without_values(looked: Comparison, earlier: Sequence[Earlier]) -> str:
    """That people without a value make the difference, and what to do; nothing where they do not."""
    told = [*looked.lines, *looked.doubts]
    names: dict[str, int] = {}
    columns = {looked.out.query.variable}
    own = inside(looked.part)
    for each in earlier:
        if not each.digest or not any(each.told in line for line in told):
            continue
        columns.add(each.variable)
        before, others = Told.read(each.more), inside(looked.memory.read(each.digest))
        for here, gone in ((looked.told.missing, others & ~own), (before.missing, own & ~others)):
            for name, who in here.items():
                numbers = np.array([w for w in who if w < len(gone)], np.int64)
                if gone[numbers].any():
                    names[name] = max(names.get(name, 0), len(who))
    if not names:
        return ""
    remedy = "leave them out of all outputs (complete cases before the first table; remove takes earlier ones back)"
    # A category of missing values must be large enough, and a column whose mean is shown has none.
    if min(names.values()) >= looked.policy.threshold and not columns & {*names}:
        remedy += ", or show missing as a category everywhere (dropna=False)"
    return f"; the difference is made by people without a value of {listed(list(names))}: {remedy}"
