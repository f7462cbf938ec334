"""Wall time of a release by stage, and the share of the orchestration: ``python bench/release.py [rows]``."""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from dalenius.data import examples, read
from dalenius.release import Plan, forecast, read_plan, run_plan, template, verify_pack, write_pack
from dalenius.release.jobs import job_path

T = TypeVar("T")

COLUMNS = [
    "region",
    "sex",
    "age",
    "marital",
    "education",
    "income",
    "health",
    "smoker",
    "diagnosis",
    "life_satisfaction",
]


def planned(folder: Path, rows: int) -> Plan:
    """The plan `dalenius plan` writes for an example survey, with a policy that lets every candidate through."""
    examples.survey(rows, seed=1).select(COLUMNS).write_csv(folder / "people.csv")
    keys, targets = ["sex", "age", "region"], ["diagnosis", "income"]
    table = read(folder / "people.csv")
    text = template(folder / "people.csv", table, keys=keys, targets=targets, policy=["repU <= 100 %"])
    (folder / "plan.yaml").write_text(text)
    return read_plan(folder / "plan.yaml")


def timed(work: Callable[[], T]) -> tuple[T, float]:
    started = time.perf_counter()
    found = work()
    return found, time.perf_counter() - started


def main(rows: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        plan = planned(folder, rows)
        run_plan(plan, workers=1)  # compiles
        shutil.rmtree(folder / ".release-work")
        costs, asked = timed(lambda: forecast(plan))
        release, ran = timed(lambda: run_plan(plan, workers=1))
        _, packed = timed(lambda: write_pack(release))
        found, verified = timed(lambda: verify_pack(plan.output))
        jobs = [(c, r) for c in plan.candidates for r in range(plan.replicates)]
        spent = {
            (c.name, r): json.loads(job_path(release.work, c, r).with_suffix(".time").read_text())
            for c, r in jobs
        }
    made, measured = (sum(stage[part] for stage in spent.values()) for part in ("make", "measure"))
    print(f"{rows:,} rows, {len(plan.candidates)} candidates × {plan.replicates}; wall seconds, one process")
    stages = {
        "make": made,
        "measure": measured,
        "whole run": ran,
        "pack": packed,
        "verify": verified,
        "forecast": asked,
    }
    for name, seconds in stages.items():
        print(f"  {name:<16} {seconds:8.2f}")
    share = 100 * max(ran - made - measured, 0) / ran
    print(f"  orchestration    {share:8.1f} % of the run; verified: {found.accepted}")
    print("  forecast against what it took, by candidate (CPU seconds forecast, wall seconds taken):")
    for name, cost in costs.items():
        took = sum(sum(stage.values()) for (held, _), stage in spent.items() if held == name)
        print(f"    {name:<14} {cost.total.seconds:8.2f} {took:8.2f}   ratio {cost.total.seconds / took:.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
