"""Two years: nothing protected follows from both together, checked by exact rational arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from dalenius.core.errors import DataError
from dalenius.tables import SmallCount, define, protect, protect_years
from tests.tables.exact import Span


def two_years(seed):
    """Random tables of two years; six of ten inner cells are the same in both."""
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(2, 4)), int(rng.integers(3, 5))
    names = [(f"r{i}", f"c{j}") for i in range(rows) for j in range(columns)]
    old = rng.integers(0, 14, len(names))
    same = rng.random(len(names)) < 0.6
    new = np.where(same, old, np.maximum(0, old + rng.integers(-4, 5, len(names))))
    old[0], new[0] = max(old[0], 4), max(new[0], 4)
    frame = {"r": [n[0] for n in names], "c": [n[1] for n in names]}
    return tuple(define({**frame, "n": n.tolist()}, by=["r", "c"], freq="n") for n in (old, new))


def differencing(before, now):
    """Protected cells of either year in the span of all published cells; equal inner cells are one unknown."""
    old, new = before.model, now.model
    first, second = old.matrix.toarray(), new.matrix.toarray()
    at = {row: i for i, row in enumerate(old.inner.iter_rows())}
    rows = len(first)
    place = [
        at[row] if old.counts[at[row]] == new.counts[i] else rows + i
        for i, row in enumerate(new.inner.iter_rows())
    ]
    wide = np.zeros((2 * rows, first.shape[1] + second.shape[1]), int)
    wide[:rows, : first.shape[1]] = first
    for i, p in enumerate(place):
        wide[p, first.shape[1] :] += second[i]
    closed = np.concatenate([before.suppressed, now.suppressed])
    primary = np.concatenate([before.primary, now.primary])
    known = Span(wide[:, j] for j in np.flatnonzero(~closed))
    return [j for j in np.flatnonzero(primary) if wide[:, j] in known]


def run(seeds):
    alone = together = leaks = 0
    for seed in seeds:
        old, new = two_years(seed)
        before = protect(old, SmallCount(3))
        found = protect_years(before, new, SmallCount(3))
        assert found.checked.passed, seed
        assert not differencing(before, found.now), seed
        leaks += bool(differencing(before, protect(new, SmallCount(3))))
        alone += found.alone
        together += int(found.now.suppressed.sum())
    return alone, together, leaks


def test_nothing_follows_from_two_years():
    alone, together, leaks = run(range(20))
    assert leaks > 0  # one year by itself is not enough
    assert together >= alone


@pytest.mark.slow
def test_nothing_follows_in_two_hundred_pairs():
    alone, together, leaks = run(range(200))
    print(f"200 pairs: {alone} cells suppressed by one year alone ({leaks} pairs leak), {together} with both")
    assert leaks > 20


def test_years_with_other_dimensions_are_refused():
    old, _ = two_years(1)
    other = define({"z": ["a", "b"], "n": [1, 5]}, by="z", freq="n")
    with pytest.raises(DataError, match="same dimensions"):
        protect_years(protect(old, SmallCount(3)), other, SmallCount(3))


def test_values_that_hardly_change_are_known_too():
    last = {"a": list("wxyz"), "n": [100, 7, 900, 1200]}
    this = {"a": list("wxyz"), "n": [101, 2, 905, 1190]}
    before = protect(define(last, by="a", freq="n"), SmallCount(3))
    now = define(this, by="a", freq="n")
    for percent, hidden in ((0, ["w", "x"]), (0.5, ["w", "x"]), (2, ["Total", "x"])):
        # 1 of 100, 5 of 900 and 10 of 1200: from 1 % on w, y and z are known of last year, so that the total tells x
        found = protect_years(before, now, SmallCount(3), unchanged_percent=percent)
        assert found.checked.passed
        assert found.now.model.cells["a"].filter(found.now.suppressed).to_list() == hidden


@pytest.mark.parametrize("contributor", ["firm", None])
@pytest.mark.parametrize("turned", [False, True])
def test_a_firm_that_left_or_joined_does_not_follow_from_two_published_sums(contributor, turned):
    rng = np.random.default_rng(8)
    size = 170
    data = {"region": rng.choice(list("ABC"), size), "industry": rng.choice(["i1", "i2", "i3"], size),
            "firm": [f"F{i}" for i in range(size)], "v": np.round(rng.lognormal(4, 1, size), 1)}  # fmt: skip
    gone = {name: np.delete(np.asarray(column), 7) for name, column in data.items()}
    last, this = (gone, data) if turned else (data, gone)
    models = [define(d, by=["region", "industry"], value="v", contributor=contributor) for d in (last, this)]
    found = protect_years(protect(models[0]), models[1])
    assert found.checked.passed
    change = np.abs(models[1].amount - models[0].amount)
    shown = ~found.now.suppressed & ~found.before.suppressed
    assert not (np.abs(change - data["v"][7]) < 1e-6)[shown].any()
    quiet = protect_years(protect(models[0]), models[0])
    assert quiet.price == 0
