"""`evaluate_databases`: all figures about a protected database, table by table and across tables."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import process_time
from typing import Any

import numpy as np
import polars as pl

import dalenius.risk
import dalenius.utility  # noqa: F401 (both rooms register their measures)
from dalenius.core.errors import DaleniusError, OptionError
from dalenius.core.random import generator
from dalenius.core.result import Result
from dalenius.core.small_cells import THRESHOLD
from dalenius.counts.database_pair import DATABASE_MEASURES, DatabasePair
from dalenius.data.relations import Database
from dalenius.data.relations_check import torn_links
from dalenius.data.relations_picture import picture
from dalenius.evaluation.measuring import Evaluation, Options, evaluate_pair
from dalenius.synth.relational.method import make_relational

Progress = Callable[[str], None]


@dataclass(frozen=True)
class DatabaseEvaluation:
    """All results about one protected database.

    Attributes
    ----------
    results
        Figures across tables, by name.
    tables
        Figures of each table by itself; whoever owns rows there is the topmost parent.
    skipped
        Measures that could not be taken, with the reason.

    Examples
    --------
    >>> from dalenius.data import examples
    >>> base = examples.visits(150)
    >>> found = evaluate_databases(base, base, measures=["cardinality", "parent-child"])
    >>> found["cardinality"].value
    1.0
    """

    name: str
    pair: DatabasePair
    results: Mapping[str, Result]
    tables: Mapping[str, Evaluation]
    skipped: Mapping[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Result:
        if name not in self.results:
            raise OptionError(f"{name!r} was not measured; there are: {', '.join(self.results)}")
        return self.results[name]

    @property
    def table(self) -> pl.DataFrame:
        """One row per measure, across tables first."""
        rows = [_row("(across tables)", result) for result in self.results.values()]
        for name, held in self.tables.items():
            rows += [_row(name, result) for result in held.results.values()]
        return pl.DataFrame(rows, infer_schema_length=None)

    @property
    def torn(self) -> dict[str, str]:
        """Links whose rows lost their parents, by child and key, with what is wrong."""
        return torn_links(self.pair.protected, self.pair.links)

    def picture(self) -> str:
        """Tables and links with the rows of both databases, as SVG; torn links are marked."""
        rows = {name: table.rows for name, table in self.pair.protected.tables.items()}
        return picture(self.pair.original, rows, self.torn)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "name": self.name,
            "rows": {n: [b[n].rows for b in self.pair.sides[:2]] for n in self.pair.tables},
            "links": [str(link) for link in self.pair.links],
            "notes": self.pair.notes,
            "results": {name: result.to_dict() for name, result in self.results.items()},
            "tables": {name: held.to_dict() for name, held in self.tables.items()},
            "skipped": dict(self.skipped),
            "torn": self.torn,
        }

    def __str__(self) -> str:
        lines = [f"{self.name}:"]
        lines += [f"  {result}" for result in self.results.values()]
        lines += [f"  {name}: not measured, {why}" for name, why in self.skipped.items()]
        return "\n".join([*lines, *(str(held) for held in self.tables.values())])

    def _repr_html_(self) -> str:
        body = "".join(result._repr_html_() for result in self.results.values())
        rest = "".join(held._repr_html_() for held in self.tables.values())
        return f"<h3>{html.escape(self.name)}</h3>{self.picture()}{body}{rest}"


def _row(table: str, result: Result) -> dict[str, Any]:
    return {
        "table": table, "family": result.info.family if result.info else "", "measure": result.title,
        "value": result.value, "unit": result.unit, "better": result.info.better if result.info else "",
        "yardstick": result.beside, "reading": result.sentence,
    }  # fmt: skip


@dataclass(frozen=True)
class DatabaseBenchmark:
    """Several methods of several tables tried on one database.

    Attributes
    ----------
    table
        A row for each method and measure: mean over replicates, smallest and largest, and CPU seconds.
    failed
        Methods that made nothing, with the reason.
    """

    table: pl.DataFrame
    failed: Mapping[str, str]


def benchmark_databases(
    base: Database, methods: Mapping[str, Mapping[str, Any]], *, replicates: int = 3, holdout_share: float = 0.0,
    measures: Sequence[str] | None = None, seed: int = 0, progress: Progress | None = None,
) -> DatabaseBenchmark:  # fmt: skip
    """Try methods of several tables, each several times; families set aside stand beside.

    Examples
    --------
    >>> from dalenius.data import examples
    >>> found = benchmark_databases(examples.visits(150), {"hma": {}}, replicates=2, measures=["cardinality"])
    >>> found.table.select("method", "measure").rows()
    [('hma', 'Numbers of children')]
    """
    top = next(n for n in base.sequence if base.children(n) or len(base.tables) == 1)
    order = generator(seed, "holdout").permutation(base[top].rows)
    aside = int(base[top].rows * holdout_share)
    seen, held = (base.take(order[aside:]), base.take(order[:aside])) if aside else (base, None)
    names = list(DATABASE_MEASURES) if measures is None else list(measures)
    rows: list[dict[str, Any]] = []
    failed: dict[str, str] = {}
    for method, options in methods.items():
        if progress is not None:
            progress(method)
        start = process_time()
        try:
            made = make_relational(method, **options).make(seen, replicates, seed=seed)
        except DaleniusError as error:
            failed[method] = str(error)
            continue
        seconds = (process_time() - start) / replicates
        evaluations = [evaluate_databases(seen, one, held, measures=names) for one in made]
        for row in evaluations[0].table.iter_rows(named=True):
            same = [
                f.table.filter((pl.col("table") == row["table"]) & (pl.col("measure") == row["measure"]))
                for f in evaluations
            ]
            values = [float(s["value"][0]) for s in same if s.height]
            rows.append({
                "method": method, "table": row["table"], "measure": row["measure"], "mean": float(np.mean(values)),
                "low": min(values), "high": max(values), "yardstick": row["yardstick"], "CPU seconds": seconds,
            })  # fmt: skip
    return DatabaseBenchmark(pl.DataFrame(rows, infer_schema_length=None), failed)


def evaluate_databases(
    original: Database, protected: Database, holdout: Database | None = None, *,
    measures: Sequence[str] | None = None, options: Options | None = None, name: str = "protected",
    threshold: int = THRESHOLD, progress: Progress | None = None,
) -> DatabaseEvaluation:  # fmt: skip
    """Measure how safe and how useful a protected database is.

    Parameters
    ----------
    measures
        Names of measures of databases and of single tables; default: all of the former, the default set of the latter.
    """
    pair = DatabasePair(original, protected, holdout, threshold=threshold)
    chosen = list(DATABASE_MEASURES) if measures is None else [n for n in measures if n in DATABASE_MEASURES]
    results: dict[str, Result] = {}
    skipped: dict[str, str] = {}
    for wanted in sorted(chosen, key=lambda n: DATABASE_MEASURES[n].info.family != "risk"):
        measure = DATABASE_MEASURES[wanted]
        lacking = measure.lacks(pair)
        if lacking:
            skipped[wanted] = f"needs {' and '.join(lacking)}"
            continue
        if progress is not None:
            progress(measure.info.title)
        results[wanted] = measure(pair, **dict((options or {}).get(wanted, {})))
    alone = None if measures is None else [n for n in measures if n not in DATABASE_MEASURES]
    tables: dict[str, Evaluation] = {}
    for table in pair.tables if alone is None or alone else []:
        held = pair.table(table)
        if held is None or not held.columns:
            skipped[table] = "a table without rows, or of keys alone"
            continue
        try:
            tables[table] = evaluate_pair(held, measures=alone, name=table, progress=progress)
        except DaleniusError as error:
            skipped[table] = str(error)
    return DatabaseEvaluation(name, pair, results, tables, skipped)
