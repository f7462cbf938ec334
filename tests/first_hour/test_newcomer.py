"""The eight commands of the page for newcomers do what the page shows."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests import LONG
from tests.first_hour.conftest import Newcomer

PAGE = Path(__file__).parents[2] / "docs" / "getting-started.md"
HEAD = "## From nothing to a verified pack in eight commands"


def recorded() -> list[tuple[str, list[str]]]:
    """Commands of the page with the lines it shows under each."""
    block = re.search(r"```text\n(.*?)```", PAGE.read_text().split(HEAD)[1], re.S)
    assert block is not None
    found: list[tuple[str, list[str]]] = []
    for line in block.group(1).splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line != "...":
            found[-1][1].append(line)
    return found


def plain(text: str) -> str:
    """A text without its figures and its line breaks."""
    return re.sub(r"\d[\d,.]*", "#", " ".join(text.split()))


def test_there_are_eight_commands_and_no_line_is_too_long() -> None:
    steps = recorded()
    assert len(steps) == 8
    assert steps[0][0].startswith("pip install")
    assert all(command.startswith("dalenius ") for command, _ in steps[1:])
    assert max(len(line) for command, lines in steps for line in (command, *lines)) <= 80


@pytest.mark.slow
def test_the_commands_show_what_the_page_shows(newcomer: Newcomer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(newcomer.folder)
    for command, lines in recorded()[1:]:
        seen = newcomer.types(*shlex.split(command)[1:])
        for line in lines:
            assert plain(line) in plain(seen), f"{command}: {line}"
    assert (newcomer.folder / "release" / "public" / "report.html").is_file()


@pytest.fixture
def installed(tmp_path: Path) -> Path:
    """Programs of a fresh environment; other packages are those of the tests' own, behind what is installed there."""
    root, home = PAGE.parents[1], tmp_path / "home"
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist")]
    subprocess.run(build, cwd=root, check=True, capture_output=True)
    venv.create(home, with_pip=True)
    sites = Path(sysconfig.get_path("purelib", vars={"base": str(home)}))
    (sites / "others.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return home / "bin"


@pytest.mark.slow
@pytest.mark.skipif(not LONG, reason="the wheel takes minutes to build, as its kernels are compiled")
def test_the_commands_do_the_same_from_a_wheel_in_a_fresh_environment(
    installed: Path, tmp_path: Path
) -> None:
    """All eight, the first being pip's; `dalenius` is the program that pip put there."""
    outside = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    outside |= {"PATH": f"{installed}{os.pathsep}{outside['PATH']}", "COLUMNS": "80"}
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    folder = tmp_path / "desk"
    folder.mkdir()

    def types(*words: str) -> str:
        program = [str(installed / words[0]), *words[1:]]
        done = subprocess.run(program, cwd=folder, env=outside, check=False, capture_output=True, text=True)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout + done.stderr

    (pip, _), *others = recorded()
    types(*shlex.split(pip)[:2], "--no-index", "--no-deps", str(wheel))
    where = types("python", "-c", "import dalenius; print(dalenius.__file__)").strip()
    assert Path(where).is_relative_to(installed.parent)
    for command, lines in others:
        seen = types(*shlex.split(command))
        for line in lines:
            assert plain(line) in plain(seen), f"{command}: {line}"
    assert (folder / "release" / "public" / "report.html").is_file()
