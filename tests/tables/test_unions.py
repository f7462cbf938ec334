"""Sums of suppressed cells that follow from published ones must keep the rules on contributors too."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from typer.testing import CliRunner

from dalenius.cli import app
from dalenius.published.nullspace import NullSpace
from dalenius.tables import (
    Dominance,
    Except,
    FewContributors,
    PPercent,
    Request,
    Suppression,
    TableModel,
    audit,
    define,
    faults,
    protect,
    protect_linked,
    protect_optimal,
    union_coalitions,
    union_few,
    union_insiders,
    union_programs,
)
from dalenius.tables import unions as looked_for
from dalenius.tables.model import Records
from dalenius.tables.page import table_parts
from dalenius.tables.unions import failing_unions
from tests import LONG

MANY = [(area, f"{area}{i}", 50 + i) for area in "ZW" for i in range(6)]
PAIR = [("X", "A", 100), ("X", "B", 100), ("Y", "A", 150), ("Y", "B", 90), *MANY]
LEADER = [
    ("X", "A", 1000),
    ("X", "B", 5),
    ("X", "C", 5),
    ("Y", "A", 1500),
    ("Y", "D", 5),
    ("Y", "E", 5),
    *MANY,
]


def table(rows, names=("area", "firm", "v"), by=("area",), **more) -> TableModel:
    data = {name: [row[i] for row in rows] for i, name in enumerate(names)}
    return define(data, by=list(by), value="v", contributor="firm", **more)


def crossed(seed: int, low: int = 1) -> TableModel:
    rng = np.random.default_rng(seed)
    firms = [f"f{i}" for i in range(6)]
    rows = [
        (f"R{r}", f"B{b}", firm, int(rng.integers(low, 100)))
        for r, b in itertools.product(range(3), range(3))
        for firm in rng.choice(firms, size=rng.choice([1, 2, 2, 3, 5]), replace=False)
    ]
    return table(rows, ("r", "b", "firm", "v"), ("r", "b"))


def known_sums(result: Suppression) -> np.ndarray:
    """What each contributor has of the sums of unknown inner cells that follow, the largest first, by trying all."""
    model = result.model
    records = model.records
    held = np.zeros((len(model.counts), int(records.contributor.max()) + 1))
    np.add.at(held, (records.inner, records.contributor), records.value)
    shown = model.matrix.toarray().astype(float)[:, ~result.suppressed]
    _, sizes, right = np.linalg.svd(shown.T)
    null = right[int((sizes > 1e-9).sum()) :].T
    free = np.flatnonzero(np.abs(null).max(axis=1, initial=0.0) > 1e-9)
    tried = (np.arange(1, 2 ** len(free))[:, None] >> np.arange(len(free))) & 1
    known = tried[np.abs(tried @ null[free]).max(axis=1, initial=0.0) < 1e-7]
    return np.sort(known @ held[free], axis=1)[:, ::-1]


def broken(result: Suppression) -> int:
    """Those of them that have two contributors or break p = 10 %."""
    parts = known_sums(result)
    few = (parts > 0).sum(axis=1) <= 2
    return int((few | (parts[:, 2:].sum(axis=1) < 0.1 * parts[:, 0] - 1e-9)).sum())


@pytest.mark.parametrize(("rows", "rules"), [
    (PAIR, ()), (LEADER, ()), (PAIR, (FewContributors(2),)), (LEADER, (PPercent(10),)),
    (LEADER, (Dominance([(1, 85)]),)), (LEADER, (Dominance([(2, 90)]),)), (PAIR, (FewContributors(3),)),
])  # fmt: skip
def test_a_total_less_its_published_parts_keeps_the_rules(rows, rules):
    """Total − W − Z was the sum of two firms, or of one firm's two cells."""
    model = table(rows)
    bare = protect(model, *rules, unions=False)
    assert bare.suppressed.sum() == 2
    assert not bare.audit().passed
    safe = protect(model, *rules)
    assert safe.is_safe
    assert safe.suppressed.sum() >= 3
    assert safe.suppressed[[*model.find(area="X"), *model.find(area="Y")]].all()


