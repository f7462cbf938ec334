"""Survey estimates: means, shares, totals, ratios and quantiles, for all people or by group.

They are written like models without a ``~``: ``mean(income)``, ``share(health) by region``, ``total(income)``,
``ratio(income, hours)``, ``quantile(income, 0.5)``. Groups are domains: rows outside a group stay in the design.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from dalenius.core.errors import DataError, OptionError, no_column
from dalenius.core.later import stats
from dalenius.data.design import Design
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.data.vector import BoolArray
from dalenius.utility.inference.expressions import Floats
from dalenius.utility.inference.formula import codes_of, levels_of
from dalenius.utility.inference.models import Fit

What = Literal["mean", "share", "total", "ratio", "quantile"]
_TEXT = re.compile(r"^\s*(\w+)\s*\((.*)\)\s*(?:by\s+(.+?))?\s*$", re.S)


@dataclass(frozen=True)
class Estimate:
    """What is estimated, of which column, in which groups.

    Examples
    --------
    >>> Estimate.parse("quantile(income, 0.5) by region")
    Estimate(what='quantile', column='income', other='', at=0.5, by='region')
    """

    what: What
    column: str
    other: str = ""
    at: float = 0.5
    by: str = ""

    @classmethod
    def parse(cls, text: str) -> Estimate:
        """Read ``mean(income) by region`` and the like."""
        match = _TEXT.match(text)
        if match is None or match[1] not in get_args(What):
            raise OptionError(
                f"{text!r} is neither a formula 'income ~ age' nor one of mean(x), share(x), total(x), ratio(x, y) and "
                "quantile(x, 0.5), perhaps with 'by region'"
            )
        what: Any = match[1]
        parts = [part.strip().strip("`") for part in match[2].split(",")]
        by = (match[3] or "").strip().strip("`")
        wanted = 2 if what in ("ratio", "quantile") else 1
        if len(parts) != wanted or not all(parts):
            raise OptionError(f"{text!r}: {what} takes {'two things' if wanted == 2 else 'one column'}")
        if what != "quantile":
            return cls(what, parts[0], parts[1] if what == "ratio" else "", by=by)
        try:
            at = float(parts[1])
        except ValueError:
            at = -1.0
        if not 0 < at < 1:
            raise OptionError(
                f"{text!r}: a quantile is asked for between 0 and 1, such as quantile(income, 0.5)"
            )
        return cls(what, parts[0], at=at, by=by)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that are read."""
        return tuple(name for name in (self.column, self.other, self.by) if name)


def estimate(
    wanted: Estimate | str, frame: Any, schema: Schema | None = None,
    design: Design | Literal["schema"] | None = "schema",
) -> Fit:  # fmt: skip
    """Estimate for the population, with the covariance of the sampling design (or of a simple random sample).

    Parameters
    ----------
    wanted
        For example ``"mean(income) by region"``; of a category ``share`` gives every level.
    schema
        Order of the levels; default: the table's own.
    design
        How the rows were drawn; default: what the roles of the table's schema say; None: all rows alike.

    Examples
    --------
    >>> people = {"income": [4, 6, 8], "w": [5, 10 / 3, 2]}
    >>> table = Table.from_frame(people, Schema.infer(people).with_roles(weight="w"))
    >>> found = estimate("mean(income)", table)
    >>> round(float(found.estimates[0]), 7), round(float(found.variances[0]), 7)
    (5.4193548, 1.1343543)
    """
    asked = Estimate.parse(wanted) if isinstance(wanted, str) else wanted
    table = Table.from_frame(frame)
    absent = [name for name in asked.columns if name not in table]
    if absent:
        raise DataError(no_column(absent, table.names))
    drawn = Design.of(table) if design == "schema" else design
    how = drawn if drawn is not None else Design(np.ones(table.rows))
    known = np.all([table[name].present for name in asked.columns], axis=0)
    for name in (asked.column, asked.other):
        if name and table[name].is_number:
            known &= np.isfinite(table[name].floats())
    if not known.any():
        raise DataError(f"{asked.what}({asked.column}): no row has a value")
    labels, groups = _groups(asked, table, schema, known)
    names, values, covariance = _ESTIMATORS[asked.what](asked, table, schema, how, groups)
    full = [f"{name}, {asked.by} {label}" if asked.by else name for label in labels for name in names]
    return Fit(
        full, values, covariance, int(known.sum()), how.df if drawn is not None else np.inf, drawn is not None
    )


def _groups(
    asked: Estimate, table: Table, schema: Schema | None, known: BoolArray
) -> tuple[list[str], list[BoolArray]]:
    """Labels of the groups, and who is in each."""
    if not asked.by:
        return [""], [known]
    vector = table[asked.by]
    levels = levels_of(vector, schema)
    codes = codes_of(vector, levels)
    there = [i for i in range(len(levels)) if np.any(known & (codes == i))]
    return [str(levels[i]) for i in there], [known & (codes == i) for i in there]


