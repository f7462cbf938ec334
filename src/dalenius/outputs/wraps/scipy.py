"""SciPy's tests, worn by a desk: checked by the people in their groups, and remembered; others are for a person."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.stats

from dalenius.outputs.checks import CHECKS, Finding, finding
from dalenius.outputs.design import marks
from dalenius.outputs.evidence import Evidence
from dalenius.outputs.judge import examined, judge
from dalenius.outputs.query import Dimension, Query
from dalenius.outputs.register import register
from dalenius.outputs.wraps.columns import units
from dalenius.outputs.wraps.figures import figure_of
from dalenius.outputs.wraps.sources import name_of, noted, units_of
from dalenius.outputs.wraps.statsmodels import made_of_few, one_but_few, together
from dalenius.outputs.written import scalars

if TYPE_CHECKING:
    from dalenius.outputs.desk import Desk

GROUPS = (
    "ttest_1samp", "shapiro", "kstest", "ks_1samp", "normaltest", "anderson", "skewtest", "kurtosistest", "jarque_bera",
    "cramervonmises", "ttest_ind", "mannwhitneyu", "ks_2samp", "ranksums", "cramervonmises_2samp", "brunnermunzel",
    "ansari", "mood", "epps_singleton_2samp", "f_oneway", "kruskal", "levene", "bartlett", "fligner", "alexandergovern",
    "median_test", "tukey_hsd",
)  # fmt: skip
"""Tests of one sample, or of several that are about different people."""
PAIRED = ("ttest_rel", "wilcoxon", "friedmanchisquare")
"""Tests of several figures about the same people."""
CORRELATIONS = {
    "pearsonr": "pearson r", "spearmanr": "spearman", "kendalltau": "kendall tau", "linregress": "linear regression",
    "pointbiserialr": "point biserial correlation",
}  # fmt: skip
TABLES = {
    "chi2_contingency": "hypothesis test", "fisher_exact": "odds ratio, hypothesis test",
    "barnard_exact": "hypothesis test", "boschloo_exact": "hypothesis test",
}  # fmt: skip
"""Tests of a table of counts; Fisher's tells the odds ratio of its four cells."""


