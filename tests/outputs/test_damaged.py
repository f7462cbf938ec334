"""Folders of outputs in which something was put in the place of a file: one fault or one error, never a crash."""

from __future__ import annotations

import shutil

import pandas as pd
import pytest
from typer.testing import CliRunner

from dalenius.cli.outputs import app
from dalenius.outputs import Desk

FILES = [
    *("manifest.json", "records.json", "policy.json", "results.json", "trail.jsonl", "decisions.jsonl"),
    *(
        "checklist.md",
        "output_0_0.csv",
        "checksums/policy.json.txt",
        "evidence/output_0.json",
        "evidence/policy.json",
    ),
]
TEXTS = ["", "[", "[]", "{}", "tower", "[1]", '{"files": 3}', '{"weaker": 4}', "null", "[" * 100_000, "\x00"]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with one output and one decision."""
    place = tmp_path_factory.mktemp("made")
    desk = Desk(unit="person")
    desk.table(pd.DataFrame({"g": ["a", "b"] * 30, "person": range(60)}), "g")
    pack = desk.finalise(place / "pack")
    pack.decide(["output_0"], "approve")
    return place


def told(place, command="verify"):
    answer = CliRunner().invoke(app, [command, str(place / "pack")])
    assert answer.exception is None or isinstance(answer.exception, SystemExit) or "DaleniusError" in [
        kind.__name__ for kind in type(answer.exception).__mro__
    ], answer.exception  # fmt: skip
    return answer


@pytest.mark.parametrize("name", FILES)
def test_damaged_files_are_told(made, tmp_path, name):
    assert told(made).exit_code == 0
    for number, text in enumerate(TEXTS):
        place = tmp_path / str(number)
        shutil.copytree(made, place)
        (place / "pack" / name).write_text(text)
        assert told(place).exit_code != 0, text[:20]
        told(place, "list")


@pytest.mark.parametrize("name", FILES)
def test_devices_and_folders_in_the_place_of_files_are_told(made, tmp_path, name):
    for number in range(2):
        place = tmp_path / str(number)
        shutil.copytree(made, place)
        (place / "pack" / name).unlink()
        if number:
            (place / "pack" / name).symlink_to("/dev/zero")
        else:
            (place / "pack" / name).mkdir()
        assert told(place).exit_code != 0
        told(place, "list")
