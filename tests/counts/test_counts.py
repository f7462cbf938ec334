from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius.core.errors import DataError, OptionError
from dalenius.counts import Counts, align
from dalenius.counts.memory import count_codes
from dalenius.data.vector import MISSING_LABEL, NAN_LABEL

from .strategies import as_dict, brute, columns, make, names


@pytest.mark.parametrize("wide", [False, True])
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_a_margin_is_the_count_of_its_columns(wide: bool, data: st.DataObject) -> None:
    categories = data.draw(columns(wide))
    table = count_codes(names(categories), categories)
    chosen = data.draw(st.lists(st.sampled_from(names(categories)), unique=True, min_size=1))
    direct = count_codes(chosen, [categories[int(name[1:])] for name in chosen])
    assert table.margin(chosen).same_as(direct)


@given(columns())
@settings(max_examples=40, deadline=None)
def test_dense_and_back(categories: list) -> None:
    table = count_codes(names(categories), categories)
    full = table.dense()
    assert full.shape == table.sizes
    assert full.sum() == table.total
    assert Counts.from_dense(full, table.columns, table.labels).same_as(table)
    assert table.margin([]).total == table.total


@pytest.mark.parametrize("wide", [False, True])
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_cells_and_back_in_any_order(wide: bool, data: st.DataObject) -> None:
    categories = data.draw(columns(wide))
    table = count_codes(names(categories), categories)
    order = np.random.default_rng(0).permutation(len(table))
    twice = np.concatenate([order, order])
    again = Counts.from_cells(table.cells[twice], table.counts[twice], table.columns, table.labels)
    assert np.array_equal(again.keys, table.keys)
    assert np.array_equal(again.counts, 2 * table.counts)


@pytest.mark.parametrize("wide", [False, True])
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_align_is_the_union(wide: bool, data: st.DataObject) -> None:
    categories = data.draw(columns(wide))
    rows = len(categories[0].codes)
    third = rows // 3
    parts = [slice(0, third), slice(third, 2 * third), slice(0, rows)]
    tables = [
        count_codes(names(categories), [type(c)(c.codes[part], c.labels) for c in categories])
        for part in parts
    ]
    keys, aligned = align(*tables)
    together = {tuple(cell) for table in tables for cell in table.cells.tolist()}
    joint = Counts(tables[0].columns, tables[0].labels, keys, aligned[2])
    assert [tuple(cell) for cell in joint.cells.tolist()] == sorted(together)
    for table, counts in zip(tables, aligned, strict=True):
        held = {tuple(cell): n for cell, n in zip(joint.cells.tolist(), counts.tolist(), strict=True) if n}
        assert held == as_dict(table)


def test_align_refuses_tables_that_differ() -> None:
    a = Counts.from_cells([[0]], [1], ["x"], [["p", "q"]])
    with pytest.raises(DataError, match="cross different columns"):
        align(a, Counts.from_cells([[0]], [1], ["y"], [["p", "q"]]))
    with pytest.raises(DataError, match="column 'x' has other levels"):
        align(a, Counts.from_cells([[0]], [1], ["x"], [["p", "r"]]))


def test_the_full_table_has_a_limit() -> None:
    categories = make(1, 5, [1000, 1000, 1000])
    with pytest.raises(DataError, match=r"1,000,000,000 cells.*margin"):
        count_codes(["a", "b", "c"], categories).dense()
    wide = count_codes([f"c{i}" for i in range(64)], make(1, 5, [50] * 64))
    assert wide.n_cells == 50**64
    assert "5.4e+108 cells" in repr(wide)


def test_bad_cells_and_margins() -> None:
    table = Counts.from_cells([[0, 1]], [1], ["a", "b"], [range(2), range(2)])
    with pytest.raises(DataError, match="no column 'z' in this table"):
        table.margin(["z"])
    with pytest.raises(OptionError, match="twice"):
        table.margin(["a", "a"])
    with pytest.raises(DataError, match="column 'b': 1 cells have a code outside"):
        Counts.from_cells([[0, 2]], [1], ["a", "b"], [range(2), range(2)])
    with pytest.raises(DataError, match="does not fit labels"):
        Counts.from_dense(np.ones((2, 3)), ["a", "b"], [range(2), range(2)])


def test_frames_keep_types_and_gaps() -> None:
    labels = [
        [1, 2, MISSING_LABEL],
        [0.5, MISSING_LABEL, NAN_LABEL],
        ["x", 1, MISSING_LABEL],
        [True, False, NAN_LABEL],
    ]
    cells = [[i, i, i, i] for i in range(3)]
    frame = Counts.from_cells(cells, [1, 2, 3], list("abcd"), labels).to_frame()
    assert frame["a"].to_list() == [1, 2, None]
    assert frame["b"].to_list()[:2] == [0.5, None]
    assert math.isnan(frame["b"].to_list()[2])
    assert frame["c"].to_list() == ["x", "1", None]
    assert frame["d"].to_list() == ["True", "False", "NaN"]
    assert frame["count"].to_list() == [1, 2, 3]
    with pytest.raises(OptionError, match="'count' is there already"):
        Counts.from_cells([[0]], [1], ["count"], [["x"]]).to_frame()
    assert Counts.from_cells([[0]], [1], ["count"], [["x"]]).to_frame(count="n").columns == ["count", "n"]


def test_an_empty_frame() -> None:
    frame = count_codes(["a", "b"], make(1, 0, [0, 3])).to_frame()
    assert frame.shape == (0, 3)
    assert isinstance(frame, pl.DataFrame)


def test_same_as_sees_every_difference() -> None:
    table = Counts.from_cells([[0], [1]], [3, 5], ["a"], [["x", "y"]])
    assert table.same_as(Counts.from_cells([[1], [0]], [5.0, 3.0], ["a"], [("x", "y")]))
    assert not table.same_as(Counts.from_cells([[0], [1]], [3, 4], ["a"], [["x", "y"]]))
    assert not table.same_as(Counts.from_cells([[0]], [3], ["a"], [["x", "y"]]))
    assert not table.same_as(Counts.from_cells([[0], [1]], [3, 5], ["a"], [["x", "z"]]))
    assert not table.same_as(Counts.from_cells([[0], [1]], [3, 5], ["b"], [["x", "y"]]))


def test_brute_force_agrees_on_one_by_hand() -> None:
    categories = make(1, 4, [1, 2])
    assert sum(brute(categories).values()) == 4
