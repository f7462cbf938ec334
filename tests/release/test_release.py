"""From a plan to a pack: faults, choice, verification, kills, and silence about small groups."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from dalenius.cli import app
from dalenius.core.errors import DaleniusError, DataError, FileError, SchemaError
from dalenius.core.result import Result
from dalenius.data import Table, examples, read_table
from dalenius.release import read_plan, run_plan, template, verify_pack, write_pack
from dalenius.release.jobs import file_digest, job_path, source
from dalenius.release.policy import Rule, judge
from dalenius.release.template import roles
from dalenius.release.verify import check_release

from .conftest import PLAN, make_plan

RUN = [sys.executable, "-c", "from dalenius.cli import app; app()"]


def invoke(*words: str):
    return CliRunner().invoke(app, list(words))


@pytest.fixture
def pack(released, tmp_path) -> Path:
    """A copy of the pack with its plan and inputs, to be spoilt."""
    folder = released.plan.output.parent
    shutil.copytree(folder, tmp_path / "case")
    return tmp_path / "case" / "out"


def test_pack_is_complete_and_verified(released):
    out = released.plan.output
    names = {str(p.relative_to(out)) for p in out.rglob("*") if p.is_file()}
    public = {
        "people.synthetic.csv",
        "codebook.json",
        "codebook.md",
        "limits.md",
        "report.html",
        "report.md",
        "report.json",
        "checksums.txt",
    }
    assert {f"public/{n}" for n in public} <= names
    assert {
        f"internal/{n}"
        for n in (
            "report.html",
            "report.md",
            "results.json",
            "results.parquet",
            "plan.yaml",
            "provenance.json",
        )
    } <= names
    found = verify_pack(out)
    assert found.accepted, found.faults
    assert found.remarks == []
    assert len(released.judged) == 5
    assert released.chosen is not None
    for report in out.rglob("report.html"):
        assert report.stat().st_size < 3_000_000


def test_choice_is_the_most_useful_of_the_safe(released):
    safe = [j for j in released.judged if j.safe]
    values = {j.candidate.name: j.figures["neighbour"]["two-way-utility"].value for j in safe}
    assert released.chosen.candidate.name == min(values, key=values.get)
    assert released.chosen.candidate.name in released.why


def test_every_file_flipped_is_caught(pack):
    for path in sorted(p for p in pack.rglob("*") if p.is_file()):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        held = path.read_bytes()
        path.write_bytes(bytes(data))
        try:
            assert not verify_pack(pack).accepted, path
        except FileError:
            assert path.name == "manifest.json"
        path.write_bytes(held)
    assert verify_pack(pack).accepted


def test_missing_and_added_files_are_caught(pack):
    (pack / "public" / "limits.md").unlink()
    (pack / "public" / "more.txt").write_text("x")
    faults = verify_pack(pack).faults
    assert "public/limits.md is missing" in faults
    assert "public/more.txt is not in the manifest" in faults


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        ("seed: 3", "seed: 4", "another seed"),
        ("<= 60", "<= 61", "edited"),
        ("[5, 50]", "[5, 51]", "edited"),
        ("DiSCO", "disco", "edited"),
    ],
)
def test_edited_plan_and_changed_seed_are_caught(pack, before, after, said):
    plan = pack.parent / "plan.yaml"
    plan.write_text(plan.read_text().replace(before, after))
    assert any(said in fault for fault in verify_pack(pack).faults)
    assert invoke("verify", str(pack), "-q").exit_code == 1


def test_changed_input_is_caught(pack):
    data = pack.parent / "people.csv"
    data.write_text(data.read_text() + data.read_text().splitlines()[1] + "\n")
    assert any("people.csv" in fault for fault in verify_pack(pack).faults)


def test_forged_figures_are_caught_by_computing_them_again(pack):
    """Somebody who mends the hashes too is caught by the figures."""
    from dalenius.release.pack import digest_of

    results = pack / "internal" / "results.json"
    body = json.loads(results.read_text())
    body["candidates"][body["chosen"]]["replicates"][0]["neighbour"]["disco"]["value"] += 1
    results.write_text(json.dumps(body))
    manifest = json.loads((pack / "manifest.json").read_text())
    manifest["files"]["internal/results.json"] = file_digest(results)
    manifest["digest"] = digest_of(manifest)
    (pack / "manifest.json").write_text(json.dumps(manifest))
    assert verify_pack(pack).faults == ["disco in scenario 'neighbour' does not come out again"]


def test_pack_alone_is_checked_without_the_source(pack, tmp_path):
    shutil.move(pack, tmp_path / "sent")
    found = verify_pack(tmp_path / "sent")
    assert found.accepted
    assert "not computed again" in found.remarks[0]
    assert not verify_pack(tmp_path / "sent", pack.parent / "plan.yaml").faults


def test_gate_makes_the_pack_again(pack):
    plan = read_plan(pack.parent / "plan.yaml")
    found = check_release(plan, workers=1)
    assert found.accepted, found.faults
    result = invoke("release", str(pack.parent / "plan.yaml"), "--check", "--workers", "1", "--json", "-q")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["accepted"] is True


def test_gate_fails_when_the_data_are_not_what_the_plan_gives(pack):
    """A pack that is consistent in itself but whose data were replaced by another draw."""
    from dalenius.release.pack import digest_of

    other = replace(read_plan(pack.parent / "plan.yaml"), seed=99, output=pack.parent / "other")
    write_pack(run_plan(other, workers=1))
    manifest = json.loads((pack.parent / "other" / "manifest.json").read_text())
    manifest["seed"] = 3
    manifest["digest"] = digest_of(manifest)
    (pack.parent / "other" / "manifest.json").write_text(json.dumps(manifest))
    shutil.rmtree(pack)
    shutil.move(pack.parent / "other", pack)
    assert invoke("release", str(pack.parent / "plan.yaml"), "--check", "--workers", "1", "-q").exit_code == 1


def test_nobody_meets_the_policy(tmp_path):
    path = make_plan(
        tmp_path,
        300,
        PLAN.replace("mean S_pMSE <= 60", "mean S_pMSE <= 0.001").replace(
            "cart: {minbucket: [5, 50]}", "bootstrap: {}"
        ),
    )
    result = invoke("release", str(path), "--workers", "1", "--json", "-q")
    assert result.exit_code == 1
    said = json.loads(result.stdout)
    assert said["chosen"] is None
    assert "Nearest is" in said["why"]
    assert not (tmp_path / "out").exists()
    with pytest.raises(DataError, match="Nearest"):
        write_pack(run_plan(read_plan(path), workers=1))


def test_all_faults_of_a_plan_at_once(tmp_path):
    path = make_plan(tmp_path, 100)
    path.write_text(
        "input: people.csv\nseed: -1\nholdout: 2\nwhat: 1\nreplicates: 0\nchoose: disco\noutput: .\nformats: [exe]\n"
        "scenarios: {a: {keys: [nobody], targets: [sex]}, b: {keys: [sex], targets: [sex], population_share: 7}}\n"
        "candidates: {cart: {minbuckets: 3}, nothing: {}}\npolicy: [rubbish, 'repU <= moon', 'mean S_pMSE <= 10 %']\n"
        "measures: [no]\n"
    )
    with pytest.raises(SchemaError) as caught:
        read_plan(path)
    text = str(caught.value)
    for part in (
        "'what'",
        "seed",
        "holdout",
        "replicates",
        "choose",
        "output",
        "formats",
        "'nobody'",
        "both key and target",
        "population_share",
        "minbuckets",
        "nothing",
        "rubbish",
        "moon",
        "per cent",
        "'no'",
    ):
        assert part in text, part


def test_output_that_is_no_pack_is_not_deleted(released, tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.txt").write_text("years of work")
    with pytest.raises(FileError, match="no release pack"):
        write_pack(replace(released, plan=replace(released.plan, output=tmp_path / "precious")))
    assert (tmp_path / "precious" / "thesis.txt").read_text() == "years of work"


def test_policy_holds_for_every_replicate_and_never_for_untrusted():
    rule = Rule.parse("DiSCO ≤ holdout + 5 points")

    def result(value: float, trusted: bool = True) -> Result:
        return Result("disco", value, "", unit="%", yardsticks={"holdout": 10.0}, trusted=trusted)

    assert judge(rule, "a", 1.0, [result(14), result(15)]).met
    assert not judge(rule, "a", 1.0, [result(14), result(15.1)]).met
    assert not judge(rule, "a", 1.0, [result(1, trusted=False)]).met
    assert not judge(rule, "a", 1.0, [result(1), None]).met
    assert not judge(rule, "a", 1.0, [result(float("nan"))]).met
    expected = Rule.parse("expected repU <= 0.1 %")
    assert expected.met_by(Result("repU", 9.0, "", unit="%"), 0.01)
    assert not expected.met_by(Result("repU", 11.0, "", unit="%"), 0.01)


def test_template_is_a_plan(tmp_path):
    frame = examples.survey(300, seed=1)
    frame.write_csv(tmp_path / "people.csv")
    assert (
        invoke("plan", str(tmp_path / "people.csv"), "-o", str(tmp_path / "plan.yaml"), "-q").exit_code == 0
    )
    plan = read_plan(tmp_path / "plan.yaml")
    assert len(plan.candidates) == 5
    table = read_table(tmp_path / "people.csv")
    assert not set(plan.scenarios[0].keys) & set(table.schema.by_role("identifier"))
    dry = invoke("release", str(tmp_path / "plan.yaml"), "--dry-run", "--json", "-q")
    assert json.loads(dry.stdout)["seconds"] > 0
    assert not (tmp_path / "release").exists()


def test_template_quotes_odd_names(tmp_path):
    table = Table.from_frame({'a: "b"\n# c': ["x", "y"] * 20, "<i>": [1, 2] * 20})
    keys, targets = roles(table)
    assert keys
    assert targets
    assert "Release plan" in template(Path("it's #1.csv"), table)


def test_households_are_set_aside_whole(tmp_path):
    frame = pl.DataFrame(
        {
            "home": np.repeat(np.arange(100), 3),
            "sex": ["f", "m", "m"] * 100,
            "ill": [True, False, False] * 100,
        }
    )
    frame.write_csv(tmp_path / "people.csv")
    from dalenius.data import Schema

    Schema.infer(frame).with_roles(household="home").to_yaml(tmp_path / "schema.yaml")
    (tmp_path / "plan.yaml").write_text(
        "input: people.csv\nschema: schema.yaml\nscenarios: {a: {keys: [sex], targets: [ill]}}\n"
        "candidates: {independent: {}}\n"
    )
    seen, aside = source(read_plan(tmp_path / "plan.yaml"))
    assert not set(seen.to_frame("dict")["home"]) & set(aside.to_frame("dict")["home"])


def public_text(path: Path) -> str:
    """What a public file says, without the chart library's own code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".html":
        scripts = re.findall(r"<script.*?</script>", text, re.S)
        specs = next(s for s in scripts if 'id="specs"' in s)
        text = re.sub(r"<script.*?</script>", "", text, flags=re.S)
        text = re.sub(r"<style.*?</style>", "", text, flags=re.S) + specs
    return text


