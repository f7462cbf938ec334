"""What a file made from outputs is to reproduce: tables, coefficients, means and medians, and who cleared them.

Elliot, Little and Allmendinger (2024). A target knows how to compute itself on a file and how far off it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dalenius.core.errors import OptionError, names

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
ROUNDING = 0.005
"""How far printed proportions may be from adding up to 1."""


@dataclass(frozen=True)
class Variable:
    """One column: its values (numbers or labels), and how often each occurs (evenly, where nobody says)."""

    name: str
    values: tuple[Any, ...]
    shares: tuple[float, ...] = ()
    numeric: bool = False

    @property
    def weights(self) -> Floats:
        """Shares of the values, adding up to 1."""
        given = np.array(self.shares or [1.0] * len(self.values), np.float64)
        return np.asarray(given / given.sum())


@dataclass(frozen=True, eq=False)
class Metadata:
    """The columns of a file to be made, and how many rows it has."""

    variables: tuple[Variable, ...]
    rows: int

    def at(self, name: str) -> int:
        """Place of a column."""
        return [v.name for v in self.variables].index(name)

    def code(self, name: str, value: Any) -> int:
        """Code of a value."""
        held = [str(v) for v in self.variables[self.at(name)].values]
        return held.index(str(value))

    @property
    def numbers(self) -> Floats:
        """Columns × codes: the values as numbers; codes where they are labels."""
        size = max((len(v.values) for v in self.variables), default=1)
        made = np.zeros((len(self.variables), size))
        for i, v in enumerate(self.variables):
            made[i, : len(v.values)] = [float(x) if _is_number(x) else c for c, x in enumerate(v.values)]
        return made


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True


@dataclass(frozen=True, eq=False)
class CrossTab:
    """Counts of two columns together; ``counts`` maps pairs of values to counts, or to proportions (``props``)."""

    first: str
    second: str
    counts: Mapping[tuple[Any, Any], float]
    props: bool = False
    weight: float = 1.0
    source: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns it looks at."""
        return (self.first, self.second)

    def table(self, meta: Metadata) -> Ints:
        """Whole counts; of rounded proportions those by largest remainders."""
        a, b = (len(meta.variables[meta.at(name)].values) for name in self.columns)
        dense = np.zeros((a, b))
        for (x, y), count in self.counts.items():
            dense[meta.code(self.first, x), meta.code(self.second, y)] = count
        return largest_remainder(dense, meta.rows) if self.props else np.rint(dense).astype(np.int64)

    def compute(self, codes: Ints, meta: Metadata) -> Floats:
        """Proportions of a file."""
        i, j = meta.at(self.first), meta.at(self.second)
        made = np.zeros(self.table(meta).shape)
        np.add.at(made, (codes[:, i], codes[:, j]), 1.0)
        return made.ravel() / max(len(codes), 1)

    def reference(self, meta: Metadata) -> Floats:
        """What is to be reached."""
        return self.table(meta).ravel() / meta.rows

    def labels(self, meta: Metadata) -> list[str]:
        """What each figure is, in words."""
        first, second = (meta.variables[meta.at(name)].values for name in self.columns)
        return [f"{self.first} = {a}, {self.second} = {b}" for a in first for b in second]

    def loss(self, codes: Ints, meta: Metadata) -> float:
        """Mean squared difference over all cells."""
        return float(((self.compute(codes, meta) - self.reference(meta)) ** 2).mean())


@dataclass(frozen=True, eq=False)
class Regression:
    """Coefficients of a regression with dummies against stated reference levels.

    ``coefs`` maps ``"constant"``, names of numeric columns and ``(column, value)`` pairs to coefficients; ``logit`` is
    a logistic regression of a column of 0 and 1, otherwise least squares.
    """

    y: str
    coefs: Mapping[Any, float]
    reference_levels: Mapping[str, Any]
    logit: bool = True
    weight: float = 1.0
    penalty: float = 10.0
    source: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns it looks at."""
        names = [term if isinstance(term, str) else term[0] for term in self.coefs if term != "constant"]
        return tuple(dict.fromkeys([self.y, *names]))

    def terms(self, meta: Metadata) -> tuple[Ints, Ints, Floats]:
        """Column and code of every coefficient (-1 for the constant and for numbers), and its value."""
        var, code = [], []
        for term in self.coefs:
            named = None if term == "constant" else term if isinstance(term, str) else term[0]
            var.append(-1 if named is None else meta.at(named))
            code.append(-1 if isinstance(term, str) else meta.code(*term))
        return (
            np.array(var, np.int64),
            np.array(code, np.int64),
            np.array(list(self.coefs.values()), np.float64),
        )

    def design(self, codes: Ints, meta: Metadata) -> Floats:
        """Rows × coefficients."""
        var, code, _ = self.terms(meta)
        numbers = meta.numbers
        columns = [
            np.ones(len(codes))
            if v < 0
            else numbers[v][codes[:, v]]
            if c < 0
            else (codes[:, v] == c).astype(float)
            for v, c in zip(var, code, strict=True)
        ]
        return np.column_stack(columns)

    def compute(self, codes: Ints, meta: Metadata) -> Floats:
        """The file's own coefficients; NaN where they cannot be estimated."""
        x = self.design(codes, meta)
        y = meta.numbers[meta.at(self.y)][codes[:, meta.at(self.y)]]
        return fit_logit(x, y) if self.logit else np.linalg.lstsq(x, y, rcond=None)[0]

    def reference(self, meta: Metadata) -> Floats:
        """What is to be reached."""
        return self.terms(meta)[2]

    def labels(self, meta: Metadata) -> list[str]:
        """What each figure is, in words."""
        return [term if isinstance(term, str) else f"{term[0]} = {term[1]}" for term in self.coefs]

    def loss(self, codes: Ints, meta: Metadata) -> float:
        """Mean squared difference of the coefficients, a penalty for those that cannot be estimated."""
        gap = (self.compute(codes, meta) - self.reference(meta)) ** 2
        return float(np.where(np.isnan(gap), self.penalty, np.minimum(gap, self.penalty)).mean())


