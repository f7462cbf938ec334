"""`evaluate` and `compare`: all figures about one protected file, or about several side by side."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

import dalenius.risk
import dalenius.utility  # noqa: F401 (both rooms register their measures)
from dalenius.core.errors import DataError, OptionError
from dalenius.core.result import Result, figure
from dalenius.counts.measure import MEASURES, Measure
from dalenius.counts.pair import Pair
from dalenius.data.grouping import Grouping
from dalenius.data.schema import Schema
from dalenius.data.table import Table

if TYPE_CHECKING:
    import altair as alt

Progress = Callable[[str], None]
HEADLINES = ("disco", "replicated-uniques", "two-way-utility")
"""Figures a map is drawn with when nobody names others."""


@dataclass(frozen=True)
class Evaluation:
    """All results about one protected file.

    Examples
    --------
    >>> data = {"sex": ["f", "m"] * 20, "age": list(range(40))}
    >>> evaluation = evaluate(data, data, keys=["age"], measures=["replicated-uniques", "disco"])
    >>> evaluation["replicated-uniques"].value
    100.0
    >>> evaluation.skipped
    {'disco': 'needs targets'}
    """

    name: str
    pair: Pair
    results: Mapping[str, Result]
    skipped: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Result:
        if name not in self.results:
            raise OptionError(f"{name!r} was not measured; there are: {', '.join(self.results)}")
        return self.results[name]

    def family(self, family: str) -> list[Result]:
        """Results of one family, "risk" or "utility"."""
        return [r for r in self.results.values() if r.info is not None and r.info.family == family]

    @property
    def table(self) -> pl.DataFrame:
        """One row per measure."""
        return pl.DataFrame(
            [
                {
                    "family": r.info.family if r.info else "",
                    "measure": r.info.title if r.info else r.name,
                    "value": r.value,
                    "unit": r.unit,
                    "low": r.interval.low if r.interval else None,
                    "high": r.interval.high if r.interval else None,
                    "yardstick": "; ".join(f"{k} {figure(v)}" for k, v in r.yardsticks.items()),
                    "better": r.info.better if r.info else "",
                    "reading": r.sentence,
                }
                for r in self.results.values()
            ],
            schema_overrides={"low": pl.Float64, "high": pl.Float64, "value": pl.Float64},
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "name": self.name,
            "original_rows": self.pair.original.rows,
            "protected_rows": self.pair.protected.rows,
            "keys": self.pair.keys,
            "targets": self.pair.targets,
            "notes": self.pair.notes,
            "results": {name: result.to_dict() for name, result in self.results.items()},
            "skipped": dict(self.skipped),
        }

    def __str__(self) -> str:
        lines = [
            f"{self.name}: {self.pair.protected.rows:,} rows against {self.pair.original.rows:,} original ones"
        ]
        lines += [f"  {result}" for result in self.results.values()]
        lines += [f"  {name}: not measured, {why}" for name, why in self.skipped.items()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        body = "".join(result._repr_html_() for result in self.results.values())
        skipped = "".join(f"<li>{html.escape(n)}: {html.escape(w)}</li>" for n, w in self.skipped.items())
        return f"<h3>{html.escape(self.name)}</h3>{body}" + (f"<ul>{skipped}</ul>" if skipped else "")


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

    def __getitem__(self, name: str) -> Evaluation:
        return self.evaluations[name]

    @property
    def table(self) -> pl.DataFrame:
        """One row per candidate, one column per measure."""
        return pl.DataFrame(
            [
                {"candidate": name, **{m: r.value for m, r in evaluation.results.items()}}
                for name, evaluation in self.evaluations.items()
            ]
        )

    def chart(self, risk: str | None = None, utility: str | None = None) -> alt.TopLevelMixin:
        """Risk–utility map of the candidates."""
        from dalenius.core.maps import risk_utility_map  # noqa: PLC0415 (charts are loaded when looked at)

        return risk_utility_map(self.points(risk, utility))

    def points(self, risk: str | None = None, utility: str | None = None) -> pl.DataFrame:
        """Candidates with one risk and one utility figure each (by default DiSCO and two-way tables where measured)."""
        rows = []
        for name, evaluation in self.evaluations.items():
            chosen = {}
            for family, wanted in (("risk", risk), ("utility", utility)):
                found = [r for r in evaluation.family(family) if wanted in (None, r.name)]
                found.sort(key=lambda r: HEADLINES.index(r.name) if r.name in HEADLINES else len(HEADLINES))
                if not found:
                    raise DataError(f"no {family} measure to draw the map with; name keys and targets")
                chosen[family] = found[0]
            rows.append(_point(name, chosen["risk"], chosen["utility"]))
        return pl.DataFrame(rows, schema_overrides={"risk_low": pl.Float64, "risk_high": pl.Float64})

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {name: evaluation.to_dict() for name, evaluation in self.evaluations.items()}

    def _repr_html_(self) -> str:
        return self.table._repr_html_()


def _point(name: str, risk: Result, utility: Result) -> dict[str, Any]:
    def title(result: Result) -> str:
        return result.info.title if result.info else result.name

    return {
        "candidate": name,
        "risk": risk.value,
        "risk_low": risk.interval.low if risk.interval else None,
        "risk_high": risk.interval.high if risk.interval else None,
        "utility": utility.value,
        "risk_title": title(risk),
        "utility_title": title(utility),
        "utility_better": utility.info.better if utility.info else "lower",
        "original_risk": risk.yardsticks.get("original"),
    }


def evaluate(
    original: Any,
    protected: Any,
    schema: Schema | None = None,
    keys: Sequence[str] | None = None,
    targets: Sequence[str] | None = None,
    holdout: Any = None,
    *,
    measures: Sequence[str] | None = None,
    grouping: Grouping | None = None,
    name: str = "protected",
    progress: Progress | None = None,
) -> Evaluation:
    """Measure how safe and how useful a protected file is.

    Parameters
    ----------
    original, protected, holdout
        Frames of any supported type, or tables. The holdout was not used to make the protected file.
    schema
        Of the original; inferred when absent.
    keys, targets
        What an intruder may know, and what would hurt if learnt; default: by role in the schema.
    measures
        Names of measures (``dalenius methods``); default: the default set.

    Examples
    --------
    >>> data = {"sex": ["f", "m"] * 20, "age": list(range(40))}
    >>> print(evaluate(data, data).skipped["disco"])
    needs keys and targets
    """
    pair = Pair(original, protected, holdout, schema=schema, keys=keys, targets=targets, grouping=grouping)
    return evaluate_pair(pair, measures=measures, name=name, progress=progress)


def evaluate_pair(
    pair: Pair,
    *,
    measures: Sequence[str] | None = None,
    name: str = "protected",
    progress: Progress | None = None,
) -> Evaluation:
    """Measure a finished pair; what cannot be measured is listed with the reason, not dropped."""
    results: dict[str, Result] = {}
    skipped: dict[str, str] = {}
    for chosen in _chosen(measures):
        lacking = chosen.lacks(pair)
        if lacking:
            skipped[chosen.info.name] = f"needs {' and '.join(lacking)}"
            continue
        if progress is not None:
            progress(chosen.info.title)
        results[chosen.info.name] = chosen(pair)
    return Evaluation(name, pair, results, skipped)


def _chosen(measures: Sequence[str] | None) -> list[Measure]:
    if measures is None:
        return [m for m in MEASURES.values() if m.info.default]
    return [MEASURES[name] for name in measures]


def compare(
    original: Any,
    candidates: Mapping[str, Any],
    schema: Schema | None = None,
    keys: Sequence[str] | None = None,
    targets: Sequence[str] | None = None,
    holdout: Any = None,
    *,
    measures: Sequence[str] | None = None,
    grouping: Grouping | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Measure several protected files of one original; the arguments are those of `evaluate`.

    Examples
    --------
    >>> data = {"a": ["x", "y"] * 30, "b": ["u", "v"] * 30}
    >>> mixed = {"a": ["x", "y"] * 30, "b": ["u", "u", "v", "v"] * 15}
    >>> found = compare(data, {"copy": data, "mixed": mixed}, measures=["two-way-utility"])
    >>> [round(value, 1) for value in found.table["two-way-utility"]]
    [0.0, 26.7]
    """
    if not candidates:
        raise DataError("there is no protected file to compare; give at least one")
    base = Table.from_frame(original, schema)
    shared = grouping or Grouping.fit(base)
    evaluations = {
        name: evaluate(
            base, protected, None, keys, targets, holdout,
            measures=measures, grouping=shared, name=name, progress=progress,
        )
        for name, protected in candidates.items()
    }  # fmt: skip
    return Comparison(evaluations)