def test_holdings_and_requests_keep_them_too():
    rows = [("X", "A", "H", 1, 60), ("X", "B", "H", 0, 40), ("X", "C", "c", 0, 50), ("Y", "A", "H", 1, 70),
            ("Y", "D", "d", 0, 80), *((a, f, f, 0, v) for a, f, v in MANY)]  # fmt: skip
    names = ("area", "firm", "group", "asked", "v")
    asked = table(rows, names, request="asked")
    bare = protect(asked, Request(40), unions=False)
    assert failing_unions(asked, bare.suppressed, bare.hidden, (Request(40),)).count == 1
    assert protect(asked, Request(40)).suppressed.sum() == 3
    held = table([(a, f, h, 0, v) for a, f, h, _, v in rows], names, holding="group")
    closed = np.isin(held.cells["area"].to_numpy(), ["X", "Y"])
    none = np.zeros(len(closed), bool)
    # 170 of 300 are the holding's, 130 firm A's.
    rule = Dominance([(1, 50)])
    assert failing_unions(held, closed, none, (rule,)).count == 1
    alone = table([(a, f, h, 0, v) for a, f, h, _, v in rows], names)
    assert failing_unions(alone, closed, none, (rule,)).count == 0


def test_the_audit_names_the_sum():
    model = table(PAIR)
    bare = protect(model, unions=False)
    found = audit(bare)
    assert str(found) == "1 sums of suppressed cells follow from published ones and break a rule."
    assert found.at_risk["area"].to_list() == ["X", "Y"]
    assert found.at_risk["reason"].unique().to_list() == ["its sum with others is known and breaks a rule"]
    assert "The sum of X and other suppressed cells" in faults(bare, found)["why"][0]
    assert audit(bare, unions=False).passed


def test_sums_over_levels_of_a_hierarchy():
    """Total − S − N3 = N1 + N2, with their group N closed as well."""
    rows = [("N1", "N", "A", 100), ("N1", "N", "B", 100), ("N2", "N", "A", 150), ("N2", "N", "B", 90),
            *(("N3", "N", f"n{i}", 40 + i) for i in range(5)), *(("S1", "S", f"s{i}", 50 + i) for i in range(6)),
            *(("S2", "S", f"t{i}", 50 + i) for i in range(6))]  # fmt: skip
    model = table(rows, ("town", "zone", "firm", "v"), ("town", "zone"))
    closed = np.isin(model.cells["town"].to_numpy(), ["N", "N1", "N2"])
    lines = looked_for.line_sums(model, closed, np.zeros(len(closed), bool)).toarray()
    inner = model.inner["town"].to_list()
    assert [[inner[i] for i in np.flatnonzero(column)] for column in lines.T] == [["N1", "N2"]]
    assert protect(model).is_safe


def test_a_sum_that_no_single_line_shows(monkeypatch):
    model = crossed(31)
    bare = protect(model, unions=False)
    assert failing_unions(model, bare.suppressed, bare.hidden, bare.rules).count
    assert broken(bare)
    assert not broken(protect(model))
    nothing = np.zeros(0)
    monkeypatch.setattr(
        looked_for, "searched", lambda views, seen, rules: (seen[:, nothing.astype(int)], False)
    )
    assert not failing_unions(model, bare.suppressed, bare.hidden, bare.rules).count


@pytest.mark.parametrize("seed", range(40, 52))
def test_no_sum_is_left_by_enumeration(seed):
    model = crossed(seed)
    result = protect(model)
    assert result.is_safe
    assert broken(result) == 0


def test_enumeration_does_find_some():
    assert sum(broken(protect(crossed(seed), unions=False)) > 0 for seed in (31, 124, 130)) == 3


def test_linked_and_optimal_tables_keep_them():
    rows = [(area, "p" if area in "XZ" else "q", firm, value) for area, firm, value in PAIR]
    data = {name: [row[i] for row in rows] for i, name in enumerate(("area", "kind", "firm", "v"))}
    model = define(data, tables={"a": ["area"], "b": ["kind"]}, value="v", contributor="firm", nested=False)
    for how in ("global", "local", "consistent", "chained"):
        linked = protect_linked(model, how=how)
        assert linked.combined.is_safe, how
        assert (
            linked.combined.suppressed[model.find(area="Z")]
            | linked.combined.suppressed[model.find(area="W")]
        )
    assert protect_optimal(table(PAIR)).suppressed.sum() == 3


def test_what_was_forced_or_excepted_is_no_reason():
    """A published cell of two firms is harmless to whoever published it; the others are still looked after."""
    model = table([("V", "P", 300), ("V", "Q", 600), *PAIR])
    harmless = {"area": ["V"]}
    excepted = protect(model, Except(FewContributors(2), harmless), Except(PPercent(10), harmless))
    for result in (excepted, protect(model, forced=harmless)):
        assert not result.suppressed[model.find(area="V")].any()
        assert result.is_safe
        assert result.suppressed.sum() == 3


