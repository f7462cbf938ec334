"""The verdict: several dimensions, no release of copies, and no kind word that the figures do not carry."""

from __future__ import annotations

import importlib.util
import json
from dataclasses import replace
from pathlib import Path

import pytest

from dalenius.core.errors import OptionError
from dalenius.counts.measure import MEASURES
from dalenius.data import Role, examples
from dalenius.evaluation import DEFAULT_POLICY, Rule, compare
from dalenius.evaluation.policy import DIMENSIONS, open_dimensions
from dalenius.release import read_plan, run_plan, write_pack
from dalenius.report.words import comparison_story, reading
from tests import LONG

from .conftest import PLAN, invoke, make_plan

ROOT = Path(__file__).parents[2]


def bench_verdict():
    """The bench as a module: the same candidates and the same judgement."""
    spec = importlib.util.spec_from_file_location("bench_verdict", ROOT / "bench" / "verdict.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_default_policy_has_a_limit_in_every_dimension():
    rules = [Rule.parse(line) for line in DEFAULT_POLICY]
    assert open_dimensions(rules) == []
    assert {MEASURES[r.measure].info.dimension for r in rules} == {*DIMENSIONS, None}
    copying = {r.measure for r in rules if MEASURES[r.measure].info.dimension == "copying"}
    assert copying == {"identical-matches", "dcr"}
    with pytest.raises(OptionError, match="'added' goes with a risk figure"):
        Rule.parse("mean S_pMSE added <= 3")


@pytest.mark.parametrize("policy", ["", "policy: []\n", 'policy: ["repU <= 100 %"]\n'])
def test_a_copy_is_never_released_and_never_called_made_up(tmp_path, policy):
    """Without a policy, and under one that would let everything pass."""
    head, _, _ = PLAN.partition("candidates:")
    make_plan(
        tmp_path,
        300,
        head + "candidates: {bootstrap: {}}\nmeasures: [two-way-utility]\noutput: out\n" + policy,
    )
    answer = invoke("release", str(tmp_path / "plan.yaml"), "--workers", "1", "--json", "-q")
    assert answer.exit_code == 1
    assert "copies whole rows of the data" in json.loads(answer.stdout)["why"]
    assert not (tmp_path / "out").exists()


def test_a_plan_without_a_policy_gets_the_default_one_and_says_so(tmp_path):
    head, _, _ = PLAN.partition("candidates:")
    text = head + "candidates: {independent: {}, bootstrap: {}}\nmeasures: [two-way-utility]\noutput: out\n"
    plan = read_plan(make_plan(tmp_path, 800, text))
    assert [rule.text for rule in plan.policy] == list(DEFAULT_POLICY)
    assert plan.default_policy
    release = run_plan(plan, workers=1)
    assert release.chosen is not None, release.why
    write_pack(release)
    inside, outside = ((plan.output / part / "report.md").read_text() for part in ("internal", "public"))
    assert "the default policy, since the plan sets none" in inside
    assert all(line.split(" <=")[0] in inside for line in DEFAULT_POLICY)
    assert "This file met default limits" in outside
    assert "limits the data holder has set" not in outside
    assert "'bootstrap' copies whole rows of the data: it is shown to read the others by" in inside
    assert set(release.points("disco")["candidate"]) == {"independent", "bootstrap"}, (
        "references stay on the map"
    )


def test_kind_words_need_the_copying_measures(tmp_path):
    """A method that leaks is let out by a careless policy: no word says that its records are made up."""
    plan = read_plan(
        make_plan(
            tmp_path, 300,
            PLAN.partition("candidates:")[0] + "candidates: {saturated: {}}\nmeasures: [two-way-utility]\n"
            'policy: ["repU <= 100 %"]\noutput: out\n',
        )
    )  # fmt: skip
    release = run_plan(plan, workers=1)
    assert not release.chosen.made_up
    write_pack(release)
    for name in (
        "public/report.md",
        "public/report.json",
        "public/limits.md",
        "public/report.html",
        "internal/report.md",
    ):
        text = (plan.output / name).read_text().lower()
        assert "made-up" not in text
        assert "made up" not in text.replace("as if made up", "")
        assert "not people" not in text
        assert "not real people" not in text
        assert "do not exist" not in text
    assert (
        "No limit was set against copying, attribution or membership"
        in (plan.output / "internal" / "report.md").read_text()
    )


def test_the_short_list_looks_at_every_dimension():
    """The demo's data: the saturated model repeats people, independent columns keep no relation."""
    from dalenius.cli.demo import demo_survey
    from dalenius.synth import make_synthesizer

    original, holdout = demo_survey(2000, 1)
    made = {
        n: make_synthesizer(n).fit(original, seed=1).sample(seed=2)
        for n in ("saturated", "independent", "cart")
    }
    comparison = compare(original, made, holdout=holdout)
    story = comparison_story(comparison)
    assert comparison["saturated"]["dcr"].value > 90
    short_list = story.why.partition(". ")[2].partition("on the short list")[0]
    assert "'saturated'" not in short_list
    assert "'cart'" in short_list
    assert any(line.startswith("'saturated' is not on the short list for") for line in story.refused)
    assert reading(comparison["independent"]["two-way-utility"]) == "bad"
    assert reading(comparison["cart"]["two-way-utility"]) == "good"


@pytest.mark.parametrize("replicates", [1, pytest.param(10 if LONG else 3, marks=pytest.mark.slow)])
@pytest.mark.parametrize("ratio", ["1:1", "4:1", "1:4"])
def test_copies_and_a_leak_are_refused_and_noise_is_admitted_at_every_ratio(ratio, replicates):
    bench = bench_verdict()
    for seed in range(1, replicates + 1):
        data, others = bench.people(2500, seed, bench.RATIOS[ratio])
        for name in bench.MUST_REFUSE:
            assert bench.missed(name, data, others, seed), name
        assert "identical-matches added <= 2 %" in bench.missed("5 % leak", data, others, seed)
        assert bench.missed(bench.MUST_ADMIT, data, others, seed) == []


def test_people_with_several_rows_are_set_aside_whole(tmp_path):
    from dalenius.release.jobs import source

    frame = examples.survey(300, seed=1).select("person_id", "sex", "age", "region", "diagnosis")
    many = frame.vstack(frame).vstack(frame)
    many.write_csv(tmp_path / "people.csv")
    schema = examples.survey_schema().select(frame.columns)
    entity = schema["person_id"]
    changed = [replace(c, roles=(Role.ENTITY,)) if c is entity else c for c in schema]
    replace(schema, columns=tuple(changed)).to_yaml(tmp_path / "schema.yaml")
    (tmp_path / "plan.yaml").write_text(
        "input: people.csv\nschema: schema.yaml\nscenarios: {a: {keys: [sex, age], targets: [diagnosis]}}\n"
        "candidates: {independent: {}}\n"
    )
    inside, outside = source(read_plan(tmp_path / "plan.yaml"))
    ids = [set(t.to_frame("polars")["person_id"]) for t in (inside, outside)]
    assert not ids[0] & ids[1]
    assert len(ids[0] | ids[1]) == 300
