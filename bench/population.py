"""A population of households from EU-SILC 2013 (public-use file of Austria), and samples of it made into populations.

``python bench/population.py FILE.rda [seeds]`` prints CPU seconds and memory of the whole population, then, for samples
of 6,000 households drawn from it by both designs, how far households, mixed ones and the table of region by age by
sex are off (Thees, Novák, Templ 2024, Table 3). The truth was made by the method that is measured, as in the paper.
"""

from __future__ import annotations

import resource
import sys
import time

import polars as pl

from dalenius.data import read
from dalenius.synth.population import HouseholdPopulation, SurveySpec, draw_sample
from dalenius.utility.distances import count_distances

SPEC = SurveySpec("db030", "db040", "rb050", "hsize", ("age", "rb090"))
AGAIN = SurveySpec("household", "db040", "weight", None, ("age", "rb090"))
COLUMNS = ["db030", "db040", "hsize", "age", "rb090", "pl031", "pb220a", "pgrossIncome", "rb050"]


def survey(path: str) -> pl.DataFrame:
    """The file's columns; infants born after the reference date (age -1) are 0."""
    frame = read(path).to_frame("polars").select(COLUMNS)
    return frame.with_columns(pl.col("age").cast(pl.Int64).clip(0), pl.col("hsize").cast(pl.Int64))


def facts(frame: pl.DataFrame) -> tuple[int, int, int]:
    """Households, those of children alone, and those with adults of both sexes."""
    adult = pl.col("age") >= 16
    homes = frame.group_by("household").agg(
        adult.any().alias("adult"), (adult & (pl.col("rb090") == "female")).any().alias("f"),
        (adult & (pl.col("rb090") == "male")).any().alias("m"),
    )  # fmt: skip
    return homes.height, int((~homes["adult"]).sum()), int((homes["f"] & homes["m"]).sum())


def table(frame: pl.DataFrame) -> pl.DataFrame:
    """People by region, five years of age (85 and more together: 322 cells of the survey), and sex."""
    band = (pl.col("age").clip(None, 85) // 5).alias("band")
    return frame.group_by(pl.col("db040").cast(pl.String), band, "rb090").len("n")


def post_stratified(sample: pl.DataFrame, truth: pl.DataFrame) -> pl.DataFrame:
    """Weights that meet region by sex by citizenship; children without one are a category of their own."""
    cells = ["db040", "rb090", "pb220a"]
    wanted = truth.group_by(cells).len("total")
    held = sample.join(wanted, on=cells, how="left", nulls_equal=True, maintain_order="left")
    return held.with_columns(
        weight=pl.col("weight") * pl.col("total") / pl.col("weight").sum().over(cells)
    ).drop("total")


def main() -> None:
    """Print everything."""
    path, seeds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 6
    raw = survey(path)
    start = time.process_time()
    people = HouseholdPopulation.of(raw, SPEC, seed=1).structure()
    first = time.process_time()
    people = people.categorical(["pl031", "pb220a"]).continuous("pgrossIncome")
    used = time.process_time() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"{people.households:,} households, {people.people:,} people: {used:.1f} CPU s, of which structure "
          f"{first - start:.1f}; {memory:.2f} GB")  # fmt: skip
    truth = people.frame().select("household", "db040", "age", "rb090", "pb220a")
    homes, alone, mixed = facts(truth)
    print(f"children alone {alone}, mixed {mixed:,}")
    counted = table(truth)
    for design, size in (("prop", 6000), ("equal", 667 * 9)):
        for seed in range(seeds):
            sample = post_stratified(draw_sample(truth, size, design, strata="db040", seed=seed), truth)
            made = HouseholdPopulation.of(sample, AGAIN, seed=seed).structure().frame()
            n, kids, both = facts(made)
            pair = counted.join(
                table(made), on=["db040", "band", "rb090"], how="full", coalesce=True
            ).fill_null(0)
            far = count_distances(
                pair["n"].to_numpy().astype(float), pair["n_right"].to_numpy().astype(float)
            )
            told = ", ".join(f"{name} {far[name]:.1f}" for name in ("Aitchison", "MAE", "MAPE", "RMSE"))
            print(f"{design} {seed}: n {sample.height:,}, households {n:,} ({100 * (n / homes - 1):+.2f} %), children "
                  f"alone {kids}, mixed {both:,} ({100 * (both / mixed - 1):+.2f} %); {told}")  # fmt: skip


if __name__ == "__main__":
    main()
