"""What leaves the house names no value of a small group and no parameter."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dalenius.core.result import figure
from dalenius.data import Grouping, examples, read
from dalenius.evaluation import evaluate
from dalenius.evaluation.columns import round_step
from dalenius.release import read_plan, run_plan, write_pack
from dalenius.release.jobs import file_digest, source
from dalenius.release.pack import _public_evaluation

SMALL = 10
SURVEY = """\
input: people.csv
schema: schema.yaml
scenarios: {neighbour: {keys: [sex, age, region], targets: [diagnosis, income]}}
candidates: {independent: {}}
measures: [replicated-uniques, disco, two-way-utility]
policy: ["repU <= 100 %"]
output: out
"""


def public_text(path: Path) -> str:
    """What a public file says, with the data of its charts, without the chart library's own code."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".html":
        scripts = re.findall(r"<script.*?</script>", text, re.S)
        specs = next(s for s in scripts if 'id="specs"' in s)
        text = re.sub(r"<script.*?</script>", "", text, flags=re.S)
        text = re.sub(r"<style.*?</style>|<svg.*?</svg>", "", text, flags=re.S) + specs
    return text


@pytest.fixture(scope="module")
def survey(tmp_path_factory):
    """The whole example survey, every kind of column, released once."""
    folder = tmp_path_factory.mktemp("survey")
    examples.survey(500, seed=4).write_csv(folder / "people.csv")
    examples.survey_schema().to_yaml(folder / "schema.yaml")
    (folder / "plan.yaml").write_text(SURVEY)
    release = run_plan(read_plan(folder / "plan.yaml"), workers=1)
    write_pack(release)
    return release


def column_charts(page: str) -> dict[str, str]:
    """The data behind the chart of each column, as text."""
    specs = json.loads(re.search(r'id="specs">(.*?)</script>', page, re.S).group(1))
    places = re.findall(r'<h4>([^<]*)</h4><div class="chart" id="(chart\d+)"', page)
    return {name: json.dumps(specs["charts"][chart]) for name, chart in places}


def rare_values(frame: pl.DataFrame, name: str) -> list[object]:
    counts = frame[name].drop_nulls().value_counts()
    return counts.filter(pl.col("count") < SMALL)[name].to_list()


def named(value: object, text: str, words: set[str], step: float, chart: str) -> bool:
    """Whether a text names a value; short and round numbers, which may be counts, in the column's own chart."""
    if isinstance(value, (int, float)):
        on_grid = abs(value / step - round(value / step)) < 1e-9
        rounded = f"{value:.5g}"  # as charts round
        spelt = {str(value), *([rounded] if len(rounded.strip("-")) >= 5 else [])}
        telling = len(re.sub(r"\D", "", str(value)).lstrip("0")) >= 4 and float(f"{value:.2g}") != value
        if telling and not on_grid:
            return bool(spelt & words)
        labels = "|".join(re.escape(s) for s in spelt)
        label = rf'"(?:below )?(?:{labels})(?: to below [^"]*| or more)?"'
        return not on_grid and re.search(label, chart) is not None
    spelt = str(value)
    return spelt in text and re.search(rf"(?<![\w.-]){re.escape(spelt)}(?![\w.-])", text) is not None


def test_no_column_of_the_survey_shows_a_small_group(survey):
    """Every column: what fewer than ten people have is in no report, not even in the data of a chart."""
    original, holdout = source(survey.plan)
    frame = pl.concat([t.to_frame("polars") for t in (original, holdout)])
    texts = {
        n: public_text(survey.plan.output / "public" / n)
        for n in ("report.html", "report.md", "report.json", "limits.md")
    }
    spelt = {n: set(re.findall(r"-?[\w.]+", text)) for n, text in texts.items()}
    charts = column_charts((survey.plan.output / "public" / "report.html").read_text())
    assert {"age", "income", "diagnosis", "bmi"} <= set(charts)
    breaks = Grouping.fit(original).breaks
    checked = {}
    for name in frame.columns:
        rare = rare_values(frame, name)
        step = round_step(float(np.ptp(breaks[name])) / 20) if name in breaks else 1.0
        for file, text in texts.items():
            shown = [value for value in rare if named(value, text, spelt[file], step, charts.get(name, ""))]
            assert not shown, (file, name, len(shown))
        checked[name] = len(rare)
    assert set(checked) == set(examples.survey(5).columns)
    assert sum(checked.values()) > 3000
    assert checked["person_id"] == checked["birth_date"] or checked["birth_date"] > 400


def test_the_leak_test_would_see_a_leak():
    text = '{"value":"97 or more"} and 1234.5 and "below 71" and G35, 12 in 100'
    words = set(re.findall(r"-?[\w.]+", text))
    assert named(97, text, words, 5.0, text)
    assert named(71, text, words, 5.0, text)
    assert named(1234.5, text, words, 5.0, "")
    assert named("G35", text, words, 1.0, "")
    assert not named(12, text, words, 5.0, text), "a count in a sentence is not a label"
    assert not named("G3", text, words, 1.0, "")


def test_codebook_names_nothing_that_is_not_released(survey):
    """Columns and categories of the codebook are those of the released file, so none that only the source has."""
    folder = survey.plan.output / "public"
    book = json.loads((folder / "codebook.json").read_text())
    data = read(folder / "people.synthetic.csv").to_frame("polars")
    assert [entry["name"] for entry in book["columns"]] == data.columns
    assert not {"person_id", "household_id"} & set(data.columns)
    for entry in book["columns"]:
        held = {str(value) for value in data[entry["name"]]}
        assert {c.split(" (")[0] for c in entry.get("categories", [])} <= held, entry["name"]


def test_public_report_names_no_rare_value_even_if_released(released):
    original, _ = source(released.plan)
    counts = original.to_frame("polars")["diagnosis"].drop_nulls().value_counts()
    rare = set(counts.filter(pl.col("count") < SMALL)["diagnosis"])
    for name in ("report.html", "report.md", "report.json", "limits.md"):
        assert not rare & set(re.findall(r"[\w.-]+", public_text(released.plan.output / "public" / name)))
    inside = (released.plan.output / "internal" / "report.md").read_text()
    assert "fewer than 10 real records" in inside


def test_public_files_withhold_parameters(released):
    out = released.plan.output / "public"
    held = "".join(public_text(p) for p in out.iterdir() if p.suffix in (".html", ".md", ".json"))
    digest = file_digest(released.plan.input)
    for secret in (
        digest,
        "seed",
        "minbucket",
        "S_pMSE <= 60",
        "holdout + 40",
        "dalenius release",
        "candidate",
    ):
        assert secret not in held, secret
    assert "Survey <b>&" not in public_text(out / "report.html")


def test_no_public_share_tells_of_a_handful():
    """Two of 1,600 people are 0.125 %: the figure, its range and its sentence would say so."""
    columns = ["sex", "age", "region", "marital", "income", "diagnosis", "bmi", "education", "health"]
    people = examples.survey(1600, seed=1).select(columns)
    made, others = (examples.survey(1600, seed=s).select(people.columns) for s in (2, 3))
    file = pl.concat([people[:2], made[2:]])
    schema = examples.survey_schema().select(people.columns)
    found = evaluate(people, file, schema, holdout=others, measures=["identical-matches", "dcr"])
    assert 0 < found["identical-matches"].value * 16 < SMALL
    shown = _public_evaluation(found)
    told = json.dumps(shown["identical-matches"].to_dict())
    assert shown["identical-matches"].value * 16 == SMALL
    assert "less than" in told
    assert figure(found["identical-matches"].value) not in told
    assert shown["dcr"].value == found["dcr"].value