def test_public_files_name_no_value_of_a_small_group(released):
    """Values that fewer than ten source records have, and the released data do not hold, are in no public file."""
    out = released.plan.output
    original, holdout = source(released.plan)
    data = read_table(out / "public" / "people.synthetic.csv").to_frame("polars")
    frame = pl.concat([t.to_frame("polars") for t in (original, holdout)])
    checked = 0
    for path in sorted((out / "public").iterdir()):
        if path.suffix in (".csv", ".txt"):
            continue
        words = set(re.findall(r"[\w.-]+", public_text(path)))
        for name in ("diagnosis", "income", "age"):
            counts = frame[name].drop_nulls().value_counts()
            rare = {str(v) for v in counts.filter(pl.col("count") < 10)[name]}
            rare = {v for v in rare if len(v) >= 4 or not v.isdigit()}  # two digits are also counts and years
            hidden = rare - {str(v) for v in data[name]}
            checked += len(hidden)
            assert not hidden & words, (path.name, name)
    assert checked > 100


def test_public_report_names_no_rare_value_even_if_released(released):
    original, _ = source(released.plan)
    counts = original.to_frame("polars")["diagnosis"].drop_nulls().value_counts()
    rare = set(counts.filter(pl.col("count") < 10)["diagnosis"])
    for name in ("report.html", "report.md", "report.json", "limits.md"):
        assert not rare & set(re.findall(r"[\w.-]+", public_text(released.plan.output / "public" / name)))
    inside = (released.plan.output / "internal" / "report.md").read_text()
    assert "fewer than 10 real records" in inside


