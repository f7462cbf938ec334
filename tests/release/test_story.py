"""The first page, read by a stand-in for a person who knows nothing about disclosure control.

No person was asked. What a test can see: the four questions stand there as headings, each is answered at once and with
the figures of this run, and no word of the field is used without being explained on the same page.
"""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace

import polars as pl
import pytest

from dalenius import Result
from dalenius.cli._console import Terminal
from dalenius.cli.release import _show
from dalenius.core.option import knobs
from dalenius.core.replicates import mean_result
from dalenius.core.result import Interval
from dalenius.data import examples
from dalenius.evaluation import compare
from dalenius.evaluation.policy import Rule, described, judge
from dalenius.release.outcome import MOST_MAPS, _finding, _on_map
from dalenius.release.tell import _worst, close_lines
from dalenius.report.people import against_strangers
from dalenius.report.story import LIKELY, chances, likely_lines
from dalenius.report.words import comparison_story
from dalenius.synth import METHODS

QUESTIONS = ("What was released?", "What could go wrong?", LIKELY, "What may it be used for?")
JARGON = (
    "intruder", "key", "keys", "target", "targets", "holdout", "repU", "DiSCO", "S_pMSE", "pMSE", "synthetic",
    "protected", "candidate", "candidates", "policy", "utility", "disclosure", "disclosive", "differential privacy",
    "ε", "δ", "epsilon", "record", "records", "column", "columns", "original", "margin", "margins", "replicate",
    "replicates", "quasi-identifier", "uniques", "seed", "microdata", "attribute", "propensity", "privacy budget",
)  # fmt: skip


def plain(page: str) -> str:
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", re.sub(r"<svg.*?</svg>", "", page, flags=re.S)))


@pytest.fixture(scope="module", params=["public", "internal"])
def page(request, released) -> str:
    return (released.plan.output / request.param / "report.html").read_text(encoding="utf-8")


def verdict(page: str) -> str:
    return re.search(r'<section class="lead" id="summary".*?</section>', page, re.S).group(0)


def answers(page: str) -> dict[str, str]:
    end = r'(?=<div class="answer">|<div class="words-used">|</section>)'
    blocks = re.findall(rf'<div class="answer"><h2>(.*?)</h2>(.*?){end}', verdict(page), re.S)
    return {html.unescape(head): html.unescape(plain(body)) for head, body in blocks}


def test_the_verdict_comes_first_and_has_the_four_questions(page):
    assert tuple(answers(page)) == QUESTIONS
    assert page.index('id="summary"') < page.index("For the statistician") < page.index("For the auditor")


def test_each_answer_begins_with_one_short_sentence(page):
    shorts = [plain(text) for text in re.findall(r'<p class="short">(.*?)</p>', verdict(page), re.S)]
    assert len(shorts) == len(QUESTIONS)
    for head, text in zip(QUESTIONS, shorts, strict=True):
        assert len(text.split()) <= (40 if head == LIKELY else 20), text


def test_what_was_released_is_told_with_this_runs_numbers(page, released):
    text = answers(page)[QUESTIONS[0]]
    assert ("320 people who do not exist" in text) == released.chosen.made_up
    assert "7 facts" in text
    assert all(name in text for name in ("region", "income", "diagnosis"))
    assert METHODS[released.chosen.candidate.method].info.plain in text


def test_what_could_go_wrong_names_what_is_known_and_wanted(page, released):
    text = answers(page)[QUESTIONS[1]]
    scenario = released.plan.scenarios[0]
    assert all(name in text for name in (*scenario.keys, *scenario.targets))


def strangers(released) -> str:
    """The sentence that the first screen must hold: people in the data, strangers, and the rest."""
    found = released.chosen.runs[0][released.plan.scenarios[0].name]["disco"]
    target = next(name for name, value in found.values.items() if value == found.value)
    return against_strangers(found.value, found.outside, f"somebody could read off the {target} of {{}}")


