from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius.core.errors import DataError, OptionError
from dalenius.counts.memory import count_codes, count_codes_many, row_groups
from dalenius.data.vector import Categories

from .strategies import as_dict, brute, columns, make, names


@pytest.mark.parametrize("wide", [False, True])
@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_counts_are_those_of_a_dictionary(wide: bool, data: st.DataObject) -> None:
    categories = data.draw(columns(wide))
    table = count_codes(names(categories), categories)
    assert as_dict(table) == brute(categories)
    assert table.counts.dtype == np.int64
    assert table.total == len(categories[0].codes)
    assert [tuple(cell) for cell in table.cells.tolist()] == sorted(brute(categories))
    assert (table.keys.ndim == 2) == (table.n_cells >= 2**63)


@pytest.mark.parametrize("wide", [False, True])
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_weights_add_up(wide: bool, data: st.DataObject) -> None:
    categories = data.draw(columns(wide))
    rows = len(categories[0].codes)
    weights = data.draw(st.lists(st.sampled_from([0.0, 0.25, 1.0, 3.5]), min_size=rows, max_size=rows))
    table = count_codes(names(categories), categories, np.array(weights))
    assert as_dict(table) == brute(categories, weights)
    assert table.counts.dtype == np.float64


@pytest.mark.parametrize("wide", [False, True])
@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_row_groups_number_the_sorted_combinations(wide: bool, data: st.DataObject) -> None:
    categories = data.draw(columns(wide))
    ids, groups = row_groups(categories)
    rows = list(zip(*(each.codes.tolist() for each in categories), strict=True))
    order = {row: i for i, row in enumerate(sorted(set(rows)))}
    assert ids.tolist() == [order[row] for row in rows]
    assert groups == len(order)


@pytest.mark.parametrize("sizes", [[50] * 20, [50] * 64, [2**40, 2**22, 2], [2**62], [2**63 - 1, 3]])
def test_beyond_the_word(sizes: list[int]) -> None:
    rng = np.random.default_rng(3)
    categories = [
        Categories(
            rng.choice([0, size - 1, size // 2], 500), range(size)
        )  # ranges: labels nobody has to build
        for size in sizes
    ]
    table = count_codes(names(categories), categories)
    assert as_dict(table) == brute(categories)
    assert len(row_groups(categories)[0]) == 500
    last = table.margin([table.columns[-1]])
    assert as_dict(last) == brute(categories[-1:])


@pytest.mark.parametrize("rows", [0, 1])
def test_no_row_and_one_row(rows: int) -> None:
    categories = make(1, rows, [3, 4])
    table = count_codes(["a", "b"], categories)
    assert len(table) == rows
    assert table.total == rows
    assert row_groups(categories)[1] == rows
    assert table.dense().shape == (3, 4)


def test_a_column_without_levels_has_no_cells() -> None:
    nothing = Categories(np.zeros(0, np.uint8), [])
    table = count_codes(["a", "b"], [nothing, make(1, 0, [3])[0]])
    assert table.n_cells == 0
    assert len(table) == 0
    assert table.dense().shape == (0, 3)
    assert len(table.margin(["b"])) == 0


@pytest.mark.parametrize("weighted", [False, True])
def test_many_tables_are_those_counted_one_by_one(weighted: bool) -> None:
    categories = dict(zip("abcdef", make(5, 30_000, [2, 300, 1000, 70_000, 9, 5]), strict=True))
    weights = np.random.default_rng(1).random(30_000) if weighted else None
    tables = [("a",), ("a", "b"), ("b", "a"), ("b", "c"), ("c", "d"), ("a", "e", "f"), tuple("abcdef")]
    many = count_codes_many(categories, tables, weights)
    assert list(many) == tables
    for table, counts in many.items():
        alone = count_codes(table, [categories[name] for name in table], weights)
        assert counts.same_as(alone, rtol=0)
        assert np.array_equal(counts.counts, alone.counts)


@pytest.mark.parametrize("weighted", [False, True])
def test_threads_do_not_change_a_bit(weighted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    from dalenius.counts import memory

    categories = dict(zip("abcd", make(5, 200_000, [2, 300, 1000, 9]), strict=True))
    weights = np.random.default_rng(1).random(200_000) if weighted else None
    tables = [("a", "b"), ("b", "c"), ("c", "d"), ("a", "c", "d")]
    results = []
    for threads in (1, 2, 3):
        monkeypatch.setattr(memory, "thread_count", lambda threads=threads: threads)
        results.append(count_codes_many(categories, tables, weights))
    for table in tables:
        for other in results[1:]:
            assert np.array_equal(results[0][table].keys, other[table].keys)
            assert np.array_equal(results[0][table].counts, other[table].counts)


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_bad_weights_are_refused(bad: float) -> None:
    with pytest.raises(DataError, match="'weights': 1 rows have a missing, negative or infinite weight"):
        count_codes(["a"], make(1, 3, [2]), np.array([1.0, bad, 2.0]))
    with pytest.raises(DataError, match="2 weights for 3 rows"):
        count_codes(["a"], make(1, 3, [2]), np.array([1.0, 2.0]))


def test_bad_requests_are_refused() -> None:
    pair = make(1, 3, [2, 2])
    with pytest.raises(OptionError, match="'a' is asked for twice"):
        count_codes(["a", "a"], pair)
    with pytest.raises(OptionError, match="no columns"):
        count_codes([], [])
    with pytest.raises(DataError, match="'b' has 2 rows where 3 are expected"):
        count_codes(["a", "b"], [pair[0], make(1, 2, [2])[0]])
    with pytest.raises(DataError, match="no column 'z'"):
        count_codes_many({"a": pair[0]}, [("a", "z")])


@pytest.mark.slow
def test_a_million_rows() -> None:
    sizes = [2, 7, 90, 1500, 40_000]
    categories = make(9, 1_000_000, sizes)
    for chosen in ([0, 1, 2], [2, 3], [3, 4], [0, 1, 2, 3, 4]):
        some = [categories[i] for i in chosen]
        table = count_codes(names(some), some)
        keys = np.ravel_multi_index(
            [each.codes.astype(np.int64) for each in some], [each.size for each in some]
        )
        values, times = np.unique(keys, return_counts=True)
        assert np.array_equal(table.keys, values)
        assert np.array_equal(table.counts, times)
