"""`dalenius evaluate` reads the other files as the original is read."""

from __future__ import annotations

import json

from typer.testing import CliRunner

from dalenius.cli import app
from dalenius.data import examples
from dalenius.data.files import write


def _run(*words: str) -> dict:
    done = CliRunner().invoke(app, ["evaluate", *words, "--json", "--quiet"])
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_a_file_keeps_its_own_rules(tmp_path):
    """Codes such as "0110" and -8, and the order of grades, are the same in a file that comes without a schema."""
    survey, schema = tmp_path / "survey.csv", tmp_path / "schema.yaml"
    write(examples.survey(800, seed=3), survey)
    examples.survey_schema().to_yaml(schema)
    found = _run(str(survey), str(survey), "--schema", str(schema), "--measures", "rules")
    assert found["results"]["rules"]["value"] == 100


def test_without_rules_nothing_is_said_to_be_kept(tmp_path):
    plain = tmp_path / "plain.csv"
    plain.write_text("sex,age\n" + "f,30\nm,40\n" * 20)
    found = _run(str(plain), str(plain), "--measures", "rules")
    assert found["results"] == {}
    assert "no rules" in found["skipped"]["rules"]
