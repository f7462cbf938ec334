"""A plan: all faults at once, policy lines, the template, and who is set aside."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dalenius.core.errors import SchemaError
from dalenius.core.result import Result
from dalenius.data import Table, examples, read
from dalenius.evaluation import evaluate
from dalenius.evaluation.policy import Rule, judge
from dalenius.release import read_plan, run_plan, template, write_pack
from dalenius.release.jobs import job_path, source
from dalenius.release.run import CODE, work_folder
from dalenius.release.template import roles, sensible_methods, weak_keys

from .conftest import PLAN, invoke, make_plan


def test_all_faults_of_a_plan_at_once(tmp_path):
    path = make_plan(tmp_path, 100)
    path.write_text(
        "input: people.csv\nseed: -1\nholdout_share: 2\nwhat: 1\nreplicates: 0\nchoose: disco\noutput: .\n"
        "formats: [exe]\n"
        "scenarios: {a: {keys: [nobody], targets: [sex]}, b: {keys: [sex], targets: [sex], population_share: 7}}\n"
        "candidates: {cart: {minbuckets: 3}, nothing: {}}\npolicy: [rubbish, 'repU <= moon', 'mean S_pMSE <= 10 %', "
        "'dcr <= 7000 %', 'l(age) >= 2']\n"
        "measures: [no]\n"
    )
    with pytest.raises(SchemaError) as caught:
        read_plan(path)
    text = str(caught.value)
    for part in (
        "'what'",
        "seed",
        "holdout_share",
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
        "lets every file pass",
        "'age' is a target of no scenario",
        "'no'",
    ):
        assert part in text, part


def test_columns_that_an_intruder_looks_at_are_asked_for_when_the_plan_is_read(tmp_path):
    path = make_plan(tmp_path, 100)
    path.write_text(
        "input: people.csv\nscenarios: {friend: {keys: [sex, age], targets: [income]}}\n"
        "candidates: {a: {method: cart, columns: [sex, income, nose]}, b: {method: cart, entity: age}, "
        "c: {method: cart, entity: ear}, d: {method: cart, columns: [sex, age, income]}}\n"
    )
    with pytest.raises(SchemaError) as caught:
        read_plan(path)
    told = [fault.split(";")[0].split(". There")[0] for fault in caught.value.faults]
    assert [text for text in told if "'b'" in text or "'d'" in text] == [
        "candidate 'b' leaves out 'age', which scenario 'friend' looks at"
    ]
    assert "candidate 'a' leaves out 'age', which scenario 'friend' looks at" in told
    assert "candidate 'a': no column 'nose'" in told
    assert "candidate 'c': no column 'ear'" in told


def test_a_labelled_file_is_measured(tmp_path):
    path = make_plan(tmp_path, 100)
    path.write_text(
        "input: people.csv\nholdout_share: 0\nscenarios: {friend: {keys: [sex, age], targets: [income]}}\n"
        "candidates: {a: {method: independent, then: [{do: label}]}}\npolicy: ['repU <= 100 %']\n"
        "measures: [replicated-uniques]\n"
    )
    release = run_plan(read_plan(path))
    assert release.chosen is not None


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
    table = read(tmp_path / "people.csv")
    assert not set(plan.scenarios[0].keys) & set(table.schema.by_role("identifier"))
    assert not (tmp_path / "release").exists()


def test_template_quotes_odd_names(tmp_path):
    table = Table.from_frame({'a: "b"\n# c': ["x", "y"] * 20, "<i>": [1, 2] * 20})
    keys, targets = roles(table)
    assert keys
    assert targets
    assert "Release plan" in template(Path("it's #1.csv"), table)


def clinic(rows: int = 300, seed: int = 1) -> dict[str, list[object]]:
    """As it is typed in: an empty column, one that says the same of everybody, days to the day, decimals."""
    rng = np.random.default_rng(seed)
    days = (np.datetime64("1940-01-01") + rng.permutation(20_000)[:rows]).astype(str).tolist()
    ill = rng.choice(["I10", "E11", "J45"], rows).tolist()
    return {
        "Leer": [None] * rows, "Konstant": ["DE"] * rows, "Aufnahme": days[::-1], "Geburt": days,
        "Gewicht": rng.normal(80, 9, rows).round(1).tolist(), "Groesse": rng.normal(170, 9, rows).round(1).tolist(),
        "Puls": rng.normal(70, 9, rows).round(1).tolist(), "Diagnose": ill,
    }  # fmt: skip


def test_what_tells_nobody_apart_is_no_key():
    table = Table.from_frame(clinic())
    assert roles(table) == (["Geburt"], ["Diagnose"])
    coarse = Table.from_frame(
        {**clinic(), "PLZ": [f"1{i % 20:04d}" for i in range(300)], "Geschlecht": ["m", "w"] * 150}
    )
    assert roles(coarse) == (["PLZ", "Geschlecht"], ["Diagnose"])
    unknown = {name: clinic()[name] for name in ("Leer", "Konstant", "Diagnose")}
    plain = Table.from_frame({**unknown, "Farbe": ["rot", "blau", "weiss"] * 100})
    assert roles(plain) == (["Farbe"], ["Diagnose"]), "no name says what somebody may know"


def test_a_plan_whose_keys_find_nobody_says_so(tmp_path):
    people = {**clinic(), "sex": ["f", "m"] * 150}
    pl.DataFrame(people).write_csv(tmp_path / "clinic.csv")
    seen = invoke("plan", str(tmp_path / "clinic.csv"), "-o", str(tmp_path / "plan.yaml"))
    assert "0 % are alone on 'sex'" in " ".join(seen.output.split())
    text = " ".join((tmp_path / "plan.yaml").read_text().replace("#", " ").split())
    assert "0 % are alone on 'sex': who knows no more finds hardly anybody" in text
    assert weak_keys(Table.from_frame({**people, "PLZ": [f"1{i % 149:04d}" for i in range(300)]})) == ""
    born = {name: people[name] for name in ("Geburt", "sex", "Puls")}
    assert roles(Table.from_frame(born)) == (["sex"], ["Puls"]), "a date of birth is nothing that would hurt"


def test_an_empty_column_makes_no_room_for_a_whole_table():
    assert "saturated" not in sensible_methods(Table.from_frame(clinic()))
    assert "saturated" in sensible_methods(
        Table.from_frame({"a": [1, 2] * 200, "b": ["x", "y", "y", "x"] * 100})
    )


def test_figures_about_keys_that_all_have_alike_are_not_trusted():
    data = {**clinic(), "sex": ["f", "m"] * 150}
    found = evaluate(data, data, keys=["Leer", "Konstant"], targets=["Diagnose"], holdout=clinic(300, 2))
    for name in ("disco", "replicated-uniques"):
        assert not found[name].trusted, "nobody can be found by them, whatever the file holds"
        assert "everybody in the original has the same 'Leer', 'Konstant'" in found[name].sentence
    some = evaluate(data, data, keys=["Konstant", "sex"], targets=["Diagnose"], measures=["disco"])
    assert some["disco"].trusted or "has the same" not in some["disco"].sentence


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


def test_below_is_not_at_most():
    at = Result("repU", 10.0, "", unit="%")
    assert Rule.parse("repU <= 10 %").met_by(at)
    assert not Rule.parse("repU < 10 %").met_by(at)
    assert not Rule.parse("k-marginal > 10").met_by(Result("k-marginal", 10.0, ""))
    assert Rule.parse("repU < 10.1 %").met_by(at)


@pytest.mark.parametrize(("entry", "cell"), [("", "'=1+1"), ("formulas: true\n", "=1+1")])
def test_formulas_leave_as_text_unless_the_plan_lets_them_pass(tmp_path, entry, cell):
    rows = "".join(f"{'=1+1' if i % 2 else 'x'},{i % 7}\n" for i in range(120))
    (tmp_path / "people.csv").write_text("note,age\n" + rows)
    (tmp_path / "plan.yaml").write_text(
        "input: people.csv\nscenarios: {a: {keys: [age], targets: [note]}}\ncandidates: {independent: {}}\n"
        f"measures: [two-way-utility]\npolicy: [repU <= 100 %]\noutput: out\n{entry}"
    )
    write_pack(run_plan(read_plan(tmp_path / "plan.yaml"), workers=1))
    (released,) = (tmp_path / "out" / "public").glob("*.synthetic.csv")
    notes = {line.split(",")[0].strip('"') for line in released.read_text().splitlines()[1:]}
    assert notes == {cell, "x"}


def test_formulas_are_yes_or_no(tmp_path):
    with pytest.raises(SchemaError, match="formulas: write true or false"):
        read_plan(make_plan(tmp_path, 100, PLAN + "formulas: often\n"))


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("replicates: .inf", "replicates must be a number of at least 1"),
        ("replicates: 2.5", "replicates must be a whole number"),
        ("evaluation_epsilon: .inf", "evaluation_epsilon must be a number of at least 0"),
    ],
)
def test_numbers_of_a_plan_are_finite_and_whole_where_they_count(tmp_path, entry, said):
    plan = "\n".join(line for line in PLAN.splitlines() if not line.startswith(entry.split(":")[0]))
    with pytest.raises(SchemaError, match=said):
        read_plan(make_plan(tmp_path, 100, f"{plan}\n{entry}\n"))


@pytest.mark.parametrize("options", ["minbucket=50", "50", "[minbucket]"])
def test_options_of_a_candidate_that_cannot_be_read_are_not_dropped(tmp_path, options):
    """Made with the usual options the file would be another than the plan says."""
    path = make_plan(tmp_path, 100)
    head, _, rest = PLAN.partition("candidates:\n")
    body = [line for line in rest.splitlines() if not line.startswith(" ")]
    path.write_text("\n".join([head, f"candidates: {{cart: {options}}}", *body, ""]))
    with pytest.raises(SchemaError, match="candidate 'cart': write its options as 'option: value'"):
        read_plan(path)


def test_a_folder_is_no_schema_and_names_of_candidates_are_their_own(tmp_path):
    plan = PLAN.replace("schema: schema.yaml", "schema: .").replace(
        "loglinear: {}", "cart minbucket=5: {method: cart}"
    )
    with pytest.raises(SchemaError) as caught:
        read_plan(make_plan(tmp_path, 100, plan))
    assert "schema . does not exist" in caught.value.faults
    assert "two candidates have the same name" in caught.value.faults


def test_the_seed_of_a_plan_says_who_is_set_aside(tmp_path):
    def aside(seed: int) -> list[object]:
        path = make_plan(tmp_path, 100, PLAN.replace("seed: 3", f"seed: {seed}"))
        return source(read_plan(path))[1].to_frame("dict")["income"]

    assert aside(3) == aside(3)
    assert aside(3) != aside(4)


def test_figures_of_other_code_are_not_taken_up_again(tmp_path):
    """A measure that was mended must not be answered for by what it said before."""
    others = "  saturated: {}\n  cart: {minbucket: {each: [5, 50]}}\n  loglinear: {}\n"
    plan = read_plan(make_plan(tmp_path, 200, PLAN.replace(others, "")))
    run_plan(plan, workers=1)
    work = work_folder(plan)
    figures = job_path(work, plan.candidates[0], 0)
    honest = figures.read_text()
    figures.write_text(honest.replace('"value": ', '"value": 1000', 1))
    run_plan(plan, workers=1)
    assert figures.read_text() != honest  # of this code: kept
    (work / CODE).write_text("other")
    run_plan(plan, workers=1)
    assert figures.read_text() == honest
