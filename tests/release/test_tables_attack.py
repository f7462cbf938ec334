"""Tables that go out with a file: attacked, held against the policy, told inside with recipes and outside without."""

from __future__ import annotations

import json

import pytest

from dalenius.core.errors import SchemaError
from dalenius.data import examples
from dalenius.evaluation.policy import open_dimensions
from dalenius.release import read_plan, run_plan, verify_pack, write_pack
from dalenius.release.tables_attack import FILE

from .conftest import invoke

PLAN = """\
input: people.csv
scenarios: {a: {keys: [sex, age], targets: [health]}}
candidates: {independent: {}}
measures: [replicated-uniques, two-way-utility]
policy: ["repU <= 100 %"%LINES%]
attack: {published: [tables]%MORE%}
output: out
"""
RECIPE = "everybody [sex = f] − young [sex = f, age = 0-79]"


def planned(folder, lines="", more="", young="f,0-79,49\nm,0-79,30\nm,80+,18\n"):
    """A plan with one table that goes out; another one was out before."""
    examples.survey(150, seed=2).select("sex", "age", "health").write_csv(folder / "people.csv")
    for name, text in (
        ("tables/young.csv", f"sex,age,n\n{young}"),
        ("old/everybody.csv", "sex,n\nf,52\nm,48\n"),
    ):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (folder / "plan.yaml").write_text(PLAN.replace("%LINES%", lines).replace("%MORE%", more))
    return folder / "plan.yaml"


def test_tables_that_hold_are_told_in_both_reports_and_recipes_only_inside(tmp_path):
    # the group of three follows within one release, and the policy allows it
    plan = planned(tmp_path, ', "small-groups <= 5", "proved-unique <= 0 %"')
    (tmp_path / "tables" / "everybody.csv").write_text("sex,n\nf,52\nm,48\n")
    release = run_plan(read_plan(plan), workers=1)
    assert release.chosen is not None, release.why
    assert [f.met for f in release.attacked.findings] == [True, True]
    pack = write_pack(release)
    inside, outside = ((pack / part / "report.html").read_text() for part in ("internal", "public"))
    assert RECIPE in inside
    assert "published tables" in inside
    for part in ("report.html", "report.md", "report.json"):
        text = (pack / "public" / part).read_text()
        assert "everybody [" not in text
        assert "age = 80+" not in text
    assert "How the small groups follow is withheld" in outside
    assert "1 group of fewer than 10 people follows" in outside
    assert RECIPE in (pack / "internal" / "report.md").read_text()
    assert (
        "| kind | cells | people at least | people at most |" in (pack / "public" / "report.md").read_text()
    )
    assert json.loads((pack / "internal" / "results.json").read_text())["attack"]["recipes"]
    assert not verify_pack(pack).faults
    (tmp_path / "tables" / "everybody.csv").write_text("sex,n\nf,53\nm,48\n")
    assert any("tables/everybody.csv" in fault for fault in verify_pack(pack).faults)


def test_a_table_more_among_those_that_were_out_is_told(tmp_path):
    """It may let a group follow that did not: the figures of the pack are of other tables."""
    plan = planned(tmp_path, more=", earlier: [old]")
    pack = write_pack(run_plan(read_plan(plan), workers=1))
    old, elsewhere = tmp_path / "old", tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "towns.csv").write_text("town,n\nA,60\nB,40\n")
    for name in ("towns.csv", ".towns.csv", "below/towns.csv"):
        (old / name).parent.mkdir(exist_ok=True)
        (old / name).write_text("town,n\nA,60\nB,40\n")
        assert f"input old/{name} was added after this pack was made" in verify_pack(pack).faults
        (old / name).unlink()
    assert not verify_pack(pack).faults
    (old / "linked").symlink_to(elsewhere)
    (elsewhere / "round").symlink_to(elsewhere)
    assert verify_pack(pack).faults == ["input old/linked/towns.csv was added after this pack was made"]


