"""Unit records from published aggregates (Aghaddar et al. 2024, after Li, Zhao and Fu 2020).

A Gaussian copula on what is published: totals, numbers of units, and whatever is known or guessed of spread and
correlation. The totals of every stratum come out exactly.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

from dalenius.core.errors import DataError, OptionError, no_column
from dalenius.core.option import one_of
from dalenius.core.random import generator
from dalenius.synth.outputs.copula import (
    FAMILIES,
    Family,
    Marginal,
    correlated_normals,
    latent_correlation,
    random_correlation,
    repaired,
)

Floats = npt.NDArray[np.float64]
Knowledge = Literal["none", "internal", "external", "macro"]
FEWEST_UNITS = 3


@dataclass(frozen=True, eq=False)
class MacroData:
    """Published totals of some variables by stratum, and what is known about the units behind them.

    Attributes
    ----------
    totals
        Strata × variables.
    units
        Units in each stratum; below three the totals would give a unit's values away.
    sd, correlation
        Spread (strata × variables) and correlation, where somebody knows or guesses them.
    nonnegative
        Variables that cannot be negative.
    note
        Where knowledge beyond the totals comes from.
    """

    strata: tuple[str, ...]
    variables: tuple[str, ...]
    totals: Floats
    units: npt.NDArray[np.int64]
    sd: Floats | None = None
    correlation: Floats | None = None
    families: Mapping[str, Family] = field(default_factory=dict)
    nonnegative: frozenset[str] = frozenset()
    note: str = "published totals"

    def __post_init__(self) -> None:
        faults = []
        small = [s for s, n in zip(self.strata, self.units, strict=True) if n < FEWEST_UNITS]
        if small:
            faults.append(
                f"{len(small)} strata have fewer than three units, whose values the totals would give away"
            )
        if np.isnan(self.totals).any():
            faults.append("some totals are suppressed: supply them or leave the variable out")
        for j, name in enumerate(self.variables):
            if name in self.nonnegative and (self.totals[:, j] < 0).any():
                faults.append(f"variable {name!r} cannot be negative, but a total is")
        odd = [f for f in self.families.values() if f not in FAMILIES]
        faults += [f"unknown family {f!r}; there are {', '.join(FAMILIES)}" for f in odd]
        faults += [*self._impossible_families(), *self._wrong_shapes()]
        if faults:
            raise DataError("; ".join(faults))

    def _impossible_families(self) -> list[str]:
        """Declared families that cannot have the published means, or that would break what cannot be negative."""
        faults = []
        for name, family in self.families.items():
            if name not in self.variables or family not in FAMILIES:
                continue
            means = self.means[:, self.variables.index(name)]
            if family == "normal" and name in self.nonnegative:
                faults.append(f"variable {name!r} cannot be negative, but a normal can: use another family")
            elif family != "normal" and (means <= 0).any():
                faults.append(f"variable {name!r}: a {family} needs means above 0: use normal")
            elif family == "beta" and (means >= 1).any():
                faults.append(f"variable {name!r}: a beta needs means below 1: use another family")
        return faults

    def _wrong_shapes(self) -> list[str]:
        size, faults = len(self.variables), []
        if self.correlation is not None and np.shape(self.correlation) != (size, size):
            faults.append(f"the correlations are not {size} × {size}, one row and column a variable")
        if self.sd is not None and np.shape(self.sd) != self.totals.shape:
            faults.append(f"sd is not {len(self.strata)} × {size}, strata × variables")
        return faults

    @property
    def means(self) -> Floats:
        """Totals divided by units."""
        return np.asarray(self.totals / self.units[:, None])

    def family(self, name: str, mean: float) -> Family:
        """The family of a variable: as declared, lognormal where it cannot be negative, otherwise normal."""
        if name in self.families:
            return self.families[name]
        return "lognormal" if mean > 0 and name in self.nonnegative else "normal"

    @classmethod
    def from_table(
        cls,
        table: Any,
        strata: str,
        totals: Sequence[str],
        units: str,
        *,
        nonnegative: Sequence[str] = (),
        **facts: Any,
    ) -> MacroData:
        """From a published table with one row a stratum.

        Examples
        --------
        >>> table = {"nace": ["58", "62"], "revenue": [900.0, 500.0], "companies": [9, 20]}
        >>> MacroData.from_table(table, "nace", ["revenue"], "companies").means.ravel().tolist()
        [100.0, 25.0]
        """
        frame = table if isinstance(table, pl.DataFrame) else pl.DataFrame(table)
        missing = [c for c in (strata, units, *totals) if c not in frame.columns]
        if missing:
            raise OptionError(no_column(missing, frame.columns))
        return cls(
            tuple(map(str, frame[strata].to_list())), tuple(totals), frame.select(totals).to_numpy().astype(np.float64),
            frame[units].to_numpy().astype(np.int64), nonnegative=frozenset(nonnegative), **facts,
        )  # fmt: skip

    @classmethod
    def from_microdata(
        cls, data: Any, variables: Sequence[str], strata: str | None = None, **facts: Any
    ) -> MacroData:
        """Totals of a file, with its own spread and correlation: the file that comes out is derived from it."""
        frame = data if isinstance(data, pl.DataFrame) else pl.DataFrame(data)
        key = strata or "__all"
        frame = frame if strata else frame.with_columns(pl.lit("all").alias(key))
        parts = frame.select(key, *variables).partition_by(key, maintain_order=True, as_dict=True)
        arrays = [part.select(variables).to_numpy().astype(np.float64) for part in parts.values()]
        whole = frame.select(variables).to_numpy().astype(np.float64)
        floor = [name for j, name in enumerate(variables) if whole[:, j].min() >= 0]
        return cls(
            tuple(str(k[0]) for k in parts), tuple(variables), np.array([a.sum(axis=0) for a in arrays]),
            np.array([len(a) for a in arrays], np.int64), np.array([a.std(axis=0, ddof=1) for a in arrays]),
            _correlation(whole), nonnegative=frozenset(facts.pop("nonnegative", floor)),
            note="derived from the confidential data itself: treat it like them", **facts,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class MacroToMicro:
    """Makes unit records from `MacroData`.

    Parameters
    ----------
    knowledge
        ``none`` draws spread and correlation at random; ``internal`` and ``external`` take those of the data; ``macro``
        estimates the correlation across strata (which need not be that of units).
    match
        ``latent`` takes a correlation as that of the normals; ``pearson`` finds those that give it to the values.
    calibrate
        Make the totals of every stratum exact: scale what cannot be negative, shift the rest.

    Examples
    --------
    >>> table = {"nace": ["58", "62"], "revenue": [900.0, 500.0], "staff": [90.0, 60.0], "companies": [9, 20]}
    >>> macro = MacroData.from_table(table, "nace", ["revenue", "staff"], "companies", nonnegative=["revenue", "staff"])
    >>> made = MacroToMicro(macro).sample(seed=1)
    >>> made.group_by("stratum").agg(pl.col("revenue").sum().round(6)).sort("stratum").rows()
    [('58', 900.0), ('62', 500.0)]
    """

    macro: MacroData
    knowledge: Knowledge = "none"
    match: Literal["latent", "pearson"] = "pearson"
    calibrate: bool = True
    whole: bool = False
    exact_moments: bool = False

    def __post_init__(self) -> None:
        one_of("knowledge", self.knowledge, get_args(Knowledge))
        one_of("match", self.match, ("latent", "pearson"))
        if self.knowledge in ("internal", "external") and (
            self.macro.sd is None or self.macro.correlation is None
        ):
            raise OptionError(f"knowledge {self.knowledge!r} needs sd and correlation")

    def sample(self, seed: int = 1, units: Sequence[int] | None = None) -> pl.DataFrame:
        """Draw the records; ``units`` in place of the published numbers, where an intruder guesses them."""
        rng = generator(seed, "macro")
        sd, correlation = self._known(rng)
        numbers = self.macro.units if units is None else np.asarray(units, np.int64)
        parts = []
        for s, stratum in enumerate(self.macro.strata):
            values = self._stratum(s, int(numbers[s]), sd[s], correlation, rng)
            frame = pl.DataFrame(dict(zip(self.macro.variables, values.T, strict=True)))
            parts.append(frame.with_columns(pl.lit(stratum).alias("stratum")))
        return pl.concat(parts).select("stratum", *self.macro.variables)

    def _known(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        size = len(self.macro.variables)
        guess = np.exp(rng.uniform(np.log(0.5), np.log(5), size)) * np.abs(self.macro.means)
        if self.knowledge == "none":
            return guess, random_correlation(size, rng)
        sd = guess if self.macro.sd is None else self.macro.sd
        if self.knowledge == "macro":
            return sd, self._across()
        assert self.macro.correlation is not None
        correlation, moved = repaired(self.macro.correlation)
        if moved:
            warnings.warn(
                f"the correlations were no possible ones and were moved by {moved:.3g}", stacklevel=3
            )
        return sd, correlation

    def _across(self) -> Floats:
        count, size = self.macro.totals.shape
        if count < 3:
            return np.eye(size)
        correlation = _correlation(self.macro.means)
        trust = 1.0 if count > size + 1 else count / (size + 2)
        warnings.warn("correlations across strata need not be those of units", stacklevel=3)
        return repaired(trust * correlation + (1 - trust) * np.eye(size))[0]

    def _stratum(
        self, s: int, rows: int, sd: Floats, correlation: Floats, rng: np.random.Generator
    ) -> Floats:
        names, means = self.macro.variables, self.macro.means[s]
        marginals = [
            Marginal(self.macro.family(n, m), float(m), float(d))
            for n, m, d in zip(names, means, sd, strict=True)
        ]
        latent = correlation.copy()
        if self.match == "pearson":
            lost = 0
            for i in range(len(names)):
                for j in range(i):
                    latent[i, j], reached = latent_correlation(
                        marginals[i], marginals[j], float(correlation[i, j])
                    )
                    latent[j, i] = latent[i, j]
                    lost += not reached
            if lost and self.knowledge != "none":
                warnings.warn(f"{lost} correlations cannot be reached by these distributions", stacklevel=4)
            latent = repaired(latent)[0]
        z = correlated_normals(latent, rows, rng, self.exact_moments)
        values = np.column_stack([m.at(z[:, j]) for j, m in enumerate(marginals)])
        return self._calibrated(values, self.macro.totals[s]) if self.calibrate else values

    def _calibrated(self, values: Floats, totals: Floats) -> Floats:
        made = values.copy()
        for j, name in enumerate(self.macro.variables):
            held = made[:, j].sum()
            if name in self.macro.nonnegative:
                if held == 0 and totals[j] != 0:
                    raise DataError(f"variable {name!r}: nothing was drawn that could be scaled to its total")
                made[:, j] *= totals[j] / held if held else 1.0
            else:
                made[:, j] += (totals[j] - held) / len(made)
            if self.whole:
                made[:, j] = _whole(made[:, j], totals[j])
        return made

    def with_knowledge(self, sd: Any, correlation: Any, note: str) -> MacroToMicro:
        """The same with an outside guess of spread and correlation, and who made it."""
        shaped = np.broadcast_to(np.asarray(sd, np.float64), self.macro.totals.shape)
        known = replace(self.macro, sd=shaped, correlation=np.asarray(correlation, np.float64), note=note)
        return replace(self, macro=known, knowledge="external")


def _correlation(values: Floats) -> Floats:
    """Correlation of columns; a column that does not vary goes with nothing."""
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = np.nan_to_num(np.atleast_2d(np.corrcoef(values.T)))
    np.fill_diagonal(correlation, 1.0)
    return correlation


def _whole(values: Floats, total: float) -> Floats:
    """Whole numbers with the same (rounded) total, the largest remainders rounded up."""
    floor = np.floor(values)
    more = round(float(total) - float(floor.sum()))
    order = np.argsort(-(values - floor), kind="stable")
    floor[order[: max(more, 0)]] += 1
    return floor


def match_categories(scores: Any, margins: Sequence[int]) -> npt.NDArray[np.int64]:
    """A category for every record so that the published margins hold, the best-scored first.

    Examples
    --------
    >>> match_categories([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3]], [1, 2]).tolist()
    [0, 1, 1]
    """
    score = np.asarray(scores, np.float64)
    wanted = np.asarray(margins, np.int64)
    if wanted.sum() != len(score):
        raise OptionError("the margins do not add up to the number of records")
    held = score.argmax(axis=1)
    while True:
        counts = np.bincount(held, minlength=len(wanted))
        over = np.flatnonzero(counts > wanted)
        if not len(over):
            return held.astype(np.int64)
        short = counts < wanted
        rows = np.flatnonzero(held == over[0])
        loose = rows[np.argsort(score[rows, over[0]], kind="stable")[: counts[over[0]] - wanted[over[0]]]]
        for row in loose.tolist():
            best = int(np.where(short, score[row], -np.inf).argmax())
            held[row] = best
            short[best] = np.bincount(held, minlength=len(wanted))[best] < wanted[best]
            if not short.any():
                break