def test_three_questions_are_answered_by_the_first_screen_alone(page, released):
    """What was released, what could go wrong, how much of that is this file's doing."""
    told = answers(page)
    assert re.search(
        r"A file (about|of) 320 (people who do not exist|lines), with 7 facts about each", told[QUESTIONS[0]]
    )
    assert "Somebody could learn something about a real person, or think so" in told[QUESTIONS[1]]
    doing = told[QUESTIONS[2]]
    head = plain(verdict(page).partition('<div class="four">')[0])
    assert re.search(r"of 1,?000? who are not in it, .*so the file itself (gives away|adds)", head), (
        "above the fold"
    )
    assert strangers(released)[1:] in doing
    assert re.search(
        r"of 100 who are not in it, of \d+; so the file itself gives away (about \d+|nothing that shows)",
        doing,
    )
    pictures = re.findall(r'<div class="crowd" role="img" aria-label="(.*?)"', verdict(page))
    nearly = sum("nearly comes out" in words for words in pictures)  # where that stands against the file
    assert len(pictures) == 3 + nearly
    assert verdict(page).count("<circle") >= 300


def test_the_same_sentence_stands_in_page_markdown_and_json(released):
    folder = released.plan.output / "public"
    for name in ("report.html", "report.md", "report.json"):
        assert strangers(released)[1:] in (folder / name).read_text(encoding="utf-8"), name


def test_the_first_screen_says_why_the_others_were_not_chosen(released):
    shown = html.unescape(plain(verdict((released.plan.output / "internal" / "report.html").read_text())))
    others = [j.candidate.name for j in released.judged if j is not released.chosen]
    assert len(released.refusals) == len(others) == 4
    for name, line in zip(others, released.refusals, strict=True):
        assert line.count(". ") == 0
        assert f"'{name}'" in "".join(released.refusals)
        assert line in shown
    assert (
        json.loads((released.plan.output / "internal" / "results.json").read_text())["refused"]
        == released.refusals
    )


def test_the_headline_is_what_the_file_adds_most_not_the_highest_level():
    """Everybody has the one fact, inside and outside; the other is this file's doing."""
    known = Result("disco", 100.0, "", unit="%", outside=100.0, values={"citizen": 100.0})
    found = Result("replicated-uniques", 14.5, "", unit="%", outside=2.2)
    assert likely_lines(chances([known, found], ["age"]), 1.0)[0].startswith(
        "Of 100 people in the data 14 seem to be"
    )


def test_the_first_screen_is_about_the_intruder_to_whom_most_is_added(released):
    """By what is added, not by level, and not by who stands first in the plan."""
    first, second = released.plan.scenarios
    told = Result("disco", 90.0, "", unit="%", outside=89.0, values={"health": 90.0})
    worse = Result("disco", 30.0, "", unit="%", outside=10.0, values={"diagnosis": 30.0})
    judged = replace(
        released.chosen,
        runs=({first.name: {"disco": told}, second.name: {"disco": worse}},),
        figures={first.name: {"disco": told}, second.name: {"disco": worse}},
    )
    everybody = tuple(replace(s, population_share=1.0) for s in (first, second))
    plan = replace(released.plan, scenarios=everybody)
    assert _worst(plan, judged).name == second.name
    utility = Result("two-way-utility", 2.0, "")
    figures = {name: {**found, plan.choose: utility} for name, found in judged.figures.items()}
    drawn = replace(released, plan=plan, judged=(replace(judged, figures=figures),), chosen=None)
    assert drawn.points("disco")["risk"].to_list() == [20.0], "on the map too"
    assert drawn.points("disco", first.name)["risk"].to_list() == [1.0]


