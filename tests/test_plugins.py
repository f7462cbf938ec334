"""Packages outside: the example plugin is installed and found everywhere, a broken one is named and left out."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from dalenius.core import plugins
from dalenius.core.errors import DaleniusError, FileError
from dalenius.core.registry import MeasureInfo, Registry
from dalenius.counts.measure import Measure
from dalenius.data import read

ROOT = Path(__file__).parents[1]


def run(folder: Path, *words: str) -> str:
    """Run Python with a folder of installed packages; the output, if it worked."""
    paths = [str(folder), str(ROOT / "src"), str(ROOT)]
    done = subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "COLUMNS": "200"},
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """A folder with the example package, installed from a copy as pip does it."""
    target = tmp_path_factory.mktemp("installed")
    pip = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--target", str(target)]
    run(target, *pip, str(ROOT / "examples" / "plugin"))
    return target


@pytest.mark.slow
def test_a_plugin_is_found_by_every_door(installed, tmp_path):
    (tmp_path / "people.pipe").write_text("sex|age\nf|31\nm|64\n", encoding="utf-8")
    assert "From dalenius-example 0.1" in run(installed, "-m", "dalenius", "--help")
    assert "2 rows, 2 columns" in run(installed, "-m", "dalenius", "count", str(tmp_path / "people.pipe"))
    code = f"""
import dalenius
table = dalenius.read({str(tmp_path / "people.pipe")!r})
made = dalenius.synthesize(table, "two-halves", rows=5, seed=1)
print(dalenius.evaluate(table, made, measures=["worst-column"])["worst-column"].sentence)
model = dalenius.tables.define({{"a": ["x", "y"], "n": [8, 3]}}, by="a", freq="n")
print(dalenius.tables.protect(model, dalenius.tables.parse_rule("odd:5")))
print(dalenius.Candidate("mirror", {{"column": "age"}}).make(table, seed=1).lens())
"""
    told = run(installed, "-c", code)
    assert "is furthest off" in told
    assert "odd count" in told
    assert "age perturbed" in told
    step, file = "mirror column=age", str(tmp_path / "masked.csv")
    run(installed, "-m", "dalenius", "mask", str(tmp_path / "people.pipe"), "--step", step, "-o", file)
    assert sorted((tmp_path / "masked.csv").read_text().split()[1:]) == ["f,64", "m,31"]


@pytest.mark.slow
def test_a_plugin_passes_every_battery(installed):
    batteries = ["tests/common"]
    told = run(installed, "-m", "pytest", *batteries, "-k", "worst-column or two-halves or odd or mirror")
    assert "passed" in told


def entries(monkeypatch, **things: str) -> None:
    """Offer things in every group; each is the place of an object."""
    offered = [EntryPoint(name, place, "any") for name, place in things.items()]
    monkeypatch.setattr(plugins, "offered", lambda group: offered)


def test_a_broken_plugin_is_named_and_left_out(monkeypatch, tmp_path):
    entries(monkeypatch, gone="no_such_package:thing", wrong="json:no_such_name")
    registry: Registry[Measure] = Registry("measure", "measures")
    with pytest.warns(plugins.PluginWarning) as told:
        assert list(registry) == []
    assert [str(one.message).split(":")[0] for one in told] == [
        "plugin 'gone' of no_such_package is left out",
        "plugin 'wrong' of json is left out",
    ]
    assert len(registry) == 0  # said once, not at every look
    (tmp_path / "data.gone").write_text("x")
    with pytest.warns(plugins.PluginWarning), pytest.raises(FileError, match="cannot be read"):
        read(tmp_path / "data.gone")


def test_a_plugin_cannot_take_a_name_that_is_taken(monkeypatch):
    info = MeasureInfo("taken", "Taken", "utility", "A toy.", better="lower", bounds=(0, 1), reference="none")
    registry: Registry[Measure] = Registry("measure", "measures")
    first = registry.add(Measure(info, len))
    entries(monkeypatch, taken=f"{__name__}:SECOND")
    monkeypatch.setattr(EntryPoint, "load", lambda entry: Measure(info, max))
    with pytest.warns(plugins.PluginWarning, match="registered twice"):
        assert registry["taken"] is first


def test_a_broken_command_is_an_error_in_one_line(monkeypatch):
    from dalenius.cli._group import Commands

    entries(monkeypatch, gone="no_such_package:app")
    group = Commands(name="dalenius")
    assert "no_such_package" in group.commands["gone"].help
    with pytest.raises(DaleniusError, match="cannot be loaded"):
        group.commands["gone"].load()


def test_a_plugin_cannot_take_the_place_of_a_command(monkeypatch):
    from dalenius.cli._group import Commands

    entries(monkeypatch, synth="no_such_package:app")
    with pytest.warns(
        plugins.PluginWarning, match="'synth' of no_such_package is left out: there is a command"
    ):
        group = Commands(name="dalenius")
    assert "no_such_package" not in group.commands["synth"].help