def test_what_does_not_follow_is_no_fault():
    model = table(PAIR)
    total, pair = (model.matrix[:, model.find(area=code)] for code in ("Total", "X"))
    rules = (FewContributors(2),)
    assert looked_for._failing(model, pair, rules, NullSpace(total)).shape[1] == 0
    assert looked_for._failing(model, pair, rules, NullSpace(model.matrix)).shape[1] == 1


def test_large_blocks_are_looked_at_line_by_line(monkeypatch):
    monkeypatch.setattr("dalenius.tables.union_programs.MOST_ROWS", 2)
    result = protect(crossed(31))
    assert "line by line" in str(result.checked)
    assert "may still follow" in str(result.checked)
    assert "Audit passed" not in result.checked._repr_html_()
    assert "class='audit partly'" in table_parts(result)
    monkeypatch.undo()
    assert "class='audit safe'" in table_parts(protect(crossed(31)))


def test_the_command_line_keeps_them(tmp_path):
    path, out = tmp_path / "firms.csv", tmp_path / "t.csv"
    path.write_text("area,firm,v\n" + "".join(f"{a},{f},{v}\n" for a, f, v in PAIR))
    command = [
        "tables",
        "protect",
        str(path),
        "--by",
        "area",
        "--value",
        "v",
        "--contributor",
        "firm",
        "-o",
        str(out),
    ]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0
    assert sum(line.endswith(",,c") for line in out.read_text().splitlines()) == 3
    bare = CliRunner().invoke(app, [*command, "--no-unions", "--force"])
    assert bare.exit_code == 0
    assert sum(line.endswith(",,c") for line in out.read_text().splitlines()) == 2


TWO_BESIDE_EACH = [(0, "A", 100), (0, "C", 90), (1, "A", 100), (1, "D", 90)]
SEATS = {
    "in both inner cells": [(row, "A", 100) for row in (2, 3)]
    + [(row, "B", 50) for row in (2, 3)]
    + [(2, "E", 5), (2, "F", 3), (3, "G", 5), (3, "H", 3)],
    "in one of them only": [(2, "A", 100), (2, "B", 60), (2, "E", 5), (3, "A", 100), (3, "F", 3)],
}


@pytest.mark.parametrize("where", SEATS)
@pytest.mark.parametrize("seats", [40, 1])
def test_whoever_is_second_is_tried_by_name(where, seats, monkeypatch):
    """With somebody else second in each inner cell 0 + 1 looks worst, though it is 2 + 3 that breaks the rule."""
    monkeypatch.setattr(union_programs, "MOST_SEATS", seats)
    inner, firm, value = zip(*TWO_BESIDE_EACH, *SEATS[where], strict=True)
    records = Records(np.array(inner), np.array(value, float), np.unique(firm, return_inverse=True)[1])
    seen = sp.csc_matrix(np.array([[1, 0, 1], [1, 0, 1], [0, 1, 1], [0, 1, 1]]))
    found, complete = union_programs.searched([records], seen, [PPercent(10)])
    hit = [0, 0, 1, 1] in found.toarray().T.tolist()
    assert hit or seats == 1
    assert hit or where == "in one of them only"  # the one who has most in all comes first
    assert complete == (seats > 1)


def read_by_insiders(result: Suppression) -> int:
    """Sums of others' inner cells that a contributor computes with those it has alone, and that are 10 % one firm's."""
    model, records = result.model, result.model.records
    held = np.zeros((len(model.counts), int(records.contributor.max()) + 1))
    np.add.at(held, (records.inner, records.contributor), records.value)
    shown = model.matrix.toarray().astype(float)[:, ~result.suppressed]
    found = 0
    for who in range(held.shape[1]):
        own = np.flatnonzero((held[:, who] > 0) & ((held > 0).sum(axis=1) == 1))
        _, sizes, right = np.linalg.svd(np.hstack([shown, np.eye(len(held))[:, own]]).T)
        null = right[int((sizes > 1e-9).sum()) :].T
        free = np.flatnonzero(np.abs(null).max(axis=1, initial=0.0) > 1e-9)
        tried = (np.arange(1, 2 ** len(free))[:, None] >> np.arange(len(free))) & 1
        known = tried[np.abs(tried @ null[free]).max(axis=1, initial=0.0) < 1e-7]
        parts = known @ held[free]
        parts[:, who] = 0.0
        parts = np.sort(parts, axis=1)[:, ::-1]
        found += int(((parts[:, 0] > 0) & (parts[:, 1:].sum(axis=1) < 0.1 * parts[:, 0] - 1e-9)).sum())
    return found


