"""Values of few people inside a model: categories of an encoder, ends of a scale, cuts with few people between them.

An encoder keeps every category it met, also the one that a single person has; a scaler may keep the largest income, a
quantile transform everybody's. All of them leave with the model, whatever it predicts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dalenius.data.vector import AnyArray, IntArray
from dalenius.models.case import ModelCase
from dalenius.models.parts import TooManyParts, attributes, column_ends, parts_of
from dalenius.models.views import Known, View, views_of

CHANCE = 1e-4
"""How likely it may be that values of an array agree with a column's by chance."""
MOST_COLUMNS = 1000
FEW = 3
"""Fewest cuts that are taken for cuts of a column: fewer may lie between two values by chance."""


def rare_values(case: ModelCase, threshold: int, views: Sequence[View] | None = None) -> dict[str, int]:
    """How many values of each column stand in the model although fewer people than the threshold have them.

    A value inside the range counts where fewer people than the threshold stand between it and the next one that is
    kept: deciles of many people tell about nobody, a quantile for everybody does.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> people = {"job": ["clerk"] * 20 + ["king"], "ill": ["no", "yes"] * 10 + ["no"]}
    >>> model = make_pipeline(OneHotEncoder(), DecisionTreeClassifier(min_samples_leaf=5))
    >>> model = model.fit(pd.DataFrame({"job": people["job"]}), people["ill"])
    >>> rare_values(ModelCase.of(model, people, target="ill"), 10)
    {'job': 1}
    """
    told: dict[str, set[int]] = {}
    try:
        parts = [part for _, part in parts_of(case.fitted.model)]
    except TooManyParts:
        parts = []
    for view in views if views is not None else views_of(case):
        if view.part is None:
            _anywhere(view.columns[:-1], parts, threshold, told)
            outcome = view.columns[-1]
            if not outcome.is_text:
                _anywhere([outcome], parts, threshold, told)
            continue
        for place, values in _by_column(view.part, len(view.columns)):
            known = view.columns[place]
            if not known.is_text and values.dtype.kind in "fiu":
                told.setdefault(known.name, set()).update(_told(known, values, threshold))
    return {name: len(held) for name, held in told.items() if held}


def _anywhere(columns: Any, parts: list[Any], threshold: int, told: dict[str, set[int]]) -> None:
    """Rare texts wherever they stand, and arrays of numbers that can only be a column's."""
    texts = _texts(parts)
    arrays = [
        line for p in parts if isinstance(p, np.ndarray) and p.dtype.kind in "fiu" for line in _lines(p)
    ]
    for known in columns:
        held = told.setdefault(known.name, set())
        if known.is_text:
            few = np.flatnonzero((known.people[:-1] > 0) & (known.people[:-1] < threshold))
            held.update(int(code) for code in few if str(known.different[code]) in texts)
            continue
        for array in arrays:
            if _is_of(known, array):
                held.update(_told(known, array, threshold))


def _lines(array: AnyArray) -> Iterator[AnyArray]:
    """What may be values of one column: an array as a whole, and each column of it."""
    if array.size >= FEW:
        yield array.ravel()
    if array.ndim == 2 and len(array) >= FEW and 1 < array.shape[1] <= MOST_COLUMNS:
        yield from array.T


def _texts(parts: list[Any]) -> set[str]:
    texts: set[str] = set()
    for part in parts:
        if isinstance(part, str):
            texts.add(part)
        elif isinstance(part, np.ndarray) and part.dtype.kind in "USO":
            texts.update(str(x) for x in part.ravel().tolist())
    return texts


