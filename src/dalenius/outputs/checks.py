"""The checks: each looks at the evidence of an output under a policy and says pass, review or fail, cell by cell.

Defaults and signs of comparison follow section 2.3 of the specification of statbarns; every limit is policy. What a
sentence says may be shown to the researcher; the figures in a `Result` (worst cell, limit) are for the data holder.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import polars as pl

from dalenius.core.errors import counted
from dalenius.core.result import WHOLE, Result
from dalenius.counts.saturation import is_saturated
from dalenius.outputs.evidence import Evidence
from dalenius.outputs.policy import Policy
from dalenius.outputs.query import Bools, Floats, Ints
from dalenius.tables import Dominance, FewContributors, PPercent

Verdict = Literal["pass", "review", "fail"]
ORDER: tuple[Verdict, ...] = ("pass", "review", "fail")
SAME = 1e-6
"""Values that differ by less, as a share of their size, are the same."""


@dataclass(frozen=True, eq=False)
class Finding:
    """What one check found.

    Attributes
    ----------
    verdict
        "pass", "review" (a person must look) or "fail".
    flagged
        Cells of the evidence that the check marks.
    sentence
        What was found, in words that name no confidential figure.
    result
        Worst figure and limit. Confidential.
    """

    check: str
    verdict: Verdict
    flagged: Bools
    sentence: str
    result: Result


Check = Callable[[Evidence, Policy], Finding]
CHECKS: dict[str, Check] = {}
"""All checks that look at evidence alone; differencing also looks back (`Memory`), file types at a file."""


def check(function: Check) -> Check:
    """Register a check under the name of its function."""
    CHECKS[function.__name__] = function
    return function


def worst_verdict(findings: list[Finding]) -> Verdict:
    """Status of an output: fail if anything fails, else review if anything asks for it, else pass.

    Examples
    --------
    >>> worst_verdict([])
    'pass'
    """
    return ORDER[max((ORDER.index(f.verdict) for f in findings), default=0)]


def finding(
    name: str, evidence: Evidence, flagged: Bools, words: str, *, verdict: Verdict = "fail",
    worst: float = float("nan"), limit: float | None = None,
) -> Finding:  # fmt: skip
    """A finding of flagged cells; nothing flagged is a pass."""
    hit = int(flagged.sum())
    sentence = f"{counted(hit, 'cell')}: {words}." if hit else "Nothing found."
    if hit and len(flagged) == 1:
        sentence = f"{words[0].upper()}{words[1:]}."
    told: Verdict = verdict if hit else "pass"
    table = (
        evidence.cells.with_columns(pl.Series("flagged", flagged))
        if len(evidence.cells) == len(flagged)
        else None
    )
    yard = {} if limit is None else {"limit": float(limit)}
    result = Result(
        name, float(worst), sentence, yardsticks=yard, table=table, counts=WHOLE, trusted=told != "review"
    )
    return Finding(name, told, flagged, sentence, result)


def _none(evidence: Evidence) -> Bools:
    return np.zeros(max(len(evidence.cells), 1), np.bool_)


def _least(values: Floats, among: Bools) -> float:
    return float(values[among].min()) if among.any() else float("nan")


@check
def min_threshold(evidence: Evidence, policy: Policy) -> Finding:
    """Cells with 1 … t - 1 units; empty cells are another check's."""
    few = FewContributors(max(policy.threshold - 1, 1))
    flagged = (evidence.number > 0) & (evidence.number <= few.max_n) & (policy.threshold > 1)
    words = f"fewer than {policy.threshold} people or units stand behind the figure"
    lowest = _least(evidence.number.astype(float), evidence.number > 0)
    return finding("min_threshold", evidence, flagged, words, worst=lowest, limit=policy.threshold)


def _inner(evidence: Evidence, marks: Any) -> Bools:
    """Marks of inner cells as marks of all cells."""
    flagged = _none(evidence)
    flagged[: evidence.inner] = np.asarray(marks).ravel()
    return flagged


