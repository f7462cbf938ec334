"""`compare`: figures about several protected files side by side, each made once or several times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import polars as pl

from dalenius.core.errors import DataError
from dalenius.core.maps import risk_facts, risk_utility_map
from dalenius.core.registry import MeasureInfo
from dalenius.core.replicates import mean_result
from dalenius.core.result import Result
from dalenius.core.small_cells import THRESHOLD
from dalenius.core.small_table import small_table
from dalenius.data.grouping import Grouping
from dalenius.data.lens import Lens
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.evaluation.measuring import Evaluation, Options, Progress, evaluate
from dalenius.synth.made import Made

if TYPE_CHECKING:
    import altair as alt

HEADLINES = ("disco", "replicated-uniques", "two-way-utility")
"""Figures a map is drawn with when nobody names others."""


def first_told(name: str) -> int:
    """The place of a figure among those told first: tables in the real data's detail before those as a mask shows them.

    Examples
    --------
    >>> sorted(["two-way-utility", "detail-utility", "disco", "coverage"], key=first_told)
    ['disco', 'detail-utility', 'two-way-utility', 'coverage']
    """
    order = (*HEADLINES[:2], "detail-utility", *HEADLINES[2:])
    return order.index(name) if name in order else len(order)


@dataclass(frozen=True)
class Comparison:
    """Several protected files of one original.

    Examples
    --------
    >>> data = {"sex": ["f", "m"] * 20, "age": list(range(40))}
    >>> comparison = compare(data, {"copy": data}, keys=["age"], measures=["replicated-uniques", "two-way-utility"])
    >>> comparison.table.columns
    ['candidate', 'replicated-uniques', 'two-way-utility']
    """

    evaluations: Mapping[str, Evaluation]
    replicates: Mapping[str, Sequence[Evaluation]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Evaluation:
        return self.evaluations[name]

    @property
    def measured(self) -> dict[str, Result]:
        """Every measure that any of the files has a figure of, with the first such figure.

        Some are taken of a few files only: how people come out by columns that a method keeps, of those that kept any.
        """
        found: dict[str, Result] = {}
        for evaluation in self.evaluations.values():
            for name, result in evaluation.results.items():
                found.setdefault(name, result)
        return found

    @property
    def table(self) -> pl.DataFrame:
        """One row per candidate, one column per measure."""
        return pl.DataFrame(
            [
                {"candidate": name, **{m: r.value for m, r in evaluation.results.items()}}
                for name, evaluation in self.evaluations.items()
            ]
        )

    @property
    def intervals(self) -> pl.DataFrame:
        """One row per candidate and measure: value, interval, and of how many files it is the mean."""
        rows = [
            {
                "candidate": name, "measure": measure, "value": r.value,
                "low": r.interval.low if r.interval else None, "high": r.interval.high if r.interval else None,
                "files": len(self.replicates.get(name, (evaluation,))),
            }
            for name, evaluation in self.evaluations.items()
            for measure, r in evaluation.results.items()
        ]  # fmt: skip
        return pl.DataFrame(rows, schema_overrides={"low": pl.Float64, "high": pl.Float64})

    @property
    def ranking(self) -> pl.DataFrame:
        """Place of each candidate by each measure, 1 for the best; ties share the mean of their places."""
        table = self.table
        columns = [table["candidate"]]
        for name in table.columns[1:]:
            turned = table[name].map_elements(partial(_shortfall, self._info(name)), pl.Float64)
            columns.append(turned.fill_nan(None).rank("average"))
        return pl.DataFrame(columns)

    def _info(self, name: str) -> MeasureInfo | None:
        return self.measured[name].info if name in self.measured else None

    @property
    def agreement(self) -> pl.DataFrame:
        """Rank correlation between measures over the candidates: which of them say the same (three or more)."""
        ranks = self.ranking.drop("candidate")
        rows = []
        for i, first in enumerate(ranks.columns):
            for second in ranks.columns[i + 1 :]:
                both = ranks.select(first, second).drop_nulls()
                value = both.select(pl.corr(first, second)).item() if len(both) > 2 else None
                rows.append({"first": first, "second": second, "rank correlation": value})
        return pl.DataFrame(rows, schema_overrides={"rank correlation": pl.Float64})

    def chart(self, risk: str | None = None, utility: str | None = None) -> alt.TopLevelMixin:
        """Risk–utility map of the candidates."""
        return risk_utility_map(self.points(risk, utility))

    def points(self, risk: str | None = None, utility: str | None = None) -> pl.DataFrame:
        """Candidates with one risk and one utility figure each (by default DiSCO and two-way tables where measured)."""
        rows = []
        for name, evaluation in self.evaluations.items():
            chosen = {}
            for family, wanted in (("risk", risk), ("utility", utility)):
                results = [r for r in evaluation.family(family) if wanted in (None, r.name)]
                results.sort(key=lambda r: first_told(r.name))
                if not results:
                    remedy = "name keys and targets" if family == "risk" and wanted is None else "ask for one"
                    raise DataError(f"no {family} measure to draw the map with; {remedy}")
                chosen[family] = results[0]
            rows.append(_point(name, chosen["risk"], chosen["utility"]))
        return pl.DataFrame(
            rows, schema_overrides=dict.fromkeys(("risk_low", "risk_high", "original_risk"), pl.Float64)
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {name: evaluation.to_dict() for name, evaluation in self.evaluations.items()}

    def __str__(self) -> str:
        return "\n".join(str(evaluation) for evaluation in self.evaluations.values())

    def _repr_html_(self) -> str:
        rows = [
            {
                "measure": result.title,
                "better": result.info.best if result.info else "",
                **{
                    n: e.results[result.name].told
                    for n, e in self.evaluations.items()
                    if result.name in e.results
                },
                "yardstick": result.beside,
            }
            for result in self.measured.values()
        ]
        return small_table(pl.DataFrame(rows, infer_schema_length=None), most=len(rows))


def _shortfall(info: MeasureInfo | None, value: float) -> float:
    return value if info is None else info.shortfall(value)


def _point(name: str, risk: Result, utility: Result) -> dict[str, Any]:
    return {
        "candidate": name,
        **risk_facts(risk),
        "utility": utility.value if utility.info is None else utility.info.on_axis(utility.value),
        "utility_title": utility.info.axis[0] if utility.info else utility.name,
        "utility_better": utility.info.axis[1] if utility.info else "lower",
    }


def compare(
    original: Any,
    candidates: Mapping[str, Any],
    schema: Schema | None = None,
    keys: Sequence[str] | None = None,
    targets: Sequence[str] | None = None,
    holdout: Any = None,
    *,
    measures: Sequence[str] | None = None,
    options: Options | None = None,
    grouping: Grouping | None = None,
    threshold: int = THRESHOLD,
    progress: Progress | None = None,
) -> Comparison:
    """Measure several protected files of one original; the other arguments are those of `evaluate`.

    Parameters
    ----------
    candidates
        By name a protected file, what `Candidate.make` gave (`Made`; a masked file is then seen through its lens), or
        a list of files made in the same way (replicates): their figures are means with an interval for the mean.

    Examples
    --------
    >>> data = {"a": ["x", "y"] * 30, "b": ["u", "v"] * 30}
    >>> mixed = {"a": ["x", "y"] * 30, "b": ["u", "u", "v", "v"] * 15}
    >>> found = compare(data, {"copy": data, "mixed": mixed}, measures=["two-way-utility"])
    >>> [round(value, 1) for value in found.table["two-way-utility"]]
    [0.0, 26.7]
    >>> several = compare(data, {"mixed": [mixed, data, mixed]}, measures=["two-way-utility"])
    >>> several.intervals.select("files", pl.col("value", "low", "high").round(1)).row(0)
    (3, 17.8, 0.0, 56.0)
    """
    if not candidates:
        raise DataError("there is no protected file to compare; give at least one")
    base = Table.from_frame(original, schema)
    shared = grouping or Grouping.fit(base)
    runs: dict[str, list[Evaluation]] = {}
    for name, made in candidates.items():
        files = _files(made)
        if not files:
            raise DataError(f"candidate {name!r} has no file")
        runs[name] = [
            evaluate(
                base, protected, None, keys, targets, holdout, measures=measures, options=options,
                grouping=shared if lens is None else grouping, name=name, threshold=threshold, lens=lens,
                progress=progress,
            )
            for protected, lens in files
        ]  # fmt: skip
    return Comparison({name: averaged(several) for name, several in runs.items()}, runs)


def _files(made: Any) -> list[tuple[Any, Lens | None]]:
    """The files of a candidate, each with its lens where it was masked."""
    if isinstance(made, Made):
        return [(table, made.lens(i)) for i, table in enumerate(made.tables)]
    if isinstance(made, (list, tuple)):
        return [pair for each in made for pair in _files(each)]
    return [(made, None)]


def averaged(runs: Sequence[Evaluation]) -> Evaluation:
    """One evaluation out of the replicates': means with intervals, for what was measured on all of them.

    Examples
    --------
    >>> data = {"a": ["x", "y"] * 30}
    >>> averaged([evaluate(data, data, measures=["column-shapes"])] * 2)["column-shapes"].value
    1.0
    """
    shared = [name for name in runs[0].results if all(name in run.results for run in runs)]
    results = {name: mean_result([run.results[name] for run in runs]) for name in shared}
    unchanged = tuple(dict.fromkeys(name for run in runs for name in run.unchanged))
    return replace(runs[0], results=results, unchanged=unchanged)
