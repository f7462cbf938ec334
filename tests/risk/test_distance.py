"""Nearest neighbours are exact, whatever the tree, the threads and the gaps."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from dalenius import DaleniusError, Pair
from dalenius.data import examples
from dalenius.evaluation import Rule
from dalenius.evaluation.policy import SMALL_FILES_IN_PART, judge
from dalenius.risk import (
    Space,
    adversarial,
    dcr,
    identical_matches,
    near_copies,
    new_row_curve,
    new_rows,
    nndr,
    part_copies,
)
from dalenius.risk.distance.coded import Coded
from dalenius.risk.distance.equal_columns import closer_than_fellows
from dalenius.risk.distance.sketch import Sketch

COLUMNS = ["region", "sex", "age", "income", "bmi", "occupation", "visits", "health"]


def people(rows: int, seed: int) -> pl.DataFrame:
    return examples.survey(rows, seed=seed).select(COLUMNS)


def brute(space: Space, a, b) -> np.ndarray:
    gap = np.minimum(np.abs(a.num[:, None] - b.num[None]), space.cap) * space.num_weights
    other = (a.cat[:, None] != b.cat[None]) * space.cat_weights
    if space.euclid:
        return np.sqrt((gap**2).sum(axis=2) + other.sum(axis=2))
    return gap.sum(axis=2) + other.sum(axis=2)


@pytest.mark.parametrize("metric", ["gower", "heom"])
def test_neighbours_are_exact(metric: str) -> None:
    space = Space.of(Pair(people(900, 1), people(700, 2)), metric=metric)
    found = space.nearest(space.protected, space.original, 3)
    np.testing.assert_allclose(
        found.distance, np.sort(brute(space, space.protected, space.original), axis=1)[:, :3], atol=1e-9
    )
    own = space.nearest(space.original, space.original, leave_out_self=True)
    every = brute(space, space.original, space.original)
    np.fill_diagonal(every, np.inf)
    np.testing.assert_allclose(own.distance[:, 0], every.min(axis=1), atol=1e-9)


def rough(rows: int, seed: int, far: float) -> pl.DataFrame:
    """Numbers with gaps and beyond the other file's range, few and many categories, a column without a weight."""
    rng = np.random.default_rng(seed)
    holes = [
        None if gap else float(v)
        for v, gap in zip(rng.normal(size=rows), rng.random(rows) < 0.3, strict=True)
    ]
    return pl.DataFrame(
        {
            "x": far * rng.normal(size=rows),
            "n": rng.integers(0, 5, rows),
            "holes": holes,
            "c": rng.choice(["a", "b", "c"], rows),
            "many": [f"m{i}" for i in rng.integers(0, 600, rows)],
            "light": rng.choice(["a", "b"], rows),
        }
    )