def test_public_files_withhold_parameters(released):
    out = released.plan.output / "public"
    held = "".join(public_text(p) for p in out.iterdir() if p.suffix in (".html", ".md", ".json"))
    digest = file_digest(released.plan.input)
    for secret in (digest, "seed", "minbucket", "S_pMSE <= 60", "holdout + 40", "dalenius release"):
        assert secret not in held, secret
    assert "Survey <b>&" not in public_text(out / "report.html")


def test_report_answers_the_four_questions(released):
    for part in ("public", "internal"):
        page = (released.plan.output / part / "report.html").read_text()
        for question in (
            "What is this file?",
            "What could go wrong?",
            "How likely is that?",
            "What may it be used for?",
            "Words used here",
        ):
            assert question in page
    assert "The policy, line by line" in (released.plan.output / "internal" / "report.html").read_text()


def test_release_in_a_notebook(released):
    assert released.chosen.candidate.name in released._repr_html_()
    assert "<b>&" not in released._repr_html_()
    assert released.table["unbeaten"].any()
    spec = released.chart().to_dict()
    assert "layer" in spec


def test_private_noise_is_kept_and_written_down(tmp_path):
    """Fresh noise is part of the guarantee: made once, never again, with its ledger in the pack."""
    text = PLAN.replace("  cart: {minbucket: [5, 50]}\n  loglinear: {}\n", "").replace(
        "  independent: {}\n", ""
    )
    text = text.replace(
        "  saturated: {}", "  loglinear: {epsilon: 20, domain: from-data, groups: 3, margins: 1}"
    ).replace("<= 60", "<= 1000000")
    path = make_plan(tmp_path, 300, text)
    plan = read_plan(path)
    release = run_plan(plan, workers=1)
    assert not plan.candidates[0].repeatable
    before = file_digest(release.data(plan.candidates[0]))
    job_path(release.work, plan.candidates[0], 0).unlink()  # as if killed between making and measuring
    assert file_digest(run_plan(plan, workers=1).data(plan.candidates[0])) == before
    write_pack(release)
    facts = json.loads((plan.output / "internal" / "provenance.json").read_text())
    assert "privacy budget: ε = 20" in facts["privacy_budgets"]["loglinear"]
    assert "Fresh noise is part" in (plan.output / "internal" / "report.md").read_text()
    found = check_release(plan, workers=1)
    assert found.accepted
    assert "cannot be made again" in found.remarks[0]