def _is_of(known: Known, array: AnyArray) -> bool:
    """Whether so many values of an array are the column's that chance does not explain it."""
    finite = np.unique(array[np.isfinite(array)])
    sample = finite[:: max(1, len(finite) // 1000)]
    if len(sample) < FEW or not len(known.different):
        return False
    hits = float((known.places(sample) >= 0).mean())
    return hits >= 0.9 and hits * len(sample) * np.log(1 / _density(known)) > np.log(1 / CHANCE)


def _density(known: Known) -> float:
    """How likely a number of the same precision within the range is a value of the column."""
    held = known.different
    digits = next((d for d in range(7) if np.array_equal(np.round(held, d), held)), 9)
    cells = (held[-1] - held[0]) * 10.0**digits + 1
    return float(np.clip(len(held) / cells, 1e-9, 1 - 1e-12))


def _by_column(part: Any, width: int) -> Iterator[tuple[int, AnyArray]]:
    """What a part keeps column by column: an array with an entry, a row or a column for each, or a list of arrays."""
    held = list(attributes(part).values())
    held += [
        column_ends(x) for x in held if type(x).__module__ == "lightgbm.basic" and hasattr(x, "dump_model")
    ]
    for thing in held:
        if isinstance(thing, (list, tuple)) or (isinstance(thing, np.ndarray) and thing.dtype == object):
            if len(thing) == width:
                yield from ((j, a.ravel()) for j in range(width) for a in _numbers(thing[j]))
        elif isinstance(thing, np.ndarray) and thing.dtype.kind in "fiu" and width in thing.shape:
            if thing.ndim == 1 or thing.shape[0] == width:
                yield from ((j, np.atleast_1d(thing[j]).ravel()) for j in range(width))
            if thing.ndim == 2 and thing.shape[1] == width:
                yield from ((j, thing[:, j]) for j in range(width))
    if width == 1:
        yield from ((0, thing) for thing in held if isinstance(thing, np.ndarray) and thing.ndim == 1
                    and thing.dtype.kind in "fiu")  # fmt: skip


def _numbers(thing: Any) -> Iterator[AnyArray]:
    if isinstance(thing, np.ndarray) and thing.dtype.kind in "fiu":
        yield thing
    elif not isinstance(thing, (str, int, float, np.generic, tuple)):
        yield from (a for _, a in parts_of(thing) if isinstance(a, np.ndarray) and a.dtype.kind in "fiu")


def _told(known: Known, values: AnyArray, threshold: int) -> set[int]:
    """Kept values that few have, and between which, or beyond which, few people stand."""
    kept = _kept(known, values)
    if not len(kept):
        return set()
    present = known.codes < len(known.different)
    gap = np.searchsorted(kept, known.codes[present])  # up to and with each kept value
    units = known.units.subset(np.flatnonzero(present))
    between = np.asarray(units.owners(gap, len(kept) + 1))
    few = known.people[kept] < threshold
    last = np.asarray(units.owners((known.codes[present] >= kept[-1]).astype(np.int64), 2))[1]
    close = between[: len(kept)] < threshold
    close |= np.r_[close[1:], last < threshold]
    return set(kept[few & close].tolist())


def _kept(known: Known, values: AnyArray) -> IntArray:
    """Places of a column's values among some numbers; one in the middle of two neighbours stands for the lower one.

    The largest absolute value counts as the value: a scale may keep it without its sign.
    """
    finite = np.unique(values[np.isfinite(values)].astype(np.float64))
    different = known.different
    if not len(finite) or not len(different):
        return np.zeros(0, np.int64)
    at = _close(different, finite)
    if len(finite) == 1 and at[0] < 0:
        at = _close(different, -finite)
    if len(finite) >= FEW and len(different) > 1:
        cut = _close(different[:-1] + np.diff(different) / 2, finite)
        if (cut >= 0).sum() >= FEW:
            at = np.where(at >= 0, at, cut)
    return np.unique(at[at >= 0])


def _close(ordered: AnyArray, values: AnyArray) -> IntArray:
    """Place of the nearest of some numbers, where it is the same but for rounding; -1 where it is not."""
    after = np.clip(np.searchsorted(ordered, values), 0, len(ordered) - 1)
    before = np.maximum(after - 1, 0)
    at = np.where(np.abs(ordered[before] - values) < np.abs(ordered[after] - values), before, after)
    return np.where(np.isclose(ordered[at], values, rtol=1e-12, atol=0), at, -1)