def test_limits_that_chance_may_have_met_are_told_on_the_first_screen(released):
    rule = Rule.parse("DiSCO surely added <= 5 points")
    found = Result("disco", 24.0, "", unit="%", outside=20.0, added_interval=Interval(1.0, 9.0))
    judged = replace(released.chosen, findings=(judge(rule, "one", 1.0, [found]),))
    (line,) = close_lines(judged)
    assert line == (
        "A close call, where chance may have decided: people about whom something true could be read off. Setting more "
        "people aside would tell."
    )
    above = Result("disco", 26.0, "", unit="%", outside=20.0, added_interval=Interval(3.0, 9.0))
    other = Rule.parse("repU surely added <= 5 points")
    findings = (judge(other, "one", 1.0, [found]), judge(rule, "one", 1.0, [above]))
    assert close_lines(replace(released.chosen, findings=findings)) == [
        "Close calls, where chance may have decided: people about whom something true could be read off (6 points "
        "measured, where 5 points is the limit); people who seem to be found. Setting more people aside would tell."
    ]
    for two in ((found, above), (above, found)):  # of two intruders the one who is told more
        asked = tuple(judge(rule, name, 1.0, [each]) for name, each in zip(("one", "two"), two, strict=True))
        (line,) = close_lines(replace(released.chosen, findings=asked))
        assert "(6 points measured, where 5 points is the limit)" in line
    sure = Result("disco", 24.0, "", unit="%", outside=20.0, added_interval=Interval(3.0, 4.9))
    assert not close_lines(replace(released.chosen, findings=(judge(rule, "one", 1.0, [sure]),)))


def test_files_side_by_side_are_each_told_against_strangers():
    """A level alone does not tell harm from general knowledge: every file has its own strangers beside it."""
    people, others = (
        examples.survey(600, seed=n).select("sex", "age", "region", "diagnosis") for n in (1, 2)
    )
    shuffled = people.select(pl.col(name).shuffle(seed=n) for n, name in enumerate(people.columns))
    files = {"copy": people, "shuffled": shuffled}
    story = comparison_story(compare(people, files, None, ["sex", "age", "region"], ["diagnosis"], others))
    about = [line for line in story.likely if line.startswith("'")]
    assert len(about) == len(files)
    for line in about:
        assert re.search(r"of 1,?000? who are not in it, .*so the file itself (gives away|adds)", line)


def test_what_it_may_be_used_for_says_what_not(page):
    text = answers(page)[QUESTIONS[3]]
    assert "first looks" in text
    assert "Not for decisions about single people" in text


def test_every_word_of_the_field_is_explained_on_the_first_page(page):
    shown = verdict(page)
    body, _, words = shown.partition('<div class="words-used">')
    text = plain(body)
    text = re.sub(r"Name of the method, for experts: [^.]*\.", "", text)
    explained = plain(words).lower()
    used = [w for w in JARGON if re.search(rf"(?<!\w){re.escape(w)}(?!\w)", text, re.IGNORECASE)]
    assert not [word for word in used if word.lower().rstrip("s") not in explained]


def test_every_method_has_plain_words_and_true_knobs():
    offered = [kind for kind in METHODS.values() if not kind.info.copies_rows and not kind.info.masks]
    for kind in offered:
        assert kind.info.plain
        said = [kind.info.plain, kind.info.promise, *(k.option.meaning for k in knobs(kind))]
        assert not [w for w in JARGON if re.search(rf"(?<!\w){re.escape(w)}(?!\w)", kind.info.plain)], said
        for knob in knobs(kind):
            assert knob.option.title
            assert knob.option.meaning
            assert getattr(kind(), knob.name) == knob.default
    assert [k.name for k in knobs(METHODS["cart"])] == ["minbucket", "diversity"]
    assert [k.name for k in knobs(METHODS["parametric"])] == []
    assert {k.name for k in knobs(METHODS["mst"])} == {"epsilon", "groups", "domain"}


def test_the_markdown_report_tells_the_same(released):
    text = (released.plan.output / "internal" / "report.md").read_text(encoding="utf-8")
    assert all(f"## {question}" in text for question in QUESTIONS)
    assert "Words used above" in text
    assert "The policy, line by line" in text


def test_release_in_a_notebook(released):
    shown = released._repr_html_()
    assert released.chosen.candidate.name in shown
    assert "<b>&" not in shown
    assert shown.count("<svg") == min(len(released.risks), MOST_MAPS)
    assert released.table["unbeaten"].any()
    assert "layer" in released.chart().to_dict()