def test_two_runs_at_once_are_refused(tmp_path):
    import fcntl

    from dalenius.release.run import work_folder

    plan = read_plan(make_plan(tmp_path, 100))
    work = work_folder(plan)
    work.mkdir(parents=True)
    with (work / "lock").open("w") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        with pytest.raises(DaleniusError, match="another process"):
            run_plan(plan, workers=1)


def digests(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): file_digest(p) for p in sorted(folder.rglob("*")) if p.is_file()}


@pytest.mark.slow
def test_twenty_kills_change_nothing(tmp_path):
    """A real process is killed at random moments and started again; the pack is the same to the byte."""
    kills = int(os.environ.get("DALENIUS_KILLS", "5"))
    draw = random.Random(8)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    for folder in (whole, killed):
        folder.mkdir()
        make_plan(folder, 300, PLAN.replace("replicates: 1", "replicates: 2"))
    command = [*RUN, "release", "plan.yaml", "-q", "--workers"]
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1760000000"}
    subprocess.run([*command, "1"], cwd=whole, env=environment, check=True)
    done = 0
    while done < kills:
        process = subprocess.Popen([*command, "1"], cwd=killed, env=environment)
        time.sleep(draw.uniform(0.5, 6))
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            done += 1
        elif process.returncode == 0:  # finished: start over, so that every kill hits a run
            shutil.rmtree(killed / ".out-work")
            shutil.rmtree(killed / "out")
        process.wait()
    subprocess.run([*command, "1"], cwd=killed, env=environment, check=True)
    assert digests(killed / "out") == digests(whole / "out")
    assert verify_pack(killed / "out").accepted
