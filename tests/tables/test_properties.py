"""Random hierarchical and linked tables: protected cells stay uncomputable, checked by exact arithmetic."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dalenius.published.intervals import feasibility_intervals
from dalenius.published.nullspace import computable_cells
from dalenius.tables import (
    Dominance,
    FewContributors,
    Hierarchy,
    SmallCount,
    audit,
    define,
    exposed_by_publishing,
    protect,
    protect_linked,
)
from dalenius.tables.contributions import single_owners
from dalenius.tables.elimination import BigEliminator, Eliminator
from dalenius.tables.gauss import gauss_suppress
from tests import LONG
from tests.tables.exact import brute_force, computable

SLOW = settings(
    max_examples=200 if LONG else 25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


@st.composite
def hierarchies(draw, prefix):
    """A tree with one or two levels and two to five leaves."""
    groups = draw(st.lists(st.integers(1, 3), min_size=1, max_size=2))
    if len(groups) == 1:
        return Hierarchy.flat([f"{prefix}{i}" for i in range(groups[0] + 1)])
    pairs = [(f"{prefix}g{g}", "Total") for g in range(len(groups))]
    pairs += [(f"{prefix}{g}{i}", f"{prefix}g{g}") for g, size in enumerate(groups) for i in range(size)]
    return Hierarchy.from_pairs(pairs)


@st.composite
def count_tables(draw, dimensions=2, largest=9):
    trees = {f"d{k}": draw(hierarchies(f"{'abc'[k]}")) for k in range(dimensions)}
    leaves = [tree.leaves for tree in trees.values()]
    cells = np.array(np.meshgrid(*[np.arange(len(level)) for level in leaves], indexing="ij")).reshape(
        dimensions, -1
    )
    size = cells.shape[1]
    counts = draw(st.lists(st.integers(0, largest), min_size=size, max_size=size))
    frame = {name: [level[i] for i in index] for name, level, index in zip(trees, leaves, cells, strict=True)}
    return define({**frame, "n": counts}, by=list(trees), hierarchies=trees, freq="n")


@SLOW
@given(
    count_tables(),
    st.integers(0, 4),
    st.sampled_from(["none", "anysum", "virtual", "subspace", "subspace_strict"]),
)
def test_no_primary_cell_can_be_computed(model, most, method):
    result = protect(model, SmallCount(most), small=method, repair=False)
    primary = [i for i in np.flatnonzero(result.primary) if model.sizes[i]]
    assert not computable(model.matrix, ~result.suppressed, primary)


@SLOW
@given(count_tables(3, 5), st.booleans())
def test_three_dimensions(model, zeros):
    result = protect(model, SmallCount(2, protect_zeros=zeros), repair=False)
    assert not computable(model.matrix, ~result.suppressed, np.flatnonzero(result.primary))


@SLOW
@given(count_tables(), st.integers(1, 3))
def test_each_secondary_cell_of_the_plain_run_is_needed(model, most):
    """Publishing any one of them gives a primary cell away, and the report says which."""
    result = protect(model, SmallCount(most), small="none", repair=False)
    primary = np.flatnonzero(result.primary)
    for cell, told in exposed_by_publishing(result).items():
        known = ~result.suppressed
        known[cell] = True
        found = computable(model.matrix, known, primary)
        assert found == told.tolist()
        assert found


@SLOW
@given(count_tables(), st.data())
def test_honest_report_under_rules(model, data):
    """With small-count rules a cell may be there for another reason; the report then says that it exposes nothing."""
    result = protect(model, SmallCount(data.draw(st.integers(0, 3))))
    primary = np.flatnonzero(result.primary)
    for cell, told in exposed_by_publishing(result).items():
        known = ~result.suppressed
        known[cell] = True
        assert computable(model.matrix, known, primary) == told.tolist()


@SLOW
@given(count_tables(largest=3))
def test_null_space_equals_the_exact_rank(model):
    rng = np.random.default_rng(int(model.counts.sum()))
    known = rng.random(len(model.cells)) < 0.5
    found = computable_cells(model.matrix, known)
    assert np.flatnonzero(found).tolist() == computable(model.matrix, known, range(len(model.cells)))


@st.composite
def linked(draw):
    rows = draw(st.integers(5, 30))
    frame = {
        name: draw(st.lists(st.sampled_from(list(codes)), min_size=rows, max_size=rows))
        for name, codes in {"area": "pqr", "sex": "fm", "job": "xyz"}.items()
    }
    frame["zone"] = ["N" if a in "pq" else "S" for a in frame["area"]]
    return define(
        frame,
        tables={"one": ["area", "zone", "sex"], "two": ["area", "zone", "job"], "three": "~ sex:job + zone"},
    )


@SLOW
@given(
    linked(),
    st.sampled_from(
        ["global", "local", "local-bdiag", "back-tracking", "consistent", "super-consistent", "chained"]
    ),
)
def test_linked_tables(model, how):
    result = protect_linked(model, SmallCount(2, protect_zeros=False), how=how)
    whole = result.combined
    exposed = computable(model.matrix, ~whole.suppressed, np.flatnonzero(whole.primary))
    if how in ("global", "chained"):
        assert (
            set(exposed) <= set(np.flatnonzero(whole.unsafe))
            if how == "chained" and whole.unsafe.any()
            else not exposed
        )
    if not how.startswith("local"):
        assert result.disagreeing == 0
    for part in result.tables.values():
        assert (
            not computable(part.model.matrix, ~part.suppressed, np.flatnonzero(part.primary))
            or how == "chained"
        )
    assert np.flatnonzero(audit(whole, intervals="none").exposed.outsider & whole.primary).tolist() == exposed


@st.composite
def firm_tables(draw):
    rows = draw(st.integers(6, 24))
    pick = lambda codes: draw(st.lists(st.sampled_from(list(codes)), min_size=rows, max_size=rows))  # noqa: E731
    values = draw(st.lists(st.integers(1, 60), min_size=rows, max_size=rows))
    return define(
        {
            "sector": pick("abc"),
            "geo": pick("xyz"),
            "firm": pick("ABCDE"),
            "value": [float(v) for v in values],
        },
        ["sector", "geo"],
        value="value",
        contributor="firm",
    )


RULES = st.sampled_from([Dominance([(1, 80)]), FewContributors(1), FewContributors(2)])


@pytest.mark.slow
@SLOW
@given(firm_tables(), RULES)
def test_single_contributors(model, rule):
    """What the audit says about contributors is exactly true, and after repair there is nothing left to say."""
    result = protect(model, rule)
    primary = [i for i in np.flatnonzero(result.primary) if model.sizes[i]]
    assert not computable(model.matrix, ~result.suppressed, primary)
    owners = single_owners(model)
    found = audit(result, intervals="none").exposed.by_contributor
    for firm in np.unique(owners[owners > 0]).tolist():
        mine = np.flatnonzero(owners == firm)
        others = [i for i in primary if not set(model.matrix[:, [i]].indices) <= set(mine.tolist())]
        told = [i for i in found.get(firm, []) if result.primary[i]]
        assert computable(model.matrix, ~result.suppressed, others, mine) == told
    fixed = protect(model, rule, repair=True)
    if not any("still at risk" in note for note in fixed.notes):
        for firm in np.unique(owners[owners > 0]).tolist():
            mine = np.flatnonzero(owners == firm)
            others = [i for i in primary if not set(model.matrix[:, [i]].indices) <= set(mine.tolist())]
            assert not computable(model.matrix, ~fixed.suppressed, others, mine)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 3), min_size=6, max_size=6), st.data())
def test_intervals_equal_enumeration(counts, data):
    frame = {"r": list("aabbcc"), "c": list("xyxyxy"), "n": counts}
    model = define(frame, ["r", "c"], freq="n")
    known = np.array(data.draw(st.lists(st.booleans(), min_size=12, max_size=12)))
    known[model.find()] = True
    targets = np.flatnonzero(~known)
    low, high = brute_force(model.matrix, model.counts, known, targets)
    for first_point in (None, model.counts.astype(float)):
        found = feasibility_intervals(
            model.matrix, model.amount, known, targets, integer=True, inner=first_point
        )
        assert found.low.tolist() == [low[j] for j in targets]
        assert found.high.tolist() == [high[j] for j in targets]
        # Two-way tables have whole-numbered corners, so the linear program gives the same bounds.
        linear = feasibility_intervals(model.matrix, model.amount, known, targets, inner=first_point)
        np.testing.assert_allclose(linear.low, found.low, atol=1e-6)
        np.testing.assert_allclose(linear.high, found.high, atol=1e-6)


def test_intervals_equal_enumeration_in_three_dimensions():
    """Three-way tables need whole-number programs: the linear bounds may be wider, never narrower."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        counts = rng.integers(0, 3, 8)
        frame = {"a": list("xxxxyyyy"), "b": list("ppqqppqq"), "c": list("01010101"), "n": counts.tolist()}
        model = define(frame, ["a", "b", "c"], freq="n")
        result = protect(model, SmallCount(1))
        targets = np.flatnonzero(result.suppressed)
        if not len(targets) or result.suppressed[model.find()].any():
            continue
        low, high = brute_force(model.matrix, model.counts, ~result.suppressed, targets)
        found = feasibility_intervals(model.matrix, model.amount, ~result.suppressed, targets, integer=True)
        assert found.low.tolist() == [low[j] for j in targets]
        assert found.high.tolist() == [high[j] for j in targets]
        linear = feasibility_intervals(model.matrix, model.amount, ~result.suppressed, targets)
        assert (linear.low <= found.low + 1e-6).all()
        assert (linear.high >= found.high - 1e-6).all()


