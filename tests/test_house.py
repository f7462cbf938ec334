"""The house itself: every public name is documented with an example that runs, and the README tells the truth."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
import subprocess
import sys
import tomllib
import warnings
from pathlib import Path

import pytest
from typer.main import get_command

import dalenius
from dalenius.cli import app

ROOT = Path(__file__).parents[1]
PACKAGES = ["dalenius"] + [
    f"dalenius.{m.name}"
    for m in pkgutil.iter_modules(dalenius.__path__)
    if m.ispkg and m.name not in ("cli", "web")
]


def public_names() -> list[tuple[str, str]]:
    """Public functions and classes; constants and rooms need no example."""
    names = []
    for package in PACKAGES:
        module = importlib.import_module(package)
        things = {name: getattr(module, name) for name in getattr(module, "__all__", [])}
        names += [
            (package, n) for n, thing in things.items() if inspect.isfunction(thing) or inspect.isclass(thing)
        ]
    return names


@pytest.mark.parametrize(("package", "name"), public_names())
def test_public_names_have_an_example(package, name):
    thing = getattr(importlib.import_module(package), name)
    plain = inspect.isclass(thing) and (
        issubclass(thing, (Exception, str)) or dataclasses.is_dataclass(thing)
    )
    if plain or inspect.isabstract(thing):  # results and records are shown by the functions that make them
        assert len(thing.__doc__ or "") > 20
        return
    text = inspect.getdoc(thing) or ""
    if inspect.isclass(thing):
        members = [m for m in vars(thing).values() if inspect.isfunction(m) or isinstance(m, classmethod)]
        text += "".join(inspect.getdoc(m) or "" for m in members)
    # A function is often shown by the example of the result it gives, in the same file.
    shown = re.search(rf"(>>>|\.\.\.) .*\b{name}\(", inspect.getsource(inspect.getmodule(thing)))
    assert ">>>" in text or shown, f"{package}.{name} has no runnable example"


def test_readme_python_example_runs(capsys):
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", text, re.S).group(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(code, "README.md", "exec"), {"__name__": "__main__"})
    assert "replicated-uniques" in capsys.readouterr().out


def test_readme_shows_the_two_commands_and_a_picture():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert "make demo" in text
    assert "make test" in text
    picture = re.search(r"!\[.*?\]\((.*?)\)", text).group(1)
    assert (ROOT / picture).stat().st_size > 10_000


def test_noise_and_pickle_habits():
    """Randomness only through a seed, differential-privacy noise only from OpenDP, no pickle."""
    forbidden = re.compile(
        r"np\.random\.(seed|laplace|normal|rand|randint|choice)\(|import pickle|\bpickle\.|allow_pickle=True"
    )
    faults = []
    for path in (ROOT / "src").rglob("*.py"):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if forbidden.search(line):
                faults.append(f"{path.name}:{number}")
    assert faults == []


def loaded_by(code: str, names: tuple[str, ...]) -> list[str]:
    """Which of these modules a fresh interpreter has loaded after running the code."""
    code += f"\nimport sys; print(*(name for name in {names} if name in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_importing_loads_nothing_until_a_name_is_used():
    assert (
        loaded_by("import dalenius; dir(dalenius)", ("numpy", "polars", "numba", "scipy", "dalenius.data"))
        == []
    )
    assert loaded_by("import dalenius; dalenius.read", ("scipy", "sklearn", "dalenius.synth")) == []


def test_commands_are_listed_without_loading_them():
    heavy = ("numpy", "polars", "numba", "scipy", "dalenius.data", "dalenius.cli.synth")
    code = "import contextlib, io, sys; from dalenius.cli import app\nsys.argv = ['dalenius', '--help']\n"
    code += "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()): app()"
    assert loaded_by(code, heavy) == []


def test_rooms_do_not_load_what_few_calls_need():
    heavy = (
        "altair",
        "duckdb",
        "fastapi",
        "lightgbm",
        "pandas",
        "scipy.stats",
        "sklearn",
        "statsmodels",
        "torch",
    )
    assert loaded_by("import dalenius.release, dalenius.tables, dalenius.dp", heavy) == []
    assert loaded_by("from dalenius.synth import METHODS; METHODS['cart']", heavy) == []


def test_every_command_loads_and_says_what_its_listing_says():
    group = get_command(app)
    assert {"synth", "evaluate", "compare", "tables", "app"} <= set(group.commands)
    for name, listed in group.commands.items():
        command = listed.load()
        assert command.name == name
        assert inspect.cleandoc(command.help) == inspect.cleandoc(listed.help)


def test_the_front_door_has_what_a_user_looks_for():
    expected = """read write examples check synthesize evaluate compare benchmark sweep write_report run_plan
        METHODS MEASURES Candidate Made Schema Column Table Pair Result DaleniusError
        counts dp evaluation preparation release report risk synth tables utility"""
    assert set(expected.split()) <= set(dir(dalenius))
    for name in dalenius.__all__:
        assert getattr(dalenius, name) is not None, name
    with pytest.raises(AttributeError, match="did you mean 'synthesize'"):
        dalenius.sinthesize  # noqa: B018


NAME = r"(?:van der |van |von |de |D')?[A-ZØÉÖÅ][\w'-]+"
CITATION = re.compile(rf"({NAME}(?:(?:,| and|, and) {NAME})*(?: et al\.)?),? \(?((?:19|20)\d\d)[a-c]?\b(?!-)")
NO_PAPERS = {"PSD", "CODASPY", "NIST", "UTC", "Survey"}  # meetings, contests and years of other things


def cited(text: str) -> set[tuple[tuple[str, ...], str]]:
    """Authors and year of every citation in a text."""
    text = re.sub(r"\s+", " ", text)
    pairs = (
        (re.split(r", | and ", who.replace(" et al.", "")), year) for who, year in CITATION.findall(text)
    )
    return {(tuple(who), year) for who, year in pairs if who[-1] not in NO_PAPERS}


def listed_papers() -> list[tuple[list[str], str]]:
    lines = (ROOT / "docs" / "references.md").read_text(encoding="utf-8").splitlines()
    papers = [re.match(r"- (.+?) \((\d{4})\)\. ", line) for line in lines if line.startswith("- ")]
    return [(paper.group(1).removesuffix(" et al.").split(", "), paper.group(2)) for paper in papers]


def test_citations_are_read():
    assert cited("(Kolb, Tang and Giessing 2024; van Breugel et al. 2023, section 2)") == {
        (("Kolb", "Tang", "Giessing"), "2024"),
        (("van Breugel",), "2023"),
    }


def test_every_citation_is_in_the_references():
    papers = listed_papers()
    assert len(papers) == len({(*who, year) for who, year in papers})
    places = {*(ROOT / "src").rglob("*.py"), *(ROOT / "docs").glob("*.md")} - {
        ROOT / "docs" / "references.md"
    }
    unknown = [
        f"{path.name}: {', '.join(who)} {year}"
        for path in places
        for who, year in cited(path.read_text(encoding="utf-8"))
        if not any(year == when and who[0] == authors[0] and {*who} <= {*authors} for authors, when in papers)
    ]
    assert unknown == []


def test_nothing_points_outside_the_repository():
    """A reader has the repository and the papers, nothing else."""
    outside = re.compile(r"\b[Ss]pecs? (psd|\d)|\bpsd\d\d|/work/|\bissue \d")
    faults = [
        f"{path.relative_to(ROOT)}:{number}"
        for folder in ("src", "tests", "docs", "bench")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".md") and path.name != "test_house.py"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if outside.search(line)
    ]
    assert faults == []


def test_the_layers_name_every_room_and_allow_no_exception():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (layers,) = contracts["contracts"]
    named = {room.strip() for layer in layers["layers"] for room in layer.split("|")}
    rooms = {f"dalenius.{m.name}" for m in pkgutil.iter_modules(dalenius.__path__) if m.ispkg}
    assert named == rooms
    assert not [key for key in layers if "ignore" in key]


def test_examples_of_the_docs_stand_in_fences() -> None:
    """Outside of one Markdown takes ``>>>`` for a quotation and runs the lines together."""
    for page in sorted((ROOT / "docs").glob("*.md")):
        outside = page.read_text(encoding="utf-8").split("\n```")[::2]
        assert not [line for part in outside for line in part.splitlines() if line.startswith(">>>")], (
            page.name
        )
