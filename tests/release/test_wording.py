"""What readers take from the summary, the map and the first screen: figures that belong together, with ranges."""

from __future__ import annotations

import html
import json
import re
from dataclasses import replace

import polars as pl
import pytest

from dalenius import Result
from dalenius.core.labels import place_labels
from dalenius.core.maps import risk_utility_map
from dalenius.core.result import Interval
from dalenius.evaluation.plotting import compare_plot
from dalenius.evaluation.policy import Rule, judge
from dalenius.release.outcome import HEADED
from dalenius.release.tell import public_story
from dalenius.report.overview import pareto
from dalenius.report.story import chances
from dalenius.report.words import marked

from .conftest import PLAN, invoke, make_plan


def test_a_summary_is_of_one_target_where_replicates_have_different_worst_ones(tmp_path):
    """A mean of two targets' levels is nobody's figure: level, strangers and what is added belong together."""
    head, _, _ = PLAN.partition("candidates:")
    rest = "candidates: {independent: {}}\nmeasures: [disco]\nreplicates: 4\noutput: out\n"
    rest += 'policy: ["DiSCO <= 100 %"]\n'
    plan = make_plan(tmp_path, text=head.replace("diagnosis, health", "marital, health") + rest)
    shown = invoke("release", str(plan), "--workers", "1")
    assert shown.exit_code == 0, shown.output
    told = json.loads((tmp_path / "out" / "internal" / "results.json").read_text())
    told = told["candidates"]["independent"]
    runs = [run["neighbour"]["disco"] for run in told["replicates"]]
    assert len({run["table"][0]["target"] for run in runs}) == 2, "the case is void: one target each time"
    mean = told["means"]["neighbour"]["disco"]
    worst = max(runs, key=lambda run: run["added"])
    figures = ("value", "outside", "added")
    assert [mean[name] for name in figures] == [worst[name] for name in figures]
    assert repr(worst["table"][0]["target"]) in mean["sentence"]
    rows = [line.split() for line in shown.output.splitlines()]
    at = next(n for n, words in enumerate(rows) if words[:2] == ["disco", "neighbour"])
    assert rows[at][2] == f"{mean['value']:.3g}"
    assert rows[at + 2] == ["target", worst["table"][0]["target"]]


def test_the_first_screen_tells_how_far_chance_may_have_moved_what_the_file_adds(released):
    """The same words in every form: HTML, Markdown and JSON, inside and outside."""
    folder = released.plan.output
    for part, name in [("public", n) for n in ("report.html", "report.md", "report.json")] + [
        ("internal", n) for n in ("report.html", "report.md")
    ]:
        text = html.unescape((folder / part / name).read_text(encoding="utf-8"))
        found = re.search(
            r"so the file itself [^.(]*\(allowing for chance, (at most \d+|\d+ to \d+)\)\.", text
        )
        assert found is not None, (part, name)
    some = Result("disco", 55.0, "", unit="%", outside=50.0, added_interval=Interval(0.6, 9.1))
    assert chances([some], ["age"])[0].short.endswith("gives away about 5 (allowing for chance, 1 to 9).")
    assert chances([some], ["age"], 0.5)[0].short.endswith("(allowing for chance, 3 to 46)."), (
        "a thousand people"
    )


def test_what_strangers_share_is_named_for_what_it_is():
    """Facts are guessed; that a line fits a stranger is coincidence. No sentence states that somebody came out."""
    figures = [Result(name, 0.0, "", unit="%", outside=0.0) for name in HEADED]
    read, found, whole = chances(figures, ["age"])
    assert "general knowledge" in read.said
    assert "coincidence" in found.said
    assert "general knowledge" not in found.said + whole.said
    assert whole.said.startswith("Counted are people of whom one line of the file holds every fact.")


def test_users_of_the_data_are_told_of_close_calls_without_the_limits(released):
    rule = Rule.parse("DiSCO surely added <= 5 points")
    found = Result("disco", 26.0, "", unit="%", outside=20.0, added_interval=Interval(3.0, 9.0))
    chosen = replace(released.chosen, findings=(judge(rule, "one", 1.0, [found]),))
    opened = released.open(chosen.candidate)
    decided = public_story(released, chosen, opened.original, opened.table).decided
    assert any("chance may have decided: people about whom" in line for line in decided)
    assert not re.search(r"\d", " ".join(decided))


def test_a_close_call_about_copying_leaves_no_flat_word_that_nobody_is_real(released, monkeypatch):
    monkeypatch.setattr("dalenius.release.outcome.copies_nobody", lambda _: True)
    rule = Rule.parse("near-copies surely added <= 5 points")
    opened = released.open(released.chosen.candidate)
    for high, made_up in ((3.0, True), (9.0, False)):
        found = Result("near-copies", 22.0, "", unit="%", outside=20.0, added_interval=Interval(0.0, high))
        chosen = replace(released.chosen, findings=(judge(rule, "one", 1.0, [found]),))
        story = public_story(released, chosen, opened.original, opened.table)
        told = " ".join([*story.decided, *story.released])
        assert ("not people" in told) == ("do not exist" in told) == ("not ruled out" not in told) == made_up
        assert ("chance may have decided" in told) != made_up


