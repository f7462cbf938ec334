"""The list of faults stays true: each line it changes is there once, in eight rooms or more."""

from __future__ import annotations

import ast
from pathlib import Path
from shlex import split

import pytest

from .faults import FAULTS

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: f"{fault.file}: {fault.new.strip()[:40]}")
def test_a_fault_can_be_put_in(fault):
    text = (ROOT / "src" / "dalenius" / fault.file).read_text(encoding="utf-8")
    assert text.count(fault.old) == 1
    if fault.file.endswith(".py"):
        ast.parse(text.replace(fault.old, fault.new))  # wrong, but it runs
    files = [word for word in split(fault.tests) if "/" in word]
    assert files
    assert all((ROOT / file).exists() for file in files)


def test_there_are_enough():
    assert len(FAULTS) >= 40
    assert len({fault.room for fault in FAULTS}) >= 8
