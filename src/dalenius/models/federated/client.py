"""What one holder does: bin, change at random, fit a small tree, and say no more than the tree."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dalenius.core.errors import DataError, OptionError, names
from dalenius.core.random import Seed, sequence
from dalenius.data.keyed import keyed
from dalenius.data.table import Table
from dalenius.data.vector import AnyArray, IntArray
from dalenius.mask.pram import invariant, ldp_epsilon, moved
from dalenius.models.federated.agreement import Agreement
from dalenius.models.federated.binning import EqualWidth, freedman_diaconis_bins
from dalenius.models.federated.trees import Leaf, Node, Tree, to_json


@dataclass(frozen=True)
class Changed:
    """One column after its values were changed at random: what it cost, and how much of it there is to see."""

    epsilon: float
    share: float
    """Expected share of records with another value."""


def client_message(
    data: Any,
    agreement: Agreement,
    *,
    bins: Mapping[str, int] | int | None = None,
    seed: Seed = 0,
    holder: str | None = None,
) -> dict[str, Any]:
    """The one message that a holder sends: a tree, ε by column, and nothing about any record.

    Parameters
    ----------
    data
        The holder's own file: any frame, or a `Table`.
    bins
        Bins of a number, for all or by column; by Freedman and Diaconis otherwise.
    holder
        The holder's name, where the agreement names those who may vote.
    seed
        The same seed and file give the same message. The changes depend on the records too, so that a seed alone does
        not take them back.

    Examples
    --------
    >>> from dalenius.models.federated.agreement import Attribute
    >>> agreed = Agreement((Attribute("age", (0, 100)),), "ill", ("no", "yes"), depth=1, theta=0.0)
    >>> ages = np.arange(100)
    >>> message = client_message({"age": ages, "ill": np.where(ages < 40, "no", "yes")}, agreed, bins=10)
    >>> message["tree"]["cuts"]
    [40.0]
    """
    if (holder is not None or agreement.holders) and holder not in agreement.holders:
        raise OptionError(
            f"name the holder as it was agreed on (--holder): {names(list(agreement.holders)) or 'nobody'}"
        )
    table = data if isinstance(data, Table) else Table.from_frame(data)
    if table.rows < 2 * agreement.smallest:
        raise DataError(f"a tree needs at least {2 * agreement.smallest} records; this file has {table.rows}")
    values, labels = agreement.values(table), agreement.labels(table)
    codes, scales = _binned(values, agreement, bins)
    own = keyed(seed, table)  # a seed that others know or guess takes no change back
    masked, changed = _changed(codes, scales, agreement, own)
    if agreement.protect_label:
        labels, told = _one(labels, len(agreement.classes), agreement.theta, own, agreement.target)
        changed[agreement.target] = told
    tree = _tree(masked, labels, scales, agreement)
    return {
        "tree": to_json(tree),
        "epsilon": {
            name: None if math.isinf(c.epsilon) else round(c.epsilon, 6) for name, c in changed.items()
        },
        "changed": {name: round(c.share, 4) for name, c in changed.items()},
        # tells two holders with the same tree apart; from the seed alone, so that it says nothing about records
        "number": int(sequence(seed, "message").generate_state(1, np.uint64)[0] >> 11),
        **({} if holder is None else {"holder": holder}),
    }


def _binned(
    values: AnyArray, agreement: Agreement, bins: Mapping[str, int] | int | None
) -> tuple[IntArray, list[EqualWidth | int]]:
    """Codes of all columns; beside each the bins of a number, or how many levels there are."""
    codes = np.empty(values.shape, np.int64)
    scales: list[EqualWidth | int] = []
    for j, attribute in enumerate(agreement.attributes):
        if attribute.bounds is None:
            size = len(attribute.levels or ())
            codes[:, j] = np.where(np.isnan(values[:, j]), size, np.nan_to_num(values[:, j], nan=0.0))
            scales.append(size)
            continue
        number = bins.get(attribute.name) if isinstance(bins, Mapping) else bins
        if number is None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                number = freedman_diaconis_bins(values[:, j], *attribute.bounds)
        scale = EqualWidth(*attribute.bounds, number)
        codes[:, j] = scale.codes(values[:, j])
        scales.append(scale)
    return codes, scales


def _changed(
    codes: IntArray, scales: list[EqualWidth | int], agreement: Agreement, seed: Seed
) -> tuple[IntArray, dict[str, Changed]]:
    masked, told = codes.copy(), {}
    for j, attribute in enumerate(agreement.attributes):
        scale = scales[j]
        size = (scale.bins if isinstance(scale, EqualWidth) else scale) + 1
        masked[:, j], told[attribute.name] = _one(codes[:, j], size, agreement.theta, seed, attribute.name)
    return masked, told


def _one(codes: IntArray, size: int, theta: float, seed: Seed, name: str) -> tuple[IntArray, Changed]:
    """One column with its codes changed at random so that their frequencies stay, on average."""
    counts = np.bincount(codes, minlength=size)
    seen = np.flatnonzero(counts)
    if theta == 0 or len(seen) < 2:
        return codes, Changed(math.inf if theta == 0 else 0.0, 0.0)
    held = counts[seen].astype(np.float64)
    chances = invariant(held, theta)
    made = moved(np.searchsorted(seen, codes), chances, seed, "federated", name)
    return seen[made], Changed(ldp_epsilon(chances), len(seen) * theta * held.min() / len(codes))


def _tree(codes: IntArray, labels: IntArray, scales: list[EqualWidth | int], agreement: Agreement) -> Tree:
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415 (slow to load, and only here)

    fitted = DecisionTreeClassifier(
        max_depth=agreement.depth, min_samples_leaf=agreement.smallest, random_state=0
    ).fit(codes, labels)
    held, place = fitted.tree_, fitted.apply(codes)

    def made(node: int) -> Tree:
        left, right = int(held.children_left[node]), int(held.children_right[node])
        if left < 0:
            counts = np.bincount(labels[place == node], minlength=len(agreement.classes))
            small = ((counts > 0) & (counts < agreement.smallest)).any()
            return Leaf(int(np.argmax(counts)), None if small else tuple(int(n) for n in counts))
        column, code = int(held.feature[node]), math.floor(held.threshold[node])
        scale = scales[column]
        cut = (
            scale.cut(code)
            if isinstance(scale, EqualWidth)
            else (math.inf if code + 1 >= scale else code + 0.5)
        )
        return Node(column, (cut,), (made(left), made(right)))

    return made(0)
