"""A release whose candidates are private fits: paid once, chosen by what is released, packed, verified."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from dalenius.cli import app
from dalenius.core.errors import DaleniusError, OptionError, SchemaError
from dalenius.data import Column, Kind, Schema
from dalenius.dp import ledger_path, open_ledger
from dalenius.release import fit_release, fit_verify, read_plan, verify_pack
from dalenius.release.fit_pack import write_fit_pack
from dalenius.release.fit_plan import is_fit_plan, read_fit_plan
from dalenius.release.fit_release import (
    BY_PERSON,
    BY_RULE,
    LOOKING,
    choose_fit,
    note_look,
    price_in,
    run_fit_plan,
)

from .conftest import forged

PLAN = """title: Pay by age
input: people.csv
schema: schema.yaml
formula: pay ~ age + sex
candidates:
  dp-quantile: {epsilon: {each: [1, 30, 90]}, taus: [0.25, 0.5]}
policy:
  - fit-epsilon <= 30
"""
SECRET = 61.25
"""A pay that only one person has."""


def place_of(folder, plan=PLAN, budget=None):
    rng = np.random.default_rng(1)
    age, sex = rng.integers(20, 80, 3000), rng.integers(0, 2, 3000)
    pay = np.round(20 + 0.4 * age + 6 * sex + rng.normal(0, 8, 3000), 1)
    pay[7] = SECRET
    frame = pl.DataFrame({"age": age, "sex": np.array(["f", "m"])[sex], "pay": pay})
    frame.write_csv(folder / "people.csv")
    Schema((
        Column("age", Kind.INTEGER, bounds=(0, 100)), Column("sex", Kind.CATEGORICAL, levels=("f", "m")),
        Column("pay", Kind.CONTINUOUS, bounds=(0, 100)),
    )).declare().to_yaml(folder / "schema.yaml")  # fmt: skip
    (folder / "plan.yaml").write_text(plan)
    if budget is not None:
        open_ledger(ledger_path(folder / "people.csv"), budget)
    return folder / "plan.yaml"


@pytest.fixture(scope="module")
def plan(tmp_path_factory):
    return read_fit_plan(place_of(tmp_path_factory.mktemp("fits"), budget=40.0))


@pytest.fixture(scope="module")
def release(plan):
    return run_fit_plan(plan)


@pytest.fixture(scope="module")
def pack(release):
    return write_fit_pack(release)


def test_what_the_policy_rules_out_is_neither_made_nor_paid(release, plan):
    assert [j.made is None for j in release.judged] == [False, False, True]
    assert open_ledger(plan.pays).spent == 31.0
    assert release.chosen.candidate.epsilon == 30.0
    assert release.how == BY_RULE
    widths = [j.results["fit-width"].value for j in release.judged[:2]]
    assert widths[0] > widths[1]


def test_a_fit_that_was_paid_is_not_made_again(release, plan, monkeypatch):
    monkeypatch.setattr(fit_release, "_make", lambda *given: pytest.fail("made again"))
    again = run_fit_plan(plan)
    assert fit_release.facts(again) == fit_release.facts(release)
    assert open_ledger(plan.pays).spent == 31.0


def test_the_public_part_holds_the_chosen_fit_and_nothing_else(release, pack):
    public = {p.name: p.read_text() for p in (pack / "public").iterdir()}
    assert set(public) == {
        "checksums.txt", "coefficients.csv", "fit-card.md", "fit.json", "lines.csv", "report.html",
    }  # fmt: skip
    assert pl.read_csv(pack / "public" / "coefficients.csv").equals(release.chosen.table)
    others = [f"{row['estimate']!r}" for row in release.judged[0].table.to_dicts()]
    exact = [f"{value!r}" for value in release.exact(release.chosen)["estimate"].to_list()]
    for text in public.values():
        assert not any(number in text for number in (*others, *exact, str(SECRET)))
        assert "original, not private" not in text
    assert json.loads(public["fit.json"])["columns"]["pay"] == {"bounds": [0, 100]}
    assert "ε = 30" in public["fit-card.md"]
    inside = (pack / "internal" / "report.html").read_text()
    assert "original, not private" in inside
    assert "Not made, nothing paid" in inside


def test_the_pack_verifies_and_changes_show(pack, plan, tmp_path):
    verified = verify_pack(pack)
    assert verified.accepted
    assert {"public/coefficients.csv", "public/report.html"} < set(verified.remade)
    copy = tmp_path / "plain"
    shutil.copytree(pack, copy)
    (copy / "public" / "lines.csv").write_text("x")
    assert "public/lines.csv was changed" in verify_pack(copy, plan.path).faults

    def better(copy):
        held = copy / "public" / "coefficients.csv"
        held.write_text(held.read_text().replace("age", "sex"))

    faults = verify_pack(forged(pack, tmp_path / "better", better), plan.path).faults
    assert faults == ["public/coefficients.csv does not follow from the coefficients that are kept inside"]


def test_a_fit_nobody_paid_for_is_not_accepted(tmp_path):
    place = place_of(tmp_path, budget=40.0)
    pack = write_fit_pack(run_fit_plan(read_fit_plan(place)))
    ledger = ledger_path(tmp_path / "people.csv")
    ledger.unlink()
    open_ledger(ledger, 40.0)
    assert verify_pack(pack).faults == ["no line of the ledger paid for this fit"]


def test_all_or_nothing_is_paid(tmp_path):
    place = place_of(tmp_path, budget=30.5)
    with pytest.raises(OptionError, match="none was made"):
        run_fit_plan(read_fit_plan(place))
    assert open_ledger(ledger_path(tmp_path / "people.csv")).spent == 0
    wrong = place_of(
        tmp_path,
        PLAN.replace(
            "dp-quantile: {epsilon: {each: [1, 30, 90]}, taus: [0.25, 0.5]}", "dp-logit: {epsilon: 1}"
        ),
    )
    with pytest.raises(DaleniusError, match="column 'pay': the response must be yes or no"):
        run_fit_plan(read_fit_plan(wrong))
    assert open_ledger(ledger_path(tmp_path / "people.csv")).spent == 0


def test_other_options_are_another_fit(tmp_path):
    one = PLAN.replace("{each: [1, 30, 90]}", "1")
    first = run_fit_plan(read_fit_plan(place_of(tmp_path, one, budget=9.0)))
    second = run_fit_plan(read_fit_plan(place_of(tmp_path, one.replace("epsilon: 1", "epsilon: 2"))))
    assert first.chosen.candidate.name == second.chosen.candidate.name
    assert first.chosen.table["estimate"].to_list() != second.chosen.table["estimate"].to_list()
    assert open_ledger(ledger_path(tmp_path / "people.csv")).spent == 3.0


def test_whose_choice_it_was_is_told(tmp_path):
    plan = read_fit_plan(place_of(tmp_path, PLAN.replace("[1, 30, 90]", "[1, 2]")))
    run_fit_plan(plan)
    assert choose_fit(plan, "dp-quantile epsilon=1").how == BY_PERSON
    note_look(plan)
    assert fit_release.read_fits(plan).how == BY_PERSON  # chosen before anybody looked
    chosen = choose_fit(plan, "dp-quantile epsilon=1")
    assert chosen.how == LOOKING
    assert LOOKING in (write_fit_pack(chosen) / "public" / "fit-card.md").read_text()
    with pytest.raises(OptionError, match="choose one of the fits"):
        choose_fit(plan, "dp-quantile epsilon=7")


def test_faults_are_told_at_once(tmp_path):
    place = place_of(
        tmp_path, PLAN.replace("0.25", "1.0").replace("fit-epsilon", "dcr").replace("people", "pople")
    )
    assert is_fit_plan(place)
    with pytest.raises(SchemaError) as caught:
        read_fit_plan(place)
    for said in ("pople.csv does not exist", "tau is 1.0", "dcr is not about private fits"):
        assert said in str(caught.value)
    with pytest.raises(SchemaError, match="'each' tries several"):
        read_fit_plan(place_of(tmp_path, PLAN.replace("{each: [1, 30, 90]}", "[1, 30]")))
    (tmp_path / "other.yaml").write_text(
        "input: people.csv\ncandidates: {cart: {}}\npolicy: [fit-epsilon <= 1]\n"
    )
    with pytest.raises(SchemaError, match="fit-epsilon is never measured here"):
        read_plan(tmp_path / "other.yaml")


def test_from_the_command_line(tmp_path):
    place = place_of(tmp_path, budget=31.0)
    done = CliRunner().invoke(app, ["release", str(place), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["chosen"] == "dp-quantile epsilon=30"
    assert CliRunner().invoke(app, ["verify", str(tmp_path / "release")]).exit_code == 0
    none = place_of(tmp_path, PLAN.replace("<= 30", "<= 0.5"))
    refused = CliRunner().invoke(app, ["release", str(none)])
    assert refused.exit_code == 1
    assert "No fit keeps every limit" in refused.output
    assert open_ledger(ledger_path(tmp_path / "people.csv")).spent == 31.0


def test_a_fit_made_before_the_ledger_is_paid_for_afterwards(tmp_path, monkeypatch):
    place = place_of(tmp_path, PLAN.replace("[1, 30, 90]", "[1, 1.5]"))
    plan = read_fit_plan(place)
    write_fit_pack(run_fit_plan(plan))
    open_ledger(ledger_path(tmp_path / "people.csv"), 2.0)
    with pytest.raises(OptionError, match="cannot pay"):
        run_fit_plan(plan)
    ledger_path(tmp_path / "people.csv").unlink()
    open_ledger(ledger_path(tmp_path / "people.csv"), 9.0)
    for _ in range(2):
        pack = write_fit_pack(run_fit_plan(plan))
        assert open_ledger(plan.pays).spent == 2.5
    assert verify_pack(pack).faults == []
    monkeypatch.setattr(fit_verify, "price_in", lambda plan, fit: replace(price_in(plan, fit), rho=0.1))
    assert verify_pack(pack).faults == ["the ledger was charged another price than the fit is said to cost"]


def test_a_ledger_beside_the_data_is_not_gone_round(tmp_path):
    place = place_of(tmp_path, PLAN + "ledger: own.budget\n", budget=5.0)
    open_ledger(tmp_path / "own.budget", 100.0)
    with pytest.raises(SchemaError, match=r"ledger is own\.budget, and the data have one of their own"):
        read_fit_plan(place)


def test_one_price_in_two_spellings_is_one_fit(tmp_path):
    plan = read_fit_plan(place_of(tmp_path, PLAN.replace("[1, 30, 90]", "[1, 2]")))
    again = read_fit_plan(place_of(tmp_path, PLAN.replace("[1, 30, 90]", "[1.0, 2]")))
    assert plan.mark(plan.candidates[0]) == again.mark(again.candidates[0])
