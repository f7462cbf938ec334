"""A release whose candidates are models: chosen by limits, packed without pickle, verified by a second check."""

from __future__ import annotations

import json
import shutil
import zipfile

import pytest
from typer.testing import CliRunner

from dalenius.cli import app
from dalenius.core.errors import SchemaError
from dalenius.data import examples
from dalenius.models import open_model
from dalenius.models.files import save_model
from dalenius.release import model_release, verify_pack
from dalenius.release.model_pack import write_model_pack
from dalenius.release.model_plan import is_model_plan, read_model_plan
from dalenius.release.model_release import run_model_plan

from .conftest import forged

PLAN = """title: Who smokes
input: people.csv
predicts: sex
refits: 4
candidates:
  tree: {min_samples_leaf: {each: [1, 5, 40]}}
policy:
  - model-membership <= 0.65
  - model-small-leaves <= 0 %
  - model-rare-values <= 0
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("model-release")
    examples.survey(400).select("sex", "age", "education", "marital", "employment").write_csv(
        place / "people.csv"
    )
    (place / "plan.yaml").write_text(PLAN)
    return place


@pytest.fixture(scope="module")
def release(folder):
    return run_model_plan(read_model_plan(folder / "plan.yaml"))


@pytest.fixture(scope="module")
def pack(release):
    return write_model_pack(release)


def test_limits_choose(release):
    assert [j.safe for j in release.judged] == [False, False, True]
    assert release.chosen.candidate.name == "tree min_samples_leaf=40"
    assert "is chosen" in release.why
    assert release.points()["risk"].to_list()[0] > release.points()["risk"].to_list()[2]


def test_the_pack_holds_the_model_without_pickle(pack):
    assert sorted(p.name for p in (pack / "public").iterdir()) == [
        "checksums.txt", "model-card.md", "model.skops", "report.html",
    ]  # fmt: skip
    with zipfile.ZipFile(pack / "public" / "model.skops") as held:
        assert {name.split(".")[-1] for name in held.namelist()} <= {"npy", "json", "npz"}
    assert open_model(pack / "public" / "model.skops").steps[-1][1].min_samples_leaf == 40
    card = (pack / "public" / "model-card.md").read_text()
    assert "model-membership <= 0.65: met" in card
    assert "(always saying the commonest class: 0." in card
    assert "no formal guarantee" in card
    inside, outside = ((pack / p / "report.html").read_text() for p in ("internal", "public"))
    assert "<svg" in inside
    assert "min_samples_leaf=1<" in inside
    assert "min_samples_leaf=1<" not in outside


def test_the_pack_verifies_and_changes_show(pack, tmp_path, folder):
    assert verify_pack(pack).accepted
    for name, change in (("public/model-card.md", b"safe"), ("public/model.skops", b"x")):
        copy = tmp_path / name.replace("/", "-")
        shutil.copytree(pack, copy)
        (copy / name).write_bytes(change)
        assert f"{name} was changed" in verify_pack(copy, folder / "plan.yaml").faults
    copy = tmp_path / "more"
    shutil.copytree(pack, copy)
    (copy / "public" / "model.pkl").write_bytes(b"")
    assert not verify_pack(copy, folder / "plan.yaml").accepted


def test_another_model_in_the_pack_is_found_though_hashes_fit(pack, tmp_path, folder, release):
    from skops import io

    def change(copy):
        io.dump(release.case(release.judged[0]).fitted.model, copy / "public" / "model.skops")

    faults = verify_pack(forged(pack, tmp_path / "pack", change), folder / "plan.yaml").faults
    assert any("model-small-leaves of the model in the pack comes out differently" in f for f in faults)


def test_one_number_chosen_by_hand_in_the_pack_is_found_though_hashes_and_figures_fit(pack, tmp_path, folder):
    def change(copy):
        model = open_model(copy / "public" / "model.skops")
        model.steps[-1][1].tree_.impurity[0] *= 1 + 1e-9
        save_model(model, copy / "public" / "model.skops")

    faults = verify_pack(forged(pack, tmp_path / "pack", change), folder / "plan.yaml").faults
    assert any("is not what its plan fits: Fitted again" in f for f in faults)


def test_words_about_the_model_follow_from_it_though_hashes_fit(pack, tmp_path, folder):
    verified = verify_pack(pack)
    assert verified.faults == []
    assert {"public/model-card.md", "public/report.html"} < set(verified.remade)
    for name in ("model-card.md", "report.html"):

        def praise(copy, name=name):
            file = copy / "public" / name
            file.write_text(file.read_text() + "It is safe.")

        faults = verify_pack(forged(pack, tmp_path / name, praise), folder / "plan.yaml").faults
        assert faults == [f"public/{name} does not follow from the model in the pack"]


def test_the_pack_of_another_plan_is_not_replaced(pack, folder):
    held = (pack / "manifest.json").read_bytes()
    (folder / "other.yaml").write_text(PLAN.replace("[1, 5, 40]", "[40]"))
    done = CliRunner().invoke(app, ["release", str(folder / "other.yaml")])
    assert done.exit_code == 2
    assert "here is the pack of another plan, plan.yaml; give other.yaml an 'output'" in " ".join(
        done.output.split()
    )
    assert (pack / "manifest.json").read_bytes() == held


def test_a_finished_candidate_is_not_fitted_again(release, monkeypatch):
    def never(*given):
        raise AssertionError

    monkeypatch.setattr(model_release, "_measure", never)
    again = run_model_plan(release.plan)
    assert model_release.facts(again) == model_release.facts(release)


def test_nothing_is_released_where_nothing_keeps_the_limits(folder, tmp_path):
    (tmp_path / "plan.yaml").write_text(
        PLAN.replace("people.csv", str(folder / "people.csv"))
        .replace("{each: [1, 5, 40]}", "1")
        .replace("Who", "Nobody")
    )
    done = CliRunner().invoke(app, ["release", str(tmp_path / "plan.yaml"), "--json"])
    assert done.exit_code == 1
    assert json.loads(done.stdout)["chosen"] is None
    assert not (tmp_path / "release").exists()


def test_the_command_writes_the_pack(folder):
    assert is_model_plan(folder / "plan.yaml")
    done = CliRunner().invoke(app, ["release", str(folder / "plan.yaml")])
    assert done.exit_code == 0, done.output
    assert "is chosen" in " ".join(done.output.split())
    assert CliRunner().invoke(app, ["verify", str(folder / "release")]).exit_code == 0


def test_all_faults_of_a_plan_at_once(folder, tmp_path):
    (tmp_path / "plan.yaml").write_text(
        f"input: {folder / 'people.csv'}\npredicts: shoe\nrefits: 1\nscenarios: {{}}\n"
        "candidates: {oak: {}, tree: {leaf: 3}, forest: {min_samples_leaf: [1, 5]}}\npolicy: [repU <= 1 %]\n"
    )
    with pytest.raises(SchemaError) as error:
        read_model_plan(tmp_path / "plan.yaml")
    told = " ".join(error.value.faults)
    words = ["no column 'shoe'", "refits must be", "unknown entry 'scenarios'", "unknown model 'oak'"]
    for word in (*words, "no option 'leaf'", "'each' tries several", "is not about models"):
        assert word in told