def singles(seed: int) -> TableModel:
    """Tables in which many inner cells are one firm's."""
    rng = np.random.default_rng(seed)
    areas, branches = int(rng.integers(2, 4)), int(rng.integers(3, 5))
    firms = [f"f{i}" for i in range(int(rng.integers(4, 9)))]
    rows = [
        (f"R{r}", f"B{b}", str(firm), int(np.exp(rng.normal(3, 1.5))) + 1)
        for r, b in itertools.product(range(areas), range(branches))
        for firm in rng.choice(
            firms, size=min(int(rng.choice([1, 1, 1, 2, 3, 5])), len(firms)), replace=False
        )
    ]
    return table(rows, ("r", "b", "firm", "v"), ("r", "b"))


def test_a_firm_reads_nobodys_sum_with_its_own_cells(monkeypatch):
    """x + z − y follows, y is firm B's alone, and x + z is one other firm's: B reads it."""
    made = [singles(seed) for seed in (18, 34, 55, 87, 98)]
    assert not any(read_by_insiders(protect(model)) for model in made)
    for search in ("insider_sums", "few_sums"):
        monkeypatch.setattr(looked_for, search, lambda *asked: (sp.csc_matrix((asked[-2].shape[0], 0)), True))
    assert all(read_by_insiders(protect(model)) for model in made)


def beside_a_third(second: str) -> TableModel:
    """B is alone in y, and x + z − y follows: x is A's alone, z the second firm's alone."""
    rows = [("r1", "c1", "A", 100), ("r1", "c2", second, 100), ("r2", "c3", "B", 90)]
    many = (("r1", "c3"), ("r2", "c1"), ("r2", "c2"))
    rows += [(r, c, f"{r}{c}{i}", 60 + i) for r, c in many for i in range(6)]
    return table(rows, ("r", "c", "firm", "v"), ("r", "c"))


@pytest.mark.parametrize(("second", "rule", "closed"), [
    ("A", FewContributors(2), 8), ("A", PPercent(10), 8), ("A", Dominance([(2, 90)]), 8),
    ("C", FewContributors(2), 6), ("C", PPercent(10), 6), ("C", Dominance([(2, 90)]), 6),
])  # fmt: skip
def test_a_firm_counts_as_one_of_those_who_know(second, rule, closed):
    """A sum of two others tells B about neither of them; of one other it does."""
    result = protect(beside_a_third(second), rule)
    assert result.is_safe
    assert result.suppressed.sum() == closed


@pytest.mark.parametrize(("room", "model"), [
    (union_programs, crossed(31)), (union_few, crossed(31)), (union_insiders, beside_a_third("C"))
])  # fmt: skip
def test_programs_that_ran_out_are_told(room, model, monkeypatch):
    assert "line by line" not in str(protect(model).checked)
    budget = union_programs.Budget
    monkeypatch.setattr(room, "Budget", lambda: budget(left=0))
    assert "line by line" in str(protect(model).checked)


def read_together(result: Suppression, few: int) -> list[tuple[int, ...]]:
    """Sets of ``few`` contributors all but one of whom read a sum of the last one's values: every set is tried."""
    model, records = result.model, result.model.records
    held = np.zeros((len(model.counts), int(records.contributor.max()) + 1), bool)
    held[records.inner, records.contributor] = True
    shown = model.matrix.toarray().astype(float)[:, ~result.suppressed]
    _, sizes, right = np.linalg.svd(shown.T)
    null = right[int((sizes > 1e-9).sum()) :]
    found = []
    for those in itertools.combinations(range(held.shape[1]), min(few, held.shape[1])):
        allowed = ~np.delete(held, those, axis=1).any(axis=1)
        for one in those:
            low = np.where(allowed & ~held[:, one], -1.0, 0.0)
            seen = (held[:, one] & allowed).astype(float)
            best = linprog(-seen, A_eq=null, b_eq=np.zeros(len(null)), bounds=np.c_[low, allowed])
            if seen.any() and -best.fun > 1e-6:
                found.append(those)
    return found


