"""Tables of three dimensions are shown whole, or say what is not in view; linked ones go by their names."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from dalenius.cli import app


@pytest.fixture
def people(tmp_path: Path) -> Path:
    rng = np.random.default_rng(4)
    frame = pl.DataFrame(
        {
            "job": rng.choice(["clerk", "farmer", "nurse"], 400, p=[0.6, 0.1, 0.3]),
            "town": rng.choice(["Ash", "Elm", "Oak", "Yew"], 400),
            "sex": rng.choice(["f", "m"], 400),
        }
    )
    frame.write_csv(tmp_path / "people.csv")
    return tmp_path / "people.csv"


def invoke(*words: str):
    return CliRunner().invoke(app, list(words))


def test_every_slice_of_a_table_of_three_dimensions_is_on_its_page(people, tmp_path):
    page = tmp_path / "t.html"
    given = ("--by", "job,town,sex", "--rule", "freq:3", "--down", "town", "--html", str(page))
    shown = invoke("tables", "protect", str(people), *given)
    assert shown.exit_code == 0, shown.output
    assert "Shown: sex = Total. Not in this view: 40 of 60 cells." in shown.output
    text = page.read_text()
    assert len(re.findall(r"<td[ >]", text.partition("<h2>What hangs together")[0])) == 60
    for where in ("sex = Total", "sex = f", "sex = m"):
        assert f"{where} <small>20 cells" in text
    assert re.findall(r'<th scope="col">(town \\ job)</th>', text), "towns were asked to run down"
    assert "<title>Protected table: counts by job × town × sex (people.csv)</title>" in text
    shown = invoke("tables", "protect", str(people), "--by", "job,town", "--rule", "freq:3")
    assert "Not in this view" not in shown.output


def test_linked_tables_stand_under_their_names_and_go_to_a_folder(people, tmp_path):
    page, folder = tmp_path / "t.html", tmp_path / "linked"
    given = ("--table", "a=job,town", "--table", "b=job,sex", "--rule", "freq:3")
    shown = invoke("tables", "protect", str(people), *given, "--html", str(page), "-o", str(folder))
    assert shown.exit_code == 0, shown.output
    assert sorted(path.name for path in folder.iterdir()) == ["a.csv", "b.csv"]
    text = page.read_text()
    first, second = text.index("<h3>a</h3>"), text.index("<h3>b</h3>")
    assert r"job \ town" in text[first:second]
    assert r"job \ sex" in text[second:]


def test_two_years_tell_their_audit_and_have_a_page(people, tmp_path):
    page = tmp_path / "t.html"
    given = ("--by", "job,town", "--rule", "freq:3", "--html", str(page))
    shown = invoke("tables", "years", str(people), str(people), *given)
    assert shown.exit_code == 0, shown.output
    assert "Audit: " in shown.output
    assert "counts by job × town (people.csv)" in page.read_text()


def test_gaps_are_named_with_the_option_of_the_command_line(tmp_path):
    pl.DataFrame({"a": ["x", None, "y"] * 9}).write_csv(tmp_path / "g.csv")
    shown = invoke("tables", "protect", str(tmp_path / "g.csv"), "--by", "a")
    assert shown.exit_code == 2
    assert "--missing" in shown.output + str(shown.stderr)
