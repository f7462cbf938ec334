"""`Grouped`: the same model fitted apart within groups of rows (strata; districts within their region)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from dalenius.core.random import Seed, sequence
from dalenius.data.vector import AnyArray, IntArray
from dalenius.synth._store import stored
from dalenius.synth.sequential.design import Design
from dalenius.synth.sequential.fitted import (
    ColumnMethod,
    Fitted,
    Job,
    put_together,
)


@stored
@dataclass(eq=False, repr=False)
class Grouped(Fitted):
    """One model per group, and one for all rows that serves groups without (enough) rows."""

    name = "grouped"

    places: tuple[int, ...]
    groups: npt.NDArray[np.int64]
    models: list[Fitted]  # one per group, the pooled one last
    separated: bool = False

    @classmethod
    def fit_in(cls, method: type[ColumnMethod], places: Sequence[int], least: int, job: Job) -> Grouped:
        """Fit within each combination of the columns at ``places`` that has at least ``least`` rows."""
        joint = job.design.group_codes(places)[job.rows]
        order = np.argsort(joint, kind="stable")
        groups, first = np.unique(joint[order], return_index=True)
        inside = [job.rows[part] for part in np.split(order, first[1:])]
        large = [i for i, part in enumerate(inside) if len(part) >= least]
        others = tuple(p for p in job.use if p not in set(places))
        models = [
            method.fit(
                replace(job, use=others, rows=inside[i], seed=sequence(job.seed, "group", int(groups[i])))
            )
            for i in large
        ]
        models.append(method.fit(replace(job, seed=sequence(job.seed, "all"))))
        return cls(tuple(places), groups[large], models, any(model.separated for model in models))

    def draw(self, design: Design, rows: IntArray, seed: Seed) -> AnyArray:
        """Each row from its own group's model."""
        joint = design.group_codes(self.places)[rows]
        which = np.searchsorted(self.groups, joint)
        which[which == len(self.groups)] = 0
        known = self.groups[which] == joint if len(self.groups) else np.zeros(len(rows), bool)
        which = np.where(known, which, len(self.models) - 1)
        order = np.argsort(which, kind="stable")
        wanted, first = np.unique(which[order], return_index=True)
        pieces = []
        for i, part in zip(wanted, np.split(order, first[1:]), strict=True):
            group = int(self.groups[i]) if i < len(self.groups) else -1
            pieces.append((part, self.models[i].draw(design, rows[part], sequence(seed, "group", group))))
        return put_together(len(rows), pieces)
