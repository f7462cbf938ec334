"""Differencing over everything that is out: every small group that follows is found, none wrongly."""

from __future__ import annotations

import numpy as np
import pytest
from tests import LONG
from tests.risk.reconstruction.releases import CELLS, DOMAINS, Made, Truth, implied, read, table

from dalenius.core.errors import FileError
from dalenius.data.table import Table
from dalenius.published import Entry, Ledger, Published
from dalenius.risk.reconstruction import attack, differencing, holds_for, known

THRESHOLD = 15


def drawn(seed: int, tables: int = 2) -> tuple[np.ndarray, list[Made]]:
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 7, len(CELLS)) * (rng.random(len(CELLS)) < 0.7)
    return counts, [table(f"t{k}", counts, rng) for k in range(tables)]


def published(made: list[Made]) -> Published:
    return Published.from_entries([one.entry for one in made], DOMAINS)


def members(small) -> frozenset[int]:
    place = {tuple(values.index(v) for values, v in zip(DOMAINS.values(), c, strict=True)): i
             for i, c in enumerate(CELLS)}  # fmt: skip
    return frozenset(place[tuple(row)] for row in small.members.tolist())


def check_one(seed: int) -> tuple[int, int]:
    """Every small cell of a table or an implied one that follows is found, and whatever is found is right."""
    counts, made = drawn(seed, 2 + seed % 2)
    printed = {label: held for one in made for label, held in one.printed.items()}
    truth, groups = Truth(list(printed.values()), counts), [group for group, _ in printed.values()]
    found = differencing(published(made), threshold=THRESHOLD)
    told = {members(small) for small in found.follows}
    withheld = {group for one in made for group in one.withheld}
    expected = 0
    for group in implied(made) | withheld:
        alive = group & truth.alive
        if group in groups and group not in withheld:
            continue
        if not 0 < counts[list(group)].sum() < THRESHOLD or not truth.follows(group):
            continue
        inner = [g & truth.alive for g in groups if (g & truth.alive) < alive]
        same = any(g & truth.alive == alive for g in groups)
        if (group in withheld and group not in groups) or (not same and frozenset().union(*inner) != alive):
            expected += 1
            assert alive in told, (seed, group)
    for small in found.follows:
        group = members(small)
        assert small.low == small.high == counts[list(group)].sum(), seed
        if not small.group.startswith("some of "):  # too many parts to be said
            assert read(small.group) & truth.alive == group, (seed, small.group)
        if small.recipe is None:
            assert truth.most(group) == truth.most(group, -1) == small.low, seed
            continue
        assert truth.follows(group), seed
        parts = [(1, c) for c in small.recipe.add] + [(-1, c) for c in small.recipe.subtract]
        assert sum(sign * printed[c][1] for sign, c in parts) == small.recipe.value == small.low
        for i in truth.alive:
            assert sum(sign * (i in printed[c][0]) for sign, c in parts) == (i in group), seed
    return expected, len(found.follows)


def test_every_small_cell_that_follows_is_found_and_none_wrongly():
    totals = np.array([check_one(seed) for seed in range(12)])
    assert totals[:, 0].sum() > 8


