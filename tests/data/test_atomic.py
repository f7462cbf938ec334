"""Nothing is half-written, and nothing is left lying about."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

import dalenius
from dalenius.core.errors import FileError
from dalenius.data.atomic import replacing, write_text


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path):
    target = tmp_path / "out.txt"
    write_text(target, "old")

    def fail():
        with replacing(target) as temporary:
            temporary.write_text("half")
            raise ValueError("on the way")

    with pytest.raises(ValueError, match="on the way"):
        fail()
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]


def test_a_folder_in_the_way_is_an_error_and_leaves_nothing(tmp_path):
    (tmp_path / "out.txt").mkdir()
    with pytest.raises(FileError):
        write_text(tmp_path / "out.txt", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]


def test_a_file_and_its_name_are_on_the_disk(tmp_path, monkeypatch):
    """The contents before the new name, the name before the call comes back: a power cut leaves one whole file."""
    done: list[tuple[str, int]] = []
    push, move = os.fsync, os.replace

    def pushed(handle):
        done.append(("push", os.fstat(handle).st_ino))
        push(handle)

    def moved(source, target):
        done.append(("rename", os.stat(source).st_ino))
        move(source, target)

    monkeypatch.setattr(os, "fsync", pushed)
    monkeypatch.setattr(os, "replace", moved)
    target = tmp_path / "out.csv"
    dalenius.write({"a": [1, 2]}, target)
    file, folder = target.stat().st_ino, tmp_path.stat().st_ino
    assert done == [("push", file), ("rename", file), ("push", folder)]


@pytest.mark.parametrize("free", [0, 1 << 30])
def test_a_full_disk_is_called_full_whatever_the_library_says(tmp_path, monkeypatch, free):
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=free))
    with pytest.raises(FileError if free == 0 else RuntimeError) as caught, replacing(tmp_path / "out.xlsx"):
        raise RuntimeError("zip: cell 7")
    assert ("the disk is full" in str(caught.value)) is (free == 0)
    assert list(tmp_path.iterdir()) == []
