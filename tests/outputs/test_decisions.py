"""Decisions that are cut off, deleted or exchanged are noticed, and nothing leaves then."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from dalenius.core.errors import FileError
from dalenius.outputs import Desk
from dalenius.outputs.pack import read_pack, verify_outputs


@pytest.fixture
def folder(tmp_path):
    """Two outputs; the second was approved, and rejected afterwards."""
    desk = Desk(unit="p")
    data = {"g": np.repeat(["a", "b"], 30), "p": np.arange(60)}
    desk.table(data, "g")
    desk.table(data, "g")
    pack = desk.finalise(tmp_path / "pack")
    pack.decide(["output_1"], "approve")
    pack.decide(["output_0"], "approve")
    pack.decide(["output_1"], "reject", "too fine")
    return pack.folder


def cut(folder):
    lines = (folder / "decisions.jsonl").read_text().splitlines()
    (folder / "decisions.jsonl").write_text("".join(line + "\n" for line in lines[:-1]))


def deleted(folder):
    (folder / "decisions.jsonl").unlink()


def cut_with_its_note(folder):
    cut(folder)
    (folder / "decisions.head").unlink()


def all_deleted(folder):
    deleted(folder)
    (folder / "decisions.head").unlink()


def nonsense(folder):
    (folder / "decisions.head").write_text("{}")


@pytest.mark.parametrize("change", [cut, deleted, cut_with_its_note, all_deleted, nonsense])
def test_decisions_that_are_gone_are_missed(folder, change):
    assert verify_outputs(folder) == []
    assert [p.name for p in read_pack(folder).files()] == ["output_0_0.csv"]
    change(folder)
    assert any(fault.startswith("decisions: ") for fault in verify_outputs(folder))
    with pytest.raises(FileError, match="decisions were changed"):
        read_pack(folder).files()
    with pytest.raises(FileError, match="finalise"):  # no new decision covers it up
        read_pack(folder).decide(["output_1"], "approve")


def test_a_folder_that_was_moved_is_checked_by_the_note_in_it(folder, tmp_path):
    moved = tmp_path / "elsewhere" / "pack"
    shutil.copytree(folder, moved)
    assert verify_outputs(moved) == []
    cut(moved)
    assert verify_outputs(moved)


def test_a_killed_process_may_leave_a_decision_that_is_not_noted_yet(folder):
    notes = [p.read_text() for p in read_pack(folder).decisions.notes]
    read_pack(folder).decide(["output_0"], "return", "say more")
    for path, text in zip(read_pack(folder).decisions.notes, notes, strict=True):
        path.write_text(text)
    assert verify_outputs(folder) == []
    read_pack(folder).decide(["output_0"], "approve")
    assert verify_outputs(folder) == []


def test_a_folder_written_anew_has_no_decisions(folder, tmp_path):
    desk = Desk(unit="p")
    desk.table({"g": np.repeat(["a", "b"], 40), "p": np.arange(80)}, "g")
    pack = desk.finalise(folder)
    assert verify_outputs(folder) == []
    assert pack.files() == []