@pytest.mark.slow
def test_a_thousand_pairs_of_overlapping_releases():
    pairs = 1000 if LONG else 100
    totals = np.array([check_one(seed) for seed in range(12, 12 + pairs)])
    assert totals[:, 0].sum() > pairs // 2
    assert sum(check_monotone(seed) for seed in range(3000, 3000 + pairs // 2)) > pairs // 4


def check_monotone(seed: int) -> int:
    """What was found stays found when a table more is out, unless the table prints it or parts of it."""
    counts, made = drawn(seed, 3)
    first, both = (differencing(published(part), threshold=THRESHOLD) for part in (made[:2], made))
    printed = [group for one in made for group, _ in one.printed.values()]
    truth = Truth([held for one in made for held in one.printed.values()], counts)
    told = [*(members(small) for small in both.follows), *(group & truth.alive for group in printed)]
    withheld = {group for one in made[:2] for group in one.withheld}
    for small in first.follows:
        group = members(small) & truth.alive
        if small.withheld is not None and read(small.group) in withheld and read(small.group) not in printed:
            assert group in told[: len(both.follows)], (seed, small.group)
        assert frozenset().union(*(g for g in told if g <= group)) == group, (seed, small.group)
    return len(first.follows)


def test_another_table_never_makes_a_finding_vanish():
    assert sum(check_monotone(seed) for seed in range(2000, 2010)) > 2


REGIONS = {"region": ["N", "S", "I"], "n": ["300", "188", ":c"]}
SEXES = {"sex": ["f", "m"], "n": [241, 253]}


@pytest.mark.parametrize(
    "tables",
    [
        {"r": {"region": [*REGIONS["region"], "Total"], "n": [*REGIONS["n"], "494"]}, "s": SEXES},
        {"r": REGIONS, "s": {"sex": ["f", "m", "Total"], "n": [241, 253, 494]}},
        {"r": REGIONS, "s": SEXES},
        {"r": {"region": ["N", "S"], "n": [300, 188]}, "s": SEXES},
        {"r": REGIONS, "again": {"region": ["I"], "n": [6]}},
        {"r": REGIONS, "f": {"region": ["I", "I"], "sex": ["f", "m"], "n": [6, 0]}},
    ],
)
def test_a_suppressed_cell_is_found_whatever_other_columns_split_it(tables):
    domains = {"region": ["N", "S", "I"], "sex": ["f", "m"]}
    found = differencing(Published.from_tables(tables, domains=domains))
    assert [(small.group, small.low) for small in found.follows] == [("region = I", 6)]


def test_cells_that_no_table_lists_follow_too():
    domains = {"a": list("xyz"), "b": list("pq"), "c": list("12")}
    first = {"a": list("xxyz"), "c": list("1221"), "n": [30, 24, 27, 22]}
    second = {"b": list("pq"), "c": list("22"), "n": [39, 18]}
    found = differencing(Published.from_tables({"first": first, "second": second}, domains=domains))
    assert [(small.group, small.low) for small in found.follows] == [("a = z, c = 2", 6)]


def test_a_label_names_the_group_that_the_sum_is():
    fine = {"a": list("zzzxx"), "b": list("pqqpq"), "c": list("21212"), "n": [3, 4, 2, 10, 19]}
    tables = {"ta": {"a": list("xz"), "n": [31, 18]}, "fine": fine}
    found = differencing(
        Published.from_tables(tables, domains={"a": list("xz"), "b": list("pq"), "c": list("12")})
    )
    assert "a = z, b = p, c = 1" in [small.group for small in found.follows]
    assert "a = z" not in [small.group for small in found.follows]


def test_a_planned_table_that_gives_a_suppressed_cell_away_is_held():
    domains = {"region": ["N", "S", "I"], "sex": ["f", "m"]}
    out = Published.from_tables({"r": REGIONS}, domains=domains)
    for planned in (SEXES, {"region": ["I"], "n": [6]}):
        new = Published.from_tables({"new": planned}, domains=domains)
        held = holds_for(out, new)
        assert len(held) == 1
        assert held[0].startswith("new [")


def test_a_planned_zero_that_gives_a_suppressed_cell_away_is_held():
    fine = {"a": ["x", "y", "x", "y"], "b": ["p", "p", "q", "q"], "n": [":c", "40", ":c", "50"]}
    out = Published.from_tables({"r": fine, "t": {"a": ["x", "y"], "n": [6, 90]}})
    assert holds_for(out, Published.from_tables({"new": {"a": ["x"], "b": ["q"], "n": [0]}})) == [
        "new [a = x, b = q]"
    ]


def test_what_followed_of_other_people_does_not_excuse_a_planned_table():
    whole = {"region": [*REGIONS["region"], "Total"], "n": [*REGIONS["n"], "494"]}
    out = Published.from_tables({"r": whole}, date="2024")
    new = Published.from_tables({"new": whole}, date="2025")
    assert holds_for(out, new) == []  # nothing new about the same people
    held = holds_for(out, new, same_people=False)
    assert len(held) == 1
    assert held[0].startswith("new [")
    found = differencing(out | new)
    assert {margin for small in found.follows for margin, _ in small.cells} == {0, 1, 2, 3}


def test_cells_that_must_be_empty_are_left_out_of_recipes():
    fine = {"a": ["1", "y"], "b": ["p", "q"], "n": [":c", "50"]}
    tables = {"fine": fine, "a": {"a": ["1", "2", "y"], "n": [6, 40, 90]}, "b": {"b": ["q"], "n": [50]}}
    found = differencing(Published.from_tables(tables, domains={"a": ["1", "2", "y"], "b": ["p", "q"]}))
    # all 50 of q are in y, so that nobody of 1 and 2 is there
    assert "a = 1, b = p = + a [a = 1] = 6" in [str(small.recipe) for small in found.follows]


def test_ranges_that_leave_no_choice_give_a_withheld_cell_away():
    parts = Entry("parts", Table.from_frame({"a": ["x", "y"], "n": [3, 3]}), kind="rounded", base=3)
    whole = Entry("whole", Table.from_frame({"a": ["Total"], "n": [2]}))
    found = differencing(Published.from_entries([parts, whole], {"a": ["x", "y"]}))
    assert [(small.group, small.low, small.recipe) for small in found.follows] == [
        ("a = x", 1, None),
        ("a = y", 1, None),
    ]


def test_a_second_table_is_refused_beside_the_first_and_the_cells_to_hold_are_named():
    domains = {"age": ["0-79", "80+"], "sex": ["f", "m"]}
    first = Published.from_tables({"everybody": {"sex": ["f", "m"], "n": [52, 48]}}, domains=domains)
    young = {"sex": ["f", "m"], "age": ["0-79", "0-79"], "n": [49, 30]}
    second = Published.from_tables({"young": young}, domains=domains)
    assert not differencing(second).follows
    held = holds_for(first, second)
    assert len(held) == 1
    assert "young" in held[0]
    assert "sex = f" in held[0]
    assert holds_for(first, Published.from_tables({"m": {"sex": ["m"], "n": [48]}}, domains=domains)) == []


def test_other_dates_count_only_if_the_people_are_the_same():
    domains = {"age": ["0-79", "80+"]}
    old = Published.from_tables({"all": {"age": ["Total"], "n": [100]}}, domains=domains, date="2024")
    new = Published.from_tables({"young": {"age": ["0-79"], "n": [97]}}, domains=domains, date="2025")
    assert not differencing(old | new).follows
    assert len(differencing(old | new, same_people=True).follows) == 1


@pytest.mark.parametrize(("threshold", "small"), [(10, True), (8, True), (7, False)])
def test_ranges_bound_small_groups_without_giving_them(threshold, small):
    """95 rounded to 3 is 93 to 97 of 100: 3 to 7 others, fewer than 8 for certain, not fewer than 7."""
    domains = {"age": ["0-79", "80+"]}
    all_ages = Entry("all", Table.from_frame({"age": ["Total"], "n": [100]}))
    young = Entry("young", Table.from_frame({"age": ["0-79"], "n": [95]}), kind="cellkey", base=2)
    found = differencing(Published.from_entries([all_ages, young], domains), threshold=threshold)
    assert not found.follows
    assert [(s.low, s.high) for s in found.bounded if "80+" in s.group] == [(3, 7)] * small


def test_groups_that_were_not_looked_at_leave_a_doubt(monkeypatch):
    """The search for bounds was cut off: no small group was found, and no limit is met by that."""
    all_ages = Entry("all", Table.from_frame({"age": ["Total"], "n": [100]}))
    young = Entry("young", Table.from_frame({"age": ["0-79"], "n": [95]}), kind="cellkey", base=2)
    out = Published.from_entries([all_ages, young], {"age": ["0-79", "80+"]})
    assert attack(out).results["small-groups"].trusted
    monkeypatch.setattr(known, "MOST_BOUNDED", 0)
    cut = attack(out).results["small-groups"]
    assert not cut.trusted
    assert "Not all groups of these tables could be looked at: more may follow." in cut.sentence


@pytest.mark.parametrize(("young", "small"), [(90, 0), (91, 1)])
def test_a_group_as_large_as_the_threshold_is_not_small_though_no_table_was_found(monkeypatch, young, small):
    """Without a table that fits nothing is left out beforehand; 100 − 90 is ten people all the same."""
    found = known._ends

    def nothing(merged):
        ends = found(merged)
        ends.solution = None
        return ends

    monkeypatch.setattr(known, "_ends", nothing)
    tables = {"all": {"age": ["Total"], "n": [100]}, "young": {"age": ["0-79"], "n": [young]}}
    out = Published.from_tables(tables, domains={"age": ["0-79", "80+"]})
    assert len(differencing(out, threshold=10).follows) == small


def test_the_ledger_notices_a_changed_line(tmp_path):
    ledger = Ledger(tmp_path / "out.jsonl")
    for name, n in (("a", 3), ("b", 4)):
        ledger.append(name, Published.from_tables({name: {"sex": ["f"], "n": [n]}}))
    assert ledger.names == ["a", "b"]
    assert len(ledger.published().margins) == 2
    text = ledger.path.read_text()
    ledger.path.write_text(text.replace('"low": [3]', '"low": [2]'))
    with pytest.raises(FileError, match="line 1 was changed"):
        ledger.published()
    ledger.path.write_text(text.splitlines()[1] + "\n")
    with pytest.raises(FileError, match="missing"):
        ledger.published()


def test_small_cells_that_are_printed_outright_are_told_too():
    tables = {"a": {"area": list("AABB"), "ill": list("xyxy"), "n": [1, 10, 40, 40]}}
    alone = attack(Published.from_tables(tables)).results
    wider = attack(Published.from_tables({**tables, "s": {"sex": ["f", "m"], "n": [45, 46]}})).results
    for found in (alone, wider):
        assert found["proved-unique"].value == pytest.approx(100 / 91)
        assert "1 cell that small is printed outright." in found["small-groups"].sentence


def test_who_the_only_one_of_a_printed_group_is_counts_beside_what_was_out():
    """That b2 = 1 was out hid that (a0, b2) = 1 follows from the new tables."""
    old = Published.from_tables({"old": {"b": ["b0", "b1", "b2"], "n": [60, 50, 1]}})
    cells = {"a": ["a0", "a0", "a1", "a1"], "b": ["b0", "b1"] * 2, "n": [20, 31, 40, 19]}
    totals = {"a": ["a0", "a1"], "n": [52, 59]}
    new = Published.from_tables({"cells": cells, "as": totals}, domains={"b": ["b0", "b1", "b2"]})
    assert len(differencing(new).follows) == 1
    both = differencing(old | new, same_people=True)
    assert [(small.group, small.low) for small in both.follows] == [("b = b2, a = a0", 1)]
    assert holds_for(old, new)
    # once it is out, it holds nothing back; what printed cells make up is no news either
    assert not holds_for(old | new, Published.from_tables({"again": totals}))
    full = {"a": ["a0"] * 3 + ["a1"] * 3, "b": ["b0", "b1", "b2"] * 2, "n": [20, 31, 1, 40, 19, 0]}
    assert not differencing(old | Published.from_tables({"full": full}), same_people=True).follows