@settings(max_examples=30, deadline=None)
@given(count_tables(largest=4))
def test_zeros_are_not_given_away_by_non_negativity(model):
    """With anysum no suppressed zero has an interval of width nothing."""
    result = protect(model, SmallCount(0))
    zeros = np.flatnonzero(result.primary & (model.frequency == 0))
    if len(zeros):
        found = feasibility_intervals(
            model.matrix, model.amount, ~result.suppressed, zeros, inner=model.counts * 1.0
        )
        known = np.isin(zeros, np.flatnonzero(result.primary)) & (found.width > 1e-7)
        assert known.all() or model.frequency.sum() == 0


@pytest.mark.parametrize("seed", range(5))
def test_python_integers_take_over_when_numbers_grow(seed, monkeypatch):
    """The compiled arithmetic hands over to Python integers and the outcome is the same."""
    rng = np.random.default_rng(seed)
    matrix = rng.integers(-3, 4, (9, 24))
    primary, order = [0, 5, 11], rng.permutation(24)
    expected = gauss_suppress(matrix, order, primary).secondary
    reference = _reference(matrix, order, primary)
    assert expected.tolist() == reference
    monkeypatch.setattr("dalenius.tables.gauss.Eliminator", _TightEliminator)
    assert gauss_suppress(matrix, order, primary).secondary.tolist() == reference


