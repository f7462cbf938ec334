"""`fit_synthetic`: the same model on m synthetic files, summed up and compared with the original's."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from dalenius.core.errors import DataError, OptionError, counted
from dalenius.core.later import stats
from dalenius.core.result import WHOLE, Interval, Result, figure
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.utility.inference.charts import coefficient_chart
from dalenius.utility.inference.combine import Combined, Rule, combine
from dalenius.utility.inference.estimates import Estimate, estimate
from dalenius.utility.inference.expressions import Floats
from dalenius.utility.inference.formula import Formula
from dalenius.utility.inference.glm import Link
from dalenius.utility.inference.models import Family, Fit, fit_model, lines_of

TOLERANCE = float(np.sqrt(np.finfo(np.float64).eps))
"""Singular values below this share of the largest count as zero, as in R's ``ginv``."""


@dataclass(frozen=True, eq=False)
class SyntheticFit:
    """One model on m synthetic files.

    Attributes
    ----------
    fits
        The fit to each file.
    rows
        Rows of the original, n.
    proper
        Whether parameters of the synthesis were drawn anew for each file.
    incomplete
        Whether some columns of the model were kept as they were: the rules for partial synthesis then hold.
    replicated
        Whether each file was made from other replicate weights of the survey (`pseudo` is then the rule).
    """

    formula: Formula | Estimate
    family: Family
    fits: tuple[Fit, ...]
    rows: int
    proper: bool
    incomplete: bool
    schema: Schema | None = None
    replicated: bool = False
    link: Link | None = None

    def __repr__(self) -> str:
        done = self.combined()
        head = f"{counted(len(self.fits), 'file')}, rule {self.rule(False)!r}: what the original is expected to show"
        return "\n".join([head, *lines_of(self.names, done.estimates, done.errors, done.interval())])

    @property
    def names(self) -> list[str]:
        """Coefficients."""
        return self.fits[0].names

    @property
    def estimates(self) -> Floats:
        """Coefficients of each file, a row per file."""
        return np.array([fit.estimates for fit in self.fits])

    @property
    def variances(self) -> Floats:
        """Squared standard errors of each file."""
        return np.array([fit.variances for fit in self.fits])

    def rule(self, population: bool) -> Rule:
        """The combining rule that fits how the files were made."""
        if not population:
            return "expected"
        if self.replicated and len(self.fits) > 1:
            return "pseudo"
        if self.incomplete and len(self.fits) > 1:
            return "partial"
        return "complete-proper" if self.proper else "complete"

    def combined(self, population: bool = False, rule: Rule | None = None) -> Combined:
        """Combined estimates: of the population, or of what the original's fit is expected to show."""
        k = self.fits[0].rows
        return combine(self.estimates, self.variances, n=self.rows, k=k, rule=rule or self.rule(population))

    def summary(
        self, population: bool = False, rule: Rule | None = None, level: float = 0.95
    ) -> pl.DataFrame:
        """Estimate, standard error, z, p-value and interval of every coefficient."""
        done = self.combined(population, rule)
        low, high = done.interval(level)
        return pl.DataFrame(
            {
                "coefficient": self.names,
                "estimate": done.estimates,
                "se": done.errors,
                "z": done.estimates / done.errors,
                "p": done.p_values,
                "low": low,
                "high": high,
            }
        )

    def fit_to(self, original: Any) -> Fit:
        """The same model on the original, with its weights and its design where the schema names them."""
        return fit_any(self.formula, Table.from_frame(original), self.family, self.schema, self.link)

    def compare(self, original: Any, *, population: bool = False, level: float = 0.95) -> Result:
        """Compare with the fit to the original.

        Value: mean overlap of the confidence intervals (1 is the same interval, 0 touching ends, negative apart). The
        standard error of the synthetic estimates uses the original's variance, as synthpop's ``compare`` does.

        Parameters
        ----------
        original
            The confidential table (with the roles of its schema: a survey's rows count with their weights), or the fit
            to it.
        population
            Whether the synthetic intervals are for the population (wider) or for the original's estimate.
        """
        known = original if isinstance(original, Fit) else self.fit_to(original)
        if known.names != self.names:
            raise DataError("the model has other coefficients in the original than in the synthetic files")
        return _comparison(self, known, population, level)


