"""The pack: complete, chosen by the rule, and every change to it caught."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import pytest

from dalenius.core.errors import DataError, FileError
from dalenius.release import read_plan, run_plan, verify_pack, write_pack
from dalenius.release.jobs import file_digest, job_path
from dalenius.release.verify import check_release

from .conftest import PLAN, forge, invoke, make_plan


def test_pack_is_complete_and_verified(released, key):
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
    found = verify_pack(out, public_key=key.with_suffix(".pub"))
    assert found.accepted, found.faults
    assert found.remarks == []
    assert set(found.remade) | set(found.not_remade) == names - {"manifest.json", "manifest.sig"}
    assert found.not_remade == ["public/people.synthetic.parquet"], "compared with the CSV file by content"
    assert len(released.judged) == 5
    assert released.chosen is not None
    for report in out.rglob("report.html"):
        assert report.stat().st_size < 3_000_000


def test_choice_is_the_most_useful_of_the_safe(released):
    safe = [j for j in released.judged if j.safe]
    values = {j.candidate.name: j.figures["neighbour"]["two-way-utility"].value for j in safe}
    assert released.chosen.candidate.name == min(values, key=values.get)
    assert released.chosen.candidate.name in released.why


def test_every_file_flipped_is_caught(pack, key):
    for path in sorted(p for p in pack.rglob("*") if p.is_file()):
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        held = path.read_bytes()
        path.write_bytes(bytes(data))
        try:
            assert not verify_pack(pack, public_key=key.with_suffix(".pub")).accepted, path
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
    results = pack / "internal" / "results.json"
    body = json.loads(results.read_text())
    body["candidates"][body["chosen"]]["replicates"][0]["neighbour"]["disco"]["value"] += 1
    results.write_text(json.dumps(body))
    forge(pack)
    assert verify_pack(pack).faults == [
        "disco in scenario 'neighbour' does not come out again",
        "internal/results.json comes out differently",
    ]


def test_pack_alone_is_checked_without_the_source(pack, tmp_path):
    shutil.move(pack, tmp_path / "sent")
    found = verify_pack(tmp_path / "sent")
    assert found.accepted
    assert "not computed again" in found.remarks[-1]
    assert not verify_pack(tmp_path / "sent", pack.parent / "plan.yaml").faults


@pytest.mark.slow
def test_gate_makes_the_pack_again(pack):
    result = invoke("release", str(pack.parent / "plan.yaml"), "--check", "--workers", "1", "--json", "-q")
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["accepted"] is True


def test_gate_fails_when_the_data_are_not_what_the_plan_gives(pack):
    """A pack that is consistent in itself but whose data were replaced by another draw."""
    other = replace(read_plan(pack.parent / "plan.yaml"), seed=99, output=pack.parent / "other")
    write_pack(run_plan(other, workers=1))
    shutil.rmtree(pack)
    shutil.move(pack.parent / "other", pack)
    forge(pack, seed=3)
    assert invoke("release", str(pack.parent / "plan.yaml"), "--check", "--workers", "1", "-q").exit_code == 1


def test_nobody_meets_the_policy(tmp_path):
    path = make_plan(
        tmp_path,
        300,
        PLAN.replace("mean S_pMSE <= 60", "mean S_pMSE <= 0.001").replace(
            "cart: {minbucket: {each: [5, 50]}}", "bootstrap: {}"
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


def test_output_that_is_no_pack_is_not_deleted(released, tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.txt").write_text("years of work")
    with pytest.raises(FileError, match="not a release pack"):
        write_pack(replace(released, plan=replace(released.plan, output=tmp_path / "precious")))
    assert (tmp_path / "precious" / "thesis.txt").read_text() == "years of work"


def test_private_noise_is_kept_and_written_down(tmp_path):
    """Fresh noise is part of the guarantee: made once, never again, with its ledger in the pack."""
    text = PLAN.replace("  cart: {minbucket: {each: [5, 50]}}\n  loglinear: {}\n", "").replace(
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
    assert "Fresh chance is part" in (plan.output / "internal" / "report.md").read_text()
    found = check_release(plan, workers=1)
    assert found.accepted, found.faults
    assert any("so its data were not made again" in remark for remark in found.remarks)
    assert "public/report.html" in found.remade


@pytest.mark.parametrize("entry", ["seed", "plan", "inputs", "files"])
def test_a_manifest_without_an_entry_is_damaged(pack, entry):
    manifest = json.loads((pack / "manifest.json").read_text())
    del manifest[entry]
    (pack / "manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(FileError, match="damaged"):
        verify_pack(pack)


def test_names_do_not_break_the_codebook():
    from dalenius.data import Table
    from dalenius.release.codebook import codebook, codebook_text
    from dalenius.synth import Independent

    table = Table.from_frame({"a\n# Secret": ["x\ny", "<script>", "x\ny"]})
    lines = codebook_text(codebook(table, Independent.info, ["b\n## c"]), "t").splitlines()
    assert [line for line in lines if line.startswith("#")] == ["# Codebook: t", "## a # Secret"]
    assert not any("<" in line for line in lines)
