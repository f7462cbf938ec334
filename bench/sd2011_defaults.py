"""SD2011 with nothing but defaults: what holds in every row, what is held by one person, and two-way utility.

python bench/sd2011_defaults.py sd2011.csv
"""

from __future__ import annotations

import sys

import numpy as np
import polars as pl

from dalenius.data import read
from dalenius.evaluation import evaluate
from dalenius.synth import Candidate


def main() -> None:
    table = read(sys.argv[1])
    original = table.to_frame("polars")
    made = {prepare: Candidate("cart", prepare=prepare).make(table).table for prepare in (True, False)}
    frame = made[True].to_frame("polars")
    whole = frame.drop_nulls(["height", "weight"])
    wrong = (whole["bmi"] - whole["weight"] / (whole["height"] / 100) ** 2).abs() > 1e-6
    print("rows whose BMI is not weight / height²:", int(wrong.sum()))
    cuts = original.group_by("agegr").agg(pl.col("age").min().alias("low"), pl.col("age").max().alias("high"))
    inside = frame.join(cuts, "agegr").filter(~pl.col("age").is_between(pl.col("low"), pl.col("high")))
    print("rows outside their age group:", inside.height)
    print(
        "rows that break smoke = NO -> nociga = -8:",
        frame.filter((pl.col("smoke") == "NO") & (pl.col("nociga") != -8)).height,
    )
    lone = 0
    for name in frame.columns:
        if frame[name].dtype == pl.String:
            once = original[name].drop_nulls().value_counts().filter(pl.col("count") == 1)[name]
            lone += int(frame[name].is_in(once.to_list()).sum())
    print("cells with a text that one person has:", lone)
    figures = [
        evaluate(table, one, measures=["two-way-utility"])["two-way-utility"].value for one in made.values()
    ]
    print("mean two-way S_pMSE, default and plain cart:", np.round(figures, 3))


if __name__ == "__main__":
    main()
