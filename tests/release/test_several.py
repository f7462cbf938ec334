"""A folder of tables from plan to verified pack: made, measured by every intruder, drawn, packed and made again."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from dalenius import Database
from dalenius.cli import app
from dalenius.core.errors import DaleniusError
from dalenius.data import examples
from dalenius.release import read_plan, run_plan, verify_pack, write_pack
from dalenius.release.several import bases, job_tables, seen_by
from dalenius.release.template_tables import database_template

PLAN = """
title: Clinic
input: clinic
scenarios:
  nurse: {keys: [patients.sex, patients.region, visits.reason], targets: [visits.cost]}
  neighbour: {keys: [patients.sex, patients.region], targets: [patients.died]}
candidates:
  smooth: {method: conditional, minbucket: 20, options: {minbucket: 20, smoothing: density}}
  hma: {}
measures: [replicated-uniques, two-way-utility, cardinality, parent-child]
policy: [identical-matches added <= 5 points, family-copies added <= 5 points, keys-and-orphans >= 100 %, dcr <= 90 %]
replicates: 1
formats: [csv, parquet]
output: release
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("several")
    tables = examples.visits(500, seed=1).to_frames("polars")
    where = pl.int_range(pl.len()) == 11  # in every table something that nobody else has
    tables["patients"] = tables["patients"].with_columns(
        region=pl.when(where).then(pl.lit("kanarie")).otherwise("region"),
        born=pl.when(where).then(pl.date(1791, 3, 4)).otherwise("born"),
    )
    tables["visits"] = tables["visits"].with_columns(
        reason=pl.when(where).then(pl.lit("kanarie")).otherwise("reason"),
        visit_id=pl.when(where).then(pl.lit(77_123_456_789)).otherwise("visit_id"),
    )
    plain = examples.visits(10)
    Database.of(tables, plain.keys, plain.links, order=plain.order, rules=plain.rules).write(
        folder / "clinic"
    )
    (folder / "plan.yaml").write_text(PLAN)
    return folder


@pytest.fixture(scope="module")
def release(place):
    found = run_plan(read_plan(place / "plan.yaml"), workers=1)
    write_pack(found)
    return found


def test_everybody_of_a_family_is_set_aside_together(release):
    base, held = bases(release.plan)
    assert held is not None
    assert (base["patients"].rows, held["patients"].rows) == (400, 100)
    for side in (base, held):
        assert (side.places(side.links[0]) >= 0).all()
    keys = [set(side["patients"].to_frame("polars")["patient_id"]) for side in (base, held)]
    assert not keys[0] & keys[1]


def test_every_intruder_sees_his_own_table_and_figures_across_stand_with_the_first(release):
    chosen = release.chosen
    assert {"cardinality", "parent-child", "family-copies"} <= set(chosen.figures["nurse"])
    assert "cardinality" not in chosen.figures["neighbour"]
    assert {f.scenario for f in chosen.findings if f.rule.measure == "dcr"} == {"nurse", "neighbour"}
    assert {f.scenario for f in chosen.findings if f.rule.measure == "family-copies"} == {"nurse"}
    assert chosen.figures["nurse"]["dcr"].value != chosen.figures["neighbour"]["dcr"].value


def test_the_pack_holds_the_tables_with_what_holds_them_together(release, place):
    public = place / "release" / "public"
    tables = {f"{n}.synthetic.{e}" for n in ("patients", "visits") for e in ("csv", "parquet")}
    assert tables | {"database.yaml", "schema.sql", "codebook.json"} <= {p.name for p in public.iterdir()}
    assert set(json.loads((public / "codebook.json").read_text())["tables"]) == {"patients", "visits"}
    visits, patients = (pl.read_csv(public / f"{n}.synthetic.csv") for n in ("visits", "patients"))
    assert set(visits["patient_id"]) <= set(patients["patient_id"])
    real = seen_by(bases(release.plan)[0], release.plan.scenarios[1])
    assert patients.height == real.rows
    for where in ("public", "internal"):
        page = (place / "release" / where / "report.html").read_text()
        assert 'class="tables"' in page
        assert "visits (" in page
    inside, outside = ((place / "release" / w / "report.html").read_text() for w in ("internal", "public"))
    assert "500 rows, 400 rows made" in inside
    assert "500 rows" not in outside


def test_canaries_of_every_table_stay_inside(release, place):
    public = "".join(p.read_text(errors="ignore") for p in (place / "release" / "public").iterdir())
    for word in ("kanarie", "1791-03-04", "77123456789", "77,123,456,789", "note:", "rows hold"):
        assert word not in public, word
    assert "kanarie" in (place / "clinic" / "patients.csv").read_text()