@pytest.mark.parametrize(("seed", "few"), [(0, 3), (5, 3), (4, 4), (14, 4)])
def test_few_who_pool_what_they_know_do_not_read_the_last_ones_sum(seed, few, monkeypatch):
    """Three firms stand behind a sum, in no cell all together; or two take their own cells out of a difference."""
    model = singles(seed)
    result = protect(model, FewContributors(few))
    assert result.is_safe
    assert read_together(result, few) == []
    monkeypatch.setattr(looked_for, "few_sums", lambda views, seen, rules: (seen[:, :0], True))
    assert read_together(protect(model, FewContributors(few)), few)


def of(inner: list[int], firm: list[str], value: list[float], **more) -> Records:
    labels, who = np.unique(firm, return_inverse=True)
    return Records(np.array(inner), np.array(value, float), who, labels=tuple(labels.tolist()), **more)


BOTH = sp.csc_matrix(np.array([[1, 0], [0, 1], [1, 1]]))  # 0 + 2 and 1 + 2: their difference follows
CROWD = ([2] * 5, list("vwxyz"), [80, 70, 60, 50, 40])


@pytest.mark.parametrize(("coalition", "found"), [(1, False), (2, True)])
def test_two_who_pool_take_their_own_cells_out(coalition, found):
    """A, B and C are in 0, B and C alone in 1: with 0 − 1 they have what A has."""
    records = of([0, 0, 0, 1, 1, *CROWD[0]], [*"ABCBC", *CROWD[1]], [100, 50, 40, 30, 20, *CROWD[2]])
    sums, complete = union_coalitions.coalition_sums([records], BOTH, [PPercent(10, coalition=coalition)])
    assert complete
    assert ([1, -1, 0] in sums.toarray().T.tolist()) == found


def test_three_largest_of_a_sum_are_picked_for_the_sum():
    """Each inner cell has others behind the largest; in the sum A, B and C have 91 % together."""
    records = of([0, 0, 0, 1, 1, 1], list("ABDACE"), [40, 30, 8, 40, 30, 6])
    total = sp.csc_matrix(np.array([[1], [1]]))
    assert union_coalitions.coalition_sums([records], total, [Dominance([(3, 90)])])[0].toarray().T.tolist()
    none = union_coalitions.coalition_sums([records], total, [Dominance([(3, 93)])])
    assert none[0].shape[1] == 0
    assert none[1]


def test_codes_that_are_no_contributors_hide_nobody():
    records = of([0, 0, 1, *CROWD[0]], ["A", "unknown", "B", *CROWD[1]], [5, 9, 7, *CROWD[2]])
    total = sp.csc_matrix(np.array([[1, 1], [1, 1], [1, 0]]))
    for ignored, found in (((), 0), (("unknown",), 1)):
        sums = union_few.few_sums([records], total, [FewContributors(2, ignored=ignored)])[0]
        assert len({tuple(column) for column in sums.toarray().T.tolist()}) == found
    # With the unknown as a firm nothing is left beside the two largest of each inner cell; it is none, so much is left.
    mixed = of([0, 0, 1, 1], ["A", "unknown", "B", "unknown"], [49, 60, 48, 60])
    for ignored, found in (((), True), (("unknown",), False)):
        rule = PPercent(10, ignored=ignored)
        sums = union_programs.searched([mixed], sp.csc_matrix(np.array([[1], [1]])), [rule])[0]
        assert bool(sums.shape[1]) == found


def test_sampled_units_are_counted_as_the_rule_counts():
    records = of(
        [0, 1, *CROWD[0]], ["A", "B", *CROWD[1]], [5, 7, *CROWD[2]], weight=np.array([3.0, 1, 1, 1, 1, 1, 1])
    )
    total = sp.csc_matrix(np.array([[1, 1], [1, 1], [1, 0]]))
    for most, found in ((3, False), (4, True)):
        rule = FewContributors(most, weighting="tau-argus")
        assert bool(union_few.few_sums([records], total, [rule])[0].shape[1]) == found


@pytest.mark.slow
@pytest.mark.parametrize("few", [2, 3, 4])
def test_no_few_read_the_last_ones_sum_in_many_tables(few):
    seeds = range(300 if LONG else 25)
    assert [s for s in seeds if read_together(protect(singles(s), FewContributors(few)), few)] == []


@pytest.mark.slow
@pytest.mark.parametrize("make", [crossed, singles])
def test_no_firm_reads_anothers_sum_in_many_tables(make):
    assert [seed for seed in range(1000 if LONG else 60) if read_by_insiders(protect(make(seed)))] == []