Found = tuple[list[str], Floats, Floats]


def _numbers(asked: Estimate, table: Table, name: str) -> Floats:
    if not table[name].is_number:
        raise DataError(
            f"{asked.what}({name}): the column is no number; share({name}) gives the shares of its levels"
        )
    return np.nan_to_num(table[name].floats())


def _ratios(
    asked: Estimate, tops: list[Floats], bottom: Floats, design: Design, groups: list[BoolArray]
) -> Found:
    """Ratios of totals in each group: means and shares are ratios to the number of people."""
    tops_of = np.stack([top * inside for inside in groups for top in tops], axis=1)
    under = np.stack([bottom * inside for inside in groups for _ in tops], axis=1)

    def ratio(weights: Floats) -> Floats:
        return np.asarray((weights @ tops_of) / np.where(weights @ under == 0, np.nan, weights @ under))

    values = ratio(design.weights)
    scores = design.weights[:, None] * (tops_of - under * values) / (design.weights @ under)
    return [asked.what], values, design.covariance(scores, ratio)


def _mean(
    asked: Estimate, table: Table, schema: Schema | None, design: Design, groups: list[BoolArray]
) -> Found:
    y = _numbers(asked, table, asked.column)
    _, values, covariance = _ratios(asked, [y], np.ones(table.rows), design, groups)
    return [f"mean of {asked.column}"], values, covariance


def _share(
    asked: Estimate, table: Table, schema: Schema | None, design: Design, groups: list[BoolArray]
) -> Found:
    vector = table[asked.column]
    levels = levels_of(vector, schema)
    codes = codes_of(vector, levels)
    there = [(codes == i).astype(np.float64) for i in range(len(levels))]
    _, values, covariance = _ratios(asked, there, np.ones(table.rows), design, groups)
    return [f"share of {asked.column} {level}" for level in levels], values, covariance


def _ratio(
    asked: Estimate, table: Table, schema: Schema | None, design: Design, groups: list[BoolArray]
) -> Found:
    y, x = _numbers(asked, table, asked.column), _numbers(asked, table, asked.other)
    _, values, covariance = _ratios(asked, [y], x, design, groups)
    return [f"ratio of {asked.column} to {asked.other}"], values, covariance


def _total(
    asked: Estimate, table: Table, schema: Schema | None, design: Design, groups: list[BoolArray]
) -> Found:
    y = np.stack([_numbers(asked, table, asked.column) * inside for inside in groups], axis=1)
    return [f"total of {asked.column}"], *design.total(y)


def _quantile(
    asked: Estimate, table: Table, schema: Schema | None, design: Design, groups: list[BoolArray]
) -> Found:
    """Smallest value that the share ``at`` of the people is not above; errors by Woodruff 1952.

    The interval of the share below the quantile, read back on the scale of the values, is twice z standard errors wide.
    """
    y = _numbers(asked, table, asked.column)

    def one(inside: BoolArray) -> Callable[[Floats, float], float]:
        order = np.flatnonzero(inside)[np.argsort(y[inside], kind="stable")]

        def read(weights: Floats, at: float) -> float:
            reached = np.cumsum(weights[order])
            place = int(np.searchsorted(reached, at * reached[-1] * (1 - 1e-12)))
            return float(y[order[min(place, len(order) - 1)]])

        return read

    readers = [one(inside) for inside in groups]
    values = np.array([read(design.weights, asked.at) for read in readers])
    name = [f"quantile {asked.at:g} of {asked.column}"]
    if design.replicates is not None:
        return name, values, design.spread(lambda w: np.array([read(w, asked.at) for read in readers]))
    below = np.stack([(y <= q) * inside for q, inside in zip(values, groups, strict=True)], axis=1)
    error = [
        float(
            np.sqrt(
                _ratios(asked, [below[:, i].astype(np.float64)], np.ones(table.rows), design, [inside])[2][
                    0, 0
                ]
            )
        )
        for i, inside in enumerate(groups)
    ]
    reach = float(stats.t.ppf(0.975, design.df))
    widths = [
        read(design.weights, min(asked.at + reach * e, 1.0))
        - read(design.weights, max(asked.at - reach * e, 0.0))
        for read, e in zip(readers, error, strict=True)
    ]
    return name, values, np.diag((np.array(widths) / (2 * reach)) ** 2)


_ESTIMATORS: dict[str, Callable[..., Found]] = {
    "mean": _mean, "share": _share, "total": _total, "ratio": _ratio, "quantile": _quantile,
}  # fmt: skip
