"""What a model gives away by its form, before any attack (after the structural checks of SACRO-ML)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from dalenius.core.errors import counted, names
from dalenius.core.result import WHOLE, Result, figure
from dalenius.core.small_cells import THRESHOLD
from dalenius.counts.saturation import distinct_patterns, is_saturated
from dalenius.data.vector import AnyArray
from dalenius.models.case import ModelCase
from dalenius.models.coefficients import CoefficientModel
from dalenius.models.few import figures_of_few
from dalenius.models.fitted import TorchModel
from dalenius.models.leaves import Leaves, before_last, leaves_of, trees_of
from dalenius.models.linear import claims, linear_part
from dalenius.models.measures import MODEL_MEASURES
from dalenius.models.rare import rare_values
from dalenius.models.stored import Stored, stored_records
from dalenius.models.views import views_of

FREEDOM = 10
"""Fewest residual degrees of freedom of a fit that may go out, as for any regression."""


def structure(case: ModelCase, *, threshold: int = THRESHOLD) -> dict[str, Result]:
    """Look at the form of a model: stored records, small and one-class leaves, degrees of freedom, saturated cells.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> people = {"age": [20.0, 30.0, 40.0, 50.0], "ill": ["no", "no", "yes", "yes"]}
    >>> model = KNeighborsClassifier(2).fit([[a] for a in people["age"]], people["ill"])
    >>> structure(ModelCase.of(model, people, target="ill"))["model-stored-records"].value
    100.0
    """
    leaves = leaves_of(case, threshold)
    views = list(views_of(case))
    stored = stored_records(case, threshold, views)
    rare = rare_values(case, threshold, views)
    for name, number in figures_of_few(case, threshold, views).items():
        rare[name] = max(number, rare.get(name, 0))
    found = [
        _stored(case, stored),
        *_leaves(case, leaves, threshold),
        _freedom(case, leaves, stored),
        _saturated(case, threshold),
        _rare(rare, threshold),
    ]
    return {result.name: result.with_info(MODEL_MEASURES[result.name]) for result in found}


def _stored(case: ModelCase, stored: Stored) -> Result:
    share = case.units.share(stored.rows)
    outside = None
    if stored.strangers is not None and case.holdout is not None:
        outside = case.holdout.units.share(stored.strangers)
    if share > 0:
        text = (
            f"The model carries the records of {figure(share, '%')} of the people in the training file as they are (in "
            f"{', '.join(stored.where[:3])}): whoever has the file has them."
        )
    elif stored.strange:
        text = "Whether training records stand in the model cannot be told."
    else:
        text = "No training record stands in the model as it is, and it keeps nothing that its kind does not need."
    if stored.strange:
        told = [f"{where}: {why}" for where, why in stored.strange.items()]
        more = f" and {len(told) - 3} more" if len(told) > 3 else ""
        text += f" A person must look at {counted(len(told), 'part')} of it ({'; '.join(told[:3])}{more}). Not trusted."
    beside = {} if outside is None else {"strangers": outside}
    return Result(
        "model-stored-records", share, text, "%", yardsticks=beside or {"none": 0.0}, outside=outside, counts=WHOLE,
        values={"parts to be looked at": float(len(stored.strange))}, interval=None, trusted=not stored.strange,
    )  # fmt: skip


def _leaves(case: ModelCase, leaves: Leaves | None, threshold: int) -> list[Result]:
    named = ("model-small-leaves", "model-one-class-leaves")
    if leaves is None:
        text = f"{case.fitted.kind} has no leaves."
        return [Result(name, 0.0, text, "%", yardsticks={"none": 0.0}, counts=WHOLE) for name in named]
    small, pure = (case.units.share(rows) for rows in (leaves.small, leaves.pure))
    trees = "the tree" if leaves.trees == 1 else f"{leaves.trees:,} trees"
    where = "the tree" if leaves.trees == 1 else f"one of {trees}"
    said = (
        f"{figure(small, '%')} of the people stand, in {where}, in a leaf of fewer than "
        f"{threshold}; the smallest "
        f"leaf has {leaves.smallest if leaves.smallest >= threshold else f'fewer than {threshold}'}."
        if small
        else f"Every leaf of {trees} holds {threshold} people or more."
    )
    one = (
        f"{figure(pure, '%')} of the people stand in a leaf whose people all have the same outcome: "
        f"who falls into it is "
        "known to have it."
        if pure
        else "No leaf holds people of one outcome only."
    )
    more = {"trees": float(leaves.trees), "leaves": float(leaves.leaves)}
    return [
        Result(name, value, text, "%", yardsticks={"none": 0.0}, counts=WHOLE, values=more)
        for name, value, text in zip(named, (small, pure), (said, one), strict=True)
    ]


def _freedom(case: ModelCase, leaves: Leaves | None, stored: Stored) -> Result:
    count = parameters(case, leaves, stored)
    people = case.units.count
    if count is None:
        text = f"How many parameters {case.fitted.kind} fitted is not known: not trusted."
        return Result(
            "model-freedom", math.nan, text, trusted=False, yardsticks={"limit": float(FREEDOM)}, counts=WHOLE
        )
    left = float(people - count)
    text = (
        f"{counted(count, 'parameter')} were fitted to {people:,} people, which leaves {figure(left)} "
        f"degrees of freedom"
        + (
            f": fewer than {FREEDOM}, so that the model may be the data in another form."
            if left < FREEDOM
            else "."
        )
    )
    return Result(
        "model-freedom", left, text, yardsticks={"limit": float(FREEDOM)}, counts=WHOLE,
        values={"parameters": float(count)},
    )  # fmt: skip


def parameters(case: ModelCase, leaves: Leaves | None, stored: Stored) -> int | None:
    """How many numbers were fitted; None where that is not known.

    Trees of a forest are fits to the same people, not parts of one fit: the largest counts. Boosted trees add up.
    """
    last = case.fitted.last
    own = _plain_parameters(last)
    if own is not None:
        return own
    outcomes = max(len(case.fitted.classes or (0, 1)) - 1, 1)
    if leaves is not None:
        bagged = type(last).__name__.startswith(
            ("RandomForest", "ExtraTrees", "Bagging", "DecisionTree", "ExtraTree")
        )
        # a tree is its cuts and what stands in its leaves
        size, trees = (leaves.most, 1) if bagged else (leaves.leaves, leaves.trees)
        return size * outcomes + (size - trees)
    if stored.rows.any():
        return int(np.count_nonzero(case.units.any(stored.rows)))
    return None


def _plain_parameters(last: Any) -> int | None:
    if isinstance(last, CoefficientModel):
        return last.parameters
    if isinstance(last, TorchModel):
        return sum(int(p.numel()) for p in last.module.parameters())
    if type(last).__name__.startswith("Dummy"):
        return 1
    if hasattr(last, "coefs_"):
        return sum(np.size(a) for a in (*last.coefs_, *last.intercepts_))
    if hasattr(last, "coef_") and not hasattr(last, "support_vectors_"):
        held = last.coef_.toarray() if hasattr(last.coef_, "toarray") else np.asarray(last.coef_)
        return int(np.count_nonzero(held)) + int(np.size(getattr(last, "intercept_", 0)))
    bayes = [
        getattr(last, name, None)
        for name in ("theta_", "var_", "feature_log_prob_", "class_log_prior_", "means_")
    ]
    # naive Bayes of categories has an array for each column
    sizes = [
        sum(map(np.size, held)) if isinstance(held, list) else np.size(held)
        for held in bayes
        if held is not None
    ]
    if sizes and not any(True for _ in trees_of(last)):
        return int(sum(sizes))
    return None


def _saturated(case: ModelCase, threshold: int) -> Result:
    def told(value: float, text: str) -> Result:
        return Result("model-saturated-cells", value, text, "%", yardsticks={"none": 0.0}, counts=WHOLE)

    coded = claims(case.fitted.last) and any(_keeps_levels(part) for part in case.fitted.steps[:-1])
    if linear_part(case) is None and not coded:
        return told(0.0, f"{case.fitted.kind} is no linear model, which alone can be a table in disguise.")
    design = _with_ones(before_last(case) if case.fitted.steps[:-1] else _dummies(case))
    distinct, which = distinct_patterns(design)
    if which is None or not is_saturated(int(np.linalg.matrix_rank(design)), distinct):
        return told(
            0.0, "The model has fewer parameters than there are patterns of its columns: it is no table."
        )
    small = case.units.owners(which, distinct) < threshold
    share = case.units.share(small[which])
    return told(
        share,
        f"The model is saturated: it is the table of its {counted(distinct, 'cell')}, and "
        f"{figure(share, '%')} of the people "
        f"stand in cells of fewer than {threshold}.",
    )


def _keeps_levels(part: Any) -> bool:
    """Whether a part turns each column into one for each of its values, numbers too: linear in these."""
    return type(part).__name__ == "OneHotEncoder"


def _rare(found: dict[str, int], threshold: int) -> Result:
    count = sum(found.values())
    text = (
        f"{counted(count, 'value')} that fewer than {threshold} people have stand in the model, or figures of so few "
        f"(columns {names(list(found))}): group rare categories and classes, round or top-code numbers, use fewer "
        "cuts, and scale by something else than the ends."
        if count
        else f"No category, class, cut or end of a scale in the model belongs to fewer than {threshold} people."
    )
    return Result("model-rare-values", float(count), text, yardsticks={"none": 0.0}, counts=WHOLE)


def _with_ones(design: Any) -> AnyArray:
    held = np.asarray(design, np.float64)
    return np.column_stack([np.ones(len(held)), held])


def _dummies(case: ModelCase) -> AnyArray:
    """The columns of a linear model: numbers, and one column for each text."""
    parts = []
    for place, levels in enumerate(case.design.levels):
        values = case.matrix[:, place]
        parts += [values] if levels is None else [(values == code) * 1.0 for code in range(1, len(levels))]
    return np.column_stack(parts)
