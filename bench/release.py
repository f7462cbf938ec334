"""Wall time of a release by stage, and the share of the orchestration: ``python bench/release.py [rows]``."""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

from dalenius.data import examples, read_table
from dalenius.release import read_plan, run_plan, template, verify_pack, write_pack

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


def main(rows: int) -> None:
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        examples.survey(rows, seed=1).select(COLUMNS).write_csv(folder / "people.csv")
        keys, targets = ["sex", "age", "region"], ["diagnosis", "income"]
        text = template(folder / "people.csv", read_table(folder / "people.csv"), keys=keys, targets=targets,
                        policy=["repU <= 100 %"])  # fmt: skip
        (folder / "plan.yaml").write_text(text)
        plan = read_plan(folder / "plan.yaml")
        warm = read_plan(folder / "plan.yaml")
        run_plan(warm, workers=1)  # compiles
        for path in (folder / ".release-work").rglob("*.*"):
            path.unlink()
        started = time.perf_counter()
        release = run_plan(plan, workers=1)
        ran = time.perf_counter() - started
        started = time.perf_counter()
        write_pack(release)
        packed = time.perf_counter() - started
        started = time.perf_counter()
        accepted = verify_pack(plan.output).accepted
        verified = time.perf_counter() - started
        stages = [json.loads(p.read_text()) for p in release.work.glob("*.time")]
    made, measured = (sum(stage[part] for stage in stages) for part in ("make", "measure"))
    print(f"{rows:,} rows, {len(plan.candidates)} candidates × {plan.replicates}; wall seconds, one process")
    for name, seconds in (
        ("make", made),
        ("measure", measured),
        ("whole run", ran),
        ("pack", packed),
        ("verify", verified),
    ):
        print(f"  {name:<16} {seconds:8.2f}")
    print(
        f"  orchestration    {100 * max(ran - made - measured, 0) / ran:8.1f} % of the run; verified: {accepted}"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 2000)
