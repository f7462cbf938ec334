"""`benchmark`: several methods tried on one file, each several times, judged by the same measures.

Beside the methods stand two references: columns drawn evenly from the values that occur, which any useful method must
beat, and whole original rows drawn again, which none may beat by much and nobody may release. `ablation` tries one
method on a file as it is and cleaned by a recipe (Latner et al. 2024).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
import polars as pl

from dalenius.core.errors import DaleniusError, DataError, OptionError
from dalenius.core.option import Option, need
from dalenius.core.random import DEFAULT_SEED, Seed, generator, sequence
from dalenius.counts.measure import MEASURES
from dalenius.data.exit import releasable
from dalenius.data.recipe import Recipe
from dalenius.data.schema import Schema
from dalenius.data.table import Table
from dalenius.data.units import deal
from dalenius.evaluation.comparing import Comparison, compare
from dalenius.evaluation.measuring import Options, Progress
from dalenius.synth import Candidate, Made

Maker = Callable[[Table, int], Made]
"""From the original and the number of a copy to that copy."""
Methods = Sequence[str | Candidate] | Mapping[str, Mapping[str, Any]]
"""Names of methods, candidates, or by a name what a plan says of one: ``{"big leaves": {"method": "cart", …}}``."""
EVEN, ROWS = "values drawn evenly", "rows drawn again"
"""Names of the two references."""


@dataclass(frozen=True)
class Benchmark:
    """What came of trying several methods; ``failed`` says why a method made nothing.

    Examples
    --------
    >>> data = {"sex": ["f", "m"] * 40, "job": ["yes", "no"] * 40}
    >>> found = benchmark(data, ["independent"], replicates=2, measures=["two-way-utility"])
    >>> found.comparison.ranking["candidate"].to_list()
    ['independent', 'values drawn evenly', 'rows drawn again']
    >>> found.costs["candidate"].to_list()
    ['independent', 'independent']
    """

    comparison: Comparison
    costs: pl.DataFrame
    failed: Mapping[str, str] = field(default_factory=dict)

    @property
    def table(self) -> pl.DataFrame:
        """One row per candidate: mean seconds, and the mean of every measure."""
        means = self.costs.group_by("candidate", maintain_order=True).agg(
            pl.col("fit seconds", "sample seconds").mean()
        )
        return self.comparison.table.join(means, on="candidate", how="left", maintain_order="left")

    @property
    def of_no_use(self) -> dict[str, list[str]]:
        """Utility measures by which a method does no better than values drawn evenly, as every useful method does.

        Examples
        --------
        >>> data = {"sex": ["f"] * 30 + ["m"] * 10, "job": ["yes", "no", "no", "no"] * 10}
        >>> benchmark(data, ["independent"], replicates=1, measures=["one-way-utility"]).of_no_use
        {}
        """
        places = {row.pop("candidate"): row for row in self.comparison.ranking.to_dicts()}
        floor = places.get(EVEN, {})
        useful = [name for name in floor if name in MEASURES and MEASURES[name].info.family == "utility"]
        unfit = {
            name: [measure for measure in useful if place[measure] >= floor[measure]]
            for name, place in places.items()
            if name not in (EVEN, ROWS)
        }
        return {name: behind for name, behind in unfit.items() if behind}

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {
            "figures": self.comparison.intervals.to_dicts(),
            "ranking": self.comparison.ranking.to_dicts(),
            "agreement of measures": self.comparison.agreement.to_dicts(),
            "seconds": self.costs.to_dicts(),
            "failed": dict(self.failed),
            "no better than values drawn evenly": self.of_no_use,
        }


def benchmark(
    original: Any,
    methods: Methods,
    schema: Schema | None = None,
    keys: Sequence[str] | None = None,
    targets: Sequence[str] | None = None,
    *,
    replicates: int = 3,
    holdout_share: float = 0.0,
    references: bool = True,
    measures: Sequence[str] | None = None,
    options: Options | None = None,
    seed: Seed = DEFAULT_SEED,
    progress: Progress | None = None,
) -> Benchmark:
    """Make and measure protected files by several methods, each ``replicates`` times: copy r with the seeds of copy r.

    Parameters
    ----------
    original
        A frame of any supported type, or a table.
    methods
        Which methods, with which options (`Methods`). A method that fails is listed with the reason.
    holdout_share
        Share of the rows that no method sees; measures that need or profit from a holdout get it.
    references
        Whether the two references are measured too.
    """
    if replicates < 1:
        raise OptionError("a benchmark makes at least one file per method; give replicates of 1 or more")
    need("holdout_share", holdout_share, Annotated[float, Option(at_least=0, below=1)])
    if not methods:
        raise OptionError("name at least one method; 'dalenius methods' lists them")
    whole = Table.from_frame(original, schema)
    aside = int(holdout_share * whole.rows)
    kept, outside = deal(whole, aside, seed, "benchmark holdout")
    seen, held = whole.take(kept), releasable(whole).take(outside)
    candidates = _candidates(methods)
    for candidate in candidates:
        candidate.check()
    made, costs, failed = _made(seen, {c.name: _maker(c, seed) for c in candidates}, replicates, progress)
    if references:
        plain = {EVEN: _even(seed), ROWS: _maker(Candidate("bootstrap"), seed)}
        made |= _made(seen, plain, replicates, progress)[0]
    if not made:
        raise DataError(f"no method made a file: {'; '.join(f'{n}: {why}' for n, why in failed.items())}")
    comparison = compare(
        releasable(seen), made, None, keys, targets, held if aside else None, measures=measures, options=options,
        progress=progress,
    )  # fmt: skip
    return Benchmark(comparison, costs, failed)


def _candidates(methods: Methods) -> list[Candidate]:
    if not isinstance(methods, Mapping):
        return [m if isinstance(m, Candidate) else Candidate(m) for m in methods]
    return [one for name, facts in methods.items() for one in Candidate.from_mapping(facts, name)]


def _maker(candidate: Candidate, seed: Seed) -> Maker:
    return lambda table, copy: candidate.make(table, seed=seed, first=copy, force=True)


def _even(seed: Seed) -> Maker:
    return lambda table, copy: Made((evenly(releasable(table), sequence(seed, "draw", copy)),), table.rows)


def _made(
    base: Table, makers: Mapping[str, Maker], replicates: int, progress: Progress | None
) -> tuple[dict[str, list[Made]], pl.DataFrame, dict[str, str]]:
    """Files of each method, what they cost, and which methods failed."""
    tables: dict[str, list[Made]] = {}
    rows: list[dict[str, Any]] = []
    failed: dict[str, str] = {}
    for name, make in makers.items():
        for i in range(replicates):
            if progress is not None:
                progress(f"making {name}, {i + 1} of {replicates}")
            cpu = time.process_time()
            try:
                made = make(base, i)
            except DaleniusError as error:
                failed[name] = str(error)
                tables.pop(name, None)
                break
            tables.setdefault(name, []).append(made)
            rows.append(
                {"candidate": name, "file": i + 1, "fit seconds": made.fit_seconds, "sample seconds": made.draw_seconds,
                 "CPU seconds": time.process_time() - cpu}
            )  # fmt: skip
    schema = {"candidate": pl.String, "file": pl.Int64}
    schema |= dict.fromkeys(("fit seconds", "sample seconds", "CPU seconds"), pl.Float64)
    return tables, pl.DataFrame(rows, schema=schema), failed


def evenly(table: Table, seed: Seed = 0) -> Table:
    """Each column drawn alone and evenly from the values that occur in it: not even single columns are kept.

    Examples
    --------
    >>> drawn = evenly(Table.from_frame({"sex": ["f"] * 99 + ["m"]}), seed=1)
    >>> 30 < drawn.to_frame()["sex"].count("m") < 70
    True
    """
    vectors = []
    for name, vector in table.vectors.items():
        codes = vector.categories.codes
        _, first = np.unique(codes, return_index=True)
        rng = generator(seed, "evenly", name)
        vectors.append(vector.take(first[rng.integers(0, len(first), table.rows)]) if table.rows else vector)
    return Table.from_vectors(vectors, table.rows, table.origin, table.schema)


def ablation(
    original: Any,
    recipe: Recipe,
    method: str = "cart",
    schema: Schema | None = None,
    *,
    replicates: int = 3,
    measures: Sequence[str] | None = None,
    seed: Seed = DEFAULT_SEED,
    progress: Progress | None = None,
    **options: Any,
) -> Benchmark:
    """One method on the file as it is, with its codes declared, and cleaned by the whole recipe (Latner et al. 2024).

    All versions are brought back to the columns of the original and scored on the same columns: leaving derived columns
    out of the score would by itself make the cleaned version look better.

    Examples
    --------
    >>> from dalenius.preparation import check
    >>> table = Table.from_frame({"age": list(range(20, 80)) * 2, "group": (["young"] * 30 + ["old"] * 30) * 2})
    >>> found = ablation(table, Recipe.of(check(table), table), "independent", measures=["two-way-utility"])
    >>> scores = dict(found.comparison.table.iter_rows())
    >>> scores["cleaned"] < 5 < scores["raw"]
    True
    """
    table = releasable(Table.from_frame(original, schema))
    there = [step for step in recipe.steps if step.named[0] in table]
    codes = tuple(step for step in there if step.do in ("declare-codes", "read-as-number"))
    versions = {
        "raw": Recipe((), tuple(table.names)),
        "codes declared": Recipe(codes, tuple(table.names)),
        "cleaned": Recipe(tuple(there), tuple(table.names)),
    }
    make = _maker(Candidate(method, options, prepare=False), seed)

    def through(steps: Recipe) -> Maker:
        def clean_make_undo(data: Table, copy: int) -> Made:
            made = make(steps.apply(data), copy)
            return replace(made, tables=(steps.undo(made.table),))

        return clean_make_undo

    makers = {name: through(steps) for name, steps in versions.items()}
    made, costs, failed = _made(_uncoded(table, recipe), makers, replicates, progress)
    if not made:
        raise DataError(f"{method} made no file: {next(iter(failed.values()))}")
    comparison = compare(table, made, None, measures=measures, progress=progress)
    return Benchmark(comparison, costs, failed)


def _uncoded(table: Table, recipe: Recipe) -> Table:
    """The file as a method sees it that was told nothing: codes of the recipe are ordinary numbers."""
    coded = {step.named[0] for step in recipe.steps if step.do == "declare-codes"}
    columns = tuple(
        replace(c, missing=(), not_applicable=(), bounds=None) if c.name in coded else c
        for c in table.schema.columns
    )
    return table.with_schema(replace(table.schema, columns=columns))
