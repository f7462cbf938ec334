"""`make_from_outputs`: a file whose analyses give published results, made without any original data.

The swap search keeps every published table exactly and moves coefficients: for a regression with canonical link a file
has given coefficients exactly if the score at them is zero, so no refitting is needed. The paper's evolutionary
algorithm (Elliot, Little and Allmendinger 2024) stands beside it; with its published settings it does not converge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import polars as pl

from dalenius.core.errors import OptionError
from dalenius.core.random import generator
from dalenius.synth.outputs._kernels import swap_search
from dalenius.synth.outputs.targets import (
    CrossTab,
    Floats,
    Ints,
    Metadata,
    Regression,
    Target,
    check_targets,
    largest_remainder,
)

SCHEDULE = (0.01, 0.005, 0.001, 0.0005, 0.0001, 0.00005, 0.00001, 0.000005)
WEIGHTS = tuple(
    (w, (1 - w) / 2, (1 - w) / 2) for w in (1 / 3, 0.25, 0.2, 0.15, 0.1, 0.05, 0.025, 0.01, 0.001, 0.0001)
)
"""Weights of a regression and two tables in the paper's sweep."""


@dataclass(frozen=True, eq=False, repr=False)
class MadeFromOutputs:
    """An invented file and how near its analyses come to what was published.

    Attributes
    ----------
    codes, meta
        The file as codes, and what they stand for.
    path
        Loss after each step of the search.
    """

    codes: Ints
    meta: Metadata
    targets: tuple[Target, ...]
    path: tuple[float, ...]
    method: str

    def __repr__(self) -> str:
        return (
            f"MadeFromOutputs({self.meta.rows:,} invented rows, {len(self.targets)} targets, {self.method})"
        )

    def frame(self) -> pl.DataFrame:
        """The file, in words."""
        columns = {}
        for j, variable in enumerate(self.meta.variables):
            columns[variable.name] = [variable.values[c] for c in self.codes[:, j].tolist()]
        return pl.DataFrame(columns, strict=False)

    def report(self) -> pl.DataFrame:
        """Every target, what the file gives, and the difference."""
        lines: list[tuple[str, str, float, float, float]] = []
        for target in self.targets:
            name = f"{type(target).__name__} {' × '.join(target.columns)}"
            goal, got = target.reference(self.meta), target.compute(self.codes, self.meta)
            figures = zip(target.labels(self.meta), goal, got, strict=True)
            lines += [(name, said, float(a), float(b), float(abs(a - b))) for said, a, b in figures]
        return pl.DataFrame(lines, schema=["target", "figure", "published", "file", "off by"], orient="row")

    def mean_errors(self) -> dict[str, float]:
        """Mean absolute difference of every target."""
        errors = self.report().group_by("target", maintain_order=True).agg(pl.col("off by").mean())
        return dict(zip(errors["target"].to_list(), errors["off by"].to_list(), strict=True))

    @property
    def label(self) -> str:
        """What the file says of itself."""
        held = "; ".join(f"{type(t).__name__} of {' × '.join(t.columns)}" for t in self.targets)
        return (
            f"INVENTED: these {self.meta.rows:,} rows were made from published outputs alone, without any original "
            f"data. They carry: {held}. Every other analysis of this file is meaningless."
        )


def make_from_outputs(
    meta: Metadata,
    targets: Sequence[Target],
    *,
    method: Literal["swap", "ea"] = "swap",
    proposals: int = 100_000,
    tolerance: float = 1e-3,
    population: int = 24,
    generations: int = 2000,
    start: Literal["uniform", "univariate"] = "uniform",
    seed: int = 1,
) -> MadeFromOutputs:
    """Make a file that gives published results.

    Parameters
    ----------
    method
        ``swap`` keeps tables exactly and swaps values to reach the coefficients; ``ea`` is the paper's search.
    proposals, tolerance
        Swaps proposed at most, and the largest coefficient error to stop at.
    population, generations, start
        Settings of the evolutionary algorithm.

    Examples
    --------
    >>> from dalenius.synth.outputs import Metadata, Regression, Variable
    >>> meta = Metadata((Variable("y", (0, 1), (110, 90)), Variable("x", (0, 1))), 200)
    >>> target = Regression("y", {"constant": 0.4054651, ("x", 1): -1.2527630}, {"x": 0})
    >>> made = make_from_outputs(meta, [target])
    >>> made.report()["off by"].max() < 1e-6
    True
    """
    if not targets:
        raise OptionError("no targets: name at least one published result")
    check_targets(meta, targets)
    if method == "ea":
        return evolve(meta, targets, population=population, generations=generations, start=start, seed=seed)
    codes = construct(meta, targets, seed)
    regressions = [t for t in targets if isinstance(t, Regression)]
    path = [sum(t.loss(codes, meta) for t in targets)]
    for turn, target in enumerate(regressions * (1 if len(regressions) == 1 else 5)):
        _search(codes, meta, targets, target, proposals, tolerance, generator(seed, "swaps", turn))
        path.append(sum(t.loss(codes, meta) for t in targets))
    return MadeFromOutputs(codes, meta, tuple(targets), tuple(path), "swap search")


