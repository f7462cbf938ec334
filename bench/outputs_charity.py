"""Example A of the specification of statbarns, on the charity data of acro: ``python bench/outputs_charity.py FILE``.

The file (``test_data.dta``, 918 × 44) lies in the repository AI-SDC/ACRO under ``data/``; it is not on PyPI.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd

from dalenius.outputs import Desk


def main(path: Path) -> None:
    data = pd.read_stata(path)
    desk = Desk({"zeros": False, "full_cells": False, "differencing": False})
    counts = desk.table(data, ["year", "grant_type"])
    print(f"1. frequencies: {counts.status}, {int(counts.flagged.sum())} cells marked (6 wanted)")
    mean = desk.table(data, ["year", "grant_type"], "inc_grants", "mean")
    few = next(f for f in mean.judged.findings if f.check == "min_threshold")
    print(f"3. mean of inc_grants: threshold marks {int(few.flagged.sum())} cells (7 wanted)")
    evidence = mean.judged.evidence
    shares = evidence.largest_sum(2) / evidence.total
    ratio = (evidence.total - evidence.largest_sum(2)) / evidence.largest_sum(1)
    for i, (year, kind) in enumerate(evidence.cells.iter_rows()):
        if (year[:4], kind) in {
            ("2010", "G"),
            ("2010", "R"),
            ("2010", "R/G"),
            ("2014", "G"),
            ("2011", "R/G"),
            ("2015", "G"),
        }:
            print(
                f"   {year[:4]} {kind:<4} top 2 {shares[i]:.6f}, p ratio {ratio[i]:.6f}, n {evidence.number[i]}"
            )
    kept = data[["inc_activity", "inc_grants", "inc_donations", "total_costs"]].dropna()
    desk.smf.ols("inc_activity ~ inc_grants + inc_donations + total_costs", kept).fit()
    print(
        f"4. OLS: {desk.last.status}, {desk.last.judged.evidence.facts['dof']:.0f} degrees of freedom (807 wanted)"
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