@check
def zero_cell(evidence: Evidence, policy: Policy) -> Finding:
    """Empty cells in a row that is not empty: nobody of the row is there (class exclusion)."""
    words = "nobody is in the cell, so nobody of its row has this property; declare it structural if none could be"
    if not policy.zeros or not evidence.shape:
        return finding("zero_cell", evidence, _none(evidence), words)
    grid = evidence.grid()
    rows = grid.sum(axis=-1, keepdims=True)
    marks = (grid == 0) & (rows > 0) & ~evidence.impossible.reshape(grid.shape)
    return finding("zero_cell", evidence, _inner(evidence, marks), words)


@check
def required_zero(evidence: Evidence, policy: Policy) -> Finding:
    """Cells that cannot hold anybody, by what was declared or by a rule of the schema, and do."""
    words = "the cell is said to be impossible, and somebody is there: the data or the declaration is wrong"
    if not evidence.shape:
        return finding("required_zero", evidence, _none(evidence), words)
    marks = evidence.impossible & (evidence.number[: evidence.inner] > 0)
    return finding("required_zero", evidence, _inner(evidence, marks), words, verdict="review")


@check
def full_cell(evidence: Evidence, policy: Policy) -> Finding:
    """Everybody of a row or column is in one cell (class disclosure); nearly everybody if the policy says so."""
    words = "everybody of a row or column is in this one cell"
    if not policy.full_cells or not evidence.shape:
        return finding("full_cell", evidence, _none(evidence), words)
    grid, possible = evidence.grid(), ~evidence.impossible.reshape(evidence.shape)
    marks = np.zeros(grid.shape, np.bool_)
    for axis in range(grid.ndim):
        line = grid.sum(axis=axis, keepdims=True)
        open_line = (line > 0) & (possible.sum(axis=axis, keepdims=True) >= 2)
        alone = (grid > 0) & ((grid > 0).sum(axis=axis, keepdims=True) == 1)
        marks |= alone & open_line
        if policy.near_full:
            marks |= (line - grid > 0) & (line - grid < policy.threshold) & open_line & (grid > 0)
    return finding("full_cell", evidence, _inner(evidence, marks), words)


@check
def all_same(evidence: Evidence, policy: Policy) -> Finding:
    """Everybody in the cell has the same value, to six digits."""
    flagged = _equal(evidence) & policy.all_same
    return finding("all_same", evidence, flagged, "everybody in the cell has the same value")


def _equal(evidence: Evidence) -> Bools:
    low, high = evidence.figures["low"], evidence.figures["high"]
    near = high - low <= SAME * np.maximum(np.abs(low), np.abs(high))
    return np.asarray((evidence.figures["rows"] >= 2) & near)


@check
def modal(evidence: Evidence, policy: Policy) -> Finding:
    """The most frequent value belongs to few: of values that are all different it is the smallest, one person's."""
    held = evidence.figures["modal"]
    flagged = (held > 0) & (held < policy.threshold)
    words = f"fewer than {policy.threshold} people or units have the most frequent value"
    return finding("modal", evidence, flagged, words, worst=_least(held, held > 0), limit=policy.threshold)


@check
def few_others(evidence: Evidence, policy: Policy) -> Finding:
    """Most in the cell share one value, or nearly, and few have another: the figure tells what these few have.

    The mean of a 0/1 column is a count, and a column that is constant but for few people is about them alone. Where
    people have several records one may hold the common value and others too, so that a person looks; but if the sum of
    their records is the same for all but few, it is about these. Where all but few have the smallest or the largest
    value, as if cut off on both sides, it tells what the few between have beside counts of the others: a person looks.
    """
    figures, number = evidence.figures, evidence.figures["units"]
    once = figures["rows"] == number
    away = figures.get("totals_apart", np.full(number.shape, np.nan))
    sums = (2 * away < number) & (away > 0) & (away < policy.threshold) & policy.all_same
    flagged = (_apart(evidence, policy) & policy.all_same) | sums
    told: Verdict = "fail" if (flagged & (once | sums)).any() else "review"
    flagged |= _between_ends(evidence, policy) & policy.all_same
    words = f"fewer than {policy.threshold} people or units have another value than all others"
    return finding("few_others", evidence, flagged, words, verdict=told, limit=policy.threshold)


