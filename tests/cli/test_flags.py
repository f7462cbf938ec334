"""One meaning a flag: the table of all flags in the docs is made from the commands, and no flag says two things.

``DALENIUS_WRITE=1 pytest tests/cli/test_flags.py`` writes the table anew.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import typer

from dalenius.cli import app

PAGE = Path(__file__).parents[2] / "docs" / "command-line.md"
MARK = "<!-- flags: written by tests/cli/test_flags.py -->\n"


def commands(command: Any, *path: str) -> dict[str, Any]:
    """Every command by its words."""
    loaded = command.load() if hasattr(command, "load") else command
    if not hasattr(loaded, "commands"):
        return {" ".join(path): loaded}
    return {k: v for name, inner in loaded.commands.items() for k, v in commands(inner, *path, name).items()}


def flags() -> dict[str, dict[str, tuple[list[str], str]]]:
    """For every flag, by command: how it is spelled, and what is said of it."""
    told: dict[str, dict[str, tuple[list[str], str]]] = defaultdict(dict)
    for words, command in commands(typer.main.get_command(app)).items():
        for option in command.params:
            if option.param_type_name == "option":
                told[max(option.opts, key=len)][words] = (option.opts, option.help or "")
    return told


def meaning(text: str) -> str:
    """What a flag means, without what is special about it in one command."""
    return re.split(r"[;(]", text)[0].strip().rstrip(".")


def table() -> str:
    lines = ["| flag | meaning | commands |", "|---|---|---|"]
    for name, told in sorted(flags().items()):
        spelled = max((opts for opts, _ in told.values()), key=len)
        texts = list(dict.fromkeys(text for _, text in told.values()))
        text = texts[0] if len(texts) == 1 else meaning(texts[0])
        where = ", ".join(f"`{words}`" for words in told) if len(told) < 12 else f"{len(told)} commands"
        ways = ", ".join(f"`{way}`" for way in (name, *(way for way in spelled if way != name)))
        lines.append(f"| {ways} | {text.rstrip('.')} | {where} |")
    return "\n".join(lines) + "\n"


def test_every_flag_has_one_meaning():
    several = {
        name: {meaning(text) for _, text in told.values()}
        for name, told in flags().items()
        if len({meaning(text) for _, text in told.values()}) > 1
    }
    assert not several


def test_a_letter_stands_for_one_flag():
    letters: dict[str, set[str]] = defaultdict(set)
    for name, told in flags().items():
        for words, (opts, _) in told.items():
            for letter in opts:
                if re.fullmatch("-[A-Za-z]", letter):
                    # `tables` has letters of its own: its commands share few flags with the others
                    letters[f"{letter} in tables" if words.startswith("tables") else letter].add(name)
    assert not {letter: names for letter, names in letters.items() if len(names) > 1}


def test_the_docs_list_all_flags():
    text = PAGE.read_text(encoding="utf-8")
    before, mark, held = text.partition(MARK)
    assert mark
    if os.environ.get("DALENIUS_WRITE"):
        PAGE.write_text(before + MARK + table(), encoding="utf-8")
        return
    assert held == table(), "run DALENIUS_WRITE=1 pytest tests/cli/test_flags.py"
