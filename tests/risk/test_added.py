"""What the file adds: people in the data beside people outside it, at every ratio of sizes, worst target first."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import polars as pl
import pytest

import dalenius.risk  # noqa: F401 (registers the measures)
from dalenius import Pair, evaluate
from dalenius.core.intervals import Share
from dalenius.core.registry import MeasureInfo
from dalenius.counts.measure import MEASURES
from dalenius.data import examples
from dalenius.evaluation import compare
from dalenius.risk import dcr, disco, replicated_uniques

COLUMNS = ["region", "sex", "age", "marital", "education", "health", "bmi", "diagnosis"]
KEYS, TARGETS = ["region", "sex", "age", "marital"], ["health"]
RATIOS = {"1:1": (400, 400), "4:1": (800, 200), "1:4": (200, 800)}
CHEAP = ["disco", "dcap", "replicated-uniques", "identical-matches", "unique-matches"]


def people(seed: int, *sizes: int) -> list[pl.DataFrame]:
    drawn = examples.survey(sum(sizes), seed=seed).select(COLUMNS).sample(fraction=1, shuffle=True, seed=seed)
    ends = np.cumsum([0, *sizes]).tolist()
    return [drawn[a:b] for a, b in pairwise(ends)]


@pytest.fixture(scope="module", params=RATIOS, ids=str)
def added(request) -> dict[tuple[str, str], np.ndarray]:
    """What is added, by measure and file, over five replicates of people at one ratio of sizes."""
    n, m = RATIOS[request.param]
    found: dict[tuple[str, str], list[float]] = {}
    for seed in range(5):
        inside, outside, fresh = people(seed, n, m, n)
        copied = n // 20
        leak = pl.concat([fresh[: n - copied], inside[:copied]])
        for file, made in {"fresh": fresh, "copy": inside, "leak": leak}.items():
            pair = Pair(inside, made, outside, keys=KEYS, targets=TARGETS)
            for name in CHEAP:
                found.setdefault((name, file), []).append(MEASURES[name](pair).added)
    return {place: np.array(values) for place, values in found.items()}


@pytest.mark.parametrize("name", CHEAP)
def test_fresh_people_add_nothing_and_leaks_stand_out_at_every_ratio(name, added):
    fresh, copy, leak = (added[name, file] for file in ("fresh", "copy", "leak"))
    assert abs(fresh.mean()) < 3 * fresh.std(ddof=1) / 5**0.5 + 1, "nobody is given away"
    assert copy.min() > fresh.max() + 20
    assert (leak > fresh).all(), "the same people outside, and 5 % of the originals among the fresh ones"


def test_the_holdout_may_be_small():
    """Uniques of a small holdout are many: counted by themselves they would excuse an exact copy."""
    inside, outside, fresh = people(1, 1600, 400, 1600)
    safe, copy = (replicated_uniques(Pair(inside, made, outside, keys=KEYS)) for made in (fresh, inside))
    assert safe.yardsticks["holdout"] == pytest.approx(safe.value, abs=3)
    assert copy.value > copy.yardsticks["holdout"] + 5
    assert copy.added_interval.low > 5


def test_outsiders_do_not_depend_on_the_size_of_the_holdout():
    inside, outside, fresh = people(2, 600, 600, 600)
    shares = [
        replicated_uniques(Pair(inside, fresh, outside[:m], keys=KEYS)).outside for m in (150, 300, 600)
    ]
    assert max(shares) - min(shares) < 5


def test_the_worst_target_is_the_one_the_file_adds_to():
    """One target is read off for everybody, inside and outside; the other only for those in the data."""
    n = 400
    rng = np.random.default_rng(1)
    inside = pl.DataFrame(
        {"k": np.arange(n) % 100, "same": ["yes"] * n, "own": rng.integers(0, 4, n).astype(str)}
    )
    outside = inside.with_columns(own=pl.Series(rng.integers(0, 4, n).astype(str)))
    found = disco(Pair(inside, inside.unique("k"), outside, keys=["k"], targets=["same", "own"]))
    assert found.table["target"].to_list() == ["own", "same"]
    assert found.table.filter(pl.col("target") == "same")["added"].item() == 0
    assert found.values["same"] == 100 > found.value, "the level stays beside it"
    assert found.added == pytest.approx(found.value - found.yardsticks["holdout"])
    assert found.added_interval.low > 0
    assert "'own'" in found.sentence
    alone = disco(Pair(inside, inside.unique("k"), keys=["k"], targets=["same", "own"]))
    assert alone.value == 100
    assert alone.added is None


def test_a_constant_file_does_not_stand_out():
    """All rows of the file are one witness: that its closest person is in the data says next to nothing."""
    inside, outside, other = people(3, 300, 300, 1)
    for row in (other, inside[7:8]):
        found = dcr(Pair(inside, pl.concat([row] * 300), outside))
        assert found.interval.low < 50
        assert found.interval.high - found.interval.low > 40


@pytest.mark.parametrize("ratio", RATIOS)
def test_dcr_is_fifty_for_fresh_people_at_every_ratio(ratio):
    n, m = RATIOS[ratio]
    shares = []
    for seed in range(4):
        inside, outside, fresh = people(seed, n, m, n)
        shares.append(dcr(Pair(inside, fresh, outside)).value)
    assert np.mean(shares) == pytest.approx(50, abs=4)


def test_dcr_is_fifty_for_ties_at_every_ratio():
    """Few categories: the closest original and the closest outsider are often equally close."""
    rng = np.random.default_rng(4)
    draw = [{"a": rng.choice(list("uvwxyz"), n), "b": rng.choice(list("stuv"), n)} for n in (400, 40, 400)]
    assert dcr(Pair(draw[0], draw[2], draw[1])).value == pytest.approx(50, abs=10)


def test_people_who_share_keys_are_one_witness():
    flags, keys = np.repeat([1.0, 0.0, 1.0, 0.0], 25), np.repeat(np.arange(4), 25)
    together, alone = Share.of(flags, keys), Share.of(flags, np.arange(100))
    assert together.trials == pytest.approx(4)
    assert alone.trials == pytest.approx(100)
    assert together.interval().low < alone.interval().low
    assert "people and file redrawn" in together.interval().words


def test_a_file_decides_both_sides_together():
    """Where one and the same cells decide inside and outside, the difference is surer than its parts."""
    rng = np.random.default_rng(5)
    flags = rng.integers(0, 2, 50).astype(float)
    inside, outside = (Share.of(np.repeat(flags, 4), np.repeat(np.arange(50), 4)) for _ in range(2))
    spread = inside.above(outside)
    assert spread.low == pytest.approx(0, abs=0.02)
    assert spread.high == pytest.approx(0, abs=0.02)
    other = Share.of(np.repeat(flags, 4), np.repeat(np.arange(50, 100), 4))
    assert inside.above(other).high > 0.1


def test_figures_around_a_centre_are_ranked_by_distance():
    """A bootstrap is told apart worse than by a coin toss because rows come twice: that is no merit."""
    survey = examples.survey(400, seed=6).select("sex", "age", "education", "bmi", "health")
    again = survey.sample(400, with_replacement=True, seed=1)
    fresh = examples.survey(400, seed=7).select(survey.columns)
    compared = compare(survey, {"bootstrap": again, "fresh": fresh}, measures=["detection-auc"])
    values = dict(compared.table.iter_rows())
    assert values["bootstrap"] < values["fresh"], "a rule 'lower is better' would put it first"
    assert dict(compared.ranking.iter_rows()) == {"bootstrap": 2.0, "fresh": 1.0}
    with pytest.raises(Exception, match="centre"):
        MeasureInfo("x", "X", "utility", "x.", better="centre", bounds=(0, 1), reference="r")


def test_results_carry_what_is_added():
    inside, outside, fresh = people(8, 200, 200, 200)
    evaluation = evaluate(inside, fresh, None, KEYS, TARGETS, outside, measures=["disco", "dcr"])
    for result in evaluation.results.values():
        told = result.to_dict()
        assert told["added"] == pytest.approx(told["level"] - told["outside"])
        assert told["added_interval"]["low"] <= told["added"] <= told["added_interval"]["high"]
        assert told["added_interval"]["redrawn"]