def _between_ends(evidence: Evidence, policy: Policy) -> Bools:
    """Cells in which all but few have the smallest or the largest value."""
    low, high = evidence.figures["at_low"], evidence.figures["at_high"]
    others = evidence.figures["units"] - low - high
    many = (low >= policy.threshold) & (high >= policy.threshold)
    return np.asarray(many & (others > 0) & (others < policy.threshold) & ~_equal(evidence))


def _apart(evidence: Evidence, policy: Policy) -> Bools:
    """Cells in which few have another value than all others, exactly or nearly."""
    figures, number = evidence.figures, evidence.figures["units"]
    flagged = np.zeros(number.shape, np.bool_)
    for held in ("at_low", "at_high"):
        others = number - figures[held]
        flagged |= (2 * figures[held] >= number) & (others > 0) & (others < policy.threshold)
    away = figures.get("others", np.full(number.shape, np.nan))
    return np.asarray(flagged | ((2 * away < number) & (away > 0) & (away < policy.threshold)))


@check
def nk(evidence: Evidence, policy: Policy) -> Finding:
    """The n largest units make up k of the total (not looked at where values are negative)."""
    rule = Dominance([(policy.nk_n, 100 * policy.nk_k)], strict=not policy.nk_inclusive)
    flagged = rule.hits(evidence) & _comparable(evidence, policy)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = evidence.largest_sum(policy.nk_n) / evidence.total
    worst = float(np.nanmax(share)) if np.isfinite(share).any() else float("nan")
    words = "a few units make up almost all of the total"
    return finding("nk", evidence, flagged, words, worst=worst, limit=policy.nk_k)


@check
def p_percent(evidence: Evidence, policy: Policy) -> Finding:
    """The second largest unit could estimate the largest too well; a total of 0 tells that all have 0."""
    rule = PPercent(100 * policy.p)
    nobody_else = (evidence.number > 0) & (evidence.total == 0) & policy.zero_total
    flagged = (rule.hits(evidence) | nobody_else) & _comparable(evidence, policy)
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = (evidence.total - evidence.largest_sum(2)) / evidence.largest_sum(1)
    worst = float(np.nanmin(ratio)) if np.isfinite(ratio).any() else float("nan")
    words = "one unit could work out the largest other one's value closely"
    return finding("p_percent", evidence, flagged, words, worst=worst, limit=policy.p)


@check
def many_rows(evidence: Evidence, policy: Policy) -> Finding:
    """One or two units own almost all rows that are counted: the count is theirs (where units have several rows)."""
    figures = evidence.figures
    words = "a few units own almost all rows that are counted"
    if "rows_1" not in figures:  # every row is a unit of its own
        return finding("many_rows", evidence, _none(evidence), words)
    parts = Parts(evidence.number, figures["rows"], lambda n: figures[f"rows_{n}"])
    rule = Dominance([(policy.nk_n, 100 * policy.nk_k)], strict=not policy.nk_inclusive)
    flagged = rule.hits(parts) & (figures["rows"] > figures["units"])
    return finding("many_rows", evidence, flagged, words, limit=policy.nk_k)


@check
def deviation(evidence: Evidence, policy: Policy) -> Finding:
    """Few units make up almost all of the deviations from the mean, of which a variance or a skewness is a sum.

    Shapes are safe in normal use; a column that is constant but for few has no shape beyond these few.
    """
    figures = evidence.figures
    if not policy.spread:
        return finding("deviation", evidence, _none(evidence), "")
    parts = Parts(evidence.number, figures["deviation"], lambda n: figures[f"deviation_{n}"])
    rules = (
        Dominance([(policy.nk_n, 100 * policy.nk_k)], strict=not policy.nk_inclusive),
        PPercent(100 * policy.p),
    )
    flagged = np.logical_or.reduce([rule.hits(parts) for rule in rules]) & (figures["deviation"] > 0)
    flagged |= _apart(evidence, policy) | _equal(evidence)
    flagged &= evidence.number > 1
    words = "all have the same value but for few, so that the spread tells what these few have"
    return finding("deviation", evidence, flagged, words, limit=policy.nk_k)


