"""`protect`: primary rules, secondary suppression and the result in one call."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from dalenius.core.errors import OptionError
from dalenius.published.enough import Requirement
from dalenius.tables.contributions import single_owners
from dalenius.tables.gauss import ELSEWHERE, GaussResult, Progress, gauss_suppress
from dalenius.tables.intruders import exposure
from dalenius.tables.model import Bools, Ints, TableModel
from dalenius.tables.options import R_SINGLETON, SingletonRules
from dalenius.tables.order import candidate_order, decreasing
from dalenius.tables.part_rules import protections_of
from dalenius.tables.protection import PrimaryRule, Protection, joined_differences
from dalenius.tables.repair import repaired
from dalenius.tables.rules import cell_mask, default_rules
from dalenius.tables.suppression import Suppression


def protect(
    model: TableModel, *rules: PrimaryRule, order: Literal["value", "disclosure"] | Sequence[int] = "value",
    usefulness: Any | None = None, small: str = "auto", singleton: SingletonRules | str | None = None,
    forced: Any | None = None, hidden: Any | None = None, secondary_zeros: bool = False, singleton_zeros: bool = False,
    used_marking: Literal["early", "pivot"] = "early", repair: bool = True, unions: bool = True,
    requirement: Requirement | None = None, progress: Progress | None = None,
) -> Suppression:  # fmt: skip
    """Suppress the cells that break a rule, and the further cells without which those could be computed.

    Parameters
    ----------
    model
        From `define`.
    rules
        Primary rules; a cell is primary if any of them says so. Without any those of `default_rules`.
    order, usefulness
        Order in which cells are tried (all cells, most useful first), or weights that change the default order.
    small
        Method for small counts in frequency tables (`SmallMethod`); "auto" takes ``anysum``, or ``anysum_notprimary``
        when zeros may be suppressed to protect others.
    singleton
        Rules against single contributors in magnitude tables (`SingletonRules`, or R's code such as "numttHTT").
    forced, hidden
        Cells (mask, places or frame of codes) that are always published; that are not published at all.
    secondary_zeros
        Whether cells of count 0 may be suppressed to protect others.
    singleton_zeros
        In a magnitude table of values that cannot be negative: a published 0 tells that all its parts are 0, so sums
        of inner cells of value 0 are treated like sums of small counts.
    used_marking
        "early" as the R package does, "pivot" as the paper words it (a little less suppression).
    repair, requirement
        The outcome is audited, and further cells are suppressed until every interval is as wide as the rules (and
        ``requirement``) ask for and no single contributor can compute a protected cell. What that costs is in the
        notes; a table that stays unsafe is not handed out (`Suppression.to_frame`). ``repair=False`` is the bare
        elimination, as R's package does it, without an audit.
    unions
        In a table of sums the rules on contributors also hold for sums of suppressed cells that follow from published
        ones: a total less its published parts must not be the sum of two firms. False: only for cells, as in R.

    Examples
    --------
    >>> from dalenius.tables import define, protect, SmallCount
    >>> model = define({"sex": ["f", "f", "m", "m"], "job": ["a", "b", "a", "b"], "n": [2, 9, 8, 7]},
    ...                by=["sex", "job"], freq="n")
    >>> result = protect(model, SmallCount(3))
    >>> print(result)
    4 of 9 cells are suppressed: 1 because a rule asks for it (small count 1), 3 to protect it.
    """
    rules = rules or default_rules(model)
    options: dict[str, Any] = {
        "order": order, "usefulness": usefulness, "small": small, "singleton": singleton, "forced": forced,
        "hidden": hidden, "secondary_zeros": secondary_zeros, "singleton_zeros": singleton_zeros,
        "used_marking": used_marking, "progress": progress,
    }  # fmt: skip
    if repair:
        return repaired(
            lambda *more, sums=None: suppress(model, (*rules, *more), sums=sums, **options),
            rules, requirement or Requirement(), unions,
        )  # fmt: skip
    return suppress(model, rules, **options)


def suppress(
    model: TableModel, rules: tuple[PrimaryRule, ...], *, order: Any = "value", usefulness: Any = None,
    small: str = "auto", singleton: SingletonRules | str | None = None, forced: Any = None, hidden: Any = None,
    secondary_zeros: bool = False, singleton_zeros: bool = False, used_marking: str = "early",
    progress: Progress | None = None, taken: Bools | None = None, sums: Any | None = None,
) -> Suppression:  # fmt: skip
    """One elimination; cells ``taken`` are suppressed already, unprotected themselves; ``sums`` stay unknown."""
    asked = protections_of(model, rules)
    marks = {label: each.mask for label, each in asked.items()}
    primary = np.logical_or.reduce(list(marks.values()))
    forced_cells, hidden_cells = cell_mask(model, forced), cell_mask(model, hidden)
    kept = np.zeros_like(primary) if taken is None else taken & ~primary & ~forced_cells & ~hidden_cells
    differences = joined_differences(asked.values())
    small, singleton = _r_names(small, singleton)
    single = singleton_rules(model, singleton)
    zeros = secondary_zeros or differences is not None
    tried = _order(model, order, usefulness, zeros)
    # Pivots in small inner cells leave the columns shorter; the outcome does not depend on the order of free rows. In
    # a magnitude table the rows of single contributors keep their order, which matters there.
    rows = np.arange(len(model.counts)) if model.is_magnitude else np.argsort(model.counts, kind="stable")
    closed = zeros_matter(model, asked.values(), singleton_zeros)
    result = gauss_suppress(
        model.matrix[rows],
        tried,
        primary & ~hidden_cells,
        forced=forced_cells,
        hidden=(hidden_cells & ~forced_cells) | kept,
        small_rows=small_rows(model, zeros or closed)[rows],
        small=small_method(model, small, zeros, closed),
        used_marking=used_marking,
        owners=owners_of(model, primary)[rows] if single.active else None,
        singleton=single,
        extra=_together(differences, sums, rows),
        progress=progress,
    )
    outcome = Suppression(
        model=model,
        primary=primary & ~forced_cells & ~hidden_cells,
        secondary=_mask(len(primary), result.secondary) | kept,
        forced=forced_cells,
        hidden=hidden_cells & ~forced_cells,
        unsafe=_mask(len(primary), result.unsafe),
        marks=marks,
        cause=_causes(kept, result),
        order=tried,
        notes=result.notes,
        rules=rules,
        differences=differences,
    )
    return outcome if single.report == "none" else _reported(outcome, warn=single.report == "warning")


def _together(differences: Any | None, sums: Any | None, rows: Ints) -> Any | None:
    """All sums that must stay unknown, over the inner cells in this order."""
    given = [each for each in (differences, sums) if each is not None]
    return sp.hstack(given).tocsr()[rows].tocsc() if given else None


def _mask(cells: int, places: Ints) -> Bools:
    mask = np.zeros(cells, np.bool_)
    mask[places] = True
    return mask


def _causes(kept: Bools, result: GaussResult) -> Ints:
    cause = np.where(kept, ELSEWHERE, np.iinfo(np.int64).min)
    cause[result.secondary] = result.cause
    return cause


def _reported(result: Suppression, warn: bool) -> Suppression:
    """Say whether single contributors can still compute a protected cell of somebody else."""
    owners = single_owners(result.model)
    found = exposure(
        result.model.matrix, result.suppressed, owners, hidden=result.hidden, combinations=False
    ).by_contributor
    able = sum(bool(result.primary[cells].any()) for cells in found.values())
    if not able:
        return result
    note = (
        f"{able} of {len(np.unique(owners[owners > 0]))} single contributors can compute a protected cell of "
        "somebody else; without repair=False further cells would be suppressed."
    )
    if warn:
        warnings.warn(note, stacklevel=4)
    return replace(result, notes=(*result.notes, note))


def singleton_rules(model: TableModel, given: SingletonRules | str | None) -> SingletonRules:
    """The rules against single contributors: those given, or the default of the kind of table."""
    if given is None:
        return SingletonRules() if model.is_magnitude else SingletonRules.none()
    return SingletonRules.from_code(given) if isinstance(given, str) else given


def _r_names(small: str, singleton: Any) -> tuple[str, Any]:
    """R gives rules for single contributors in the place of a method for small counts."""
    code = R_SINGLETON.get(small, small if small.startswith("num") else None)
    if code is None:
        return small, singleton
    if singleton is not None:
        raise OptionError(f"small={small!r} is a rule for single contributors, and singleton= is given too")
    return "none", code


def _order(model: TableModel, order: Any, usefulness: Any, zeros: bool) -> Ints:
    if isinstance(order, str):
        if order == "disclosure":
            counts = model.frequency
            return decreasing(np.where(counts == 0, 1.0, np.where(counts == 1, 0.0, counts)))
        if order == "value":
            return candidate_order(model, usefulness=usefulness, secondary_zeros=zeros)
        raise OptionError(f"order must be 'value', 'disclosure' or a list of cells, not {order!r}")
    places = np.asarray(order)
    if places.dtype.kind not in "iu":
        raise OptionError("order must be 'value', 'disclosure' or a list of places of cells")
    return places.astype(np.int64)


def zeros_matter(model: TableModel, asked: Iterable[Protection], singleton_zeros: bool = False) -> bool:
    """Whether zeros are to be kept unknown; among values that may be negative a sum of 0 tells nothing of its parts."""
    if model.values is not None and bool((model.values < 0).any()):
        return singleton_zeros
    return singleton_zeros or any(each.zeros for each in asked)


def small_rows(model: TableModel, zeros: bool) -> Bools:
    """Inner cells that cannot protect each other: zeros if zeros are suppressed, otherwise ones (Langsrud 2024, 4)."""
    if model.values is not None:
        return (model.values == 0) & zeros
    return model.counts == (0 if zeros else 1)


def small_method(model: TableModel, asked: str, secondary_zeros: bool, closed_zeros: bool) -> str:
    """The method for small counts that fits the table."""
    if asked != "auto":
        return asked
    if model.is_magnitude:
        return "anysum_notprimary" if closed_zeros else "none"
    return "anysum_notprimary" if secondary_zeros else "anysum"


def owners_of(model: TableModel, primary: Bools) -> Ints:
    """Single contributors of inner cells; an inner cell that is published as it is does not count."""
    owners = single_owners(model)
    alone = np.flatnonzero(model.sizes == 1)
    rows = model.matrix.indices[model.matrix.indptr[alone]]
    open_rows = np.setdiff1d(rows[~primary[alone]], rows[primary[alone]])
    owners[open_rows] = 0
    return owners
