"""`evaluate`: all figures about one protected file."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

import dalenius.risk
import dalenius.utility  # noqa: F401 (both rooms register their measures)
from dalenius.core.errors import OptionError
from dalenius.core.result import Result, figure
from dalenius.core.small_cells import THRESHOLD
from dalenius.counts.measure import MEASURES, chosen_measures, needs
from dalenius.counts.pair import Pair
from dalenius.data.grouping import Grouping
from dalenius.data.schema import Schema

Progress = Callable[[str], None]
Options = Mapping[str, Mapping[str, Any]]
"""Options of measures by their names: ``{"k-marginal": {"by": "region"}}``."""


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


def evaluate(
    original: Any,
    protected: Any,
    schema: Schema | None = None,
    keys: Sequence[str] | None = None,
    targets: Sequence[str] | None = None,
    holdout: Any = None,
    *,
    measures: Sequence[str] | None = None,
    options: Options | None = None,
    grouping: Grouping | None = None,
    name: str = "protected",
    threshold: int = THRESHOLD,
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
    options
        Options of single measures, by name: ``{"learning-penalty": {"subgroup": "sex"}}``. A measure with options is
        run even when ``measures`` does not name it.
    threshold
        Fewest original records behind anything that results and reports show.

    Examples
    --------
    >>> data = {"sex": ["f", "m"] * 20, "age": list(range(40))}
    >>> print(evaluate(data, data).skipped["disco"])
    needs keys and targets
    """
    pair = Pair(
        original, protected, holdout, schema=schema, keys=keys, targets=targets, grouping=grouping,
        threshold=threshold,
    )  # fmt: skip
    return evaluate_pair(pair, measures=measures, options=options, name=name, progress=progress)


def evaluate_pair(
    pair: Pair,
    *,
    measures: Sequence[str] | None = None,
    options: Options | None = None,
    name: str = "protected",
    progress: Progress | None = None,
) -> Evaluation:
    """Measure a finished pair; what cannot be measured is listed with the reason, not dropped.

    Examples
    --------
    >>> pair = Pair({"a": [1, 2, 3, 4]}, {"a": [1, 2, 3, 3]})
    >>> evaluate_pair(pair, measures=["column-shapes", "disco"]).skipped
    {'disco': 'needs keys and targets'}
    """
    results: dict[str, Result] = {}
    skipped: dict[str, str] = {}
    named = measures if measures is not None else _default()
    for chosen in chosen_measures(named, options or {}):
        lacking = chosen.lacks(pair, (options or {}).get(chosen.info.name))
        if lacking:
            skipped[chosen.info.name] = needs(lacking)
            continue
        if progress is not None:
            progress(chosen.info.title)
        results[chosen.info.name] = chosen(pair, **(options or {}).get(chosen.info.name, {}))
    return Evaluation(name, pair, results, skipped)


FIRST = ("two-way-utility", "one-way-utility")
"""What a reader sees first of the utility figures: which pairs and columns are good, usable and bad."""


def _default() -> list[str]:
    """The default set, risk before utility, and the tables before other utility figures."""
    infos = [m.info for m in MEASURES.values() if m.info.default]
    infos.sort(key=lambda info: (info.family != "risk", info.name not in FIRST))
    return [info.name for info in infos]
