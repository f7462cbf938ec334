"""`Grouped`: the same model fitted apart within groups of rows (strata; districts within their region)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from dalenius.core.random import Seed, sequence
from dalenius.data.vector import AnyArray, IntArray
from dalenius.synth.sequential.design import Design
from dalenius.synth.sequential.fitted import Fitted, Parts, Target, Tuning, method_named, nest, nested


class Grouped(Fitted):
    """One model per group, and one for all rows that serves groups without (enough) rows."""

    name = "grouped"

    def __init__(
        self, places: Sequence[int], method: str, groups: npt.NDArray[np.int64], models: list[Fitted]
    ) -> None:
        self.places = tuple(places)
        self.method = method
        self.groups = groups
        self.models = models  # one per group, the pooled one last

    @classmethod
    def fit_in(
        cls, method: type[Fitted], places: Sequence[int], least: int, target: Target, design: Design,
        use: Sequence[int], rows: IntArray, tuning: Tuning, seed: Seed,
    ) -> Grouped:  # fmt: skip
        """Fit within each combination of the columns at ``places`` that has at least ``least`` rows."""
        joint = design.group_codes(places)[rows]
        order = np.argsort(joint, kind="stable")
        groups, first = np.unique(joint[order], return_index=True)
        inside = [rows[part] for part in np.split(order, first[1:])]
        large = [i for i, part in enumerate(inside) if len(part) >= least]
        others = [p for p in use if p not in set(places)]
        models = [
            method.fit(target, design, others, inside[i], tuning, sequence(seed, "group", int(groups[i])))
            for i in large
        ]
        models.append(method.fit(target, design, use, rows, tuning, sequence(seed, "all")))
        return cls(places, method.name, groups[large], models)

    @classmethod
    def fit(
        cls, target: Target, design: Design, use: Sequence[int], rows: IntArray, tuning: Tuning, seed: Seed
    ) -> Fitted:
        """Groups must be named: use `fit_in`."""
        raise NotImplementedError("Grouped.fit_in names the groups")

    def draw(self, design: Design, rows: IntArray, seed: Seed) -> AnyArray:
        """Each row from its own group's model."""
        joint = design.group_codes(self.places)[rows]
        which = np.searchsorted(self.groups, joint)
        which[which == len(self.groups)] = 0
        known = self.groups[which] == joint if len(self.groups) else np.zeros(len(rows), bool)
        which = np.where(known, which, len(self.models) - 1)
        order = np.argsort(which, kind="stable")
        wanted, first = np.unique(which[order], return_index=True)
        drawn: AnyArray | None = None
        for i, part in zip(wanted, np.split(order, first[1:]), strict=True):
            group = int(self.groups[i]) if i < len(self.groups) else -1
            values = self.models[i].draw(design, rows[part], sequence(seed, "group", group))
            if drawn is None:
                drawn = np.zeros(len(rows), values.dtype)
            drawn[part] = values
        return np.zeros(0) if drawn is None else drawn

    def parts(self) -> Parts:
        """All models."""
        facts: dict[str, Any] = {
            "places": list(self.places),
            "method": self.method,
            "models": len(self.models),
        }
        arrays: dict[str, AnyArray] = {"groups": self.groups}
        for i, model in enumerate(self.models):
            more_facts, more_arrays = nest(str(i), model.parts())
            facts |= more_facts
            arrays |= more_arrays
        return facts, arrays

    @classmethod
    def from_parts(cls, facts: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Grouped:
        """Rebuild saved models."""
        kind = method_named(facts["method"])
        models = [kind.from_parts(*nested(str(i), facts, arrays)) for i in range(int(facts["models"]))]
        return cls(facts["places"], facts["method"], arrays["groups"], models)


def fitted_from(facts: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Fitted:
    """Rebuild any saved conditional model from facts that name it."""
    kind = Grouped if facts["model"] == Grouped.name else method_named(facts["model"])
    return kind.from_parts(facts, arrays)


def fitted_parts(model: Fitted) -> Parts:
    """Parts of any conditional model, with its name."""
    facts, arrays = model.parts()
    return facts | {"model": model.name}, arrays