def _search(
    codes: Ints, meta: Metadata, targets: Sequence[Target], target: Regression, proposals: int, tolerance: float,
    rng: np.random.Generator,
) -> None:  # fmt: skip
    var, code, beta = target.terms(meta)
    fixed = np.zeros((len(meta.variables),) * 2, np.bool_)
    for table in targets:
        if isinstance(table, CrossTab):
            i, j = (meta.at(c) for c in table.columns)
            fixed[i, j] = fixed[j, i] = True
    y = meta.at(target.y)
    movable = np.array([meta.at(c) for c in target.columns if c != target.y], np.int64)
    numbers = meta.numbers
    spread = np.array(
        [
            1.0 if v < 0 or c >= 0 else 2 * np.std(numbers[v][codes[:, v]])
            for v, c in zip(var, code, strict=True)
        ]
    )
    small = (tolerance / 100) ** 2
    swap_search(
        codes, numbers, var, code, beta, y, target.logit, np.where(spread > 0, spread, 1.0), movable, fixed,
        proposals, small, rng,
    )  # fmt: skip


def construct(meta: Metadata, targets: Sequence[Target], seed: int) -> Ints:
    """A file that meets every table exactly, and the distribution of every other column.

    Tables are laid in one after the other: the partner of a column that is there is dealt out inside its levels.
    """
    rng = generator(seed, "construct")
    codes = np.full((meta.rows, len(meta.variables)), -1, np.int64)
    tables = [t for t in targets if isinstance(t, CrossTab)]
    while tables:
        ready = [t for t in tables if any(codes[0, meta.at(c)] >= 0 for c in t.columns)] or tables
        table = ready[0]
        tables.remove(table)
        i, j = (meta.at(c) for c in table.columns)
        counts = table.table(meta)
        if codes[0, i] >= 0 and codes[0, j] >= 0:
            raise OptionError(
                f"tables form a circle over {table.first!r} and {table.second!r}; give one table of all their columns"
            )
        if codes[0, j] >= 0:
            i, j, counts = j, i, counts.T
        if codes[0, i] < 0:
            order = rng.permutation(meta.rows)
            codes[order, i] = np.repeat(np.arange(counts.shape[0]), counts.sum(axis=1))
        for level in range(counts.shape[0]):
            rows = rng.permutation(np.flatnonzero(codes[:, i] == level))
            if len(rows) != counts[level].sum():
                raise OptionError(f"tables disagree on {meta.variables[i].name!r}")
            codes[rows, j] = np.repeat(np.arange(counts.shape[1]), counts[level])
    for j, variable in enumerate(meta.variables):
        if codes[:1, j].min(initial=0) < 0:
            counts = largest_remainder(variable.weights, meta.rows)
            codes[:, j] = rng.permutation(np.repeat(np.arange(len(counts)), counts))
    return codes


def total_loss(codes: Ints, meta: Metadata, targets: Sequence[Target]) -> float:
    """Weighted sum of the targets' losses, the weights scaled to add up to 1."""
    weights = np.array([t.weight for t in targets])
    return float(sum(w * t.loss(codes, meta) for w, t in zip(weights / weights.sum(), targets, strict=True)))