@dataclass(frozen=True, eq=False)
class Grouped:
    """Means or medians of a numeric column by the values of another."""

    y: str
    by: str
    values: Mapping[Any, float]
    median: bool = False
    weight: float = 1.0
    source: str = ""

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns it looks at."""
        return (self.y, self.by)

    def compute(self, codes: Ints, meta: Metadata) -> Floats:
        """The file's own means or medians."""
        y = meta.numbers[meta.at(self.y)][codes[:, meta.at(self.y)]]
        group = codes[:, meta.at(self.by)]
        middle = np.median if self.median else np.mean
        parts = [y[group == meta.code(self.by, value)] for value in self.values]
        return np.array([middle(part) if len(part) else np.nan for part in parts])

    def reference(self, meta: Metadata) -> Floats:
        """What is to be reached."""
        return np.array(list(self.values.values()), np.float64)

    def labels(self, meta: Metadata) -> list[str]:
        """What each figure is, in words."""
        return [f"{self.by} = {value}" for value in self.values]

    def loss(self, codes: Ints, meta: Metadata) -> float:
        """Mean squared relative difference."""
        goal = self.reference(meta)
        gap = (self.compute(codes, meta) - goal) / np.where(goal == 0, 1.0, goal)
        return float(np.where(np.isnan(gap), 1.0, gap**2).mean())


Target = CrossTab | Regression | Grouped


def largest_remainder(shares: Any, total: int) -> Ints:
    """Whole numbers in proportion to shares that add up to a total.

    Examples
    --------
    >>> largest_remainder([0.5, 0.25, 0.25], 3).tolist()
    [1, 1, 1]
    """
    wanted = np.asarray(shares, np.float64)
    exact = wanted / max(float(wanted.sum()), 1e-300) * total
    whole = np.floor(exact + 1e-9).astype(np.int64)
    order = np.argsort(-(exact - whole).ravel(), kind="stable")
    flat = whole.ravel()
    flat[order[: total - int(whole.sum())]] += 1
    return flat.reshape(wanted.shape)


def fit_logit(x: Floats, y: Floats, steps: int = 30) -> Floats:
    """Coefficients of a logistic regression by Newton's method; NaN where they do not exist.

    Examples
    --------
    >>> x = np.column_stack([np.ones(200), np.repeat([0.0, 1.0], 100)])
    >>> y = np.repeat([0.0, 1.0, 0.0, 1.0], [40, 60, 70, 30])
    >>> fit_logit(x, y).round(7).tolist()
    [0.4054651, -1.252763]
    """
    beta = np.zeros(x.shape[1])
    for _ in range(steps):
        with np.errstate(over="ignore"):
            p = 1.0 / (1.0 + np.exp(-(x @ beta)))
        information = x.T @ (x * (p * (1 - p))[:, None])
        try:
            step = np.linalg.solve(information, x.T @ (y - p))
        except np.linalg.LinAlgError:
            return np.full(len(beta), np.nan)
        beta += step
        if np.abs(step).max() < 1e-9:
            return beta
    return np.where(np.abs(beta) > 50, np.nan, beta)


def check_targets(meta: Metadata, targets: Sequence[Target]) -> None:
    """Every clash of the targets with the columns and with each other, in one error."""
    faults: list[str] = []
    known = [v.name for v in meta.variables]
    margins: dict[str, tuple[str, Ints]] = {}
    for target in targets:
        name = f"{type(target).__name__} of {names(target.columns)}"
        absent = [c for c in target.columns if c not in known]
        if absent:
            faults.append(f"{name}: unknown column {names(absent)}")
            continue
        if isinstance(target, Regression):
            faults += _regression_faults(name, target, meta)
        if isinstance(target, CrossTab):
            faults += _table_faults(name, target, meta, margins)
    if faults:
        raise OptionError("; ".join(faults))


def _regression_faults(name: str, target: Regression, meta: Metadata) -> list[str]:
    faults = []
    pairs = [*target.reference_levels.items(), *(t for t in target.coefs if not isinstance(t, str))]
    for column, value in pairs:
        if column in target.columns and str(value) not in map(str, meta.variables[meta.at(column)].values):
            faults.append(f"{name}: {column!r} has no value {value!r}")
    return faults


def _table_faults(
    name: str, target: CrossTab, meta: Metadata, margins: dict[str, tuple[str, Ints]]
) -> list[str]:
    odd = [pair for pair in target.counts for c, v in zip(target.columns, pair, strict=True)
           if str(v) not in map(str, meta.variables[meta.at(c)].values)]  # fmt: skip
    if odd:
        return [f"{name}: values that the columns do not have"]
    total = sum(target.counts.values())
    if target.props and abs(total - 1) > ROUNDING:
        return [f"{name}: the proportions do not add up to 1"]
    if not target.props and total != meta.rows:
        return [f"{name}: the counts do not add up to the number of rows"]
    faults = []
    table = target.table(meta)
    for axis, column in enumerate(target.columns):
        margin = table.sum(axis=1 - axis)
        if column in margins and not target.props and (margins[column][1] != margin).any():
            faults.append(f"{name} and {margins[column][0]} disagree on {column!r}")
        margins.setdefault(column, (name, margin))
    return faults