@check
def owners(evidence: Evidence, policy: Policy) -> Finding:
    """The rows around a quantile are those of one or few people: the quantile is their value."""
    held = evidence.figures["owners"]
    flagged = 2 * held < policy.threshold
    words = "the rows around the quantile belong to one person or a few"
    return finding(
        "owners", evidence, flagged, words, worst=float(held.min(initial=np.inf)), limit=policy.threshold / 2
    )


@dataclass(frozen=True, eq=False)
class Parts:
    """Contributions to something that is no sum of values, as the rules of tables see them."""

    number: Ints
    total: Floats
    largest_sum: Callable[[int], Floats]


def _comparable(evidence: Evidence, policy: Policy) -> Bools:
    """Cells in which shares of a total make sense."""
    return np.asarray((evidence.figures["negative"] == 0) | (policy.negatives == "absolute"))


@check
def negatives(evidence: Evidence, policy: Policy) -> Finding:
    """Shares of a total mean nothing where values are negative: a person looks."""
    flagged = (evidence.figures["negative"] > 0) & (policy.negatives == "review")
    words = "there are negative values, so dominance cannot be computed"
    return finding("negatives", evidence, flagged, words, verdict="review")


@check
def min_dof(evidence: Evidence, policy: Policy) -> Finding:
    """Too few residual degrees of freedom: of a model or test, or n - 1 of each cell of a table of shapes."""
    words = f"fewer than {policy.dof} degrees of freedom"
    if "dof" in evidence.facts:
        dof = evidence.facts["dof"]
        if dof is None:
            unknown = finding(
                "min_dof",
                evidence,
                np.ones(1, np.bool_),
                "the degrees of freedom are not known",
                verdict="review",
            )
            return unknown
        low = np.array([float(dof) < policy.dof])
        return finding("min_dof", evidence, low, words, worst=float(dof), limit=policy.dof)
    dofs = evidence.number - 1
    flagged = (evidence.number > 0) & (dofs < policy.dof)
    return finding(
        "min_dof", evidence, flagged, words, worst=_least(dofs.astype(float), dofs >= 0), limit=policy.dof
    )


@check
def few_in_group(evidence: Evidence, policy: Policy) -> Finding:
    """A test compares groups, one of which has few people: what it says is about them."""
    people = float(evidence.facts.get("people_of_a_group", policy.threshold))
    words = f"one of the groups that are compared has fewer than {policy.threshold} people or units"
    hit = np.array([people < policy.threshold])
    return finding("few_in_group", evidence, hit, words, worst=people, limit=policy.threshold)


@check
def saturated(evidence: Evidence, policy: Policy) -> Finding:
    """The model only recasts a table: as many parameters as patterns of its regressors (rank = distinct rows)."""
    facts = evidence.facts
    if "rank" not in facts:
        words = (
            "the design of the model is not known, so a person must see that it is not a table in disguise"
        )
        return finding("saturated", evidence, np.ones(1, np.bool_), words, verdict="review")
    hit = np.array([is_saturated(facts["rank"], facts["patterns"])])
    words = "the model is saturated: it is a table, and is checked as one"
    told: Verdict = "review" if facts.get("rerouted") else "fail"
    worst, limit = float(facts["rank"]), float(facts["patterns"])
    if not hit[0] and facts.get("cell_people", policy.threshold) < policy.threshold:
        hit, told = np.ones(1, np.bool_), "fail"
        words = (
            f"but for columns that explain nothing it is a table, with cells of fewer than {policy.threshold}"
        )
    return finding("saturated", evidence, hit, words, verdict=told, worst=worst, limit=limit)


@check
def own_parameter(evidence: Evidence, policy: Policy) -> Finding:
    """Few people have a parameter of a model to themselves, or a fitted value rests on them alone."""
    people = float(evidence.facts.get("people_of_a_parameter", policy.threshold))
    hit = np.array([people < policy.threshold])
    if people < policy.concentration_n:
        words = "a parameter belongs to one or two people or units: with it their own values follow"
        return finding("own_parameter", evidence, hit, words, worst=people, limit=policy.concentration_n)
    words = f"a parameter rests on fewer than {policy.threshold} people or units"
    return finding(
        "own_parameter", evidence, hit, words, verdict="review", worst=people, limit=policy.threshold
    )