def test_files_have_one_name_wherever_the_plan_is_read_from(tmp_path, monkeypatch):
    """A pack whose list lies beside the plan was refused by `verify`, which reads the plan from elsewhere."""
    plan = planned(tmp_path)
    for name in ("a/tables", "b/tables"):  # two folders of one name are two
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "t.csv").write_text("sex,n\nf,52\nm,48\n")
    (tmp_path / "list.yaml").write_text("tables: {young: {file: tables/young.csv}}\n")
    plan.write_text(plan.read_text().replace("[tables]", "[list.yaml], earlier: [a/tables, b/tables]"))
    wanted = {"./list.yaml", "tables/young.csv", "a/tables/t.csv", "b/tables/t.csv"}
    (tmp_path / "out").mkdir()
    for place, called in ((tmp_path, "plan.yaml"), (tmp_path / "out", "../plan.yaml")):
        monkeypatch.chdir(place)
        assert read_plan(called).attack.files.keys() == wanted


def test_a_table_that_is_safe_alone_is_refused_beside_what_was_out(tmp_path):
    alone = run_plan(read_plan(planned(tmp_path)), workers=1)
    assert alone.chosen is not None
    again = read_plan(planned(tmp_path, more=", earlier: [old], same_people: true"))
    refused = run_plan(again, workers=1)
    assert refused.chosen is None
    assert "young [sex = f, age = 0-79]" in refused.why
    told = invoke("release", str(tmp_path / "plan.yaml"), "--workers", "1")
    assert told.exit_code == 1
    apart = run_plan(read_plan(planned(tmp_path, more=", earlier: [old]")), workers=1)
    assert apart.chosen is not None  # nobody said that they are the same people
    assert "attacked apart" in apart.attacked.remarks[0]


def test_a_limit_for_tables_stops_the_release_and_says_nothing_about_the_file(tmp_path):
    plan = read_plan(planned(tmp_path, ', "proved-unique <= 0 %"', young="f,0-79,49\nm,0-79,1\nm,80+,18\n"))
    assert "singling out" in open_dimensions(plan.policy)
    release = run_plan(plan, workers=1)
    assert release.chosen is None
    assert "proved-unique <= 0 %" in release.why
    assert release.judged[0].safe  # it is not the file's fault


def test_a_table_that_is_not_read_stops_the_release(tmp_path):
    plan = planned(tmp_path, ', "proved-unique <= 50 %"')
    assert run_plan(read_plan(plan), workers=1).chosen is not None
    (tmp_path / "tables" / "more.tsv").write_text("town\tn\nA\t1\n")
    release = run_plan(read_plan(plan), workers=1)
    assert release.chosen is None
    assert "cannot be said for certain" in release.why
    assert "tables/more.tsv" in release.why


def test_faults_of_the_entry_are_named_at_once(tmp_path):
    plan = planned(tmp_path, more=", ealier: [old], same_people: maybe, small_group: 0, earlier: [nowhere]")
    with pytest.raises(SchemaError) as caught:
        read_plan(plan)
    for part in ("'ealier'", "same_people", "small_group", "nowhere does not exist"):
        assert part in str(caught.value), part
    plan.write_text(
        plan.read_text().replace("attack: {published: [tables]", "#").replace("repU", "proved-unique")
    )
    with pytest.raises(SchemaError, match="name them under 'attack"):
        read_plan(plan)
    (tmp_path / "tables" / "young.csv").write_text("sex,n\nf,-3\n")
    with pytest.raises(SchemaError, match="negative"):
        read_plan(planned(tmp_path, young="f,0-79,-3\n"))


def test_a_killed_attack_is_not_done_twice(tmp_path):
    plan = read_plan(planned(tmp_path))
    release = run_plan(plan, workers=1)
    kept = release.work / FILE
    held = kept.read_bytes()
    before = kept.stat().st_mtime_ns
    run_plan(plan, workers=1)
    assert kept.stat().st_mtime_ns == before
    kept.unlink()
    run_plan(plan, workers=1)
    assert kept.read_bytes() == held
