"""`evaluate`: all figures about one protected file."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

import dalenius.risk
import dalenius.utility  # noqa: F401 (both rooms register their measures)
from dalenius.core.errors import OptionError
from dalenius.core.pictures import Figure
from dalenius.core.progress import telling
from dalenius.core.random import DEFAULT_SEED
from dalenius.core.result import Result, figure
from dalenius.core.small_cells import THRESHOLD
from dalenius.counts.batches import WatchedStream, open_stream
from dalenius.counts.measure import (
    MEASURES,
    chosen_measures,
    doubted,
    full_name,
    masked_measures,
    needs,
)
from dalenius.counts.pair import Pair
from dalenius.counts.source_pair import SAMPLE, SourcePair
from dalenius.counts.unchanged import unchanged
from dalenius.data.grouping import Grouping
from dalenius.data.lens import Lens
from dalenius.data.relations import Database
from dalenius.data.schema import Schema
from dalenius.evaluation.doubts import doubts
from dalenius.evaluation.plotting import column_figure
from dalenius.evaluation.policy import KEPT_MEASURE
from dalenius.evaluation.recoded import distrusted, nobody_found

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
    >>> evaluation.skipped, list(evaluation)
    ({'disco': 'needs targets'}, ['replicated-uniques'])
    >>> print(evaluation.plot("sex"))
    Shares of the values of sex, original and protected: f 50 % and 50 %; m 50 % and 50 %
    """

    name: str
    pair: Pair
    results: Mapping[str, Result]
    skipped: Mapping[str, str] = field(default_factory=dict)
    unchanged: tuple[str, ...] = ()
    """Columns that come out as they were, person by person; looked for where risk is measured and no mask is known."""
    doubts: tuple[str, ...] = ()
    """Why no risk figure of this file can be trusted: what it holds besides, or whom it is held against."""

    def __getitem__(self, name: str) -> Result:
        if name not in self.results:
            raise OptionError(f"{name!r} was not measured; there are: {', '.join(self.results)}")
        return self.results[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.results)

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
                    "measure": r.title,
                    "value": r.value,
                    "unit": r.unit,
                    "low": r.interval.low if r.interval else None,
                    "high": r.interval.high if r.interval else None,
                    "yardstick": r.beside,
                    "better": r.info.better if r.info else "",
                    "reading": r.sentence,
                }
                for r in self.results.values()
            ],
            schema_overrides={"low": pl.Float64, "high": pl.Float64, "value": pl.Float64},
        )

    def plot(self, column: str) -> Figure:
        """One column of both files as a figure, small cells withheld; see `dalenius.compare_plot`."""
        return column_figure(self.pair, column, self.name)

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
            **({"unchanged": list(self.unchanged)} if self.unchanged else {}),
            **({"doubts": list(self.doubts)} if self.doubts else {}),
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
    lens: Lens | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Measure how safe and how useful a protected file is.

    Parameters
    ----------
    original, protected, holdout
        Frames of any supported type, or tables; or databases, which give a `DatabaseEvaluation`. The holdout was not
        used to make the protected file.
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
    lens
        What a mask did to make the protected file (`Made.lens`); risk is then read through it.

    Examples
    --------
    >>> data = {"sex": ["f", "m"] * 20, "age": list(range(40))}
    >>> print(evaluate(data, data).skipped["disco"])
    needs keys and targets
    """
    if isinstance(original, Database):
        from dalenius.evaluation.databases import evaluate_databases  # noqa: PLC0415 (it needs Evaluation)

        evaluation: Any = evaluate_databases(
            original, protected, holdout, measures=measures, options=options, name=name, threshold=threshold,
            progress=progress,
        )  # fmt: skip
        return evaluation
    pair = Pair(
        original, protected, holdout, schema=schema, keys=keys, targets=targets, grouping=grouping,
        threshold=threshold, lens=lens,
    )  # fmt: skip
    with telling(progress, f"measuring {name}") as tell:
        return evaluate_pair(pair, measures=measures, options=options, name=name, progress=tell)


def evaluate_files(
    original: str | Path,
    protected: str | Path,
    schema: Schema | None = None,
    keys: Sequence[str] | None = None,
    targets: Sequence[str] | None = None,
    holdout: str | Path | None = None,
    *,
    measures: Sequence[str] | None = None,
    options: Options | None = None,
    name: str = "protected",
    threshold: int = THRESHOLD,
    sample: int = SAMPLE,
    seed: int = DEFAULT_SEED,
    keep: str | Path | None = None,
    progress: Progress | None = None,
) -> Evaluation:
    """Measure files that are larger than memory: Parquet, CSV or Arrow, read a batch at a time.

    Figures made of counts (`MeasureInfo.reads`) are those of all rows. Others rest on a sample of ``sample`` rows of
    each file, drawn by ``seed``, and say so; numbers are grouped by the sample of the original. With a folder to
    ``keep`` finished counts in, a run that was broken off does not count again what it had; the folder is confidential.

    Examples
    --------
    >>> import tempfile, dalenius
    >>> file = Path(tempfile.mkdtemp()) / "people.parquet"
    >>> dalenius.write({"sex": ["f", "m"] * 20, "age": list(range(40))}, file)
    >>> evaluate_files(file, file, measures=["two-way-utility"])["two-way-utility"].value
    0.0
    """
    files = {"original": original, "protected": protected, "holdout": holdout}
    opened = {
        what: open_stream(file)
        if progress is None
        else WatchedStream(open_stream(file), progress, f"{what}: ")
        for what, file in files.items()
        if file is not None
    }
    pair = SourcePair(
        opened["original"], opened["protected"], opened.get("holdout"), schema=schema, keys=keys, targets=targets,
        threshold=threshold, sample=sample, seed=seed, keep=keep,
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
    named = measures if measures is not None else _default(pair.lens is not None)
    unfound = nobody_found(pair)
    given = {full_name(measure): dict(own) for measure, own in (options or {}).items()}
    asked = chosen_measures(named, given)  # every wrong name and option at once
    kept = unchanged(pair) if any(each.info.family == "risk" for each in asked) else []
    if kept and measures is None:
        given.setdefault(KEPT_MEASURE, {"columns": kept})
    for chosen in chosen_measures(named, given):
        lacking = chosen.lacks(pair, given.get(chosen.info.name))
        if lacking:
            skipped[chosen.info.name] = needs(lacking)
            continue
        if progress is not None:
            progress(chosen.info.title)
        measured = chosen(pair, **given.get(chosen.info.name, {}))
        results[chosen.info.name] = (
            distrusted(measured, unfound) if unfound and "keys" in chosen.info.needs else measured
        )
    found_doubts: list[str] = []
    if any(MEASURES[measure].info.family == "risk" for measure in results):
        doubt, found_doubts = pair.for_rows()[0].doubt, doubts(pair)
        told = [*([doubt] if doubt else []), *found_doubts, *([_as_they_were(pair, kept)] if kept else [])]
        pair.notes += [note for note in told if note not in pair.notes]
        results = {name: _doubted(result, found_doubts) for name, result in results.items()}
    return Evaluation(name, pair, results, skipped, tuple(kept), tuple(found_doubts))


def _doubted(result: Result, doubts: Sequence[str]) -> Result:
    """A risk figure with the first of what stands against believing it."""
    risk = result.info is not None and result.info.family == "risk"
    return doubted(result, doubts[0]) if doubts and risk else result


def _as_they_were(pair: Pair, kept: Sequence[str]) -> str:
    """Which columns were taken over, and how many people are alone on them."""
    match = pair.match(kept)
    alone = figure(pair.units.share(match.single[match.groups.original]), "%")
    come = "comes" if len(kept) == 1 else "come"
    return (
        f"{', '.join(kept)} {come} out as in the original, person by person: every such record holds facts of a real "
        f"{pair.units.noun.removesuffix('s')}. {alone} of the {pair.units.noun} are alone on what comes out so."
    )


FIRST = ("two-way-utility", "one-way-utility")
"""What a reader sees first of the utility figures: which pairs and columns are good, usable and bad."""


def _default(masked: bool) -> list[str]:
    """The default set, risk before utility, and the tables before other utility figures; more of a masked file."""
    more = masked_measures() if masked else []
    infos = [m.info for m in MEASURES.values() if m.info.default or m.info.name in more]
    infos.sort(key=lambda info: (info.family != "risk", info.name not in FIRST))
    return [info.name for info in infos]
