"""The list of faults stays true: each line it changes is there once, in eight rooms or more."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path
from shlex import split

import pytest

from .faults import FAULTS
from .run import sampled

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


def test_a_sample_is_spread_over_the_rooms():
    chosen = sampled(FAULTS, 40, seed=1)
    assert len({id(fault) for fault in chosen}) == 40
    rooms = Counter(fault.room for fault in chosen)
    listed = Counter(fault.room for fault in FAULTS)
    assert rooms.keys() == listed.keys()
    assert all(times >= min(listed[room], 40 // len(listed)) for room, times in rooms.items())
    assert all(next(f for f in reversed(FAULTS) if f.room == room) in chosen for room in rooms)
    assert chosen == sampled(FAULTS, 40, seed=1) != sampled(FAULTS, 40, seed=2)
