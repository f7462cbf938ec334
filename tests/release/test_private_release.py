"""The public side of a release with a privacy budget: what was paid for or is in the file, and nothing else."""

from __future__ import annotations

import re
import shutil

import numpy as np
import polars as pl
import pytest

from dalenius.core.errors import SchemaError
from dalenius.data import Column, Kind, Schema, read
from dalenius.dp import ledger_path, open_ledger
from dalenius.release import forecast, read_plan, run_plan, verify_pack, write_pack
from dalenius.release.run import work_folder

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


def released(
    folder, candidates: str = "mst: {epsilon: 0.1}", more: str = "", rows: int = 1500, extra: tuple = ()
):
    folder.mkdir(exist_ok=True)
    counts = {"north": 907, "south": 527, "west": 66}
    regions = [name for name, times in counts.items() for _ in range(times)][:rows]
    rng = np.random.default_rng(5)
    people = {
        "region": regions,
        "ill": rng.choice(["no", "yes"], len(regions), p=[0.83, 0.17]).tolist(),
        "age": rng.integers(18, 90, len(regions)).tolist(),
    }
    if extra:
        people = {
            name: [*map(str, held), value] for (name, held), value in zip(people.items(), extra, strict=True)
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
        body = re.sub(r"[0-9a-f]{16,}", "", body)  # hashes, in which any three digits may stand
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


TWO = "weak: {method: saturated, epsilon: 0.02}, strong: {method: saturated, epsilon: 4.0}"


def test_a_private_choice_is_paid_for_once_and_told_on_the_first_screen(tmp_path):
    ledger = ledger_path(tmp_path / "people.csv")
    open_ledger(ledger, epsilon=20.0)
    folder = released(tmp_path, TWO, "choice_epsilon: 2.0\n")
    first = (folder / "public" / "report.md").read_text().split("##")[0]
    assert "chosen among 2 by a private choice, which cost ε = 2 on top" in first
    assert "was not private" not in first
    assert "fell on 'strong'" in (folder / "internal" / "results.json").read_text()
    spent = [(s.what.split(":")[0], s.epsilon) for s in open_ledger(ledger).spends]
    assert spent == [("saturated", 0.02), ("saturated", 4.0), ("choice among 2 files", 2.0)]
    run_plan(read_plan(tmp_path / "plan.yaml"), workers=1)
    assert len(open_ledger(ledger).spends) == 3, "nothing is drawn or paid a second time"


def test_a_private_choice_needs_budgets_on_all_sides(tmp_path):
    for candidates, more, fault in (
        ("mst: {}, cart: {}", "", "'cart' has no privacy budget"),
        ("mst: {}, aim: {neighbours: replace}", "", "must protect the same"),
        ("mst: {}, aim: {}", "choose: two-way-utility\n", "leave choose out"),
    ):
        with pytest.raises(SchemaError, match=fault):
            released(tmp_path, candidates, f"choice_epsilon: 1\n{more}")


def test_whoever_verifies_spends_nothing(tmp_path):
    ledger = ledger_path(tmp_path / "people.csv")
    open_ledger(ledger, epsilon=20.0)
    folder = released(tmp_path, "saturated: {epsilon: 1.0}", "evaluation_epsilon: 0.5\n")
    before = ledger.read_bytes()
    for _ in range(2):
        assert verify_pack(folder).faults == []
    shutil.rmtree(work_folder(read_plan(tmp_path / "plan.yaml")))
    assert verify_pack(folder).faults == []
    assert ledger.read_bytes() == before


def test_a_forecast_spends_nothing(tmp_path):
    ledger = ledger_path(tmp_path / "people.csv")
    open_ledger(ledger, epsilon=20.0)
    released(tmp_path, f"saturated: {{epsilon: 1.0, ledger: {ledger}}}")
    before = ledger.read_bytes()
    forecast(read_plan(tmp_path / "plan.yaml"))
    assert ledger.read_bytes() == before


@pytest.mark.parametrize(
    "candidates", ["saturated: {epsilon: 1.0}", "loglinear: {epsilon: 1.0}", "poisson: {alpha: 0.5}"]
)
def test_public_reports_of_neighbouring_files_say_the_same(tmp_path, candidates):
    """One person more, who says things outside of every domain, changes no word (the codebook describes the file)."""
    texts = []
    for name, extra in (("without", ()), ("with", ("kanarie", "perhaps", "-8"))):
        pack = released(tmp_path / name, candidates, "evaluation_epsilon: 0.5\n", rows=600, extra=extra)
        texts.append(
            {file: steady((pack / "public" / file).read_text()) for file in ("report.md", "limits.md")}
        )
        book = (pack / "public" / "codebook.json").read_text()
        assert "kanarie" not in book + "".join(texts[-1].values())
    assert texts[0] == texts[1]


def steady(text: str) -> str:
    """A text without its numbers, and without sentences that follow from noisy tables."""
    kept = [line for line in text.splitlines() if "settle" not in line and "contradict" not in line]
    return re.sub(r"-?\d[\d,.]*(e-?\d+)?", "#", "\n".join(kept))