def fit_synthetic(
    formula: str, tables: Iterable[Any], family: Family = "gaussian", *, rows: int | None = None, proper: bool = False,
    kept: Sequence[str] = (), incomplete: bool | None = None, schema: Schema | None = None, link: Link | None = None,
    replicated: bool = False, like: Any = None,
) -> SyntheticFit:  # fmt: skip
    """Fit one model to each of m synthetic files.

    Parameters
    ----------
    formula
        A model such as ``"income ~ age"``, or an estimate such as ``"mean(income) by region"``.
    tables
        Synthetic tables or frames (or the `Syntheses` that made them, which also tells rows, proper and kept).
    rows
        Rows of the original; default: as many as the synthetic files have.
    kept
        Columns that were not synthesized: the model is incomplete when it uses one.
    incomplete
        Say so yourself, instead of by ``kept``.
    replicated
        Whether each file was made from other replicate weights of a survey.
    like
        Table that ``.`` and polynomials are read from, usually the original; default: the first file.

    Examples
    --------
    >>> files = [{"x": [1, 2, 3, 4, 5], "y": [1.5, 2, 3, 4.5, y]} for y in (4.5, 5.5)]
    >>> fit_synthetic("y ~ x", files).summary()["estimate"].round(2).to_list()
    [0.35, 0.95]
    """
    rows = getattr(tables, "rows", rows) if rows is None else rows
    proper = bool(getattr(tables, "proper", proper))
    kept = tuple(getattr(tables, "kept", kept))
    replicated = bool(getattr(tables, "replicated", replicated))
    files = [Table.from_frame(table) for table in tables]
    if not files:
        raise OptionError("there is no synthetic file to fit the model to")
    order = schema if schema is not None else files[0].schema
    model = read_model(formula, files[0] if like is None else Table.from_frame(like))
    fits = tuple(fit_any(model, table, family, order, link) for table in files)
    if any(fit.names != fits[0].names for fit in fits):
        raise DataError("the model has other coefficients in one synthetic file than in another")
    partly = any(name in kept for name in model.columns) if incomplete is None else incomplete
    return SyntheticFit(model, family, fits, rows or files[0].rows, proper, partly, order, replicated, link)


def read_model(text: str, table: Table) -> Formula | Estimate:
    """What is asked for: a model, ``.`` and polynomials read from a table, or an estimate.

    Examples
    --------
    >>> read_model("mean(pay)", Table.from_frame({"pay": [1, 2]})).what
    'mean'
    """
    return Formula.parse(text).settled(table) if "~" in text else Estimate.parse(text)


def fit_any(
    model: Formula | Estimate, table: Table, family: Family, schema: Schema | None = None, link: Link | None = None
) -> Fit:  # fmt: skip
    """Fit a model, or estimate what is asked for, on one table."""
    if isinstance(model, Estimate):
        return estimate(model, table, schema)
    return fit_model(model, table, family, schema, link=link)


def ci_overlap(low: Floats, high: Floats, other_low: Floats, other_high: Floats) -> Floats:
    """Mean share of two intervals that they have in common; negative when they are apart (Karr et al. 2006).

    Examples
    --------
    >>> ci_overlap(np.array([0.0]), np.array([2.0]), np.array([1.0]), np.array([3.0])).tolist()
    [0.5]
    """
    shared = np.minimum(high, other_high) - np.maximum(low, other_low)
    return 0.5 * (shared / (high - low) + shared / (other_high - other_low))


