"""Bad hierarchies, bad microdata, tables that do not add up: one error lists everything, without values of the data."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.core.errors import DataError, FileError, OptionError
from dalenius.tables import (
    Dominance,
    Hierarchy,
    PPercent,
    SmallCount,
    TableError,
    audit,
    define,
    parse_rule,
    protect,
    read_hierarchy,
    read_suppressed,
)
from dalenius.tables.gauss import gauss_suppress


def faults(call):
    with pytest.raises(TableError) as caught:
        call()
    return caught.value.faults


def test_cycle_and_missing_parent_together():
    found = faults(lambda: Hierarchy({"Total": (), "a": ("b",), "b": ("a",), "x": ("nowhere",)}))
    assert len(found) == 2
    assert "'nowhere'" in found[0]
    assert "cycle" in found[1]


def test_pairs_list_all_faults():
    pairs = [("a", "Total"), ("a", "Total"), ("b", "Total"), ("b", "other"), ("", "Total")]
    found = faults(lambda: Hierarchy.from_pairs(pairs))
    assert any("listed twice" in f for f in found)
    assert any("two parents" in f for f in found)
    assert any("empty code" in f for f in found)


def test_level_jump_and_repeated_code(tmp_path):
    file = tmp_path / "bad.hrc"
    file.write_text("North\n@@N1\nSouth\n@S1\nSouth\n")
    found = faults(lambda: read_hierarchy(file))
    assert any("parent is missing" in f for f in found)
    assert any("'South' appears twice" in f for f in found)
    with pytest.raises(TableError, match=r"bad\.hrc: 2 faults"):
        read_hierarchy(file)


def test_faults_of_several_hierarchy_files_come_together(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.hrc").write_text("x\nx\n")
    trees = {name: tmp_path / f"{name}.hrc" for name in ("a", "b")}
    found = faults(lambda: define({"a": ["x"], "b": ["x"]}, by=["a", "b"], hierarchies=trees))
    assert len(found) == 2


def test_unknown_codes_negative_counts_and_gaps_come_together():
    tree = Hierarchy.from_pairs([("North", "Total"), ("N1", "North"), ("N2", "North")])
    data = {
        "region": ["N1", "secret-town", "North", "N2"],
        "sex": ["f", None, "m", "f"],
        "n": [1, -4, 2.5, 3],
    }
    found = faults(lambda: define(data, by=["region", "sex"], hierarchies={"region": tree}, freq="n"))
    assert len(found) == 4
    text = " ".join(found)
    assert "2 rows hold 2 codes" in text
    assert "1 frequencies are negative" in text
    assert "not whole" in text
    assert "'sex': 1 rows have no code" in text
    assert "secret-town" not in text


def test_missing_columns_are_all_named():
    found = faults(lambda: define({"a": ["x"]}, by=["a", "b"], freq="n", value="v"))
    assert [f for f in found if "'b'" in f or "'n'" in f or "'v'" in f] == [
        "no column 'b'",
        "no column 'n'",
        "no column 'v'",
    ]


def test_total_among_the_data():
    assert "also a code of the data" in faults(lambda: define({"a": ["Total", "x"]}, by="a"))[0]


def test_sums_that_do_not_add_up():
    table = {"r": ["Total", "a", "b"] * 2, "c": ["Total"] * 3 + ["x"] * 3, "n": [10, 4, 7, 10, 4, 7]}
    found = faults(lambda: read_suppressed(table, ["r", "c"], "n"))
    assert "cell Total : Total is not the sum of its parts by 'r'" in found
    hidden = {"a": ["Total", "x", "y", "z"], "n": ["3", "4", "c", "c"]}
    with pytest.raises(TableError, match="smaller than their published parts"):
        audit(read_suppressed(hidden, ["a"], "n"))


def test_foreign_table_faults_come_together():
    table = {"a": ["Total", "x", "x", "q"], "n": ["9", "?!", "4", "5"]}
    found = faults(lambda: read_suppressed(table, ["a"], "n", hierarchies={"a": Hierarchy.flat(["x", "y"])}))
    assert len(found) == 3


def test_structural_zeros_that_occur():
    data = {"a": ["x", "y"], "b": ["p", "q"]}
    with pytest.raises(TableError, match="1 combinations declared impossible occur"):
        define(data, by=["a", "b"], extend0=True, nested=False, structural={"a": ["x"], "b": ["p"]})
    model = define(data, by=["a", "b"], extend0=True, nested=False, structural={"a": ["x"], "b": ["q"]})
    assert len(model.counts) == 3


def test_files(tmp_path):
    with pytest.raises(FileError, match="no such file"):
        read_hierarchy(tmp_path / "missing.hrc")
    empty = tmp_path / "empty.hrc"
    empty.write_text("")
    with pytest.raises(FileError, match="empty"):
        read_hierarchy(empty)


def test_low_level_input():
    x = np.array([[1, 1, 0], [1, 0, 1]])
    with pytest.raises(DataError, match="misses 1 of 3"):
        gauss_suppress(x, [0], [1])
    with pytest.raises(DataError, match="outside"):
        gauss_suppress(x, [0, 1, 2], [7])
    with pytest.raises(DataError, match="whole numbers"):
        gauss_suppress(x + 0.5, [0, 1, 2], [1])
    with pytest.raises(DataError, match="owners must be 0"):
        gauss_suppress(x, [0, 1, 2], [1], owners=[-1, 0])
    with pytest.raises(DataError, match="3 entries for 2"):
        gauss_suppress(x, [0, 1, 2], [1], small_rows=[True, False, True], small="anysum")
    with pytest.raises(OptionError, match="unknown method"):
        gauss_suppress(x, [0, 1, 2], [1], small_rows=[True, False], small="magic")
    assert gauss_suppress(x, [0, 1, 2], []).secondary.tolist() == []


def test_options():
    model = define({"a": ["x", "y"]}, by="a")
    assert list(protect(model).marks) == ["small count"]  # without any rule: the usual one for counts
    with pytest.raises(DataError, match="for sums"):
        protect(model, PPercent(10))
    for text in ("freq", "nk:1", "what:3", "p:x"):
        with pytest.raises(OptionError, match=r"rule"):
            parse_rule(text)
    with pytest.raises(OptionError, match="percentage"):
        Dominance([(1, 120)])
    with pytest.raises(OptionError, match="formula"):
        define({"a": ["x"]}, formula="~ a * (b")
    with pytest.raises(OptionError, match="give one of"):
        define({"a": ["x"]}, by="a", formula="~a")


def test_forced_cells_that_give_a_primary_cell_away_are_reported():
    model = define({"a": ["x", "y"], "n": [1, 9]}, by="a", freq="n")
    result = protect(model, SmallCount(3), forced={"a": ["y", "Total"]})
    assert result.unsafe.tolist() == [False, True, False]
    assert "can be computed from the cells that must be published" in str(result)
    assert result.suppressed.tolist() == [False, True, False]


def test_hidden_cells_need_no_protection():
    model = define({"a": ["x", "y", "z"], "n": [1, 9, 5]}, by="a", freq="n")
    result = protect(model, SmallCount(3), hidden={"a": ["y"]})
    assert not result.secondary.any()
    assert len(result.to_frame()) == 3


def test_rows_without_a_code_get_one_on_request():
    data = {"sex": ["f", None, "m", "f"], "v": [1.0, float("nan"), 2.0, 1.0]}
    assert "missing=" in faults(lambda: define(data, by=["sex", "v"]))[0]
    model = define(data, by=["sex", "v"], missing="unknown", nested=False)
    assert model.frequency[model.find(sex="unknown")].tolist() == [1]
    assert model.frequency[model.find(v="unknown")].tolist() == [1]
    taken = faults(lambda: define({**data, "sex": ["f", None, "unknown", "f"]}, by="sex", missing="unknown"))
    assert "choose another" in taken[0]
