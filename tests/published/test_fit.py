"""No false certainty: what `fit` calls proved or bounded is what enumerating every table gives."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dalenius.core.errors import DataError, TableError
from dalenius.published import Entry, Published, fit
from dalenius.published.cells import possible_cells
from dalenius.published.margin import NO_LIMIT

DOMAINS = {"a": ["0", "1"], "b": ["0", "1", "2"], "c": ["0", "1"]}
COLUMNS = list(DOMAINS)
SETS = [(), ("a",), ("b",), ("a", "b"), ("b", "c"), ("a", "c"), ("a", "b", "c")]


def every_table(published: Published) -> np.ndarray:
    """All tables of counts that meet every exact or ranged sum, one a row, over all combinations of values."""
    cells = list(product(*(range(len(values)) for values in published.domains.values())))
    codes = np.array(cells)
    sums = []
    for margin in published.margins:
        place = margin.places(codes, published.columns)
        for k in range(len(margin.keys)):
            if margin.low[k] > 0 or margin.high[k] < NO_LIMIT:
                sums.append((np.flatnonzero(place == k), int(margin.low[k]), int(margin.high[k])))
        if margin.complete:
            sums.append((np.flatnonzero(place == -2), 0, 0))
    top = np.full(len(cells), 99)
    for members, _, high in sums:
        top[members] = np.minimum(top[members], high)
    tables = []

    def fill(at: int, held: list[int]) -> None:
        if at == len(cells):
            if all(lo <= sum(held[m] for m in members) <= hi for members, lo, hi in sums):
                tables.append(tuple(held))
            return
        for n in range(int(top[at]) + 1):
            held.append(n)
            if all(sum(held[m] for m in members if m <= at) <= hi for members, _, hi in sums):
                fill(at + 1, held)
            held.pop()

    fill(0, [])
    return np.array(tables)


def brute_force(published: Published) -> dict[tuple[int, ...], tuple[int, int]]:
    """Smallest and largest count of every cell over all tables that fit."""
    cells = product(*(range(len(values)) for values in published.domains.values()))
    tables = every_table(published)
    ends = zip(tables.min(axis=0).tolist(), tables.max(axis=0).tolist(), strict=True)
    return dict(zip(cells, ends, strict=True))


people_strategy = st.lists(
    st.tuples(st.sampled_from("01"), st.sampled_from("012"), st.sampled_from("01")), min_size=1, max_size=5
)


def frame(people):
    return {name: [row[j] for row in people] for j, name in enumerate(COLUMNS)}


@settings(max_examples=40, deadline=None)
@given(people_strategy, st.lists(st.sampled_from(SETS), min_size=1, max_size=3, unique=True))
def test_bounds_are_those_of_all_tables_and_hold_the_truth(people, sets):
    published = Published.count(frame(people), [(), *sets], domains=DOMAINS)
    found, truth = fit(published), brute_force(published)
    at = {tuple(cell): i for i, cell in enumerate(found.system.cells.tolist())}
    for cell, (low, high) in truth.items():
        if cell not in at:
            assert (low, high) == (0, 0)
            continue
        i = at[cell]
        assert (int(found.low[i]), int(found.high[i])) == (low, high)
        assert bool(found.proved[i]) == (low == high)
        real = sum(tuple(map(int, row)) == cell for row in people)
        assert low <= real <= high
    assert found.exact.all()
    assert found.alone == sum(ends == (1, 1) for ends in truth.values())
    quick = fit(published, bounds=False)
    assert (quick.proved == found.proved).all()


@settings(max_examples=25, deadline=None)
@given(
    people_strategy,
    st.lists(st.sampled_from(SETS), min_size=1, max_size=3, unique=True),
    st.integers(0, 4095),
)
def test_people_of_several_cells_are_counted_together(people, sets, chosen):
    published = Published.count(frame(people), [(), *sets], domains=DOMAINS)
    found, tables = fit(published), every_table(published)
    place = np.ravel_multi_index(tuple(found.system.cells.T), (2, 3, 2))
    inside = np.array([bool(chosen >> int(p) & 1) for p in place], np.bool_)
    sums = tables[:, place[inside]].sum(axis=1)
    least, most = found.people_among(inside)
    assert (least, most) == (sums.min(), sums.max())


def test_people_counted_together_beside_a_printed_cell():
    crossed = {"sex": list("fffmmm"), "town": list("ABCABC"), "n": [":c", ":c", "1", ":c", ":c", ":c"]}
    sums = {"sexes": {"sex": ["f", "m"], "n": [3, 2]}, "towns": {"town": list("ABC"), "n": [1, 3, 1]}}
    found = fit(Published.from_tables({"crossed": crossed, **sums}))
    in_a = found.system.cells[:, found.published.columns.index("town")] == 0
    assert int(found.high[in_a].sum()) == 2
    assert found.people_among(in_a) == (1, 1)


@settings(max_examples=25, deadline=None)
@given(people_strategy, st.lists(st.sampled_from(SETS), min_size=2, max_size=4, unique=True))
def test_another_table_never_proves_less(people, sets):
    fewer = fit(Published.count(frame(people), [(), *sets[:-1]], domains=DOMAINS))
    more = fit(Published.count(frame(people), [(), *sets], domains=DOMAINS))
    assert more.people_proved >= fewer.people_proved


@settings(max_examples=25, deadline=None)
@given(people_strategy, st.integers(2, 4), st.data())
def test_ranges_and_suppressed_cells(people, base, data):
    table = {"a": [], "b": [], "n": []}
    for a, b in product(*(DOMAINS[c] for c in "ab")):
        n = sum(row[:2] == (a, b) for row in people)
        way = data.draw(st.sampled_from(["exact", "suppressed"]))
        table["a"].append(a)
        table["b"].append(b)
        table["n"].append(str(n) if way == "exact" else ":c")
    singles = {"b": list("012"), "n": [base * round(sum(r[1] == b for r in people) / base) for b in "012"]}
    from dalenius.data.table import Table

    published = Published.from_entries(
        [
            Entry("ab", Table.from_frame(table)),
            Entry("b", Table.from_frame(singles), kind="rounded", base=base),
            Entry("all", Table.from_frame({"a": ["Total"], "n": [len(people)]})),
        ],
        {"a": DOMAINS["a"], "b": DOMAINS["b"]},
    )
    found, truth = fit(published), brute_force(published)
    for i, cell in enumerate(found.system.cells.tolist()):
        assert (int(found.low[i]), int(found.high[i])) == truth[tuple(cell)]


def test_who_may_have_company_is_not_proved_to_be_alone():
    """Two women and a man, one person in A and two in B: a woman lives in B, and so does another, or the man."""
    found = fit(Published.count({"sex": ["f", "m", "f"], "town": ["A", "B", "B"]}, [["sex"], ["town"]]))
    assert (1, 2) in list(zip(found.low.tolist(), found.high.tolist(), strict=True))
    assert found.alone == 0
    assert fit(Published.count({"sex": ["f", "m", "f"]}, [["sex"]])).alone == 1


def test_noisy_cells_prove_nothing():
    table = {"a": ["0", "1"], "n": [3.2, -0.4]}
    published = Published.from_tables({"a": table}, kind="noisy", scale=2.0)
    assert not fit(published).proved.any()


def test_tables_that_disagree_are_named_without_values():
    sexes = {"sex": ["f", "m"], "n": [31, 41]}
    towns = {"town": ["A", "B"], "n": [31, 42]}
    published = Published.from_tables({"sexes": sexes, "towns": towns}, complete=True)
    with pytest.raises(TableError) as caught:
        fit(published)
    assert "disagrees" in str(caught.value)
    assert not any(str(n) in str(caught.value) for n in (31, 41, 42))
    relaxed = fit(published, relax=True)
    assert relaxed.slack["slack"].abs().sum() == 1
    assert not relaxed.proved.any()


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"sex": ["f", "m"], "n": [3, -1]}, "negative"),
        ({"sex": ["f", "f"], "n": [3, 1]}, "listed twice"),
        ({"sex": ["f", "q"], "n": [3, 1]}, "unknown codes in column 'sex'"),
    ],
)
def test_faults_of_a_table_are_named(table, said):
    with pytest.raises(TableError, match=said):
        Published.from_tables({"sexes": table}, domains={"sex": ["f", "m"]})


def test_counts_that_are_only_said_to_be_small_are_ranges():
    """North has fewer than five women of age; the total says how many."""
    table = {"sex": ["f", "m", "x"], "n": ["<5", "1,204", "≤ 2"]}
    alone = fit(Published.from_tables({"t": table}))
    assert (alone.low.tolist(), alone.high.tolist()) == ([0, 1204, 0], [4, 1204, 2])
    assert "3 cells: 1 exact, 2 suppressed" in repr(Published.from_tables({"t": table}))
    total = fit(Published.from_tables({"t": {"sex": [*table["sex"], "Total"], "n": [*table["n"], "1210"]}}))
    assert total.low.tolist() == [4, 1204, 2]
    assert total.proved.all()
    moved = fit(Published.from_tables({"t": table}, kind="rounded", base=3))
    assert moved.high.tolist() == [6, 1206, 4]
    assert fit(Published.from_tables({"t": table}, kind="noisy", scale=1.0)).high.min() == NO_LIMIT


def test_a_million_million_combinations_are_never_listed():
    rng = np.random.default_rng(1)
    people = {f"x{j}": rng.integers(0, 100, 30).astype(str) for j in range(6)}
    pairs = [(f"x{j}", f"x{j + 1}") for j in range(5)]
    domains = {name: [str(v) for v in range(100)] for name in people}
    published = Published.count(people, pairs, domains=domains)
    assert published.combinations == 10**12
    assert len(possible_cells(published)) < 1000
    with pytest.raises(DataError, match="possible"):
        possible_cells(Published.count(people, [("x0",), ("x1",), ("x2",), ("x3",), ("x4",)]), most=10_000)


def test_where_restricts_a_table_to_its_population():
    table = Published.count({"sex": ["f", "m", "f"], "age": ["1", "2", "2"]}, [("age",), ("sex",)])
    from dalenius.data.table import Table

    extra = Entry("women", Table.from_frame({"age": ["1", "2"], "n": [1, 1]}), where="sex == 'f'")
    both = table | Published.from_entries([extra], table.domains)
    assert fit(both).people_proved == 3


def test_an_area_without_people_is_no_error():
    published = Published.from_tables({"t": {"area": ["A", "B"], "n": [0, 2]}}, complete=True)
    assert fit(published).people_proved == 2


def test_figures_that_only_seem_to_contradict_each_other_because_bands_overlap_say_so():
    first = {"age": ["0-17", "18-64", "65+", "Total"], "n": [40, 50, 10, 100]}
    second = {"age": ["0-17", "18-66", "67+", "Total"], "n": [40, 53, 7, 100]}
    with pytest.raises(TableError, match="Bands of 'age' overlap") as told:
        fit(Published.from_tables({"b1": first, "b2": second}))
    assert "rounded or moved" not in str(told.value)
