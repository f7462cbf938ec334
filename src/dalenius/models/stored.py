"""Training records that a model carries around: neighbours, support vectors, and whatever else has a row for everybody.

What a model keeps is found by looking, not by a list of its kinds: every array and table in it is compared with the
records, as they are and as each part of a pipeline gets them; on its side, with columns in another order, left out or
rescaled.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dalenius.core.small_cells import THRESHOLD
from dalenius.data.units import Units
from dalenius.data.vector import AnyArray, BoolArray, IntArray
from dalenius.models.case import ModelCase
from dalenius.models.parts import TooManyParts, parts_of
from dalenius.models.strange import strange_parts
from dalenius.models.views import Known, View, views_of

CHANCE = 0.01
"""How many records may be expected to agree with a row by chance before agreement says nothing."""
FEW_ROWS = 4
MANY_ROWS = 10
COMMON = 10
"""Columns of fewer different values look alike after rescaling whatever they hold."""
CLOSE = 1e-6
"""How close rescaled columns must be, in standard deviations: single precision."""


@dataclass(frozen=True, eq=False, repr=False)
class Stored:
    """What was found.

    Attributes
    ----------
    rows, strangers
        Training rows, and rows of the holdout, that stand in the model.
    where
        Names of the parts of the model that hold them.
    for_everybody
        Parts that hold a value for every training row, as wide as they may be.
    strange
        Parts that could hold records in a form that cannot be looked through.
    """

    rows: BoolArray
    strangers: BoolArray | None
    where: tuple[str, ...]
    strange: Mapping[str, str]


def stored_records(
    case: ModelCase, threshold: int = THRESHOLD, views: Sequence[View] | None = None
) -> Stored:
    """Look for training records in the model; ``views`` are those of `views_of`, where they are at hand.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> people = {"age": [20.0, 30.0, 40.0, 50.0], "ill": ["no", "no", "yes", "yes"]}
    >>> model = KNeighborsClassifier(2).fit([[a] for a in people["age"]], people["ill"])
    >>> stored_records(ModelCase.of(model, people, target="ill")).rows.all()
    np.True_
    """
    rows = np.zeros(case.train.rows, bool)
    strangers = None if case.holdout is None else np.zeros(case.holdout.rows, bool)
    where: list[str] = []
    views = list(views_of(case)) if views is None else views
    try:
        held = [(name, thing) for name, thing in parts_of(case.fitted.model) if isinstance(thing, np.ndarray)]
    except TooManyParts:
        held = []
    tables = [(name, form) for name, array in held for form in _forms(array)]
    for view in _different(iter(views)):
        for name, table in tables:
            found = _rows_in(view, table, case, threshold)
            if found is not None and found[0].any():
                where.append(name)
                rows |= found[0]
                if strangers is not None and found[1] is not None:
                    strangers |= found[1]
    return Stored(rows, strangers, tuple(dict.fromkeys(where)), strange_parts(case, views, bool(rows.any())))


def _different(views: Iterator[View]) -> Iterator[View]:
    """Views whose records differ from all before them."""
    seen: set[tuple[int, ...]] = set()
    kept = []
    for view in views:
        mark = tuple(map(id, view.columns))
        if mark not in seen:
            seen.add(mark)
            kept.append(view)  # alive, so that no other column gets its number
            yield view


def _forms(array: AnyArray) -> Iterator[AnyArray]:
    """An array as tables whose rows may be records: as it is, on its side, a line as one record."""
    if array.dtype.kind not in "fiubOUS" or array.ndim < 1:
        return
    if array.ndim == 1:
        yield array[None, :]
        return
    flat = array.reshape(-1, array.shape[-1])
    yield flat
    yield flat.T


def _rows_in(
    view: View, table: AnyArray, case: ModelCase, threshold: int
) -> tuple[BoolArray, BoolArray | None] | None:
    """Records that stand in a table, and strangers'; None where nothing can be told."""
    features = view.columns if view.part is not None else view.columns[:-1]
    if table.shape[1] == len(features):
        pairs = list(zip(range(table.shape[1]), features, strict=True))
        found = _agreeing(pairs, table, None)
        if found is not None:
            return found
    if len(table) < MANY_ROWS or table.shape[1] > 20 * len(view.columns):
        return None
    if len(table) == case.train.rows and not _sorted(table):
        same = [j for j in range(table.shape[1]) if any(_rescaled(table[:, j], k) for k in features)]
        if len(same) >= min(2, len(features)):
            return np.ones(case.train.rows, bool), None
    pairs = _columns_of(table, view.columns)
    return _agreeing(pairs, table, threshold) if len(pairs) >= 2 else None