class _TightEliminator(Eliminator):
    """Hands over at the fourth step, as if a value had grown too large in the middle of it."""

    def publish(self, j, row):
        self.steps = getattr(self, "steps", 0) + 1
        if self.steps == 4:
            from dalenius.tables.elimination import GrowthError

            raise GrowthError
        super().publish(j, row)


def _reference(matrix, order, primary):
    """The rule itself: publish a cell unless a primary cell enters the span of the published ones."""
    from tests.tables.exact import Span

    published = Span()
    secondary = []
    for j in order.tolist():
        if j in primary:
            continue
        trial = Span()
        trial.rows = dict(published.rows)
        trial.add(matrix[:, j])
        if any(
            matrix[:, i] in trial and matrix[:, i] not in published for i in primary if matrix[:, i].any()
        ):
            secondary.append(j)
        else:
            published = trial
    return secondary


def test_both_arithmetics_agree_on_every_question():
    rng = np.random.default_rng(3)
    import scipy.sparse as sp

    matrix = sp.csc_matrix(rng.integers(0, 2, (7, 14)))
    compiled, plain = Eliminator(matrix, 8, 7, spare=4), BigEliminator.from_matrix(matrix, 8, 7)
    for j in range(8):
        if not len(compiled.column(j)[0]):
            continue
        row = compiled.pivot(j)
        assert (compiled.blocker(j, row) >= 0) == (plain.blocker(j, row) >= 0)
        mine = compiled.column(j)[0]
        assert (compiled.covered(mine) >= 0) == (plain.covered(mine) >= 0)
        compiled.publish(j, row)
        plain.publish(j, row)
        for c in range(14):
            np.testing.assert_array_equal(compiled.column(c)[0], plain.column(c)[0])


@pytest.mark.parametrize("listed", [0, 4, 9])
def test_rows_without_a_list_give_the_same_answers(listed):
    """Small rows have no list of their columns; blockers, pivots and columns must not depend on it."""
    import scipy.sparse as sp

    rng = np.random.default_rng(5)
    for _ in range(20):
        matrix = sp.csc_matrix(rng.integers(-1, 2, (9, 20)) * (rng.random((9, 20)) < 0.5))
        some = Eliminator(matrix, 12, min(listed, 4), spare=4, listed=listed)
        every = Eliminator(matrix, 12, min(listed, 4), spare=4)
        for j in range(12):
            assert some.is_empty(j) == every.is_empty(j)
            if some.is_empty(j):
                continue
            row = some.pivot(j)
            assert (row, some.blocker(j, row)) == (every.pivot(j), every.blocker(j, row))
            if j % 5 == 4:
                assert some.protect(j) == every.protect(j)
                some.drop(j)
                every.drop(j)
                continue
            some.publish(j, row)
            every.publish(j, row)
            for c in range(some.size):
                np.testing.assert_array_equal(np.stack(some.column(c)), np.stack(every.column(c)))


def test_an_arena_that_is_full_again_and_again_keeps_its_columns(monkeypatch):
    import scipy.sparse as sp

    rng = np.random.default_rng(6)
    matrix = sp.csc_matrix(rng.integers(0, 2, (60, 90)))
    tight, plain = Eliminator(matrix, 60, 60), BigEliminator.from_matrix(matrix, 60, 60)
    tight.rows, tight.vals = tight.rows[: matrix.nnz].copy(), tight.vals[: matrix.nnz].copy()
    monkeypatch.setattr("dalenius.tables.elimination.MOST_STALE", 0)
    for j in range(12):
        row = tight.pivot(j)
        tight.publish(j, row)
        plain.publish(j, row)
        for c in range(90):
            mine, theirs = tight.column(c), plain.column(c)
            np.testing.assert_array_equal(mine[0], theirs[0])
            assert (
                len(
                    {
                        a * theirs[1][0] - b * mine[1][0]
                        for a, b in zip(*map(list, (mine[1], theirs[1])), strict=True)
                    }
                    - {0}
                )
                == 0
            )
