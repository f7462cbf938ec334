"""What acro takes for one table, and what it says of outputs that should not leave; run by its own Python."""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
import time
import warnings

import numpy as np
import pandas as pd
from acro import ACRO

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)


def frame(rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "region": rng.integers(0, 16, rows).astype(str),
            "industry": rng.integers(0, 40, rows).astype(str),
            "income": rng.lognormal(10, 1, rows),
        }
    )


def speed(rows: int) -> dict[str, float]:
    data, session = frame(rows), ACRO(suppress=False)
    start = time.process_time()
    pd.crosstab(data.region, data.industry, values=data.income, aggfunc="mean")
    plain = time.process_time() - start
    start = time.process_time()
    session.crosstab(data.region, data.industry, values=data.income, aggfunc="mean")
    return {"pandas": plain, "acro": time.process_time() - start}


def crossed(session: ACRO, data: pd.DataFrame, **how: object) -> tuple[pd.DataFrame, str]:
    """A table of the columns g and c, and what acro says of it."""
    values = {"values": data.v} if "aggfunc" in how else {}
    shown = session.crosstab(data.g, data.c, **values, **how)
    return shown, list(session.results.results.values())[-1].status


def faults() -> dict[str, str]:
    """Acro's answer to each case; the data are those of `faulty` in outputs.py."""
    data = {name: pd.DataFrame(json.loads(text)) for name, text in json.load(sys.stdin).items()}
    said = {}
    plain, hiding, rounding = ACRO(suppress=False), ACRO(suppress=True), ACRO(mitigation="round")
    said["mean over 3 values"] = crossed(plain, data["few"], aggfunc="mean")[1]
    for how in ("mean", "median", "max", "mode"):
        said[f"equal values, {how}"] = crossed(plain, data["same"], aggfunc=how)[1]
    said["maximum of 10"] = crossed(plain, data["ten"], aggfunc="max")[1]
    plain.olsr("v ~ g*c", data["model"])
    said["saturated OLS"] = list(plain.results.results.values())[-1].status
    crossed(plain, data["whole"])
    said["one person fewer"] = crossed(plain, data["less"])[1]
    plain.config["zeros_are_disclosive"] = False
    said["zeros said to be harmless"] = crossed(plain, data["zeros"])[1]
    plain.config["zeros_are_disclosive"] = True
    said["an impossible cell that is filled"] = crossed(plain, data["impossible"])[1]
    said["a total of zeros"] = crossed(plain, data["nothing"], aggfunc="sum")[1]
    shown = crossed(hiding, data["deviations"], aggfunc="std")[0]
    said["deviations, one of two cells small"] = f"{int(shown.isna().sum().sum())} of 2 taken out"
    first = crossed(hiding, data["margins"], margins=True)[0]
    second = crossed(hiding, data["margins"].assign(c="all"), margins=True)
    gap = second[0].loc["a", "All"] - first.loc["a", "All"]
    said["suppressed, then its total"] = f"{second[1]}; {gap:g} people by subtraction"
    shown = crossed(hiding, data["empty"])[0]
    said["an empty cell beside a small one"] = f"{int(shown.isna().sum().sum())} cells missing"
    said["a count of 5, rounded"] = (
        f"shown as {crossed(rounding, data['margins'], margins=True)[0].loc['a', 'x']:g}"
    )
    shown = crossed(rounding, data["drift"], margins=True)[0]
    said["total of 120 people, rounded"] = f"{shown.loc['All', 'All']:g}"
    return said | survival(data["survival"], data["steps"])


def survival(small: pd.DataFrame, steps: pd.DataFrame) -> dict[str, str]:
    session = ACRO(suppress=True)
    shown = session.surv_func(small.time, small.event, output="table")
    curve = shown["rounded_survival_fun"]
    told = f"{curve.loc[16]:.6f} at 16 (true {shown.loc[16, 'Surv prob']:.6f}), beside {shown.shape[1] - 1} columns"
    session = ACRO(suppress=False)
    session.surv_func(steps.time, steps.event, output="table")
    large = list(session.results.results.values())[-1].status
    return {"survival, merged": told, "survival with 20 exits a step": large}


def names() -> dict[str, str]:
    """Names of all analyses in the wheel, with its own statbarns."""
    import acro

    with open(os.path.join(os.path.dirname(acro.__file__), "analyses.json"), encoding="utf-8") as stream:
        return {name: entry["statbarn"] for name, entry in json.load(stream).items()}


if __name__ == "__main__":
    os.chdir(tempfile.mkdtemp())
    ways = {"faults": faults, "names": names}
    found = ways[sys.argv[1]]() if sys.argv[1] in ways else speed(int(sys.argv[1]))
    print(json.dumps(found))