def lack_of_fit(fit: SyntheticFit, original: Fit) -> tuple[float, float]:
    """Test whether synthetic and original coefficients differ by more than the synthesis' own noise.

    Complete synthesis: chi-square with the original's covariance times n/(k m); incomplete: Hotelling's
    statistic from the variation between files (needs more files than coefficients). The covariance of a survey's design
    is no measure of that noise: there the files' own is taken, and the original's besides where each file was made from
    other replicate weights.
    """
    m, p = fit.estimates.shape
    k = fit.fits[0].rows
    gap = fit.estimates.mean(axis=0) - original.estimates
    if not fit.incomplete or m == 1 or original.design:
        spread = original.covariance * (fit.rows / (k * m))
        if original.design:
            own = np.mean([one.covariance for one in fit.fits], axis=0)
            spread = (own + original.covariance * fit.replicated) / m
        value = float(gap @ np.linalg.pinv(spread, rcond=TOLERANCE) @ gap)
        return value, float(stats.chi2.sf(value, p))
    if m < p:
        return float("nan"), float("nan")
    between = np.cov(fit.estimates, rowvar=False).reshape(p, p) / m
    value = float(gap @ np.linalg.pinv(between, rcond=TOLERANCE) @ gap) * (m - p) / (p * (m - 1))
    return value, float(stats.f.sf(value, p, m - p)) if m > p else float("nan")


def _comparison(fit: SyntheticFit, original: Fit, population: bool, level: float) -> Result:
    m, k = len(fit.fits), fit.fits[0].rows
    # The original's variance in place of v k/n, so that intervals differ by position and rule only.
    stand_in = np.tile(original.variances * (fit.rows / k), (m, 1))
    done = combine(fit.estimates, stand_in, n=fit.rows, k=k, rule=fit.rule(population))
    reach = stats.t.ppf(0.5 + level / 2, original.df)
    errors = np.sqrt(original.variances)
    low, high = original.estimates - reach * errors, original.estimates + reach * errors
    syn_low, syn_high = done.estimates - reach * done.errors, done.estimates + reach * done.errors
    if np.isfinite(done.df).all():  # a rule with few degrees of freedom has wider intervals
        syn_low, syn_high = done.interval(level)
    overlap = ci_overlap(low, high, syn_low, syn_high)
    difference = (done.estimates - original.estimates) / errors
    table = pl.DataFrame(
        {
            "coefficient": fit.names, "original": original.estimates, "original_se": errors,
            "synthetic": done.estimates, "synthetic_se": done.errors, "std_difference": difference,
            "overlap": overlap, "original_low": low, "original_high": high, "low": syn_low, "high": syn_high,
        }
    )  # fmt: skip
    test, p = lack_of_fit(fit, original)
    value = float(overlap.mean())
    return Result(
        name="coefficient-overlap",
        value=value,
        sentence=_sentence(value, table, p),
        interval=Interval(float(overlap.min()), float(overlap.max()), 1.0, "range over coefficients"),
        yardsticks={"same interval": 1.0},
        values={
            "mean_overlap": value, "mean_overlap_clipped": float(np.maximum(overlap, 0).mean()),
            "mean_abs_std_difference": float(np.abs(difference).mean()), "lack_of_fit": test, "lack_of_fit_p": p,
        },
        table=table, counts=WHOLE,
        chart=lambda: coefficient_chart(table),
    )  # fmt: skip


def _sentence(value: float, table: pl.DataFrame, p: float) -> str:
    apart = table.filter(pl.col("overlap") < 0)["coefficient"].to_list()
    text = f"The intervals of the {len(table)} coefficients overlap by {figure(100 * value)} % on average."
    if apart:
        text += f" Those of {', '.join(apart[:3])}{' and others' if len(apart) > 3 else ''} do not touch."
    if not np.isnan(p):
        text += (
            " The coefficients differ by more than the synthesis' own noise." if p < 0.05
            else " The differences are no larger than the synthesis' own noise."
        )  # fmt: skip
    return text