def test_a_line_says_what_was_measured_beside_what_is_sure():
    rule = Rule.parse("DiSCO surely added <= 5 points")
    for high, shown in ((6.5, "surely 3.5 points of 7 points against 5 points, met"),
                        (9.0, "surely 3.5 points against 5 points (measured 7 points,")):  # fmt: skip
        found = Result("disco", 27.0, "", unit="%", outside=20.0, added_interval=Interval(5.5 - 4, high))
        told = replace(found, added_interval=Interval(3.0, high) if high > 7 else Interval(3.0, 4.9))
        assert shown in judge(rule, "one", 1.0, [told]).said


def test_the_main_map_is_of_the_headline_figure(released):
    """What the file adds, whichever of the three told in people is most; files that tie are not beaten."""
    drawn = released.points()
    for row in drawn.iter_rows(named=True):
        own = next(j for j in released.judged if j.candidate.name == row["candidate"])
        added = [r[n].added for r in own.figures.values() for n in HEADED if n in r]
        assert row["risk"] == pytest.approx(max(0.0, *added))
    assert "whichever is most" in drawn["risk_title"][0]
    page = (released.plan.output / "internal" / "report.html").read_text(encoding="utf-8")
    assert re.search(r"Who beats whom</h3>.*?whichever is most", page, re.S)
    assert released.risks[0] == "disco"


def test_a_tie_is_no_defeat():
    points = pl.DataFrame(
        {
            "candidate": ["a", "b", "c"], "risk": [0.0, 0.0, 2.0], "utility": [2.0, 5.0, 3.0],
            "risk_title": ["x"] * 3, "utility_title": ["y"] * 3, "utility_better": ["lower"] * 3,
        }
    )  # fmt: skip
    told = {row["name"]: (row["by"], row["level"]) for row in pareto(points)["rows"]}
    assert told == {"a": ("", ""), "b": ("", "a"), "c": ("a", "")}


def test_no_name_on_the_map_stands_nearer_to_another_point():
    """Two points side by side: the name of the right one does not go between them."""
    spots = [(210.0, 100.0), (272.0, 100.0), (284.0, 112.0)]
    for own, place in zip(
        spots, place_labels(spots, ["syndiffix ✓", "cart ✓", "loglinear ✓"], 400, 200), strict=True
    ):
        assert all(place.gap(*own) < place.gap(*other) for other in spots if other != own)


def test_no_green_area_goes_on_above_limits_that_each_file_has_for_itself():
    points = pl.DataFrame(
        {
            "candidate": ["a", "b"], "risk": [1.0, 2.0], "risk_low": [0.5, 1.0], "risk_high": [2.0, 3.0],
            "utility": [2.0, 5.0], "risk_title": ["x"] * 2, "utility_title": ["y"] * 2,
            "utility_better": ["lower"] * 2, "original_risk": [None, None], "safe": [True, True],
            "risk_limit": [4.0, 5.0], "utility_limit": [10.0, 10.0],
        }
    )  # fmt: skip
    marks = [layer["mark"]["type"] for layer in risk_utility_map(points).to_dict()["layer"]]
    assert "rect" not in marks
    same = points.with_columns(pl.lit(5.0).alias("risk_limit"))
    assert "rect" in [layer["mark"]["type"] for layer in risk_utility_map(same).to_dict()["layer"]]


def test_a_mark_that_the_figure_does_not_explain_says_what_it_rests_on():
    counts = {"good tables": 80.0, "usable tables": 10.0, "bad tables": 10.0}
    assert marked(Result("two-way-utility", 4.0, "", values=counts)) == {
        "word": "bad", "why": "10 of 100 tables are bad"
    }  # fmt: skip
    assert marked(Result("two-way-utility", 40.0, "", values=counts))["why"] == ""


def test_years_are_written_without_a_comma():
    born = {"born": [1930 + n % 75 for n in range(900)], "height": [1500 + 7 * n % 700 for n in range(900)]}
    for name, comma in (("born", False), ("height", True)):
        drawn = compare_plot(born, born, name).svg
        assert bool(re.search(r">[12],\d{3}<", drawn)) == comma, name


def test_titles_of_small_maps_are_not_cut():
    """A title longer than its axis runs out of the picture."""
    facts = {
        "candidate": ["a", "b"],
        "utility": [1.0, 2.0],
        "risk": [1.0, 3.0],
        "original_risk": [None, None],
    }
    facts |= {
        "utility_better": ["lower"] * 2,
        "risk_title": ["Disclosive in synthetic: what the file adds"] * 2,
    }
    facts |= {"utility_title": ["Two-way tables in the original's detail (mean S_pMSE)"] * 2}
    titles = {}
    for width in (260, 620):
        said = str(risk_utility_map(pl.DataFrame(facts), width).to_dict())
        titles[width] = '["Two-way' in said
    assert titles == {260: True, 620: False}
