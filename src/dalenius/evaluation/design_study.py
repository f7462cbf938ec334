"""Design-based evaluation: a known population, samples by design, every generator, and how far its estimates are off.

Thees, Novák, Templ 2024, sections on the design of the comparison and on syntactical accuracy. A truth that one of the
methods made favours that method: `DesignStudy.caution` says so.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import polars as pl

from dalenius.core.errors import DataError, no_column
from dalenius.core.random import Seed, sequence
from dalenius.data.relations import Database, Link
from dalenius.data.table import Table
from dalenius.synth import Candidate
from dalenius.synth.population import HouseholdPopulation, SurveySpec, draw_sample
from dalenius.synth.population.sampling import Allocation
from dalenius.synth.relational import synthesize_database
from dalenius.utility.distances import count_distances
from dalenius.utility.households import household_counts

Way: TypeAlias = Callable[[pl.DataFrame, SurveySpec, Seed], pl.DataFrame]
"""Makes a file of a sample: its rows with household, strata, basic columns and a column ``weight``."""
DESIGNS: tuple[Allocation, ...] = ("prop", "equal")
OLDEST = 85
"""Ages from here on are one band: with five years each, 322 cells of region by age by sex in the paper's survey."""
CAUTION = (
    "The truth was made by a method that is among those compared, so that it wins partly by construction; test on a "
    "truth made another way before you call it best."
)


def as_population(sample: pl.DataFrame, spec: SurveySpec, seed: Seed) -> pl.DataFrame:
    """A whole population, in the way of simPop."""
    made = HouseholdPopulation.of(sample, spec, seed=seed).structure().frame()
    return made.rename({"household": spec.household_id}).with_columns(weight=pl.lit(1.0))


def as_families(method: str) -> Way:
    """Households and their members as two tables, by a method of several tables."""

    def make(sample: pl.DataFrame, spec: SurveySpec, seed: Seed) -> pl.DataFrame:
        key = spec.household_id
        homes = sample.unique(key, maintain_order=True).select(key, spec.strata, "weight")
        people = sample.drop(spec.strata, "weight")
        base = Database.of(
            {"homes": homes, "people": people}, {"homes": key}, [Link("homes", key, "people", key)]
        )
        made = synthesize_database(base, method, seed=seed)
        return made["people"].to_frame("polars").join(made["homes"].to_frame("polars"), on=key)

    return make


def row_by_row(method: str) -> Way:
    """Rows one by one, household and weight as columns like any other: what a generator that knows no families does."""

    def make(sample: pl.DataFrame, spec: SurveySpec, seed: Seed) -> pl.DataFrame:
        table = Table.from_frame(sample)
        plain = replace(table.schema, columns=tuple(replace(c, roles=()) for c in table.schema))
        made: pl.DataFrame = (
            Candidate(method).make(table.with_schema(plain), seed=seed).table.to_frame("polars")
        )
        return made

    return make


def of_the_sample(sample: pl.DataFrame, spec: SurveySpec, seed: Seed) -> pl.DataFrame:
    """The calibrated sample itself: what estimates are like before anything is synthesized."""
    return sample


WAYS: Mapping[str, Way] = {
    "the sample itself": of_the_sample,
    "population": as_population,
    "conditional": as_families("conditional"),
    "cart": row_by_row("cart"),
    "parametric": row_by_row("parametric"),
    "independent": row_by_row("independent"),
}


@dataclass(frozen=True, eq=False)
class DesignStudy:
    """What came of a study: a row for each way, design and repeat.

    Attributes
    ----------
    rows
        Households in the file and in the population by its weights, those of children alone, those with adults of both
        sexes, their differences from the truth, and distances of the table of strata by age by sex.
    """

    truth: Mapping[str, float]
    rows: pl.DataFrame
    caution: str = CAUTION

    @property
    def table(self) -> pl.DataFrame:
        """Mean over repeats of every figure, and the spread of the estimated households."""
        figures = [c for c in self.rows.columns if c not in ("way", "design", "repeat")]
        return self.rows.group_by("way", "design", maintain_order=True).agg(
            pl.col(figures).mean(), pl.col("N households").std().alias("spread of N households")
        )