class Tests:
    """``scipy.stats`` with its tests checked; what makes figures of data in another way is for a person."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk

    def __getattr__(self, name: str) -> Any:
        found = getattr(scipy.stats, name)
        if not inspect.isroutine(found):
            return found  # a distribution

        def asked(*given: Any, **options: Any) -> Any:
            result = found(*given, **options)
            self._write(name, result, _arguments(found, given, options))
            return result

        return asked

    def _write(self, name: str, result: Any, given: Sequence[Any]) -> None:
        desk, samples = self._desk, [x for x in given if np.ndim(x) == 1 and np.size(x) > 1]
        told = _told(name, result)
        if name in TABLES:
            _counts(desk, name, given, told, result)
        elif name in CORRELATIONS and len(samples) == 2 and len(samples[0]) == len(samples[1]):
            (unit, ids), notes = _owner(desk, samples)
            together(desk, CORRELATIONS[name], _columns(samples), unit, ids, told, result, notes, call=name)
        elif name in PAIRED and samples:
            _paired(desk, name, samples, told, result, given)
        elif name in GROUPS and samples and len(samples) == len([x for x in given if np.ndim(x) > 0]):
            _groups(desk, name, samples, told, result, given)
        else:
            desk.declare(name, command=f"{name}()", of=_rows_of(desk, samples)).frame = told


def _arguments(function: Callable[..., Any], given: Sequence[Any], options: dict[str, Any]) -> list[Any]:
    """What a test was given, lists of samples taken apart."""
    try:
        bound = inspect.signature(function).bind(*given, **options)
    except (TypeError, ValueError):
        return [*given, *options.values()]
    spread = {n for n, p in bound.signature.parameters.items() if p.kind is p.VAR_POSITIONAL}
    return [x for n, value in bound.arguments.items() for x in (value if n in spread else [value])]


def _told(name: str, result: Any) -> pl.DataFrame:
    figures = {k: getattr(result, k) for k in ("statistic", "pvalue") if np.size(getattr(result, k, ())) == 1}
    return pl.DataFrame(
        {"test": [name], **{k: [float(np.asarray(v).ravel()[0])] for k, v in figures.items()}}
    )


def _columns(samples: Sequence[Any]) -> pd.DataFrame:
    """Samples about the same people side by side, by their names."""
    names = [name_of(s) if isinstance(s, pd.Series) else f"sample {i + 1}" for i, s in enumerate(samples)]
    names = [n if n not in names[:i] else f"{n} ({i + 1})" for i, n in enumerate(names)]
    return pd.DataFrame({n: np.asarray(s, np.float64) for n, s in zip(names, samples, strict=True)})


def _owner(desk: Desk, samples: Sequence[Any]) -> tuple[tuple[Any, Any], tuple[str, ...]]:
    """Whose rows samples about the same people are: the first that knows it says so."""
    found = [units_of(desk, s) for s in samples]
    best = next((f for f in found if not f[1]), found[0])
    (unit, ids), notes = best
    return (unit, range(len(samples[0])) if ids is None else ids), notes


def _rows_of(desk: Desk, samples: Sequence[Any]) -> Query | None:
    """Whose rows stand behind a figure that nobody can check here, and what they have; None where rows differ."""
    if not samples or len({len(s) for s in samples}) > 1:
        return None
    try:
        columns = _columns(samples)
    except (ValueError, TypeError):  # texts
        return None
    (unit, ids), _ = _owner(desk, samples)
    return figure_of(columns, unit, ids)


def _paired(
    desk: Desk, name: str, samples: Sequence[Any], told: pl.DataFrame, result: Any, given: Sequence[Any]
) -> None:
    columns = _columns(samples)
    (unit, ids), notes = _owner(desk, samples)
    there = columns.notna().all(axis=1).to_numpy()
    value = np.where(there, marks(np.nan_to_num(columns.to_numpy())), np.nan)
    people = int(there.sum()) if unit is None else len(np.unique(np.asarray(unit)[there]))
    query = Query(
        "hypothesis test", rows=len(columns), value=value, variable=" + ".join(columns.columns), unit=unit, ids=ids,
        facts={"dof": people - 1, "people_of_a_group": people, "given": tuple(scalars(given))},
        command=f"{name}({', '.join(columns.columns)})",
    )  # fmt: skip
    parts = [(f"column {c!r}", columns[c].to_numpy(), unit) for c in columns.columns]
    _taken(
        desk,
        query,
        parts,
        told,
        result,
        notes,
        one_but_few(desk, columns.to_numpy(), unit, evidence_of(query)),
    )


def _groups(
    desk: Desk, name: str, samples: Sequence[Any], told: pl.DataFrame, result: Any, given: Sequence[Any]
) -> None:
    values = [np.asarray(s, np.float64) for s in samples]
    owners: list[Any] = []
    notes: tuple[str, ...] = ()
    start = 0
    for sample in samples:
        (unit, ids), note = units_of(desk, sample)
        here = range(start, start + len(sample)) if ids is None else ids
        owners.append(np.asarray(here, object) if unit is None else np.asarray(ids, object)[unit])
        notes, start = notes or note, start + len(sample)
    who, ids = units(pd.Series(np.concatenate(owners)))
    value, sizes = np.concatenate(values), [len(v) for v in values]
    group = np.repeat(np.arange(len(values)), sizes)
    there = np.isfinite(value)
    people = [len(np.unique(who[there & (group == g)])) for g in range(len(values))]
    names = list(dict.fromkeys(name_of(s) for s in samples if isinstance(s, pd.Series)))
    query = Query(
        "hypothesis test", (Dimension("sample", group, tuple(range(1, len(values) + 1))),), len(value),
        np.where(there, value, np.nan), " + ".join(names) or None, who, ids,
        facts={
            "dof": sum(people) - len(people), "people_of_a_group": min(people), "given": tuple(scalars(given)),
        }, command=f"{name}({', '.join(names)})",
    )  # fmt: skip
    parts = [(f"sample {g + 1}", v, who[group == g]) for g, v in enumerate(values)]
    _taken(desk, query, parts, told, result, notes)


def _taken(
    desk: Desk, query: Query, parts: Sequence[tuple[str, Any, Any]], told: pl.DataFrame, result: Any,
    notes: Sequence[str], more: Sequence[Finding] = (),
) -> None:  # fmt: skip
    """Check a test by its groups, and that no sample of it is about few."""
    evidence = evidence_of(query)
    judged = judge(query, desk.policy, evidence).with_findings(*noted(notes, evidence))
    found = [f for name, value, unit in parts for f in made_of_few(desk, [(name, value)], unit)]
    desk.take(query, judged=judged.with_findings(*found[:1], *more), frame=told, shown=result)


def evidence_of(query: Query) -> Evidence:
    """Evidence of a test: what its form tells."""
    cells = query.frame()
    nothing = np.zeros((len(cells), 2)), np.zeros(len(cells), np.bool_)
    return Evidence(cells, query.shape, {}, *nothing, dict(query.facts))


def _counts(desk: Desk, name: str, given: Sequence[Any], told: pl.DataFrame, result: Any) -> None:
    """A test of a table of counts: by the people of its rows and columns, an odds ratio by all its cells."""
    table = np.asarray(given[0], np.float64)
    groups = np.concatenate([table.sum(axis=k).ravel() for k in range(table.ndim)])
    fewest = float(groups.min(initial=np.inf))
    facts = {"dof": float(table.sum()) - table.size, "has_table": True, "people_of_a_group": fewest}
    names = [n.strip() for n in TABLES[name].split(",")]
    query = Query(TABLES[name], facts=facts, command=f"{name}()")
    cells = pl.DataFrame({"cell": [f"cell {i + 1}" for i in range(table.size)]})
    evidence = Evidence(
        cells,
        table.shape,
        {"units": table.ravel()},
        np.zeros((table.size, 2)),
        np.zeros(table.size, np.bool_),
        facts,
    )
    judged = examined([register().lookup(n) for n in names], evidence, desk.policy)
    judged = judged.with_findings(*_small_cells(desk, table, evidence), *_known_table(desk, table, evidence))
    desk.take(query, judged=judged, frame=told, shown=result)


def _small_cells(desk: Desk, table: Any, evidence: Evidence) -> list[Finding]:
    """Small cells of a tested table: those of four follow from the statistic and the totals, those of more may."""
    found = CHECKS["min_threshold"](evidence, desk.policy)
    if found.verdict == "pass" or table.size <= 4:
        return [found]
    words = f"the table has cells of fewer than {desk.policy.threshold}, which may follow from the statistic"
    return [finding("min_threshold", evidence, found.flagged, words, verdict="review")]


def _known_table(desk: Desk, table: Any, evidence: Evidence) -> list[Finding]:
    """Whether the desk made a table that is tested, and what it found there."""
    asked = np.sort(table[table > 0])
    words = "the desk did not make the table that is tested, so nobody knows who is counted in it"
    for out in desk.outputs:
        counted = out.judged.evidence.figures.get("rows", np.zeros(0))[: out.judged.evidence.inner]
        if np.array_equal(np.sort(counted[counted > 0]), asked):
            if out.status == "pass":
                return []
            words = "the table that is tested did not pass"
    return [finding("table", evidence, np.ones(1, np.bool_), words, verdict="review")]
