"""Hierarchy files in all formats describe the same tree; level columns are found in the data."""

from __future__ import annotations

import pandas as pd
import pytest

from dalenius.core.errors import FileError
from dalenius.tables import Hierarchy, define, read_hierarchy

FILES = {
    "region.hrc": "North\n@N1\n@N2\nSouth\n@S1\n",
    "levels.csv": '"levels","codes"\n"@","Total"\n"@@","North"\n"@@@","N1"\n"@@@","N2"\n"@@","South"\n"@@@","S1"\n',
    "pairs.csv": "child,parent\nNorth,Total\nSouth,Total\nN1,North\nN2,North\nS1,South\n",
    "arx.csv": "N1;North;*\nN2;North;*\nS1;South;*\n",
    "columns.csv": "region,zone\nN1,North\nN2,North\nS1,South\n",
}


FILES_OF_R = {"levels.rda": "levels.csv", "pairs.rds": "pairs.csv"}


@pytest.mark.parametrize("name", FILES)
def test_formats(name, tmp_path):
    (tmp_path / name).write_text(FILES[name])
    tree = read_hierarchy(tmp_path / name)
    assert tree.codes == ("Total", "North", "South", "N1", "N2", "S1")
    assert tree.parts["North"] == {"N1", "N2"}


@pytest.mark.parametrize("name", ["levels.rda", "pairs.rds"])
def test_frames_of_r(name, tmp_path):
    pyreadr = pytest.importorskip("pyreadr", reason="files of R need the package pyreadr")
    source = tmp_path / FILES_OF_R[name]
    source.write_text(FILES[FILES_OF_R[name]])
    frame = pd.read_csv(source)
    write = pyreadr.write_rdata if name.endswith(".rda") else pyreadr.write_rds
    write(str(tmp_path / name), frame)
    assert read_hierarchy(tmp_path / name).codes == ("Total", "North", "South", "N1", "N2", "S1")


def test_files_of_r_without_a_frame(tmp_path):
    pytest.importorskip("pyreadr", reason="files of R need the package pyreadr")
    (tmp_path / "tree.rda").write_bytes(b"not a file of R")
    with pytest.raises(FileError, match="write"):
        read_hierarchy(tmp_path / "tree.rda")


def test_levels_are_found_in_the_data():
    data = {
        "town": ["a", "b", "c", "d"],
        "county": ["k", "k", "l", "l"],
        "kind": ["u", "r", "u", "r"],
        "n": [5, 6, 7, 8],
    }
    model = define(data, by=["town", "county", "kind"], freq="n")
    assert model.names == ["town"]
    assert set(model.cells["town"]) == {"Total", "k", "l", "u", "r", "a", "b", "c", "d"}
    assert model.frequency[model.find(town="u")].tolist() == [12]


def test_combined_hierarchies_need_the_same_leaves():
    with pytest.raises(Exception, match="one hierarchy only"):
        Hierarchy.flat(["a", "b"]).combine(Hierarchy.flat(["a", "c"]))


def test_leaves_that_do_not_occur(tmp_path):
    tree = Hierarchy.from_pairs([("g", "Total"), ("a", "g"), ("b", "g"), ("c", "Total")])
    model = define({"x": ["a", "b"]}, by="x", hierarchies={"x": tree})
    assert model.frequency.tolist() == [2, 2, 1, 1, 0]
    everything = define({"x": ["a", "b"]}, by="x", hierarchies={"x": tree}, extend0="all")
    assert len(everything.counts) == 3
    assert define({"x": ["a", "b"]}, by="x", hierarchies={"x": tree}, remove_empty=True).cells[
        "x"
    ].to_list() == [
        "Total",
        "g",
        "a",
        "b",
    ]