def test_figures_fit_a_terminal_of_80_columns_without_broken_words(released, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    _show(released, Terminal(quiet=False, as_json=False))
    seen = capsys.readouterr().out
    lines = seen.splitlines()
    assert max(map(len, lines)) <= 80
    measures = [limit.measure for limit in released.plan.about("pair")]
    for word in (*measures, *(word for j in released.judged for word in j.candidate.name.split())):
        assert word in seen, word
    assert sum(line.strip().startswith("policy ") for line in lines) == -(-len(released.judged) // 4)
    beside = [line.split() for line in lines if line.strip().startswith("adds ")]
    found = released.judged[0].figures[released.plan.scenarios[0].name]
    assert f"{found['disco'].added:+.3g}" in [row[1] for row in beside], (
        "what is added stands under each level"
    )


@pytest.mark.parametrize(("added", "low"), [(6.2, 3.0), (6.2, 5.5), (11.0, -2.0), (4.0, 1.0), (9.9, 4.9)])
def test_a_file_lies_above_its_limit_on_the_map_where_it_misses_it(added, low):
    rule = Rule.parse("near-copies surely added <= 5 points")
    found = Result(
        "near-copies", 13.7 + added, "", outside=13.7, added_interval=Interval(low, 2 * added - low)
    )
    limit = _on_map(rule, found, judge(rule, "one", 1.0, [found]))
    assert (found.added <= limit) == rule.met_by(found)


def test_limits_on_the_map_are_those_of_every_file_that_was_made():
    """Two files of one candidate: the map shows their mean, whose range is not the one that was judged."""
    rule = Rule.parse("near-copies surely added <= 5 points")
    for values, met in (((9.0, 9.6), True), ((4.0, 12.0), False)):
        runs = [
            Result("near-copies", 13.0 + v, "", outside=13.0, added_interval=Interval(v - 5, v + 5))
            for v in values
        ]
        mean = mean_result(runs, "range")
        finding = judge(rule, "one", 1.0, runs)
        assert finding.met == met
        assert (mean.added <= _on_map(rule, mean, finding)) == met
        room = finding.bound - finding.value  # as far from the point as the worst file is from the line
        assert _on_map(rule, mean, finding) == pytest.approx(mean.added + room)
    level = Rule.parse("dcr <= 70 %")
    runs = [Result("dcr", v, "", unit="%", outside=50.0) for v in (60.0, 66.0)]
    assert _on_map(level, mean_result(runs, "range"), judge(level, "one", 1.0, runs)) == 20.0
    known = described("nndr")
    runs = [
        Result("nndr", v, "", outside=0.6).with_info(known) for v in (0.45, 0.65)
    ]  # the mean is within it
    lower, mean = Rule.parse("nndr >= 0.5"), mean_result(runs, "range")
    finding = judge(lower, "one", 1.0, runs)
    assert not finding.met
    assert mean.added > _on_map(lower, mean, finding)


def test_a_line_that_is_the_same_for_every_intruder_is_found_for_each(released):
    first, second = released.plan.scenarios
    rule = Rule.parse("dcr <= 70 %")
    finding = judge(rule, first.name, 1.0, [Result("dcr", 60.0, "", unit="%")])
    judged = replace(released.chosen, findings=(finding,))
    assert _finding(judged, rule, second.name) is finding


def test_the_strictest_of_two_limits_is_drawn(released):
    rules = tuple(Rule.parse(line) for line in ("k >= 3", "k >= 5"))
    name = released.plan.scenarios[0].name
    found = {
        "k-anonymity": Result("k-anonymity", 4.0, "").with_info(described("k-anonymity")),
        released.plan.choose: Result("two-way-utility", 2.0, ""),
    }
    judged = replace(released.chosen, figures={name: found})
    drawn = replace(released, plan=replace(released.plan, policy=rules), judged=(judged,), chosen=None)
    point = drawn.points("k-anonymity", name).row(0, named=True)
    assert point["risk"] > point["risk_limit"], "four are fewer than five"