@pytest.mark.parametrize("weights", [None, {"light": 0.0, "x": 3.0, "c": 1e-4}, {"many": 40.0}])
@pytest.mark.parametrize("k", [1, 4])
def test_sketches_of_records_change_no_neighbour(
    k: int, weights: dict[str, float] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = Space.of(Pair(rough(1500, 1, 1.0), rough(900, 2, 2.0)), weights=weights)
    plain, own = (
        space.nearest(space.protected, space.original, k),
        space.nearest(space.original, space.original, k, leave_out_self=True),
    )
    monkeypatch.setattr("dalenius.risk.distance.space.TRIED", 20)
    for found, true in (
        (space.nearest(space.protected, space.original, k), plain),
        (space.nearest(space.original, space.original, k, leave_out_self=True), own),
    ):
        np.testing.assert_array_equal(found.row, true.row)
        np.testing.assert_array_equal(found.distance, true.distance)


def test_a_sketch_never_says_farther_than_it_is() -> None:
    space = Space.of(Pair(rough(300, 3, 1.0), rough(200, 4, 3.0)))
    true = brute(space, space.protected, space.original)
    for distance in (0.0, 0.05, 0.3, 1.0):
        sketch = Sketch.reaching(
            distance, (space.cat_weights, space.num_weights), 10.0, (space.original.cat, space.original.num),
            np.array([0, 300]),
        )  # fmt: skip
        mine = sketch.queries(space.protected.cat, space.protected.num).astype(int)[:, :, None]
        other, cost = sketch.records.astype(int)[None], sketch.cost.astype(int)[None, :, None]
        steps = np.where(cost > 0, cost * (mine != other), np.maximum(abs(mine - other) - 1, 0))
        assert (steps.sum(axis=1) * sketch.unit <= true + 1e-9).all()
        assert (steps.sum(axis=1) * sketch.unit).mean() > 0.5 * true.mean()


def test_gaps_are_far_from_values_and_equal_to_each_other() -> None:
    pair = Pair({"x": [1.5, None, 3.5], "c": ["a", None, "b"]}, {"x": [None, 1.5], "c": [None, "b"]})
    space = Space.of(pair)
    found = space.nearest(space.protected, space.original)
    assert found.distance[:, 0].tolist() == [0.0, 0.5]
    assert found.row[0, 0] == 1


def test_progress_counts_up_to_the_end() -> None:
    space = Space.of(Pair(people(300, 1), people(5000, 2)))
    marks: list[tuple[int, int]] = []
    space.nearest(space.protected, space.original, progress=lambda done, total: marks.append((done, total)))
    assert [total for _, total in marks] == [5000, 5000]
    assert marks[-1][0] == 5000


def test_copy_is_at_distance_zero() -> None:
    original, outside = people(400, 1), people(400, 2)
    pair = Pair(original, original.sample(fraction=1, shuffle=True, seed=1), outside)
    assert dcr(pair).value > 99
    assert identical_matches(pair).value == 100
    assert nndr(pair).value == 0
    assert adversarial(pair).value == pytest.approx(0.5, abs=0.1)


def test_missing_holdout_is_said() -> None:
    pair = Pair(people(200, 1), people(200, 3))
    for result in (identical_matches(pair), nndr(pair)):
        assert not result.trusted
        assert "holdout" in result.sentence
    from dalenius.counts.measure import MEASURES

    with pytest.raises(DaleniusError, match="holdout"):
        MEASURES["dcr"](pair)


def test_different_sizes_levels_and_column_order() -> None:
    original, outside = people(300, 1), people(250, 2)
    other = people(120, 3).select(COLUMNS[::-1]).with_columns(pl.lit("new level").alias("region"))
    assert 0 <= dcr(Pair(original, other, outside)).value <= 100


def test_bad_metric_and_too_few_records() -> None:
    pair = Pair({"x": [1.5, 2.5]}, {"x": [1.5, 2.5]})
    with pytest.raises(DaleniusError):
        Space.of(pair, metric="taxi")
    space = Space.of(pair)
    with pytest.raises(DaleniusError):
        space.nearest(space.original, space.original, 2, leave_out_self=True)


def test_a_number_at_the_limit_of_a_tolerance_is_met():
    """In binary fractions 6.93 is a little more than 1 % off 7.00."""
    real, made = {"x": [4.95, 6.93, 9.9]}, {"x": [5.0, 7.0, 10.0]}
    assert new_rows(Pair(real, made), tolerance=0.01).value == 100
    assert new_rows(Pair(real, made), tolerance=0.00999).value == 0
    assert new_row_curve(Pair(real, made), [0.01, 0.02])["protected"].to_list() == [0, 0]


@pytest.mark.parametrize("columns", [1, 4, 9])
def test_equal_columns_are_those_counted_one_by_one(columns):
    rng = np.random.default_rng(columns)
    original, protected = (
        rng.integers(0, 3, (9000, columns)) * rng.integers(0, 2, columns) for _ in range(2)
    )
    original[8000:] = original[:1000]  # people with several rows
    owners = np.append(np.arange(8000), np.arange(1000))
    rows = rng.choice(9000, 60, replace=False)
    original[rows[:5]] = protected[:5] = np.arange(7, 12)[:, None]  # a record like them and no fellow
    equal = [(original[rows][:, None] == file).sum(2) for file in (protected, original)]
    fellows = np.where(owners[rows][:, None] != owners, equal[1], -1).max(1)
    for more in (1, 2):
        found = closer_than_fellows(original[rows], owners[rows], original, owners, protected, more)
        assert (found == (equal[0].max(1) - fellows >= more)).all()
        assert found[:5].all() == (columns >= more)
        strangers = closer_than_fellows(original[rows], np.full(60, -1), original, owners, protected, more)
        assert (strangers == (equal[0].max(1) - equal[1].max(1) >= more)).all()


def test_records_with_most_of_a_persons_values_are_near_copies():
    """Far from the person by distance, since three columns are somebody else's, and still his in all others."""
    rng = np.random.default_rng(1)
    people, others, fresh = (
        pl.DataFrame({f"c{i}": rng.integers(0, 6, 400).astype(str) for i in range(10)}) for _ in range(3)
    )
    torn = people.with_columns(
        [people[name].shuffle(seed=1 + i) for i, name in enumerate(("c0", "c1", "c2"))]
    )
    found = near_copies(Pair(people, torn, others))
    assert found.added > 50
    assert not Rule.parse("near-copies surely added <= 5 points").met_by(found)
    assert abs(near_copies(Pair(people, fresh, others)).added) < 5, "other people are nobody's copies"


def test_rows_of_which_half_the_cells_were_exchanged_are_copies_in_part():
    """Each row keeps other cells of its person, so that no distance and no set of columns shows it."""
    rng = np.random.default_rng(1)
    people, others, fresh = (
        pl.DataFrame({f"c{i}": rng.integers(0, 3 + 4 * i, 500).astype(str) for i in range(9)})
        for _ in range(3)
    )
    torn = people.with_columns(
        pl.when(pl.Series(rng.random(500) < 0.45))
        .then(pl.col(c).shuffle(seed=i))
        .otherwise(pl.col(c))
        .alias(c)
        for i, c in enumerate(people.columns)
    )
    found = part_copies(Pair(people, torn, others), records=True)
    assert found.added > 50
    assert not Rule.parse("part-copies surely added <= 5 points").met_by(found)
    assert found.records["in_part"].mean() == pytest.approx(found.value / 100)
    assert abs(part_copies(Pair(people, fresh, others)).added) < 3, "other people are nobody's copies"
    assert not part_copies(Pair(people, torn)).trusted


def shared_weight(rows: np.ndarray, weights: np.ndarray, others: np.ndarray) -> np.ndarray:
    return ((rows[:, None, :] == others[None]) * weights[:, None, :]).sum(axis=2)


def test_copies_in_part_are_those_of_all_pairs_looked_at():
    rng = np.random.default_rng(5)
    sizes = (2, 3, 5, 9, 17, 40)
    people, made, others = (np.column_stack([rng.integers(0, k, 300) for k in sizes]) for _ in range(3))
    made[:150] = np.where(rng.random((150, 6)) < 0.3, made[:150], people[:150])
    frames = [{f"c{i}": column.astype(str) for i, column in enumerate(t.T)} for t in (people, made, others)]
    pair = Pair(*frames)
    found = part_copies(pair)
    counts = [np.bincount(column, minlength=k) for column, k in zip(people.T, sizes, strict=True)]
    for rows, stranger, told in ((people, 0, found.value), (others, 1, found.outside)):
        # a stranger weighs as if he were in the data
        held = np.column_stack([c[v] for c, v in zip(counts, rows.T, strict=True)])
        weights = -np.log((held + stranger) / (300 + stranger))
        assert Coded.of(pair).asked(2 * stranger, np.arange(300))[1] == pytest.approx(weights)
        fellows = shared_weight(rows, weights, people)
        if not stranger:
            np.fill_diagonal(fellows, -1.0)
        gap = shared_weight(rows, weights, made).max(axis=1) - fellows.max(axis=1)
        assert told == pytest.approx(100 * np.mean(gap > np.log(50)))
    assert found.value > 5


def test_of_a_file_with_few_lines_copies_in_part_are_counted_by_lines():
    rng = np.random.default_rng(6)
    people, others = (
        pl.DataFrame({f"c{i}": rng.integers(0, 40, 600).astype(str) for i in range(6)}) for _ in range(2)
    )
    few = people[:60].with_columns(people["c0"][60:120])
    found = part_copies(Pair(people, few, others))
    assert found.values["lines surely added"] == pytest.approx(10 * found.added_interval.low)
    assert found.values["lines surely added"] > 50
    assert Rule.parse("part-copies surely added <= 10 points").met_by(found)
    finding = judge(Rule.parse(SMALL_FILES_IN_PART), "", 1.0, [found])
    assert not finding.met
    assert finding.plainly.startswith("lines that have answers of a real person together too rare for chance")


def test_equal_columns_are_counted_whatever_their_kind():
    pair = Pair({"x": [1.0, 2.0], "c": ["a", "b"]}, {"x": [1.0, 1.1], "c": ["b", "b"]})
    space = Space.of(pair, metric="equality")
    found = space.nearest(space.protected, space.original)
    assert found.distance[:, 0].tolist() == [0.5, 0.5]


def test_a_column_that_numbers_the_rows_makes_nobody_a_copy():
    """Rows of every file are numbered from 1: the same number is no value of the same person."""
    rng = np.random.default_rng(2)
    people, others, fresh = (
        pl.DataFrame({"row": range(400)} | {f"c{i}": rng.integers(0, 6, 400) for i in range(6)})
        for _ in range(3)
    )
    files = (people, fresh, others)
    found, plain = near_copies(Pair(*files)), near_copies(Pair(*(file.drop("row") for file in files)))
    assert abs(found.added - plain.added) < 3


def test_a_row_that_differs_in_the_last_digits_is_identical():
    """Noise that nobody would notice hides no copy; whole numbers are told apart as ever."""
    rng = np.random.default_rng(1)
    people, others = ({"x": rng.normal(size=500), "n": rng.integers(0, 90, 500)} for _ in range(2))
    hair = {"x": people["x"] * (1 + 1e-7), "n": people["n"]}
    assert identical_matches(Pair(people, hair, others)).value > 99
    assert identical_matches(Pair(people, hair, others)).outside < 1
    assert identical_matches(Pair(people, {**hair, "n": people["n"] + 100}, others)).value == 0
    assert identical_matches(Pair(people, {**hair, "x": people["x"] + 0.05}, others)).value < 1
