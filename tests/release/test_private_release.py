"""The public side of a release with a privacy budget: what was paid for or is in the file, and nothing else."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest

from dalenius.data import Column, Kind, Schema, read
from dalenius.dp import ledger_path, open_ledger
from dalenius.release import read_plan, run_plan, write_pack

SCHEMA = Schema(
    (
        Column("region", Kind.CATEGORICAL, levels=("north", "south", "west")),
        Column("ill", Kind.CATEGORICAL, levels=("no", "yes")),
        Column("age", Kind.INTEGER, bounds=(0, 99)),
    )
).declare()
PLAN = """\
input: people.csv
schema: schema.yaml
holdout_share: 0
scenarios: {neighbour: {keys: [region, age], targets: [ill]}}
candidates: {CANDIDATES}
measures: [replicated-uniques, two-way-utility]
policy: [repU <= 100 %]
output: out
"""


def released(folder, candidates: str = "mst: {epsilon: 0.1}", more: str = "", rows: int = 1500):
    folder.mkdir(exist_ok=True)
    counts = {"north": 907, "south": 527, "west": 66}
    regions = [name for name, times in counts.items() for _ in range(times)][:rows]
    rng = np.random.default_rng(5)
    people = {
        "region": regions,
        "ill": rng.choice(["no", "yes"], len(regions), p=[0.83, 0.17]).tolist(),
        "age": rng.integers(18, 90, len(regions)).tolist(),
    }
    pl.DataFrame(people).write_csv(folder / "people.csv")
    SCHEMA.to_yaml(folder / "schema.yaml")
    (folder / "plan.yaml").write_text(PLAN.replace("CANDIDATES", candidates) + more)
    return write_pack(run_plan(read_plan(folder / "plan.yaml"), workers=1))


@pytest.fixture(scope="module")
def pack(tmp_path_factory):
    folder = tmp_path_factory.mktemp("private")
    open_ledger(ledger_path(folder / "people.csv"), epsilon=1.0, delta=1e-6)
    return released(folder, more="evaluation_epsilon: 0.2\n")


def public_texts(pack) -> dict[str, str]:
    return {
        p.name: p.read_text() for p in (pack / "public").iterdir() if p.suffix in (".html", ".md", ".json")
    }


def test_no_margin_and_no_count_of_the_original_is_public(pack):
    """Exact shares (907, 527 and 66 of 1,500) stood beside a promise that one person hardly changes anything."""
    made = read(next((pack / "public").glob("*.csv")))
    own = {str(made.rows), f"{made.rows:,}"}
    secrets = {"0.60467", "0.604", "60.467", "0.35133", "35.13", "0.044", "907", "527", "1,500", "1500"} - own
    for name, text in public_texts(pack).items():
        body = re.sub(r"<script.*?</script>", "", text, flags=re.S) if name.endswith("html") else text
        for secret in secrets:
            assert not re.search(rf"(?<![\d.,]){re.escape(secret)}(?![\d])", body), (name, secret)


def test_risk_and_utility_against_the_original_stay_inside(pack):
    inside = (pack / "internal" / "report.md").read_text()
    for title in ("Replicated uniques", "two-way"):
        assert title.lower() in inside.lower()
    for name, text in public_texts(pack).items():
        if name in ("report.md", "report.json"):
            assert "replicated uniques" not in text.lower()
            assert "holdout" not in text.lower()


def test_the_first_screen_says_that_the_choice_was_not_private(pack):
    text = (pack / "public" / "report.md").read_text()
    assert "The choice of this file was not private" in text.split("##")[0]


def test_utility_that_was_paid_for_stands_with_its_error(pack):
    text = (pack / "public" / "report.md").read_text()
    assert len(re.findall(r"of the records lie in another cell .*within ±.* paid with ε = 0.1", text)) == 2
    ledger = open_ledger(ledger_path(pack.parent / "people.csv"))
    assert [s.what.split(":")[0] for s in ledger.spends] == ["mst", "utility"]
    assert ledger.spent == pytest.approx(0.3)


def test_without_a_budget_for_it_utility_is_not_told(tmp_path):
    text = (released(tmp_path / "a") / "public" / "report.md").read_text()
    assert "no part of the privacy budget was spent on that" in text
    assert "another cell" not in text