def design_study(
    truth: pl.DataFrame, spec: SurveySpec, ways: Mapping[str, Way] | None = None, *,
    designs: Sequence[Allocation] = DESIGNS, households: int = 6000, repeats: int = 1,
    cells: Sequence[str] | None = None,
    sex: str | None = None, seed: int = 0,
) -> DesignStudy:  # fmt: skip
    """Draw samples of a known population, calibrate them, make each of them anew by every way, compare with the truth.

    Parameters
    ----------
    truth
        One row a person: household, stratum and basic columns as ``spec`` names them, and those of ``cells``.
    ways
        Name and function; default: `WAYS`.
    cells
        Columns whose cross table weights are calibrated to (a gap is a category); default: strata and sex.
    sex
        Column of sexes; default: the basic column that is not the age.

    Examples
    --------
    >>> from dalenius.data import examples
    >>> people = examples.population(3000, seed=1).select("household_id", "region", "age", "sex")
    >>> spec = SurveySpec("household_id", "region", "weight", None, ("age", "sex"))
    >>> found = design_study(people, spec, {"population": as_population}, designs=["prop"], households=400)
    >>> found.rows["children alone"].to_list()
    [0]
    """
    sex = sex or next(name for name in spec.basic_vars if name != spec.age)
    crossed = list(cells or (spec.strata, sex))
    wanted = [spec.household_id, spec.strata, *spec.basic_vars, *crossed]
    absent = [name for name in wanted if name not in truth.columns]
    if absent:
        raise DataError(f"truth: {no_column(absent, truth.columns)}")
    known = truth.select(list(dict.fromkeys(wanted)))
    right = _figures(known.with_columns(weight=pl.lit(1.0)), spec, sex)
    counted = _table(known.with_columns(weight=pl.lit(1.0)), spec, sex)
    rows = []
    for design in designs:
        for repeat in range(repeats):
            mine = sequence(seed, design, repeat)
            drawn = draw_sample(
                known, households, design, household=spec.household_id, strata=spec.strata, seed=mine
            )
            sample = post_stratified(drawn, known, crossed)
            for name, way in (ways or WAYS).items():
                made = way(sample, replace(spec, weight="weight", household_size=None), sequence(mine, name))
                rows.append({
                    "way": name, "design": design, "repeat": repeat, "people": sample.height,
                    **_beside(_figures(made, spec, sex), right), **_distances(_table(made, spec, sex), counted),
                })  # fmt: skip
    return DesignStudy(right, pl.DataFrame(rows))


def post_stratified(sample: pl.DataFrame, truth: pl.DataFrame, cells: Sequence[str]) -> pl.DataFrame:
    """The sample with weights that meet a cross table of the truth; a cell without anybody in the sample is an error.

    Examples
    --------
    >>> truth = pl.DataFrame({"sex": ["f", "f", "f", "m"]})
    >>> post_stratified(pl.DataFrame({"sex": ["f", "m"], "weight": [1.0, 1.0]}), truth, ["sex"])["weight"].to_list()
    [3.0, 1.0]
    """
    wanted = truth.group_by(cells).len("total")
    empty = wanted.join(sample, on=list(cells), how="anti", nulls_equal=True)
    if empty.height:
        raise DataError(
            f"calibration: {empty.height} of {wanted.height} cells of {', '.join(cells)} have nobody in the sample; "
            "draw more households, or calibrate to fewer columns"
        )
    held = sample.join(wanted, on=list(cells), how="left", nulls_equal=True, maintain_order="left")
    share = pl.col("total") / pl.col("weight").sum().over(list(cells))
    return held.with_columns(weight=pl.col("weight") * share).drop("total")


def _figures(frame: pl.DataFrame, spec: SurveySpec, sex: str) -> dict[str, float]:
    counts = household_counts(Table.from_frame(frame), spec.household_id, spec.age, sex, "weight")
    return {
        "households": counts.count, "N households": counts.estimated, "children alone": counts.children_only,
        "N children alone": counts.children_only_estimated, "mixed": counts.mixed, "N mixed": counts.mixed_estimated,
    }  # fmt: skip


def _beside(estimated: Mapping[str, float], right: Mapping[str, float]) -> dict[str, float]:
    """Figures with what the paper prints beside them: absolute differences of estimates."""
    return {**estimated, **{f"off {n}": abs(estimated[n] - right[n]) for n in ("N households", "N mixed")}}


def _table(frame: pl.DataFrame, spec: SurveySpec, sex: str) -> pl.DataFrame:
    age = pl.col(str(spec.age)).cast(pl.Float64, strict=False).clip(0, OLDEST)
    places = pl.col(spec.strata).cast(pl.String).alias("stratum"), pl.col(sex).cast(pl.String).alias("sex")
    return frame.group_by(*places, (age // 5).alias("band")).agg(
        pl.col("weight").cast(pl.Float64).sum().alias("n")
    )


def _distances(estimated: pl.DataFrame, right: pl.DataFrame) -> dict[str, float]:
    both = right.join(
        estimated, on=["stratum", "band", "sex"], how="full", coalesce=True, suffix="_made"
    ).fill_null(0)
    far = count_distances(
        both["n"].to_numpy().astype(np.float64), both["n_made"].to_numpy().astype(np.float64)
    )
    return {name: far[name] for name in ("Aitchison", "MAE", "MAPE", "RMSE")}
