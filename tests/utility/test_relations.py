"""Figures across tables: a copy is best and worst, wrong parents and another order are noticed, SDMetrics agrees."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import dalenius
from dalenius import Database, Link
from dalenius.cli import app
from dalenius.core.random import generator
from dalenius.counts.database_pair import DATABASE_MEASURES, DatabasePair
from dalenius.counts.pair import Pair
from dalenius.data import examples
from dalenius.evaluation.databases import evaluate_databases
from dalenius.utility.dependence import dependence_kept, dependence_table
from dalenius.utility.relations import cardinality_kept, quality_report

CODES = {"north": 1, "south": 2, "east": 3, "west": 4}
GOLDEN = Path(__file__).parents[1] / "golden" / "sdmetrics-relations.json"
RISK = [m.info.name for m in DATABASE_MEASURES.values() if m.info.family == "risk"]
SLOW = "family-detection"
UTILITY = [
    m.info.name for m in DATABASE_MEASURES.values() if m.info.family == "utility" and m.info.name != SLOW
]


def clinic(n: int = 500, seed: int = 1) -> Database:
    """Regions, patients in them, visits in order: three levels with relations across all of them."""
    base = examples.visits(n, seed=seed)
    patients = base["patients"].to_frame("polars")
    number = 10 * pl.col("region").replace_strict(CODES, return_dtype=pl.Int64) + pl.col("patient_id") % 10
    patients = patients.with_columns(region_id=number).drop("region")
    codes = np.arange(10, 50)
    regions = pl.DataFrame({
        "region_id": codes, "climate": np.where(codes // 10 % 3 == 1, "wet", "dry"),
        "rain": np.where(codes // 10 % 3 == 1, 900.5, 300.5) + codes % 10,
    })  # fmt: skip
    visits = (
        base["visits"]
        .to_frame("polars")
        .join(patients.select("patient_id", "region_id"), on="patient_id", maintain_order="left")
    )
    visits = visits.with_columns(cost=(pl.col("cost") * (pl.col("region_id") // 10)).round(2)).drop(
        "region_id"
    )
    female = pl.col("patient_id").is_in(patients.filter(pl.col("sex") == "female")["patient_id"].implode())
    visits = visits.with_columns(
        ward=pl.when(female | (pl.col("visit_id") % 5 == 0)).then(pl.lit("a")).otherwise(pl.lit("b"))
    )
    return Database.of(
        {"regions": regions, "patients": patients, "visits": visits},
        {"regions": "region_id", "patients": "patient_id", "visits": "visit_id"},
        [Link("regions", "region_id", "patients", "region_id"), Link("patients", "patient_id", "visits", "patient_id")],
        order=base.order, rules=base.rules,
    )  # fmt: skip


def dealt(base: Database, seed: int = 1) -> Database:
    """Children dealt out to parents at random: every table is as it was but for its keys to others."""
    tables = base.to_frames("polars")
    for link in base.links:
        keys = base[link.parent].to_frame("polars")[link.parent_key]
        rows = tables[link.child].height
        drawn = keys.gather(generator(seed, link.child).integers(0, len(keys), rows))
        tables[link.child] = tables[link.child].with_columns(drawn.alias(link.child_key))
    return Database.of(tables, base.keys, base.links, order=base.order, rules=base.rules)


def reordered(base: Database, seed: int = 1) -> Database:
    """The dates of events dealt out anew."""
    tables = base.to_frames("polars")
    dates = tables["visits"]["date"]
    drawn = dates.gather(generator(seed, "dates").permutation(len(dates)))
    tables["visits"] = tables["visits"].with_columns(drawn.alias("date"))
    return Database.of(tables, base.keys, base.links, order=base.order, rules=base.rules)


@pytest.fixture(scope="module")
def three() -> tuple[Database, Database, Database]:
    return clinic(400, 1), clinic(400, 2), clinic(400, 3)


@pytest.fixture(scope="module")
def figures(three):
    original, fresh, holdout = three
    files = {"copy": original, "fresh": fresh, "dealt": dealt(original), "reordered": reordered(original)}
    return {
        name: evaluate_databases(original, made, holdout, measures=[*RISK, *UTILITY])
        for name, made in files.items()
    }


def test_every_measure_is_taken(figures):
    assert set(figures["copy"].results) == {*RISK, *UTILITY}


@pytest.mark.parametrize("name", RISK)
def test_a_copy_is_worst_on_risk_and_a_fresh_database_is_like_people_outside(figures, name):
    copied, fresh = figures["copy"][name], figures["fresh"][name]
    assert copied.value >= max(f[name].value for f in figures.values())
    assert copied.value > fresh.value
    assert fresh.value <= fresh.outside + 12
    assert copied.trusted


@pytest.mark.parametrize("name", UTILITY)
def test_a_copy_is_best_on_utility(figures, name):
    info = DATABASE_MEASURES[name].info
    found = {file: info.shortfall(f[name].value) for file, f in figures.items()}
    assert found["copy"] <= min(found.values()) + 1e-9


@pytest.mark.parametrize("name", [n for n in UTILITY if DATABASE_MEASURES[n].info.sees_dependence])
def test_wrong_parents_are_noticed_by_every_measure_across_tables(figures, name):
    info = DATABASE_MEASURES[name].info
    whole = 100 if info.unit == "%" else 1
    lost = {file: info.shortfall(found[name].value) / whole for file, found in figures.items()}
    assert lost["dealt"] > 0.1 + lost["fresh"]


@pytest.mark.parametrize("name", ["parent-child", "grandparent-child", "siblings"])
def test_what_is_dealt_out_keeps_nothing_and_other_people_nearly_all(figures, name):
    assert figures["dealt"][name].value < 0.1
    assert figures["fresh"][name].value > 0.9
    assert figures["copy"][name].yardsticks["holdout"] > 0.9


@pytest.mark.parametrize("name", ["siblings", "event-order", "rules-across-tables", "known-events"])
def test_events_in_another_order_are_noticed(figures, name):
    assert figures["reordered"][name].value < 0.9 * figures["copy"][name].value


def test_dependence_that_is_made_up_counts_as_much_as_one_that_is_lost():
    """By hand: R is ±¼ in all four cells of two halves that go together, so |R|² = ¼, and nothing elsewhere."""
    together = {"a": ["x", "y"] * 60, "b": ["u", "v"] * 60}
    apart = {"a": ["x", "y"] * 60, "b": ["u", "u", "v", "v"] * 30}
    half = {"a": ["x", "y"] * 60, "b": ["u", "v"] * 30 + ["u", "u", "v", "v"] * 15}
    for one, other, score in ((together, apart, 0), (apart, together, 0), (together, half, 0.8)):
        table = dependence_table(Pair(one, other), [("a", "b")])
        assert table["score"][0] == pytest.approx(score)  # of a half: 2 · ½ / (1 + ¼)
    assert dependence_kept(dependence_table(Pair(apart, apart), [("a", "b")])) == 1.0


def unrelated(seed: int) -> Database:
    """Homes and people whose columns have nothing to do with each other, but members of a home are alike."""
    rng = np.random.default_rng(seed)
    homes, family = 200, 10
    kind = np.repeat(rng.choice(["a", "b", "c"], homes), family)
    people = {"home_id": np.repeat(np.arange(homes), family), "kind": kind}
    above = {
        "id": np.arange(homes),
        "area": rng.choice(["n", "s", "e"], homes),
        "rank": rng.integers(0, 50, homes),
    }
    return Database.of(
        {"homes": above, "people": people}, {"homes": "id"}, [Link("homes", "id", "people", "home_id")]
    )


@pytest.mark.parametrize("seed", range(2, 8))
def test_what_goes_together_by_chance_alone_is_no_loss(seed):
    """2,000 rows, but only 200 families: rows of one family are no evidence of their own."""
    original, other = unrelated(1), unrelated(seed)
    for made in (other, dealt(original, seed)):
        found = evaluate_databases(original, made, measures=["parent-child"])["parent-child"]
        assert found.value == 1.0
        assert found.sentence.startswith("Nothing goes together")


@pytest.mark.slow
def test_families_are_told_apart_where_they_are_dealt_out(three):
    original, fresh, _ = three
    found = [
        evaluate_databases(original, made, measures=[SLOW])[SLOW].value
        for made in (original, fresh, dealt(original))
    ]
    assert found[0] == 0.5
    assert found[1] < 0.65
    assert found[2] > 0.9


def test_single_tables_notice_neither(three):
    original, *_ = three
    alone = ["column-shapes", "pair-trends"]
    found = evaluate_databases(original, dealt(original), measures=alone)
    for held in found.tables.values():
        for result in held.results.values():
            assert result.value == pytest.approx(1.0), (held.name, result.name)


def test_a_family_stated_twice_changes_nothing(three):
    original, fresh, _ = three
    once = evaluate_databases(original, fresh, measures=RISK)
    tables = fresh.to_frames("polars")
    extra = tables["patients"].with_columns(pl.col("patient_id") + 10_000)
    more = tables["visits"].with_columns(pl.col("patient_id") + 10_000, pl.col("visit_id") + 1_000_000)
    tables["patients"] = pl.concat([tables["patients"], extra])
    tables["visits"] = pl.concat([tables["visits"], more])
    twice = evaluate_databases(
        original, Database.of(tables, fresh.keys, fresh.links, order=fresh.order), measures=RISK
    )
    assert twice["family-copies"].value == once["family-copies"].value
    assert twice["has-child"].value == once["has-child"].value


def test_torn_links_are_told_and_drawn(three):
    original, fresh, _ = three
    tables = fresh.to_frames("polars")
    tables["visits"] = tables["visits"].with_columns(
        patient_id=pl.when(pl.int_range(pl.len()) % 2 == 0).then(10_000_000).otherwise("patient_id")
    )
    torn = Database.of(tables, fresh.keys, fresh.links, orphans="keep")
    found = evaluate_databases(original, torn, measures=["keys-and-orphans"])
    assert found["keys-and-orphans"].value < 100
    assert "torn" in found.picture()


def test_agreement_with_sdmetrics():
    """Figures of SDMetrics 0.32.0 for two seeds of `examples.visits`, made by ``bench/relations_peer.py``."""
    golden = json.loads(GOLDEN.read_text())
    first, second = examples.visits(300, seed=1), examples.visits(300, seed=2)
    pair = DatabasePair(first, second)
    assert cardinality_kept(pair).value == pytest.approx(golden["CardinalityShapeSimilarity"], abs=1e-6)
    found = dict(quality_report(pair).iter_rows())
    for name, value in golden["quality"].items():
        assert found[name] == pytest.approx(value, abs=1e-6, nan_ok=True), name


def test_the_command_line_measures_folders(tmp_path, three):
    original, fresh, _ = three
    original.write(tmp_path / "a")
    fresh.write(tmp_path / "b")
    run = CliRunner().invoke(
        app, ["evaluate", str(tmp_path / "a"), str(tmp_path / "b"), "--measures", "cardinality,siblings", "--json",
              "--report", str(tmp_path / "r.html")],
    )  # fmt: skip
    assert run.exit_code == 0, run.output
    facts = json.loads(run.stdout)
    assert set(facts["results"]) == {"cardinality", "siblings"}
    assert "<svg" in (tmp_path / "r.html").read_text()
    again = dalenius.evaluate(original, fresh, measures=["cardinality"])
    assert again["cardinality"].value == pytest.approx(facts["results"]["cardinality"]["value"])
    assert np.isfinite(again["cardinality"].value)


def test_columns_read_as_other_kinds_are_left_out_of_families_and_stop_nothing():
    """A scale in one file may be a plain number in the other."""
    homes = {"id": list(range(40))}
    first = Database.of(
        {"homes": homes, "people": {"home_id": [i // 2 for i in range(80)], "mood": [1, 2, 3, 4] * 20}}
    )
    second = Database.of(
        {"homes": homes, "people": {"home_id": [i // 2 for i in range(80)], "mood": range(80)}}
    )
    assert first["people"]["mood"].is_number != second["people"]["mood"].is_number
    for one, other in ((first, second), (second, first)):
        families = DatabasePair(one, other).families("homes")
        assert families is not None
        assert not any("mood" in name for name in families.columns)
