"""The list of faults stays true: each line it changes is there once, in eight rooms or more."""

from __future__ import annotations

import ast
from pathlib import Path
from shlex import split

import pytest

from .faults import FAULTS

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("file", sorted({fault.file for fault in FAULTS}))
def test_faults_can_be_put_in(file):
    text = (ROOT / "src" / "dalenius" / file).read_text(encoding="utf-8")
    for fault in (fault for fault in FAULTS if fault.file == file):
        assert text.count(fault.old) == 1, fault
        if file.endswith(".py"):
            ast.parse(text.replace(fault.old, fault.new))  # wrong, but it runs
        files = [word for word in split(fault.tests) if "/" in word]
        assert files, fault
        assert all((ROOT / file).exists() for file in files), fault


def test_there_are_enough():
    assert len(FAULTS) >= 40
    assert len({fault.room for fault in FAULTS}) >= 8