def evolve(
    meta: Metadata,
    targets: Sequence[Target],
    *,
    population: int = 24,
    generations: int = 2000,
    start: Literal["uniform", "univariate"] = "uniform",
    seed: int = 1,
) -> MadeFromOutputs:
    """The paper's evolutionary algorithm: tournaments, mutation by the univariate distributions, the best survive."""
    if population < 2 or population % 2:
        raise OptionError("population must be even")
    rng = generator(seed, "evolve")
    shares = [v.weights for v in meta.variables]

    def drawn(uniform: bool) -> Any:
        return np.column_stack([rng.choice(len(p), meta.rows, p=None if uniform else p) for p in shares])

    files = [drawn(start == "uniform") for _ in range(population)]
    losses = np.array([total_loss(f, meta, targets) for f in files])
    path = [float(losses.min())]
    for generation in range(generations):
        rate = SCHEDULE[min(generation // 250, len(SCHEDULE) - 1)]
        children = []
        for _ in range(population):
            a, b = rng.choice(population, 2, replace=False)
            child = files[a if losses[a] <= losses[b] else b].copy()
            hit = rng.random(child.shape) < rate
            for j, p in enumerate(shares):
                rows = np.flatnonzero(hit[:, j])
                child[rows, j] = rng.choice(len(p), len(rows), p=p)
            children.append(child)
        every = [*files, *children]
        scores = np.concatenate([losses, [total_loss(c, meta, targets) for c in children]])
        kept = np.argsort(scores, kind="stable")[:population]
        files, losses = [every[k] for k in kept], scores[kept]
        path.append(float(losses[0]))
    return MadeFromOutputs(files[0], meta, tuple(targets), tuple(path), "evolutionary algorithm")


def sweep_weights(
    meta: Metadata, targets: Sequence[Target], weights: Sequence[Sequence[float]] = WEIGHTS, **options: Any
) -> pl.DataFrame:
    """Mean errors of the evolutionary algorithm under several weights of the targets."""
    lines = []
    for vector in weights:
        weighted = [replace(t, weight=w) for t, w in zip(targets, vector, strict=True)]
        errors = evolve(meta, weighted, **options).mean_errors()
        lines.append({"weights": ", ".join(f"{w:g}" for w in vector), **errors})
    return pl.DataFrame(lines)


def rounding_report(meta: Metadata, targets: Sequence[Target], digits: int = 3) -> pl.DataFrame:
    """Between which counts printed proportions leave each cell, and whether the count used lies there."""
    lines = []
    for target in targets:
        if isinstance(target, CrossTab) and target.props:
            used = target.table(meta)
            for (a, b), share in target.counts.items():
                half = 0.5 * 10.0**-digits
                low, high = (
                    np.ceil((share - half) * meta.rows - 1e-9),
                    np.floor((share + half) * meta.rows + 1e-9),
                )
                count = int(used[meta.code(target.first, a), meta.code(target.second, b)])
                lines.append(
                    (f"{target.first} = {a}, {target.second} = {b}", int(max(low, 0)), int(high), count)
                )
    return pl.DataFrame(
        lines, schema={"cell": pl.String, "low": pl.Int64, "high": pl.Int64, "used": pl.Int64}, orient="row"
    )


def calibrated_weights(
    made: MadeFromOutputs, margins: dict[str, dict[Any, float]], steps: int = 200
) -> Floats:
    """Weights that bring the file to public benchmark margins (raking); check the targets again with them.

    Examples
    --------
    >>> from dalenius.synth.outputs import Metadata, Variable
    >>> made = MadeFromOutputs(np.array([[0], [0], [1]]), Metadata((Variable("sex", ("f", "m")),), 3), (), (), "swap")
    >>> calibrated_weights(made, {"sex": {"f": 10, "m": 10}}).round(6).tolist()
    [5.0, 5.0, 10.0]
    """
    weights = np.ones(len(made.codes))
    for _ in range(steps):
        before = weights.copy()
        for name, totals in margins.items():
            column = made.codes[:, made.meta.at(name)]
            for value, total in totals.items():
                rows = column == made.meta.code(name, value)
                held = weights[rows].sum()
                if held == 0:
                    raise OptionError(
                        f"no row of the file has {name} = {value}; it cannot be weighted to a total"
                    )
                weights[rows] *= total / held
        if np.abs(weights - before).max() < 1e-12 * weights.max():
            break
    return weights