def _columns_of(table: AnyArray, columns: Sequence[Known]) -> list[tuple[int, Known]]:
    """Which column of the records each column of a table may be: the one with all its values, and as many of them."""
    free, pairs = list(columns), []
    for j in range(table.shape[1]):
        values = table[:, j]
        fits: list[tuple[float, int, Known]] = []
        for known in free:
            at = known.places(values)
            if (at >= 0).mean() >= 0.9:
                own = np.bincount(at[at >= 0], minlength=len(known.different) + 1) / len(at)
                fits.append((float(np.abs(own - known.shares).sum()), len(fits), known))
        if fits:
            pairs.append((j, min(fits)[2]))
            free.remove(pairs[-1][1])
    return pairs


def _agreeing(
    pairs: Sequence[tuple[int, Known]], table: AnyArray, threshold: int | None
) -> tuple[BoolArray, BoolArray | None] | None:
    """Records whose values in some columns are those of a row of the table, where chance does not explain it."""
    held, whole = [], np.ones(len(table), bool)
    for j, known in pairs:
        held.append(known.places(table[:, j]))
        whole &= held[-1] >= 0
        if not whole.any():  # columns are put in order only as far as something agrees
            return None
    places = np.column_stack(held)
    records = np.column_stack([known.codes for _, known in pairs])
    mine, theirs = _keys(records, places[whole])
    rows = np.isin(mine, theirs)
    if threshold is not None:  # in some columns only, what many have in common is nobody's
        rows &= _few(mine, pairs[0][1].units, threshold)
    fewest, share = (FEW_ROWS, 0.5) if threshold is None else (MANY_ROWS, 0.9)
    most = np.isin(theirs, mine).sum() >= share * len(table)
    if len(table) < fewest or not most or _sorted(table):
        rows &= _telling(pairs, len(records))
    return (rows, _strangers(pairs, records[rows])) if rows.any() else None


def _few(keys: IntArray, units: Units, threshold: int) -> BoolArray:
    """Which records share their values with fewer people than the threshold."""
    _, group = np.unique(keys, return_inverse=True)
    return np.asarray(units.owners(group, int(group.max()) + 1))[group] < threshold


def _telling(pairs: Sequence[tuple[int, Known]], records: int) -> BoolArray:
    """Which records have values so uncommon that a row does not agree with them by chance."""
    chance = np.sum([np.log(known.shares[known.codes]) for _, known in pairs], axis=0)
    return np.asarray(np.exp(chance) * records < CHANCE)


def _strangers(pairs: Sequence[tuple[int, Known]], held: IntArray) -> BoolArray | None:
    """Which of the strangers have a record that is held."""
    others = [known.strangers for _, known in pairs]
    if any(values is None for values in others):
        return None
    places = np.column_stack([k.places(x) for (_, k), x in zip(pairs, others, strict=True) if x is not None])
    theirs, mine = _keys(places, held)
    return np.asarray(np.isin(theirs, mine) & (places >= 0).all(axis=1))


def _keys(first: IntArray, second: IntArray) -> tuple[IntArray, IntArray]:
    """One number for each row of two tables of places: equal for equal rows."""
    both = np.concatenate([first, second])
    key = both[:, 0].copy()
    for column in both.T[1:]:
        size = int(column.max(initial=0)) + 2
        if int(key.max(initial=0)) > (1 << 62) // size:
            key = np.unique(key, return_inverse=True)[1]
        key = key * size + column + 1
    return key[: len(first)], key[len(first) :]


def _sorted(table: AnyArray) -> bool:
    """Whether every one of several columns ascends: quantiles, not records."""
    if table.shape[1] < 2 or table.dtype.kind in "OUS":
        return False
    return bool((np.diff(table.astype(np.float64), axis=0) >= 0).all())


def _rescaled(values: AnyArray, known: Known) -> bool:
    """Whether a column is one of the records in other units, and perhaps in another order."""
    if values.dtype.kind not in "fiu" or known.is_text or len(known.different) <= COMMON:
        return False
    both = [np.sort(np.asarray(x, np.float64)) for x in (values, known.values)]
    if not all(np.isfinite(x).all() and x.std() > 0 for x in both):
        return False
    mine, theirs = ((x - x.mean()) / x.std() for x in both)
    return min(float(np.abs(mine - x).max()) for x in (theirs, -theirs[::-1])) < CLOSE
