"""Primary rules: which cells must not be published as they are.

The parameters of concentration rules are confidential (Handbook on Statistical Disclosure Control, section
4.2): results
name the rule that hit a cell, never its parameters.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from dalenius.core.errors import DataError, OptionError, names
from dalenius.core.option import one_of
from dalenius.tables.contributions import Contributions, Parts, levels
from dalenius.tables.errors import need_whole
from dalenius.tables.model import Bools, Floats, TableModel
from dalenius.tables.protected import first_of_kind, signatures
from dalenius.tables.protection import PrimaryRule, Protection, joined, protection_of
from dalenius.tables.union_programs import Concentration


@dataclass(frozen=True)
class SmallCount:
    """Counts up to ``max_n`` are protected; zeros too in a table of counts (``protect_zeros`` says otherwise).

    Examples
    --------
    >>> from dalenius.tables import define
    >>> model = define({"a": ["x", "y"], "n": [5, 2]}, by="a", freq="n")
    >>> SmallCount(3).protects(model).mask.tolist()
    [False, False, True]
    """

    max_n: int = 3
    protect_zeros: bool | None = None
    name: str = "small count"

    def __post_init__(self) -> None:
        need_whole(self.max_n, 0, "the largest small count")

    def protects(self, model: TableModel) -> Protection:
        """The cells that break the rule."""
        zeros = not model.is_magnitude if self.protect_zeros is None else self.protect_zeros
        few = model.frequency <= self.max_n
        return Protection.of(model, few if zeros else few & (model.frequency > 0), zeros=zeros)


@dataclass(frozen=True)
class FewContributors:
    """Cells with 1 … ``max_n`` distinct contributors are protected; ``ignored`` codes are no contributors.

    In a table of sums a contributor of 0 does not count: the sum is that of the others. A cell whose contributors all
    have 0 stays open; ``protect_zeros`` of the p % and dominance rules closes it. With ``weighting="tau-argus"`` a
    contributor counts as often as its sampling weight says.

    Examples
    --------
    >>> from dalenius.tables import define
    >>> firms = {"branch": ["a", "a", "b"], "firm": ["f1", "f2", "f3"], "value": [30, 40, 10]}
    >>> FewContributors(1).protects(define(firms, by="branch", value="value", contributor="firm")).mask.tolist()
    [False, False, True]
    """

    max_n: int = 2
    ignored: tuple[str, ...] = ()
    weighting: str = "default"
    name: str = "few contributors"
    over_sums: ClassVar[bool] = True

    def __post_init__(self) -> None:
        need_whole(self.max_n, 1, "the number of contributors that are few")
        _check_weighting(self.weighting)

    def protects(self, model: TableModel) -> Protection:
        """The cells that break the rule, by contributor or by holding."""
        return joined(self._asked(level) for level in levels(model))

    def _asked(self, model: TableModel) -> Protection:
        parts = _parts(model, self.ignored, self.weighting) if model.is_magnitude else Contributions.of(model)
        return Protection.of(model, (parts.giving > 0) & (parts.giving <= self.max_n))


@dataclass(frozen=True)
class Dominance:
    """(n, k)-dominance: the n largest contributors make up at least k % of the cell.

    ``weighting="default"`` compares unweighted contributions with the weighted total; ``"tau-argus"`` spreads a
    contribution with weight w over w units when the largest are picked. ``strict`` asks for more than k %. Negative
    contributions count with their absolute value. ``protect_zeros`` also marks cells whose contributors all have 0.

    Examples
    --------
    >>> from dalenius.tables import define
    >>> firms = {"branch": ["a", "a", "b", "b"], "value": [90, 10, 50, 50]}
    >>> Dominance([(1, 80)]).protects(define(firms, by="branch", value="value")).mask.tolist()
    [False, True, False]
    """

    pairs: tuple[tuple[int, float], ...] | Iterable[tuple[int, float]] = ((1, 85.0),)
    weighting: str = "default"
    strict: bool = False
    ignored: tuple[str, ...] = ()
    protect_zeros: bool = False
    name: str = "dominance"
    over_sums: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "pairs", tuple((n, float(k)) for n, k in self.pairs))
        if not self.pairs or any(not n >= 1 or n % 1 or not 0 < k <= 100 for n, k in self.pairs):
            raise OptionError(
                "a dominance pair is (n, k) with a whole n of at least 1 and k a percentage above 0 up to 100"
            )
        object.__setattr__(self, "pairs", tuple((int(n), k) for n, k in self.pairs))
        _check_weighting(self.weighting)

    def protects(self, model: TableModel) -> Protection:
        """The cells that break the rule, by contributor or by holding."""
        return joined(self._asked(level) for level in levels(model))

    def _asked(self, model: TableModel) -> Protection:
        parts = _parts(model, self.ignored, self.weighting)
        marks = self.hits(parts)
        return Protection.of(model, marks, upper=np.where(marks, self._upper(parts), 0.0))

    def hits(self, parts: Parts) -> Bools:
        """The cells that break the rule, whoever counted their contributors."""
        marks = np.zeros(len(parts.total), np.bool_)
        for n, k in self.pairs:
            share, limit = 100.0 * parts.largest_sum(n), k * parts.total
            near = np.isclose(share, limit, rtol=1e-12, atol=0.0)
            marks |= (share > limit) & ~near if self.strict else (share >= limit) | near
        return (marks & (parts.total > 0)) | (_all_zero(parts) & self.protect_zeros)

    @property
    def concentrations(self) -> tuple[Concentration, ...]:
        """The rule as inequalities over contributions."""
        return tuple(Concentration(1.0, n - 1, k / 100.0) for n, k in self.pairs)

    def shares(self, model: TableModel) -> dict[int, Floats]:
        """For each n the share of the n largest contributors (a fraction, 0 in an empty cell; confidential)."""
        parts = _parts(model, self.ignored, self.weighting)
        whole = np.where(parts.total > 0, parts.total, 1.0)
        return {n: parts.largest_sum(n) / whole for n, _ in self.pairs}

    def _upper(self, parts: Contributions) -> Floats:
        """How far above the cell's value an intruder's upper bound must lie: (100/k)(x1 + … + xn) − X."""
        levels = [100.0 / k * parts.largest_sum(n) - parts.total for n, k in self.pairs]
        return np.maximum(np.max(levels, axis=0), 0.0)


def _check_weighting(weighting: str) -> None:
    one_of("weighting", weighting, ("default", "tau-argus"))


def _parts(model: TableModel, ignored: tuple[str, ...], weighting: str) -> Contributions:
    """Who contributes how much to the cells of a table of sums."""
    records = model.records
    if records is None:
        raise DataError("this rule is for sums; name the column of values (value=, --value)")
    if weighting == "tau-argus" and records.weight is not None and records.weight.min() < 1:
        raise OptionError("tau-argus weighting needs weights of at least 1")
    return Contributions.of(model, ignored, weighting == "tau-argus")


@dataclass(frozen=True)
class PPercent:
    """p % rule: the second largest contributor could estimate the largest to within p %.

    A cell is protected if what is left after the two largest is less than p % of the largest. With ``q`` below 100
    everybody knows each contribution to within q % beforehand: the (p, q) or prior-posterior rule. ``coalition``
    contributors may pool what they know (1 = the second largest alone). Negative contributions count with their
    absolute value, which is the cautious reading. ``protect_zeros`` also marks cells whose contributors all have 0.

    Examples
    --------
    >>> from dalenius.tables import define
    >>> firms = {"branch": ["a"] * 3 + ["b"] * 3, "value": [90, 8, 2, 40, 30, 30]}
    >>> PPercent(10).protects(define(firms, by="branch", value="value")).mask.tolist()
    [False, True, False]
    """

    p: float = 10.0
    coalition: int = 1
    ignored: tuple[str, ...] = ()
    protect_zeros: bool = False
    q: float = 100.0
    weighting: str = "default"
    name: str = "p percent"
    over_sums: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 < self.p < float("inf"):
            raise OptionError("p must be a percentage above 0")
        if not self.p < self.q < float("inf"):
            raise OptionError("q, what everybody knows beforehand, must be a percentage above p")
        need_whole(self.coalition, 1, "the coalition")
        _check_weighting(self.weighting)

    def protects(self, model: TableModel) -> Protection:
        """The cells that break the rule, by contributor or by holding."""
        return joined(self._asked(level) for level in levels(model))

    def _asked(self, model: TableModel) -> Protection:
        parts = _parts(model, self.ignored, self.weighting)
        marks = self.hits(parts)
        rest, margin = self._rest(parts)
        # An intruder's upper bound must lie (p/q) x1 − (X − x1 − x2) above the value.
        return Protection.of(model, marks, upper=np.where(marks, np.maximum(margin - rest, 0.0), 0.0))

    def hits(self, parts: Parts) -> Bools:
        """The cells that break the rule, whoever counted their contributors."""
        rest, margin = self._rest(parts)
        marks = (rest < margin) & ~np.isclose(rest, margin, rtol=1e-12, atol=0.0)
        return marks | (_all_zero(parts) & self.protect_zeros)

    @property
    def concentrations(self) -> tuple[Concentration, ...]:
        """The rule as an inequality over contributions."""
        return (Concentration(1.0 + self.p / self.q, self.coalition, 1.0),)

    def _rest(self, parts: Parts) -> tuple[Floats, Floats]:
        """What is left after the largest, and what must be left."""
        # With weights below 1 the largest may exceed the weighted total: then nothing is left beside them.
        rest = np.maximum(parts.total - parts.largest_sum(1 + self.coalition), 0.0)
        return rest, self.p / self.q * parts.largest_sum(1)


@dataclass(frozen=True)
class Request:
    """A cell is protected if a contributor who asked for it makes up at least ``percent`` of it.

    Who asked is said by ``define(..., request=column)``; a second kind of request (2) has a percentage of its own.

    Examples
    --------
    >>> from dalenius.tables import define
    >>> firms = {"branch": ["a", "a", "b", "b"], "value": [70, 30, 70, 30], "asked": [1, 0, 0, 1]}
    >>> Request(60).protects(define(firms, by="branch", value="value", request="asked")).mask.tolist()
    [False, True, False]
    """

    percent: float = 50.0
    second: float | None = None
    name: str = "request"
    over_sums: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not all(0 < k <= 100 for k in (self.percent, self.second or self.percent)):
            raise OptionError("a request rule takes percentages above 0 up to 100")

    @property
    def concentrations(self) -> tuple[Concentration, ...]:
        """The rule as inequalities over contributions, by kind of request."""
        kinds = enumerate((self.percent, self.second or self.percent), 1)
        return tuple(Concentration(1.0, 0, percent / 100.0, kind) for kind, percent in kinds)

    def protects(self, model: TableModel) -> Protection:
        """The cells that break the rule, by contributor or by holding."""
        if model.records is None or model.records.request is None:
            raise DataError("the request rule needs to know who asked; name the column with request=")
        return joined(self._asked(level) for level in levels(model))

    def _asked(self, model: TableModel) -> Protection:
        records = model.records
        assert records is not None and records.request is not None  # noqa: PT018
        total = Contributions.of(model).total
        marks, upper = np.zeros(len(total), np.bool_), np.zeros(len(total))
        for kind, percent in ((1, self.percent), (2, self.second or self.percent)):
            those = records.request == kind
            if those.any():
                largest = Contributions.of(
                    replace(model, records=records.of(those, records.inner[those]))
                ).largest(1)[:, 0]
                hit = (largest > 0) & (100.0 * largest >= percent * total)
                marks |= hit
                upper = np.maximum(
                    upper, np.where(hit, np.maximum(100.0 / percent * largest - total, 0.0), 0.0)
                )
        return Protection.of(model, marks, upper=upper)


def _all_zero(parts: Parts) -> Bools:
    """Cells that have contributors, all with 0: the published 0 tells what each of them contributes."""
    return (parts.number > 0) & (parts.total == 0)


@dataclass(frozen=True)
class Manual:
    """Cells named by hand, as a frame of codes or as a mask.

    Examples
    --------
    >>> from dalenius.tables import define
    >>> Manual({"a": ["y"]}).protects(define({"a": ["x", "y"]}, by="a")).mask.tolist()
    [False, False, True]
    """

    cells: Any
    name: str = "manual"

    def protects(self, model: TableModel) -> Protection:
        """The cells that break the rule."""
        return Protection.of(model, cell_mask(model, self.cells))


@dataclass(frozen=True)
class Except:
    """A veto: cells another rule would protect, but which are known to be harmless, stay open.

    Examples
    --------
    >>> from dalenius.tables import define
    >>> rule = Except(SmallCount(3), {"a": ["y"]})
    >>> rule.protects(define({"a": ["x", "y"]}, by="a")).mask.tolist()
    [True, True, False]
    """

    rule: PrimaryRule
    cells: Any

    @property
    def name(self) -> str:
        """Name of the rule inside."""
        return self.rule.name

    def protects(self, model: TableModel) -> Protection:
        """The cells that break the rule and are not excepted."""
        asked = protection_of(self.rule, model)
        if asked.differences is not None:
            raise OptionError(
                f"{self.name} protects differences of cells; a veto of cells has no effect on it"
            )
        kept = asked.mask & ~cell_mask(model, self.cells)
        return Protection(kept, asked.zeros and bool(kept.any()), np.where(kept, asked.upper, 0.0))


@dataclass(frozen=True)
class KDisclosure:
    """Differences that give a group away: all but ``coalition`` members of a cell are in one of its parts.

    Protects the differences "cell − part" with count up to ``coalition`` rather than cells. With ``sensitive`` only
    differences in those dimensions count; with ``identifying`` only cells that are totals in all other dimensions;
    parts larger than ``upper_bound`` are considered safe.

    Examples
    --------
    >>> from dalenius.tables import define
    >>> model = define({"town": ["a", "a", "b", "b"], "ill": ["y", "n", "y", "n"], "n": [5, 0, 4, 3]},
    ...                by=["town", "ill"], freq="n")
    >>> rule = KDisclosure(0)
    >>> rule.protects(model).differences.shape[1]  # everybody in town a is ill, and all who are not live in b
    2
    """

    coalition: int = 1
    sensitive: tuple[str, ...] = ()
    identifying: tuple[str, ...] = ()
    upper_bound: float = float("inf")
    name: str = "direct disclosure"

    def __post_init__(self) -> None:
        need_whole(self.coalition, 0, "the coalition")
        if not self.upper_bound >= 0:
            raise OptionError("the upper bound must be 0 or more")

    def protects(self, model: TableModel) -> Protection:
        """No cell is primary; the differences are protected instead."""
        none = np.zeros(len(model.cells), np.bool_)
        return Protection.of(model, none, differences=self._differences(model))

    def _differences(self, model: TableModel) -> Any:
        """Columns (inner cells × differences) that must stay uncomputable."""
        unknown = [name for name in (*self.sensitive, *self.identifying) if name not in model.names]
        if unknown:
            raise DataError(
                f"direct disclosure: no dimension {names(unknown)}; there are {names(model.names)}"
            )
        place = first_of_kind(signatures(model.matrix))
        distinct = np.flatnonzero(place == np.arange(len(place)))
        matrix, frequency = model.matrix[:, distinct], model.frequency[distinct]
        sizes = np.diff(matrix.indptr)
        common = sp.coo_matrix(matrix.T @ matrix)
        part, whole = common.row, common.col
        hit = (common.data == sizes[part]) & (sizes[whole] > sizes[part])
        hit &= (frequency[part] > 0) & (frequency[part] <= self.upper_bound)
        hit &= frequency[whole] - frequency[part] <= self.coalition
        cells = model.cells[distinct]
        if self.identifying:
            others = [d for d in model.dimensions if d.name not in self.identifying]
            at_total = np.ones(len(distinct), np.bool_)
            for d in others:
                at_total &= (cells[d.name] == d.hierarchy.total).to_numpy()
            hit &= at_total[whole]
        if self.sensitive:
            differs = np.zeros(len(part), np.bool_)
            for name in self.sensitive:
                codes = cells[name].to_numpy()
                differs |= codes[part] != codes[whole]
            hit &= differs
        order = np.lexsort((part[hit], whole[hit]))
        return sp.csc_matrix(matrix[:, whole[hit][order]] - matrix[:, part[hit][order]])


def cell_mask(model: TableModel, cells: Any) -> Bools:
    """A mask of cells from a mask, places, or a frame of codes.

    Examples
    --------
    >>> from dalenius.tables import define
    >>> cell_mask(define({"a": ["x", "y"]}, by="a"), [0]).tolist()
    [True, False, False]
    """
    mask = np.zeros(len(model.cells), np.bool_)
    if cells is None:
        return mask
    if hasattr(cells, "columns") or isinstance(cells, dict):
        mask[model.places(cells)] = True
        return mask
    array = np.asarray(cells)
    if array.dtype == bool:
        if array.shape != mask.shape:
            raise DataError(f"a mask of {array.size} entries was given for {len(mask)} cells")
        return array
    if array.size and (array.dtype.kind not in "iu" or array.min() < 0 or array.max() >= len(mask)):
        raise DataError(f"cells are named by a mask, by places 0 … {len(mask) - 1}, or by a frame of codes")
    mask[array.astype(np.int64)] = True
    return mask


def default_rules(model: TableModel) -> tuple[PrimaryRule, ...]:
    """Rules for those who give none: counts up to 3 and zeros; sums of at most two contributors, and the p % rule.

    The Handbook on Statistical Disclosure Control (sections 4.2 and 5.2) names 3 as the usual least count and prefers
    p % to dominance.

    Examples
    --------
    >>> from dalenius.tables import define
    >>> [rule.name for rule in default_rules(define({"a": ["x", "y"]}, by="a"))]
    ['small count']
    """
    return (FewContributors(2), PPercent(10)) if model.is_magnitude else (SmallCount(3),)
