"""`Grouped`: the same model fitted apart within groups of rows (strata; districts within their region)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dalenius.core.random import Seed, sequence
from dalenius.data.vector import AnyArray, IntArray
from dalenius.synth.sequential.design import Design
from dalenius.synth.sequential.fitted import (
    ColumnMethod,
    Fitted,
    Job,
    Parts,
    method_named,
    nest_all,
    nested,
    put_together,
)


class Grouped(Fitted):
    """One model per group, and one for all rows that serves groups without (enough) rows."""

    name = "grouped"

    def __init__(self, places: Sequence[int], groups: npt.NDArray[np.int64], models: list[Fitted]) -> None:
        self.places = tuple(places)
        self.groups = groups
        self.models = models  # one per group, the pooled one last
        self.separated = any(model.separated for model in models)

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
        return cls(places, groups[large], models)

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

    def parts(self) -> Parts:
        """All models."""
        facts, arrays = nest_all(self.models)
        facts |= {"places": list(self.places), "models": len(self.models)}
        return facts, arrays | {"groups": self.groups}

    @classmethod
    def from_parts(cls, facts: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Grouped:
        """Rebuild saved models."""
        models = [fitted_from(*nested(str(i), facts, arrays)) for i in range(int(facts["models"]))]
        return cls(facts["places"], arrays["groups"], models)


def fitted_from(facts: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Fitted:
    """Rebuild any saved conditional model from facts that name it."""
    kind: type[Fitted] = Grouped if facts["model"] == Grouped.name else method_named(facts["model"])
    return kind.from_parts(facts, arrays)
