"""`dalenius new`: the skeleton of a measure, synthesizer, masking step, table rule or command, with its test."""

from __future__ import annotations

import keyword
import re
from collections.abc import Collection
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Annotated

import typer

import dalenius.evaluation  # noqa: F401 (registers all measures)
from dalenius.cli import _options as opt
from dalenius.cli._console import Terminal
from dalenius.core.errors import FileError, OptionError
from dalenius.counts.measure import MEASURES
from dalenius.data.atomic import write_text
from dalenius.data.steps import STEPS
from dalenius.synth import METHODS
from dalenius.tables.rule_text import MAKERS

app = typer.Typer()


class What(StrEnum):
    """What can be made, and the room it belongs to."""

    measure = "measure"
    synthesizer = "synthesizer"
    step = "step"
    rule = "rule"
    command = "command"


ROOMS = {
    What.measure: "utility", What.synthesizer: "synth", What.step: "mask", What.rule: "tables", What.command: "cli",
}  # fmt: skip
GROUPS = {
    What.measure: "measures", What.synthesizer: "methods", What.step: "steps", What.rule: "rules",
    What.command: "commands",
}  # fmt: skip


def _known(what: What) -> Collection[str]:
    """Names that are taken."""
    if what is What.rule:
        return MAKERS
    if what is What.command:
        return [path.stem for path in Path(__file__).parent.glob("[a-z]*.py")]
    return [*MEASURES] if what is What.measure else [*METHODS, *STEPS]


@app.command()
def new(
    what: Annotated[What, typer.Argument(help="measure, synthesizer, step, rule or command.")],
    name: Annotated[str, typer.Argument(help="Its name, in words with dashes: median-gap.")],
    into: Annotated[
        Path, typer.Option("--into", help="Checkout of Dalenius, or folder of a package of your own.")
    ] = Path(),
    risk: Annotated[bool, typer.Option("--risk", help="A measure of risk instead of utility.")] = False,
    quiet: opt.Quiet = False,
) -> None:
    """Write the skeleton of a measure, synthesizer, masking step, table rule or command, with its test."""
    if not re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", name):
        raise OptionError(f"the name {name!r} should be small letters and digits, with dashes between words")
    if keyword.iskeyword(name.replace("-", "_")) or name in _known(what):
        raise OptionError(f"the name {name!r} is taken, by Python or by another {what}; choose another")
    if risk and what is not What.measure:
        raise OptionError("--risk goes with a measure")
    module, room, kind = name.replace("-", "_"), "risk" if risk else ROOMS[what], "risk" if risk else what
    inside = (into / "src" / "dalenius" / room).is_dir()
    code = (into / "src" / "dalenius" / room if inside else into) / f"{module}.py"
    test = (into / "tests" / room if inside else into) / f"test_{module}.py"
    taken = [str(path) for path in (code, test) if path.exists()]
    if taken:
        raise FileError(f"{', '.join(taken)}: is there already; choose another name")
    words = {
        "name": name,
        "module": module,
        "Class": "".join(word.capitalize() for word in name.split("-")),
        "title": name.replace("-", " ").capitalize(),
        "package": f"dalenius.{room}.{module}" if inside else module,
    }
    for path, skeleton in ((code, f"{kind}.txt"), (test, f"{kind}_test.txt")):
        text = (files("dalenius.cli") / "skeletons" / skeleton).read_text(encoding="utf-8")
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, Template(text).substitute(words))
    thing = {What.command: "app", What.measure: module}.get(what, words["Class"])
    terminal = Terminal(quiet)
    terminal.say(f"written: {code} and {test}")
    if risk and inside:
        terminal.say(
            f"its lines of the calibration table in docs/risk.md come from: "
            f"python bench/risk_coverage.py calibration 31 {name}, then python bench/risk_coverage.py tables"
        )
    if not inside:
        terminal.say(f'for pyproject.toml, [project.entry-points."dalenius.{GROUPS[what]}"]:')
        terminal.say(f'{name} = "{module}:{thing}"')