def test_a_pack_verifies_and_comes_out_again(release, place):
    found = verify_pack(place / "release")
    assert found.accepted, found.faults
    assert "public/visits.synthetic.csv" in found.remade
    assert not [n for n in found.not_remade if n.endswith(".csv") or "report" in n]


def test_a_pack_verifies_where_the_work_folder_is_gone(release, place, tmp_path):
    for name in ("clinic", "release"):
        shutil.copytree(place / name, tmp_path / name)
    shutil.copy(place / "plan.yaml", tmp_path / "plan.yaml")
    found = verify_pack(tmp_path / "release")
    assert found.accepted, found.faults
    assert "public/report.html" in found.remade


@pytest.mark.parametrize("kind", ["swap", "input", "extra", "copy"])
def test_tampering_with_one_table_is_noticed(release, place, tmp_path, kind):
    for name in ("clinic", "release"):
        shutil.copytree(place / name, tmp_path / name)
    shutil.copy(place / "plan.yaml", tmp_path / "plan.yaml")
    public = tmp_path / "release" / "public"
    if kind == "swap":  # children dealt out to other parents: each table by itself is as it was
        frame = pl.read_csv(public / "visits.synthetic.csv", infer_schema=False)
        frame.with_columns(pl.col("patient_id").reverse()).write_csv(public / "visits.synthetic.csv")
        word = "visits.synthetic.csv was changed"
    elif kind == "input":
        file = tmp_path / "clinic" / "visits.csv"
        file.write_text(
            file.read_text() + "\n".join(file.read_text().splitlines()[-1:]).replace(",", ",") + "\n"
        )
        word = "input"
    elif kind == "extra":
        shutil.copy(tmp_path / "clinic" / "visits.csv", public / "more.synthetic.csv")
        word = "more.synthetic.csv is not in the manifest"
    else:
        shutil.copy(public / "patients.synthetic.parquet", public / "visits.synthetic.parquet")
        word = "visits.synthetic.parquet was changed"
    found = verify_pack(tmp_path / "release", tmp_path / "plan.yaml")
    assert not found.accepted
    assert any(word in fault for fault in found.faults), found.faults


def test_all_faults_of_a_plan_are_told_at_once(place):
    (place / "wrong.yaml").write_text(
        "input: clinic\nscenarios: {a: {keys: [sex], targets: [visits.cost]}}\n"
        "candidates: {cart: {}, join: {}, deep: {method: conditional, base: mst}}\n"
        "choose: cardinal\nevaluation_epsilon: 1\noutput: clinic/out\n"
    )
    with pytest.raises(DaleniusError) as told:
        read_plan(place / "wrong.yaml")
    text = str(told.value)
    for word in (
        "no column 'sex'", "'cart'", "several children", "privacy budget", "choose must be",
        "evaluation_epsilon is for", "within the input",
    ):  # fmt: skip
        assert word in text, word


def test_a_table_that_nobody_looks_at_is_refused(place):
    (place / "blind.yaml").write_text(PLAN.replace("  nurse:", "  #nurse:"))
    with pytest.raises(DaleniusError, match="table 'visits' is looked at by no scenario"):
        read_plan(place / "blind.yaml")


def test_the_command_line_plans_and_releases_a_folder(place):
    (place / "one").mkdir(exist_ok=True)
    shutil.copytree(place / "clinic", place / "one" / "clinic", dirs_exist_ok=True)
    run = CliRunner().invoke(
        app, ["plan", str(place / "one" / "clinic"), "-o", str(place / "one" / "plan.yaml")]
    )
    assert run.exit_code == 0, run.output
    plan = read_plan(place / "one" / "plan.yaml")
    assert [s.name for s in plan.scenarios] == ["acquaintance, visits", "acquaintance, patients"]
    assert {c.method for c in plan.candidates} == {"conditional"}
    assert plan.about("pair")[-1].text == "keys-and-orphans >= 100 %"


def test_a_plan_for_three_levels_looks_at_every_table(tmp_path):
    rows = list(range(30))
    base = Database.of({
        "areas": {"area_id": list(range(10)), "kind": ["town", "land"] * 5, "rank": list(range(10))},
        "homes": {"home_id": rows, "area_id": [i % 10 for i in rows], "rooms": [i % 4 for i in rows]},
        "people": {
            "home_id": [i // 2 for i in range(60)], "sex": ["f", "m"] * 30, "income": [i % 7 for i in range(60)],
        },
    })  # fmt: skip
    base.write(tmp_path / "land")
    (tmp_path / "plan.yaml").write_text(database_template(Path("land"), base))
    assert len(read_plan(tmp_path / "plan.yaml").scenarios) == 3


def test_figures_are_of_what_is_in_the_files(release):
    made = job_tables(release.plan, next(release.work.glob("smooth*.json")))
    chosen = replace(release.chosen)
    assert chosen.rows == {name: table.rows for name, table in made.tables.items()}
