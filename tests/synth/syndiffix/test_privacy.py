"""What SynDiffix protects: suppression, sticky noise, and attacks on a planted person."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
import pytest

from dalenius.counts.pair import Pair
from dalenius.data import Table, examples
from dalenius.risk.apparent import apparent_matches
from dalenius.synth import synthesize
from dalenius.synth.syndiffix import Anonymity, Ground, Method, SynDiffix
from dalenius.synth.syndiffix._kernels.noise import is_low
from dalenius.synth.syndiffix.noise import make_noise

from .people import mixed, with_entity


def test_low_count_pass_rates():
    noise = make_noise(b"rates", Anonymity())
    for units, rate in ((2, 0.0), (3, 0.023), (4, 0.159), (5, 0.5), (6, 0.841), (7, 0.977), (9, 1.0)):
        passed = np.mean([not is_low(noise, 3.0, units, seed) for seed in range(4000)])
        assert passed == pytest.approx(rate, abs=0.03)


def test_noise_is_sticky_across_tables():
    """The same cell has the same noisy count in every table that contains it, whatever the order of columns."""
    table = with_entity(mixed())
    wide = Ground.of(table, b"s", Method(threads=1))
    wide.model(["x", "n", "s", "g"])
    narrow = Ground.of(table, b"s", Method(threads=1), ["g", "s"])
    narrow.model()
    s, g = wide.names.index("s"), wide.names.index("g")
    first, second = wide.forest.tree((s, g)), narrow.forest.tree((0, 1))
    assert sorted(first.noisy.tolist()) == sorted(second.noisy.tolist())
    assert sorted(first.seeds.tolist()) == sorted(second.seeds.tolist())


def test_no_value_of_few_units_comes_out():
    rng = np.random.default_rng(2)
    names = [f"name{i:03d}" for i in range(300)]
    values = rng.choice(names, 1500, p=rng.dirichlet(np.full(300, 0.4)))
    frame = pl.DataFrame({"t": values, "g": rng.choice(["a", "b"], 1500)})
    counts = dict(frame["t"].value_counts().iter_rows())
    for salt in ("salt one", "salt two", "salt three"):
        for rare in ("neighbour", "prefix"):
            out = synthesize(frame, "syndiffix", seed=0, salt=salt, rare=rare)
            assert all(counts.get(value, 9) >= 3 for value in out["t"].drop_nulls().unique())
    model = SynDiffix(salt="1-test-salt").fit(Table.from_frame(frame))
    assert all(counts[level] >= 3 for level in model.schema["t"].levels or ()), (
        "not in the saved schema either"
    )


def test_values_of_single_entities_do_not_come_out():
    rng = np.random.default_rng(0)
    names = [f"{'ab'[i % 2]}{i:02d}" for i in range(20)]
    owner = rng.integers(0, 20, 1000)
    frame = pl.DataFrame({"pid": owner, "t": np.array(names)[owner]})
    out = synthesize(frame, "syndiffix", seed=0, salt="t-test-salt", entity="pid", rare="prefix")
    assert out.columns == ["t"]
    assert not set(out["t"].drop_nulls()) & set(names)


def test_no_bucket_of_few_people_shows_its_range():
    """Every range of a single column's buckets holds at least 3 people."""
    table = with_entity(mixed())
    for salt in (b"1", b"2", b"3"):
        ground = Ground.of(table, salt, Method(threads=1))
        for i, margin in enumerate(ground.margins):
            axis, codes = ground.forest.axes[i], ground.cast[i][1]
            assert len(margin.weight) > 1
            for low, high in zip(margin.low[:, 0], margin.high[:, 0], strict=True):
                inside = (codes >= low) & (codes < high) if high > low else codes == low
                # The outermost cells also stand for what was clamped to them.
                assert inside.sum() >= 3, (axis.column.name, int(inside.sum()))


def test_the_same_columns_and_salt_give_the_same_buckets():
    table = with_entity(mixed(800))
    one, two = (Ground.of(table, b"s", Method(threads=1)).model(["x", "s"]).buckets[0] for _ in range(2))
    other = Ground.of(table, b"t", Method(threads=1)).model(["x", "s"]).buckets[0]
    assert np.array_equal(one.low, two.low)
    assert np.array_equal(one.high, two.high)
    assert np.array_equal(one.weight, two.weight)
    assert not np.array_equal(one.weight.sum(), other.weight.sum()) or len(one.weight) != len(other.weight)


@pytest.mark.slow
def test_inference_from_matches_is_no_better_than_from_others():
    """Precision improvement of apparent matches stays below the author's limit of 0.5; a copy reaches 1."""
    survey = examples.survey(3000, seed=4).select("sex", "age", "region", "marital", "education", "diagnosis")
    keys, targets = ["sex", "age", "region", "marital"], ["education", "diagnosis"]
    made = synthesize(survey, "syndiffix", salt="t-test-salt", seed=1)
    found = apparent_matches(Pair(survey, made), keys, targets)
    assert found.value < 0.5
    assert apparent_matches(Pair(survey, survey), keys, targets).value == 1.0


RELEASES = 200


def releases(data, salt):
    """200 tables of different columns of one data set: was the planted value seen, and the share of a common one."""
    names = [name for name in data if name != "secret"]
    sets = [("secret", *c) for size in (1, 2, 3, 4) for c in combinations(names, size)][:RELEASES]
    assert len(set(sets)) == RELEASES
    ground = Ground.of(Table.from_frame(data), salt, Method(threads=1))
    seen, shares = False, []
    for i, columns in enumerate(sets):
        out = ground.model(columns).sample(seed=i)
        seen = seen or "unique disease" in (out.schema["secret"].levels or ())
        shown = pl.Series(out.to_frame("polars")["secret"])
        seen = seen or bool((shown == "unique disease").any())
        shares.append(float((shown == "usual").mean()))
    return seen, np.array(shares)


@pytest.mark.slow
def test_a_planted_person_is_not_found_by_averaging_or_differencing():
    """Does the planted person's rare value, or that the person is there, show in the mean of 200 releases?"""
    rng = np.random.default_rng(7)
    rows = 400
    columns = {f"c{i}": rng.choice(["a", "b", "c"], rows).tolist() for i in range(9)}
    without = {"secret": rng.choice(["common", "usual"], rows).tolist(), **columns}
    planted = {name: [*values, "a"] for name, values in without.items()}
    planted["secret"][-1] = "unique disease"
    truth = np.mean([value == "usual" for value in without["secret"]])
    errors, changes = [], []
    for salt in (b"1", b"2", b"3"):
        seen, shares = releases(without, salt)
        seen_with, shares_with = releases(planted, salt)
        assert not seen
        assert not seen_with, "the value of one person never comes out"
        # Sticky: all releases err alike, so their mean is no better than one of them.
        assert np.std(shares) < 0.02
        errors.append((np.mean(shares) - truth) * rows)
        changes.append((np.mean(shares_with) - np.mean(shares)) * rows)
    # Independent noise would have been averaged down to less than 0.1 rows.
    assert np.sqrt(np.mean(np.square(errors))) > 0.3
    # Nor does the difference show the person: it varies by more than the one row that is looked for.
    assert np.max(changes) - np.min(changes) > 0.5
    assert np.max(np.abs(changes)) < 8