@check
def endpoints(evidence: Evidence, policy: Policy) -> Finding:
    """The largest or smallest value belongs to few, and is none that everybody knows.

    That everybody knows it is what the researcher says, so that a person looks.
    """
    figures, sides = evidence.figures, evidence.facts.get("ends", "both")
    flagged, said = _none(evidence), _none(evidence)
    for name, held in (("low", "at_low"), ("high", "at_high")):
        if sides in ("both", name):
            known = np.isin(figures[name], evidence.limits)
            few = (evidence.number > 0) & (figures[held] < policy.threshold) & policy.endpoints
            flagged |= few & ~known
            said |= few & known
    words = f"the end value is that of fewer than {policy.threshold} people or units"
    if said.any() and not flagged.any():
        words += ", and is said to be a limit that everybody knows: a person must know that it is one"
        return finding("endpoints", evidence, said, words, verdict="review", limit=policy.threshold)
    return finding("endpoints", evidence, flagged, words, limit=policy.threshold)


@check
def tail_count(evidence: Evidence, policy: Policy) -> Finding:
    """Too few units beyond a quantile or between two, as many as the policy asks for.

    A quantile is near somebody's own value, or is one; with enough people on either side nobody knows whose. With one
    person beyond it, it is an end value, and is refused like those where the policy asks for no more.
    """
    least = max(policy.tail, 2 if policy.endpoints else 0)
    held = evidence.figures["between"]
    flagged = (evidence.number > 0) & (held < least)
    words = f"fewer than {least} people or units lie beyond the quantile, or between two of them"
    return finding("tail_count", evidence, flagged, words, worst=_least(held, held > 0), limit=least)


@check
def survival_exits(evidence: Evidence, policy: Policy) -> Finding:
    """Too few exits (events and censored) in a reported step, or too few left at risk after it."""
    exits, left = (np.asarray(evidence.figures[name]) for name in ("exits", "left"))
    flagged = (exits < policy.survival) | ((left > 0) & (left < policy.survival))
    words = f"fewer than {policy.survival} people leave in the step, or are left after it"
    return finding(
        "survival_exits", evidence, flagged, words, worst=_least(exits, exits >= 0), limit=policy.survival
    )


@check
def linked_2x2(evidence: Evidence, policy: Policy) -> Finding:
    """A ratio of counts without its counts."""
    missing = np.array([not evidence.facts.get("has_table", bool(evidence.shape))])
    words = "the ratio came without the table of counts behind it; give the table, or let a person look"
    return finding("linked_2x2", evidence, missing, words, verdict="review")


@check
def hhi_gini_n(evidence: Evidence, policy: Policy) -> Finding:
    """Two firms' shares follow from a Herfindahl index exactly; very few units are told by any index."""
    number = evidence.number if "n" not in evidence.facts else np.array([int(evidence.facts["n"])])
    flagged = (number > 0) & (number < policy.concentration_n)
    words = f"fewer than {policy.concentration_n} units stand behind the index"
    if "steps" in evidence.facts:  # a Lorenz curve shows the sums of its steps
        flagged = (evidence.number > 0) & (evidence.number < policy.threshold)
        words = f"fewer than {policy.threshold} units stand behind a step of the curve"
    return finding("hhi_gini_n", evidence, flagged, words, limit=policy.concentration_n)


@check
def missing(evidence: Evidence, policy: Policy) -> Finding:
    """Missing values were left out (only if the policy asks for it)."""
    flagged = (evidence.figures["missing"] > 0) & policy.missing
    words = "missing values were left out; with them or without them, differences tell about single people"
    return finding("missing", evidence, flagged, words, verdict="review")


def file_type(name: str, policy: Policy) -> str:
    """Why a file may not leave by its ending; empty if it may.

    Examples
    --------
    >>> file_type("figure.SVG", Policy())
    '.svg files hold the data they draw; save the picture as .png'
    """
    ending = name[name.rfind(".") :].lower() if "." in name else ""
    if ending in policy.blocked:
        return f"{ending} files hold the data they draw; save the picture as .png"
    return ""
